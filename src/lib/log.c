/* SPDX-License-Identifier: Apache-2.0 */
/* lib/log.c - what ran in a box that lives on, and what it wrote. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "box/news.h"
#include "lib/inside.h"
#include "run/kept_log.h"
#include "run/kept_run.h"
#include "run/record.h"

struct glovebox_run_list {
    struct kept_run *items;
    size_t n;
};

struct glovebox_log {
    int runs_fd;
    int news_fd; /* -1: the log itself is looked at, again and again */
    struct kept_reader reader;
};

/* The directory of a box's runs; the descriptor is the caller's. */
static int open_runs(const struct glovebox_context *context, const char *id, struct gb_err *err)
{
    const char *state_dir = context->settings.state_dir;
    cleanup_kept struct kept kept = { 0 };
    int r = kept_find(state_dir, id, &kept, err);

    return r < 0 ? r : run_record_dir(state_dir, &kept, err);
}

/* ---- runs ----------------------------------------------------------------------------------- */

int glovebox_run_list(const struct glovebox_context *context, const char *box,
                      struct glovebox_run_list **ret, struct glovebox_error *error)
{
    struct glovebox_run_list *list = calloc(1, sizeof(*list));
    struct gb_err err = { 0 };
    cleanup_close int runs_fd = list ? open_runs(context, box, &err) : gb_no_memory(&err);
    int r = runs_fd < 0 ? runs_fd : kept_run_list(runs_fd, &list->items, &list->n, &err);

    if (r == 0)
        *ret = take_ptr(list);
    glovebox_run_list_free(list);
    return lib_told(r, &err, error);
}

void glovebox_run_list_free(struct glovebox_run_list *list)
{
    if (!list)
        return;
    for (size_t i = 0; i < list->n; i++)
        kept_run_clear(&list->items[i]);
    free(list->items);
    free(list);
}

int glovebox_run_list_at(const struct glovebox_run_list *list, size_t n,
                         struct glovebox_run_info *ret)
{
    struct glovebox_run_info info = GLOVEBOX_RUN_INFO_INIT;
    const struct kept_run *run = n < list->n ? &list->items[n] : NULL;

    if (ret->size < sizeof(info))
        return -EINVAL;
    if (!run)
        return -ENOENT;
    info.size = ret->size;
    info.id = run->id;
    info.command = run->command;
    info.verdict = run->verdict;
    info.exit_code = run->verdict ? (int)run->exit_code : -1;
    info.is_running = run->is_running;
    info.started_ms = run->started_ms;
    info.ended_ms = run->ended_ms;
    info.output_bytes = run->output_bytes;
    memcpy(ret, &info, sizeof(info));
    return 0;
}

/* ---- output --------------------------------------------------------------------------------- */

static int open_log(const struct glovebox_context *context, const char *box, const char *run,
                    uint64_t cursor, struct glovebox_log *log, struct gb_err *err)
{
    cleanup_kept_run struct kept_run found = { 0 };
    int r;

    if (cursor > UINT64_MAX / 2)
        return gb_fail(err, -ERANGE, GB_BLAME_CALLER, "no output has such a position");
    log->runs_fd = open_runs(context, box, err);
    r = log->runs_fd < 0 ? log->runs_fd : kept_run_find(log->runs_fd, run, &found, err);
    if (r < 0)
        return r;
    log->news_fd = box_news_open(log->runs_fd);
    kept_reader_init(&log->reader, log->runs_fd, found.id, cursor);
    return 0;
}

int glovebox_log_open(const struct glovebox_context *context, const char *box, const char *run,
                      uint64_t cursor, struct glovebox_log **ret, struct glovebox_error *error)
{
    struct glovebox_log *log = calloc(1, sizeof(*log));
    struct gb_err err = { 0 };
    int r;

    if (!log)
        return lib_told(gb_no_memory(&err), &err, error);
    log->runs_fd = log->news_fd = log->reader.fd = -1;
    r = open_log(context, box, run, cursor, log, &err);
    if (r == 0)
        *ret = take_ptr(log);
    glovebox_log_close(log);
    return lib_told(r, &err, error);
}

void glovebox_log_close(struct glovebox_log *log)
{
    if (!log)
        return;
    kept_reader_clear(&log->reader);
    drop_fd(&log->news_fd);
    drop_fd(&log->runs_fd);
    free(log);
}

const char *glovebox_log_run(const struct glovebox_log *log)
{
    return log->reader.id;
}

uint64_t glovebox_log_cursor(const struct glovebox_log *log)
{
    return log->reader.cursor;
}

uint64_t glovebox_log_dropped(const struct glovebox_log *log)
{
    return log->reader.dropped;
}

/* Once nobody writes any more, one look tells whether there is more. */
static int take(struct glovebox_log *log, struct kept_chunk *ret)
{
    int r = kept_reader_next(&log->reader, ret);

    if (r != 0 || !kept_run_has_ended(log->runs_fd, log->reader.id))
        return r;
    r = kept_reader_next(&log->reader, ret);
    return r == 0 ? GLOVEBOX_LOG_END : r;
}

static int await(struct glovebox_log *log, uint64_t wait_ms, struct kept_chunk *ret)
{
    const uint64_t begun_ns = clock_now_ns();
    int r = take(log, ret);

    while (r == 0) {
        uint64_t spent_ms = (clock_now_ns() - begun_ns) / NS_PER_MS;

        if (spent_ms >= wait_ms)
            break;
        box_news_await(log->news_fd, wait_ms - spent_ms < BOX_NEWS_MS
                                         ? (unsigned)(wait_ms - spent_ms)
                                         : BOX_NEWS_MS);
        r = take(log, ret);
    }
    return r;
}

int glovebox_log_next(struct glovebox_log *log, uint64_t wait_ms, struct glovebox_log_piece *ret,
                      struct glovebox_error *error)
{
    struct kept_chunk chunk = { 0 };
    struct gb_err err = { 0 };
    int r;

    if (ret->size < sizeof(*ret))
        return lib_told(gb_fail(&err, -EINVAL, GB_BLAME_CALLER,
                                "the size of the piece is not set" GB_REMEDY
                                "begin it with GLOVEBOX_LOG_PIECE_INIT"),
                        &err, error);
    r = await(log, wait_ms, &chunk);
    if (r < 0)
        (void)gb_fail(&err, r, GB_BLAME_HOST, "reading the log: %s", strerror(-r));
    if (r == GLOVEBOX_LOG_PIECE) {
        ret->stream = (int)chunk.stream;
        ret->bytes = chunk.bytes;
        ret->len = chunk.len;
    }
    return lib_told(r, &err, error);
}
