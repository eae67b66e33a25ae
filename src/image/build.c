/* SPDX-License-Identifier: Apache-2.0 */
/* image/build.c - an image built by the engine from a directory of anybody's. */
#include "image/build.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "engine/engine.h"
#include "engine/stream.h"
#include "image/bases.h"
#include "image/context_stream.h"
#include "image/dockerfile.h"
#include "image/ignore.h"
#include "image/log_file.h"
#include "image/pull.h"
#include "json/writer.h"

#define DOCKERFILE "Dockerfile"
#define LABEL_TEXT IMAGE_LABEL "=1"

/* Where a text that stands in no directory's top is put: a name that nobody else uses. */
#define OWN_NAME ".glovebox.Dockerfile"

/* Of a caller that does not say how long the engine may take. */
#define TOTAL_MS 3600000

struct work {
    const struct image_build *order;
    struct image_built *ret;
    struct image_name name;
    int dir_fd;
    struct ignore *ignore;
    struct dockerfile dockerfile;
    struct dockerfile_policy policy;
    struct buf text; /* what is built */
    const char *text_name;
    struct build_log *log;
    int log_fd;
    uint64_t n_logged;    /* bytes in the file */
    bool has_begun;       /* the engine's steps: what comes is the log */
    uint64_t deadline_ns; /* of the engine, for pulls and steps together */
};

static void work_clear(struct work *work)
{
    ignore_free(work->ignore);
    dockerfile_clear(&work->dockerfile);
    buf_clear(&work->text);
    build_log_free(work->log);
    drop_fd(&work->dir_fd);
    drop_fd(&work->log_fd);
}

int image_log_dir(const char *state_dir, char **ret, struct gb_err *err)
{
    *ret = NULL;
    if (state_dir && asprintf(ret, "%s/builds", state_dir) < 0) {
        *ret = NULL;
        return gb_no_memory(err);
    }
    return 0;
}

/* ---- the order ------------------------------------------------------------------------------ */

static int name_image(struct work *work, struct gb_err *err)
{
    const struct image_build *order = work->order;
    int r = order->name ? image_name_parse(order->name, &work->name, err)
                        : image_name_for_build(order->tag ? order->tag : "", order->unix_time,
                                               &work->name, err);

    if (r < 0)
        return r;
    image_name_complete(&work->name);
    (void)image_name_short(&work->name, work->ret->tag);
    return 0;
}

/* Who names what is not there can repair it. */
static int blame_caller(int code, struct gb_err *err)
{
    if (code == -ENOENT || code == -ENOTDIR || code == -ELOOP || code == -EACCES)
        err->blame = GB_BLAME_CALLER;
    return code;
}

static int open_context(struct work *work, struct gb_err *err)
{
    int r;

    if (!work->order->path)
        return 0;
    work->ret->part = IMAGE_BUILD_DIRECTORY;
    work->dir_fd = context_open(work->order->path, err);
    if (work->dir_fd < 0)
        return blame_caller(work->dir_fd, err);
    work->ret->part = IMAGE_BUILD_CONTEXT;
    r = context_read_ignore(work->dir_fd, &work->ignore, err);
    return r < 0 ? gb_wrap(err, r, ".dockerignore") : 0;
}

/* ---- the Dockerfile ------------------------------------------------------------------------- */

/* Written for a directory that has none, as far as its files tell what it is. */
static int make_up(struct work *work, struct buf *given, struct gb_err *err)
{
    const char *patterns = template_dockerignore();
    struct template_facts facts = { 0 };
    int r = context_look(work->dir_fd, &facts, err);

    if (r < 0)
        return r;
    work->ret->made_up = template_choose(&facts);
    if (work->ret->made_up == TEMPLATE_NONE)
        return gb_fail(err, -ENOENT, GB_BLAME_CALLER,
                       "there is no " DOCKERFILE " in '%.200s', and no file that one could be "
                       "made from" GB_REMEDY
                       "write one, name another with -f, or add requirements.txt, pyproject.toml "
                       "or package.json",
                       work->order->path);
    r = template_write(work->ret->made_up, &facts, given);
    if (r < 0)
        return gb_no_memory(err);
    return work->ignore ? 0 : ignore_new(patterns, strlen(patterns), &work->ignore, err);
}

