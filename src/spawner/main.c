/* SPDX-License-Identifier: Apache-2.0 */
/* spawner/main.c - the program that builds one native box and removes it again.
 *
 * Started by posix_spawn() from a sealed memfd, with an empty environment and one descriptor, 3:
 * the control socket.  It reads a plan, builds the box, and then watches two things: the socket,
 * whose end means that the host is gone or done, and the box's PID 1.  Whichever ends first, the
 * box is removed completely and this process goes; should it be killed, its guard does that.  A
 * host that wants its box to live on says so, and this process becomes its keeper (keep.h).  One
 * thread, no malloc, nothing secret in its memory; a box cloned from it inherits nothing worth
 * having.
 *
 * One spawner for each box: a spawner that is killed takes no other box with it, and its straight
 * line needs no table of boxes.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/sys.h"
#include "spawner/box.h"
#include "spawner/guard.h"
#include "spawner/keep.h"

#define CONTROL_FD     3
#define FDS_MAX        KEEP_FDS /* as many as any message brings */
#define SWEEP_AGAIN_MS 1000

struct spawner {
    struct wire_reader reader;
    struct plan plan;
    struct box box;
    struct keep keep;
    int fds[FDS_MAX]; /* came with the last frames: belong to PLAN, or to KEEP */
    size_t n_fds;
};

/* Zero pages until they are used. */
static struct spawner spawner;

static int send_msg(uint8_t type, const void *msg, const int *fds, size_t n_fds)
{
    static uint8_t frame[WIRE_FRAME_MAX];
    int len = msg_encode(type, 0, 0, msg, frame, sizeof(frame));
    ssize_t n;

    if (len < 0)
        return len;
    n = fd_send(CONTROL_FD, frame, (size_t)len, fds, n_fds, 0);
    if (n < 0)
        return (int)n;
    return n == len ? 0 : fd_write_full(CONTROL_FD, frame + n, (size_t)(len - n));
}

/* Reads once; 0 at the end of the socket. */
static ssize_t feed(struct spawner *s)
{
    size_t room;
    uint8_t *at = wire_reader_room(&s->reader, &room);
    size_t n_fds = FDS_MAX - s->n_fds;
    ssize_t n = fd_recv(CONTROL_FD, at, room, s->fds + s->n_fds, &n_fds, 0);

    s->n_fds += n_fds;
    if (n > 0)
        wire_reader_fed(&s->reader, (size_t)n);
    return n;
}

/* 1 and a frame, 0 when the socket has ended, or a failure. */
static int next_frame(struct spawner *s, struct wire_head *ret_head, const uint8_t **ret_payload)
{
    for (;;) {
        int r = wire_reader_next(&s->reader, ret_head, ret_payload);
        ssize_t n;

        if (r != 0)
            return r < 0 || msg_direction(ret_head->type) & SPAWN_IN ? r : -EPROTO;
        n = feed(s);
        if (n <= 0)
            return (int)n;
    }
}

/* Up to GO; anything else than a whole plan ends the spawner, with nothing made yet. */
static int read_plan(struct spawner *s)
{
    struct wire_head head;
    const uint8_t *payload;
    int r;

    while ((r = next_frame(s, &head, &payload)) > 0) {
        if (head.type == MSG_GO)
            return s->plan.n_steps > 0 ? 0 : -EPROTO;
        r = plan_add(&s->plan, head.type, payload, head.size, s->fds, s->n_fds);
        if (r < 0)
            return r;
        if (head.type == MSG_PLAN)
            s->n_fds = 0; /* the plan's now */
    }
    return r < 0 ? r : -ECONNRESET;
}

static int report_groups(const struct box *box)
{
    struct msg_groups groups = { .slot = box->slot.number };
    int fds[GROUPS_MAX];

    for (size_t i = 0; i < box->n_groups; i++)
        fds[i] = box->groups[i].dir_fd;
    return send_msg(MSG_GROUPS, &groups, fds, box->n_groups);
}

static void report_gone(int error, uint32_t survivors)
{
    struct msg_gone gone = { .error = (uint32_t)-error, .survivors = survivors };

    (void)send_msg(MSG_GONE, &gone, NULL, 0);
}

/* Returns when the box must end or has ended, or the host has something to say: true. */
static bool await_word(const struct spawner *s, uint64_t end_ns)
{
    struct pollfd fds[2] = {
        { .fd = CONTROL_FD, .events = POLLIN },
        { .fd = s->box.pidfd, .events = POLLIN },
    };
    int n;

    do {
        n = poll(fds, N_ELEMENTS(fds), clock_poll_ms(end_ns));
    } while (n < 0 && errno == EINTR);
    return n > 0 && fds[0].revents && !fds[1].revents;
}

