/* SPDX-License-Identifier: Apache-2.0 */
/* lib/box.c - boxes for any number of runs, and files in and out of them. */
#include "box/box.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "conf/box_spec.h"
#include "lib/inside.h"
#include "run/packages.h"
#include "run/run.h"
#include "run/transfer.h"
#include "wire/crate.h"

/* ---- life ----------------------------------------------------------------------------------- */

int lib_read_options(const struct glovebox_box_options *options, struct glovebox_box_options *ret,
                     struct gb_err *err)
{
    size_t size = options ? options->size : 0;

    *ret = (struct glovebox_box_options)GLOVEBOX_BOX_OPTIONS_INIT;
    if (!options)
        return 0;
    if (size < offsetof(struct glovebox_box_options, ttl_ms) + sizeof(ret->ttl_ms))
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "the size of the options is not set" GB_REMEDY
                       "begin them with GLOVEBOX_BOX_OPTIONS_INIT");
    /* What a newer caller says that this library does not know cannot be done. */
    for (size_t i = sizeof(*ret); i < size; i++)
        if (((const char *)options)[i])
            return gb_fail(err, -ENOSYS, GB_BLAME_CALLER,
                           "the options have something that this library does not know");
    /* An older caller does not know all of them. */
    memcpy(ret, options, size < sizeof(*ret) ? size : sizeof(*ret));
    if (ret->ttl_ms > UINT32_MAX)
        return gb_fail(err, -ERANGE, GB_BLAME_CALLER, "a box lives 49 days at most, or for ever");
    return ret->workdir ? lib_check_workdir(ret->workdir, err) : 0;
}

int lib_options_packages(const struct glovebox_context *context,
                         const struct glovebox_box_options *options, struct box_packages *ret,
                         struct gb_err *err)
{
    struct run_packages *told = NULL;
    int r = lib_packages_open(context, options->packages,
                              options->net && strcmp(options->net, "none") != 0,
                              options->cancel_fd > 0 ? options->cancel_fd : -1, ret, &told, err);

    run_packages_free(told);
    return r;
}

/* What its options want besides, which stays with the box. */
static int outfit(const struct glovebox_context *context,
                  const struct glovebox_box_options *options, struct glovebox_box *box,
                  struct box_spec *spec, struct gb_err *err)
{
    int r = options->net ? net_policy_parse(options->net, &box->policy, err) : 0;

    if (r == 0 && box->policy.mode != NET_NONE) {
        box->net =
            (struct carry_spec){ .policy = &box->policy, .caps = context->settings.net_caps };
        spec->net = &box->net;
        r = certificates_for(spec, lib_env(context), NULL, &box->certificates, err);
        spec->certificates = box->certificates.list;
    }
    if (r < 0 || !options->packages)
        return r;
    box->packages = calloc(1, sizeof(*box->packages));
    if (!box->packages)
        return gb_no_memory(err);
    box_packages_init(box->packages);
    r = lib_options_packages(context, options, box->packages, err);
    spec->layers = box->packages->all.binds;
    spec->image_id = box->packages->all.image_id;
    return r;
}

static int open_own(const struct glovebox_context *context,
                    const struct glovebox_box_options *options, struct glovebox_box *box,
                    struct gb_err *err)
{
    struct box_spec spec = settings_box_spec(&context->settings);
    struct glovebox_box_options read;
    int r = lib_read_options(options, &read, err);

    if (r == 0 && read.ports)
        r = gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                    "ports lead to boxes that live on: glovebox_kept_create()");
    if (r == 0)
        r = settings_check(&context->settings, err);
    if (r < 0)
        return r;
    box->own_workdir = strdup(read.workdir ? read.workdir : BOX_WORKSPACE);
    box->workdir = box->own_workdir;
    if (!box->workdir)
        return gb_no_memory(err);
    spec.workdir = read.workdir;
    spec.ttl_ms = read.ttl_ms;
    spec.shows_groups = true;
    box->limits = spec.limits;
    r = outfit(context, &read, box, &spec, err);
    return r < 0 ? r : box_open(&spec, &box->box, err);
}

int glovebox_box_open(const struct glovebox_context *context,
                      const struct glovebox_box_options *options, struct glovebox_box **ret,
                      struct glovebox_error *error)
{
    struct glovebox_box *box = calloc(1, sizeof(*box));
    struct gb_err err = { 0 };
    int r = box ? open_own(context, options, box, &err) : gb_no_memory(&err);

    if (r == 0)
        *ret = take_ptr(box);
    (void)glovebox_box_close(box);
    return lib_told(r, &err, error);
}

uint32_t glovebox_box_close(struct glovebox_box *box)
{
    uint32_t survivors;

    if (!box)
        return 0;
    survivors = box_close(box->box);
    free(box->own_workdir);
    net_policy_clear(&box->policy);
    certificates_clear(&box->certificates);
    if (box->packages)
        box_packages_clear(box->packages);
    free(box->packages);
    kept_clear(&box->kept);
    free(box->state_dir);
    free(box);
    return survivors;
}

/* ---- runs ----------------------------------------------------------------------------------- */

/* Of a box that stands only limits and backend count. */
static struct box_spec spec_of(const struct glovebox_box *box)
{
    return (struct box_spec){ .backend = box_receipt(box->box)->backend, .limits = box->limits };
}

