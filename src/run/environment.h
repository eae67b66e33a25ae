/* SPDX-License-Identifier: Apache-2.0 */
/* run/environment.h - the variables that a program in a box finds: a fixed list, what its language
 * needs, and what the caller set.  Nothing of the host's environment. */
#pragma once

#include <stddef.h>

struct run_env {
    const char **list; /* "K=V", NULL-terminated */
    char *own[8];      /* strings that were made for it */
    size_t n_own;
};

/* Later lists win over earlier ones; both may be NULL.  -ENOMEM leaves nothing behind. */
int run_env_make(struct run_env *env, const char *path, const char *workdir, char *const *language,
                 const char *const *caller);
void run_env_clear(struct run_env *env);
