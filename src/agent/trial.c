/* SPDX-License-Identifier: Apache-2.0 */
/* agent/trial.c - a program in a box of its own, and two with their pipes crossed. */
#include "agent/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/trial_pool.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "run/environment.h"
#include "run/run.h"

/* Exit codes of a program that could not be executed, as shells have them. */
#define EXIT_NOT_FOUND  127
#define EXIT_NOT_USABLE 126

/* Boxes end by themselves so long after the program must have ended. */
#define TTL_SLACK_MS 10000

struct stream {
    struct buf *buf;
    size_t ring; /* bytes at the end of a full buf that are overwritten in turn; 0: none yet */
    size_t at;
};

struct trial {
    const struct trial_spec *spec;
    struct trial_end *end;
    int stdin_fd;
    int stdout_fd; /* -1: kept */
    int cancel_fd;
    struct stream streams[3];
    struct limits limits;
    bool is_shortened; /* the deadline comes before the wall limit */
    int r;
    struct gb_err err;
};

/* The first half of what may be kept is the beginning; the other half is a ring. */
static void keep_ring(struct stream *stream, const char *bytes, size_t len)
{
    size_t half = stream->buf->len - stream->ring;

    if (len > stream->ring) {
        stream->at = (stream->at + len - stream->ring) % stream->ring;
        bytes += len - stream->ring;
        len = stream->ring;
    }
    for (size_t n; len > 0; len -= n, bytes += n) {
        size_t room = stream->ring - stream->at;

        n = len < room ? len : room;
        memcpy(stream->buf->data + half + stream->at, bytes, n);
        stream->at = (stream->at + n) % stream->ring;
    }
}

static int keep(void *user, int number, const void *bytes, size_t len)
{
    struct trial *t = user;
    struct stream *stream = &t->streams[number];
    size_t room = t->spec->keep - stream->buf->len;
    size_t first = len < room ? len : room;
    int r = first > 0 ? buf_add(stream->buf, bytes, first) : 0;

    if (r < 0 || len == first)
        return r;
    t->end->is_cut[number] = true;
    stream->ring = t->spec->keep / 2;
    if (stream->ring > 0)
        keep_ring(stream, (const char *)bytes + first, len - first);
    return 0;
}

static void reverse(char *bytes, size_t len)
{
    for (size_t i = 0; i < len / 2; i++) {
        char byte = bytes[i];

        bytes[i] = bytes[len - 1 - i];
        bytes[len - 1 - i] = byte;
    }
}

/* The ring begins where its oldest byte is: turned in its place, each part and then the whole. */
static void straighten(struct stream *stream)
{
    char *ring;

    if (stream->ring == 0 || stream->at == 0)
        return;
    ring = stream->buf->data + stream->buf->len - stream->ring;
    reverse(ring, stream->at);
    reverse(ring + stream->at, stream->ring - stream->at);
    reverse(ring, stream->ring);
}

/* Ends as if a shell had tried to start it. */
static void end_unstarted(struct trial *t, uint32_t code, const char *what, const char *why)
{
    char line[512];
    int n = snprintf(line, sizeof(line), "%.200s: %.280s\n", what, why);

    t->end->end.has_exited = true;
    t->end->end.code = code;
    if (n > 0 && (size_t)n <= t->spec->keep)
        (void)buf_add(&t->end->err, line, (size_t)n);
}

static void note_exec_error(struct trial *t)
{
    int code = t->end->end.exec_error;

    end_unstarted(t, code == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_USABLE, t->spec->argv[0],
                  strerror(code));
}

/* Names that cannot be: "a" and "a/b".  That is no fault of the box. */
static bool is_about_paths(int r)
{
    static const int codes[] = { EEXIST, ENOTDIR, EISDIR, ENAMETOOLONG, ELOOP, EINVAL };

    for (size_t i = 0; i < N_ELEMENTS(codes); i++)
        if (r == -codes[i])
            return true;
    return false;
}

