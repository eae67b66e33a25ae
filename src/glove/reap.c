/* SPDX-License-Identifier: Apache-2.0 */
/* glove/reap.c - the children of the glove: their table, their reports, their ends. */
#include "glove/reap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "glove/child.h"

#define KILL_PATIENCE_MS 2000
#define KILL_PAUSE_MS    10

#define REAPED_IN_A_ROW 256

/* Where the search for survivors ends, when the kernel does not tell; and what it can be at most.
 */
#define PIDS_DEFAULT 32768
#define PIDS_MAX     4194304

/* ---- the table ------------------------------------------------------------------------------ */

struct child *child_find(struct glove *glove, enum child_kind kind, uint32_t seq)
{
    for (size_t i = 0; i < CHILDREN_MAX; i++)
        if (glove->children[i].kind == kind &&
            (kind == CHILD_NONE || glove->children[i].seq == seq))
            return &glove->children[i];
    return NULL;
}

static struct child *find_pid(struct glove *glove, pid_t pid)
{
    for (size_t i = 0; i < CHILDREN_MAX; i++)
        if (glove->children[i].kind != CHILD_NONE && glove->children[i].pid == pid)
            return &glove->children[i];
    return NULL;
}

struct child *child_add(struct glove *glove, enum child_kind kind, uint32_t seq, int *ret_report_fd)
{
    struct child *child = child_find(glove, CHILD_NONE, 0);
    int fds[2];

    if (!child || pipe2(fds, O_CLOEXEC) < 0)
        return NULL;
    if (fd_set_nonblock(fds[0]) < 0) {
        close(fds[0]);
        close(fds[1]);
        return NULL;
    }
    *child = (struct child){
        .kind = kind,
        .seq = seq,
        .report_fd = fds[0],
        .status_fd = -1,
        .tty_fd = -1,
        .started_ns = clock_now_ns(),
    };
    *ret_report_fd = fds[1];
    return child;
}

void child_remove(struct child *child)
{
    if (child->report_fd >= 0)
        close(child->report_fd);
    if (child->status_fd >= 0)
        close(child->status_fd);
    if (child->tty_fd >= 0)
        close(child->tty_fd);
    child->kind = CHILD_NONE;
}

/* ---- reports -------------------------------------------------------------------------------- */

/* 1 when the report is in, or known never to come. */
static int read_report(struct child *child)
{
    ssize_t n;

    do {
        n = read(child->report_fd, &child->report, sizeof(child->report));
    } while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN)
        return 0;
    child->has_report = n == (ssize_t)sizeof(child->report);
    close(child->report_fd);
    child->report_fd = -1;
    return 1;
}

static int answer_error(struct glove *glove, const struct child *child)
{
    return link_error(&glove->link, child->seq, (int)child->report.error,
                      (enum glove_step)child->report.step);
}

void reap_note_main(struct glove *glove, struct child *child, pid_t pid)
{
    child->main_pid = pid;
    if (child->is_fresh)
        remains_started(&glove->remains, pid);
    reap_forget_session(glove, pid);
}

pid_t reap_main_pid(struct glove *glove, struct child *child)
{
    pid_t pid;

    if (child->main_pid == 0 && child->is_minded &&
        read(child->status_fd, &pid, sizeof(pid)) == (ssize_t)sizeof(pid))
        reap_note_main(glove, child, pid);
    return child->main_pid;
}

int reap_report(struct glove *glove, struct child *child)
{
    if (read_report(child) == 0 || child->kind != CHILD_RUN)
        return 0;
    if (child->has_report)
        return answer_error(glove, child);
    return link_ok(&glove->link, child->seq, (uint64_t)reap_main_pid(glove, child));
}

/* ---- ends ----------------------------------------------------------------------------------- */

