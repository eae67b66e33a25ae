/* SPDX-License-Identifier: Apache-2.0 */
/* tool/prepare.c - prepare_build_context: files that are given become a directory to build from. */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "image/template.h"
#include "json/writer.h"
#include "run/save.h"
#include "tool/tool.h"
#include "tool/tree.h"

#define CONTEXT_PREFIX "adde-build-"
#define DOCKERFILE_MAX (64 << 10)

struct prepare_args {
    char **files;
    char *context_id;
};

static const struct bind_field fields[] = {
    { "files", BIND_PAIRS, offsetof(struct prepare_args, files),
      .help = "Path below the context to what the file holds." },
    { "context_id", BIND_STR, offsetof(struct prepare_args, context_id),
      .help = "A context made before: the files are added to it." },
    { 0 },
};
static const struct bind bind = TOOL_BIND(fields);
static const struct tool_need needs[] = {
    { "files", "files map is required and must not be empty" },
    { 0 },
};

static int check_paths(char *const *files, struct gb_err *err)
{
    for (; files[0]; files += 2)
        if (!path_is_below(files[0]))
            return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                           "files: '%.200s' is no relative path without '.' and '..'", files[0]);
    return 0;
}

static int write_file(int dir, const char *path, const char *text, struct gb_err *err)
{
    struct save save;
    int r = save_begin(&save, dir, path, 0, err);

    if (r == 0)
        r = save_add(&save, text, strlen(text), err);
    if (r < 0) {
        save_abort(&save);
        return gb_wrap(err, r, "files: '%.100s'", path);
    }
    return save_commit(&save, err);
}

/* What a new context lacks to be built. */
static int write_rest(int dir, char *const *files, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(DOCKERFILE_MAX);
    struct template_facts facts = { 0 };
    int r;

    for (; files[0]; files += 2)
        template_see(&facts, files[0]);
    r = template_write(template_choose(&facts), &facts, &text);
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "making a Dockerfile: %s", strerror(-r));
    if (text.len)
        r = write_file(dir, "Dockerfile", text.data, err);
    if (r == 0 && !facts.has_dockerignore)
        r = write_file(dir, ".dockerignore", template_dockerignore(), err);
    return r;
}

static int write_files(int dir, char *const *files, struct gb_err *err)
{
    int r = 0;

    for (; r == 0 && files[0]; files += 2)
        r = write_file(dir, files[0], files[1], err);
    return r;
}

static int add_to(const struct tool_host *host, const struct prepare_args *args, struct gb_err *err)
{
    cleanup_close int dir = tree_open(host->temp_dir, CONTEXT_PREFIX, args->context_id, err);

    return dir < 0 ? gb_wrap(err, dir, "context_id") : write_files(dir, args->files, err);
}

static int make(const struct tool_host *host, const struct prepare_args *args,
                char ret_path[static PATH_MAX], struct gb_err *err)
{
    cleanup_close int dir = -1;
    int r = tree_make(host->temp_dir, CONTEXT_PREFIX, ret_path, err);

    if (r < 0)
        return r;
    dir = tree_open(host->temp_dir, CONTEXT_PREFIX, ret_path, err);
    r = dir < 0 ? dir : write_files(dir, args->files, err);
    if (r == 0)
        r = write_rest(dir, args->files, err);
    if (r < 0)
        tree_remove(ret_path);
    return r;
}

static int prepare(struct tool_call *call, void *bound, struct gb_err *err)
{
    const struct prepare_args *args = bound;
    bool is_old = args->context_id && *args->context_id;
    char path[PATH_MAX];
    int r = check_paths(args->files, err);

    if (r == 0)
        r = is_old ? add_to(call->host, args, err) : make(call->host, args, path, err);
    if (r == 0)
        json_put_str(call->answer, "context_id", is_old ? args->context_id : path);
    return r;
}

const struct tool tool_prepare_build_context = {
    .name = "prepare_build_context",
    .help = "Write files to a new directory that an image can be built from; a Dockerfile for "
            "Python or Node is added where there is none.",
    .size = sizeof(struct prepare_args),
    .bind = &bind,
    .needs = needs,
    .run = prepare,
};