/* The host goes and leaves the box here.  The end of it is told to whoever asked for it. */
static void keep(struct spawner *s)
{
    char nothing[1] = { 0 };
    int asker;

    (void)prctl(PR_SET_NAME, "glovebox-keeper");
    if (send_msg(MSG_KEPT, nothing, NULL, 0) < 0)
        return;
    asker = keep_serve(&s->keep);
    if (asker >= 0)
        (void)dup2(asker, CONTROL_FD);
}

/* Returns when the box must end or has ended.  The host can say KEEP; anything else is DESTROY. */
static void watch(struct spawner *s)
{
    uint32_t ttl_ms = s->plan.head.ttl_ms;
    uint64_t end_ns = ttl_ms ? clock_after_ms(ttl_ms) : CLOCK_NEVER_NS;
    struct wire_head head;
    const uint8_t *payload;
    struct msg_keep msg;

    if (!await_word(s, end_ns) || next_frame(s, &head, &payload) <= 0 || head.type != MSG_KEEP ||
        msg_decode(MSG_KEEP, payload, head.size, &msg) < 0)
        return;
    if (keep_begin(&s->keep, &s->box, &msg, s->fds, s->n_fds, end_ns) == 0)
        keep(s);
}

/* Processes that the kernel cannot end yet (waiting for a device) keep this one here, so that slot
 * and groups stay owned until they are gone. */
static void remove_box(struct spawner *s)
{
    uint32_t survivors = 0;
    int r = box_destroy(&s->box, &survivors);

    keep_forget(&s->keep);
    report_gone(r, survivors);
    while (r == -EBUSY) {
        (void)poll(NULL, 0, SWEEP_AGAIN_MS);
        r = box_destroy(&s->box, &survivors);
    }
}

/* The spawner was killed, in the middle of anything.  Its slot, the descriptor of PID 1, which the
 * kernel itself writes, and what the record names are all that can be believed. */
static void stand_in(void *arg)
{
    struct spawner *s = arg;
    uint32_t survivors = 0;
    int r;

    if (s->box.slot.fd < 0)
        return; /* nothing was made */
    if (s->box.pidfd >= 0)
        (void)sys_pidfd_send_signal(s->box.pidfd, SIGKILL);
    r = box_sweep(&s->box.slot, &survivors);
    keep_forget(&s->keep);
    report_gone(r, survivors);
    while (r == -EBUSY) {
        (void)poll(NULL, 0, SWEEP_AGAIN_MS);
        r = box_sweep(&s->box.slot, &survivors);
    }
}

/* A host that is gone already needs no box: what was made is removed again. */
static void live(struct spawner *s)
{
    struct failure failure = { 0 };
    int r = box_prepare(&s->box, &s->plan, &failure);

    if (r == 0)
        r = box_build(&s->box, CONTROL_FD, &failure);
    if (r < 0)
        failure_send(CONTROL_FD, &failure);
    else if (report_groups(&s->box) == 0)
        watch(s);
    remove_box(s);
}

static int serve(struct spawner *s)
{
    pid_t guard = guard_start(stand_in, s);
    int r = read_plan(s);

    if (r == 0)
        live(s);
    guard_dismiss(guard);
    return r < 0;
}

/* The caller waits for the parent, and nobody for us. */
static int become_orphan(void)
{
    pid_t pid = fork();

    if (pid > 0)
        _exit(0);
    return pid < 0 ? -errno : 0;
}

int main(int argc, char **argv)
{
    const int keep[] = { CONTROL_FD };
    sigset_t all;

    if (argc > 1 && strcmp(argv[1], SPAWNER_ORPHAN) == 0 && become_orphan() < 0)
        return 1;
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, NULL);
    /* Whoever started us may ignore it, and then nobody could be waited for.  The rest is blocked
     * here, and the glove sets every signal itself. */
    (void)signal(SIGCHLD, SIG_DFL);
    (void)setsid();
    (void)prctl(PR_SET_NAME, "glovebox-spawn");
    umask(077);
    if (fd_close_from(CONTROL_FD + 1, keep, 0) < 0)
        return 1;
    box_init(&spawner.box);
    wire_reader_init(&spawner.reader);
    return serve(&spawner);
}
