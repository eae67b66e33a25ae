/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run_args.h - what `glovebox run` and `glovebox runs answer` were told, checked. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli/option.h"
#include "cli/package_args.h"

struct call;
struct gb_err;

#define RUN_FILES_MAX 64
#define RUN_FILE_MAX  (32 << 20) /* bytes of all --file together */

/* How a task ends for whoever started it; glovebox(1) and glovebox-run(1) list them. */
enum run_exit {
    RUN_EXIT_PASSED = 0,
    RUN_EXIT_FAILED = 1, /* also a replay that differs */
    RUN_EXIT_USAGE = 2,
    RUN_EXIT_WAITING = 3,
    RUN_EXIT_ERROR = 125,
    RUN_EXIT_CANCELLED = 130,
};

enum run_style {
    RUN_STYLE_PEOPLE,
    RUN_STYLE_JSON,  /* one document on stdout */
    RUN_STYLE_JSONL, /* an event a line on stdout, the document last */
};

/* Strings are the command line's. */
struct run_args {
    const char *objective; /* NULL: it is resumed or replayed */
    const char *language;  /* a name of run/language.h; NULL */
    struct text_list files;
    struct package_args packages;
    const char *net;  /* rules, as egress/policy.h reads them; NULL: none were said */
    const char *user; /* whose box the last run has, and who keeps it; NULL: nobody's */
    const char *out;  /* NULL: only in the run's folder */
    bool is_forced;   /* out may have files */
    const char *resume;
    const char *resume_from; /* a run's folder */
    const char *continues;
    const char *answer; /* to the question that the task waits with */
    const char *record;
    const char *replay;
    bool replays_task; /* replay is the id of a task; else the path of a recording */
    enum run_style style;
    bool is_plain;
    const struct parsed *parsed; /* the flags that are settings */
};

/* Takes down how the command tells what it does.  r: what its options came to; where they could not
 * be understood, the words of the call say how that is told.  r, or -EINVAL for both styles at
 * once. */
int run_take_style(const struct call *call, int r, bool is_json, bool is_jsonl,
                   struct run_args *ret, struct gb_err *err);

/* Begins a task, or goes on with one, and tells how it went.  An exit code, or a negative errno
 * with err set; then nothing was printed but progress. */
int run_task(const struct call *call, const struct run_args *args, struct gb_err *err);

/* The document, or the last event, of a command that failed. */
void run_refused(const struct run_args *args, const struct gb_err *why);
