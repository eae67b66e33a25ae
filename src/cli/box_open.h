/* SPDX-License-Identifier: Apache-2.0 */
/* cli/box_open.h - what the commands on a box that lives on begin with: their words, the box, and
 * the places in it that they name. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "box/kept.h"
#include "cli/option.h"
#include "conf/settings.h"

struct call;
struct gb_err;

struct box_call {
    struct parsed parsed;
    struct settings settings;
    const char *id;              /* as it was said; NULL: a user's box */
    bool makes_box;              /* a user who has none gets one: set before it is looked for */
    const char *const *operands; /* behind BOX */
    size_t n_operands;
    struct kept kept;
    struct box *box;
    struct box_news news;
};

/* Parses the words; *user is where --user goes, and stands for BOX.  1: help was wanted.  ret is
 * zeroed but for makes_box; box_call_clear() is owed in any case. */
int box_call_parse(const struct call *call, void *args, const char *const *user,
                   struct box_call *ret, struct gb_err *err);
/* The same for a command that takes nothing behind BOX. */
int box_call_alone(const struct call *call, void *args, const char *const *user,
                   struct box_call *ret, struct gb_err *err);

/* Finds the box, and with box_call_attach() reaches it.  Who only looks makes no box: a name that
 * was mistyped would have one. */
int box_call_find(struct box_call *call, const char *user, struct gb_err *err);
int box_call_attach(struct box_call *call, const char *user, struct gb_err *err);

void box_call_clear(struct box_call *call);
#define cleanup_box_call cleanup_with(box_call_clear)

/* A path in the box. */
struct box_place {
    const char *dir;     /* "/", or where the box's runs begin */
    char path[PATH_MAX]; /* below it; "" is dir itself */
    bool has_slash;      /* it was said with a slash at its end: a directory */
};

/* "." is where runs begin, "/" the root.  The kept box must have been found. */
int box_place_parse(const struct box_call *call, const char *text, struct box_place *ret,
                    struct gb_err *err);
