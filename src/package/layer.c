/* SPDX-License-Identifier: Apache-2.0 */
/* package/layer.c - packages for a box: found in the cache, or installed once and kept there. */
#include "package/layer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/sha256.h"
#include "box/box.h"
#include "box/native/toolchain.h"
#include "package/cache.h"
#include "package/diagnosis.h"
#include "package/index.h"
#include "package/install.h"
#include "package/layer_tree.h"
#include "package/uses.h"

#define BASIS_MAX (1u << 20)

/* Changes when layers are made in another way: those of before are found no more. */
#define FORMAT 2

/* Python of Debian looks for this file below /etc, also with -I and -E; packages come before those
 * of the machine and behind the standard library, as if they were installed. */
static const char site_text[] =
    "import site, sys\n"
    "before = list(sys.path)\n"
    "site.addsitedir('" INSTALL_PYTHON_DIR "', set(before))\n"
    "added = [path for path in sys.path if path not in before]\n"
    "at = next((i for i, path in enumerate(before) if path.endswith('-packages')), len(before))\n"
    "sys.path[:] = before[:at] + added + before[at:]\n";

#define SITE_NAME "sitecustomize.py"

/* For images, which have no file of ours in /etc: here pip looks, too.  Without a network it has
 * nothing to wait for: what is there satisfies it, other things fail at once. */
#define PIP_DIR "/etc/xdg/pip"
static const char pip_text[] = "[global]\nno-index = true\nbreak-system-packages = true\n"
                               "disable-pip-version-check = true\n";

/* ---- the key -------------------------------------------------------------------------------- */

static const struct {
    const char *program;
    const char *package;
} runtimes[] = {
    [PACKAGE_PYTHON] = { "python3", "python3 python3-pip" },
    [PACKAGE_NODE] = { "node", "nodejs npm" },
};

/* The interpreter that boxes have: its real path, and what tells one build of it from another. */
static int find_runtime(const struct layer_order *order, char ret[static PATH_MAX],
                        struct stat *ret_st, struct gb_err *err)
{
    enum package_kind kind = order->set->kind;
    cleanup_free char *path = toolchains_path(order->box->toolchains);
    char found[PATH_MAX];

    if (!path)
        return gb_no_memory(err);
    if (!box_path_has(path, runtimes[kind].program, found) || !realpath(found, ret) ||
        stat(ret, ret_st) < 0)
        return gb_fail(err, -ENOENT, GB_BLAME_CALLER,
                       "packages need %s, and boxes have none" GB_REMEDY
                       "apt install %s, or show one with --toolchain DIR",
                       runtimes[kind].program, runtimes[kind].package);
    return 0;
}

/* What boxes have for it: this machine's interpreter, or all that an image has.  *ret_runtime stays
 * "" for an image, whose installer is looked for in the box. */
static int write_runtime(const struct layer_order *order, char ret_runtime[static PATH_MAX],
                         char ret_image[static BOX_IMAGE_ID_SIZE], struct buf *ret,
                         struct gb_err *err)
{
    const struct box_ops *ops = box_backend(order->box->backend, err);
    struct stat st = { 0 };
    int r;

