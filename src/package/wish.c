/* SPDX-License-Identifier: Apache-2.0 */
/* package/wish.c - packages that somebody wants for a box, of every kind. */
#include "package/wish.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "box/box.h"
#include "box/native/toolchain.h"
#include "json/value.h"
#include "json/writer.h"
#include "package/imports.h"
#include "run/language.h"

#define SET_TEXT_MAX ((size_t)PACKAGES_FILE_MAX * 2)

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

int package_wishes_add_others(struct package_wishes *wishes, const struct package_wishes *others,
                              struct gb_err *err)
{
    int r = 0;

    for (enum package_kind kind = 0; r == 0 && kind < N_PACKAGE_KINDS; kind++)
        r = package_set_add_others(&wishes->sets[kind], &others->sets[kind], err);
    return r;
}

int package_wishes_text(const struct package_wishes *wishes, struct buf *ret)
{
    for (enum package_kind kind = 0; kind < N_PACKAGE_KINDS; kind++)
        if (wishes->sets[kind].n > 0) {
            (void)buf_printf(ret, "%s:\n", package_kind_name(kind));
            (void)package_set_write(&wishes->sets[kind], ret);
        }
    return buf_error(ret);
}

int package_wishes_put(const struct package_wishes *wishes, struct json_writer *w)
{
    int r = 0;

    for (enum package_kind kind = 0; r == 0 && kind < N_PACKAGE_KINDS; kind++) {
        cleanup_buf struct buf text = BUF_INIT(SET_TEXT_MAX);

        if (wishes->sets[kind].n == 0)
            continue;
        r = package_set_write(&wishes->sets[kind], &text);
        if (r == 0)
            json_put_str(w, package_kind_name(kind), text.data);
    }
    return r;
}

int package_wishes_get(const struct json_value *object, struct package_wishes *ret,
                       struct gb_err *err)
{
    int r = 0;

