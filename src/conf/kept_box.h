/* SPDX-License-Identifier: Apache-2.0 */
/* conf/kept_box.h - boxes that live on, as the settings ask for them: with packages, with a
 * network, and one for each user.
 *
 * env is the environment of whoever asks: where packages come from, and which certificates programs
 * of this machine trust, stands there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "package/provide.h"

struct gb_err;
struct kept;
struct limits;
struct package_wishes;
struct port;
struct run_packages;
struct settings;

/* Letters, digits, "._-@", not at the beginning "-" or "."; at most 63. */
int user_check(const char *name, struct gb_err *err);

/* Packages for a new box, installed and held.  The owner begins with box_packages_init() and owes a
 * box_packages_clear(), not before the box is made; of one that does not live on not before it is
 * gone. */
struct box_packages {
    struct package_host host;
    struct packages all;
};

void box_packages_init(struct box_packages *packages);
void box_packages_clear(struct box_packages *packages);

struct box_packages_order {
    const struct package_wishes *wishes;
    bool has_network;                   /* of the box: pip in it may have something to wait for */
    int cancel_fd;                      /* -1: none */
    const struct packages_watch *watch; /* NULL: nobody */
};

/* Takes as long as it takes: nobody else is to be kept waiting meanwhile.  *ret_told is filled also
 * on failure; the caller owes a run_packages_free(). */
int box_packages_open(const struct settings *settings, char *const *env,
                      const struct box_packages_order *asked, struct box_packages *ret,
                      struct run_packages **ret_told, struct gb_err *err);

/* What a new box is to be, besides what the settings say. */
struct box_wish {
    char *const *env;
    const char *user;                    /* NULL: nobody's in particular */
    const char *workdir;                 /* NULL: the workspace */
    uint64_t ttl_ms;                     /* 0: for ever */
    const struct limits *limits;         /* NULL: those of the settings */
    bool is_filled_later;                /* until kept_fill_done() it is no box of the user's */
    const struct box_packages *packages; /* NULL: none */
    const struct package_wishes *wishes; /* what these are; NULL: none */
    bool is_unserved;                    /* without net: made to be given one by a task */
    const char *net;                     /* rules of its network; NULL: none */
    struct port *ports; /* of this machine that lead to it; those that were 0 are filled in */
    size_t n_ports;
};

/* Makes a box and gives it to a keeper, at once. */
int box_make(const struct settings *settings, const struct box_wish *wish, struct kept *ret,
             struct gb_err *err);

/* The user's box; made as wished where there is none.  Two that come at once get one box. */
int box_find_or_make(const struct settings *settings, const struct box_wish *wish, struct kept *ret,
                     struct gb_err *err);

/* The packages that a box was made with; ret is initialised. */
int box_wishes(const struct settings *settings, const struct kept *kept, struct package_wishes *ret,
               struct gb_err *err);
