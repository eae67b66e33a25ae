/* SPDX-License-Identifier: Apache-2.0 */
/* run/transfer.c - files of a request on their way into its box and out of it. */
#include "run/transfer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "box/box.h"
#include "box/link.h"
#include "run/result.h"
#include "run/room.h"
#include "run/run.h"
#include "run/save.h"
#include "run/workspace.h"
#include "wire/crate.h"

/* What one request may bring out. */
#define FILES_MAX 10000

/* ---- in ------------------------------------------------------------------------------------- */

/* Does the source come as a file of its own? */
static bool is_source_put(const struct run_request *request)
{
    return request->language && !request->box->seed && !request->is_name_of_workspace;
}

/* Paths below the working directory and absolute ones go as two crates; most requests have one. */
static int put_inputs(struct box *box, const struct run_request *request, bool is_absolute,
                      uint64_t *ret_mark, struct gb_err *err)
{
    cleanup_free struct box_file *files = calloc(request->n_inputs + 1, sizeof(*files));
    size_t n = 0;

    if (!files)
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for files");
    if (!is_absolute && is_source_put(request))
        files[n++] = (struct box_file){
            .path = request->name,
            .mode = 0644,
            .bytes = request->code_len ? request->code : "",
            .fd = -1,
            .size = request->code_len,
        };
    for (size_t i = 0; i < request->n_inputs; i++) {
        const struct run_input *input = &request->inputs[i];

        if ((input->target[0] == '/') != is_absolute)
            continue;
        files[n++] = (struct box_file){
            .path = input->target + is_absolute,
            .mode = input->mode,
            .bytes = input->bytes,
            .fd = input->fd,
            .size = input->size,
        };
    }
    if (n == 0)
        return 0;
    return box_put(box, is_absolute ? "/" : request->workdir, files, n, ret_mark, err);
}

/* What source and inputs take; *ret_shared of it lies in shared memory. */
static uint64_t measure(const struct run_request *request, uint64_t *ret_shared)
{
    uint64_t bytes = request->language ? room_of(request->code_len) : 0;

    *ret_shared = 0;
    for (size_t i = 0; i < request->n_inputs; i++) {
        uint64_t room = room_of(request->inputs[i].size);

        if (room > UINT64_MAX - bytes)
            return UINT64_MAX;
        bytes += room;
        if (path_is_in(request->inputs[i].target, "/dev/shm"))
            *ret_shared += room;
    }
    return bytes;
}

int transfer_check(const struct run_request *request, struct gb_err *err)
{
    uint64_t shared;
    uint64_t bytes = measure(request, &shared);

    return room_check(&request->box->limits, bytes, shared, err);
}

int transfer_in(struct box *box, const struct run_request *request, uint64_t *ret_mark,
                struct gb_err *err)
{
    struct workspace_in in = {
        .what = "the workspace",
        .host_dir = request->workspace,
        .box_dir = request->workdir,
        .prefix = "",
        .limits = &request->box->limits,
    };
    int r = 0;

    in.used = measure(request, &in.used_shared);
    if (request->workspace)
        r = workspace_put(box, &in, ret_mark, err);
    if (r == 0)
        r = put_inputs(box, request, true, ret_mark, err);
    if (r == 0)
        r = put_inputs(box, request, false, ret_mark, err);
    return r;
}

/* ---- out ------------------------------------------------------------------------------------ */

struct single {
    struct save save;
    bool is_open;
    bool is_found;
    const char *host;
    const char *want; /* path within the crate */
    struct gb_err *err;
};

static int single_item(void *user, const struct crate_item *item)
{
    struct single *single = user;

    if (single->is_found || strcmp(item->path, single->want) != 0)
        return -EPROTO;
    single->is_found = true;
    single->is_open = true;
    return save_begin(&single->save, -1, single->host, item->mode, single->err);
}

static int single_data(void *user, const uint8_t *bytes, size_t len)
{
    struct single *single = user;

    return save_add(&single->save, bytes, len, single->err);
}

static int single_done(void *user)
{
    struct single *single = user;

    single->is_open = false;
    return save_commit(&single->save, single->err);
}

static const struct crate_ops single_ops = {
    .item = single_item,
    .data = single_data,
    .done = single_done,
};

