/* SPDX-License-Identifier: Apache-2.0 */
/* box/process.c - one program in a box, from its start to the last process of it.
 *
 *    open   the backend makes groups for the run
 *    start  RUN; the glove answers when the program has been executed
 *    watch  until EXIT: output to the caller, input to the program; whichever limit is reached
 *           first kills
 *    close  the backend kills what is left and reads the counters; the rest of the output, which
 *           the dead cannot add to, is drained
 *
 * The clock, the kills and the counters are the host's.  From inside the box come only the way the
 * main process ended and how full the disk was.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/num.h"
#include "box/box.h"
#include "box/link.h"
#include "wire/msg.h"

/* After a kill: how long the EXIT and the end of the output may take. */
#define DRAIN_MS 2000

/* CPU time is looked at when it could be used up, but not more often than this. */
#define CPU_LOOK_MS 10

#define RUN_FDS_MAX 8
#define INPUT_PIECE 16384

/* A frame bounds both together; on the heap, because the compiler clears what is on the stack. */
#define RUN_ARGV_MAX WIRE_PAYLOAD_MAX
#define RUN_ENV_MAX  (WIRE_PAYLOAD_MAX / 2)

struct stream {
    struct process *process;
    int number; /* 1 stdout, 2 stderr */
    uint32_t channel;
    bool is_finished;
};

struct process {
    struct box *box;
    const struct box_run_spec *spec;
    struct box_run_end *end;
    uint32_t seq; /* of RUN: the run's name */
    struct stream out;
    struct stream err;
    uint32_t in;        /* channel, 0: none or finished */
    uint32_t event_seq; /* of an event that the glove has not answered; 0: none */
    bool is_started;
    bool is_unwanted; /* the caller takes no more output */
    int uncounted;    /* 0, or the errno with which the CPU time could not be read */
    uint64_t started_ns;
    uint64_t ended_ns; /* 0: not told */
    uint64_t wall_deadline_ns;
    uint64_t cpu_look_ns;
    uint64_t drain_deadline_ns; /* once killed */
};

/* ---- output --------------------------------------------------------------------------------- */

/* Bytes over output_max are counted up to the first one too many and not handed on: the count in
 * the result is exact. */
static size_t stream_take(void *user, size_t len)
{
    struct stream *stream = user;
    struct process *p = stream->process;
    uint64_t *totals = p->end->output_bytes;
    uint64_t left = p->spec->limits.output_max - totals[1] - totals[2];

    if (p->end->kill == BOX_KILL_OUTPUT)
        return 0;
    if (len > left) {
        len = (size_t)left;
        /* What it was killed for before stays the reason. */
        if (p->end->kill == BOX_KILL_NONE)
            p->end->kill = BOX_KILL_OUTPUT;
    }
    totals[stream->number] += len;
    return len;
}

static void stream_data(void *user, const uint8_t *bytes, size_t len)
{
    struct stream *stream = user;
    struct process *p = stream->process;

    len = stream_take(user, len);
    if (len > 0 && p->spec->output(p->spec->user, stream->number, bytes, len) < 0)
        p->is_unwanted = true;
}

static void stream_refused(void *user)
{
    struct stream *stream = user;

    stream->process->is_unwanted = true;
}

static void stream_fin(void *user)
{
    struct stream *stream = user;

    stream->is_finished = true;
}

static const struct channel_ops stream_ops = {
    .data = stream_data,
    .fin = stream_fin,
    .take = stream_take,
    .refused = stream_refused,
};

static void process_exited(void *user, const struct msg_exit *msg)
{
    struct process *p = user;

    if (msg->run != p->seq || p->end->has_exited)
        return;
    p->end->has_exited = true;
    p->end->code = msg->code;
    p->end->signo = msg->signo;
    p->end->disk_free = msg->disk_free;
    p->end->inodes_free = msg->inodes_free;
    p->ended_ns = clock_now_ns();
    p->end->wall_ns = msg->wall_us * 1000;
}

/* ---- start ---------------------------------------------------------------------------------- */

