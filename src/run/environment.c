/* SPDX-License-Identifier: Apache-2.0 */
/* run/environment.c - the variables that a program in a box finds. */
#include "run/environment.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "box/box.h"

static const char *const fixed[] = {
    ("HOME=" BOX_HOME), "USER=box",    "LOGNAME=box",        "SHELL=/bin/sh",
    "LANG=C.UTF-8",     "TMPDIR=/tmp", "PYTHONUNBUFFERED=1",
};

static bool has_same_name(const char *a, const char *b)
{
    size_t len = strcspn(a, "=");

    return strncmp(a, b, len) == 0 && b[len] == '=';
}

static void set(const char **list, size_t *n, const char *pair)
{
    for (size_t i = 0; i < *n; i++) {
        if (has_same_name(list[i], pair)) {
            list[i] = pair;
            return;
        }
    }
    list[(*n)++] = pair;
}

static size_t count(char *const *list)
{
    size_t n = 0;

    while (list && list[n])
        n++;
    return n;
}

static int set_own(struct run_env *env, size_t *n, const char *name, const char *value)
{
    char *pair = NULL;

    if (asprintf(&pair, "%s=%s", name, value) < 0)
        return -ENOMEM;
    env->own[env->n_own++] = pair;
    set(env->list, n, pair);
    return 0;
}

static int set_places(struct run_env *env, size_t *n, const struct run_env_places *places)
{
    cleanup_free char *python = NULL;
    int r = set_own(env, n, "PATH", places->path);

    if (asprintf(&python, "%s%s%s", places->workdir, *places->python_path ? ":" : "",
                 places->python_path) < 0)
        return -ENOMEM;
    if (r == 0)
        r = set_own(env, n, "PWD", places->workdir);
    return r < 0 ? r : set_own(env, n, "PYTHONPATH", python);
}

static size_t count_lines(const char *text)
{
    size_t n = 0;

    for (; *text; text++)
        n += *text == '\n';
    return n + 1;
}

/* One copy, cut at its line ends. */
static int set_variables(struct run_env *env, size_t *n, const char *lines)
{
    char *rest = strdup(lines);
    char *pair;

    if (!rest)
        return -ENOMEM;
    env->own[env->n_own++] = rest;
    while ((pair = strsep(&rest, "\n")))
        if (strchr(pair, '='))
            set(env->list, n, pair);
    return 0;
}

int run_env_make(struct run_env *env, const struct run_env_places *places, char *const *language,
                 const char *const *caller)
{
    const char *variables = places->variables ? places->variables : "";
    size_t n_caller = 0;
    size_t n = 0;
    int r;

    while (caller && caller[n_caller])
        n_caller++;
    *env = (struct run_env){ 0 };
    env->list = calloc(N_ELEMENTS(fixed) + N_ELEMENTS(env->own) + count_lines(variables) +
                           count(language) + n_caller + 1,
                       sizeof(*env->list));
    if (!env->list)
        return -ENOMEM;
    for (size_t i = 0; i < N_ELEMENTS(fixed); i++)
        set(env->list, &n, fixed[i]);
    r = set_places(env, &n, places);
    if (r == 0)
        r = set_variables(env, &n, variables);
    if (r < 0) {
        run_env_clear(env);
        return r;
    }
    for (size_t i = 0; language && language[i]; i++)
        set(env->list, &n, language[i]);
    for (size_t i = 0; i < n_caller; i++)
        set(env->list, &n, caller[i]);
    return 0;
}

void run_env_clear(struct run_env *env)
{
    for (size_t i = 0; i < env->n_own; i++)
        free(env->own[i]);
    free(env->list);
    *env = (struct run_env){ 0 };
}

static bool is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

bool run_env_is_name(const char *name)
{
    if (!is_letter(*name))
        return false;
    while (is_letter(*name) || (*name >= '0' && *name <= '9'))
        name++;
    return !*name;
}
