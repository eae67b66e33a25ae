/* SPDX-License-Identifier: Apache-2.0 */
/* cli/cmd_image_build.c - `glovebox image build`: an image from a directory, or from a Dockerfile
 * alone. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "cli/image_call.h"
#include "cli/progress.h"
#include "cli/term_filter.h"
#include "image/build.h"
#include "image/dockerfile.h"
#include "json/writer.h"
#include "run/environment.h"

#define TEXT_MAX  (1 << 20)
#define ID_BEGIN  7
#define ID_SHOWN  12
#define FAILED    1 /* the exit code when a step fails */
#define ARGS_MAX  256
#define VALUE_MAX 32768

#define AT(field) .offset = offsetof(struct image_args, field)
static const struct opt options[] = {
    { OPT_TEXT, "tag", 't', AT(tag), "TAG", "the image becomes agent-env:TAG [build-TIME]" },
    { OPT_TEXT, "file", 'f', AT(file), "FILE", "the Dockerfile, in PATH [Dockerfile]" },
    { OPT_LIST, "build-arg", 0, AT(build_args), "NAME=VALUE", "for an ARG; may be given again" },
    { OPT_FLAG, "pull", 0, AT(is_pull), NULL, "look for newer base images" },
    { OPT_FLAG, "no-cache", 0, AT(is_without_cache), NULL, "do every step again" },
    { OPT_FLAG, "no-network", 0, AT(is_without_network), NULL, "no network for its steps" },
    { OPT_KEY, .key = KEY_DOCKER_TIMEOUT },
    { OPT_FLAG, "quiet", 'q', AT(is_quiet), NULL, "no progress" },
    { OPT_FLAG, "json", 0, AT(is_json), NULL, "one JSON document" },
    { OPT_KEY, .key = KEY_COLOR },
    OPT_HELP_ROW,
    { 0 },
};

/* ---- the order ------------------------------------------------------------------------------ */

/* What one --build-arg says; names are cut out of texts that live in names. */
static int parse_arg(const char *text, struct buf *names, struct dockerfile_arg *ret,
                     struct gb_err *err)
{
    const char *equals = strchr(text, '=');
    size_t begin = names->len;

    if (!equals || strlen(equals) > VALUE_MAX)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "--build-arg: '%.80s' is no NAME=VALUE",
                       text);
    (void)buf_add(names, text, (size_t)(equals - text));
    (void)buf_putc(names, '\0');
    if (buf_error(names) < 0)
        return gb_fail(err, buf_error(names), GB_BLAME_CALLER, "--build-arg: too long");
    if (!run_env_is_name(names->data + begin))
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "--build-arg: '%.80s' does not begin with a name", text);
    ret->name = names->data + begin;
    ret->value = equals + 1;
    return 0;
}

/* names must not grow afterwards: it has room for all of them before the first. */
static int parse_args(const struct text_list *texts, struct buf *names, struct dockerfile_arg **ret,
                      struct gb_err *err)
{
    cleanup_free struct dockerfile_arg *args = calloc(texts->n + 1, sizeof(*args));
    int r = 0;

    if (texts->n > ARGS_MAX)
        return gb_fail(err, -E2BIG, GB_BLAME_CALLER, "--build-arg: at most %d", ARGS_MAX);
    if (!args || buf_reserve(names, TEXT_MAX - 1) < 0)
        return gb_no_memory(err);
    for (size_t i = 0; r == 0 && i < texts->n; i++)
        r = parse_arg(texts->items[i], names, &args[i], err);
    if (r == 0)
        *ret = take_ptr(args);
    return r;
}

/* "-": a Dockerfile on stdin, and no directory. */
static int read_stdin(struct buf *ret, struct gb_err *err)
{
    ssize_t n;

    if (buf_reserve(ret, DOCKERFILE_MAX + 1) < 0)
        return gb_no_memory(err);
    n = fd_read_full(STDIN_FILENO, ret->data, DOCKERFILE_MAX + 1);
    if (n < 0)
        return gb_fail(err, (int)n, GB_BLAME_HOST, "reading stdin: %s", strerror((int)-n));
    if (n > DOCKERFILE_MAX)
        return gb_fail(err, -EFBIG, GB_BLAME_CALLER, "the Dockerfile on stdin is over %d bytes",
                       DOCKERFILE_MAX);
    ret->len = (size_t)n;
    ret->data[n] = '\0';
    if (strlen(ret->data) != ret->len)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "stdin is no Dockerfile: it has a NUL" GB_REMEDY
                       "unpack an archive into a directory, and name that");
    return 0;
}

