/* SPDX-License-Identifier: Apache-2.0 */
/* cli/packages.c - layers of packages for a box, and what is told while they are installed. */
#include "run/packages.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "cli/live.h"
#include "cli/package_args.h"
#include "cli/term_filter.h"
#include "conf/indexes.h"
#include "conf/settings.h"
#include "package/diagnosis.h"

#define NAMES_MAX   400
#define LOG_LINES   12
#define LOG_MAX     (256u << 10)
#define DRAW_EVERY  100000000u /* ns */
#define NS_PER_TICK 1000000000u

/* On a terminal two lines that are drawn over and over; elsewhere one line. */
struct telling {
    const struct package_set *set;
    bool is_quiet;
    bool is_tty;
    struct live live;
    uint64_t begun_ns;
    uint64_t drawn_ns;
};

/* ---- progress ------------------------------------------------------------------------------- */

static void put_names(const struct package_set *set, struct buf *ret)
{
    for (size_t i = 0; i < set->n; i++) {
        if (ret->len + strlen(set->items[i].name) > NAMES_MAX) {
            (void)buf_puts(ret, ", …");
            return;
        }
        (void)buf_printf(ret, "%s%s", i ? ", " : "", set->items[i].name);
    }
}

static void draw(struct telling *t, const char *line)
{
    cleanup_buf struct buf text = BUF_INIT(LOG_MAX);
    uint64_t now = clock_now_ns();

    if (t->drawn_ns && now - t->drawn_ns < DRAW_EVERY)
        return;
    t->drawn_ns = now;
    (void)buf_puts(&text, "installing ");
    put_names(t->set, &text);
    (void)buf_printf(&text, " … %llu s", (unsigned long long)((now - t->begun_ns) / NS_PER_TICK));
    if (*line) {
        (void)buf_puts(&text, "\n  ");
        (void)term_filter_line(line, strlen(line), &text);
    }
    if (buf_error(&text) == 0)
        live_draw(&t->live, &text);
}

static void on_begin(void *user)
{
    struct telling *t = user;
    cleanup_buf struct buf text = BUF_INIT(LOG_MAX);

    t->begun_ns = clock_now_ns();
    if (t->is_quiet)
        return;
    if (t->is_tty) {
        draw(t, "");
        return;
    }
    (void)buf_puts(&text, "glovebox: installing ");
    put_names(t->set, &text);
    (void)buf_putc(&text, '\n');
    if (buf_error(&text) == 0)
        (void)fd_write_full(STDERR_FILENO, text.data, text.len);
}

static void on_line(void *user, const char *line)
{
    struct telling *t = user;

    if (!t->is_quiet && t->is_tty)
        draw(t, line);
}

void packages_print_log(const struct run_packages *told)
{
    cleanup_buf struct buf shown = BUF_INIT(LOG_MAX);
    struct term_filter filter = { 0 };
    const char *at = told && told->log ? told->log + strlen(told->log) : NULL;
    size_t lines = 0;

    while (at && at > told->log && lines <= LOG_LINES)
        lines += *--at == '\n';
    if (!at)
        return;
    at += *at == '\n' && lines > LOG_LINES;
    (void)term_filter_add(&filter, at, strlen(at), &shown);
    (void)term_filter_end(&filter, &shown);
    if (buf_error(&shown) == 0 && shown.len)
        (void)fd_write_full(STDERR_FILENO, shown.data, shown.len);
}

/* ---- layers --------------------------------------------------------------------------------- */

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
    for (size_t i = 0; i < packages->n_env; i++)
        free(packages->env[i]);
    packages->n_env = 0;
}

/* A variable of a layer's stands behind what the run has anyway. */
static int add_env(struct packages *packages, const struct layer *layer, const char *workdir,
                   struct gb_err *err)
{
    const char *value = strchr(layer->env, '=');
    char *text = NULL;

    if (!value)
        return 0;
    if (asprintf(&text, "%.*s=%s:%s", (int)(value - layer->env), layer->env, workdir, value + 1) <
        0)
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory");
    packages->env[packages->n_env++] = text;
    return 0;
}

static int tell(const struct layer *layer, struct run_packages *told, struct gb_err *err)
{
    const struct manifest *manifest = &layer->manifest;

    told->is_cached &= layer->is_cached;
    told->install_ms += layer->install_ms;
    for (size_t i = 0; i < manifest->n_done; i++)
        if (run_packages_add(told, package_kind_name(manifest->kind), manifest->done[i].name,
                             manifest->done[i].version, manifest->done[i].hash) < 0)
            return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory");
    return 0;
}

static int open_layer(const struct packages_order *order, const struct package_set *set,
                      struct layer *layer, struct run_packages *told, struct gb_err *err)
{
    struct telling telling = { .set = set,
                               .is_quiet = order->is_quiet,
                               .is_tty = isatty(STDERR_FILENO),
                               .live = { .fd = STDERR_FILENO } };
    struct package_index index = { 0 };
    struct layer_order wanted = {
        .cache_dir = order->settings->cache_dir,
        .box = order->box,
        .limits = order->settings->installing,
        .set = set,
        .index = &index,
        .hosts = order->settings->package_hosts,
        .cancel_fd = order->cancel_fd,
        .begin = on_begin,
        .line = on_line,
        .user = &telling,
    };
    int r = indexes_load(set->kind, environ, &index, err);

    if (r == 0)
        r = layer_open(&wanted, layer, err);
    live_erase(&telling.live);
    index_clear(&index);
    if (r < 0) {
        told->is_cached = false;
        told->failure = layer->why ? layer->why->name : NULL;
        told->log = take_ptr(layer->log);
    }
    return r;
}

static int check(const struct packages_order *order, struct gb_err *err)
{
    if (order->settings->backend != BACKEND_NATIVE)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "packages are for native boxes" GB_REMEDY
                       "use --backend native, or an image that has them");
    if (!order->settings->cache_dir)
        return gb_fail(err, -ENOENT, GB_BLAME_HOST,
                       "no place for packages: HOME is not set" GB_REMEDY
                       "set HOME or GLOVEBOX_CACHE_DIR");
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
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory");
    r = check(order, err);
    if (r < 0)
        return r;
    told->is_cached = true;
    for (enum package_kind kind = 0; r == 0 && kind < N_PACKAGE_KINDS; kind++) {
        const struct package_set *set = &order->wishes->sets[kind];

        if (set->n == 0)
            continue;
        r = open_layer(order, set, &ret->layers[kind], told, err);
        if (r == 0)
            r = tell(&ret->layers[kind], told, err);
        if (r == 0)
            r = add_env(ret, &ret->layers[kind], order->workdir, err);
        if (r == 0)
            n = layer_binds(&ret->layers[kind], ret->binds, n);
    }
    return r;
}

int packages_give(const struct packages *packages, const struct settings *settings, const char *box,
                  struct gb_err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < N_PACKAGE_KINDS; i++)
        if (packages->layers[i].lock_fd >= 0)
            r = layer_give(&packages->layers[i], settings->cache_dir, box, settings->state_dir,
                           err);
    return r;
}
