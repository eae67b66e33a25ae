/* SPDX-License-Identifier: Apache-2.0 */
/* tool/tool.c - the table of tools, and what all of them have in common. */
#include "tool/tool.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "json/writer.h"
#include "tool/schema.h"

static const struct tool *const tools[] = {
    &tool_pull_image,
    &tool_create_runtime_env,
    &tool_execute_code_block,
    &tool_get_container_logs,
    &tool_cleanup_env,
    &tool_prepare_build_context,
    &tool_build_image_from_context,
    &tool_build_image_from_path,
    &tool_list_agent_images,
    &tool_prune_build_cache,
    &tool_delete_image,
    NULL,
};

const struct tool *tool_at(size_t n)
{
    return n < N_ELEMENTS(tools) ? tools[n] : NULL;
}

const struct tool *tool_find(const char *name)
{
    for (const struct tool *const *tool = tools; *tool; tool++)
        if (strcmp((*tool)->name, name) == 0)
            return *tool;
    return NULL;
}

/* ---- answers -------------------------------------------------------------------------------- */

void tool_put_error(struct json_writer *w, const struct gb_err *failure)
{
    const char *remedy = gb_err_remedy(failure);

    json_put_bytes(w, "error", failure->msg, gb_err_len(failure));
    if (remedy)
        json_put_str(w, "remedy", remedy);
}

static void put_shape(struct json_writer *w, enum tool_shape shape, bool is_done)
{
    if (shape == TOOL_OK)
        json_put_bool(w, "ok", is_done);
    if (shape == TOOL_STATUS)
        json_put_str(w, "status", is_done ? "success" : "error");
}

void tool_tell_failure(const struct tool *tool, const struct gb_err *failure, struct buf *ret)
{
    struct json_writer w;

    json_writer_init(&w, ret, false);
    json_object_begin(&w, NULL);
    put_shape(&w, tool->shape, false);
    tool_put_error(&w, failure);
    json_object_end(&w);
    (void)json_writer_end(&w);
}

/* Both spellings: some look for the one, some for the other. */
void tool_tell_refusal(const struct gb_err *failure, struct buf *ret)
{
    struct json_writer w;

    json_writer_init(&w, ret, false);
    json_object_begin(&w, NULL);
    tool_put_error(&w, failure);
    json_put_bytes(&w, "Error", failure->msg, gb_err_len(failure));
    json_object_end(&w);
    (void)json_writer_end(&w);
}

int tool_list(struct buf *ret)
{
    struct json_writer w;

    json_writer_init(&w, ret, true);
    json_object_begin(&w, NULL);
    json_array_begin(&w, "tools");
    for (const struct tool *const *tool = tools; *tool; tool++) {
        json_object_begin(&w, NULL);
        json_put_str(&w, "name", (*tool)->name);
        json_put_str(&w, "description", (*tool)->help);
        schema_put(&w, "input_schema", *tool);
        json_object_end(&w);
    }
    json_array_end(&w);
    json_object_end(&w);
    return json_writer_end(&w);
}

/* ---- one call ------------------------------------------------------------------------------- */

static bool is_blank(const char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    return !*text;
}

static const struct bind_field *field_of(const struct tool *tool, const char *key)
{
    const struct bind_field *field = tool->bind->fields;

    while (strcmp(field->name, key) != 0)
        field++;
    return field;
}

static bool has(const struct bind_field *field, const void *args, bool may_be_empty)
{
    const void *at = (const char *)args + field->offset;

    if (field->type == BIND_STR) {
        const char *text = *(char *const *)at;

        return text && (may_be_empty || !is_blank(text));
    }
    assert(field->type == BIND_PAIRS);
    return *(char **const *)at && **(char **const *)at;
}

static int check_needs(const struct tool *tool, const void *args, struct gb_err *err)
{
    for (const struct tool_need *need = tool->needs; need && need->key; need++)
        if (!has(field_of(tool, need->key), args, need->may_be_empty))
            return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "%s", need->text);
    return 0;
}

/* The object is begun by the shape and ended here. */
static int run(const struct tool *tool, struct tool_call *call, void *args, struct buf *ret,
               struct gb_err *err)
{
    cleanup_buf struct buf members = BUF_INIT(TOOL_ANSWER_MAX);
    struct json_writer inner;
    struct json_writer w;
    int r;

    /* In a text of their own, for the shape stands before them. */
    json_writer_init(&inner, &members, false);
    json_object_begin(&inner, NULL);
    call->answer = &inner;
    r = tool->run(call, args, err);
    if (r < 0)
        return r;
    json_object_end(&inner);
    if (json_writer_end(&inner) < 0)
        return gb_fail(err, buf_error(&members), GB_BLAME_HOST, "the answer is too long");
    if (tool->shape == TOOL_PLAIN)
        return buf_add(ret, members.data, members.len) < 0 ? -ENOMEM : r;
    json_writer_init(&w, ret, false);
    json_object_begin(&w, NULL);
    put_shape(&w, tool->shape, r == 0);
    if (members.len > 2) {
        (void)buf_putc(ret, ',');
        (void)buf_add(ret, members.data + 1, members.len - 2);
    }
    json_object_end(&w);
    (void)json_writer_end(&w);
    return r;
}

enum tool_end tool_do(const struct tool *tool, const struct tool_host *host, const char *text,
                      size_t len, struct buf *ret, struct gb_err *err)
{
    cleanup_free void *args = calloc(1, tool->size);
    struct tool_call call = { .host = host };
    int r = args ? bind_text(tool->bind, text, len, args, err) : gb_no_memory(err);

    if (r < 0) {
        tool_tell_refusal(err, ret);
        return TOOL_REFUSED;
    }
    r = check_needs(tool, args, err);
    if (r == 0)
        r = run(tool, &call, args, ret, err);
    bind_clear(tool->bind, args);
    if (r >= 0)
        return r == 0 ? TOOL_DONE : TOOL_FAILED;
    if (call.is_refused)
        tool_tell_refusal(err, ret);
    else
        tool_tell_failure(tool, err, ret);
    return call.is_refused ? TOOL_REFUSED : TOOL_FAILED;
}
