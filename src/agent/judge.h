/* SPDX-License-Identifier: Apache-2.0 */
/* agent/judge.h - code meets tests, in boxes; nothing it says comes from the code's own mouth.
 *
 *    check    syntax, names and signatures of the contract, modules that are not there
 *    tests    a program's cases: each in a box of its own, output compared here
 *             a library's tests: each with two boxes side by side, the test's and the code's, whose
 *             pipes are crossed (docs/internals/judge-guest.md): only data crosses
 *    mutants  the same tests against changed code: which function does no test notice?
 *
 * A report is plain data and JSON at once, because it is an effect (agent/journal.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/fence.h"
#include "base/cleanup.h"
#include "box/carry.h"

#define GIVEN_CASE "example " /* and its number: the name of a case that the task itself gives */

struct audit;
struct box;
struct box_certificate;
struct box_spec;
struct buf;
struct contract;
struct gb_err;
struct json_writer;

enum test_class {
    CLASS_NORMAL,
    CLASS_EDGE,
    CLASS_INVALID,
    CLASS_STRESS,
    N_CLASSES,
};

/* Where a test comes from: the task itself, a model, or a model and then hidden from the coder. */
enum test_origin {
    ORIGIN_GIVEN,
    ORIGIN_DERIVED,
    ORIGIN_HELD_BACK,
};

enum test_result {
    TEST_PASSED,
    TEST_FAILED,
    TEST_TIMEOUT,
    TEST_ERROR,   /* the test itself is broken */
    TEST_SKIPPED, /* is no pass */
};

struct judge_test {
    char *id; /* "test_duration.py::test_hours", a case's name */
    enum test_class class;
    enum test_origin origin;
    bool is_withdrawn;
};

struct judge_tests {
    struct judge_test *items;
    size_t n;
    struct agent_files files; /* a library's */
    char *cases;              /* a program's: JSON (agent/cases.h) */
};

struct judge_row {
    char *id;
    enum test_result result;
    char *message; /* one line: expected and actual values */
    char *detail;  /* more lines, bounded; may be NULL */
    uint64_t ms;
    uint64_t memory_bytes;
    bool is_withdrawn; /* was not run, counts nowhere */
    bool is_suspect;   /* an equality that only the code vouches for */
    bool is_together; /* ran in the code's own process: mocks inside of it; such tests alone make no
                         pass */
    char *seen;       /* digest of what the code did there, however it was judged; solutions that
                         agree on it everywhere are of one mind.  NULL: nothing was seen */
};

enum diagnosis {
    DIAGNOSIS_NONE,
    DIAGNOSIS_SYNTAX,
    DIAGNOSIS_INTERFACE,
    DIAGNOSIS_MODULE, /* an import that the box has not */
    DIAGNOSIS_ASSERTION,
    DIAGNOSIS_OUTPUT,
    DIAGNOSIS_TIMEOUT,
    DIAGNOSIS_MEMORY,
    DIAGNOSIS_CRASH,
    N_DIAGNOSES,
};

enum outcome {
    OUTCOME_PASSED,
    OUTCOME_FAILED,
    OUTCOME_ERROR,
    OUTCOME_TAMPERED,
    OUTCOME_SUSPECT,
};

struct judge_report {
    enum outcome outcome;
    char *reason; /* of tampered, suspect, error */
    enum diagnosis diagnosis;
    char *summary;          /* what goes to the model: names and values, never of held-back tests */
    struct judge_row *rows; /* one for each test, in their order; those withdrawn are skipped and
                               count nowhere.  None when the check or the compiler decided */
    size_t n_rows;
    double coverage; /* of statements, 0 to 1; negative: not known */
    char *lint;      /* lines; NULL: clean or no linter */
    uint64_t ms;
    uint64_t memory_peak_bytes;
};

struct judge_input { /* --file */
    const char *path;
    const void *bytes;
    size_t len;
};

struct judge_mutation;

/* A network for a program, whose tests had none. */
struct judge_net {
    const struct net_policy *policy; /* NULL: none after all */
    struct carry_caps caps;
    const struct box_certificate *certificates; /* may be NULL, and so may … */
    const char *const *env;                     /* … the variables that name them */
};

/* A box that lives on, for the program's own start; open NULL: none, it has a new one. */
struct judge_home {
    int (*open)(const void *user, struct box **ret, struct gb_err *err);
    void (*close)(const void *user, struct box *box);
    const void *user;
};

/* What was compiled last, so that the same code is compiled once for all that is done with it.  One
 * may serve several specs at a time. */
struct judge_built;

struct judge_built *judge_built_new(void); /* NULL: no memory */
void judge_built_free(struct judge_built **built);

struct judge_spec {
    const struct box_spec *box;
    const struct contract *contract;
    const struct agent_files *code;
    const struct judge_tests *tests;
    const struct judge_input *inputs;
    size_t n_inputs;
    struct judge_built *built; /* may be NULL */
    const char *unsupplied;    /* packages that could not be installed, told with what that may have
                                  caused; NULL: none */
    struct judge_net net;      /* of judge_try() alone, for the program's own start */
    struct judge_home home;    /* of judge_try() alone, too */
    bool is_judged;            /* of judge_try() alone: its text was read before */
    unsigned jobs;             /* boxes at a time */
    int cancel_fd;
    uint64_t deadline_ns; /* no box begins after it or runs beyond it; what was not run for that is
                             a timeout.  0, CLOCK_NEVER_NS: none */
    const struct judge_mutation *known; /* of the same code with fewer tests: what was killed stays
                                           so and is not run again; may be NULL */
    const struct judge_report *judged;  /* of judge_mutate() alone: of the same code and tests, for
                                           the time that a program's cases take; may be NULL */
    /* A test has ended; may be NULL.  Called under a lock, from any thread. */
    void (*progress)(void *user, const struct judge_row *row);
    void *user;
};

