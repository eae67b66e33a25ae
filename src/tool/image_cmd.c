/* SPDX-License-Identifier: Apache-2.0 */
/* tool/image_cmd.c - the command that an image brings along, run in its environment. */
#include "tool/image_cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "box/detached.h"
#include "engine/engine.h"
#include "json/writer.h"
#include "run/events.h"
#include "run/kept_log.h"
#include "run/kept_run.h"
#include "run/record.h"
#include "run/result.h"
#include "run/run.h"
#include "run/signals.h"
#include "tool/engine.h"
#include "tool/environment.h"
#include "tool/tool.h"

#define ID_FILE       "image_cmd"
#define PROGRAM_NAME  "glovebox-run"
#define COMMAND_SHOWN 200

/* No program has ended with it: what a run has as its exit code that is still under way, or whose
 * command was killed. */
#define EXIT_UNKNOWN (-1)

/* ---- what the image says -------------------------------------------------------------------- */

static size_t count(char *const *list)
{
    size_t n = 0;

    while (list && list[n])
        n++;
    return n;
}

int image_cmd_find(struct tool_call *call, const char *image, struct image_cmd *ret,
                   struct gb_err *err)
{
    cleanup_engine struct engine *engine = NULL;
    size_t n = 0;
    int r = tool_engine(call, &engine, err);

    if (r == 0)
        r = images_inspect(engine, image, &ret->config, err);
    if (r < 0)
        return r;
    ret->argv =
        calloc(count(ret->config.entrypoint) + count(ret->config.cmd) + 1, sizeof(*ret->argv));
    if (!ret->argv)
        return gb_no_memory(err);
    for (char **word = ret->config.entrypoint; word && *word; word++)
        ret->argv[n++] = *word;
    for (char **word = ret->config.cmd; word && *word; word++)
        ret->argv[n++] = *word;
    if (n == 0)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "use_image_cmd: image '%.100s' has no command" GB_REMEDY
                       "build one whose Dockerfile has CMD, or leave use_image_cmd out",
                       image);
    return 0;
}

void image_cmd_clear(struct image_cmd *cmd)
{
    images_config_clear(&cmd->config);
    free(cmd->argv);
}

/* ---- the run, in a process of its own ------------------------------------------------------- */

struct order {
    const struct tool_host *host;
    const struct environment *environment;
    const struct image_cmd *cmd;
    uint64_t wall_ms;
};

/* What the process tells its maker, once. */
struct birth {
    char id[ID_SIZE];
    struct gb_err err; /* code 0: it is written down */
};

static int record_output(void *user, int stream, const void *bytes, size_t len)
{
    run_record_add(user, stream, bytes, len);
    return 0;
}

/* The image's own, and the request's over them. */
static const char **variables_of(const struct order *order)
{
    char *const *own = order->cmd->config.env;
    char *const *said = order->environment->variables;
    const char **list = calloc(count(own) + count(said) / 2 + 1, sizeof(*list));
    size_t n = 0;

    for (; list && own && *own; own++)
        if (strchr(*own, '=') && **own != '=')
            list[n++] = *own;
    for (; list && said[0]; said += 2) {
        char *pair = NULL;

        if (asprintf(&pair, "%s=%s", said[0], said[1]) < 0)
            return NULL;
        list[n++] = pair; /* goes with this process */
    }
    return list;
}

static void describe(const struct image_cmd *cmd, char ret[static COMMAND_SHOWN])
{
    size_t len = 0;

    for (const char **word = cmd->argv; *word && len < COMMAND_SHOWN; word++)
        len += (size_t)snprintf(ret + len, COMMAND_SHOWN - len, "%s%s", len ? " " : "", *word);
}

static const char *workdir_of(const struct image_cmd *cmd)
{
    const char *workdir = cmd->config.workdir;

    return workdir && workdir[0] == '/' ? workdir : "/";
}