static int open_channels(struct process *p, struct gb_err *err)
{
    struct link *link = box_link(p->box);

    p->out = (struct stream){ .process = p, .number = 1 };
    p->err = (struct stream){ .process = p, .number = 2 };
    p->err.is_finished = p->spec->has_tty;
    p->out.channel = link_channel_open(link, &stream_ops, &p->out);
    p->err.channel = p->spec->has_tty ? 0 : link_channel_open(link, &stream_ops, &p->err);
    p->in = p->spec->stdin_fd >= 0 ? link_channel_open(link, NULL, p) : 0;
    if (!p->out.channel || (!p->err.channel && !p->spec->has_tty) ||
        (p->spec->stdin_fd >= 0 && !p->in))
        return gb_fail(err, -EBUSY, GB_BLAME_BUG, "no free channel");
    if (p->spec->sinks && p->spec->sinks[1] >= 0)
        link_channel_sink(link, p->out.channel, p->spec->sinks[1]);
    if (p->spec->sinks && p->spec->sinks[2] >= 0 && p->err.channel)
        link_channel_sink(link, p->err.channel, p->spec->sinks[2]);
    return 0;
}

static void close_channels(struct process *p)
{
    link_channel_close(box_link(p->box), p->out.channel);
    if (p->err.channel)
        link_channel_close(box_link(p->box), p->err.channel);
    if (p->in)
        link_channel_close(box_link(p->box), p->in);
}

static int pack(const char *const *strings, char *bytes, size_t size, struct wire_strs *ret,
                struct gb_err *err)
{
    int r = wire_strs_pack(strings, bytes, size, ret);

    if (r < 0)
        return gb_fail(
            err, r, GB_BLAME_CALLER,
            "arguments and environment are too long for a box (%zu KiB): put them into a file",
            size / 1024);
    return 0;
}

static int send_run(struct process *p, struct gb_err *err)
{
    static const char nothing[] = "";
    cleanup_free char *room = malloc(RUN_ARGV_MAX + RUN_ENV_MAX);
    int fds[RUN_FDS_MAX];
    size_t n_fds = RUN_FDS_MAX;
    bool has_v2 = false;
    struct msg_run run = {
        .in = p->in,
        .out = p->out.channel,
        .err = p->err.channel,
        .rows = p->spec->rows,
        .cols = p->spec->cols,
        .cwd = p->spec->cwd,
        .hidden = { .packed = nothing },
    };
    int r;

    if (!room)
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for arguments");
    r = pack(p->spec->argv, room, RUN_ARGV_MAX, &run.argv, err);
    if (r == 0)
        r = pack(p->spec->env, room + RUN_ARGV_MAX, RUN_ENV_MAX, &run.env, err);
    if (r == 0)
        r = box_ops_of(p->box)->run_open(p->box, &p->spec->limits, fds, &n_fds, &has_v2, err);
    if (r < 0)
        return r;
    run.flags = (has_v2 ? RUN_FLAG_GROUP : 0) | (p->spec->has_tty ? RUN_FLAG_TTY : 0) |
                (p->spec->is_fresh ? RUN_FLAG_FRESH : 0);
    run.n_fds = (uint32_t)n_fds;
    r = link_request(box_link(p->box), MSG_RUN, &run, fds, n_fds, &p->seq, err);
    box_set_run_seq(p->box, r == 0 ? p->seq : 0);
    return r;
}

/* A program that cannot be executed is a result; anything else that fails before it is the box's
 * failure. */
static int started(struct process *p, int code, uint32_t step, struct gb_err *err)
{
    int wall = wall_of_step(step);

    if (code >= 0) {
        p->is_started = true;
        return 0;
    }
    if (step == GLOVE_STEP_EXEC || step == GLOVE_STEP_CWD) {
        p->end->exec_error = -code;
        return 0;
    }
    if (step == GLOVE_STEP_FRESH && code == -ESTALE)
        return gb_fail(err, code, GB_BLAME_CALLER, "an earlier run has left something in the box");
    if (wall >= 0)
        return wall_fail((enum wall)wall, code, p->spec->ret_broken, err);
    return gb_fail(err, code, GB_BLAME_HOST, "starting a program in the box failed at step %u: %s",
                   step, strerror(-code));
}

/* ---- watch ---------------------------------------------------------------------------------- */

