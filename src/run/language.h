/* SPDX-License-Identifier: Apache-2.0 */
/* run/language.h - languages: how a source file becomes steps.
 *
 * A table; adding a language is adding its row.  Commands are vectors, never shell lines.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct gb_err;
struct limits;

#define LANGUAGE_ARGS_MAX 16

struct language {
    const char *name;               /* "python" */
    const char *const *aliases;     /* "py", "python3", …; NULL-terminated */
    const char *const *endings;     /* "py"; NULL-terminated */
    const char *const *shebangs;    /* interpreter names of a #! line */
    const char *file;               /* name given to code that came without one: "main.py" */
    const char *const *compile;     /* NULL, or argv with {file}, {stem}, {out} as placeholders */
    const char *const *run;         /* argv with the same placeholders */
    const char *program;            /* what must be on PATH for the first step: "gcc" */
    const char *package;            /* Debian package that brings it */
    bool wants_groups;              /* its runtime reads the limits from /sys/fs/cgroup */
    unsigned default_pids;          /* 0, or the least pids limit with which it starts (java, go) */
};

/* By name or alias; NULL. */
const struct language *language_by_name(const char *name);

/* By the ending of a file name; NULL. */
const struct language *language_by_path(const char *path);

/* By the #! line of a source; NULL. */
const struct language *language_by_shebang(const void *code, size_t len);

/* The n-th language, NULL behind the last. */
const struct language *language_at(size_t n);

struct language_step {
    const char *name; /* "compile", "run" */
    char *argv[LANGUAGE_ARGS_MAX + 1];
};

/* The steps for a source file at `path` in the box (absolute), limits filled in where a runtime
 * has to be told (node, java).  *ret_n is 1 or 2.  The caller owes language_steps_clear(). */
int language_steps(const struct language *language, const char *path, const struct limits *limits,
                   struct language_step steps[static 2], size_t *ret_n, struct gb_err *err);
void language_steps_clear(struct language_step steps[static 2]);
