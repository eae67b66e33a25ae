/* SPDX-License-Identifier: Apache-2.0 */
/* json/value.h - a parsed JSON text, to look around in.
 *
 * For answers whose shape is somebody else's (a model's, an engine's); what is ours is bound by a
 * table (json/bind.h).  The text is hostile: the same things are refused as there, except that keys
 * may be anything.  All look-ups take NULL and give NULL or false, so that a chain of them needs
 * one check at its end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct buf;
struct gb_err;
struct json_value;

enum json_kind {
    JSON_NONE, /* there is no value */
    JSON_NULL,
    JSON_BOOL,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT,
};

/* Any value, alone in the text, which has at most max bytes.  Errors blame the peer.  The caller
 * owes a json_value_free(). */
int json_value_parse(const char *text, size_t len, size_t max, struct json_value **ret,
                     struct gb_err *err);
void json_value_free(struct json_value **value);

#define cleanup_json cleanup_with(json_value_free)

enum json_kind json_kind(const struct json_value *value);

/* Members, items; what is returned lives as long as the parsed text. */
const struct json_value *json_get(const struct json_value *object, const char *key);
const struct json_value *json_at(const struct json_value *array, size_t i);
size_t json_count(const struct json_value *value); /* of an array or an object */

/* "choices/0/delta/content" */
const struct json_value *json_path(const struct json_value *value, const char *path);

/* The n-th member of an object, in the order of the text.  It is counted from the first one. */
const struct json_value *json_member(const struct json_value *object, size_t n,
                                     const char **ret_key);

/* NULL when it is no string.  May hold NULs; len may be NULL. */
const char *json_str(const struct json_value *value, size_t *ret_len);
bool json_u64(const struct json_value *value, uint64_t *ret);
bool json_double(const struct json_value *value, double *ret);
bool json_bool(const struct json_value *value, bool *ret);

/* Appends it as compact text. */
int json_value_text(const struct json_value *value, struct buf *ret);
