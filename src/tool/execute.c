/* SPDX-License-Identifier: Apache-2.0 */
/* tool/execute.c - execute_code_block.
 *
 * The code becomes a file of the workspace, on the host; the workspace goes into the box as a
 * whole, the file is run there, and what has changed comes back.  However the program ends, the
 * call has done its part: the log tells.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/path.h"
#include "json/writer.h"
#include "run/language.h"
#include "run/result.h"
#include "run/room.h"
#include "run/run.h"
#include "run/save.h"
#include "tool/environment.h"
#include "tool/last_run.h"
#include "tool/tool.h"

#define TIMEOUT_S 30

struct execute_args {
    char *container_id;
    char *filename;
    char *code_content;
    int64_t timeout_sec;
};

#define AT(field) offsetof(struct execute_args, field)
static const struct bind_field fields[] = {
    { "container_id", BIND_STR, AT(container_id), .help = "The environment." },
    { "filename", BIND_STR, AT(filename),
      .help = "Name of the file below the workspace; its ending names the language." },
    { "code_content", BIND_STR, AT(code_content), .help = "What the file holds." },
    { "timeout_sec", BIND_I64, AT(timeout_sec),
      .help = "Seconds after which the run is killed; default 30." },
    { 0 },
};
static const struct bind bind = TOOL_BIND(fields);
static const struct tool_need needs[] = {
    { "container_id", "container_id is required" },
    { "filename", "filename is required" },
    { "code_content", "code_content is required", .may_be_empty = true },
    { 0 },
};

/* ---- the request ---------------------------------------------------------------------------- */

static struct limits limits_of(const struct execute_args *args, const struct environment *found,
                               uint64_t wall_max_ms)
{
    uint64_t wanted_s = args->timeout_sec > 0 ? (uint64_t)args->timeout_sec : TIMEOUT_S;
    uint64_t wall_ms = wanted_s > wall_max_ms / 1000 ? wall_max_ms : wanted_s * 1000;

    return limits_or((struct limits){ .wall_ms = wall_ms }, found->kept.box.receipt.limits);
}

/* Below the workspace, whatever a box has left there before. */
static int save_code(const struct execute_args *args, const struct environment *found,
                     struct gb_err *err)
{
    cleanup_close int dir = open(found->workspace, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct save save;
    int r;

    if (dir < 0)
        return gb_fail_sys(err, "the workspace '%s'", found->workspace);
    r = save_begin(&save, dir, args->filename, 0, err);
    if (r == 0)
        r = save_add(&save, args->code_content, strlen(args->code_content), err);
    if (r < 0) {
        save_abort(&save);
        return r;
    }
    return save_commit(&save, err);
}

static void variables_free(char ***list)
{
    for (char **at = *list; at && *at; at++)
        free(*at);
    free(*list);
}

/* "K=V", NULL-terminated; the caller frees the items and the list.  NULL: no memory for all. */
static char **variables_of(const struct environment *found)
{
    size_t n = 0;
    char **list;

    while (found->variables[2 * n])
        n++;
    list = calloc(n + 1, sizeof(*list));
    for (size_t i = 0; list && i < n; i++)
        if (asprintf(&list[i], "%s=%s", found->variables[2 * i], found->variables[2 * i + 1]) < 0) {
            list[i] = NULL;
            variables_free(&list);
            return NULL;
        }
    return list;
}

/* What has no language runs as a program, by its own path: nothing of it is a shell's to read. */
static int run_file(struct tool_call *call, const struct execute_args *args,
                    const struct environment *found, struct box *box, struct run_result *result,
                    struct gb_err *err)
{
    char path[PATH_MAX];
    const char *const program[] = { "sh", "-c", "exec \"$0\"", path, NULL };
    cleanup_with(variables_free) char **env = variables_of(found);
    struct box_spec spec = *call->host->box;
    const struct language *language = language_by_path(args->filename);
    const struct run_request request = {
        .box = &spec,
        .language = language,
        .code = args->code_content,
        .code_len = strlen(args->code_content),
        .name = args->filename,
        .is_name_of_workspace = true,
        .args = language ? NULL : program,
        .env = (const char *const *)env,
        .workdir = found->kept.workdir,
        .workspace = found->workspace,
        .stdin_fd = -1,
        .cancel_fd = call->host->cancel_fd,
        .keeps_output = true,
    };

    if (!env)
        return gb_no_memory(err);
    if (snprintf(path, sizeof(path), "%s/%s", found->kept.workdir, args->filename) >= PATH_MAX)
        return gb_fail(err, -ENAMETOOLONG, GB_BLAME_CALLER, "filename is too long");
    spec.backend = found->kept.box.receipt.backend;
    spec.limits = limits_of(args, found, call->host->wall_max_ms);
    return run_execute_in(box, &request, result, err);
}

/* ---- the answer ----------------------------------------------------------------------------- */

/* A run that was begun has a log, also when something failed behind it. */
static int tell(struct tool_call *call, const struct environment *found,
                const struct run_result *result, uint64_t wall_ns, int r, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(TOOL_ANSWER_MAX);
    enum verdict verdict = run_result_step(result)->verdict;
    int told;

    if (result->n_steps == 0 || verdict == VERDICT_SANDBOX_ERROR)
        return r < 0 ? r : gb_fail(err, -EPIPE, GB_BLAME_HOST, "the run was lost");
    if (r == 0 && verdict == VERDICT_CANCELLED)
        r = gb_fail(err, -ECANCELED, GB_BLAME_CALLER, "the call was ended before the program");
    told = last_run_text(result, wall_ns, &text, r < 0 ? NULL : err);
    if (told == 0)
        told = last_run_save(call->host, found, &text, r < 0 ? NULL : err);
    if (told < 0 && r == 0)
        r = told;
    if (text.len)
        json_put_raw(call->answer, "log", text.data);
    if (r == 0)
        return 0;
    tool_put_error(call->answer, err);
    return 1;
}

static int check(const struct execute_args *args, const struct environment *found,
                 const struct tool_host *host, struct gb_err *err)
{
    struct limits limits = limits_of(args, found, host->wall_max_ms);

    /* Before it lies in the workspace, where it would keep every later run from beginning. */
    return room_check(&limits, room_of(strlen(args->code_content)), 0, err);
}

static int execute(struct tool_call *call, void *bound, struct gb_err *err)
{
    const struct execute_args *args = bound;
    cleanup_environment struct environment found = { 0 };
    struct run_result result = { 0 };
    struct box_news news;
    struct box *box = NULL;
    uint64_t start = clock_now_ns();
    int r;

    if (!path_is_below(args->filename))
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "filename: '%.200s' is no relative path without '.' and '..'",
                       args->filename);
    r = environment_find(call->host, args->container_id, &found, err);
    if (r == 0)
        r = check(args, &found, call->host, err);
    if (r == 0)
        r = kept_attach(call->host->state_dir, &found.kept, &box, &news, err);
    if (r == 0)
        r = save_code(args, &found, err);
    if (r == 0)
        r = run_file(call, args, &found, box, &result, err);
    (void)box_close(box);
    r = tell(call, &found, &result, clock_now_ns() - start, r, err);
    run_result_clear(&result);
    return r;
}

const struct tool tool_execute_code_block = {
    .name = "execute_code_block",
    .help = "Write code to a file of the workspace and run it in the environment.",
    .makes_boxes = true,
    .size = sizeof(struct execute_args),
    .bind = &bind,
    .needs = needs,
    .run = execute,
};
