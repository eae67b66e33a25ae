/* SPDX-License-Identifier: Apache-2.0 */
/* run/environment.h - the variables that a program in a box finds: a fixed list, what its language
 * needs, and what the caller set.  Nothing of the host's environment. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct run_env {
    const char **list; /* "K=V", NULL-terminated */
    char *own[8];      /* strings that were made for it */
    size_t n_own;
};

/* Where things are found in the box. */
struct run_env_places {
    const char *path;        /* box_path() */
    const char *python_path; /* box_python_path(): "" or what comes behind the working directory */
    const char *workdir;
    const char *variables; /* box_variables(): "K=V" lines; NULL: none */
};

/* Later lists win over earlier ones; both may be NULL.  -ENOMEM leaves nothing behind. */
int run_env_make(struct run_env *env, const struct run_env_places *places, char *const *language,
                 const char *const *caller);
void run_env_clear(struct run_env *env);

/* What a caller may set: [A-Za-z_][A-Za-z0-9_]* */
bool run_env_is_name(const char *name);
