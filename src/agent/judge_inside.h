/* SPDX-License-Identifier: Apache-2.0 */
/* agent/judge_inside.h - the parts of the judge among themselves.
 *
 *    judge.c            the order: prepare each solution, the matrix of tests, conclude
 *    judge_program.c    a program: compiled once, its cases
 *    judge_command.c    how it is built and started
 *    judge_built.c      what was compiled last
 *    judge_syntax.c     is it valid?  Of what is not compiled
 *    judge_special.c    does it know the inputs of its tests?
 *    judge_watch.c      which statements of it do they reach?
 *    judge_library.c    a library: collected without code, each test with a pair of boxes
 *    judge_check.c      what can be told of Python code without running it
 *    judge_hints.c      what of that makes a pass suspect
 *    judge_verdict.c    lines of the verdict channel
 *    judge_pair.c       what one pair of boxes says about one test
 *    judge_summary.c    outcome, diagnosis, and what goes to the model
 *    judge_coverage.c   what boxes tell of statements that ran
 *    judge_mutants.c    the tests against changed code
 *    judge_load.c       files that go into a box
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/cases.h"
#include "agent/guest.h"
#include "agent/judge.h"
#include "agent/trial.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/id.h"
#include "box/box.h"
#include "run/language.h"

struct contract;
struct json_value;

#define JUDGE_TESTS_MAX 512
#define JUDGE_LINE_MAX  ((size_t)1000) /* bytes of a row's message */

/* ---- files that go into a box (judge_load.c) ------------------------------------------------ */

/* Paths are its own; contents are borrowed, unless they were handed over. */
struct load {
    struct box_file *files;
    size_t n;
    struct load_own {
        char *path;
        void *bytes;
    } * own;
};

/* dir may be "".  A file that is there already is replaced. */
int load_add(struct load *load, const char *dir, const char *path, unsigned mode, const void *bytes,
             size_t len);
int load_files(struct load *load, const char *dir, const struct agent_files *files);
int load_inputs(struct load *load, const struct judge_spec *spec);
int load_copy(struct load *load, const struct load *from); /* borrows the contents */
/* Takes the bytes over, also when it fails. */
int load_take(struct load *load, const char *path, unsigned mode, void *bytes, size_t len);
int load_guest(struct load *load, enum guest_role role);
void load_clear(struct load *load);

#define cleanup_load cleanup_with(load_clear)

/* ---- a program (judge_program.c) ------------------------------------------------------------ */

/* In the workspace, so that it travels in one crate with the other files.  What is built is a file
 * or a directory, in one of its own. */
#define BUILD_DIR  ".build"
#define BUILD_FILE BUILD_DIR "/program"

struct program {
    struct box_spec box;
    const struct language *language;
    struct language_step steps[2];
    size_t n_steps;
    const char **build; /* NULL: it runs as it is; borrowed strings, NULL-terminated */
    const char *name;   /* under which the command finds what was built; NULL: where it is */
    const char **argv;  /* what starts it; borrowed strings, NULL-terminated */
    char *const *env;
    struct load load; /* what every box has: inputs, code, what was built of it */
    size_t n_inputs;
    struct trial_pool *pool; /* of boxes that have just that; NULL: none */
    struct box *there;       /* that lives on, and it is started in; NULL: new ones */
};

/* ---- one solution and its tests ------------------------------------------------------------- */

struct check {                /* what the text of Python code tells (judge_check.c) */
    enum diagnosis diagnosis; /* NONE: it may run */
    char *summary;            /* for the model; of a diagnosis */
    char *packages;           /* of the contract that are not there, for the model; NULL: none */
    char *lint;
    char *hint; /* special cases and the like; of one line */
};

/* What is known of a test besides its row; of the same index. */
struct judge_note {
    const struct judge_test *test;
    const struct program_case *item; /* a program's */
    enum diagnosis diagnosis;        /* of a failure */
    bool is_together;
    bool is_tampered;
    char *against;  /* what speaks against a pass, or proves tampering */
    char *function; /* of the code, that it failed in; NULL: not known */
};

struct judging {
    const struct judge_spec *spec;
    struct judge_report *report;
    struct judge_note *notes; /* of report->rows */
    bool is_decided;          /* before any test: report has diagnosis and summary */
    struct check check;
    bool is_read; /* check has it, but not what there is instead of modules */
    struct program program;
    struct program_cases cases;
    size_t n_open; /* tests that have not ended; guarded by the lock of judge.c */
    int r;         /* first failure, told in err; guarded by the lock of judge.c */
    struct gb_err err;
};

