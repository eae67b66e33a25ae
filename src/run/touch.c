/* SPDX-License-Identifier: Apache-2.0 */
/* run/touch.c - files that a tool runs when somebody only enters, opens, builds or commits. */
#include "run/touch.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/path.h"

/* Some file systems know no case.  Any directory with HEAD, objects and refs is a repository whose
 * settings count, whatever its name; without a HEAD it is none. */
bool touch_is_git(const char *path)
{
    static const char name[] = ".git";

    if (strcasecmp(path_base(path), "HEAD") == 0)
        return true;
    for (size_t len; *path; path += len + (path[len] == '/')) {
        len = strcspn(path, "/");
        if (len == strlen(name) && strncasecmp(path, name, len) == 0)
            return true;
    }
    return false;
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
    { "makefile", "make" },
    { "GNUmakefile", "make" },
};

static bool lies_in(const char *path, const char *dir)
{
    size_t len = strlen(dir);

    for (const char *at = path; at; at = strchr(at, '/')) {
        at += *at == '/';
        if (strncmp(at, dir, len) == 0)
            return true;
    }
    return false;
}

static bool is_named(const char *path, const char *name)
{
    const char *base = path_base(path);
    size_t len = strlen(base);

    if (name[strlen(name) - 1] == '/')
        return lies_in(path, name);
    if (name[0] == '*')
        return len >= strlen(name) && strcmp(base + len - strlen(name + 1), name + 1) == 0;
    return strcmp(base, name) == 0;
}

const char *touch_runner(const char *path)
{
    for (size_t i = 0; i < N_ELEMENTS(rows); i++)
        if (is_named(path, rows[i].name))
            return rows[i].runner;
    return NULL;
}
