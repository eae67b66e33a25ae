/* SPDX-License-Identifier: Apache-2.0 */
/* conform/trial.h - one test of the suite: a backend, a run directory of its own, a box.
 *
 * Every test of the suite runs once for each backend that this machine can use; CONFORM_BACKEND in
 * the environment picks one, CONFORM_ENGINE, CONFORM_IMAGE, CONFORM_GROUP (the parent of its
 * containers' groups), CONFORM_TAG (how their names begin) and CONFORM_LACKS (walls that it cannot
 * build here) tell of an engine.  It gets a struct
 * trial that is ready to open a box, and leaves nothing: what is open is closed behind it, and the
 * ledger is compared.  Tests are cmocka's; the state is the trial.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "box/box.h"
#include "ledger.h"

#include <cmocka.h>

#define TRIAL_KEPT_MAX 65536

/* A promised time, as it is asserted here: ten times as much where a check shares its machine, the
 * time itself in a proof (GLOVEBOX_PROOF; tests/lib/pace.py). */
unsigned trial_within_ms(unsigned ms);

/* One output stream of the last run: its beginning as text, all of it counted and hashed. */
struct trial_stream {
    char text[TRIAL_KEPT_MAX];
    uint64_t total;
    uint64_t hash;
};

struct trial {
    const struct box_ops *ops;
    char run_dir[64];
    struct box_engine engine; /* of backends that have one */
    struct box_spec spec;     /* of box_open(); the limits are those of runs too */
    wall_set walls;           /* that its boxes have */
    struct ledger_scope scope;
    struct ledger before;
    struct box *box; /* NULL: none; whatever is left here is closed in the end */
    struct gb_err err;
    struct box_run_end end;         /* of the last run */
    struct trial_stream streams[3]; /* by number */
};

/* Opens a box, which must succeed. */
void trial_open(struct trial *t);

/* Closes it; nothing may survive. */
void trial_close(struct trial *t);

/* A run of argv with everything else as usual, for box_run(). */
struct box_run_spec trial_spec(struct trial *t, const char *const *argv);

/* Runs it into t->end and t->streams; what box_run() returned. */
int trial_run(struct trial *t, const struct box_run_spec *spec);

/* `sh -c script`, which must at least start and leave no survivor. */
void trial_sh(struct trial *t, const char *script);

/* The same, and it must end with exit 0 and this on stdout. */
void trial_says(struct trial *t, const char *script, const char *out);

/* Pids on the host, told by /proc; 0 when there is none. */
pid_t trial_spawner(void);
pid_t trial_glove(const struct trial *t);

/* The number of a FNV-1a hash, continued. */
uint64_t trial_hash(uint64_t hash, const void *bytes, size_t len);
#define TRIAL_HASH_START 14695981039346656037ULL

struct trial_test {
    const char *name;
    void (*run)(void **state);
    bool (*fits)(const struct box_ops *ops); /* NULL: every backend */
};

#define TRIAL_TEST(function) TRIAL_TEST_IF(function, NULL)

/* Of backends that have what the test is about; others do not list it. */
#define TRIAL_TEST_IF(function, fits) \
    {                                 \
#        function, function, fits     \
    }

/* main() of a program of the suite. */
int trial_main(const struct trial_test *tests, size_t n_tests);