/* Fills items from files and cases: every test with its class and origin (GIVEN_FILE's, and cases
 * that have the number of an example of the contract, are given; of the others every third is held
 * back, by their order).  A set that does not load, or has a test without a class, is an error for
 * the model that wrote it (-EINVAL).  Withdrawn tests stay so.  spec->code is not looked at. */
int judge_collect(const struct judge_spec *spec, struct judge_tests *tests, struct gb_err *err);

/* 0 whatever the outcome; negative when it could not be told (no box, cancelled).  With
 * judge_cover(). */
int judge_run(const struct judge_spec *spec, struct judge_report *ret, struct gb_err *err);

/* Several solutions meet their tests in one matrix of boxes, side by side; jobs and cancel_fd are
 * those of the first.  0 or the first failure; reports are the caller's to clear in any case. */
int judge_run_all(const struct judge_spec *specs, size_t n, struct judge_report *ret,
                  struct gb_err *err);

/* Of a solution in Python that has passed: the same tests once more, to see which statements they
 * reach.  Decides nothing, and is for the one that is delivered: it takes as long as the tests. */
int judge_cover(const struct judge_spec *spec, struct judge_report *report, struct gb_err *err);

/* The program once, as a person would start it. */
struct judge_try {
    enum diagnosis diagnosis; /* DIAGNOSIS_NONE: it ended by itself with 0 */
    char *summary;            /* of a failure, for the model; else NULL */
    char *network;            /* what it reached and what was refused, in a line; NULL: nothing */
    char *limits; /* where those of a box that lives on are not the task's: what held, in a line */
    char *out;    /* never NULL; head of it */
    size_t out_len;
    char *errors;
    size_t errors_len;
    bool is_cut;
    bool is_timed_out;
    bool is_unrun; /* it did not come so far, or could not be started */
    int exit_code;
    uint64_t ms;
    uint64_t memory_peak_bytes;
};

/* args and input may be NULL.  A syntax error, a missing module, a failed compile are told without
 * a run. */
int judge_try(const struct judge_spec *spec, char *const *args, const char *input, size_t input_len,
              struct judge_try *ret, struct gb_err *err);
int judge_try_text(const struct judge_try *try, struct buf *ret);
int judge_try_parse(const char *json, size_t len, struct judge_try *ret, struct gb_err *err);
void judge_try_clear(struct judge_try *try);

#define cleanup_try cleanup_with(judge_try_clear)

struct judge_mutant {
    char *id;
    char *function;
    unsigned line;
    bool is_hint; /* comparisons and constants: many are equivalent */
    bool is_killed;
    char *what; /* "emptied", "branch forced true", … */
};

struct judge_mutation {
    struct judge_mutant *items;
    size_t n;
    double score; /* killed / all that count; negative: nothing to mutate */
};

/* At most 40 mutants and ten seconds, all in all. */
int judge_mutate(const struct judge_spec *asked, struct judge_mutation *ret, struct gb_err *err);

const char *outcome_name(enum outcome outcome);
const char *diagnosis_name(enum diagnosis diagnosis);
const char *test_class_name(enum test_class class);
const char *test_origin_name(enum test_origin origin);
const char *test_result_name(enum test_result result);

/* The row of a test; NULL when it has none: it was withdrawn, or nothing was run. */
const struct judge_row *judge_report_row(const struct judge_report *report, const char *id);

/* The test of that id; NULL: there is none.  Was it withdrawn? */
const struct judge_test *judge_test_of(const struct judge_tests *tests, const char *id);
bool judge_was_withdrawn(const struct judge_tests *tests, const char *id);
/* How many tests count, and have passed. */
size_t judge_report_count(const struct judge_report *report, size_t *ret_passed);

/* A share from 0 to 1; null where it is negative: not known. */
void judge_put_share(struct json_writer *w, const char *key, double share);

/* As JSON and back. */
int judge_report_text(const struct judge_report *report, struct buf *ret);
int judge_report_parse(const char *json, size_t len, struct judge_report *ret, struct gb_err *err);
void judge_report_clear(struct judge_report *report);
int judge_tests_text(const struct judge_tests *tests, struct buf *ret);
int judge_tests_parse(const char *json, size_t len, struct judge_tests *ret, struct gb_err *err);
void judge_tests_clear(struct judge_tests *tests);
int judge_mutation_text(const struct judge_mutation *mutation, struct buf *ret);
int judge_mutation_parse(const char *json, size_t len, struct judge_mutation *ret,
                         struct gb_err *err);
void judge_mutation_clear(struct judge_mutation *mutation);

#define cleanup_report cleanup_with(judge_report_clear)
#define cleanup_tests  cleanup_with(judge_tests_clear)
