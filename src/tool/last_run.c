/* SPDX-License-Identifier: Apache-2.0 */
/* tool/last_run.c - what the last run of an environment wrote; get_container_logs. */
#include "tool/last_run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "box/out_log.h"
#include "json/value.h"
#include "json/writer.h"
#include "run/result.h"
#include "run/save.h"
#include "tool/environment.h"
#include "tool/image_cmd.h"
#include "tool/tool.h"

#define LOG_FILE "last_run.json"

/* ---- writing -------------------------------------------------------------------------------- */

static void put_stream(struct json_writer *w, const char *key, const struct run_result *result,
                       enum out_stream stream)
{
    cleanup_buf struct buf text = BUF_INIT(TOOL_ANSWER_MAX);

    if (result->log && out_log_text(result->log, stream, true, &text) < 0)
        w->buf->error = buf_error(&text);
    json_put_bytes(w, key, text.data ? text.data : "", text.len);
}

static void put_notes(struct json_writer *w, const struct run_result *result)
{
    if (!result->n_notes)
        return;
    json_array_begin(w, "notes");
    for (size_t i = 0; i < result->n_notes; i++)
        json_put_str(w, NULL, result->notes[i]);
    json_array_end(w);
}

int last_run_text(const struct run_result *result, uint64_t wall_ns, struct buf *ret,
                  struct gb_err *err)
{
    enum verdict verdict = run_result_step(result)->verdict;
    char seconds[32];
    struct json_writer w;
    int r;

    (void)snprintf(seconds, sizeof(seconds), "%.2fs", (double)wall_ns / NS_PER_S);
    json_writer_init(&w, ret, false);
    json_object_begin(&w, NULL);
    json_put_i64(&w, "exit_code", run_result_exit_code(result));
    put_stream(&w, "stdout", result, OUT_STDOUT);
    put_stream(&w, "stderr", result, OUT_STDERR);
    json_put_str(&w, "execution_time", seconds);
    /* CPU time is the wall time's share of a CPU: which of them is used up first is chance. */
    json_put_bool(&w, "timed_out", verdict == VERDICT_TIMEOUT || verdict == VERDICT_CPU);
    json_put_str(&w, "verdict", verdict_name(verdict));
    json_put_bool(&w, "truncated", result->log && out_log_is_truncated(result->log));
    put_notes(&w, result);
    json_object_end(&w);
    r = json_writer_end(&w);
    return r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "the log of the run: %s", strerror(-r)) : 0;
}

int last_run_save(const struct tool_host *host, const struct environment *environment,
                  const struct buf *text, struct gb_err *err)
{
    cleanup_close int dir = kept_dir(host->state_dir, &environment->kept, err);
    struct save save;
    int r = dir < 0 ? dir : save_begin(&save, dir, LOG_FILE, 0, err);

    if (r < 0)
        return r;
    r = save_add(&save, text->data, text->len, err);
    if (r < 0) {
        save_abort(&save);
        return r;
    }
    return save_commit(&save, err);
}

/* ---- get_container_logs --------------------------------------------------------------------- */

struct logs_args {
    char *container_id;
    int64_t tail_lines;
    bool image_cmd;
};

static const struct bind_field logs_fields[] = {
    { "container_id", BIND_STR, offsetof(struct logs_args, container_id),
      .help = "The environment." },
    { "tail_lines", BIND_I64, offsetof(struct logs_args, tail_lines),
      .help = "Only the last lines of stdout and of stderr; default 0: all." },
    { "image_cmd", BIND_BOOL, offsetof(struct logs_args, image_cmd),
      .help = "The log of the image's own command (use_image_cmd); default false: where no "
              "execute_code_block was done." },
    { 0 },
};
static const struct bind logs_bind = TOOL_BIND(logs_fields);
static const struct tool_need logs_needs[] = {
    { "container_id", "container_id is required" },
    { 0 },
};

/* Where the last n lines begin; the end of the last line begins no other. */
static size_t tail_of(const char *text, size_t len, int64_t n)
{
    size_t at = len && text[len - 1] == '\n' ? len - 1 : len;

    if (n <= 0)
        return 0;
    for (; at > 0; at--)
        if (text[at - 1] == '\n' && --n == 0)
            break;
    return at;
}

static bool is_stream(const char *key)
{
    return strcmp(key, "stdout") == 0 || strcmp(key, "stderr") == 0;
}

static void put_member(struct json_writer *w, const char *key, const struct json_value *value,
                       int64_t tail_lines)
{
    cleanup_buf struct buf raw = BUF_INIT(TOOL_ANSWER_MAX);
    size_t len;
    const char *text = json_str(value, &len);
    size_t at;

    if (text) {
        at = is_stream(key) ? tail_of(text, len, tail_lines) : 0;
        json_put_bytes(w, key, text + at, len - at);
    } else if (json_value_text(value, &raw) == 0) {
        json_put_raw(w, key, raw.data);
    }
}

static int put_log(struct json_writer *w, const struct buf *text, int64_t tail_lines,
                   struct gb_err *err)
{
    cleanup_json struct json_value *json = NULL;
    const struct json_value *value;
    const char *key;
    int r = json_value_parse(text->data ? text->data : "", text->len, TOOL_ANSWER_MAX, &json, err);

    if (r == 0 && json_kind(json) != JSON_OBJECT)
        r = gb_fail(err, -EINVAL, GB_BLAME_HOST, "it is no object");
    if (r < 0)
        return gb_wrap(err, r, "invalid last run data");
    json_object_begin(w, "log");
    for (size_t i = 0; (value = json_member(json, i, &key)) != NULL; i++)
        put_member(w, key, value, tail_lines);
    json_object_end(w);
    return 0;
}

/* 1: nothing was run. */
static int read_last(const struct tool_host *host, const struct environment *environment,
                     struct buf *ret, struct gb_err *err)
{
    cleanup_close int dir = kept_dir(host->state_dir, &environment->kept, err);
    cleanup_close int fd = dir < 0 ? -1 : openat(dir, LOG_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    int r;

    if (dir < 0)
        return dir;
    if (fd < 0 && errno == ENOENT)
        return 1;
    r = fd < 0 ? -errno : file_read(fd, ret);
    return r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "invalid last run data: %s", strerror(-r)) : 0;
}

static int logs(struct tool_call *call, void *bound, struct gb_err *err)
{
    const struct logs_args *args = bound;
    cleanup_environment struct environment found = { 0 };
    cleanup_buf struct buf text = BUF_INIT(TOOL_ANSWER_MAX);
    int r = environment_find(call->host, args->container_id, &found, err);

    if (r < 0)
        return r;
    r = args->image_cmd ? 1 : read_last(call->host, &found, &text, err);
    if (r > 0)
        r = image_cmd_text(call->host, &found, &text, err);
    if (r > 0)
        return gb_fail(err, -ENOENT, GB_BLAME_CALLER,
                       args->image_cmd ? "the environment was made without use_image_cmd" GB_REMEDY
                                         "leave image_cmd out"
                                       : "no previous execution log found (run "
                                         "execute_code_block first)");
    return r < 0 ? r : put_log(call->answer, &text, args->tail_lines, err);
}

const struct tool tool_get_container_logs = {
    .name = "get_container_logs",
    .help = "What the last execute_code_block of an environment wrote, and how it ended.",
    .size = sizeof(struct logs_args),
    .bind = &logs_bind,
    .needs = logs_needs,
    .run = logs,
};
