/* SPDX-License-Identifier: Apache-2.0 */
/* cli/cmd_box_logs.c - `glovebox box runs` and `box logs`: what ran in a box, and what it wrote. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/num.h"
#include "box/news.h"
#include "cli/box_open.h"
#include "cli/command.h"
#include "cli/term_filter.h"
#include "json/writer.h"
#include "run/kept_log.h"
#include "run/kept_run.h"
#include "run/record.h"

#define TEXT_MAX (64 << 20)
#define ID_SHOWN 10

/* Of one answer with --json, so that whoever asks can go on with what there is. */
#define PAGE_BYTES (1 << 20)
#define PIECE_MAX  (PAGE_BYTES + KEPT_CHUNK_MAX + 1)

/* A chunk grows at most fourfold on a terminal. */
#define SHOWN_MAX (1 << 20)

struct logs_args {
    const char *user;
    const char *cursor;
    bool is_json;
    bool follows;
};

#define AT(field) .offset = offsetof(struct logs_args, field)
static const struct opt logs_options[] = {
    { OPT_TEXT, "user", 0, AT(user), "NAME", "the box of that user" },
    { OPT_FLAG, "follow", 'f', AT(follows), NULL, "until the run has ended" },
    { OPT_TEXT, "cursor", 0, AT(cursor), "N", "from this position on [0]" },
    { OPT_FLAG, "json", 0, AT(is_json), NULL, "a JSON document; with -f one on each line" },
    { OPT_KEY, .key = KEY_COLOR },
    OPT_HELP_ROW,
    { 0 },
};

static const struct opt runs_options[] = {
    { OPT_TEXT, "user", 0, AT(user), "NAME", "the box of that user" },
    { OPT_FLAG, "json", 0, AT(is_json), NULL, "one JSON document" },
    { OPT_KEY, .key = KEY_COLOR },
    OPT_HELP_ROW,
    { 0 },
};

/* ---- runs ----------------------------------------------------------------------------------- */

static const char *state_of(const struct kept_run *run)
{
    return run->verdict ? run->verdict : run->is_running ? "running" : "lost";
}

static void put_run_json(struct json_writer *w, const struct kept_run *run)
{
    json_object_begin(w, NULL);
    json_put_str(w, "id", run->id);
    json_put_str(w, "state", run->verdict ? "ended" : state_of(run));
    json_put_str(w, "verdict", run->verdict);
    if (run->verdict)
        json_put_u64(w, "exit_code", run->exit_code);
    else
        json_put_null(w, "exit_code");
    json_put_str(w, "command", run->command);
    json_put_u64(w, "started_ms", run->started_ms);
    if (run->verdict)
        json_put_u64(w, "ended_ms", run->ended_ms);
    else
        json_put_null(w, "ended_ms");
    json_put_u64(w, "output_bytes", run->output_bytes);
    json_object_end(w);
}

static void put_run_line(struct buf *text, const struct kept_run *run)
{
    time_t seconds = (time_t)(run->started_ms / 1000);
    char date[32] = "";
    char code[16] = "";
    struct tm parts;

    if (localtime_r(&seconds, &parts))
        (void)strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", &parts);
    if (run->verdict)
        (void)snprintf(code, sizeof(code), "%" PRIu64, run->exit_code);
    (void)buf_printf(text, "%.*s  %s  %-13s %3s  ", ID_SHOWN, run->id, date, state_of(run), code);
    (void)term_filter_line(run->command, strcspn(run->command, "\n"), text);
    (void)buf_putc(text, '\n');
}

static int show_runs(int runs_fd, bool is_json, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
    struct kept_run *list = NULL;
    struct json_writer w;
    size_t n = 0;
    int r = kept_run_list(runs_fd, &list, &n, err);

    if (r < 0)
        return r;
    json_writer_init(&w, &text, true);
    if (is_json) {
        json_object_begin(&w, NULL);
        json_put_u64(&w, "schema", 1);
        json_array_begin(&w, "runs");
    }
    for (size_t i = 0; i < n; i++) {
        if (is_json)
            put_run_json(&w, &list[i]);
        else
            put_run_line(&text, &list[i]);
        kept_run_clear(&list[i]);
    }
    free(list);
    if (is_json) {
        json_array_end(&w);
        json_object_end(&w);
        (void)json_writer_end(&w);
    }
    if (text.len == 0) {
        (void)dprintf(STDERR_FILENO, "Nothing has run in this box yet.\n");
        return 0;
    }
    return command_print(&text, err);
}

