/* SPDX-License-Identifier: Apache-2.0 */
/* model/stream.h - the body of an answer, cut into the events that a wire reads.
 *
 * Events of an event stream, lines of JSON (Ollama), or one JSON object from a server that knows no
 * streams.  The bytes are hostile: an event has at most WIRE_EVENT_MAX of them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "net/sse.h"

struct assembly;
struct wire;

struct stream {
    const struct wire *wire;
    struct assembly *assembly;
    struct sse sse;
    struct buf held; /* a line, or the whole */
    bool is_begun;
    bool is_whole;
    size_t n_events;
};

/* Not to be moved afterwards. */
void stream_init(struct stream *stream, const struct wire *wire, struct assembly *assembly);

/* The next bytes; user is the stream: net/http.h calls it. */
int stream_feed(void *user, const char *bytes, size_t len);

/* There are no more: is the answer whole, or cut only at its length? */
int stream_end(struct stream *stream);
void stream_clear(struct stream *stream);