static void kill_for(struct process *p, enum box_kill cause)
{
    struct gb_err ignored = { 0 };

    if (p->end->kill == BOX_KILL_NONE)
        p->end->kill = cause;
    if (p->drain_deadline_ns == 0)
        p->drain_deadline_ns = clock_after_ms(DRAIN_MS);
    /* When it fails the group is not empty at the end, and the survivors tell. */
    (void)box_ops_of(p->box)->run_kill(p->box, &ignored);
}

/* One piece of the caller's input, as much as the glove takes. */
static void feed_input(struct process *p)
{
    struct link *link = box_link(p->box);
    char piece[INPUT_PIECE];
    size_t room = link_channel_room(link, p->in);
    ssize_t n = read(p->spec->stdin_fd, piece, room < sizeof(piece) ? room : sizeof(piece));

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    /* An input that cannot be read has ended. */
    if (n <= 0) {
        (void)link_channel_send(link, p->in, NULL, 0, true);
        link_channel_close(link, p->in);
        p->in = 0;
        return;
    }
    (void)link_channel_send(link, p->in, piece, (size_t)n, false);
}

/* ---- events --------------------------------------------------------------------------------- */

/* One at a time: what comes meanwhile waits where it comes from. */
static bool awaits_event(struct process *p)
{
    uint32_t where = 0;
    uint64_t value;

    if (!p->spec->events || !p->is_started || p->drain_deadline_ns)
        return false;
    if (p->event_seq && link_answer(box_link(p->box), p->event_seq, &value, &where) == 0)
        return false;
    p->event_seq = 0; /* what the glove refused concerned a program that is over */
    return true;
}

static int pass_event(struct process *p, struct gb_err *err)
{
    struct link *link = box_link(p->box);
    struct box_event event;
    struct msg_signal signal;
    struct msg_resize resize;

    if (!p->spec->events->next(p->spec->events->user, &event))
        return 0;
    if (event.kind == BOX_EVENT_SIGNAL) {
        signal = (struct msg_signal){ .run = p->seq, .signo = event.signo };
        return link_request(link, MSG_SIGNAL, &signal, NULL, 0, &p->event_seq, err);
    }
    resize = (struct msg_resize){ .run = p->seq, .rows = event.rows, .cols = event.cols };
    return link_request(link, MSG_RESIZE, &resize, NULL, 0, &p->event_seq, err);
}

/* The link keeps the answer until somebody takes it. */
static void forget_event(struct process *p)
{
    struct gb_err ignored = { 0 };
    uint32_t where;
    uint64_t value;

    if (p->event_seq && !link_is_lost(box_link(p->box)))
        (void)link_await(box_link(p->box), p->event_seq, clock_after_ms(DRAIN_MS), &value, &where,
                         &ignored);
}

/* ---- limits --------------------------------------------------------------------------------- */

/* A limit that cannot be watched any more ends the run, and not as if it had been reached. */
static void check_cpu(struct process *p, uint64_t now)
{
    uint64_t limit = p->spec->limits.cpu_ms * NS_PER_MS;
    uint64_t used = 0;
    uint64_t soonest;
    int r;

    if (now < p->cpu_look_ns)
        return;
    r = box_ops_of(p->box)->run_cpu_ns(p->box, &used);
    if (r < 0) {
        p->uncounted = -r;
        kill_for(p, BOX_KILL_NONE);
        return;
    }
    if (used >= limit) {
        kill_for(p, BOX_KILL_CPU);
        return;
    }
    soonest = (limit - used) / p->spec->limits.cpu_milli * 1000;
    if (soonest < CPU_LOOK_MS * NS_PER_MS)
        soonest = CPU_LOOK_MS * NS_PER_MS;
    p->cpu_look_ns = now + soonest;
}

static void check_limits(struct process *p)
{
    uint64_t now = clock_now_ns();

    if (p->drain_deadline_ns)
        return;
    if (p->end->kill == BOX_KILL_OUTPUT)
        kill_for(p, BOX_KILL_OUTPUT);
    else if (now >= p->wall_deadline_ns)
        kill_for(p, BOX_KILL_WALL);
    else if (p->is_unwanted)
        kill_for(p, BOX_KILL_CANCEL);
    else
        check_cpu(p, now);
}

