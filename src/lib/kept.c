/* SPDX-License-Identifier: Apache-2.0 */
/* lib/kept.c - boxes that live on. */
#include "box/kept.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "box/box.h"
#include "box/kept_open.h"
#include "conf/box_spec.h"
#include "lib/inside.h"

struct glovebox_kept_list {
    struct kept *items;
    size_t n;
};

/* ---- making and using ----------------------------------------------------------------------- */

static int create(const struct glovebox_context *context,
                  const struct glovebox_box_options *options, char ret_id[static GLOVEBOX_ID_SIZE],
                  struct gb_err *err)
{
    const struct settings *settings = &context->settings;
    struct box_spec spec = settings_box_spec(settings);
    struct glovebox_box_options read;
    struct kept_spec record = { .state_dir = settings->state_dir, .image = settings->image };
    char id[ID_SIZE];
    int r = lib_read_options(options, &read, err);

    if (r == 0)
        r = settings_check(settings, err);
    if (r < 0)
        return r;
    spec.workdir = read.workdir;
    spec.ttl_ms = read.ttl_ms;
    spec.shows_groups = true;
    record.workdir = read.workdir ? read.workdir : BOX_WORKSPACE;
    record.ttl_ms = read.ttl_ms;
    r = kept_open(&spec, &record, id, err);
    if (r == 0)
        (void)snprintf(ret_id, GLOVEBOX_ID_SIZE, "%s", id);
    return r;
}

int glovebox_kept_create(const struct glovebox_context *context,
                         const struct glovebox_box_options *options, char ret_id[GLOVEBOX_ID_SIZE],
                         struct glovebox_error *error)
{
    struct gb_err err = { 0 };

    return lib_told(create(context, options, ret_id, &err), &err, error);
}

static int attach(const struct glovebox_context *context, const char *id, struct glovebox_box *box,
                  struct gb_err *err)
{
    const char *state_dir = context->settings.state_dir;
    struct box_news news;
    int r = kept_find(state_dir, id, &box->kept, err);

    if (r == 0)
        r = kept_attach(state_dir, &box->kept, &box->box, &news, err);
    if (r < 0)
        return r;
    box->limits = box->kept.box.receipt.limits;
    box->workdir = box->kept.workdir;
    return 0;
}

int glovebox_kept_attach(const struct glovebox_context *context, const char *id,
                         struct glovebox_box **ret, struct glovebox_error *error)
{
    struct glovebox_box *box = calloc(1, sizeof(*box));
    struct gb_err err = { 0 };
    int r = box ? attach(context, id, box, &err) : gb_no_memory(&err);

    if (r == 0)
        *ret = take_ptr(box);
    (void)glovebox_box_close(box);
    return lib_told(r, &err, error);
}

int glovebox_kept_remove(const struct glovebox_context *context, const char *id,
                         uint32_t *ret_survivors, struct glovebox_error *error)
{
    const char *state_dir = context->settings.state_dir;
    cleanup_kept struct kept kept = { 0 };
    struct gb_err err = { 0 };
    uint32_t survivors = 0;
    int r = kept_find(state_dir, id, &kept, &err);

    if (r == 0)
        r = kept_remove(state_dir, &kept, &survivors, &err);
    if (r == 0 && ret_survivors)
        *ret_survivors = survivors;
    return lib_told(r, &err, error);
}

/* ---- listing -------------------------------------------------------------------------------- */

int glovebox_kept_list(const struct glovebox_context *context, struct glovebox_kept_list **ret,
                       struct glovebox_error *error)
{
    struct glovebox_kept_list *list = calloc(1, sizeof(*list));
    struct gb_err err = { 0 };
    int r = list ? kept_list(context->settings.state_dir, &list->items, &list->n, &err)
                 : gb_no_memory(&err);

    if (r == 0)
        *ret = take_ptr(list);
    glovebox_kept_list_free(list);
    return lib_told(r, &err, error);
}

void glovebox_kept_list_free(struct glovebox_kept_list *list)
{
    if (!list)
        return;
    for (size_t i = 0; i < list->n; i++)
        kept_clear(&list->items[i]);
    free(list->items);
    free(list);
}

int glovebox_kept_list_at(const struct glovebox_kept_list *list, size_t n,
                          struct glovebox_kept_info *ret)
{
    struct glovebox_kept_info info = GLOVEBOX_KEPT_INFO_INIT;
    const struct kept *kept = n < list->n ? &list->items[n] : NULL;

    if (ret->size < offsetof(struct glovebox_kept_info, ttl_ms) + sizeof(info.ttl_ms))
        return -EINVAL;
    if (!kept)
        return -ENOENT;
    info.size = ret->size;
    info.id = kept->id;
    info.user = kept->user;
    info.backend = kept->box.receipt.backend;
    info.image = kept->image;
    info.workdir = kept->workdir;
    info.created_ms = kept->created_ms;
    info.ttl_ms = kept->ttl_ms;
    memcpy(ret, &info, sizeof(info));
    return 0;
}
