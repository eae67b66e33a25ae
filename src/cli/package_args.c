/* SPDX-License-Identifier: Apache-2.0 */
/* cli/package_args.c - packages on a command line: names and files, before anything is started. */
#include "cli/package_args.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "package/wish.h"

void package_args_free(struct package_args *args)
{
    free(args->packages.items);
    free(args->requirements.items);
    free(args->npm.items);
    free(args->package_json.items);
}

static int take_names(const struct text_list *list, const char *option, struct package_set *set,
                      struct gb_err *err)
{
    for (size_t i = 0; i < list->n; i++) {
        int r = package_set_add(set, list->items[i], strlen(list->items[i]), err);

        if (r < 0)
            return gb_wrap(err, r, "--%s", option);
    }
    return 0;
}

static int take_files(const struct text_list *list, const char *option, struct package_set *set,
                      struct gb_err *err)
{
    for (size_t i = 0; i < list->n; i++) {
        cleanup_buf struct buf text = BUF_INIT(PACKAGES_FILE_MAX);
        const char *path = list->items[i];
        cleanup_close int fd = file_open(AT_FDCWD, path);
        int r = fd < 0 ? -errno : file_read(fd, &text);

        if (r < 0)
            r = gb_fail(err, r, GB_BLAME_CALLER, "'%.200s': %s", path,
                        r == -EFBIG ? "longer than 1 MiB" : file_trouble(r));
        else
            r = package_set_read(set, path, text.data ? text.data : "", text.len, err);
        if (r < 0)
            return gb_wrap(err, r, "--%s", option);
    }
    return 0;
}

int package_args_take(const struct package_args *args, struct package_wishes *ret,
                      struct gb_err *err)
{
    struct package_set *python = &ret->sets[PACKAGE_PYTHON];
    struct package_set *node = &ret->sets[PACKAGE_NODE];
    int r = take_names(&args->packages, "package", python, err);

    if (r == 0)
        r = take_files(&args->requirements, "requirements", python, err);
    if (r == 0)
        r = take_names(&args->npm, "npm", node, err);
    return r < 0 ? r : take_files(&args->package_json, "package-json", node, err);
}
