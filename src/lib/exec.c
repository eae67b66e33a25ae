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
#include "package/imports.h"
#include "run/language.h"
#include "run/record.h"
#include "run/run.h"

/* A working directory and a path below it. */
#define PLACE_MAX ((size_t)2 * PATH_MAX)

/* What a run_request points to. */
struct order {
    struct run_input *inputs;
    size_t n_inputs;
    struct run_output *outputs;
    const char **env;
    int stdin_fd; /* ours; -1 */
    char name[PATH_MAX];
};

static void order_clear(struct order *order)
{
    for (size_t i = 0; i < order->n_inputs; i++)
        cleanup_close_fd(&order->inputs[i].fd);
    free(order->inputs);
    free(order->outputs);
    free(order->env);
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

/* The variables of certificates, then the request's own, which win. */
static int take_env(const struct glovebox_request *request, const struct certificates *trusted,
                    struct order *order, struct gb_err *err)
{
    size_t n = 0;

    order->env = calloc(trusted->n + request->env.n + 1, sizeof(*order->env));
    if (!order->env)
        return gb_no_memory(err);
    for (size_t i = 0; i < trusted->n; i++)
        order->env[n++] = trusted->env[i];
    for (size_t i = 0; i < request->env.n; i++)
        order->env[n++] = request->env.items[i];
    return 0;
}

/* ---- orders --------------------------------------------------------------------------------- */

/* Network and packages are what a box was made with. */
static int check_standing(const struct glovebox_request *request, struct gb_err *err)
{
    if (request->net.mode != NET_NONE)
        return gb_fail(err, -ENOTSUP, GB_BLAME_CALLER,
                       "a network for one run of a box that is open" GB_REMEDY
                       "say it in the options of the box, or use glovebox_exec()");
    if (request->flags & GLOVEBOX_AUTO_PACKAGES ||
        !package_wishes_are_empty(&request->packages.wishes))
        return gb_fail(err, -ENOTSUP, GB_BLAME_CALLER,
                       "packages for one run of a box that is open" GB_REMEDY
                       "say them in the options of the box, or use glovebox_exec()");
    return 0;
}

static int order_make(const struct glovebox_request *request, const struct box_spec *spec,
                      const char *workdir, bool has_others, struct order *order, struct gb_err *err)
{
    int r = limits_check(&spec->limits, err);

    if (r == 0 && has_others)
        r = check_standing(request, err);
    if (r < 0)
        return r;
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
                                         const struct order *order, const struct box_spec *spec,
                                         const char *workdir)
{
    static const char *const none[] = { NULL };

    return (struct run_request){
        .box = spec,
        .language = request->language,
        .code = request->code,
        .code_len = request->code_len,
        .name = order->name,
        .args = request->args.n ? (const char *const *)request->args.items : none,
        .env = order->env,
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

static struct glovebox_result *result_new(struct gb_err *err)
{
    struct glovebox_result *result = calloc(1, sizeof(*result));

    if (!result) {
        (void)gb_no_memory(err);
        return NULL;
    }
    result->streams[0] = (struct buf)BUF_INIT(SIZE_MAX / 4);
    result->streams[1] = (struct buf)BUF_INIT(SIZE_MAX / 4);
    result->json = (struct buf)BUF_INIT(SIZE_MAX / 4);
    result->receipt = (struct buf)BUF_INIT(SIZE_MAX / 4);
    return result;
}

/* ---- in a box that stands ------------------------------------------------------------------- */

/* The output of a run in a kept box goes to its log, and on to where it went anyway. */
struct recorder {
    struct run_record record;
    const struct glovebox_request *request;
};

static int record_output(void *user, int stream, const void *bytes, size_t len)
{
    struct recorder *recorder = user;
    const struct glovebox_request *request = recorder->request;

    run_record_add(&recorder->record, stream, bytes, len);
    return request->output ? request->output(request->user, stream, bytes, len) : 0;
}

/* "python: print(1)", "sh -c exit": as much of it as fits. */
static void describe(const struct glovebox_request *request, char *ret, size_t size)
{
    size_t len = 0;

    ret[0] = '\0';
    if (request->language)
        len = (size_t)snprintf(ret, size, "%s: %.*s", request->language->name,
                               (int)(request->code_len < size ? request->code_len : size),
                               request->code);
    for (size_t i = 0; i < request->args.n && len < size; i++)
        len +=
            (size_t)snprintf(ret + len, size - len, "%s%s", len ? " " : "", request->args.items[i]);
}

static int run_recorded(struct glovebox_box *box, const struct glovebox_request *request,
                        struct run_request *asked, struct run_result *result, struct gb_err *err)
{
    struct recorder recorder = { .request = request };
    char command[sizeof(recorder.record.command)];
    int r;

    describe(request, command, sizeof(command));
    r = run_record_begin(&recorder.record, box->state_dir, &box->kept, command, err);
    if (r < 0)
        return r;
    asked->id = recorder.record.id;
    asked->output = record_output;
    asked->user = &recorder;
    r = run_execute_in(box->box, asked, result, err);
    if (r < 0)
        run_record_failure(&recorder.record, &result->error);
    run_record_end(&recorder.record, result);
    return r;
}

int lib_run_in(struct glovebox_box *box, const struct glovebox_request *request,
               const struct box_spec *spec, struct glovebox_result **ret, struct gb_err *err)
{
    const char *workdir = request->workdir ? request->workdir : box->workdir;
    cleanup_with(order_clear) struct order order = { .stdin_fd = -1 };
    struct run_request asked;
    int r = order_make(request, spec, workdir, true, &order, err);

    *ret = NULL;
    if (r == 0)
        r = take_env(request, &box->certificates, &order, err);
    if (r < 0)
        return r;
    *ret = result_new(err);
    if (!*ret)
        return -ENOMEM;
    asked = run_request_of(request, &order, spec, workdir);
    return box->state_dir ? run_recorded(box, request, &asked, &(*ret)->run, err)
                          : run_execute_in(box->box, &asked, &(*ret)->run, err);
}

/* ---- in a box of its own -------------------------------------------------------------------- */

/* What a box of its own is made with, until it is gone. */
struct outfit {
    struct glovebox_packages wanted; /* the request's, and what its code imports */
    struct box_packages packages;
    struct certificates certificates;
    struct buf plain; /* code with lines of a notebook, as Python */
};

static void outfit_init(struct outfit *outfit)
{
    *outfit = (struct outfit){ .plain = BUF_INIT((size_t)2 * REQUEST_CODE_MAX) };
    package_wishes_init(&outfit->wanted.wishes);
    box_packages_init(&outfit->packages);
}

static void outfit_clear(struct outfit *outfit)
{
    package_wishes_clear(&outfit->wanted.wishes);
    box_packages_clear(&outfit->packages);
    certificates_clear(&outfit->certificates);
    buf_clear(&outfit->plain);
}

/* What the code imports and no file of the caller's brings. */
static int want_imports(const struct glovebox_request *request, const struct box_spec *spec,
                        struct outfit *outfit, struct gb_err *err)
{
    cleanup_free const char **files = calloc(request->n_files + 1, sizeof(*files));
    const struct box_ops *ops = box_backend(spec->backend, err);
    const struct package_code code = {
        .language = request->language,
        .text = request->code,
        .len = request->code_len,
        .name = request->name,
        .files = files,
        .dir = request->workspace,
        .is_image = ops && !ops->shows_host,
        .toolchains = spec->toolchains,
    };
    enum package_kind kind;

    if (!ops || !files)
        return ops ? gb_no_memory(err) : -EINVAL;
    for (size_t i = 0; i < request->n_files; i++)
        files[i] = request->files[i].path;
    if (package_kind_of(request->language, &kind) == 0 && kind == PACKAGE_PYTHON &&
        imports_plain_python(request->code, request->code_len, &outfit->plain) < 0)
        return gb_no_memory(err);
    return package_wishes_add_code(&outfit->wanted.wishes, &code, err);
}

static int outfit_packages(const struct glovebox_context *context,
                           const struct glovebox_request *request, struct box_spec *spec,
                           struct outfit *outfit, struct run_packages **ret_told,
                           struct gb_err *err)
{
    int r = lib_packages_copy(&outfit->wanted, &request->packages, err);

    if (r == 0 && request->language && request->flags & GLOVEBOX_AUTO_PACKAGES)
        r = want_imports(request, spec, outfit, err);
    if (r < 0 || package_wishes_are_empty(&outfit->wanted.wishes))
        return r;
    r = lib_packages_open(context, &outfit->wanted, request->net.mode != NET_NONE,
                          request->cancel_fd, &outfit->packages, ret_told, err);
    spec->layers = outfit->packages.all.binds;
    spec->image_id = outfit->packages.all.image_id;
    return r;
}

static int run_own(const struct glovebox_context *context, const struct glovebox_request *request,
                   struct box_spec *spec, struct order *order, struct run_result *result,
                   struct gb_err *err)
{
    cleanup_with(outfit_clear) struct outfit outfit;
    struct run_request asked;
    int r;

    outfit_init(&outfit);
    r = outfit_packages(context, request, spec, &outfit, &result->packages, err);
    if (r == 0 && request->net.mode != NET_NONE)
        r = certificates_for(spec, lib_env(context), NULL, &outfit.certificates, err);
    if (r == 0)
        r = take_env(request, &outfit.certificates, order, err);
    if (r < 0) {
        /* Before there was a box to run in. */
        result->error = *err;
        (void)id_make('r', result->id);
        return r;
    }
    spec->certificates = outfit.certificates.list;
    asked = run_request_of(request, order, spec, spec->workdir ? spec->workdir : BOX_WORKSPACE);
    asked.net_caps = context->settings.net_caps;
    if (outfit.plain.len) {
        asked.code = outfit.plain.data;
        asked.code_len = outfit.plain.len;
    }
    return run_execute(&asked, result, err);
}

static int exec_own(const struct glovebox_context *context, const struct glovebox_request *request,
                    struct glovebox_result **ret, struct gb_err *err)
{
    const struct settings *settings = &context->settings;
    cleanup_with(order_clear) struct order order = { .stdin_fd = -1 };
    struct box_spec spec = settings_box_spec(settings);
    int r = settings_check(settings, err);

    *ret = NULL;
    if (r < 0)
        return r;
    spec.workdir = request->workdir;
    spec.limits = limits_or(request->said, spec.limits);
    if (request->language)
        settings_suit_language(settings, request->language, request->said.pids != 0, &spec);
    r = order_make(request, &spec, spec.workdir ? spec.workdir : BOX_WORKSPACE, false, &order, err);
    if (r < 0)
        return r;
    *ret = result_new(err);
    return *ret ? run_own(context, request, &spec, &order, &(*ret)->run, err) : -ENOMEM;
}

int glovebox_exec(const struct glovebox_context *context, const struct glovebox_request *request,
                  struct glovebox_result **ret, struct glovebox_error *error)
{
    struct gb_err err = { 0 };

    return lib_told(exec_own(context, request, ret, &err), &err, error);
}