static uint64_t next_look(const struct process *p)
{
    if (p->drain_deadline_ns)
        return p->drain_deadline_ns;
    /* Output that came while the box was still waited for may have decided already. */
    if (p->is_unwanted || p->end->kill == BOX_KILL_OUTPUT)
        return 0;
    return p->wall_deadline_ns < p->cpu_look_ns ? p->wall_deadline_ns : p->cpu_look_ns;
}

/* A box ends with its spawner, whose guard removes it. */
static int hold_lost(struct process *p, struct gb_err *err)
{
    kill_for(p, BOX_KILL_NONE);
    p->end->is_lost = true;
    return gb_fail(err, -EPIPE, GB_BLAME_HOST, "the box was lost: its spawner has ended");
}

/* Waits for one event.  Negative: the link is lost. */
static int step(struct process *p, struct gb_err *err)
{
    struct pollfd extra[4];
    struct pollfd *watch_fd = &extra[0];
    struct pollfd *cancel = NULL;
    struct pollfd *input = NULL;
    struct pollfd *events = NULL;
    size_t n = 1;
    int r;

    *watch_fd = (struct pollfd){ .fd = box_ops_of(p->box)->watch_fd(p->box), .events = POLLIN };
    if (p->spec->cancel_fd >= 0 && !p->drain_deadline_ns) {
        cancel = &extra[n++];
        *cancel = (struct pollfd){ .fd = p->spec->cancel_fd, .events = POLLIN };
    }
    if (p->in && !p->drain_deadline_ns && link_channel_room(box_link(p->box), p->in) > 0) {
        input = &extra[n++];
        *input = (struct pollfd){ .fd = p->spec->stdin_fd, .events = POLLIN };
    }
    if (awaits_event(p)) {
        events = &extra[n++];
        *events = (struct pollfd){ .fd = p->spec->events->fd, .events = POLLIN };
    }
    r = link_pump(box_link(p->box), next_look(p), extra, n, err);
    if (r < 0)
        return r;
    if (watch_fd->revents)
        return hold_lost(p, err);
    if (cancel && cancel->revents)
        kill_for(p, BOX_KILL_CANCEL);
    if (input && input->revents)
        feed_input(p);
    if (events && events->revents)
        r = pass_event(p, err);
    check_limits(p);
    return r < 0 ? r : 0;
}

static bool has_drained(const struct process *p)
{
    return p->drain_deadline_ns && clock_poll_ms(p->drain_deadline_ns) == 0;
}

/* The answer comes before the EXIT, but both may be there at once: it is looked at first, or a
 * short program would not count as started. */
