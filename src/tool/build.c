/* SPDX-License-Identifier: Apache-2.0 */
/* tool/build.c - build_image_from_context and build_image_from_path.
 *
 *    Dockerfile read, resolved, checked → context packed → base images checked → built → inspected
 *
 * Nothing goes to the engine before the Dockerfile has passed, and what is built is what was
 * checked (image/dockerfile.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "engine/engine.h"
#include "engine/images.h"
#include "engine/stream.h"
#include "image/build_log.h"
#include "image/context.h"
#include "image/dockerfile.h"
#include "image/dockerfile_check.h"
#include "image/ignore.h"
#include "image/name.h"
#include "json/writer.h"
#include "tool/build_check.h"
#include "tool/engine.h"
#include "tool/tool.h"

#define MB          (1024.0 * 1024.0)
#define WRITTEN_MAX (4 << 20) /* of a Dockerfile as it is written again */

struct build_args {
    char *path; /* of the context; context_id in one tool, path in the other */
    char *tag;
    char **build_args;
};

#define AT(field) offsetof(struct build_args, field)
#define COMMON_FIELDS                                                                             \
    { "tag", BIND_STR, AT(tag),                                                                   \
      .help = "Name of the image; agent-env: is put before it; default agent-env:build-TIME." },  \
        { "build_args", BIND_PAIRS, AT(build_args), .help = "Values of the Dockerfile's ARGs." }, \
        { 0 },

static const struct bind_field context_fields[] = {
    { "context_id", BIND_STR, AT(path), .help = "What prepare_build_context answered." },
    COMMON_FIELDS
};
static const struct bind context_bind = TOOL_BIND(context_fields);
static const struct tool_need context_needs[] = {
    { "context_id", "context_id is required" },
    { 0 },
};

static const struct bind_field path_fields[] = {
    { "path", BIND_STR, AT(path), .help = "Directory with a Dockerfile." }, COMMON_FIELDS
};
static const struct bind path_bind = TOOL_BIND(path_fields);
static const struct tool_need path_needs[] = {
    { "path", "path is required" },
    { 0 },
};

/* One build. */
struct build {
    const struct build_args *args;
    const char *param; /* which key named the directory */
    struct dockerfile dockerfile;
    struct dockerfile_findings findings;
    struct build_log *log;
    int dir_fd;
    int tar_fd;
    char tag[IMAGE_TEXT_SIZE];
};

static void build_clear(struct build *build)
{
    dockerfile_clear(&build->dockerfile);
    build_log_free(build->log);
    drop_fd(&build->dir_fd);
    drop_fd(&build->tar_fd);
}

/* ---- before the engine ---------------------------------------------------------------------- */

static int read_tag(struct build *build, struct gb_err *err)
{
    struct image_name name;
    const char *tag = build->args->tag ? build->args->tag : "";
    int r = image_name_for_build(tag, (uint64_t)time(NULL), &name, err);

    if (r == 0)
        (void)image_name_short(&name, build->tag);
    return r;
}

static int read_dockerfile(struct build *build, struct gb_err *err)
{
    int r;

    build->dir_fd = context_open(build->args->path, err);
    if (build->dir_fd < 0)
        return gb_wrap(err, build->dir_fd, "%s is not a valid directory", build->param);
    r = build_check_file(build->dir_fd, build->args->build_args, &build->dockerfile,
                         &build->findings, err);
    if (r < 0 && build->dockerfile.n == 0)
        return gb_wrap(err, r, "Dockerfile not found or unreadable in %s", build->param);
    return r;
}

static int write_tar(void *user, const void *bytes, size_t len, struct gb_err *err)
{
    const int *fd = user;
    int r = fd_write_full(*fd, bytes, len);

    return r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "%s", strerror(-r)) : 0;
}

static int pack_as(struct build *build, const struct buf *dockerfile, struct ignore *ignore,
                   struct gb_err *err)
{
    struct context_report report;
    const struct context_spec spec = {
        .dir_fd = build->dir_fd,
        .ignore = ignore,
        .dockerfile_name = "Dockerfile",
        .dockerfile = dockerfile->data,
        .dockerfile_len = dockerfile->len,
    };
    int r = context_write(&spec, write_tar, &build->tar_fd, &report, err);

    if (r == 0 && lseek(build->tar_fd, 0, SEEK_SET) < 0)
        r = gb_fail_sys(err, "reading it again");
    return r;
}

/* Into a file without a name: it goes with its descriptor, whatever happens. */
static int pack(struct build *build, const char *temp_dir, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(WRITTEN_MAX);
    struct ignore *ignore = NULL;
    int r = dockerfile_write(&build->dockerfile, &text);

    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "writing the Dockerfile: %s", strerror(-r));
    build->tar_fd = open(temp_dir, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
    r = build->tar_fd < 0 ? gb_fail_sys(err, "a file in '%s'", temp_dir)
                          : context_read_ignore(build->dir_fd, &ignore, err);
    if (r == 0)
        r = pack_as(build, &text, ignore, err);
    ignore_free(ignore);
    return r < 0 ? gb_wrap(err, r, "failed to create build context") : 0;
}