/* ---- telling -------------------------------------------------------------------------------- */

static const char *const templates[] = {
    [TEMPLATE_NONE] = NULL,
    [TEMPLATE_PYTHON] = "python",
    [TEMPLATE_UV] = "uv",
    [TEMPLATE_NODE] = "node",
};

static const char *or_null(const char *text)
{
    return text[0] ? text : NULL;
}

static void put_json(const struct image_built *built, const struct gb_err *why, struct buf *text)
{
    const char *error = why->code < 0 ? why->msg : NULL;
    struct json_writer w;

    json_writer_init(&w, text, true);
    json_object_begin(&w, NULL);
    json_put_u64(&w, "schema", 1);
    json_put_str(&w, "status", error ? "error" : "success");
    json_put_str(&w, "tag", or_null(built->tag));
    json_put_str(&w, "id", or_null(built->id));
    json_put_u64(&w, "bytes", built->bytes);
    json_put_str(&w, "template", templates[built->made_up]);
    json_put_bytes(&w, "error", error ? error : "", error ? gb_err_len(why) : 0);
    json_put_str(&w, "remedy", error ? gb_err_remedy(why) : NULL);
    json_put_str(&w, "build_log_summary", built->summary);
    json_put_str(&w, "failed_layer", or_null(built->failed_layer));
    json_put_str(&w, "log", or_null(built->log_path));
    json_put_bool(&w, "is_log_cut", built->is_log_cut);
    json_put_u64(&w, "context_files", built->context.n_entries);
    json_put_u64(&w, "context_bytes", built->context.n_bytes);
    json_put_u64(&w, "context_ignored", built->context.n_ignored);
    json_put_u64(&w, "context_skipped", built->context.n_skipped);
    image_build_put_findings(&w, "findings", &built->findings);
    json_object_end(&w);
    (void)json_writer_end(&w);
}

static void tell_lines(const char *lines)
{
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
    struct term_filter filter = { 0 };

    (void)term_filter_add(&filter, lines, strlen(lines), &text);
    (void)term_filter_end(&filter, &text);
    (void)buf_putc(&text, '\n');
    if (buf_error(&text) == 0)
        (void)fd_write_full(STDERR_FILENO, text.data, text.len);
}

/* What people need of a build that failed: where, its last words, and where all of them are. */
static void tell_failure(const struct image_built *built)
{
    if (built->failed_layer[0])
        tell_lines(built->failed_layer);
    if (built->summary[0])
        tell_lines(built->summary);
    if (built->log_path[0])
        (void)dprintf(STDERR_FILENO, "The whole log: %s\n", built->log_path);
}

static void tell_findings(const struct dockerfile_findings *findings)
{
    char line[300];

    for (size_t i = 1; i < findings->n; i++) {
        (void)snprintf(line, sizeof(line), "line %u: %s", findings->items[i].line,
                       findings->items[i].message);
        tell_lines(line);
    }
}

static void put_built(const struct image_built *built, struct buf *text)
{
    (void)buf_printf(text, "%s  %.*s  ", built->tag, ID_SHOWN, built->id + ID_BEGIN);
    image_put_size(built->bytes, text);
    (void)buf_putc(text, '\n');
    if (built->made_up != TEMPLATE_NONE)
        (void)dprintf(STDERR_FILENO, "There was no Dockerfile; glovebox wrote one for %s.\n",
                      templates[built->made_up]);
    if (built->context.n_skipped > 0) {
        (void)dprintf(STDERR_FILENO, "Left out, being no file: ");
        tell_lines(built->context.skipped);
    }
    if (built->is_log_cut)
        (void)dprintf(STDERR_FILENO, "The log could not be kept to its end: %s\n", built->log_path);
}

