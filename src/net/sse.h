/* SPDX-License-Identifier: Apache-2.0 */
/* net/sse.h - server-sent events: a pure reader, fed with any pieces.
 *
 * LF, CR and CRLF end lines, a byte order mark is skipped, comments too, data lines of one event
 * are joined by LF, a field may lack its blank, an event may lack its last blank line (sse_end()).
 * The bytes are hostile: a line or an event longer than the maximum is an error.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct sse_event {
    const char *name; /* "message" when it has none */
    const char *data; /* NUL-terminated */
    size_t len;
};

struct sse {
    struct buf line;
    struct buf name;
    struct buf data;
    bool has_data;
    bool was_cr;
    bool is_begun;
    /* Negative ends the reading with that code. */
    int (*event)(void *user, const struct sse_event *event);
    void *user;
};

/* max: bytes of one event. */
void sse_init(struct sse *sse, size_t max, int (*event)(void *user, const struct sse_event *event),
              void *user);
int sse_feed(struct sse *sse, const char *bytes, size_t len);

/* The stream is over: an event that has begun is told. */
int sse_end(struct sse *sse);
void sse_clear(struct sse *sse);
