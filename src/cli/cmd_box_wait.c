/* SPDX-License-Identifier: Apache-2.0 */
/* cli/cmd_box_wait.c - `glovebox box wait` and `box kill`: runs that another command does. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/num.h"
#include "base/sys.h"
#include "box/news.h"
#include "cli/box_open.h"
#include "cli/command.h"
#include "run/events.h"
#include "run/kept_run.h"
#include "run/record.h"

struct wait_args {
    const char *user;
    const char *signal;
};

static const struct opt options[] = {
    { OPT_TEXT, "user", 0, offsetof(struct wait_args, user), "NAME", "the box of that user" },
    { OPT_KEY, .key = KEY_COLOR },
    OPT_HELP_ROW,
    { 0 },
};

static const struct opt kill_options[] = {
    { OPT_TEXT, "user", 0, offsetof(struct wait_args, user), "NAME", "the box of that user" },
    { OPT_TEXT, "signal", 's', offsetof(struct wait_args, signal), "NAME",
      "send it this one, such as INT or USR1, and go" },
    { OPT_KEY, .key = KEY_COLOR },
    OPT_HELP_ROW,
    { 0 },
};

/* The run that was named, and where its files are. */
static int open_run(const struct call *call, struct wait_args *args, struct box_call *opened,
                    int *ret_runs_fd, struct kept_run *ret, struct gb_err *err)
{
    int r = box_call_parse(call, args, &args->user, opened, err);

    if (r == 0 && opened->n_operands != 1)
        r = gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                    "which run? Name one RUN" GB_REMEDY "glovebox box runs BOX shows them");
    if (r == 0)
        r = box_call_find(opened, args->user, err);
    if (r != 0)
        return r;
    *ret_runs_fd = run_record_dir(opened->settings.state_dir, &opened->kept, err);
    return *ret_runs_fd < 0 ? *ret_runs_fd
                            : kept_run_find(*ret_runs_fd, opened->operands[0], ret, err);
}

/* ---- wait ----------------------------------------------------------------------------------- */

/* Until nobody does it any more; then what is written down of it is the last word. */
static int await_end(int runs_fd, struct kept_run *run, struct gb_err *err)
{
    cleanup_close int news_fd = box_news_open(runs_fd);
    char id[ID_SIZE];

    memcpy(id, run->id, sizeof(id));
    while (!kept_run_has_ended(runs_fd, id))
        box_news_await(news_fd, BOX_NEWS_MS);
    kept_run_clear(run);
    return kept_run_find(runs_fd, id, run, err);
}

static int wait_call(const struct call *call, struct gb_err *err)
{
    cleanup_box_call struct box_call opened = { 0 };
    cleanup_kept_run struct kept_run run = { 0 };
    cleanup_close int runs_fd = -1;
    struct wait_args args = { 0 };
    int r = open_run(call, &args, &opened, &runs_fd, &run, err);

    if (r != 0)
        return r < 0 ? r : 0;
    r = await_end(runs_fd, &run, err);
    if (r < 0)
        return r;
    if (!run.verdict)
        return gb_fail(err, -EPIPE, GB_BLAME_HOST, "run %s was lost: its command was killed",
                       run.id);
    return (int)run.exit_code;
}

const struct cmd cmd_box_wait = {
    .name = "box wait",
    .help = "Wait for a run in a box and exit as it did",
    .usages = { "BOX RUN", "--user NAME RUN" },
    .options = options,
    .run = wait_call,
};

/* ---- kill ----------------------------------------------------------------------------------- */

/* "INT", "SIGINT", "2"; 0 for none of these. */
static uint32_t signal_of(const char *text)
{
    const char *name = strncmp(text, "SIG", 3) == 0 ? text + 3 : text;
    uint64_t number;

    if (num_parse_u64(text, 1, NSIG - 1, &number) == 0)
        return (uint32_t)number;
    for (int signo = 1; signo < NSIG; signo++)
        if (sigabbrev_np(signo) && strcmp(sigabbrev_np(signo), name) == 0)
            return (uint32_t)signo;
    return 0;
}

/* The process that does the run.  Its number means it and nobody else as long as it holds the
 * record: looked at after the number has been taken hold of. */
static int find_doer(int runs_fd, const struct kept_run *run, int *ret_pidfd, struct gb_err *err)
{
    *ret_pidfd = run->is_running ? sys_pidfd_open((pid_t)run->pid) : -1;
    if (*ret_pidfd < 0 || kept_run_has_ended(runs_fd, run->id))
        return gb_fail(err, -ESRCH, GB_BLAME_CALLER, "run %s is over", run->id);
    return 0;
}

/* It ends the run when it is asked to. */
static int end_run(int runs_fd, int pidfd, struct kept_run *run, struct gb_err *err)
{
    if (sys_pidfd_send_signal(pidfd, SIGTERM) < 0)
        return gb_fail_sys(err, "ending run %s", run->id);
    return await_end(runs_fd, run, err);
}

static int signal_run(int pidfd, uint32_t signo, const struct kept_run *run, struct gb_err *err)
{
    int r = run_events_ask_signal(pidfd, signo);

    return r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "run %s: %s", run->id, strerror(-r)) : 0;
}

static int kill_call(const struct call *call, struct gb_err *err)
{
    cleanup_box_call struct box_call opened = { 0 };
    cleanup_kept_run struct kept_run run = { 0 };
    cleanup_close int runs_fd = -1;
    cleanup_close int pidfd = -1;
    struct wait_args args = { 0 };
    int r = open_run(call, &args, &opened, &runs_fd, &run, err);
    uint32_t signo = r == 0 && args.signal ? signal_of(args.signal) : 0;

    if (r == 0 && args.signal && signo == 0)
        r = gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                    "--signal: '%.40s' is no signal, such as INT, TERM or USR1", args.signal);
    if (r == 0)
        r = find_doer(runs_fd, &run, &pidfd, err);
    if (r == 0)
        r = signo ? signal_run(pidfd, signo, &run, err) : end_run(runs_fd, pidfd, &run, err);
    return r > 0 ? 0 : r;
}

const struct cmd cmd_box_kill = {
    .name = "box kill",
    .help = "End a run in a box, and all that it started; or send it a signal",
    .usages = { "[OPTIONS] BOX RUN", "[OPTIONS] --user NAME RUN" },
    .options = kill_options,
    .run = kill_call,
};
