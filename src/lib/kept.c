/* SPDX-License-Identifier: Apache-2.0 */
/* lib/kept.c - boxes that live on. */
#include "box/kept.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "box/port.h"
#include "lib/inside.h"

struct glovebox_kept_list {
    struct kept *items;
    size_t n;
};

/* ---- making and using ----------------------------------------------------------------------- */

/* The packages come first: an installation may take minutes, and nobody else is to wait for it. */
static int make(const struct glovebox_context *context, const char *user,
                const struct glovebox_box_options *read, struct kept *ret, struct gb_err *err)
{
    const struct settings *settings = &context->settings;
    cleanup_with(box_packages_clear) struct box_packages packages;
    struct port ports[BOX_PORTS_MAX];
    struct box_wish wish = {
        .env = lib_env(context),
        .user = user,
        .workdir = read->workdir,
        .ttl_ms = read->ttl_ms,
        .net = read->net,
        .packages = read->packages ? &packages : NULL,
        .wishes = read->packages ? &read->packages->wishes : NULL,
        .ports = ports,
    };
    int r = settings_check(settings, err);

    box_packages_init(&packages);
    if (r == 0 && read->ports)
        r = port_parse_list(read->ports, ports, &wish.n_ports, err);
    if (r == 0 && read->packages)
        r = lib_options_packages(context, read, &packages, err);
    if (r < 0)
        return r;
    return user ? box_find_or_make(settings, &wish, ret, err) : box_make(settings, &wish, ret, err);
}

/* What can be seen to be wrong before anything is looked for or made. */
static int check(const struct glovebox_box_options *read, struct gb_err *err)
{
    struct port ports[BOX_PORTS_MAX];
    size_t n;
    int r = net_policy_check(read->net, err);

    return r == 0 && read->ports ? port_parse_list(read->ports, ports, &n, err) : r;
}

static int create(const struct glovebox_context *context,
                  const struct glovebox_box_options *options, char ret_id[static GLOVEBOX_ID_SIZE],
                  struct gb_err *err)
{
    struct glovebox_box_options read;
    cleanup_kept struct kept kept = { 0 };
    int r = lib_read_options(options, &read, err);

    if (r == 0)
        r = check(&read, err);
    if (r == 0)
        r = make(context, NULL, &read, &kept, err);
    if (r == 0)
        (void)snprintf(ret_id, GLOVEBOX_ID_SIZE, "%s", kept.id);
    return r;
}

int glovebox_kept_create(const struct glovebox_context *context,
                         const struct glovebox_box_options *options, char ret_id[GLOVEBOX_ID_SIZE],
                         struct glovebox_error *error)
{
    struct gb_err err = { 0 };

    return lib_told(create(context, options, ret_id, &err), &err, error);
}

/* The box that box->kept tells of. */
static int attach(const struct glovebox_context *context, struct glovebox_box *box,
                  struct gb_err *err)
{
    struct box_news news;
    int r = kept_attach(context->settings.state_dir, &box->kept, &box->box, &news, err);

    if (r < 0)
        return r;
    box->state_dir = strdup(context->settings.state_dir);
    if (!box->state_dir)
        return gb_no_memory(err);
    box->limits = box->kept.box.receipt.limits;
    box->workdir = box->kept.workdir;
    return 0;
}

/* The end of both ways to attach: hands a box over that is whole, or lets go of it. */
static int hand_over(struct glovebox_box *box, int r, struct glovebox_box **ret)
{
    if (r == 0)
        *ret = take_ptr(box);
    (void)glovebox_box_close(box);
    return r;
}

int glovebox_kept_attach(const struct glovebox_context *context, const char *id,
                         struct glovebox_box **ret, struct glovebox_error *error)
{
    struct glovebox_box *box = calloc(1, sizeof(*box));
    struct gb_err err = { 0 };
    int r = box ? kept_find(context->settings.state_dir, id, &box->kept, &err) : gb_no_memory(&err);

