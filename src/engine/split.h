/* SPDX-License-Identifier: Apache-2.0 */
/* engine/split.h - a stream of JSON objects, one behind the other: a pure reader, fed with any
 * pieces.
 *
 * Between objects only blanks may stand; newlines are not promised.  The bytes are hostile: an
 * object longer than the maximum is an error, and so is what is no object.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct split {
    struct buf text; /* of the object that has begun */
    size_t depth;
    bool is_string;
    bool is_escaped;
    /* The text of one object, from brace to brace, not yet parsed.  Negative ends the reading. */
    int (*object)(void *user, const char *text, size_t len);
    void *user;
};

/* max: bytes of one object. */
void split_init(struct split *split, size_t max,
                int (*object)(void *user, const char *text, size_t len), void *user);

/* -EBADMSG: that is no stream of objects; -EMSGSIZE: one is too long; -ENOMEM. */
int split_feed(struct split *split, const char *bytes, size_t len);

/* The stream is over: -EBADMSG when an object is not. */
int split_end(const struct split *split);
void split_clear(struct split *split);
