/* SPDX-License-Identifier: Apache-2.0 */
/* engine/read.h - pieces of the engine's JSON, checked; for the files of engine/ alone. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gb_err;
struct json_value;

/* What may later stand in a path: letters, digits and "_.-:", shorter than size; else -EBADMSG. */
int read_id(const struct json_value *json, char *id, size_t size, struct gb_err *err);

/* One line without control bytes, cut to size; "" when it is no string. */
void read_line(const struct json_value *json, char *line, size_t size);

bool read_i64(const struct json_value *json, int64_t *ret);

/* On the heap; "" when it is no string; NULL: no memory. */
char *read_text(const struct json_value *json);

/* The strings of an object as key, value, …, NULL; those of an array; the keys of an object.  Empty
 * when it is none.  At most READ_MAX are taken.  NULL: no memory. */
#define READ_MAX 1024
char **read_pairs(const struct json_value *json);
char **read_texts(const struct json_value *json);
char **read_names(const struct json_value *json);
void read_texts_free(char **texts);

/* An array whose parts are of one kind. */
struct read_kind {
    const char *what; /* "containers" */
    size_t max;       /* more are -EMSGSIZE */
    size_t size;      /* of what one becomes */
    int (*read)(const struct json_value *json, void *ret, struct gb_err *err);
};

/* Zeroed before they are read, *ret_n as far as it came: on failure too they are the caller's. */
int read_list(const struct json_value *json, const struct read_kind *kind, void **ret,
              size_t *ret_n, struct gb_err *err);