static int run_in(struct trial *t, struct box *box, bool has_files, bool is_fresh)
{
    int sinks[3] = { -1, t->stdout_fd, -1 };
    struct box_run_spec spec = {
        .argv = t->spec->argv,
        .cwd = BOX_WORKSPACE,
        .limits = t->limits,
        .stdin_fd = t->stdin_fd,
        .cancel_fd = t->cancel_fd,
        .output = keep,
        .user = t,
        .sinks = t->stdout_fd >= 0 ? sinks : NULL,
        .is_fresh = is_fresh,
    };
    const struct run_env_places places = { box_path(box), box_python_path(box), BOX_WORKSPACE };
    struct run_env env;
    uint64_t mark;
    int r = 0;

    if (!has_files && t->spec->n_files > 0)
        r = box_put(box, BOX_WORKSPACE, t->spec->files, t->spec->n_files, &mark, &t->err);
    if (is_about_paths(r)) {
        end_unstarted(t, EXIT_NOT_USABLE, "files", t->err.msg);
        t->end->end.disk_free = t->end->end.inodes_free = UINT64_MAX;
        return 0;
    }
    if (r < 0)
        return r;
    r = run_env_make(&env, &places, t->spec->env, t->spec->more_env);
    if (r < 0)
        return gb_fail(&t->err, r, GB_BLAME_HOST, "no memory for the environment");
    spec.env = env.list;
    r = box_run(box, &spec, &t->end->end, &t->err);
    run_env_clear(&env);
    t->end->has_begun = r == 0 && !t->end->end.exec_error;
    if (r == 0 && t->end->end.exec_error)
        note_exec_error(t);
    return r;
}

static void note_verdict(struct trial *t, const struct run_facts *facts)
{
    t->end->verdict = verdict_of(facts);
    t->end->is_late = t->is_shortened && t->end->verdict == VERDICT_TIMEOUT;
}

/* Shortens what it may take to what is left; false: nothing is. */
static bool has_time(struct trial *t)
{
    uint64_t deadline_ns = t->spec->deadline_ns;
    uint64_t now = clock_now_ns();
    uint64_t left_ms;

    t->limits = t->spec->box->limits;
    if (t->spec->there)
        t->limits = limits_min(t->limits, box_receipt(t->spec->there)->limits);
    if (deadline_ns == 0 || deadline_ns == CLOCK_NEVER_NS)
        return true;
    if (now >= deadline_ns)
        return false;
    left_ms = (deadline_ns - now) / NS_PER_MS + 1;
    t->is_shortened = left_ms < t->limits.wall_ms;
    if (t->is_shortened)
        t->limits.wall_ms = left_ms;
    return true;
}

/* What a program has built may be anything, such as too much. */
static int get(struct trial *t, struct box *box)
{
    int r = box_get(box, t->spec->get, t->spec->get_ops, t->spec->get_user, &t->err);

    if (r == 0 || r == -ENOMEM || t->err.blame != GB_BLAME_CALLER)
        return r;
    t->end->refused = t->err;
    return 0;
}

/* A lone small file goes into the box as it is built, which saves a process and a round trip. */
static bool can_plant(const struct trial_spec *spec)
{
    const struct box_ops *ops = box_backend(spec->box->backend, NULL);

    return ops && ops->plants && spec->n_files == 1 && spec->files[0].bytes &&
           spec->files[0].size <= BOX_SEED_MAX && !strchr(spec->files[0].path, '/');
}

/* The program, and what comes out of the box. */
static void use(struct trial *t, struct box *box, bool has_files, bool is_fresh)
{
    const struct box_run_end *end = &t->end->end;
    struct run_facts facts;

    t->r = run_in(t, box, has_files, is_fresh);
    if (t->r < 0)
        return;
    facts = run_facts_of(end);
    note_verdict(t, &facts);
    if (t->spec->get && t->end->verdict == VERDICT_OK)
        t->r = get(t, box);
    run_drain(box, &facts, end->wall_ns / 1000, t->limits.wall_ms, t->cancel_fd);
}

