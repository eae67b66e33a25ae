/* SPDX-License-Identifier: Apache-2.0 */
/* agent/checkpoint.c - where a task stands, as JSON and back. */
#include "agent/checkpoint.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "json/value.h"
#include "json/writer.h"

/* ---- writing -------------------------------------------------------------------------------- */

int checkpoint_text(const struct checkpoint *checkpoint, struct buf *ret)
{
    struct json_writer w;

    json_writer_init(&w, ret, true);
    json_object_begin(&w, NULL);
    json_put_str(&w, "objective", checkpoint->objective);
    json_array_begin(&w, "history");
    for (char *const *item = checkpoint->history; item && *item; item++)
        json_put_raw(&w, NULL, *item);
    json_array_end(&w);
    if (checkpoint->latest_code.n > 0)
        agent_files_artifact(&w, "latest_code", &checkpoint->latest_code);
    else
        json_put_null(&w, "latest_code");
    json_put_str(&w, "execution_feedback", checkpoint->execution_feedback);
    json_put_u64(&w, "orchestrator_step", checkpoint->orchestrator_step);
    json_object_end(&w);
    return json_writer_end(&w);
}

/* ---- reading -------------------------------------------------------------------------------- */

static int wrong(const char *what, struct gb_err *err)
{
    return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "%s is missing or not as it should be", what);
}

/* null and no value at all are the same. */
static bool is_none(const struct json_value *value)
{
    return json_kind(value) == JSON_NONE || json_kind(value) == JSON_NULL;
}

static int read_str(const struct json_value *value, const char *what, char **ret,
                    struct gb_err *err)
{
    size_t len = 0;
    const char *text = json_str(value, &len);

    if (!text || strlen(text) != len)
        return wrong(what, err);
    *ret = strdup(text);
    return *ret ? 0 : gb_no_memory(err);
}

static int read_history(const struct json_value *value, struct checkpoint *checkpoint,
                        struct gb_err *err)
{
    size_t n = json_count(value);

    if (is_none(value))
        return 0;
    if (json_kind(value) != JSON_ARRAY || n > CHECKPOINT_HISTORY_MAX)
        return wrong("history", err);
    checkpoint->history = calloc(n + 1, sizeof(*checkpoint->history));
    if (!checkpoint->history)
        return gb_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        cleanup_buf struct buf text = BUF_INIT(CHECKPOINT_MAX);

        (void)json_value_text(json_at(value, i), &text);
        checkpoint->history[i] = buf_take(&text);
        if (!checkpoint->history[i])
            return gb_no_memory(err);
    }
    return 0;
}

static int read_file(const struct json_value *value, struct agent_files *files, struct gb_err *err)
{
    size_t len = 0;
    size_t path_len = 0;
    const char *path = json_str(json_get(value, "relative_path"), &path_len);
    const char *content = json_str(json_get(value, "content"), &len);
    int r;

    if (!path || strlen(path) != path_len || !content)
        return wrong("a file of latest_code", err);
    r = agent_path_check(path, err);
    if (r < 0)
        return r;
    r = agent_files_put(files, path, content, len);
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_CALLER, "latest_code: %s", strerror(-r));
    return 0;
}

static int read_code(const struct json_value *value, struct agent_files *files, struct gb_err *err)
{
    const struct json_value *list = json_get(value, "files");
    const struct json_value *reasoning = json_get(value, "reasoning");
    int r = 0;

    if (is_none(value))
        return 0;
    if (json_kind(list) != JSON_ARRAY || json_count(list) > FENCE_FILES_MAX)
        return wrong("latest_code.files", err);
    for (size_t i = 0; i < json_count(list) && r == 0; i++)
        r = read_file(json_at(list, i), files, err);
    if (r == 0 && !is_none(reasoning))
        r = read_str(reasoning, "latest_code.reasoning", &files->prose, err);
    return r;
}

static int read_all(const struct json_value *value, struct checkpoint *checkpoint,
                    struct gb_err *err)
{
    const struct json_value *feedback = json_get(value, "execution_feedback");
    int r = read_str(json_get(value, "objective"), "objective", &checkpoint->objective, err);

    if (r == 0)
        r = read_history(json_get(value, "history"), checkpoint, err);
    if (r == 0)
        r = read_code(json_get(value, "latest_code"), &checkpoint->latest_code, err);
    if (r == 0 && !is_none(feedback))
        r = read_str(feedback, "execution_feedback", &checkpoint->execution_feedback, err);
    if (r == 0 &&
        (!json_u64(json_get(value, "orchestrator_step"), &checkpoint->orchestrator_step) ||
         checkpoint->orchestrator_step > CHECKPOINT_STEP_MAX))
        r = wrong("orchestrator_step", err);
    return r;
}

/* ---- what was done -------------------------------------------------------------------------- */

#define PAST_LINES    32
#define PAST_LINE_MAX 400

/* One line, whatever the text has of them; its beginning, and its end where it is long. */
static void put_line(struct buf *ret, const char *what, const char *text)
{
    size_t len = strlen(text);
    size_t start;

    (void)buf_printf(ret, "before: %s", what);
    start = ret->len;
    if (len <= PAST_LINE_MAX)
        (void)buf_add(ret, text, len);
    else
        (void)buf_printf(ret, "%.*s ... %s", PAST_LINE_MAX / 2, text,
                         text + len - PAST_LINE_MAX / 2);
    for (size_t i = start; i < ret->len; i++)
        if (ret->data[i] == '\n' || ret->data[i] == '\r')
            ret->data[i] = ' ';
    (void)buf_putc(ret, '\n');
}

/* Ours are strings, others' are objects. */
static int put_item(struct buf *ret, const char *json)
{
    cleanup_json struct json_value *value = NULL;
    int r = json_value_parse(json, strlen(json), CHECKPOINT_MAX, &value, NULL);

    if (r == 0)
        put_line(ret, "", json_str(value, NULL) ? json_str(value, NULL) : json);
    return r;
}

int checkpoint_past(const struct checkpoint *checkpoint, struct buf *ret)
{
    size_t n = 0;
    int r = 0;

    while (checkpoint->history && checkpoint->history[n])
        n++;
    for (size_t i = n > PAST_LINES ? n - PAST_LINES : 0; r == 0 && i < n; i++)
        r = put_item(ret, checkpoint->history[i]);
    if (r == 0 && checkpoint->execution_feedback)
        put_line(ret, "its last run: ", checkpoint->execution_feedback);
    return r < 0 ? r : buf_error(ret);
}

int checkpoint_parse(const char *text, size_t len, struct checkpoint *ret, struct gb_err *err)
{
    cleanup_json struct json_value *value = NULL;
    int r = json_value_parse(text, len, CHECKPOINT_MAX, &value, err);

    if (r < 0)
        return r;
    r = read_all(value, ret, err);
    if (r < 0)
        checkpoint_clear(ret);
    return r;
}

void checkpoint_clear(struct checkpoint *checkpoint)
{
    for (char **item = checkpoint->history; item && *item; item++)
        free(*item);
    free(checkpoint->history);
    free(checkpoint->objective);
    free(checkpoint->execution_feedback);
    agent_files_clear(&checkpoint->latest_code);
    *checkpoint = (struct checkpoint){ 0 };
}
