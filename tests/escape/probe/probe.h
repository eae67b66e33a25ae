/* SPDX-License-Identifier: Apache-2.0 */
/* probe.h - asks, from inside a box, for what a box must not give.
 *
 * One function per row of the attack matrix.  A row prints a line per variant:
 *
 *    ID VARIANT BLOCKED detail    refused as it must be
 *    ID VARIANT LEAK detail       it got through, or was refused by something later than the wall
 *    ID VARIANT OK|BROKEN detail  a control: what honest programs need, and whether it works
 *    ID VARIANT INFO detail       a fact that the test compares with a golden list
 *    ID end DONE count            the row ran to its end
 *
 * Calls are made so that they have no effect should they succeed: bad pointers, the box's own
 * objects, bit patterns without meaning.  Nothing here is an exploit.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Words after the row's name: ID=word,word; the list ends with NULL. */
typedef void row_fn(char **args);

row_fn row_c01, row_c02, row_c04, row_c05, row_c07, row_c09, row_c10, row_c11, row_c13, row_c14,
    row_c15, row_c16, row_c17, row_c18, row_c19, row_c20, row_c21, row_c22, row_c26, row_c27,
    row_i01, row_i02, row_n01;

/* Programs for other tests: they do something and end, or never end. */
row_fn act_whoami, act_forge, act_daemons, act_stopped, act_traced, act_traceme, act_traceme_exec,
    act_vforked, act_storm, act_threads, act_neighbour, act_status;

void begin(const char *id);
void end(void);

void blocked(const char *variant, const char *detail);
void leak(const char *variant, const char *detail);
void info(const char *variant, const char *detail);
void control(const char *variant, bool works, const char *detail);
void verdict(const char *variant, bool is_leak, const char *detail);

/* A name for a variant, built from parts; valid until the fourth call after it. */
const char *named(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* rc of a call and the errno it left: BLOCKED if it failed with one of `allowed` (ends with 0). */
void refused(const char *variant, long rc, const int *allowed);
#define REFUSED(variant, rc, ...) refused(variant, rc, (const int[]){ __VA_ARGS__, 0 })
/* What "not there or not yours" may look like for a file. */
#define NO_FILE                   EPERM, EACCES, ENOENT, EROFS, ENXIO, ENODEV, ENOTDIR, ELOOP

/* How a call went that was made in a process of its own. */
struct outcome {
    bool is_hung;
    int signo;
    int exit_code; /* -1: reported by rc and error */
    long rc;
    int error;
};
struct outcome in_child(long (*call)(const void *arg), const void *arg, unsigned seconds);
const char *outcome_text(const struct outcome *outcome);
void refused_in_child(const char *variant, const struct outcome *outcome, const int *allowed);

const char *error_name(int error);

/* Calls visit(path) for every name below top that is of this type (S_IFREG, S_IFSOCK, …), links not
 * followed.  skip(path) says which directories to leave out; it may be NULL. */
void walk(const char *top, unsigned type, bool (*skip)(const char *path),
          void (*visit)(const char *path));

/* The first bytes of a file, NUL-terminated; their number, or -1. */
long slurp(const char *path, char *buf, size_t size);

/* Is there something to be read?  Bytes of a file, or a name in a directory. */
bool is_open(const char *path);