/* The exit code, or the error itself where it is no step's. */
static int tell(const struct image_call *call, const struct image_built *built, int r,
                struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
    bool is_step = r == -EREMOTEIO && built->part == IMAGE_BUILD_STEPS && built->failed_layer[0];
    int printed = 0;

    if (r == -ECANCELED)
        return image_call_end(call, r, err);
    if (call->args.is_json)
        put_json(built, err, &text);
    else if (r == 0)
        put_built(built, &text);
    else if (built->part == IMAGE_BUILD_STEPS)
        tell_failure(built);
    else
        tell_findings(&built->findings);
    if (text.len > 0)
        printed = command_print(&text, r == 0 ? err : NULL);
    if (r == 0)
        return printed;
    return is_step ? FAILED : r;
}

/* ---- the call ------------------------------------------------------------------------------- */

/* What is wrong with the order itself needs no engine to be told. */
static int build_with(struct image_call *call, struct image_build *order, struct image_built *ret,
                      struct gb_err *err)
{
    cleanup_free char *log_dir = NULL;
    struct progress progress;
    int r = image_build_check(order, ret, err);

    if (r < 0)
        return r;
    *ret = (struct image_built){ 0 };
    r = image_call_engine(call, err);
    if (r < 0)
        return r;
    r = image_log_dir(call->settings.state_dir, &log_dir, err);
    if (r < 0)
        return r;
    progress_init(&progress, *call->color, call->env, call->args.is_quiet);
    order->total_ms = call->settings.image_ms;
    order->log_dir = log_dir;
    order->event = progress_build;
    order->user = &progress;
    r = image_build(call->engine, order, ret, err);
    progress_end(&progress);
    return r;
}

static int build_one(struct image_call *call, struct gb_err *err)
{
    cleanup_buf struct buf names = BUF_INIT(TEXT_MAX);
    cleanup_buf struct buf text = BUF_INIT(DOCKERFILE_MAX + 2);
    cleanup_free struct dockerfile_arg *args = NULL;
    cleanup_free struct image_built *built = calloc(1, sizeof(*built));
    const char *path = call->parsed.operands[0];
    bool is_stdin = strcmp(path, "-") == 0;
    struct image_build order = {
        .path = is_stdin ? NULL : path,
        .file = call->args.file,
        .tag = call->args.tag,
        .is_without_network = call->args.is_without_network,
        .is_without_cache = call->args.is_without_cache,
        .is_pull = call->args.is_pull,
        .bases = call->settings.image_bases,
        .platform = call->settings.engine.platform,
        .config_dir = call->settings.engine.hints.config_dir,
        .unix_time = (uint64_t)time(NULL),
    };
    int r;

    if (!built)
        return gb_no_memory(err);
    r = parse_args(&call->args.build_args, &names, &args, err);
    if (r == 0 && is_stdin && order.file)
        r = gb_fail(err, -EINVAL, GB_BLAME_CALLER, "'-' is a Dockerfile already: -f has no place");
    if (r == 0 && is_stdin)
        r = read_stdin(&text, err);
    if (r < 0)
        return image_call_end(call, r, err);
    order.text = is_stdin ? text.data : NULL;
    order.args = args;
    order.n_args = call->args.build_args.n;
    r = build_with(call, &order, built, err);
    return tell(call, built, r, err);
}

static int build_call(const struct call *called, struct gb_err *err)
{
    cleanup_image_call struct image_call call = IMAGE_CALL_INIT;
    int r = image_call_open(called, &call, err);

    if (r == 0 && call.parsed.n_operands != 1)
        r = gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                    "say one directory, or - for a Dockerfile on stdin");
    return r == 0 ? build_one(&call, err) : image_call_end(&call, r, err);
}

const struct cmd cmd_image_build = {
    .name = "image build",
    .help = "Build an image from a directory, checked before the engine sees it",
    .usages = { "[OPTIONS] PATH", "[OPTIONS] - <DOCKERFILE" },
    .options = options,
    .run = build_call,
};
