/* SPDX-License-Identifier: Apache-2.0 */
/* filters_policy.h - what the parts of the compiler of filters share: the policy, as it was read.
 *
 *    filters_policy.c    filters.def as a table, and the decision about each call
 *    filters_program.c   the BPF programs of runs and of the glove
 *    filters_profile.c   the profile of a container engine
 *    filters.c           the header that they make
 */
#pragma once

#include <errno.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ALLOW  SECCOMP_RET_ALLOW
#define ERR(e) (SECCOMP_RET_ERRNO | (e))
#define PERM   ERR(EPERM)
#define NOSYS  ERR(ENOSYS)
#define KILL   SECCOMP_RET_KILL_PROCESS

enum {
    RUN = 1,
    GLOVE = 2,
    BOTH = RUN | GLOVE,
    START = 4, /* in the profile of an engine only */
};

enum {
    MAX_VALUES = 20,
    MAX_CONDS = 2,
    MAX_NR = 1024,
    MAX_NAME = 32,
};

enum kind {
    KIND_CALLS,
    KIND_REFUSE,
    KIND_PERMIT,
};

/* Holds when the low 32 bits of an argument, masked, equal one of the values.  No values: no
 * condition. */
struct cond {
    unsigned arg;
    uint32_t mask;
    uint32_t value[MAX_VALUES];
    unsigned n_values;
};

struct row {
    enum kind kind;
    unsigned who;        /* rules: the filters that they belong to */
    uint32_t run, glove; /* the answers */
    const char *names;   /* separated by blanks, each "name" or "name=number" */
    struct cond conds[MAX_CONDS];
};

/* The decision about one call. */
struct call {
    char name[MAX_NAME];
    int nr;              /* -1: this architecture does not have it */
    uint32_t run, glove; /* the answers, when no rule matches */
    unsigned ruled;      /* RUN, GLOVE: filters with rules about its arguments */
};

extern const struct row policy[];
extern const size_t n_rows;

/* What policy_load() has made of them. */
extern struct call calls[MAX_NR];
extern size_t n_calls;

void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* Fills `calls` from the CALLS rows, then notes which of them have rules. */
void policy_load(void);

/* Is the call one of those that a row is about? */
bool row_names(const struct row *row, const char *wanted);

/* Prints the array `name` with the program of RUN or GLOVE; otherwise: the answer for numbers that
 * no row names. */
void program_print(const char *name, unsigned who, uint32_t otherwise);

/* Prints the macro with an engine's profile in JSON. */
void profile_print(const char *macro, unsigned who);
