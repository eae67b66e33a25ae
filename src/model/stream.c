/* SPDX-License-Identifier: Apache-2.0 */
/* model/stream.c - the body of an answer, cut into the events that a wire reads. */
#include "model/stream.h"

#include <string.h>

#include "model/assemble.h"
#include "model/wire.h"

static int on_event(void *user, const struct sse_event *event)
{
    struct stream *stream = user;

    stream->n_events++;
    return event->len > 0 ? stream->wire->event(stream->assembly, event->data, event->len) : 0;
}

void stream_init(struct stream *stream, const struct wire *wire, struct assembly *assembly)
{
    *stream = (struct stream){
        .wire = wire,
        .assembly = assembly,
        .held = BUF_INIT(WIRE_EVENT_MAX),
    };
    sse_init(&stream->sse, WIRE_EVENT_MAX, on_event, stream);
}

/* What is held is an event; blank lines are none. */
static int take_held(struct stream *stream)
{
    struct buf *held = &stream->held;
    int r = 0;

    if (held->len > 0 && held->data[held->len - 1] == '\r')
        held->data[--held->len] = '\0';
    if (held->len > 0) {
        stream->n_events++;
        r = stream->wire->event(stream->assembly, held->data, held->len);
    }
    buf_reset(held);
    return r;
}

static int feed_lines(struct stream *stream, const char *bytes, size_t len)
{
    while (len > 0) {
        const char *newline = memchr(bytes, '\n', len);
        size_t n = newline ? (size_t)(newline - bytes) : len;
        int r = n > 0 ? buf_add(&stream->held, bytes, n) : 0;

        if (r == 0 && newline)
            r = take_held(stream);
        if (r < 0)
            return r;
        n += newline != NULL;
        bytes += n;
        len -= n;
    }
    return 0;
}

int stream_feed(void *user, const char *bytes, size_t len)
{
    struct stream *stream = user;

    for (size_t i = 0; !stream->is_begun && i < len; i++)
        if (!strchr(" \t\r\n", bytes[i])) {
            stream->is_begun = true;
            stream->is_whole = bytes[i] == '{' && !stream->wire->is_lines;
        }
    if (stream->wire->is_lines)
        return feed_lines(stream, bytes, len);
    return stream->is_whole ? buf_add(&stream->held, bytes, len)
                            : sse_feed(&stream->sse, bytes, len);
}

int stream_end(struct stream *stream)
{
    int r = stream->is_whole || stream->wire->is_lines ? take_held(stream) : sse_end(&stream->sse);

    if (r < 0)
        return r;
    if (stream->n_events == 0 && stream->is_begun)
        return assembly_fail(stream->assembly, FAULT_ADDRESS, "what came is no answer of a model");
    return assembly_finish(stream->assembly);
}

void stream_clear(struct stream *stream)
{
    sse_clear(&stream->sse);
    buf_clear(&stream->held);
}