/* ---- the engine ----------------------------------------------------------------------------- */

static ssize_t read_tar(void *user, void *bytes, size_t size)
{
    const struct build *build = user;
    ssize_t n = read(build->tar_fd, bytes, size);

    return n < 0 ? -errno : n;
}

static int hear(void *user, const struct stream_event *event)
{
    struct build *build = user;

    return event->text ? build_log_add(build->log, event->text, event->text_len) : 0;
}

static int have_built(struct build *build, struct engine *engine, char id[static IMAGES_ID_SIZE],
                      struct gb_err *err)
{
    const char *const tags[] = { build->tag, NULL };
    const struct stream_sink sink = { hear, build };
    const struct images_build spec = {
        .tags = tags,
        .build_args = (const char *const *)build->args->build_args,
        .total_ms = TOOL_CALL_MS,
        .source = read_tar,
        .user = build,
    };
    int r = images_build(engine, &spec, &sink, id, err);

    if (r == 0)
        return 0;
    (void)build_log_fail(build->log, err->msg);
    return gb_wrap(err, r, "build failed");
}

/* ---- the answer ----------------------------------------------------------------------------- */

static void put_summary(struct tool_call *call, const struct build *build)
{
    char summary[BUILD_LOG_SUMMARY];
    const char *text = build_log_summary(build->log, summary);

    if (*text)
        json_put_str(call->answer, "build_log_summary", text);
}

static void put_findings(struct tool_call *call, const struct dockerfile_findings *findings)
{
    if (!findings->n)
        return;
    json_array_begin(call->answer, "findings");
    for (size_t i = 0; i < findings->n; i++) {
        const struct dockerfile_finding *finding = &findings->items[i];

        json_object_begin(call->answer, NULL);
        json_put_u64(call->answer, "line", finding->line);
        json_put_str(call->answer, "rule", finding->rule);
        json_put_str(call->answer, "message", finding->message);
        json_put_str(call->answer, "remedy", finding->remedy);
        json_object_end(call->answer);
    }
    json_array_end(call->answer);
}

static void put_failure(struct tool_call *call, const struct build *build,
                        const struct gb_err *failure)
{
    const char *layer = build_log_failed_layer(build->log);

    tool_put_error(call->answer, failure);
    put_summary(call, build);
    if (layer)
        json_put_str(call->answer, "failed_layer", layer);
    put_findings(call, &build->findings);
}

static int build_with(struct tool_call *call, struct build *build, struct gb_err *err)
{
    cleanup_engine struct engine *engine = NULL;
    cleanup_images_config struct images_config made = { 0 };
    char id[IMAGES_ID_SIZE];
    int r = read_tag(build, err);

    if (r == 0)
        r = read_dockerfile(build, err);
    if (r == 0)
        r = pack(build, call->host->temp_dir, err);
    if (r == 0)
        r = tool_engine(call, &engine, err);
    if (r == 0)
        r = build_check_bases(engine, &build->dockerfile, &build->findings, err);
    if (r == 0)
        r = have_built(build, engine, id, err);
    if (r == 0)
        r = images_inspect(engine, build->tag, &made, err);
    if (r < 0)
        return r;
    json_put_str(call->answer, "image_id", made.id);
    json_put_str(call->answer, "tag", build->tag);
    json_put_double(call->answer, "size_mb", (double)made.bytes / MB, 2);
    put_summary(call, build);
    return 0;
}

static int build_from(struct tool_call *call, const struct build_args *args, const char *param,
                      struct gb_err *err)
{
    cleanup_with(build_clear) struct build build = {
        .args = args,
        .param = param,
        .log = build_log_new(),
        .dir_fd = -1,
        .tar_fd = -1,
    };
    int r = build.log ? build_with(call, &build, err)
                      : gb_fail(err, -ENOMEM, GB_BLAME_HOST, "out of memory");

    if (r >= 0 || call->is_refused || !build.log)
        return r;
    put_failure(call, &build, err);
    return 1;
}

static int build_context(struct tool_call *call, void *bound, struct gb_err *err)
{
    return build_from(call, bound, "context_id", err);
}

static int build_path(struct tool_call *call, void *bound, struct gb_err *err)
{
    return build_from(call, bound, "path", err);
}

const struct tool tool_build_image_from_context = {
    .name = "build_image_from_context",
    .help = "Build an image from a context that prepare_build_context made.",
    .shape = TOOL_STATUS,
    .size = sizeof(struct build_args),
    .bind = &context_bind,
    .needs = context_needs,
    .run = build_context,
};

const struct tool tool_build_image_from_path = {
    .name = "build_image_from_path",
    .help = "Build an image from a directory of the host.",
    .shape = TOOL_STATUS,
    .size = sizeof(struct build_args),
    .bind = &path_bind,
    .needs = path_needs,
    .run = build_path,
};