static uint64_t usage_us(const struct rusage *usage)
{
    return (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000 +
           (uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
}

/* Of the fullest disk; what cannot be asked is taken for full. */
static void note_room(const struct setup *setup, struct msg_exit *msg)
{
    struct statfs fs;

    for (size_t i = 0; i < setup->n_disks; i++) {
        bool is_known = statfs(setup->disks[i], &fs) == 0;
        uint64_t bytes = is_known ? (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize : 0;
        uint64_t inodes = is_known ? (uint64_t)fs.f_ffree : 0;

        msg->disk_free = i == 0 || bytes < msg->disk_free ? bytes : msg->disk_free;
        msg->inodes_free = i == 0 || inodes < msg->inodes_free ? inodes : msg->inodes_free;
    }
}

static int send_exit(struct glove *glove, const struct child *child, int status,
                     const struct rusage *usage)
{
    struct msg_exit msg = {
        .run = child->seq,
        .code = WIFEXITED(status) ? (uint32_t)WEXITSTATUS(status) : 0,
        .signo = WIFSIGNALED(status) ? (uint32_t)WTERMSIG(status) : 0,
        .wall_us = (clock_now_ns() - child->started_ns) / 1000,
        .cpu_us = usage_us(usage),
        .maxrss_bytes = (uint64_t)usage->ru_maxrss * 1024,
    };

    note_room(&glove->setup, &msg);
    return link_send(&glove->link, MSG_EXIT, 0, 0, &msg);
}

/* The init of a namespace, or the minder, tells the status of its program; one that was killed
 * cannot, and its own is the truth. */
static int status_of(const struct child *child, int status)
{
    int told;

    if (child->status_fd < 0)
        return status;
    return read(child->status_fd, &told, sizeof(told)) == (ssize_t)sizeof(told) ? told : status;
}

static void note_ended(struct glove *glove, const struct child *child)
{
    glove->ended[glove->next_ended] =
        (struct ended){ .seq = child->seq, .session = child->main_pid };
    glove->next_ended = (glove->next_ended + 1) % ENDED_MAX;
}

void reap_forget_session(struct glove *glove, pid_t pid)
{
    for (size_t i = 0; i < ENDED_MAX; i++)
        if (glove->ended[i].session == pid)
            glove->ended[i] = (struct ended){ 0 };
}

/* A dead child has closed its end, and so has everything in the namespace of a dead init: the
 * report is read now or never comes. */
static int child_ended(struct glove *glove, struct child *child, int status,
                       const struct rusage *usage)
{
    int r = child->report_fd >= 0 ? reap_report(glove, child) : 0;

    /* A minder that ends well has left nothing. */
    if (child->kind == CHILD_RUN && reap_main_pid(glove, child) &&
        !(child->is_minded && WIFEXITED(status) && WEXITSTATUS(status) == 0))
        note_ended(glove, child);
    child->pid = 0;
    if (r < 0 || child->kind != CHILD_RUN)
        return r;
    r = child->has_report ? 0 : send_exit(glove, child, status_of(child, status), usage);
    child_remove(child);
    return r;
}

/* A child that was killed before it could report has been cancelled. */
static int answer_porter(struct glove *glove, struct child *child)
{
    int r;

    if (!child->has_report)
        r = link_error(&glove->link, child->seq, ECANCELED, GLOVE_STEP_FILE);
    else if (child->report.error != 0)
        r = answer_error(glove, child);
    else
        r = link_ok(&glove->link, child->seq, child->report.value);
    child_remove(child);
    return r;
}

int reap_settle(struct glove *glove)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < CHILDREN_MAX; i++) {
        struct child *child = &glove->children[i];

        if (child->pid != 0 || child->kind != CHILD_PORTER)
            continue;
        if (child->channel == 0 || !channel_find(&glove->channels, child->channel))
            r = answer_porter(glove, child);
    }
    return r;
}

int reap_some(struct glove *glove)
{
    glove->may_reap_more = false;
    for (int i = 0; i < REAPED_IN_A_ROW; i++) {
        struct rusage usage;
        struct child *child;
        int status;
        pid_t pid = wait4(-1, &status, WNOHANG, &usage);
        int r;

        if (pid <= 0)
            return 0;
        if (!child_has_ended(pid, status))
            continue;
        child = find_pid(glove, pid);
        r = child ? child_ended(glove, child, status, &usage) : 0;
        if (r < 0)
            return r;
    }
    glove->may_reap_more = true;
    return 0;
}

/* ---- killing -------------------------------------------------------------------------------- */

/* One more than the greatest number that a process can have. */
static pid_t pids_end(void)
{
    char text[32];
    long end = fd_read_text(AT_FDCWD, "/proc/sys/kernel/pid_max", text, sizeof(text)) > 0
                   ? strtol(text, NULL, 10)
                   : 0;

    return end > 0 && end <= PIDS_MAX ? (pid_t)end : PIDS_DEFAULT;
}

static uint64_t count_survivors(void)
{
    pid_t end = pids_end();
    uint64_t n = 0;

    for (pid_t pid = 2; pid < end; pid++)
        n += kill(pid, 0) == 0 || errno == EPERM;
    return n > 0 ? n : 1;
}

/* Signals the run's session: what is left of one whose group or minder is gone. */
static bool session_kill(pid_t session)
{
    pid_t end = pids_end();
    bool is_empty = true;

    for (pid_t pid = 2; pid < end; pid++) {
        if (getsid(pid) != session)
            continue;
        (void)kill(pid, SIGKILL);
        is_empty = false;
    }
    return is_empty;
}

static bool has_other_runs(const struct glove *glove, uint32_t run)
{
    for (size_t i = 0; run && i < CHILDREN_MAX; i++) {
        const struct child *child = &glove->children[i];

        if (child->kind != CHILD_NONE && child->pid > 0 &&
            !(child->kind == CHILD_RUN && child->seq == run))
            return true;
    }
    return false;
}

/* The minder of a run that is under way, 0 for none. */
static pid_t minder_of(struct glove *glove, uint32_t run)
{
    const struct child *child = run ? child_find(glove, CHILD_RUN, run) : NULL;

    return child && child->is_minded ? child->pid : 0;
}

/* 0 for one that is not known, any more. */
static pid_t session_of(struct glove *glove, uint32_t run)
{
    const struct child *child = child_find(glove, CHILD_RUN, run);

    if (run == 0)
        return 0;
    if (child)
        return child->main_pid;
    for (size_t i = 0; i < ENDED_MAX; i++)
        if (glove->ended[i].seq == run)
            return glove->ended[i].session;
    return 0;
}

/* True when nobody is left.  kill(-1) says 0 even when every signal was refused, and a zombie
 * counts until it is reaped: the box is empty when there is nobody left to signal. */
static bool kill_once(struct glove *glove, uint32_t run)
{
    pid_t minder = minder_of(glove, run);
    pid_t session = session_of(glove, run);

    if (!has_other_runs(glove, run))
        return kill(-1, SIGKILL) < 0 && errno == ESRCH;
    if (minder == 0)
        return session == 0 || session_kill(session);
    (void)kill(minder, SIGTERM);
    return false;
}

int reap_kill(struct glove *glove, const void *msg)
{
    const struct msg_kill *request = msg;
    uint64_t deadline_ns = clock_after_ms(KILL_PATIENCE_MS);
    struct pollfd ended = { .fd = glove->signal_fd, .events = POLLIN };

    if (getpid() != 1)
        return link_error(&glove->link, request->seq, EPERM, GLOVE_STEP_REQUEST);
    for (;;) {
        int r;

        if (kill_once(glove, request->run))
            return link_ok(&glove->link, request->seq, 0);
        (void)poll(&ended, 1, KILL_PAUSE_MS);
        r = glove_signals(glove);
        if (r < 0)
            return r;
        if (clock_now_ns() >= deadline_ns)
            return link_ok(&glove->link, request->seq, count_survivors());
    }
}
