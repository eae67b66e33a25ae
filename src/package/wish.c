/* SPDX-License-Identifier: Apache-2.0 */
/* package/wish.c - packages that somebody wants for a box, of every kind. */
#include "package/wish.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "package/imports.h"
#include "run/language.h"

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

int package_wishes_add(struct package_wishes *wishes, const char *text, struct gb_err *err)
{
    static const char mark[] = "npm:";
    bool is_marked = strncmp(text, mark, strlen(mark)) == 0;
    enum package_kind kind = is_marked || strchr(text, '@') ? PACKAGE_NODE : PACKAGE_PYTHON;

    text += is_marked ? strlen(mark) : 0;
    return package_set_add(&wishes->sets[kind], text, strlen(text), err);
}

int package_kind_of(const struct language *language, enum package_kind *ret)
{
    static const struct {
        const char *language;
        enum package_kind kind;
    } rows[] = { { "python", PACKAGE_PYTHON },
                 { "javascript", PACKAGE_NODE },
                 { "typescript", PACKAGE_NODE } };

    for (size_t i = 0; language && i < N_ELEMENTS(rows); i++)
        if (strcmp(language->name, rows[i].language) == 0) {
            *ret = rows[i].kind;
            return 0;
        }
    return -ENOENT;
}

/* ---- what a program asks for ---------------------------------------------------------------- */

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

int package_wishes_add_code(struct package_wishes *wishes, const struct package_code *code,
                            struct gb_err *err)
{
    enum package_kind kind;
    int r = package_kind_of(code->language, &kind);

    if (r < 0)
        return 0;
    r = imports_find(kind, code->text, code->len, machine_has, add_found, &wishes->sets[kind]);
    return r < 0 ? gb_fail(err, r, GB_BLAME_CALLER, "packages that the program imports: %s",
                           strerror(-r))
                 : 0;
}
