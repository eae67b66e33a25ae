/* SPDX-License-Identifier: Apache-2.0 */
/* glove/minder.c - the parent of a run that has no group of its own.
 *
 * A process that forks and ends over and over may be missed by one look at the children, not by
 * every one: each look costs less than its fork.  After PATIENCE_MS the rest is left to the glove,
 * which kills everything when no other run is under way.
 */
#include "glove/minder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "glove/drop.h"

#define PATIENCE_MS 2000
#define PAUSE_NS    1000000

/* A part of the children is enough for one look: there is another. */
#define LIST_SIZE 8192

struct minder {
    pid_t main_pid;
    int status_fd;
    bool is_over; /* the program has ended; it is a zombie until all others are gone */
    sigset_t signals;
};

/* ---- ends ----------------------------------------------------------------------------------- */

static bool is_end(const siginfo_t *info)
{
    return info->si_code == CLD_EXITED || info->si_code == CLD_KILLED ||
           info->si_code == CLD_DUMPED;
}

static void reap_one(pid_t pid)
{
    int status;

    if (wait4(pid, &status, WNOHANG, NULL) == pid)
        (void)child_has_ended(pid, status);
}

/* Orphans that have ended, until the program is among those that wait to be reaped. */
static void reap_others(struct minder *minder)
{
    while (!minder->is_over) {
        siginfo_t info = { 0 };

        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0)
            return;
        if (info.si_pid == minder->main_pid && is_end(&info))
            minder->is_over = true;
        else
            reap_one(info.si_pid);
    }
}

/* True when there is no child any more, so that there can be no descendant either. */
static bool reap_main(struct minder *minder)
{
    int status;
    pid_t pid;

    if (minder->is_over && minder->main_pid &&
        wait4(minder->main_pid, &status, WNOHANG, NULL) == minder->main_pid) {
        (void)fd_write_full(minder->status_fd, &status, sizeof(status));
        minder->main_pid = 0;
    }
    if (minder->main_pid)
        return false;
    while ((pid = wait4(-1, &status, WNOHANG, NULL)) > 0)
        (void)child_has_ended(pid, status);
    return pid < 0 && errno == ECHILD;
}

/* ---- killing -------------------------------------------------------------------------------- */

/* Kills every child that is listed; how many there were besides a program that has ended. */
static int kill_listed(struct minder *minder)
{
    char list[LIST_SIZE] = "";
    cleanup_close int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? -errno : fd_read_full(fd, list, sizeof(list) - 1);
    char *at = list;
    int n = 0;

    if (len < 0)
        return (int)len;
    /* The last number may have been cut off: only what a blank follows counts. */
    for (;;) {
        char *end;
        pid_t pid = (pid_t)strtol(at, &end, 10);

        if (end == at || *end != ' ' || pid <= 1)
            return n;
        at = end;
        if (pid == minder->main_pid && minder->is_over)
            continue;
        n++;
        (void)kill(pid, SIGKILL);
        if (pid != minder->main_pid)
            reap_one(pid);
    }
}

/* Is nothing left? */
static bool end_all(struct minder *minder)
{
    const struct timespec pause = { .tv_nsec = PAUSE_NS };
    uint64_t deadline_ns = clock_after_ms(PATIENCE_MS);

    while (clock_now_ns() < deadline_ns) {
        int n = kill_listed(minder);

        reap_others(minder);
        /* The list is exact only when nothing changes: the last word is wait's. */
        if (n == 0 && reap_main(minder))
            return true;
        if (n < 0)
            break;
        (void)sigtimedwait(&minder->signals, NULL, &pause);
    }
    return reap_main(minder);
}

/* ---- being one ------------------------------------------------------------------------------ */

static void mind(struct minder *minder) __attribute__((noreturn));

static void mind(struct minder *minder)
{
    bool is_told = false;

    for (;;) {
        reap_others(minder);
        if (minder->is_over || is_told)
            _exit(end_all(minder) ? 0 : 1);
        is_told = sigwaitinfo(&minder->signals, NULL) == SIGTERM;
    }
}

static void become_program(const struct child_plan *plan) __attribute__((noreturn));

static void become_program(const struct child_plan *plan)
{
    pid_t self = getpid();
    int r = fd_write_full(plan->status_fd, &self, sizeof(self));

    if (r < 0)
        child_report(plan->report_fd, GLOVE_STEP_PIPE, -r, 0);
    child_begin(plan);
    child_exec(plan);
}

static int begin(struct minder *minder)
{
    (void)sigemptyset(&minder->signals);
    (void)sigaddset(&minder->signals, SIGCHLD);
    (void)sigaddset(&minder->signals, SIGTERM);
    if (sigprocmask(SIG_BLOCK, &minder->signals, NULL) < 0 ||
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 || prctl(PR_SET_NAME, "minder", 0, 0, 0) < 0)
        return -errno;
    return 0;
}

void minder_exec(const struct child_plan *plan)
{
    struct minder minder = { .status_fd = plan->status_fd };
    int r = begin(&minder);

    if (r == 0) {
        minder.main_pid = child_fork(-1, 0);
        if (minder.main_pid == 0)
            become_program(plan);
        r = minder.main_pid < 0 ? minder.main_pid : drop_to_kill();
    }
    if (r == 0)
        r = fd_close_from(3, &plan->status_fd, 1);
    if (r < 0)
        child_report(plan->report_fd, GLOVE_STEP_FORK, -r, 0);
    mind(&minder);
}