static int runs_call(const struct call *call, struct gb_err *err)
{
    struct logs_args args = { 0 };
    cleanup_box_call struct box_call opened = { 0 };
    cleanup_close int runs_fd = -1;
    int r = box_call_alone(call, &args, &args.user, &opened, err);

    if (r == 0)
        r = box_call_find(&opened, args.user, err);
    if (r == 0) {
        runs_fd = run_record_dir(opened.settings.state_dir, &opened.kept, err);
        r = runs_fd < 0 ? runs_fd : show_runs(runs_fd, args.is_json, err);
    }
    return r > 0 ? 0 : r;
}

const struct cmd cmd_box_runs = {
    .name = "box runs",
    .help = "List what ran in a box, and how it ended",
    .usages = { "BOX", "--user NAME" },
    .options = runs_options,
    .run = runs_call,
};

/* ---- logs ----------------------------------------------------------------------------------- */

struct logs {
    int runs_fd;
    int news_fd; /* tells that something has changed; -1: look now and then */
    bool is_json;
    struct term_filter filters[3];
    struct kept_reader reader;
};

static int print_chunk(struct logs *logs, const struct kept_chunk *chunk, struct gb_err *err)
{
    int fd = chunk->stream == 1 ? STDOUT_FILENO : STDERR_FILENO;
    cleanup_buf struct buf shown = BUF_INIT(SHOWN_MAX);
    const void *bytes = chunk->bytes;
    size_t len = chunk->len;
    int r = 0;

    if (isatty(fd)) {
        r = term_filter_add(&logs->filters[chunk->stream], bytes, len, &shown);
        bytes = shown.data;
        len = shown.len;
    }
    if (r == 0 && len > 0)
        r = fd_write_full(fd, bytes, len);
    return r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "writing the output: %s", strerror(-r)) : 0;
}

/* All there is. */
static int print_all(struct logs *logs, struct gb_err *err)
{
    struct kept_chunk chunk;
    int r;

    while ((r = kept_reader_next(&logs->reader, &chunk)) > 0) {
        r = print_chunk(logs, &chunk, err);
        if (r < 0)
            return r;
    }
    return r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "reading the log: %s", strerror(-r)) : 0;
}

/* The bytes of one stream in a row, as one piece of the document. */
struct piece {
    unsigned stream;
    struct buf bytes;
};

static void put_piece(struct json_writer *w, struct piece *piece)
{
    if (piece->bytes.len == 0)
        return;
    json_object_begin(w, NULL);
    json_put_str(w, "stream", piece->stream == 1 ? "stdout" : "stderr");
    json_put_bytes(w, "data", piece->bytes.data, piece->bytes.len);
    json_object_end(w);
    piece->bytes.len = 0;
}

static int put_pieces(struct logs *logs, struct json_writer *w)
{
    struct piece piece = { .bytes = BUF_INIT(PIECE_MAX) };
    struct kept_chunk chunk;
    size_t total = 0;
    int r = 1;

    while (total < PAGE_BYTES && (r = kept_reader_next(&logs->reader, &chunk)) > 0) {
        if (chunk.stream != piece.stream)
            put_piece(w, &piece);
        piece.stream = chunk.stream;
        (void)buf_add(&piece.bytes, chunk.bytes, chunk.len);
        total += chunk.len;
    }
    put_piece(w, &piece);
    buf_clear(&piece.bytes);
    return r;
}

