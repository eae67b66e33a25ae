/* SPDX-License-Identifier: Apache-2.0 */
/* cli/exec_lines.c - a run told as it goes, one JSON object a line. */
#include "cli/exec_lines.h"

#include <fcntl.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "box/out_log.h"
#include "json/utf8.h"
#include "json/writer.h"
#include "run/result.h"

/* Bytes of output on one line. */
#define PIECE_MAX (64 << 10)

#define PIPE_SIZE (1 << 20)

/* Who reads nothing while packages are installed does not keep them from it for longer. */
#define INSTALL_MS 10000

/* ---- writing -------------------------------------------------------------------------------- */

void exec_lines_init(struct exec_lines *ret, int fd, int cancel_fd)
{
    *ret = (struct exec_lines){ .piece = BUF_INIT(PIECE_MAX) };
    outlet_init(&ret->outlet, fd, cancel_fd);
}

void exec_lines_clear(struct exec_lines *lines)
{
    buf_clear(&lines->piece);
    outlet_clear(&lines->outlet);
}

/* One object has been put behind what is unwritten. */
static int send_line(struct exec_lines *lines, struct json_writer *w)
{
    json_object_end(w);
    (void)json_writer_end(w);
    (void)buf_putc(&lines->outlet.pending, '\n');
    return outlet_push(&lines->outlet);
}

static void start_line(struct exec_lines *lines, struct json_writer *w, const char *event)
{
    json_writer_init(w, &lines->outlet.pending, false);
    json_object_begin(w, NULL);
    json_put_str(w, "event", event);
}

/* ---- output --------------------------------------------------------------------------------- */

/* How many of the last bytes may be the beginning of a character. */
static size_t cut_of(const char *bytes, size_t len)
{
    for (size_t n = 1; n < 4 && n <= len; n++) {
        unsigned char lead = (unsigned char)bytes[len - n];
        size_t whole = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;

        if (lead >= 0xc0)
            return whole > n && lead >= 0xc2 && lead <= 0xf4 ? n : 0;
        if (lead < 0x80)
            return 0;
    }
    return 0;
}

/* Bytes that are no text are there a second time, as they were. */
static int put_piece(struct exec_lines *lines, int stream, const char *bytes, size_t len)
{
    struct json_writer w;

    start_line(lines, &w, "output");
    json_put_str(&w, "stream", stream == OUT_STDOUT ? "stdout" : "stderr");
    json_put_bytes(&w, "data", bytes, len);
    if (!utf8_is_valid(bytes, len))
        json_put_base64(&w, "base64", bytes, len);
    return send_line(lines, &w);
}

static int flush_cut(struct exec_lines *lines, int stream)
{
    struct exec_cut cut = lines->cuts[stream];

    lines->cuts[stream].len = 0;
    return cut.len > 0 ? put_piece(lines, stream, cut.bytes, cut.len) : 0;
}

static void flush_cuts(struct exec_lines *lines)
{
    (void)flush_cut(lines, OUT_STDOUT);
    (void)flush_cut(lines, OUT_STDERR);
}

/* At most PIECE_MAX bytes; how many of them were taken. */
static size_t add_piece(struct exec_lines *lines, int stream, const char *bytes, size_t len)
{
    struct exec_cut *cut = &lines->cuts[stream];
    struct buf *piece = &lines->piece;
    size_t n = len < PIECE_MAX - cut->len ? len : PIECE_MAX - cut->len;

    buf_reset(piece);
    (void)buf_add(piece, cut->bytes, cut->len);
    if (buf_add(piece, bytes, n) < 0) {
        lines->outlet.error = buf_error(piece);
        return n;
    }
    cut->len = cut_of(piece->data, piece->len);
    piece->len -= cut->len;
    memcpy(cut->bytes, piece->data + piece->len, cut->len);
    if (piece->len > 0)
        (void)put_piece(lines, stream, piece->data, piece->len);
    return n;
}

int exec_lines_output(struct exec_lines *lines, int stream, const void *bytes, size_t len)
{
    const char *at = bytes;

    while (len > 0 && lines->outlet.error == 0) {
        size_t n = add_piece(lines, stream, at, len);

        at += n;
        len -= n;
    }
    return lines->outlet.error;
}

/* ---- the rest ------------------------------------------------------------------------------- */

void exec_lines_begin(struct exec_lines *lines, const char *id, const char *language,
                      uint64_t wall_ms)
{
    struct json_writer w;

    lines->wall_ms = wall_ms;
    lines->outlet.deadline_ns = clock_after_ms(wall_ms);
    /* No pipe, or refused where the user has many. */
    (void)fcntl(lines->outlet.fd, F_SETPIPE_SZ, PIPE_SIZE);
    start_line(lines, &w, "begin");
    json_put_u64(&w, "schema", RUN_SCHEMA);
    json_put_str(&w, "run", id);
    json_put_str(&w, "language", language);
    (void)send_line(lines, &w);
}

void exec_lines_step(struct exec_lines *lines, const char *name)
{
    struct json_writer w;

    flush_cuts(lines);
    lines->outlet.deadline_ns = clock_after_ms(lines->wall_ms);
    start_line(lines, &w, "step");
    json_put_str(&w, "name", name);
    (void)send_line(lines, &w);
}

void exec_lines_install(struct exec_lines *lines, const char *event, const char *text)
{
    struct json_writer w;

    lines->outlet.deadline_ns = clock_after_ms(INSTALL_MS);
    start_line(lines, &w, event);
    json_put_bytes(&w, "text", text, strlen(text));
    (void)send_line(lines, &w);
}

int exec_lines_end(struct exec_lines *lines, const struct run_result *result, bool with_base64,
                   struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(SIZE_MAX / 4);
    struct json_writer w;
    int r = run_result_json(result, with_base64, &text);

    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "writing the result: %s", strerror(-r));
    lines->outlet.deadline_ns = CLOCK_NEVER_NS;
    lines->outlet.cancel_fd = -1;
    lines->outlet.pending.max = SIZE_MAX / 4;
    flush_cuts(lines);
    start_line(lines, &w, "result");
    json_put_raw(&w, "document", text.data);
    r = send_line(lines, &w);
    return r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "writing the result: %s", strerror(-r)) : 0;
}