    if (r == 0)
        r = attach(context, box, &err);
    return lib_told(hand_over(box, r, ret), &err, error);
}

const char *glovebox_box_id(const struct glovebox_box *box)
{
    return box->state_dir ? box->kept.id : NULL;
}

static int remove_one(const struct glovebox_context *context, const struct kept *kept,
                      uint32_t *ret_survivors, struct gb_err *err)
{
    uint32_t survivors = 0;
    int r = kept_remove(context->settings.state_dir, kept, &survivors, err);

    if (r == 0 && ret_survivors)
        *ret_survivors = survivors;
    return r;
}

int glovebox_kept_remove(const struct glovebox_context *context, const char *id,
                         uint32_t *ret_survivors, struct glovebox_error *error)
{
    cleanup_kept struct kept kept = { 0 };
    struct gb_err err = { 0 };
    int r = kept_find(context->settings.state_dir, id, &kept, &err);

    if (r == 0)
        r = remove_one(context, &kept, ret_survivors, &err);
    return lib_told(r, &err, error);
}

/* ---- users ---------------------------------------------------------------------------------- */

/* 1: there is none. */
static int find_user(const struct glovebox_context *context, const char *user, struct kept *ret,
                     struct gb_err *err)
{
    int r = user_check(user, err);

    return r < 0 ? r : kept_find_user(context->settings.state_dir, user, ret, err);
}

/* -ENOENT: there is none. */
static int need_user(const struct glovebox_context *context, const char *user, struct kept *ret,
                     struct gb_err *err)
{
    int r = find_user(context, user, ret, err);

    return r > 0 ? gb_fail(err, -ENOENT, GB_BLAME_CALLER, "'%s' has no box", user) : r;
}

int glovebox_user_find(const struct glovebox_context *context, const char *user,
                       char ret_id[GLOVEBOX_ID_SIZE], struct glovebox_error *error)
{
    cleanup_kept struct kept kept = { 0 };
    struct gb_err err = { 0 };
    int r = need_user(context, user, &kept, &err);

    if (r == 0)
        (void)snprintf(ret_id, GLOVEBOX_ID_SIZE, "%s", kept.id);
    return lib_told(r, &err, error);
}

static int attach_user(const struct glovebox_context *context, const char *user,
                       const struct glovebox_box_options *options, struct glovebox_box *box,
                       struct gb_err *err)
{
    struct glovebox_box_options read;
    int r = lib_read_options(options, &read, err);

    if (r == 0)
        r = check(&read, err);
    if (r < 0)
        return r;
    r = -ENOENT;
    for (unsigned i = 0; kept_is_gone(r) && i < KEPT_TRIES; i++) {
        kept_clear(&box->kept);
        r = find_user(context, user, &box->kept, err);
        if (r > 0)
            r = make(context, user, &read, &box->kept, err);
        if (r < 0)
            return r;
        r = attach(context, box, err);
    }
    return r;
}

int glovebox_user_attach(const struct glovebox_context *context, const char *user,
                         const struct glovebox_box_options *options, struct glovebox_box **ret,
                         struct glovebox_error *error)
{
    struct glovebox_box *box = calloc(1, sizeof(*box));
    struct gb_err err = { 0 };
    int r = box ? attach_user(context, user, options, box, &err) : gb_no_memory(&err);

    return lib_told(hand_over(box, r, ret), &err, error);
}

int glovebox_user_remove(const struct glovebox_context *context, const char *user,
                         uint32_t *ret_survivors, struct glovebox_error *error)
{
    cleanup_kept struct kept kept = { 0 };
    struct gb_err err = { 0 };
    int r = need_user(context, user, &kept, &err);

    if (r == 0)
        r = remove_one(context, &kept, ret_survivors, &err);
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
    info.ports = kept->ports;
    memcpy(ret, &info, ret->size < sizeof(info) ? ret->size : sizeof(info));
    return 0;
}