static int watch(struct process *p, struct gb_err *err)
{
    bool is_answered = false;

    while (!has_drained(p)) {
        uint32_t where = 0;
        uint64_t pid;
        int r = is_answered ? 0 : link_answer(box_link(p->box), p->seq, &pid, &where);

        if (r != 0) {
            is_answered = true;
            r = started(p, r, where, err);
            if (r < 0 || p->end->exec_error)
                return r;
            continue;
        }
        if (p->end->has_exited)
            return 0;
        r = step(p, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- the end -------------------------------------------------------------------------------- */

/* What the dead have written is still on its way. */
static int drain(struct process *p, struct gb_err *err)
{
    p->drain_deadline_ns = clock_after_ms(DRAIN_MS);
    while (!(p->out.is_finished && p->err.is_finished) && !has_drained(p)) {
        int r = step(p, err);

        if (r < 0)
            return r;
    }
    return 0;
}

/* A box that ended by itself behind the limit, because its caller was stuck, timed out. */
static void note_lost(struct process *p)
{
    if (!link_is_lost(box_link(p->box)) || p->end->has_exited || p->end->exec_error)
        return;
    if (p->end->kill == BOX_KILL_NONE && clock_now_ns() >= p->wall_deadline_ns)
        p->end->kill = BOX_KILL_WALL;
    if (p->end->kill == BOX_KILL_NONE)
        p->end->is_lost = true;
}

/* The first run of a box begins when its glove does; later ones when they are asked for. */
static void clock_start(struct process *p, uint64_t asked_ns)
{
    uint64_t ready_ns = box_ready_ns(p->box);

    p->started_ns = ready_ns > asked_ns ? ready_ns : asked_ns;
    p->wall_deadline_ns = p->started_ns + p->spec->limits.wall_ms * NS_PER_MS;
    p->cpu_look_ns =
        p->started_ns + p->spec->limits.cpu_ms * 1000 / p->spec->limits.cpu_milli * NS_PER_MS;
}

/* The glove knows best how long a program took that ended by itself: its end may be read together
 * with the greeting of the box.  It is believed within what this clock has seen. */
static void note_wall(struct process *p, uint64_t asked_ns)
{
    uint64_t ended_ns = p->ended_ns ? p->ended_ns : clock_now_ns();

    if (p->ended_ns && p->end->kill == BOX_KILL_NONE && p->end->wall_ns <= ended_ns - asked_ns)
        return;
    p->end->wall_ns = ended_ns > p->started_ns ? ended_ns - p->started_ns : 0;
}

static bool leaves_half(uint64_t used, uint64_t whole, const struct limits *run)
{
    return used <= whole && whole - used >= run->memory_bytes / 2;
}

/* Files lie in memory and outlive their program: one that finds less than half of its own would die
 * of what others have left, again and again (R03).  They are counted by themselves only when all
 * memory of the box together is too much: that takes far longer to read. */
static int check_memory_left(struct box *box, const struct limits *run, struct gb_err *err)
{
    uint64_t whole = box_receipt(box)->limits.memory_bytes;
    char files_text[NUM_TEXT_MAX];
    char whole_text[NUM_TEXT_MAX];
    struct box_usage usage;
    struct gb_err ignored = { 0 };

    /* What nobody counts is not limited either, and a box that is lost is told of by the run. */
    if (!box_is_attached(box) || leaves_half(box_memory_bytes(box), whole, run) ||
        box_usage(box, &usage, &ignored) < 0 || leaves_half(usage.memory_files, whole, run))
        return 0;
    return gb_fail(err, -ENOSPC, GB_BLAME_HOST,
                   "files take %s of the box's %s of memory, which leaves a program less than half "
                   "of its own" GB_REMEDY
                   "remove files (glovebox box rmfile BOX PATH) or System V memory (glovebox "
                   "box run BOX --memory 16m -- ipcrm --all=shm), or make a "
                   "box with more --memory",
                   num_size_text(usage.memory_files, files_text), num_size_text(whole, whole_text));
}

int box_run(struct box *box, const struct box_run_spec *spec, struct box_run_end *ret,
            struct gb_err *err)
{
    struct process p = { .box = box, .spec = spec, .end = ret };
    struct gb_err lost = { 0 };
    uint64_t asked_ns;
    int settled;
    int closed;
    int r;

    *ret = (struct box_run_end){ .disk_free = UINT64_MAX, .inodes_free = UINT64_MAX };
    r = check_memory_left(box, &spec->limits, err);
    if (r < 0)
        return r;
    r = open_channels(&p, err);
    if (r < 0) {
        close_channels(&p);
        return r;
    }
    link_on_exit(box_link(box), process_exited, &p);
    asked_ns = clock_now_ns();
    r = send_run(&p, &lost);
    settled = box_settle(box, err);
    if (settled < 0) {
        /* Why there is no box counts, not that its groups are not there. */
        lost = (struct gb_err){ 0 };
        r = settled;
    }
    clock_start(&p, asked_ns);
    if (r == 0)
        r = watch(&p, &lost);
    note_wall(&p, asked_ns);
    closed = box_ops_of(box)->run_close(box, spec->is_last, ret, settled < 0 ? NULL : err);
    if (p.uncounted)
        ret->count_error = p.uncounted;
    if (r == 0 && closed == 0 && p.is_started)
        r = drain(&p, &lost);
    forget_event(&p);
    if (settled == 0)
        note_lost(&p);
    link_on_exit(box_link(box), NULL, NULL);
    close_channels(&p);
    if (closed < 0 && settled == 0)
        return closed;
    /* Also when the end of the program was heard of: what is not a box has no result. */
    if (settled < 0)
        return settled;
    if (r < 0 && !ret->is_lost && !ret->has_exited && ret->kill == BOX_KILL_NONE)
        return lost.code ? (*err = lost, r) : r;
    return 0;
}
