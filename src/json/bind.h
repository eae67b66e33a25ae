/* SPDX-License-Identifier: Apache-2.0 */
/* json/bind.h - tables that bind the keys of a JSON object to the fields of a struct.
 *
 *    static const struct bind_field fields[] = {
 *        { "image", BIND_STR, offsetof(struct request, image), BIND_REQUIRED },
 *        { "timeout_sec", BIND_U64, offsetof(struct request, timeout_s), 0, 1, 600 },
 *        { 0 },
 *    };
 *    static const struct bind bind = { .fields = fields, .text_max = 1 << 20 };
 *
 * The text is hostile.  Refused, with an error that names the key or the place: what is longer
 * than text_max or nested deeper than BIND_DEPTH_MAX, a key given twice, a key that no row names
 * (unless BIND_IGNORE_UNKNOWN), a value of another type or out of its range, a number that no
 * double or 64-bit integer holds, invalid UTF-8, a lone surrogate, \u0000 in a string, a byte order
 * mark, bytes behind the object.
 *
 * The table is flat.  What is nested is bound as text (BIND_JSON, BIND_JSONS) and then given to a
 * table of its own.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct gb_err;

#define BIND_DEPTH_MAX 64

enum bind_type {
    BIND_STR,    /* char *: a string */
    BIND_U64,    /* uint64_t: an integer, min 0 or more */
    BIND_I64,    /* int64_t: an integer */
    BIND_DOUBLE, /* double: any number */
    BIND_BOOL,   /* bool */
    BIND_STRS,   /* char **, NULL-terminated: an array of strings */
    BIND_PAIRS, /* char **, NULL-terminated: an object of strings, as key, value, key, value, … */
    BIND_JSON,  /* char *: any value, as compact text */
    BIND_JSONS, /* char **, NULL-terminated: an array of any values, each as compact text */
};

enum bind_field_flags {
    BIND_REQUIRED = 1 << 0,
};

struct bind_field {
    const char *name; /* NULL ends the table */
    enum bind_type type;
    size_t offset;
    unsigned flags;
    int64_t min;      /* numbers: the bounds, both included; */
    int64_t max;      /* both 0: whatever the type holds */
    const char *help; /* for people and models; NULL where nobody asks */
};

enum bind_flags {
    BIND_IGNORE_UNKNOWN = 1 << 0,
};

struct bind {
    const struct bind_field *fields;
    size_t text_max; /* bytes */
    unsigned flags;
};

/* Fills the struct at ret from the JSON object in text.  A key that is absent or null leaves its
 * field as it was, so defaults go in before; pointers start as NULL.  On success the caller owes a
 * bind_clear(); after a failure the pointers are NULL again.  -EINVAL blames the caller. */
int bind_text(const struct bind *bind, const char *text, size_t len, void *ret, struct gb_err *err);

/* Frees what the pointers of the table hold and makes them NULL. */
void bind_clear(const struct bind *bind, void *bound);
