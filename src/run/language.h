/* SPDX-License-Identifier: Apache-2.0 */
/* run/language.h - languages: how a source file becomes steps.
 *
 * A table; adding a language is adding its row.  Commands are vectors, never shell lines.  In
 * commands and environment these stand for what language_steps() is given:
 *
 *    {file}  the source       {out}   where compiled things go      {memory}    bytes
 *    {dir}   its directory    {main}  the class that Java starts    {heap_mib}  3/4 of memory
 *    {stem}  its name without directory and ending                  {cpus}      rounded up
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct gb_err;
struct limits;

#define LANGUAGE_ARGS_MAX 16
#define LANGUAGE_ENV_MAX  8

/* Writes the name for code that came without one; leaves `name` alone when the row's will do. */
typedef void language_namer(const void *code, size_t len, char name[static NAME_MAX + 1]);

struct language {
    const char *name;            /* "python" */
    const char *const *aliases;  /* "py", "python3", …; NULL-terminated, any case */
    const char *const *endings;  /* "py"; NULL-terminated, any case */
    const char *const *shebangs; /* interpreter names of a #! line, without version */
    const char *file;            /* name given to code that came without one: "main.py" */
    language_namer *namer;       /* NULL, or what knows better from the code */
    const char *const *check;    /* NULL, or argv that reads a file and runs nothing of it */
    const char *const *compile;  /* NULL, or argv */
    const char *const *run;      /* argv; the program's own arguments follow */
    const char *const *env;      /* NULL, or "K=V" for all steps */
    const char *program;         /* what must be on PATH for the first step: "gcc" */
    const char *package;         /* Debian packages that bring it */
    bool needs_ending;           /* its compiler goes by the file's ending */
    bool needs_name;             /* and by its name, which the namer finds */
    bool wants_groups;           /* its runtime reads the limits from /sys/fs/cgroup */
    unsigned default_pids;       /* 0, or a pids limit below which its threads do not start */
};

/* By name or alias; NULL. */
const struct language *language_by_name(const char *name);

/* By the ending of a file name; NULL. */
const struct language *language_by_path(const char *path);

/* By the #! line of a source; NULL. */
const struct language *language_by_shebang(const void *code, size_t len);

/* The n-th language, NULL behind the last. */
const struct language *language_at(size_t n);

/* The name of a file for code that came without one ("main.py"). */
void language_file_name(const struct language *language, const void *code, size_t len,
                        char name[static NAME_MAX + 1]);

struct language_source {
    const char *path; /* in the box, absolute */
    const char *out;  /* a path in the box where nothing is yet, outside the workspace, below a
                         directory that is writable and not noexec; a file or a directory will be */
    const void *code; /* the contents, or NULL when they are not at hand */
    size_t len;
};

struct language_step {
    const char *name; /* "compile", "run", "check" */
    char *argv[LANGUAGE_ARGS_MAX + 1];
    char *env[LANGUAGE_ENV_MAX + 1];
};

/* The steps for a source, limits filled in where a runtime has to be told (node, java, go).
 * *ret_n is 1 or 2.  The caller owes language_steps_clear() in any case. */
int language_steps(const struct language *language, const struct language_source *source,
                   const struct limits *limits, struct language_step steps[static 2], size_t *ret_n,
                   struct gb_err *err);
void language_steps_clear(struct language_step steps[static 2]);

/* Whether the source is valid can be told by the language's own interpreter, without running it:
 * the command for that; argv[0] is NULL where a language has none.  The caller owes
 * language_step_clear() in any case. */
int language_check(const struct language *language, const struct language_source *source,
                   const struct limits *limits, struct language_step *ret, struct gb_err *err);
void language_step_clear(struct language_step *step);