    ret_runtime[0] = '\0';
    if (!ops)
        return -EINVAL;
    if (ops->image_id) {
        r = ops->image_id(order->box, ret_image, err);
        if (r == 0)
            (void)buf_printf(ret, "image %s\n", ret_image);
        return r;
    }
    r = find_runtime(order, ret_runtime, &st, err);
    if (r == 0)
        (void)buf_printf(ret, "runtime %s %lld %lld.%09ld\n", ret_runtime, (long long)st.st_size,
                         (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
    return r;
}

/* All else that decides what an installer would make, and who asked. */
static int write_basis(const struct layer_order *order, struct buf *ret)
{
    struct utsname machine;

    if (uname(&machine) < 0)
        return -errno;
    (void)buf_printf(ret, "format %d\nowner %u\nkind %s\nmachine %s\n", FORMAT, geteuid(),
                     package_kind_name(order->set->kind), machine.machine);
    for (const char *const *tree = order->box->toolchains; tree && *tree; tree++)
        (void)buf_printf(ret, "toolchain %s\n", *tree);
    for (size_t i = 0; i < order->index->n_urls; i++)
        (void)buf_printf(ret, "index %s\n", order->index->urls[i].clean);
    (void)buf_printf(ret, "build %s\n", index_is_guarded(order->index) ? "no" : "yes");
    for (size_t i = 0; i < order->set->n; i++)
        (void)buf_printf(ret, "package %s %s\n", order->set->items[i].name,
                         order->set->items[i].text);
    return buf_error(ret);
}

/* ---- how it is found by programs ------------------------------------------------------------ */

/* "/etc/python3.11" where /usr/lib/python3.11/sitecustomize.py leads there. */
static bool find_site(const char *runtime, char ret[static 64])
{
    static const char usual[] = "/usr/bin/";
    const char *name = runtime + sizeof(usual) - 1;
    char path[PATH_MAX];
    char link[64];
    ssize_t n;

    if (strncmp(runtime, "/usr/bin/python3.", 17) != 0 || strlen(name) > 16 ||
        snprintf(path, sizeof(path), "/usr/lib/%s/" SITE_NAME, name) >= (int)sizeof(path))
        return false;
    n = readlink(path, link, sizeof(link) - 1);
    if (n < 0)
        return false;
    link[n] = '\0';
    (void)snprintf(ret, 64, "/etc/%s/" SITE_NAME, name);
    if (strcmp(ret, link) != 0)
        return false;
    *strrchr(ret, '/') = '\0';
    return true;
}

static int write_text(int dir_fd, const char *name, const char *text, size_t len,
                      struct gb_err *err)
{
    cleanup_close int fd =
        openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    int r;

    if (fd < 0 || fchmod(fd, 0644) < 0)
        return gb_fail_sys(err, "a new layer");
    r = fd_write_full(fd, text, len);
    return r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "a new layer: %s", strerror(-r)) : 0;
}

static int write_etc(int stage_fd, struct gb_err *err)
{
    cleanup_close int dir = -1;
    int r;

    if (mkdirat(stage_fd, "etc", 0755) < 0)
        return gb_fail_sys(err, "a new layer");
    dir = openat(stage_fd, "etc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0 || fchmod(dir, 0755) < 0)
        return gb_fail_sys(err, "a new layer");
    r = write_text(dir, SITE_NAME, site_text, sizeof(site_text) - 1, err);
    return r < 0 ? r : write_text(dir, "pip.conf", pip_text, sizeof(pip_text) - 1, err);
}

/* Where boxes are shown what the interpreter needs besides; false: nowhere. */
static bool find_etc(const struct layer_order *order, const char *runtime, struct layer *layer)
{
    const struct box_spec *box = order->box;
    bool is_image = !runtime[0];

    if (layer->manifest.kind != PACKAGE_PYTHON)
        return false;
    if (!is_image)
        return find_site(runtime, layer->etc_target);
    (void)snprintf(layer->etc_target, sizeof(layer->etc_target), PIP_DIR);
    return !box->net && !box->has_network;
}

static int show(const struct layer_order *order, const struct cache *cache, const char *runtime,
                struct layer *layer, struct gb_err *err)
{
    const char *key = layer->manifest.key;
    bool is_node = layer->manifest.kind == PACKAGE_NODE;
    bool has_etc = find_etc(order, runtime, layer);

    layer->tree = cache_path(cache, key, "tree");
    layer->modules = is_node ? cache_path(cache, key, "tree/node_modules") : NULL;
    layer->etc = has_etc ? cache_path(cache, key, "etc") : NULL;
    if (!layer->tree || (has_etc && !layer->etc) || (is_node && !layer->modules))
        return gb_no_memory(err);
    layer->is_told = !is_node && (!has_etc || !runtime[0]);
    return 0;
}

size_t layer_binds(const struct layer *layer, struct box_layer *binds, size_t n)
{
    bool is_node = layer->manifest.kind == PACKAGE_NODE;

    binds[n++] = (struct box_layer){
        .source = layer->tree,
        .target = install_dir(layer->manifest.kind),
        .bin = is_node ? INSTALL_NODE_DIR "/bin" : INSTALL_PYTHON_DIR "/bin",
        .python = layer->is_told ? INSTALL_PYTHON_DIR : NULL,
    };
    /* Above every working directory: there `import` looks too, which no variable can tell. */
    if (layer->modules)
        binds[n++] = (struct box_layer){ .source = layer->modules, .target = "/node_modules" };
    if (layer->etc)
        binds[n++] = (struct box_layer){ .source = layer->etc, .target = layer->etc_target };
    return n;
}

/* ---- making --------------------------------------------------------------------------------- */

static int fill(const struct layer_order *order, const struct cache *cache, int stage_fd,
                struct layer *layer, struct gb_err *err)
{
    cleanup_close int tree_fd = openat(stage_fd, "tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cleanup_free char *path = NULL;
    struct install_end end = { 0 };
    struct install_spec spec = {
        .box = order->box,
        .limits = order->limits,
        .set = order->set,
        .index = order->index,
        .hosts = order->hosts,
        .denied = order->denied,
        .tree_fd = tree_fd,
        .cancel_fd = order->cancel_fd,
        .line = order->line,
        .user = order->user,
    };
    int r = tree_fd < 0 ? gb_fail_sys(err, "a new layer") : 0;

    if (r == 0)
        r = install_run(&spec, &layer->manifest, &end, err);
    layer->why = end.why;
    layer->log = end.log;
    if (r < 0)
        return r;
    if (asprintf(&path, "%s/new/%s/tree", cache->path, layer->manifest.key) < 0)
        return gb_no_memory(err);
    return layer_tree_seal(path, &layer->manifest.files, &layer->manifest.bytes, err);
}

static int make(const struct layer_order *order, const struct cache *cache, struct layer *layer,
                struct gb_err *err)
{
    uint64_t begun_ns = clock_now_ns();
    cleanup_close int stage_fd = cache_stage(cache, layer->manifest.key, err);
    int r = stage_fd;

    if (r < 0)
        return r;
    if (order->begin)
        order->begin(order->user);
    r = order->set->kind == PACKAGE_PYTHON ? write_etc(stage_fd, err) : 0;
    if (r == 0)
        r = fill(order, cache, stage_fd, layer, err);
    layer->install_ms = (clock_now_ns() - begun_ns) / 1000000;
    layer->manifest.install_ms = layer->install_ms;
    layer->manifest.created_s = (uint64_t)time(NULL);
    if (r == 0)
        r = cache_commit(cache, &layer->manifest, err);
    if (r == 0)
        cache_trim(cache, order->cache_max, layer->manifest.key);
    else
        cache_abort(cache, layer->manifest.key);
    if ((r == -ENOSPC || r == -EDQUOT) && !layer->why)
        layer->why = diagnosis_named("disk_full");
    return r;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static int find(const struct cache *cache, const char *key, const struct buf *basis,
                struct layer *layer, struct gb_err *err)
{
    struct manifest found = { 0 };
    int r = cache_find(cache, key, &found, err);

    if (r < 0)
        return r;
    if (strcmp(found.basis, basis->data) != 0) {
        manifest_clear(&found);
        return gb_fail(err, -EBADMSG, GB_BLAME_HOST,
                       "the layer of packages %.12s was made for others" GB_REMEDY
                       "glovebox cache rm %.12s",
                       key, key);
    }
    manifest_clear(&layer->manifest);
    layer->manifest = found;
    return 0;
}

/* Whoever has to wait for another's installation is told so, once for each lock. */
static int lock(const struct layer_order *order, const struct cache *cache, const char *key,
                enum cache_lock how, struct gb_err *err)
{
    int fd = cache_lock(cache, key, how, false, -1, NULL);

    if (fd >= 0)
        return fd;
    if (fd == -EBUSY && order->wait)
        order->wait(order->user);
    return cache_lock(cache, key, how, true, order->cancel_fd, err);
}

/* Alone with the key; perhaps another was quicker. */
static int make_alone(const struct layer_order *order, const struct cache *cache, const char *key,
                      const struct buf *basis, struct layer *layer, struct gb_err *err)
{
    int r;

    drop_fd(&layer->lock_fd);
    layer->lock_fd = lock(order, cache, key, CACHE_ALONE, err);
    if (layer->lock_fd < 0)
        return layer->lock_fd;
    r = find(cache, key, basis, layer, err);
    if (r != -ENOENT)
        return r;
    manifest_clear(&layer->manifest);
    (void)snprintf(layer->manifest.key, sizeof(layer->manifest.key), "%s", key);
    layer->manifest.kind = order->set->kind;
    layer->manifest.basis = strdup(basis->data);
    layer->is_cached = false;
    return layer->manifest.basis ? make(order, cache, layer, err) : gb_no_memory(err);
}

static int use(const struct layer_order *order, const struct cache *cache, const char *key,
               const struct buf *basis, struct layer *layer, struct gb_err *err)
{
    layer->is_cached = true;
    for (;;) {
        int r;

        drop_fd(&layer->lock_fd);
        layer->lock_fd = lock(order, cache, key, CACHE_SHARED, err);
        if (layer->lock_fd < 0)
            return layer->lock_fd;
        r = find(cache, key, basis, layer, err);
        if (r != -ENOENT)
            return r;
        r = make_alone(order, cache, key, basis, layer, err);
        if (r < 0)
            return r;
        /* From alone to shared: whoever got in between may have removed it. */
    }
}

/* A name may stand for another image a moment later: what the key was made of is installed in, and
 * is what boxes are made of. */
int layer_open(const struct layer_order *asked, struct layer *ret, struct gb_err *err)
{
    struct layer_order pinned = *asked;
    const struct layer_order *order = &pinned;
    struct box_spec box = *asked->box;
    struct cache cache = CACHE_INIT;
    cleanup_buf struct buf basis = BUF_INIT(BASIS_MAX);
    char runtime[PATH_MAX];
    char key[SHA256_HEX_SIZE];
    int r = write_runtime(order, runtime, ret->image, &basis, err);

    pinned.box = &box;
    if (ret->image[0])
        box.image_id = ret->image;
    if (r == 0 && write_basis(order, &basis) < 0)
        r = gb_no_memory(err);
    if (r < 0)
        return r;
    sha256_hex(basis.data, basis.len, key);
    r = cache_open(order->cache_dir, &cache, err);
    if (r == 0)
        r = use(order, &cache, key, &basis, ret, err);
    if (r == 0)
        r = show(order, &cache, runtime, ret, err);
    cache_close(&cache);
    return r;
}

int layer_give(const struct layer *layer, const char *cache_dir, const char *box,
               const char *state_dir, struct gb_err *err)
{
    struct cache cache = CACHE_INIT;
    int r = cache_open(cache_dir, &cache, err);

    if (r == 0)
        r = uses_add(cache.uses_fd, layer->manifest.key, box, state_dir, err);
    cache_close(&cache);
    return r;
}

void layer_close(struct layer *layer)
{
    drop_fd(&layer->lock_fd);
    manifest_clear(&layer->manifest);
    free(layer->log);
    free(layer->tree);
    free(layer->modules);
    free(layer->etc);
    *layer = (struct layer)LAYER_INIT;
}
