/* SPDX-License-Identifier: Apache-2.0 */
/* cli/package_args.c - packages on a command line: names and files, before anything is started. */
#include "cli/package_args.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "package/imports.h"
#include "run/language.h"

void package_args_free(struct package_args *args)
{
    free(args->packages.items);
    free(args->requirements.items);
    free(args->npm.items);
    free(args->package_json.items);
}

void package_wishes_init(struct package_wishes *wishes)
{
    for (enum package_kind kind = 0; kind < N_PACKAGE_KINDS; kind++)
        wishes->sets[kind] = (struct package_set){ .kind = kind };
}

void package_wishes_clear(struct package_wishes *wishes)
{
    for (enum package_kind kind = 0; kind < N_PACKAGE_KINDS; kind++)
        package_set_clear(&wishes->sets[kind]);
}

bool package_wishes_are_empty(const struct package_wishes *wishes)
{
    for (enum package_kind kind = 0; kind < N_PACKAGE_KINDS; kind++)
        if (wishes->sets[kind].n)
            return false;
    return true;
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
        cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        int r = fd < 0 ? -errno : file_read(fd, &text);

        if (r < 0)
            r = gb_fail(err, r, GB_BLAME_CALLER, "'%.200s': %s", path,
                        r == -EFBIG ? "longer than 1 MiB" : strerror(-r));
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

/* Is it wanted already, perhaps with a version? */
static bool has(const struct package_set *set, const char *name)
{
    for (size_t i = 0; i < set->n; i++)
        if (strcmp(set->items[i].name, name) == 0)
            return true;
    return false;
}

static int add_found(void *user, const char *text, size_t len)
{
    struct package_set *set = user;
    struct package_set one = { .kind = set->kind };
    int r = 0;

    /* What is no name of a package was none of the code's imports. */
    if (package_set_add(&one, text, len, NULL) == 0 && !has(set, one.items[0].name))
        r = package_set_add(set, text, len, NULL);
    package_set_clear(&one);
    return r;
}

/* Boxes see what Debian's packages and those of the administrator brought. */
static bool machine_has(const char *module)
{
    static const char *const places[] = { "/usr/lib/python3", "/usr/local/lib/python3*" };
    static const char *const endings[] = { "", ".py", ".*.so" };
    bool has = false;

    for (size_t i = 0; !has && i < N_ELEMENTS(places) * N_ELEMENTS(endings); i++) {
        char pattern[512];
        glob_t found = { 0 };

        (void)snprintf(pattern, sizeof(pattern), "%s/dist-packages/%s%s", places[i % 2], module,
                       endings[i / 2]);
        has = glob(pattern, GLOB_NOSORT, NULL, &found) == 0;
        globfree(&found);
    }
    return has;
}

int package_wishes_add_code(struct package_wishes *wishes, const struct language *language,
                            const char *code, size_t len, struct gb_err *err)
{
    static const struct {
        const char *language;
        enum package_kind kind;
    } rows[] = { { "python", PACKAGE_PYTHON },
                 { "javascript", PACKAGE_NODE },
                 { "typescript", PACKAGE_NODE } };
    int r = 0;

    for (size_t i = 0; language && r == 0 && i < N_ELEMENTS(rows); i++)
        if (strcmp(language->name, rows[i].language) == 0)
            r = imports_find(rows[i].kind, code, len, machine_has, add_found,
                             &wishes->sets[rows[i].kind]);
    return r < 0 ? gb_fail(err, r, GB_BLAME_CALLER, "--auto-packages: %s", strerror(-r)) : 0;
}