/* What a kind of contract does with a solution. */
struct judge_kind {
    int (*collect)(const struct judge_spec *spec, struct judge_tests *tests, struct gb_err *err);
    /* Checks it and makes it ready; may decide. */
    int (*prepare)(struct judging *judging, struct gb_err *err);
    /* Fills row and note of the i-th test; from any thread. */
    int (*meet)(struct judging *judging, size_t i, struct gb_err *err);
    /* All of its tests have ended; may be NULL. */
    void (*rest)(struct judging *judging);
    /* When every test has passed, also where the outcome is suspect; may be NULL. */
    int (*conclude)(struct judging *judging, struct gb_err *err);
    /* report->coverage of a solution that has passed, begun anew. */
    int (*cover)(struct judging *judging, struct gb_err *err);
};

extern const struct judge_kind judge_program;
extern const struct judge_kind judge_library;

/* Its rows and notes, empty.  judging_clear() leaves the report. */
int judging_begin(struct judging *judging, const struct judge_spec *spec,
                  struct judge_report *report, struct gb_err *err);
void judging_clear(struct judging *judging);

/* Class, origin and what was withdrawn before, for ids in their order.  -EINVAL: an id without
 * class, or twice. */
struct judge_found {
    const char *id;
    bool has_class;
    enum test_class class;
    bool is_given;
};
int judge_items(struct judge_tests *tests, const struct judge_found *found, size_t n,
                struct gb_err *err);

int judge_cancelled(struct gb_err *err);
/* trial_run(), of which a cancelled one is an error. */
int judge_trial(const struct trial_spec *trial, struct trial_end *ret, struct gb_err *err);

/* What begins the lines that a box tells, and the box's own code cannot guess. */
int judge_nonce(char ret[static ID_SIZE], struct gb_err *err);

/* Only what is said above, without its load: nothing is run.  first: the contract's first file.
 * program_clear() is owed in any case. */
int program_commands(const struct judge_spec *spec, const struct agent_file *first,
                     struct program *ret, struct gb_err *err);

/* The program's own: also for one start (judge_try) and for mutants.  *ret_summary is set when it
 * does not come so far: then *ret_diagnosis tells why. */
int program_prepare(const struct judge_spec *spec, struct program *ret,
                    enum diagnosis *ret_diagnosis, char **ret_summary, struct gb_err *err);
int program_start(const struct program *program, const struct load *load, char *const *args,
                  const void *input, size_t input_len, uint64_t wall_ms,
                  const struct judge_spec *spec, struct trial_end *ret, struct gb_err *err);
void program_clear(struct program *program);

/* Reads a program that program_prepare() has made ready with its language's own interpreter, where
 * that can be done without running it (judge_syntax.c).  *ret_summary as above. */
int syntax_check(const struct judge_spec *spec, const struct program *program,
                 enum diagnosis *ret_diagnosis, char **ret_summary, struct gb_err *err);

/* What was built of the same code, into the program's load: 1; 0 when it is not kept; -ENOMEM.
 * built may be NULL, here and below. */
int built_get(struct judge_built *built, const struct agent_files *code, struct program *program);
/* Keeps a copy, if it can. */
void built_put(struct judge_built *built, const struct agent_files *code,
               const struct program *program, const struct load *files);

/* One case: 1 passed, 0 not.  row and note may be NULL. */
int program_meet(const struct program *program, const struct judge_spec *spec,
                 const struct program_case *item, struct judge_row *row, struct judge_note *note,
                 struct gb_err *err);

/* What a comparison sees of a run. */
struct case_seen program_seen(const struct trial_end *end);

/* What the box of a case has: its files over the inputs and below the code. */
int program_case_load(const struct program *program, const struct judge_spec *spec,
                      const struct program_case *item, struct load *ret);

/* Of a Python program whose cases have passed: report->coverage (judge_watch.c).  Decides
 * nothing. */
int program_watch(struct judging *judging, struct gb_err *err);

/* Of a program that has passed: one that answers the input of a test with a constant becomes
 * suspect (judge_special.c). */
int special_find(struct judging *judging, struct gb_err *err);

/* ---- the text of Python code (judge_check.c) ------------------------------------------------ */

bool check_is_for(const struct judge_spec *spec);

/* Python only; needs no run of the code. */
int check_code(const struct judge_spec *spec, struct check *ret, struct gb_err *err);

/* Several solutions in one box, whose specs follow one another.  Those that could be read so are
 * marked; what breaks the reader leaves itself, and those behind it, to judging_check(). */
#define CHECKED_MAX 16
void check_some(struct judging *judgings, size_t n);

/* Fills the report as far as the text tells: with a summary it is decided. */
int judging_check(struct judging *judging, struct gb_err *err);

/* What judge_check.py printed.  ret is the caller's to clear in any case. */
int check_read(const char *json, size_t len, const struct judge_tests *tests, struct check *ret,
               struct gb_err *err);