/* One document; 1: there is more.  Whoever follows is not told that nothing has come. */
static int print_page(struct logs *logs, bool follows, bool has_ended, bool *ret_eof,
                      struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
    uint64_t dropped = logs->reader.dropped;
    uint64_t cursor = logs->reader.cursor;
    struct json_writer w;
    int r;

    json_writer_init(&w, &text, false);
    json_object_begin(&w, NULL);
    json_put_u64(&w, "schema", 1);
    json_put_str(&w, "run", logs->reader.id);
    json_array_begin(&w, "chunks");
    r = put_pieces(logs, &w);
    json_array_end(&w);
    *ret_eof = r == 0 && has_ended;
    json_put_u64(&w, "next", logs->reader.cursor);
    json_put_bool(&w, "eof", *ret_eof);
    json_put_u64(&w, "dropped", logs->reader.dropped - dropped);
    json_object_end(&w);
    (void)json_writer_end(&w);
    (void)buf_putc(&text, '\n');
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "reading the log: %s", strerror(-r));
    if (follows && !*ret_eof && logs->reader.cursor == cursor)
        return r;
    return command_print(&text, err) < 0 ? err->code : r;
}

/* Whether it has ended is asked first: what is read then is all. */
static int show_logs(struct logs *logs, bool follows, struct gb_err *err)
{
    bool is_eof = false;

    for (;;) {
        bool has_ended = kept_run_has_ended(logs->runs_fd, logs->reader.id);
        int r = logs->is_json ? print_page(logs, follows, has_ended, &is_eof, err)
                              : print_all(logs, err);

        if (!logs->is_json)
            is_eof = has_ended;
        if (r < 0 || !follows || is_eof)
            return r < 0 ? r : 0;
        if (r == 0)
            box_news_await(logs->news_fd, BOX_NEWS_MS);
    }
}

static int logs_of(const struct box_call *call, const struct logs_args *args, uint64_t cursor,
                   struct gb_err *err)
{
    cleanup_close int runs_fd = run_record_dir(call->settings.state_dir, &call->kept, err);
    cleanup_close int news_fd = runs_fd < 0 ? -1 : box_news_open(runs_fd);
    cleanup_free struct logs *logs = calloc(1, sizeof(*logs));
    cleanup_kept_run struct kept_run run = { 0 };
    int r = runs_fd < 0
                ? runs_fd
                : kept_run_find(runs_fd, call->n_operands ? call->operands[0] : NULL, &run, err);

    if (r < 0)
        return r;
    if (!logs)
        return gb_no_memory(err);
    logs->runs_fd = runs_fd;
    logs->news_fd = news_fd;
    logs->is_json = args->is_json;
    kept_reader_init(&logs->reader, runs_fd, run.id, cursor);
    r = show_logs(logs, args->follows, err);
    if (r == 0 && !args->is_json && logs->reader.dropped)
        (void)dprintf(STDERR_FILENO, "glovebox: %" PRIu64 " bytes of the output were not kept\n",
                      logs->reader.dropped);
    kept_reader_clear(&logs->reader);
    return r;
}

static int logs_call(const struct call *call, struct gb_err *err)
{
    struct logs_args args = { 0 };
    cleanup_box_call struct box_call opened = { 0 };
    uint64_t cursor = 0;
    int r = box_call_parse(call, &args, &args.user, &opened, err);

    if (r == 0 && opened.n_operands > 1)
        r = gb_fail(err, -EINVAL, GB_BLAME_CALLER, "'%.100s': one RUN only", opened.operands[1]);
    if (r == 0 && args.cursor && num_parse_u64(args.cursor, 0, UINT64_MAX / 2, &cursor) < 0)
        r = gb_fail(err, -EINVAL, GB_BLAME_CALLER, "--cursor: '%.40s' is no position", args.cursor);
    (void)signal(SIGPIPE, SIG_IGN);
    if (r == 0)
        r = box_call_find(&opened, args.user, err);
    if (r == 0)
        r = logs_of(&opened, &args, cursor, err);
    return r > 0 || r == -EPIPE ? 0 : r;
}

const struct cmd cmd_box_logs = {
    .name = "box logs",
    .help = "Show what a run in a box wrote, or writes",
    .usages = { "BOX [RUN]", "--user NAME [RUN]" },
    .options = logs_options,
    .run = logs_call,
};
