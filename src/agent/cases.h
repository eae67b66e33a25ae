/* SPDX-License-Identifier: Apache-2.0 */
/* agent/cases.h - tests of a program: cases, not code.
 *
 * A case is what goes in (arguments, stdin, files) and what must come out.  It is written by a
 * model from task and contract, as JSON that cases_schema describes, and compared on the host, so
 * that a program in any language is judged from outside of its process.  Both the cases and what
 * the program printed are hostile; all of it is bounded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/judge.h"
#include "base/cleanup.h"

struct buf;
struct gb_err;

enum case_mode {
    CASE_TRIMMED,   /* without blanks at the ends of lines and empty lines at the end */
    CASE_EXACT,     /* every byte */
    CASE_JSON,      /* the same value; the order of keys does not matter */
    CASE_TOLERANCE, /* the same words, and numbers that are near enough; blanks do not matter */
    CASE_PATTERN,   /* a regular expression (agent/pattern.h) is found in the trimmed output */
    N_CASE_MODES,
};

struct case_expect {
    char *out; /* NULL: anything */
    enum case_mode mode;
    double tolerance; /* relative to numbers above 1, else absolute; also for CASE_JSON */
    bool is_failure;  /* any exit code but 0 */
    int exit_code;    /* else this one */
    char *err_part;   /* must be in stderr; NULL: anything */
};

struct program_case {
    char *name; /* of one line, unique */
    enum test_class class;
    char **argv;  /* without the program itself; NULL-terminated, never NULL */
    char *input;  /* stdin; never NULL */
    size_t times; /* it is given, at least 1: large input need not be written out */
    char **files; /* path, contents, path, contents, …, NULL; never NULL; clean relative paths */
    uint64_t timeout_ms;
    struct case_expect expect;
};

struct program_cases {
    struct program_case *items;
    size_t n;
};

#define CASES_TEXT_MAX    (4 << 20)
#define CASES_MAX         128
#define CASE_NAME_MAX     128
#define CASE_ARGS_MAX     64
#define CASE_ARG_MAX      (16 << 10)
#define CASE_INPUT_MAX    (256 << 10)
#define CASE_TIMES_MAX    1000000
#define CASE_REPEATED_MAX (8 << 20) /* input times times */
#define CASE_FILES_MAX    16
#define CASE_OUT_MAX      (64 << 10)
#define CASE_TIMEOUT_MS   5000
#define CASE_STRESS_MS    20000

/* The JSON schema that cases_parse() checks, for the model. */
extern const char cases_schema[];

/* The JSON may stand in a fence or amid prose, and be the bare list.  A case that cannot fail is
 * refused.  -EINVAL: the error names the case and says what a model has to mend.  ret starts as
 * { 0 } and is so after a failure. */
int cases_parse(const char *json, size_t len, struct program_cases *ret, struct gb_err *err);
int cases_text(const struct program_cases *cases, struct buf *ret); /* pretty JSON */
void cases_clear(struct program_cases *cases);

#define cleanup_cases cleanup_with(cases_clear)

const struct program_case *cases_find(const struct program_cases *cases, const char *name);

/* Appends stdin, as often as the case says. */
int case_input(const struct program_case *item, struct buf *ret);

/* What a program did that ended by itself.  One that was killed, or ran out of time or memory, has
 * failed already: that is not for case_compare() to tell. */
struct case_seen {
    const char *out;
    size_t out_len;
    const char *err;
    size_t err_len;
    int exit_code;
};

#define CASE_WHY_SIZE 480

/* 1 when it is what was expected; 0 when not, and why is one line with the values of the first
 * difference; negative when it could not be told (-ENOMEM). */
int case_compare(const struct case_expect *expect, const struct case_seen *seen,
                 char why[static CASE_WHY_SIZE]);