void check_clear(struct check *check);

/* The first hint of the list that makes a pass suspect, NULL for none (judge_hints.c).  tests may
 * be NULL.  -ENOMEM or 0. */
int hints_find(const struct json_value *list, const struct judge_tests *tests,
               const struct json_value **ret);

/* ---- the verdict channel (judge_verdict.c) -------------------------------------------------- */

enum guest_outcome {
    GUEST_PASSED,
    GUEST_FAILED,
    GUEST_TIMEOUT,
    GUEST_ERROR,
    GUEST_SKIPPED,
    GUEST_NEEDS_TOGETHER,
    GUEST_SERVER_LOST,
    N_GUEST_OUTCOMES,
};

enum guest_flag {
    GUEST_FLAG_IMPORT = 1 << 0,
    GUEST_FLAG_TOO_LARGE = 1 << 1,
    GUEST_FLAG_VIOLATION = 1 << 2,
    GUEST_FLAG_EQUALITY = 1 << 3, /* and the others of these keep a pass from counting */
    GUEST_FLAG_ORDER = 1 << 4,
    GUEST_FLAG_UNNAMED = 1 << 5,
    GUEST_FLAG_REFUSED = 1 << 6,
    GUEST_FLAG_XPASSED = 1 << 7,
    GUEST_FLAG_SWALLOWED = 1 << 8,
    GUEST_FLAG_UNCOUNTED = 1 << 9, /* the runner says that it does not count, for whatever reason */
};

/* Strings are NULL where the line had none. */
struct guest_result {
    char *id;
    enum guest_outcome outcome;
    unsigned flags;
    double ms; /* negative: not told */
    char *phase;
    char *exception;
    char *message;
    char *expected;
    char *actual;
    char *source; /* of the assert: never for the model */
    char *where;
    char *output;
};

struct guest_test {
    char *id;
    bool has_class;
    enum test_class class;
};

struct guest_verdicts {
    struct guest_test *tests;
    size_t n_tests;
    struct guest_result *results;
    size_t n_results;
    char *problem; /* the first */
    bool has_end;
    bool is_broken; /* a line with the nonce that no runner writes, or too many */
};

/* Only lines that begin with the nonce count.  -ENOMEM, or 0 whatever they say; the caller owes
 * guest_verdicts_clear() in any case. */
int guest_verdicts_read(const char *text, size_t len, const char *nonce,
                        struct guest_verdicts *ret);
void guest_verdicts_clear(struct guest_verdicts *verdicts);

#define cleanup_verdicts cleanup_with(guest_verdicts_clear)

/* ---- one test, seen from the host (judge_pair.c) -------------------------------------------- */

struct pair_seen {
    const char *id;
    const struct guest_verdicts *verdicts;
    const struct limits *limits;
    const struct trial_end *runner;
    const struct trial_end *server; /* NULL: together */
};

/* Fills row and note.  1: the test needs to run together. */
int pair_judge(const struct pair_seen *seen, struct judge_row *row, struct judge_note *note,
               struct gb_err *err);

/* ---- a library (judge_library.c) ------------------------------------------------------------ */

/* Many tests in one pair of boxes. */
struct batch {
    const struct judge_spec *spec;
    const struct agent_files *code;
    const char *ids; /* a line each */
    bool ends_at_first;
    const char *cover; /* nonce of coverage lines on the server's stderr; NULL: none */
    double limit_s;    /* of each test */
    uint64_t wall_ms;
};

int library_batch(const struct batch *batch, struct guest_verdicts *ret, struct trial_end ends[2],
                  struct gb_err *err);

/* Statements that ran of all there are, from such lines; negative: not known.  Files are named
 * below dir, which is "" or ends with a slash; those that are none of the code's do not count. */
double coverage_read(const char *text, size_t len, const char *nonce,
                     const struct agent_files *code, const char *dir);

/* ---- words (judge_summary.c) ---------------------------------------------------------------- */

/* One line of a stranger's: control bytes and newlines become blanks or escapes; cut at max. */
void words_line(struct buf *ret, const char *bytes, size_t len, size_t max);
/* Indented lines below a title, head and tail of what is long; nothing for nothing. */
void words_output(struct buf *ret, const char *title, const char *bytes, size_t len, size_t max);
/* How a program ended that did not end by itself; false: it did.  *ret_diagnosis tells too. */
bool words_end(const struct trial_end *end, const struct limits *limits, struct buf *ret,
               enum diagnosis *ret_diagnosis);

/* From rows and notes: outcome, reason, diagnosis, summary. */
int judging_conclude(struct judging *judging, struct gb_err *err);
