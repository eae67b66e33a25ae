/* SPDX-License-Identifier: Apache-2.0 */
/* cli/cmd_box_net.c - `glovebox box net`: what the network of a box decided. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "box/net_log.h"
#include "box/news.h"
#include "box/switchboard.h"
#include "cli/box_net.h"
#include "cli/box_open.h"
#include "cli/command.h"
#include "json/writer.h"

#define TEXT_MAX (16 << 20)

struct net_args {
    const char *user;
    bool is_json;
    bool follows;
};

#define AT(field) .offset = offsetof(struct net_args, field)
static const struct opt options[] = {
    { OPT_TEXT, "user", 0, AT(user), "NAME", "the box of that user" },
    { OPT_FLAG, "follow", 'f', AT(follows), NULL, "until its network ends" },
    { OPT_FLAG, "json", 0, AT(is_json), NULL, "one JSON document; with -f a line each" },
    { OPT_KEY, .key = KEY_COLOR },
    OPT_HELP_ROW,
    { 0 },
};

/* What is being shown. */
struct net_view {
    const struct net_args *args;
    int dir_fd;
    struct net_reader reader;
    struct net_totals totals;
};

/* ---- lines ---------------------------------------------------------------------------------- */

static void put_target(const struct net_line *line, struct buf *ret)
{
    (void)buf_puts(ret, line->name ? line->name : line->address ? line->address : "nothing");
    if (line->port)
        (void)buf_printf(ret, ":%" PRIu64, line->port);
    if (line->name && line->address)
        (void)buf_printf(ret, " (%s)", line->address);
}

static void put_text(const struct net_line *line, struct buf *ret)
{
    time_t seconds = (time_t)(line->at_ms / 1000);
    bool is_end = strcmp(line->what, "end") == 0;
    char clock[16] = "";
    struct tm parts;

    if (localtime_r(&seconds, &parts))
        (void)strftime(clock, sizeof(clock), "%H:%M:%S", &parts);
    (void)buf_printf(ret, "%s  ", clock);
    if (strcmp(line->what, "more") == 0) {
        (void)buf_printf(ret, "…        %" PRIu64 " more at that time\n", line->count);
        return;
    }
    (void)buf_puts(ret, !line->is_allowed ? "refused  "
                        : is_end          ? "ended    "
                        : line->reason    ? "failed   "
                                          : "allowed  ");
    put_target(line, ret);
    if (line->reason)
        (void)buf_printf(ret, ": %s", line->reason);
    if (is_end)
        (void)buf_printf(ret, ", %" PRIu64 " bytes sent, %" PRIu64 " received", line->bytes_sent,
                         line->bytes_received);
    (void)buf_putc(ret, '\n');
}

static void put_json(const struct net_line *line, struct json_writer *w)
{
    json_object_begin(w, NULL);
    json_put_u64(w, "at_ms", line->at_ms);
    json_put_str(w, "what", line->what);
    if (strcmp(line->what, "more") == 0) {
        json_put_u64(w, "count", line->count);
    } else {
        json_put_bool(w, "allowed", line->is_allowed);
        json_put_str(w, "reason", line->reason);
        json_put_str(w, "name", line->name);
        json_put_str(w, "address", line->address);
        if (line->port)
            json_put_u64(w, "port", line->port);
        else
            json_put_null(w, "port");
        json_put_u64(w, "bytes_sent", line->bytes_sent);
        json_put_u64(w, "bytes_received", line->bytes_received);
    }
    json_object_end(w);
}

/* ---- all of it ------------------------------------------------------------------------------ */

/* Every line that is there; w is the document's, or NULL for lines of their own. */
static void put_lines(struct net_view *view, struct json_writer *w, struct buf *ret)
{
    struct net_line line;

    while (net_reader_next(&view->reader, &line) > 0) {
        view->totals = line.totals;
        if (w) {
            put_json(&line, w);
        } else if (view->args->is_json) {
            struct json_writer own;

            json_writer_init(&own, ret, false);
            put_json(&line, &own);
            (void)json_writer_end(&own);
            (void)buf_putc(ret, '\n');
        } else {
            put_text(&line, ret);
        }
        net_line_clear(&line);
    }
}

