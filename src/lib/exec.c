/* SPDX-License-Identifier: Apache-2.0 */
/* lib/exec.c - a request of the library's caller as one of run/. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/id.h"
#include "base/path.h"
#include "box/box.h"
#include "conf/box_spec.h"
#include "lib/inside.h"
#include "run/language.h"
#include "run/run.h"

/* A working directory and a path below it. */
#define PLACE_MAX ((size_t)2 * PATH_MAX)

/* What a run_request points to. */
struct order {
    struct run_input *inputs;
    size_t n_inputs;
    struct run_output *outputs;
    int stdin_fd; /* ours; -1 */
    char name[PATH_MAX];
};

static void order_clear(struct order *order)
{
    for (size_t i = 0; i < order->n_inputs; i++)
        cleanup_close_fd(&order->inputs[i].fd);
    free(order->inputs);
    free(order->outputs);
    drop_fd(&order->stdin_fd);
}

/* ---- files ---------------------------------------------------------------------------------- */

int lib_open_file(const char *host, uint64_t *ret_size, unsigned *ret_mode, struct gb_err *err)
{
    /* O_NONBLOCK: a pipe is refused below, not waited for. */
    cleanup_close int fd = open(host, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0) {
        int r = -errno;

        return gb_fail(err, r, GB_BLAME_CALLER, "%.200s: %s", host, strerror(-r));
    }
    if (!S_ISREG(st.st_mode))
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "%.200s: is no regular file", host);
    *ret_size = (uint64_t)st.st_size;
    *ret_mode = st.st_mode & S_IXUSR ? 0755 : 0644;
    return take_fd(&fd);
}

static int take_file(const struct request_file *file, struct run_input *ret, struct gb_err *err)
{
    *ret = (struct run_input){
        .target = file->path, .bytes = file->bytes, .fd = -1, .size = file->len, .mode = file->mode
    };
    if (file->bytes)
        return 0;
    ret->fd = lib_open_file(file->host, &ret->size, &ret->mode, err);
    return ret->fd < 0 ? ret->fd : 0;
}

/* The path in the box as one that is absolute. */
static void place_of(const char *workdir, const char *path, char ret[static PLACE_MAX])
{
    (void)snprintf(ret, PLACE_MAX, "%s%s%s", path[0] == '/' ? "" : workdir,
                   path[0] == '/' ? "" : "/", path);
}

static int check_apart(const char *workdir, const char *one, const char *other, struct gb_err *err)
{
    char a[PLACE_MAX];
    char b[PLACE_MAX];

    place_of(workdir, one, a);
    place_of(workdir, other, b);
    if (!path_is_in(a, b) && !path_is_in(b, a))
        return 0;
    return gb_fail(err, -EEXIST, GB_BLAME_CALLER,
                   "the files '%.150s' and '%.150s' have one place in the box", one, other);
}

/* No file may take another's place, nor the code's. */
static int check_places(const struct glovebox_request *request, const struct order *order,
                        const char *workdir, struct gb_err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < request->n_files; i++) {
        if (request->language)
            r = check_apart(workdir, request->files[i].path, order->name, err);
        for (size_t j = 0; r == 0 && j < i; j++)
            r = check_apart(workdir, request->files[i].path, request->files[j].path, err);
    }
    return r;
}

static int take_files(const struct glovebox_request *request, struct order *order,
                      struct gb_err *err)
{
    int r = 0;

    order->inputs = calloc(request->n_files + 1, sizeof(*order->inputs));
    order->outputs = calloc(request->n_outs + 1, sizeof(*order->outputs));
    if (!order->inputs || !order->outputs)
        return gb_no_memory(err);
    for (size_t i = 0; r == 0 && i < request->n_files; i++) {
        r = take_file(&request->files[i], &order->inputs[i], err);
        order->n_inputs++;
    }
    for (size_t i = 0; i < request->n_outs; i++)
        order->outputs[i] =
            (struct run_output){ .target = request->outs[i].path, .host = request->outs[i].host };
    return r;
}

/* ---- names and streams ---------------------------------------------------------------------- */

/* The name of code that has none: in a workspace one that no project has, in a box with other runs
 * one that no other run's code has. */
static int take_name(const struct glovebox_request *request, bool has_others, struct order *order,
                     struct gb_err *err)
{
    char name[NAME_MAX + 1];
    char id[ID_SIZE] = "";
    bool is_shared;
    int r = 0;

    if (!request->language)
        return 0;
    if (request->name) {
        (void)snprintf(order->name, sizeof(order->name), "%s", request->name);
        return 0;
    }
    is_shared = (has_others || request->workspace) && !request->language->needs_name;
    if (is_shared && has_others)
        r = id_make('r', id);
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "drawing a name: %s", strerror(-r));
    language_file_name(request->language, request->code, request->code_len, name);
    (void)snprintf(order->name, sizeof(order->name), "%s%.8s%s%s", is_shared ? "glovebox-" : "",
                   *id ? id + 2 : "", *id ? "-" : "", name);
    return 0;
}