/* Its text as it was given; where the checked one will stand. */
static int find_dockerfile(struct work *work, struct buf *given, struct gb_err *err)
{
    const struct image_build *order = work->order;
    const char *file = order->file ? order->file : DOCKERFILE;
    int r;

    work->text_name = order->text || strchr(file, '/') ? OWN_NAME : file;
    if (order->text) {
        if (work->dir_fd < 0)
            work->text_name = DOCKERFILE;
        return buf_puts(given, order->text) < 0
                   ? gb_fail(err, -EFBIG, GB_BLAME_CALLER, "the " DOCKERFILE " is too long")
                   : 0;
    }
    if (work->dir_fd < 0)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "there is neither a directory nor a text");
    if (!path_is_below(file))
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "'%.200s' is no path below the build context",
                       file);
    r = context_read_dockerfile(work->dir_fd, file, given, err);
    if (r == -ENOENT && !order->file && !order->is_never_made_up)
        return make_up(work, given, err);
    return blame_caller(r, err);
}

/* A label behind every FROM. */
static int add_labels(struct dockerfile *dockerfile)
{
    struct dockerfile_item *items = calloc(2 * dockerfile->n + 1, sizeof(*items));
    size_t n = 0;
    int r = items ? 0 : -ENOMEM;

    for (size_t i = 0; items && i < dockerfile->n; i++) {
        items[n++] = dockerfile->items[i];
        if (dockerfile->items[i].op != DOCKERFILE_FROM)
            continue;
        items[n] = (struct dockerfile_item){
            .op = DOCKERFILE_LABEL,
            .line = dockerfile->items[i].line,
            .flags = calloc(1, sizeof(char *)),
            .words = calloc(1, sizeof(char *)),
            .text = strdup(LABEL_TEXT),
        };
        if (!items[n].flags || !items[n].words || !items[n].text)
            r = -ENOMEM;
        n++;
    }
    if (!items)
        return r;
    free(dockerfile->items);
    dockerfile->items = items;
    dockerfile->n = n;
    return r;
}

static int refuse(const struct dockerfile_findings *findings, struct gb_err *err)
{
    const struct dockerfile_finding *first = &findings->items[0];
    size_t n_more = findings->n - 1 + findings->n_more;
    char more[40] = "";

    if (n_more > 0)
        (void)snprintf(more, sizeof(more), " (and %zu more)", n_more);
    return gb_fail(err, -EPERM, GB_BLAME_CALLER, DOCKERFILE ", line %u: %s%s" GB_REMEDY "%s",
                   first->line, first->message, more, first->remedy);
}

static int check(struct work *work, const struct buf *given, struct gb_err *err)
{
    const struct image_build *order = work->order;
    int r = dockerfile_parse(given->data ? given->data : "", given->len, &work->dockerfile, err);

    if (r == 0)
        r = dockerfile_resolve(&work->dockerfile, order->args, order->n_args, err);
    if (r < 0)
        return gb_wrap(err, r, DOCKERFILE);
    work->policy = (struct dockerfile_policy){ .bases = order->bases };
    if (!dockerfile_check(&work->dockerfile, &work->policy, &work->ret->findings))
        return refuse(&work->ret->findings, err);
    return 0;
}

static int write_text(struct work *work, struct gb_err *err)
{
    int r = add_labels(&work->dockerfile);

    if (r == 0)
        r = dockerfile_write(&work->dockerfile, &work->text);
    return r == -ENOMEM ? gb_no_memory(err)
           : r < 0      ? gb_fail(err, r, GB_BLAME_CALLER, "the " DOCKERFILE " is too long")
                        : 0;
}

/* ---- the log -------------------------------------------------------------------------------- */

