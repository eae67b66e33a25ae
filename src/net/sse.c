/* SPDX-License-Identifier: Apache-2.0 */
/* net/sse.c - server-sent events: a pure reader, fed with any pieces.
 *
 * A line that lies whole in a piece is read where it stands; only one that is cut between pieces is
 * gathered in sse->line.  id and retry fields mean nothing to a reader that never reconnects. */
#include "net/sse.h"

#include <errno.h>
#include <string.h>

void sse_init(struct sse *sse, size_t max, int (*event)(void *user, const struct sse_event *event),
              void *user)
{
    *sse = (struct sse){
        .line = BUF_INIT(max),
        .name = BUF_INIT(max),
        .data = BUF_INIT(max),
        .event = event,
        .user = user,
    };
}

/* The blank line: tells the event, if there was data for one. */
static int tell(struct sse *sse)
{
    struct sse_event event = {
        .name = sse->name.data && sse->name.data[0] ? sse->name.data : "message",
        .data = sse->data.data,
        .len = sse->data.len,
    };
    int r = sse->has_data ? sse->event(sse->user, &event) : 0;

    buf_reset(&sse->name);
    buf_reset(&sse->data);
    sse->has_data = false;
    return r;
}

static int take_data(struct sse *sse, const char *value, size_t len)
{
    int r = sse->has_data ? buf_putc(&sse->data, '\n') : 0;

    sse->has_data = true;
    return r == 0 ? buf_add(&sse->data, value, len) : r;
}

static int take_name(struct sse *sse, const char *value, size_t len)
{
    buf_reset(&sse->name);
    return buf_add(&sse->name, value, len);
}

static bool is_field(const char *line, size_t len, const char *name)
{
    return len == strlen(name) && memcmp(line, name, len) == 0;
}

static int take_field(struct sse *sse, const char *line, size_t len)
{
    const char *colon = memchr(line, ':', len);
    size_t name_len = colon ? (size_t)(colon - line) : len;
    const char *value = colon ? colon + 1 : line + len;
    const char *end = line + len;

    if (value < end && *value == ' ')
        value++;
    if (is_field(line, name_len, "data"))
        return take_data(sse, value, (size_t)(end - value));
    if (is_field(line, name_len, "event"))
        return take_name(sse, value, (size_t)(end - value));
    return 0; /* a comment's name is empty */
}

static int take_line(struct sse *sse, const char *line, size_t len)
{
    static const char mark[] = "\xef\xbb\xbf";
    size_t mark_len = sizeof(mark) - 1;

    if (!sse->is_begun && len >= mark_len && memcmp(line, mark, mark_len) == 0) {
        line += mark_len;
        len -= mark_len;
    }
    sse->is_begun = true;
    return len == 0 ? tell(sse) : take_field(sse, line, len);
}

/* The line ends with what lies in this piece. */
static int end_line(struct sse *sse, const char *rest, size_t len)
{
    int r;

    if (sse->line.len == 0)
        return len > sse->line.max ? -EMSGSIZE : take_line(sse, rest, len);
    r = buf_add(&sse->line, rest, len);
    if (r == 0)
        r = take_line(sse, sse->line.data, sse->line.len);
    buf_reset(&sse->line);
    return r;
}

int sse_feed(struct sse *sse, const char *bytes, size_t len)
{
    const char *end = bytes + len;
    int r = 0;

    while (bytes < end && r >= 0) {
        const char *at = bytes;

        if (sse->was_cr && *bytes == '\n') /* the other half of a CRLF */
            at = ++bytes;
        sse->was_cr = false;
        while (at < end && *at != '\n' && *at != '\r')
            at++;
        if (at == end)
            return buf_add(&sse->line, bytes, (size_t)(at - bytes));
        sse->was_cr = *at == '\r';
        r = end_line(sse, bytes, (size_t)(at - bytes));
        bytes = at + 1;
    }
    return r < 0 ? r : 0;
}

int sse_end(struct sse *sse)
{
    int r = sse->line.len > 0 ? end_line(sse, NULL, 0) : 0;

    return r < 0 ? r : tell(sse);
}

void sse_clear(struct sse *sse)
{
    buf_clear(&sse->line);
    buf_clear(&sse->name);
    buf_clear(&sse->data);
}