/* Only what ended by itself leaves a box that is worth asking for again. */
static bool has_ended_well(const struct trial *t)
{
    return t->r == 0 && t->end->end.survivors == 0 && t->end->end.exec_error == 0 &&
           (t->end->verdict == VERDICT_OK || t->end->verdict == VERDICT_NONZERO);
}

static void run_standing(struct trial *t, struct standing *standing, bool has_files)
{
    bool is_watched = !t->spec->is_reading && pool_is_watched(t->spec->pool);

    use(t, standing->box, has_files, is_watched);
    if (has_ended_well(t) && (is_watched || t->spec->is_reading))
        pool_give(t->spec->pool, standing);
    else
        pool_drop(t->spec->pool, standing, t->r == -ESTALE);
}

/* In a box that has served before; false: there was none that is as good as new. */
static bool run_again(struct trial *t)
{
    struct standing *standing = pool_take(t->spec->pool);

    if (!standing)
        return false;
    run_standing(t, standing, true);
    if (t->r != -ESTALE)
        return true;
    t->r = 0;
    t->err = (struct gb_err){ 0 };
    /* Some of the input may be on its way to the run that did not begin. */
    if (t->stdin_fd >= 0)
        (void)lseek(t->stdin_fd, 0, SEEK_SET);
    return false;
}

static void run_new(struct trial *t)
{
    struct trial_pool *pool = t->spec->pool;
    struct box_spec spec = *t->spec->box;
    bool is_planted = can_plant(t->spec);
    struct standing *standing;
    struct box *box;

    spec.limits = t->limits;
    spec.ttl_ms = spec.limits.wall_ms + TTL_SLACK_MS;
    if (is_planted)
        spec.seed = &t->spec->files[0];
    if (pool && (t->spec->is_reading || pool_is_open(pool))) {
        standing = pool_begin(pool, &spec, &t->err);
        t->r = standing ? 0 : t->err.code;
        if (standing)
            run_standing(t, standing, is_planted);
        return;
    }
    t->r = box_begin(&spec, &box, &t->err);
    if (t->r < 0)
        return;
    use(t, box, is_planted, false);
    (void)box_close(box);
}

static void run_trial(struct trial *t)
{
    t->streams[1].buf = &t->end->out;
    t->streams[2].buf = &t->end->err;
    if (!has_time(t)) {
        t->end->verdict = VERDICT_TIMEOUT;
        t->end->is_late = true;
        return;
    }
    if (t->spec->there)
        use(t, t->spec->there, false, false);
    else if (!t->spec->pool || !run_again(t))
        run_new(t);
    if (t->r < 0)
        return;
    straighten(&t->streams[1]);
    straighten(&t->streams[2]);
    if (t->end->verdict == VERDICT_SANDBOX_ERROR)
        t->r = gb_fail(&t->err, -EPIPE, GB_BLAME_HOST, "a box was lost while a program ran in it");
}

static void end_init(struct trial_end *end, size_t keep_bytes)
{
    *end = (struct trial_end){ .out = BUF_INIT(keep_bytes), .err = BUF_INIT(keep_bytes) };
}

/* -1 and no error for an empty input. */
static int input_open(const struct trial_spec *spec, struct gb_err *err)
{
    cleanup_close int fd = -1;
    int r;

    if (spec->input_len == 0)
        return -1;
    fd = memfd_create("input", MFD_CLOEXEC);
    if (fd < 0)
        return gb_fail_sys(err, "making a file for the input");
    r = fd_write_full(fd, spec->input, spec->input_len);
    if (r < 0 || lseek(fd, 0, SEEK_SET) < 0)
        return gb_fail(err, r < 0 ? r : -errno, GB_BLAME_HOST, "writing the input");
    return take_fd(&fd);
}

int trial_run(const struct trial_spec *spec, struct trial_end *ret, struct gb_err *err)
{
    struct trial t = { .spec = spec, .end = ret, .stdout_fd = -1, .cancel_fd = spec->cancel_fd };

    end_init(ret, spec->keep);
    t.stdin_fd = input_open(spec, &t.err);
    if (t.stdin_fd >= -1)
        run_trial(&t);
    else
        t.r = t.stdin_fd;
    if (t.stdin_fd >= 0)
        close(t.stdin_fd);
    if (t.r < 0 && err)
        *err = t.err;
    return t.r;
}