static void log_add(struct work *work, const char *text, size_t len)
{
    struct image_built *ret = work->ret;
    uint64_t room = LOG_FILE_MAX - work->n_logged;
    size_t part = len < room ? len : (size_t)room;

    build_log_add(work->log, text, len);
    if (work->log_fd < 0 || ret->is_log_cut)
        return;
    ret->is_log_cut = fd_write_full(work->log_fd, text, part) < 0 || part < len;
    work->n_logged += part;
}

/* What the engine pulls during a build is told as it ends: progress is no log. */
static void log_status(struct work *work, const struct stream_event *event)
{
    char line[300];
    int len = snprintf(line, sizeof(line), "%.80s%s%.200s\n", event->id ? event->id : "",
                       event->id ? ": " : "", event->status);

    log_add(work, line, (size_t)len);
}

static int on_event(void *user, const struct stream_event *event)
{
    struct work *work = user;

    if (work->has_begun && event->text)
        log_add(work, event->text, event->text_len);
    else if (work->has_begun && event->status && event->total == 0)
        log_status(work, event);
    return work->order->event
               ? work->order->event(work->order->user, event, build_log_layer(work->log))
               : 0;
}

static int open_log(struct work *work, struct gb_err *err)
{
    const struct image_build *order = work->order;

    work->log = build_log_new();
    if (!work->log)
        return gb_no_memory(err);
    if (!order->log_dir)
        return 0;
    work->log_fd = log_file_open(order->log_dir, order->unix_time, work->ret->log_path, err);
    if (work->log_fd < 0)
        work->ret->log_path[0] = '\0';
    return work->log_fd < 0 ? work->log_fd : 0;
}

/* The end of the log: what the caller is told of it. */
static void end_log(struct work *work, int r, const struct gb_err *err)
{
    const char *layer;
    char words[sizeof(err->msg)];

    if (r < 0) {
        (void)snprintf(words, sizeof(words), "%.*s", (int)gb_err_len(err), err->msg);
        build_log_fail(work->log, words);
        if (work->log_fd >= 0)
            (void)dprintf(work->log_fd, "%s\n", words);
    }
    layer = build_log_failed_layer(work->log);
    (void)build_log_summary(work->log, work->ret->summary);
    (void)snprintf(work->ret->failed_layer, sizeof(work->ret->failed_layer), "%s",
                   layer ? layer : "");
}

/* ---- the engine ----------------------------------------------------------------------------- */

/* Key, value, …, NULL. */
static const char **pairs_of(const struct image_build *order)
{
    const char **pairs = calloc(2 * order->n_args + 1, sizeof(*pairs));

    for (size_t i = 0; pairs && i < order->n_args; i++) {
        pairs[2 * i] = order->args[i].name;
        pairs[2 * i + 1] = order->args[i].value;
    }
    return pairs;
}

static int send(struct work *work, struct engine *engine, struct context_stream *stream,
                struct gb_err *err)
{
    const struct image_build *order = work->order;
    const struct stream_sink sink = { on_event, work };
    cleanup_free const char **pairs = pairs_of(order);
    char text[IMAGE_TEXT_SIZE];
    const char *const tags[] = { image_name_text(&work->name, text), NULL };
    const struct images_build build = {
        .tags = tags,
        .dockerfile = work->text_name,
        .build_args = pairs,
        .platform = order->platform,
        .network_mode = order->is_without_network ? "none" : NULL,
        .is_no_cache = order->is_without_cache,
        .total_ms = image_left_ms(work->deadline_ns),
        .source = context_stream_read,
        .user = stream,
    };

    if (!pairs)
        return gb_no_memory(err);
    return images_build(engine, &build, &sink, work->ret->id, err);
}

/* The context's own failure is the reason for the engine's. */
static int run_steps(struct work *work, struct engine *engine, struct gb_err *err)
{
    const struct context_spec spec = {
        .dir_fd = work->dir_fd,
        .ignore = work->ignore,
        .dockerfile_name = work->text_name,
        .dockerfile = work->text.data,
        .dockerfile_len = work->text.len,
    };
    struct context_stream *stream = NULL;
    struct gb_err context_err = { 0 };
    int r = context_stream_open(&spec, &stream, err);
    int context_r;

    if (r < 0)
        return r;
    work->has_begun = true;
    r = send(work, engine, stream, err);
    context_r = context_stream_close(&stream, &work->ret->context, &context_err);
    if (context_r == 0)
        return r;
    work->ret->part = IMAGE_BUILD_CONTEXT;
    if (err)
        *err = context_err;
    return context_r;
}