/* What the box says of a path, as far as it has a better name than errno's. */
static int explain(int code, struct gb_err *err)
{
    static const struct {
        int code;
        const char *text;
    } reasons[] = {
        { -ENOENT, "the box has no such file" },
        { -EISDIR, "is a directory in the box, and only regular files are copied out" GB_REMEDY
                   "--workspace copies a directory in, and what has changed in it back" },
        { -ENXIO, "is a pipe, a socket or a device in the box, and only regular files are copied "
                  "out" },
        { -ELOOP,
          "is a link in the box or lies behind one, and only regular files are copied out" },
        { -ENOTDIR, "lies behind something in the box that is no directory" },
    };

    for (size_t i = 0; i < N_ELEMENTS(reasons); i++)
        if (reasons[i].code == code)
            return gb_fail(err, code, GB_BLAME_CALLER, "%s", reasons[i].text);
    return code;
}

int transfer_get(struct box *box, const struct transfer_file *file, struct gb_err *err)
{
    struct gb_err inner = { 0 };
    struct single single = { .host = file->host, .want = file->path, .err = &inner };
    struct box_get_spec spec = {
        .dir = file->dir,
        .path = file->path,
        .max_files = 1,
        .max_bytes = file->max_bytes,
    };
    int r = box_get(box, &spec, &single_ops, &single, err);

    if (single.is_open)
        save_abort(&single.save);
    if (r == 0 && !single.is_found)
        r = -ENOENT;
    if (inner.code && err)
        *err = inner;
    else if (r < 0)
        r = explain(r, err);
    return r;
}

static int get_output(struct box *box, const struct run_request *request,
                      const struct run_output *output, struct gb_err *err)
{
    bool is_absolute = output->target[0] == '/';
    struct transfer_file file = {
        .dir = is_absolute ? "/" : request->workdir,
        .path = output->target + is_absolute,
        .host = output->host,
        .max_bytes = request->box->limits.disk_bytes,
    };
    int r = transfer_get(box, &file, err);

    return r < 0 ? gb_wrap(err, r, "--out %s", output->target) : 0;
}

/* The source, where it is none of the caller's files; NULL. */
static const char *source_of(const struct run_request *request)
{
    return request->language && !request->is_name_of_workspace ? request->name : NULL;
}

/* The names of what the run made or changed, its own source apart. */
struct listing {
    struct run_result *result;
    const char *source;
};

static int listing_item(void *user, const struct crate_item *item)
{
    struct listing *listing = user;

    if (listing->source && strcmp(item->path, listing->source) == 0)
        return 0;
    return run_result_add_file(listing->result, item->path, item->size);
}

static int listing_data(void *user, const uint8_t *bytes, size_t len)
{
    (void)user;
    (void)bytes;
    (void)len;
    return -EPROTO;
}

static int listing_done(void *user)
{
    (void)user;
    return 0;
}

static const struct crate_ops listing_ops = {
    .item = listing_item,
    .data = listing_data,
    .done = listing_done,
};

static int list_files(struct box *box, const struct run_request *request, uint64_t mark,
                      struct run_result *result, struct gb_err *err)
{
    struct listing listing = { .result = result, .source = source_of(request) };
    struct box_get_spec spec = {
        .dir = request->workdir,
        .path = "",
        .is_listing = true,
        .has_since = mark != 0,
        .since = mark,
        .max_files = FILES_MAX,
        .max_bytes = UINT64_MAX / 2,
    };

    return box_get(box, &spec, &listing_ops, &listing, err);
}

/* Remembers the first failure; others are notes. */
static int keep_first(int first, int r, struct run_result *result, const struct gb_err *later,
                      struct gb_err *err)
{
    if (r == 0)
        return first;
    if (first < 0)
        run_result_add_note(result, "%s", later->msg);
    else if (err)
        *err = *later;
    return first < 0 ? first : r;
}

int transfer_out(struct box *box, const struct run_request *request, uint64_t mark,
                 struct run_result *result, struct gb_err *err)
{
    const struct workspace_back back = {
        .what = "--workspace",
        .host_dir = request->workspace,
        .box_dir = request->workdir,
        .path = "",
        .source = source_of(request),
        .mark = mark,
        .max_files = FILES_MAX,
        .max_bytes = request->box->limits.disk_bytes,
    };
    struct gb_err later = { 0 };
    int r = 0;

    for (size_t i = 0; i < request->n_outputs && !link_is_lost(box_link(box)); i++)
        r = keep_first(r, get_output(box, request, &request->outputs[i], &later), result, &later,
                       err);
    if (request->workspace && !link_is_lost(box_link(box)))
        r = keep_first(r, workspace_get(box, &back, result, &later), result, &later, err);
    if (request->lists_files && !link_is_lost(box_link(box)))
        r = keep_first(r, list_files(box, request, mark, result, &later), result, &later, err);
    return r;
}