/* ---- pairs ---------------------------------------------------------------------------------- */

/* Its reader sees the end of what it wrote, its writer that nobody reads any more. */
static void *run_and_hang_up(void *arg)
{
    struct trial *t = arg;

    run_trial(t);
    drop_fd(&t->stdout_fd);
    drop_fd(&t->stdin_fd);
    return NULL;
}

/* a's output is b's input and the other way round. */
static int cross(struct trial *a, struct trial *b)
{
    int to_b[2];
    int to_a[2];

    if (pipe2(to_b, O_CLOEXEC) < 0)
        return -errno;
    a->stdout_fd = to_b[1];
    b->stdin_fd = to_b[0];
    if (pipe2(to_a, O_CLOEXEC) < 0)
        return -errno;
    b->stdout_fd = to_a[1];
    a->stdin_fd = to_a[0];
    return 0;
}

/* A box whose partner has gone writes into a pipe that nobody reads.  The signal is the writing
 * thread's own: it is held back, and what is left of it taken, whatever the program does with it.
 */
static void pipe_signal_hold(sigset_t *before)
{
    sigset_t set;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &set, before);
}

static void pipe_signal_release(const sigset_t *before)
{
    static const struct timespec now = { 0 };
    sigset_t set;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGPIPE);
    if (!sigismember(before, SIGPIPE))
        (void)sigtimedwait(&set, NULL, &now);
    (void)pthread_sigmask(SIG_SETMASK, before, NULL);
}

static int run_both(struct trial *a, struct trial *b, int stop_fd)
{
    uint64_t one = 1;
    pthread_t other;
    int r = pthread_create(&other, NULL, run_and_hang_up, b);

    if (r != 0)
        return -r;
    (void)run_and_hang_up(a);
    if (write(stop_fd, &one, sizeof(one)) < 0)
        return -errno; /* cannot happen: the counter is empty */
    (void)pthread_join(other, NULL);
    return 0;
}

/* One that was ended because its partner does not listen any more was cancelled by nobody: how the
 * partner ended tells more. */
static void note_refused(struct trial *t)
{
    struct pollfd wait = { .fd = t->cancel_fd, .events = POLLIN };
    struct run_facts facts;

    if (t->end->end.kill != BOX_KILL_CANCEL || poll(&wait, 1, 0) == 1)
        return;
    t->end->end.kill = BOX_KILL_NONE;
    facts = run_facts_of(&t->end->end);
    note_verdict(t, &facts);
}

int trial_pair(const struct trial_spec *first, const struct trial_spec *second,
               struct trial_end ret[static 2], struct gb_err *err)
{
    cleanup_close int stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct trial a = { .spec = first, .end = &ret[0], .stdin_fd = -1, .stdout_fd = -1 };
    struct trial b = { .spec = second, .end = &ret[1], .stdin_fd = -1, .stdout_fd = -1 };
    sigset_t before;
    int r;

    end_init(&ret[0], first->keep);
    end_init(&ret[1], second->keep);
    a.cancel_fd = first->cancel_fd;
    b.cancel_fd = stop;
    r = stop < 0 ? -errno : cross(&a, &b);
    pipe_signal_hold(&before);
    if (r == 0)
        r = run_both(&a, &b, stop);
    drop_fd(&a.stdin_fd);
    drop_fd(&a.stdout_fd);
    drop_fd(&b.stdin_fd);
    drop_fd(&b.stdout_fd);
    pipe_signal_release(&before);
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "starting two boxes: %s", strerror(-r));
    if (a.r < 0 || b.r < 0) {
        if (err)
            *err = a.r < 0 ? a.err : b.err;
        return a.r < 0 ? a.r : b.r;
    }
    note_refused(&a);
    return 0;
}

void trial_end_clear(struct trial_end *end)
{
    buf_clear(&end->out);
    buf_clear(&end->err);
}