static void tell(int told_fd, const struct birth *birth)
{
    (void)fd_write_full(told_fd, birth, sizeof(*birth));
    close(told_fd);
}

static void do_run(const struct order *order, struct box *box, struct run_record *record,
                   int cancel_fd, const struct run_events *events)
{
    struct box_spec spec = *order->host->box;
    struct run_result result = { 0 };
    const struct run_request request = {
        .id = record->id,
        .box = &spec,
        .args = order->cmd->argv,
        .env = variables_of(order),
        .workdir = workdir_of(order->cmd),
        .stdin_fd = -1,
        .cancel_fd = cancel_fd,
        .events = &events->source,
        .output = record_output,
        .user = record,
    };
    struct gb_err err = { 0 };
    int r;

    spec.backend = order->environment->kept.box.receipt.backend;
    spec.limits = limits_or((struct limits){ .wall_ms = order->wall_ms },
                            order->environment->kept.box.receipt.limits);
    r = request.env ? run_execute_in(box, &request, &result, &err) : gb_no_memory(&err);
    if (r < 0)
        run_record_failure(record, &err);
    run_record_end(record, &result);
}

/* Nothing is given back here: the process ends with the run. */
static void run_apart(void *user, int told_fd, int r)
{
    const struct order *order = user;
    const struct tool_host *host = order->host;
    struct birth birth = { 0 };
    char command[COMMAND_SHOWN] = "";
    struct run_record record = { 0 };
    struct run_events events;
    struct box_news news;
    struct box *box = NULL;
    int cancel_fd = -1;

    if (r < 0)
        r = gb_fail(&birth.err, r, GB_BLAME_HOST, "leaving the caller: %s", strerror(-r));
    if (r == 0)
        r = cancel_fd = signals_open(&birth.err);
    if (r >= 0)
        r = run_events_open(&events, NULL, &birth.err);
    if (r == 0)
        r = kept_attach(host->state_dir, &order->environment->kept, &box, &news, &birth.err);
    describe(order->cmd, command);
    if (r == 0)
        r = run_record_begin(&record, host->state_dir, &order->environment->kept, command,
                             &birth.err);
    memcpy(birth.id, record.id, sizeof(birth.id));
    tell(told_fd, &birth);
    if (r == 0)
        do_run(order, box, &record, cancel_fd, &events);
    (void)box_close(box);
    _exit(0);
}

/* ---- from outside --------------------------------------------------------------------------- */

static int write_id(const struct tool_host *host, const struct environment *environment,
                    const char *id, struct gb_err *err)
{
    cleanup_close int dir = kept_dir(host->state_dir, &environment->kept, err);
    cleanup_close int fd = -1;
    int r;

    if (dir < 0)
        return dir;
    fd = openat(dir, ID_FILE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    r = fd < 0 ? -errno : fd_write_full(fd, id, strlen(id));
    return r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "writing down the image's command: %s",
                           strerror(-r))
                 : 0;
}

int image_cmd_start(const struct tool_host *host, const struct environment *environment,
                    const struct image_cmd *cmd, uint64_t wall_ms, struct gb_err *err)
{
    struct order order = { host, environment, cmd, wall_ms };
    struct birth birth;
    int r = detached_start(PROGRAM_NAME, run_apart, &order, &birth, sizeof(birth));

    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "starting the image's command: %s", strerror(-r));
    if (birth.err.code < 0) {
        if (err)
            *err = birth.err;
        return birth.err.code;
    }
    return write_id(host, environment, birth.id, err);
}

/* ---- the log -------------------------------------------------------------------------------- */

