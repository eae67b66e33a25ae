/* SPDX-License-Identifier: Apache-2.0 */
/* cli/live.c - a few lines at the bottom of a terminal that are drawn over and over. */
#include "cli/live.h"

#include <string.h>

#include "base/buf.h"
#include "base/fd.h"

#define FRAME_MAX (64 << 10)

/* To the first column of the first line drawn. */
static void put_home(const struct live *live, struct buf *out)
{
    (void)buf_putc(out, '\r');
    if (live->n_lines > 1)
        (void)buf_printf(out, "\x1b[%uA", live->n_lines - 1);
}

/* A terminal that is gone is no reason to stop a task. */
static void put(const struct live *live, const struct buf *out)
{
    if (buf_error(out) == 0)
        (void)fd_write_full(live->fd, out->data, out->len);
}

/* One write a frame, each line cleared behind its text: nothing flickers. */
void live_draw(struct live *live, const struct buf *lines)
{
    cleanup_buf struct buf out = BUF_INIT(FRAME_MAX);
    const char *line = lines->len ? lines->data : "";
    unsigned n = 0;

    if (live->n_lines > 0)
        put_home(live, &out);
    (void)buf_puts(&out, "\x1b[?7l");
    while (line && n < LIVE_LINES_MAX) {
        size_t len = strcspn(line, "\n");

        (void)buf_puts(&out, n++ ? "\r\n" : "");
        (void)buf_add(&out, line, len);
        (void)buf_puts(&out, "\x1b[K");
        line = line[len] ? line + len + 1 : NULL;
    }
    (void)buf_puts(&out, "\x1b[?7h");
    if (live->n_lines > n)
        (void)buf_puts(&out, "\x1b[0J");
    put(live, &out);
    live->n_lines = n;
}

void live_erase(struct live *live)
{
    cleanup_buf struct buf out = BUF_INIT(64);

    if (live->n_lines == 0)
        return;
    put_home(live, &out);
    (void)buf_puts(&out, "\x1b[J");
    put(live, &out);
    live->n_lines = 0;
}
