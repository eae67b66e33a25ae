/* SPDX-License-Identifier: Apache-2.0 */
/* conf/value_text.h - the kinds of values that are texts, paths and lists, for conf/value.c alone.
 */
#pragma once

#include "conf/value.h"

#define VALUE_ITEMS_MAX 64

struct value_parse {
    const char *text;
    const char *home;
    struct value *ret;
    struct gb_err *err;
};

/* -EINVAL for what is none, -ERANGE for too many items, -ENOMEM. */
int value_parse_text(const struct value_parse *p);
int value_parse_rules(const struct value_parse *p); /* of a network */
int value_parse_model(const struct value_parse *p);
int value_parse_url(const struct value_parse *p);
int value_parse_path(const struct value_parse *p);
int value_parse_folder(const struct value_parse *p);
int value_parse_paths(const struct value_parse *p);
int value_parse_images(const struct value_parse *p);

int value_format_text(const struct value *value, struct buf *ret);
int value_format_paths(const struct value *value, struct buf *ret);
int value_format_images(const struct value *value, struct buf *ret);

/* Moves the items of tail behind those of head: all of them or, on failure, none. */
int value_join_items(struct value *head, struct value *tail);