/* Cores and disk are the box's; the rest can be lowered for a run. */
static struct limits run_limits(struct limits said, struct limits box)
{
    said.cpu_milli = 0;
    said.disk_bytes = 0;
    said.inodes = 0;
    return limits_min(box, limits_or(said, box));
}

int glovebox_box_run(struct glovebox_box *box, const struct glovebox_request *request,
                     struct glovebox_result **ret, struct glovebox_error *error)
{
    struct box_spec spec = spec_of(box);
    struct gb_err err = { 0 };

    spec.limits = run_limits(request->said, box->limits);
    return lib_told(lib_run_in(box, request, &spec, ret, &err), &err, error);
}

/* ---- files in ------------------------------------------------------------------------------- */

static int put(struct glovebox_box *box, const struct run_input *input, struct gb_err *err)
{
    const struct box_spec spec = spec_of(box);
    const struct run_request request = {
        .box = &spec, .workdir = box->workdir, .inputs = input, .n_inputs = 1
    };
    uint64_t mark = 0;
    int r = lib_check_path(input->target, err);

    if (r == 0)
        r = transfer_check(&request, err);
    return r < 0 ? r : transfer_in(box->box, &request, &mark, err);
}

int glovebox_box_put(struct glovebox_box *box, const char *path, const void *bytes, size_t len,
                     unsigned mode, struct glovebox_error *error)
{
    const struct run_input input = {
        .target = path,
        .bytes = len ? bytes : "",
        .fd = -1,
        .size = len,
        .mode = mode & 0111 ? 0755 : 0644,
    };
    struct gb_err err = { 0 };

    return lib_told(put(box, &input, &err), &err, error);
}

int glovebox_box_put_file(struct glovebox_box *box, const char *path, const char *host_path,
                          struct glovebox_error *error)
{
    struct run_input input = { .target = path };
    struct gb_err err = { 0 };
    cleanup_close int fd = lib_open_file(host_path, &input.size, &input.mode, &err);

    input.fd = fd;
    return lib_told(fd < 0 ? fd : put(box, &input, &err), &err, error);
}

/* ---- files out ------------------------------------------------------------------------------ */

/* One file on its way into memory. */
struct catch
{
    const char *want;
    bool is_found;
    struct buf bytes;
};

static int catch_item(void *user, const struct crate_item *item)
{
    struct catch *catch = user;

    if (catch->is_found || strcmp(item->path, catch->want) != 0)
        return -EPROTO;
    catch->is_found = true;
    return buf_puts(&catch->bytes, "");
}

static int catch_data(void *user, const uint8_t *bytes, size_t len)
{
    struct catch *catch = user;

    return buf_add(&catch->bytes, bytes, len);
}

static int catch_done(void *user)
{
    (void)user;
    return 0;
}

static const struct crate_ops catch_ops = {
    .item = catch_item,
    .data = catch_data,
    .done = catch_done,
};

static int get(struct glovebox_box *box, const char *path, struct catch *catch, struct gb_err *err)
{
    bool is_absolute = path[0] == '/';
    const struct box_get_spec spec = {
        .dir = is_absolute ? "/" : box->workdir,
        .path = path + is_absolute,
        .max_files = 1,
        .max_bytes = catch->bytes.max,
    };
    int r = lib_check_path(path, err);

    catch->want = spec.path;
    if (r == 0)
        r = box_get(box->box, &spec, &catch_ops, catch, err);
    if (r == 0 && !catch->is_found)
        r = gb_fail(err, -ENOENT, GB_BLAME_CALLER, "the box has no file '%.200s'", path);
    return r;
}

int glovebox_box_get(struct glovebox_box *box, const char *path, size_t max, void **ret,
                     size_t *ret_len, struct glovebox_error *error)
{
    struct catch catch = { .bytes = BUF_INIT(max < SIZE_MAX / 4 ? max : SIZE_MAX / 4) };
    struct gb_err err = { 0 };
    size_t len;
    char *bytes;
    int r = get(box, path, &catch, &err);

    len = catch.bytes.len;
    bytes = r == 0 ? buf_take(&catch.bytes) : NULL;
    buf_clear(&catch.bytes);
    if (r == 0 && !bytes)
        r = gb_no_memory(&err);
    if (r == 0) {
        *ret = bytes;
        *ret_len = len;
    }
    return lib_told(r, &err, error);
}

void glovebox_free(void *memory)
{
    free(memory);
}

static int get_file(struct glovebox_box *box, const char *path, const char *host,
                    struct gb_err *err)
{
    bool is_absolute = path[0] == '/';
    const struct transfer_file file = {
        .dir = is_absolute ? "/" : box->workdir,
        .path = path + is_absolute,
        .host = host,
        .max_bytes = box->limits.disk_bytes,
    };
    int r = lib_check_path(path, err);

    if (r == 0)
        r = transfer_get(box->box, &file, err);
    return r < 0 ? gb_wrap(err, r, "%.150s", path) : 0;
}

int glovebox_box_get_file(struct glovebox_box *box, const char *path, const char *host_path,
                          struct glovebox_error *error)
{
    struct gb_err err = { 0 };

    return lib_told(get_file(box, path, host_path, &err), &err, error);
}
