/* SPDX-License-Identifier: Apache-2.0 */
/* json/writer.h - writes JSON text into a buf, piece by piece.
 *
 * Every call takes the key under which its value stands: a string inside an object, NULL inside an
 * array and for the outermost value.  Keys and nesting are the program's own doing and are checked
 * by assert; values may be any bytes and are repaired to UTF-8.  Failures (no memory, over the
 * buf's maximum) stay in the buf: json_writer_end() tells once.
 *
 * The text is safe to print on a terminal and to paste into a script: besides what JSON demands,
 * DEL, the C1 controls and U+2028/2029 are escaped.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

#define JSON_WRITER_DEPTH_MAX 64

struct json_writer {
    struct buf *buf;
    bool is_pretty;
    unsigned depth;
    uint64_t objects; /* bit n - 1: level n is an object, not an array */
    bool has_items;   /* something stands at the present level already */
};

/* is_pretty: two spaces a level, for people; else no blank at all. */
void json_writer_init(struct json_writer *w, struct buf *buf, bool is_pretty);

/* The text is whole; 0 or the buf's error. */
int json_writer_end(struct json_writer *w);

void json_object_begin(struct json_writer *w, const char *key);
void json_object_end(struct json_writer *w);
void json_array_begin(struct json_writer *w, const char *key);
void json_array_end(struct json_writer *w);

/* NULL makes null. */
void json_put_str(struct json_writer *w, const char *key, const char *str);
void json_put_bytes(struct json_writer *w, const char *key, const void *bytes, size_t len);
void json_put_base64(struct json_writer *w, const char *key, const void *bytes, size_t len);
void json_put_u64(struct json_writer *w, const char *key, uint64_t value);
void json_put_i64(struct json_writer *w, const char *key, int64_t value);

/* With so many decimals (at most 9), whatever the locale; what is not finite makes null. */
void json_put_double(struct json_writer *w, const char *key, double value, unsigned decimals);
void json_put_bool(struct json_writer *w, const char *key, bool value);
void json_put_null(struct json_writer *w, const char *key);

/* A value that is JSON already, as it stands: valid, and as safe to print as the caller made it. */
void json_put_raw(struct json_writer *w, const char *key, const char *text);