/* Bytes as a descriptor: a run reads one, and each run reads from the beginning. */
static int take_input(const struct glovebox_request *request, struct order *order,
                      struct gb_err *err)
{
    int r;

    if (!request->input)
        return 0;
    order->stdin_fd = memfd_create("glovebox-stdin", MFD_CLOEXEC);
    if (order->stdin_fd < 0)
        return gb_fail_sys(err, "making room for stdin");
    r = fd_write_full(order->stdin_fd, request->input, request->input_len);
    if (r < 0 || lseek(order->stdin_fd, 0, SEEK_SET) < 0)
        return gb_fail(err, r < 0 ? r : -errno, GB_BLAME_HOST, "filling stdin");
    return 0;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static int order_make(const struct glovebox_request *request, const char *workdir, bool has_others,
                      struct order *order, struct gb_err *err)
{
    int r;

    if (has_others && request->net.mode != NET_NONE)
        return gb_fail(err, -ENOTSUP, GB_BLAME_CALLER,
                       "a network for one run of a box that is open" GB_REMEDY
                       "use glovebox_exec(), or a box that `glovebox box create --net` made");
    if (!request->language && !request->args.n)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "nothing is to run" GB_REMEDY "give the request code or a program");
    r = take_name(request, has_others, order, err);
    if (r == 0)
        r = check_places(request, order, workdir, err);
    if (r == 0)
        r = take_files(request, order, err);
    return r < 0 ? r : take_input(request, order, err);
}

static struct run_request run_request_of(const struct glovebox_request *request,
                                         const struct order *order, const char *workdir)
{
    static const char *const none[] = { NULL };

    return (struct run_request){
        .language = request->language,
        .code = request->code,
        .code_len = request->code_len,
        .name = order->name,
        .args = request->args.n ? (const char *const *)request->args.items : none,
        .env = (const char *const *)request->env.items,
        .workdir = workdir,
        .workspace = request->workspace,
        .inputs = order->inputs,
        .n_inputs = order->n_inputs,
        .outputs = order->outputs,
        .n_outputs = request->n_outs,
        .lists_files = request->flags & GLOVEBOX_LIST_FILES,
        .net = request->net.mode != NET_NONE ? &request->net : NULL,
        .stdin_fd = order->stdin_fd >= 0 ? order->stdin_fd : request->stdin_fd,
        .cancel_fd = request->cancel_fd,
        .keeps_output = !(request->flags & GLOVEBOX_DISCARD_OUTPUT),
        .output = request->output,
        .user = request->user,
    };
}

static struct glovebox_result *result_new(void)
{
    struct glovebox_result *result = calloc(1, sizeof(*result));

    if (!result)
        return NULL;
    result->streams[0] = (struct buf)BUF_INIT(SIZE_MAX / 4);
    result->streams[1] = (struct buf)BUF_INIT(SIZE_MAX / 4);
    result->json = (struct buf)BUF_INIT(SIZE_MAX / 4);
    result->receipt = (struct buf)BUF_INIT(SIZE_MAX / 4);
    return result;
}

int lib_run(const struct glovebox_request *request, const struct box_spec *spec, struct box *box,
            const char *workdir, struct carry_caps caps, struct glovebox_result **ret,
            struct gb_err *err)
{
    cleanup_with(order_clear) struct order order = { .stdin_fd = -1 };
    struct glovebox_result *result;
    struct run_request asked;
    int r = limits_check(&spec->limits, err);

    *ret = NULL;
    if (r == 0)
        r = order_make(request, workdir, box != NULL, &order, err);
    if (r < 0)
        return r;
    result = result_new();
    if (!result)
        return gb_no_memory(err);
    asked = run_request_of(request, &order, workdir);
    asked.box = spec;
    asked.net_caps = caps;
    r = box ? run_execute_in(box, &asked, &result->run, err)
            : run_execute(&asked, &result->run, err);
    *ret = result;
    return r;
}

static int exec_own(const struct glovebox_context *context, const struct glovebox_request *request,
                    struct glovebox_result **ret, struct gb_err *err)
{
    const struct settings *settings = &context->settings;
    struct box_spec spec = settings_box_spec(settings);
    int r = settings_check(settings, err);

    *ret = NULL;
    if (r < 0)
        return r;
    spec.workdir = request->workdir;
    spec.limits = limits_or(request->said, spec.limits);
    if (request->language)
        settings_suit_language(settings, request->language, request->said.pids != 0, &spec);
    return lib_run(request, &spec, NULL, request->workdir ? request->workdir : BOX_WORKSPACE,
                   settings->net_caps, ret, err);
}

int glovebox_exec(const struct glovebox_context *context, const struct glovebox_request *request,
                  struct glovebox_result **ret, struct glovebox_error *error)
{
    struct gb_err err = { 0 };

    return lib_told(exec_own(context, request, ret, &err), &err, error);
}