    for (enum package_kind kind = 0; r == 0 && kind < N_PACKAGE_KINDS; kind++) {
        const char *text = json_str(json_get(object, package_kind_name(kind)), NULL);

        if (text)
            r = package_set_read(&ret->sets[kind], "packages", text, strlen(text), err);
    }
    if (r < 0)
        package_wishes_clear(ret);
    return r;
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

/* What is known while a program is read. */
struct seeking {
    const struct package_code *code;
    struct package_set *set;
    char python[PATH_MAX]; /* where the packages of boxes' Python are, as patterns; "": Debian's */
    struct gb_err why;     /* what one could not be added for */
};

static int add_found(void *user, const char *text, size_t len)
{
    struct seeking *seeking = user;
    struct package_set *set = seeking->set;
    struct package_set one = { .kind = set->kind };
    int r = 0;

    /* What is no name of a package was none of the code's imports. */
    if (package_set_add(&one, text, len, NULL) == 0 && !has(set, one.items[0].name))
        r = package_set_add(set, text, len, &seeking->why);
    package_set_clear(&one);
    return r;
}

/* Is there such a file?  The place may have patterns, the module has none. */
static bool has_module(const char *place, const char *module)
{
    static const char *const endings[] = { "", ".py", ".so", ".*.so", ".pyc" };
    bool is_there = false;

    for (size_t i = 0; !is_there && i < N_ELEMENTS(endings); i++) {
        char pattern[PATH_MAX];
        glob_t found = { 0 };

        if (snprintf(pattern, sizeof(pattern), "%s/%s%s", place, module, endings[i]) >=
            (int)sizeof(pattern))
            continue;
        is_there = glob(pattern, GLOB_NOSORT, NULL, &found) == 0;
        globfree(&found);
    }
    return is_there;
}

/* Does boxes' own Python bring it? */
static bool python_has(const struct seeking *seeking, const char *module)
{
    static const char *const debian[] = { "/usr/lib/python3/dist-packages",
                                          "/usr/local/lib/python3*/dist-packages" };

    if (seeking->code->is_image)
        return false;
    if (*seeking->python)
        return has_module(seeking->python, module);
    for (size_t i = 0; i < N_ELEMENTS(debian); i++)
        if (has_module(debian[i], module))
            return true;
    return false;
}

/* "a" in "a.py", "x/a/b.py", "a.cpython-311-x86_64-linux-gnu.so". */
static bool is_part_of(const char *path, const char *module)
{
    size_t len = strlen(module);

    for (const char *at = path; *at; at += strcspn(at, "/"), at += *at == '/')
        if (strncmp(at, module, len) == 0 && strchr("/.", at[len]))
            return true;
    return false;
}

/* Nobody's patterns: a directory of the host may be called anything. */
static bool dir_has(const char *dir, const char *below, size_t below_len, const char *module)
{
    static const char *const endings[] = { "", ".py", ".so", ".pyc" };

    for (size_t i = 0; i < N_ELEMENTS(endings); i++) {
        char path[PATH_MAX];
        struct stat st;

        if (snprintf(path, sizeof(path), "%s/%.*s/%s%s", dir, (int)below_len, below, module,
                     endings[i]) < (int)sizeof(path) &&
            lstat(path, &st) == 0)
            return true;
    }
    return false;
}

/* In one of the directories of the program's project that its kind's modules are looked for in. */
static bool project_has(const struct seeking *seeking, const char *module)
{
    static const char *const places[N_PACKAGE_KINDS][4] = {
        [PACKAGE_PYTHON] = { ".", "src", "lib" },
        [PACKAGE_NODE] = { "node_modules" },
    };
    const struct package_code *code = seeking->code;
    const char *slash = code->name ? strrchr(code->name, '/') : NULL;

    if (!code->dir)
        return false;
    if (slash && seeking->set->kind == PACKAGE_PYTHON &&
        dir_has(code->dir, code->name, (size_t)(slash - code->name), module))
        return true;
    for (const char *const *at = places[seeking->set->kind]; *at; at++)
        if (dir_has(code->dir, *at, strlen(*at), module))
            return true;
    return false;
}

static bool is_here(void *user, const char *module)
{
    const struct seeking *seeking = user;
    const struct package_code *code = seeking->code;

    if (seeking->set->kind == PACKAGE_PYTHON) {
        if (code->name && is_part_of(code->name, module))
            return true;
        for (const char *const *file = code->files; file && *file; file++)
            if (is_part_of(*file, module))
                return true;
    }
    return project_has(seeking, module) ||
           (seeking->set->kind == PACKAGE_PYTHON && python_has(seeking, module));
}

/* A Python of a toolchain has its packages beside itself, and none of Debian's. */
static int find_python(struct seeking *seeking, struct gb_err *err)
{
    cleanup_free char *path = toolchains_path(seeking->code->toolchains);
    char found[PATH_MAX];
    char *end;

    if (!path)
        return gb_no_memory(err);
    if (!box_path_has(path, "python3", found) || strncmp(found, "/usr/", 5) == 0)
        return 0;
    end = strrchr(found, '/');
    *end = '\0';
    end = strrchr(found, '/');
    if (!end || snprintf(seeking->python, PATH_MAX, "%.*s/lib/python3*/site-packages",
                         (int)(end - found), found) >= PATH_MAX)
        seeking->python[0] = '\0';
    return 0;
}

int package_wishes_add_code(struct package_wishes *wishes, const struct package_code *code,
                            struct gb_err *err)
{
    struct seeking seeking = { .code = code };
    enum package_kind kind;
    int r = package_kind_of(code->language, &kind);

    if (r < 0)
        return 0;
    if (code->is_commands_only && kind != PACKAGE_PYTHON)
        return 0;
    seeking.set = &wishes->sets[kind];
    r = kind == PACKAGE_PYTHON && !code->is_commands_only ? find_python(&seeking, err) : 0;
    if (r < 0)
        return r;
    r = code->is_commands_only
            ? imports_find_commands(code->text, code->len, add_found, &seeking)
            : imports_find(kind, code->text, code->len, is_here, add_found, &seeking);
    return r < 0 ? gb_fail(err, r, GB_BLAME_CALLER, "packages that the program imports: %s",
                           seeking.why.msg[0] ? seeking.why.msg : strerror(-r))
                 : 0;
}
