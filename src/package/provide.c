/* SPDX-License-Identifier: Apache-2.0 */
/* package/provide.c - packages for one box: wishes in, layers out. */
#include "package/provide.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "package/diagnosis.h"
#include "run/packages.h"

void package_host_clear(struct package_host *host)
{
    for (size_t i = 0; i < N_PACKAGE_KINDS; i++)
        index_clear(&host->indexes[i]);
}

void packages_init(struct packages *packages)
{
    *packages = (struct packages){ 0 };
    for (size_t i = 0; i < N_PACKAGE_KINDS; i++)
        packages->layers[i] = (struct layer)LAYER_INIT;
}

void packages_close(struct packages *packages)
{
    for (size_t i = 0; i < N_PACKAGE_KINDS; i++)
        layer_close(&packages->layers[i]);
}

static int tell(const struct layer *layer, struct run_packages *told, struct gb_err *err)
{
    const struct manifest *manifest = &layer->manifest;

    told->is_cached &= layer->is_cached;
    told->install_ms += layer->install_ms;
    for (size_t i = 0; i < manifest->n_done; i++)
        if (run_packages_add(told, package_kind_name(manifest->kind), manifest->done[i].name,
                             manifest->done[i].version, manifest->done[i].hash) < 0)
            return gb_no_memory(err);
    return 0;
}

/* One set on its way into a layer, for whoever watches. */
struct showing {
    const struct packages_watch *watch; /* may be NULL */
    const struct package_set *set;
    bool has_waited;
    bool has_begun;
};

/* Told once, however many locks there are on the way. */
static void on_wait(void *user)
{
    struct showing *showing = user;

    if (!showing->has_waited && showing->watch && showing->watch->wait)
        showing->watch->wait(showing->watch->user, showing->set);
    showing->has_waited = true;
}

static void on_begin(void *user)
{
    struct showing *showing = user;

    showing->has_begun = true;
    if (showing->watch && showing->watch->begin)
        showing->watch->begin(showing->watch->user, showing->set);
}

static void on_line(void *user, const char *line)
{
    const struct showing *showing = user;

    if (showing->watch && showing->watch->line)
        showing->watch->line(showing->watch->user, line);
}

static int open_layer(const struct packages_order *order, const struct package_set *set,
                      struct packages *ret, struct run_packages *told, struct gb_err *err)
{
    const struct package_host *host = order->host;
    struct layer *layer = &ret->layers[set->kind];
    struct box_spec box = *order->box;
    struct showing showing = { .watch = order->watch, .set = set };
    const struct layer_order wanted = {
        .cache_dir = host->cache_dir,
        .cache_max = host->cache_max,
        .box = &box,
        .limits = host->limits,
        .set = set,
        .index = &host->indexes[set->kind],
        .hosts = host->hosts,
        .denied = host->denied,
        .cancel_fd = order->cancel_fd,
        .wait = on_wait,
        .begin = on_begin,
        .line = on_line,
        .user = &showing,
    };
    int r;

    if (ret->image_id)
        box.image_id = ret->image_id; /* all of one image */
    r = layer_open(&wanted, layer, err);
    if (r == 0 && layer->image[0])
        ret->image_id = layer->image;
    if ((showing.has_begun || showing.has_waited) && order->watch && order->watch->end)
        order->watch->end(order->watch->user);
    if (r < 0) {
        told->is_cached = false;
        told->failure = layer->why ? layer->why->name : NULL;
        told->log = take_ptr(layer->log);
    }
    return r;
}

/* Everything that needs no look at the cache. */
static int check(const struct packages_order *order, struct gb_err *err)
{
    const struct box_ops *ops = box_backend(order->box->backend, err);

    if (!ops)
        return -EINVAL;
    if (!ops->has_layers)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "boxes of backend '%s' cannot have packages" GB_REMEDY
                       "use --backend native or docker",
                       ops->name);
    if (!order->host->cache_dir)
        return gb_fail(err, -ENOENT, GB_BLAME_HOST,
                       "no place for packages: HOME is not set" GB_REMEDY
                       "set HOME or GLOVEBOX_CACHE_DIR");
    for (enum package_kind kind = 0; kind < N_PACKAGE_KINDS; kind++) {
        if (!order->wishes->sets[kind].n)
            continue;
        if (order->host->unread[kind].code) {
            if (err)
                *err = order->host->unread[kind];
            return order->host->unread[kind].code;
        }
        /* An image's installer is the image's: it could keep or tell what it is given. */
        if (!ops->shows_host && order->host->indexes[kind].has_credentials)
            return gb_fail(
                err, -EACCES, GB_BLAME_CALLER,
                "the index of packages has credentials, which no image is given" GB_REMEDY
                "use --backend native, or build an image that has the packages");
    }
    return 0;
}

int packages_open(const struct packages_order *order, struct packages *ret,
                  struct run_packages **ret_told, struct gb_err *err)
{
    struct run_packages *told = calloc(1, sizeof(*told));
    size_t n = 0;
    int r;

    *ret_told = told;
    if (!told)
        return gb_no_memory(err);
    r = check(order, err);
    if (r < 0)
        return r;
    told->is_cached = true;
    for (enum package_kind kind = 0; r == 0 && kind < N_PACKAGE_KINDS; kind++) {
        const struct package_set *set = &order->wishes->sets[kind];

        if (set->n == 0)
            continue;
        r = open_layer(order, set, ret, told, err);
        if (r == 0)
            r = tell(&ret->layers[kind], told, err);
        if (r == 0)
            n = layer_binds(&ret->layers[kind], ret->binds, n);
    }
    return r;
}

int packages_give(const struct packages *packages, const struct package_host *host, const char *box,
                  const char *state_dir, struct gb_err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < N_PACKAGE_KINDS; i++)
        if (packages->layers[i].lock_fd >= 0)
            r = layer_give(&packages->layers[i], host->cache_dir, box, state_dir, err);
    return r;
}
