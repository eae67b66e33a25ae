/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz/fuzz_sse.c - any bytes as an event stream, in one piece and in pieces.
 *
 * The first byte says how long the pieces are.  Both readings tell the same events and end alike;
 * no event is longer than the maximum; what was told is read from a stream of its own again. */
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "must.h"
#include "net/sse.h"

#define MAX 100

/* Every event, with its lengths before it, so that no two lists look alike. */
static int note(void *user, const struct sse_event *event)
{
    size_t lens[2] = { strlen(event->name), event->len };
    struct buf *seen = user;

    must(event->len <= MAX && lens[0] <= MAX);
    must(event->data[event->len] == '\0');
    must(!memchr(event->data, '\r', event->len) && !strpbrk(event->name, "\r\n"));
    (void)buf_add(seen, lens, sizeof(lens));
    (void)buf_add(seen, event->name, lens[0]);
    return buf_add(seen, event->data, event->len);
}

static int read_stream(const char *bytes, size_t len, size_t piece, struct buf *seen)
{
    struct sse sse;
    int r = 0;

    sse_init(&sse, MAX, note, seen);
    for (size_t at = 0; at < len && r == 0; at += piece)
        r = sse_feed(&sse, bytes + at, len - at < piece ? len - at : piece);
    if (r == 0)
        r = sse_end(&sse);
    must(sse.data.len <= MAX && sse.line.len <= MAX && sse.name.len <= MAX);
    sse_clear(&sse);
    return r;
}

static int write_event(void *user, const struct sse_event *event)
{
    struct buf *text = user;
    const char *end = event->data + event->len;

    (void)buf_printf(text, "event: %s\r", event->name);
    for (const char *line = event->data; line <= end;) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));

        stop = stop ? stop : end;
        (void)buf_puts(text, "data: ");
        (void)buf_add(text, line, (size_t)(stop - line));
        (void)buf_puts(text, "\r\n");
        line = stop + 1;
    }
    return buf_puts(text, "\n");
}

/* Writes what is told and reads that, with room for the field names. */
static void check_again(const char *bytes, size_t len, const struct buf *wanted)
{
    cleanup_buf struct buf text = BUF_INIT(16 << 20);
    cleanup_buf struct buf seen = BUF_INIT(16 << 20);
    struct sse sse;

    sse_init(&sse, MAX, write_event, &text);
    must(sse_feed(&sse, bytes, len) == 0 && sse_end(&sse) == 0);
    sse_clear(&sse);
    sse_init(&sse, MAX + 8, note, &seen);
    must(text.len == 0 || sse_feed(&sse, text.data, text.len) == 0);
    must(sse_end(&sse) == 0);
    sse_clear(&sse);
    must(seen.len == wanted->len);
    must(seen.len == 0 || memcmp(seen.data, wanted->data, seen.len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_buf struct buf whole = BUF_INIT(16 << 20);
    cleanup_buf struct buf pieces = BUF_INIT(16 << 20);
    const char *bytes = (const char *)data + 1;
    int r;

    if (size == 0)
        return 0;
    r = read_stream(bytes, size - 1, size, &whole);
    must(r == read_stream(bytes, size - 1, (size_t)data[0] % 16 + 1, &pieces));
    must(whole.len == pieces.len);
    must(whole.len == 0 || memcmp(whole.data, pieces.data, whole.len) == 0);
    if (r == 0)
        check_again(bytes, size - 1, &whole);
    return 0;
}