static int follow(struct net_view *view, struct gb_err *err)
{
    cleanup_close int news_fd = box_news_open(view->dir_fd);
    bool is_over = false;

    while (!is_over) {
        cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
        int r = 0;

        /* Asked before reading to the end, it tells whether that is the end of all. */
        is_over = !switchboard_lives(view->dir_fd, NULL);
        put_lines(view, NULL, &text);
        if (text.len > 0)
            r = command_print(&text, err);
        if (r < 0)
            return r;
        if (!is_over)
            box_news_await(news_fd, BOX_NEWS_MS);
    }
    return 0;
}

static void put_totals(const struct net_totals *totals, struct json_writer *w)
{
    json_put_u64(w, "connections", totals->connections);
    json_put_u64(w, "refused", totals->refused);
    json_put_u64(w, "bytes_sent", totals->bytes_sent);
    json_put_u64(w, "bytes_received", totals->bytes_received);
}

static void put_document(const struct box_call *call, struct net_view *view, const char *word,
                         struct buf *ret)
{
    struct json_writer w;

    json_writer_init(&w, ret, true);
    json_object_begin(&w, NULL);
    json_put_u64(&w, "schema", 1);
    json_put_str(&w, "id", call->kept.id);
    json_put_str(&w, "net", call->kept.net_rules);
    json_put_str(&w, "network", word);
    json_array_begin(&w, "decisions");
    put_lines(view, &w, ret);
    json_array_end(&w);
    put_totals(&view->totals, &w);
    json_object_end(&w);
    (void)json_writer_end(&w);
}

static void put_end(const struct net_view *view, const char *word, struct buf *ret)
{
    const struct net_totals *totals = &view->totals;

    (void)buf_printf(ret,
                     "%" PRIu64 " connection%s, %" PRIu64 " refused, %" PRIu64
                     " bytes sent, %" PRIu64 " received\n",
                     totals->connections, totals->connections == 1 ? "" : "s", totals->refused,
                     totals->bytes_sent, totals->bytes_received);
    if (word && strcmp(word, "closed") == 0)
        (void)buf_puts(ret, "closed: the process that served this network has ended\n");
}

static int show(const struct box_call *call, const struct net_args *args, const char *word,
                struct gb_err *err)
{
    cleanup_close int dir = kept_dir(call->settings.state_dir, &call->kept, err);
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
    struct net_view view = { .args = args, .dir_fd = dir };
    int r = 0;

    if (dir < 0)
        return dir;
    net_reader_init(&view.reader, dir);
    if (args->follows) {
        r = follow(&view, err);
        word = "closed";
    } else if (args->is_json) {
        put_document(call, &view, word, &text);
    } else {
        put_lines(&view, NULL, &text);
    }
    if (!args->is_json)
        put_end(&view, word, &text);
    net_reader_clear(&view.reader);
    return r < 0 || text.len == 0 ? r : command_print(&text, err);
}

static int net_call(const struct call *call, struct gb_err *err)
{
    struct net_args args = { 0 };
    cleanup_box_call struct box_call opened = { 0 };
    const char *word;
    int r = box_call_alone(call, &args, &args.user, &opened, err);

    if (r == 0)
        r = box_call_attach(&opened, args.user, err);
    if (r != 0)
        return r < 0 ? r : 0;
    /* Not as one of its clients any longer than it takes to see that it lives. */
    (void)box_close(take_ptr(opened.box));
    word = box_network_word(&opened.settings, &opened.kept);
    if (!word && !args.is_json) {
        (void)dprintf(STDERR_FILENO, "This box has no network.\n");
        return 0;
    }
    return show(&opened, &args, word, err);
}

const struct cmd cmd_box_net = {
    .name = "box net",
    .help = "Show what the network of a box decided",
    .usages = { "[OPTIONS] BOX", "[OPTIONS] --user NAME" },
    .options = options,
    .run = net_call,
};