/* 1: there is none. */
static int read_id(int dir, char ret[static ID_SIZE], struct gb_err *err)
{
    cleanup_close int fd = openat(dir, ID_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t n;

    if (fd < 0 && errno == ENOENT)
        return 1;
    n = fd < 0 ? -errno : fd_read_full(fd, ret, ID_SIZE - 1);
    ret[n < 0 ? 0 : n] = '\0';
    return id_is_valid('r', ret)
               ? 0
               : gb_fail(err, -EINVAL, GB_BLAME_HOST, "invalid last run data: no id of a run");
}

static int read_output(int runs_fd, const char *id, struct buf streams[static 3],
                       uint64_t *ret_dropped, struct gb_err *err)
{
    cleanup_free struct kept_reader *reader = calloc(1, sizeof(*reader));
    struct kept_chunk chunk;
    int r;

    if (!reader)
        return gb_no_memory(err);
    kept_reader_init(reader, runs_fd, id, 0);
    while ((r = kept_reader_next(reader, &chunk)) > 0)
        (void)buf_add(&streams[chunk.stream == OUT_STDERR ? OUT_STDERR : OUT_STDOUT], chunk.bytes,
                      chunk.len);
    *ret_dropped = reader->dropped;
    kept_reader_clear(reader);
    return r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "reading the log: %s", strerror(-r)) : 0;
}

static void put_log(struct json_writer *w, const struct kept_run *run,
                    const struct buf streams[static 3], uint64_t dropped)
{
    uint64_t end_ms = run->ended_ms ? run->ended_ms : kept_run_now_ms();
    const char *verdict = run->verdict ? run->verdict : run->is_running ? "running" : "lost";
    char seconds[32];

    (void)snprintf(seconds, sizeof(seconds), "%.2fs",
                   end_ms > run->started_ms ? (double)(end_ms - run->started_ms) / 1000 : 0);
    json_object_begin(w, NULL);
    json_put_i64(w, "exit_code", run->verdict ? (int64_t)run->exit_code : EXIT_UNKNOWN);
    for (int stream = OUT_STDOUT; stream <= OUT_STDERR; stream++)
        json_put_bytes(w, stream == OUT_STDOUT ? "stdout" : "stderr",
                       streams[stream].data ? streams[stream].data : "", streams[stream].len);
    json_put_str(w, "execution_time", seconds);
    json_put_bool(w, "timed_out",
                  run->verdict && (strcmp(verdict, verdict_name(VERDICT_TIMEOUT)) == 0 ||
                                   strcmp(verdict, verdict_name(VERDICT_CPU)) == 0));
    json_put_str(w, "verdict", verdict);
    json_put_bool(w, "truncated", dropped > 0);
    json_put_bool(w, "running", !run->verdict && run->is_running);
    json_object_end(w);
}

static int text_of(int runs_fd, const char *id, struct buf *ret, struct gb_err *err)
{
    struct buf streams[3] = { BUF_INIT(0), BUF_INIT(TOOL_ANSWER_MAX), BUF_INIT(TOOL_ANSWER_MAX) };
    cleanup_kept_run struct kept_run run = { 0 };
    struct json_writer w;
    uint64_t dropped = 0;
    /* In this order: what has ended by then has written all. */
    int r = kept_run_find(runs_fd, id, &run, err);

    if (r == 0)
        r = read_output(runs_fd, id, streams, &dropped, err);
    if (r == 0) {
        json_writer_init(&w, ret, false);
        put_log(&w, &run, streams, dropped);
        if (json_writer_end(&w) < 0)
            r = gb_fail(err, -EFBIG, GB_BLAME_HOST, "the log of the image's command is too long");
    }
    buf_clear(&streams[OUT_STDOUT]);
    buf_clear(&streams[OUT_STDERR]);
    return r;
}

int image_cmd_text(const struct tool_host *host, const struct environment *environment,
                   struct buf *ret, struct gb_err *err)
{
    cleanup_close int dir = kept_dir(host->state_dir, &environment->kept, err);
    cleanup_close int runs_fd = -1;
    char id[ID_SIZE];
    int r = dir < 0 ? dir : read_id(dir, id, err);

    if (r != 0)
        return r;
    runs_fd = run_record_dir(host->state_dir, &environment->kept, err);
    return runs_fd < 0 ? runs_fd : text_of(runs_fd, id, ret, err);
}
