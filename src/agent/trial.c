/* SPDX-License-Identifier: Apache-2.0 */
/* agent/trial.c - a program in a box of its own, and two with their pipes crossed. */
#include "agent/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "run/environment.h"
#include "run/run.h"

struct trial {
    const struct trial_spec *spec;
    struct trial_end *end;
    int stdin_fd;
    int stdout_fd; /* -1: kept */
    int cancel_fd;
    int r;
    struct gb_err err;
};

/* The beginning is worth more than the end of what a program says: the rest is counted only. */
static int keep(void *user, int stream, const void *bytes, size_t len)
{
    struct trial *t = user;
    struct buf *buf = stream == 1 ? &t->end->out : &t->end->err;
    size_t room = t->spec->keep - buf->len;

    if (len > room) {
        t->end->is_cut = true;
        len = room;
    }
    return len > 0 ? buf_add(buf, bytes, len) : 0;
}

static int run_in(struct trial *t, struct box *box)
{
    int sinks[3] = { -1, t->stdout_fd, -1 };
    struct box_run_spec spec = {
        .argv = t->spec->argv,
        .cwd = BOX_WORKSPACE,
        .limits = t->spec->box->limits,
        .stdin_fd = t->stdin_fd,
        .cancel_fd = t->cancel_fd,
        .output = keep,
        .user = t,
        .sinks = t->stdout_fd >= 0 ? sinks : NULL,
    };
    struct run_env env;
    uint64_t mark;
    int r = box_put(box, BOX_WORKSPACE, t->spec->files, t->spec->n_files, &mark, &t->err);

    if (r < 0)
        return r;
    r = run_env_make(&env, box_path(box), BOX_WORKSPACE, NULL, t->spec->env);
    if (r < 0)
        return gb_fail(&t->err, r, GB_BLAME_HOST, "no memory for the environment");
    spec.env = env.list;
    r = box_run(box, &spec, &t->end->end, &t->err);
    run_env_clear(&env);
    return r;
}

static void run_trial(struct trial *t)
{
    struct box_spec spec = *t->spec->box;
    struct run_facts facts;
    struct box *box;

    spec.ttl_ms = spec.limits.wall_ms + 10000;
    t->r = box_begin(&spec, &box, &t->err);
    if (t->r < 0)
        return;
    t->r = run_in(t, box);
    (void)box_close(box);
    if (t->r < 0)
        return;
    facts = run_facts_of(&t->end->end);
    t->end->verdict = verdict_of(&facts);
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

int trial_pair(const struct trial_spec *first, const struct trial_spec *second,
               struct trial_end ret[static 2], struct gb_err *err)
{
    cleanup_close int stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct trial a = { .spec = first, .end = &ret[0], .stdin_fd = -1, .stdout_fd = -1 };
    struct trial b = { .spec = second, .end = &ret[1], .stdin_fd = -1, .stdout_fd = -1 };
    int r;

    end_init(&ret[0], first->keep);
    end_init(&ret[1], second->keep);
    a.cancel_fd = first->cancel_fd;
    b.cancel_fd = stop;
    r = stop < 0 ? -errno : cross(&a, &b);
    if (r == 0)
        r = run_both(&a, &b, stop);
    drop_fd(&a.stdin_fd);
    drop_fd(&a.stdout_fd);
    drop_fd(&b.stdin_fd);
    drop_fd(&b.stdout_fd);
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "starting two boxes: %s", strerror(-r));
    if (a.r < 0 || b.r < 0) {
        if (err)
            *err = a.r < 0 ? a.err : b.err;
        return a.r < 0 ? a.r : b.r;
    }
    return 0;
}

void trial_end_clear(struct trial_end *end)
{
    buf_clear(&end->out);
    buf_clear(&end->err);
}
