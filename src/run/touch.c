/* SPDX-License-Identifier: Apache-2.0 */
/* run/touch.c - files that a tool runs when somebody only enters, opens, builds or commits. */
#include "run/touch.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "json/utf8.h"

/* A character as file systems may have it that know no case (ext4's directories with casefold,
 * HFS+): some leave out what nobody sees, and two letters that are none of ASCII become such.  0:
 * left out. */
static uint32_t folded(uint32_t point)
{
    if (point < 0x80)
        return point >= 'A' && point <= 'Z' ? point + ('a' - 'A') : point;
    if (point == 0x017f)
        return 's';
    if (point == 0x212a)
        return 'k';
    return utf8_is_unseen(point) ? 0 : point;
}

static bool is_like(const char *text, size_t text_len, const char *name, size_t name_len)
{
    const uint8_t *bytes = (const uint8_t *)text;
    size_t at = 0;
    size_t len;

    for (size_t i = 0; i < text_len; i += len) {
        uint32_t point;

        len = utf8_decode(bytes + i, text_len - i, &point);
        if (len == 0)
            return false;
        point = folded(point);
        if (point == 0)
            continue;
        if (at == name_len || point != folded((uint8_t)name[at]))
            return false;
        at++;
    }
    return at == name_len;
}

static bool base_is_like(const char *path, const char *name)
{
    const char *base = path_base(path);

    return is_like(base, strlen(base), name, strlen(name));
}

static bool lies_in(const char *path, const char *dir, size_t dir_len)
{
    for (const char *end; (end = strchr(path, '/')) != NULL; path = end + 1)
        if (is_like(path, (size_t)(end - path), dir, dir_len))
            return true;
    return false;
}

/* Any directory with HEAD, objects and refs is a repository whose settings count, whatever its
 * name; without a HEAD it is none. */
bool touch_is_git(const char *path)
{
    static const char name[] = ".git";

    return base_is_like(path, "HEAD") || base_is_like(path, name) ||
           lies_in(path, name, strlen(name));
}

/* By the name of the file; one that begins with '*' by its ending, and one that ends with '/' by a
 * directory that it lies in. */
static const struct {
    const char *name;
    const char *runner;
} rows[] = {
    { ".envrc", "direnv" },
    { ".vscode/", "VS Code" },
    { ".devcontainer/", "VS Code" },
    { ".idea/", "JetBrains IDEs" },
    { ".github/", "GitHub" },
    { ".gitlab-ci.yml", "GitLab" },
    { ".circleci/", "CircleCI" },
    { ".travis.yml", "Travis CI" },
    { "Jenkinsfile", "Jenkins" },
    { ".gitattributes", "git" },
    { ".gitmodules", "git" },
    { ".pre-commit-config.yaml", "pre-commit" },
    { ".husky/", "husky" },
    { "conftest.py", "pytest" },
    { "sitecustomize.py", "Python" },
    { "usercustomize.py", "Python" },
    { "*.pth", "Python" },
    { "setup.py", "pip" },
    { "pyproject.toml", "pip" },
    { "package.json", "npm" },
    { ".cargo/", "cargo" },
    { "build.rs", "cargo" },
    { "Makefile", "make" },
    { "GNUmakefile", "make" },
};

static bool is_named(const char *path, const char *name)
{
    const char *base = path_base(path);
    size_t len = strlen(base);

    if (name[strlen(name) - 1] == '/')
        return lies_in(path, name, strlen(name) - 1);
    if (name[0] == '*')
        return len >= strlen(name) && strcasecmp(base + len - strlen(name + 1), name + 1) == 0;
    return base_is_like(path, name);
}

const char *touch_runner(const char *path)
{
    for (size_t i = 0; i < N_ELEMENTS(rows); i++)
        if (is_named(path, rows[i].name))
            return rows[i].runner;
    return NULL;
}
