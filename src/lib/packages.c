/* SPDX-License-Identifier: Apache-2.0 */
/* lib/packages.c - packages for boxes of the library's caller. */
#include "run/packages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "lib/inside.h"

#define NAMES_MAX ((size_t)PACKAGES_MAX * 256)

/* ---- what is wanted ------------------------------------------------------------------------- */

int glovebox_packages_new(struct glovebox_packages **ret, struct glovebox_error *error)
{
    struct glovebox_packages *packages = calloc(1, sizeof(*packages));
    struct gb_err err = { 0 };

    if (!packages)
        return lib_told(gb_no_memory(&err), &err, error);
    package_wishes_init(&packages->wishes);
    *ret = packages;
    return lib_told(0, &err, error);
}

void glovebox_packages_free(struct glovebox_packages *packages)
{
    if (!packages)
        return;
    package_wishes_clear(&packages->wishes);
    free(packages);
}

static const enum package_kind kinds[] = {
    [GLOVEBOX_PACKAGE_PYTHON] = PACKAGE_PYTHON,
    [GLOVEBOX_PACKAGE_NODE] = PACKAGE_NODE,
};

static struct package_set *set_of(struct glovebox_packages *packages,
                                  enum glovebox_package_kind kind, struct gb_err *err)
{
    if ((size_t)kind < N_ELEMENTS(kinds))
        return &packages->wishes.sets[kinds[kind]];
    (void)gb_fail(err, -EINVAL, GB_BLAME_CALLER, "there are no packages of the kind %d", (int)kind);
    return NULL;
}

int glovebox_packages_add(struct glovebox_packages *packages, enum glovebox_package_kind kind,
                          const char *name, struct glovebox_error *error)
{
    struct gb_err err = { 0 };
    struct package_set *set = set_of(packages, kind, &err);

    return lib_told(set ? package_set_add(set, name, strlen(name), &err) : -EINVAL, &err, error);
}

static int add_file(struct package_set *set, const char *path, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(PACKAGES_FILE_MAX);
    uint64_t size;
    unsigned mode;
    cleanup_close int fd = lib_open_file(path, &size, &mode, err);
    int r = fd < 0 ? fd : file_read(fd, &text);

    if (fd < 0)
        return r;
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_CALLER, "%.200s: %s", path,
                       r == -EFBIG ? "longer than 1 MiB" : strerror(-r));
    return package_set_read(set, path, text.data ? text.data : "", text.len, err);
}

int glovebox_packages_add_file(struct glovebox_packages *packages, enum glovebox_package_kind kind,
                               const char *host_path, struct glovebox_error *error)
{
    struct gb_err err = { 0 };
    struct package_set *set = set_of(packages, kind, &err);

    return lib_told(set ? add_file(set, host_path, &err) : -EINVAL, &err, error);
}

void glovebox_packages_watch(struct glovebox_packages *packages, glovebox_install_fn *watch,
                             void *user)
{
    packages->watch = watch;
    packages->user = user;
}

int lib_packages_copy(struct glovebox_packages *to, const struct glovebox_packages *from,
                      struct gb_err *err)
{
    struct package_wishes copy;
    int r;

    package_wishes_init(&copy);
    r = from ? package_wishes_add_others(&copy, &from->wishes, err) : 0;
    if (r < 0) {
        package_wishes_clear(&copy);
        return r;
    }
    package_wishes_clear(&to->wishes);
    *to = (struct glovebox_packages){
        .wishes = copy,
        .watch = from ? from->watch : NULL,
        .user = from ? from->user : NULL,
    };
    return 0;
}

/* ---- an installation, told ------------------------------------------------------------------ */

static void tell_names(const struct glovebox_packages *packages, enum glovebox_install_event event,
                       const struct package_set *set)
{
    cleanup_buf struct buf names = BUF_INIT(NAMES_MAX);

    package_set_put_names(set, &names);
    packages->watch(packages->user, event, names.data ? names.data : "");
}

static void on_wait(void *user, const struct package_set *set)
{
    tell_names(user, GLOVEBOX_INSTALL_WAITING, set);
}

static void on_begin(void *user, const struct package_set *set)
{
    tell_names(user, GLOVEBOX_INSTALL_BEGIN, set);
}

static void on_line(void *user, const char *line)
{
    const struct glovebox_packages *packages = user;

    packages->watch(packages->user, GLOVEBOX_INSTALL_LINE, line);
}

static void on_end(void *user)
{
    const struct glovebox_packages *packages = user;

    packages->watch(packages->user, GLOVEBOX_INSTALL_END, "");
}

int lib_packages_open(const struct glovebox_context *context,
                      const struct glovebox_packages *packages, bool has_network, int cancel_fd,
                      struct box_packages *ret, struct run_packages **ret_told, struct gb_err *err)
{
    struct glovebox_packages watched = *packages;
    const struct packages_watch watch = { on_wait, on_begin, on_line, on_end, &watched };
    const struct box_packages_order order = {
        .wishes = &packages->wishes,
        .has_network = has_network,
        .cancel_fd = cancel_fd,
        .watch = packages->watch ? &watch : NULL,
    };

    return box_packages_open(&context->settings, lib_env(context), &order, ret, ret_told, err);
}