/* What was made, by its name: the engine need not have told its id. */
static int look(struct work *work, struct engine *engine, struct gb_err *err)
{
    cleanup_images_config struct images_config config = { 0 };
    char text[IMAGE_TEXT_SIZE];
    int r = images_inspect(engine, image_name_text(&work->name, text), &config, err);

    if (r < 0)
        return r;
    memcpy(work->ret->id, config.id, sizeof(work->ret->id));
    work->ret->bytes = config.bytes;
    return 0;
}

static int prepare(struct work *work, struct gb_err *err)
{
    cleanup_buf struct buf given = BUF_INIT(DOCKERFILE_MAX);
    int r = name_image(work, err);

    if (r < 0)
        return r;
    r = open_context(work, err);
    if (r < 0)
        return r;
    work->ret->part = IMAGE_BUILD_DOCKERFILE;
    r = find_dockerfile(work, &given, err);
    if (r < 0)
        return r;
    work->ret->part = IMAGE_BUILD_CHECK;
    return check(work, &given, err);
}

static int build(struct work *work, struct engine *engine, struct gb_err *err)
{
    const struct stream_sink sink = { on_event, work };
    const struct bases_order bases = {
        .policy = &work->policy,
        .config_dir = work->order->config_dir,
        .platform = work->order->platform,
        .is_pull = work->order->is_pull,
        .deadline_ns = work->deadline_ns,
        .sink = &sink,
    };
    int r;

    work->ret->part = IMAGE_BUILD_BASES;
    r = open_log(work, err);
    if (r == 0)
        r = bases_prepare(engine, &work->dockerfile, &bases, &work->ret->findings, err);
    if (r == 0)
        r = write_text(work, err);
    if (r == 0) {
        work->ret->part = IMAGE_BUILD_STEPS;
        r = run_steps(work, engine, err);
    }
    if (r == 0)
        r = look(work, engine, err);
    if (work->log)
        end_log(work, r, err);
    return r;
}

/* engine: NULL when it is only to be looked at. */
static int work_do(struct engine *engine, const struct image_build *order, struct image_built *ret,
                   struct gb_err *err)
{
    struct gb_err own = { 0 };
    cleanup_with(work_clear) struct work work = {
        .order = order,
        .ret = ret,
        .dir_fd = -1,
        .text = BUF_INIT((size_t)2 * DOCKERFILE_MAX),
        .log_fd = -1,
        .deadline_ns = clock_after_ms(order->total_ms ? order->total_ms : TOTAL_MS),
    };
    int r;

    *ret = (struct image_built){ 0 };
    r = prepare(&work, &own);
    if (r == 0 && engine)
        r = build(&work, engine, &own);
    if (r < 0 && err)
        *err = own;
    return r;
}

int image_build(struct engine *engine, const struct image_build *order, struct image_built *ret,
                struct gb_err *err)
{
    int r = work_do(engine, order, ret, err);

    if (r == 0)
        ret->part = IMAGE_BUILD_DONE;
    return r;
}

int image_build_check(const struct image_build *order, struct image_built *ret, struct gb_err *err)
{
    return work_do(NULL, order, ret, err);
}

void image_build_put_findings(struct json_writer *w, const char *key,
                              const struct dockerfile_findings *findings)
{
    json_array_begin(w, key);
    for (size_t i = 0; i < findings->n; i++) {
        json_object_begin(w, NULL);
        json_put_u64(w, "line", findings->items[i].line);
        json_put_str(w, "rule", findings->items[i].rule);
        json_put_str(w, "message", findings->items[i].message);
        json_put_str(w, "remedy", findings->items[i].remedy);
        json_object_end(w);
    }
    json_array_end(w);
}
