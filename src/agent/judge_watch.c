/* SPDX-License-Identifier: Apache-2.0 */
/* agent/judge_watch.c - which statements of a Python program do its cases reach?
 *
 * Each case once more, in a box of its own, with the program's lines watched (judge_cover of
 * docs/internals/judge-guest.md): that slows the program down and is nobody's proof, so the runs
 * that count go without.  What the program prints is not looked at.  A share is told only when
 * every run was watched to its end; stress cases would only take time, and so would those that come
 * when every statement has been reached.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "agent/contract.h"
#include "agent/crew.h"
#include "agent/judge_inside.h"
#include "base/clock.h"
#include "base/err.h"

#define WATCH_NS   (10 * NS_PER_S) /* for all cases */
#define INPUT_MAX  (CASE_REPEATED_MAX + 1)
#define TOLD_MAX   (64 << 20)
#define LOOKED_MAX (1 << 20) /* bytes of lines that are read after each case */

struct watching {
    const struct judging *j;
    struct judge_spec spec; /* with less time */
    struct program program; /* whose command is the watcher's; only argv and load are its own */
    char nonce[ID_SIZE];
    atomic_bool is_lost;  /* a run was not watched to its end, or could not be begun */
    atomic_bool is_full;  /* nothing is left to be reached */
    pthread_mutex_t lock; /* of what follows */
    struct buf told;
    int r; /* first failure */
    struct gb_err err;
};

/* ---- the watcher's command ------------------------------------------------------------------ */

static bool is_source(const struct watching *w, const struct agent_file *file)
{
    return strcmp(file->path, w->spec.contract->files[0]) == 0 ||
           language_by_path(file->path) == w->program.language;
}

static int make_argv(struct watching *w, const char *const *command)
{
    const struct agent_files *code = w->spec.code;
    const char *const start[] = { "python3", "-I",    "-B", guest_path(GUEST_COVER),
                                  "--nonce", w->nonce };
    size_t n_command = 0;
    size_t n = 0;
    const char **argv;

    while (command[n_command])
        n_command++;
    argv = calloc(N_ELEMENTS(start) + 2 * code->n + n_command + 2, sizeof(*argv));
    if (!argv)
        return -ENOMEM;
    for (size_t i = 0; i < N_ELEMENTS(start); i++)
        argv[n++] = start[i];
    for (size_t i = 0; i < code->n; i++) {
        if (!is_source(w, &code->items[i]))
            continue;
        argv[n++] = "--file";
        argv[n++] = code->items[i].path;
    }
    argv[n++] = "--";
    for (size_t i = 0; i < n_command; i++)
        argv[n++] = command[i];
    w->program.argv = argv;
    return 0;
}

static int begin(struct watching *w, struct judging *j, struct gb_err *err)
{
    uint64_t until_ns = clock_now_ns() + WATCH_NS;
    int r = judge_nonce(w->nonce, err);

    if (r < 0)
        return r;
    w->j = j;
    w->spec = *j->spec;
    if (w->spec.deadline_ns == 0 || w->spec.deadline_ns > until_ns)
        w->spec.deadline_ns = until_ns;
    w->program = j->program;
    w->program.argv = NULL;
    w->program.load = (struct load){ 0 };
    w->program.pool = NULL; /* the watcher starts a process: no box is as good as new after it */
    if (make_argv(w, j->program.argv) < 0 || load_copy(&w->program.load, &j->program.load) < 0 ||
        load_guest(&w->program.load, GUEST_COVER) < 0)
        return gb_no_memory(err);
    return 0;
}

/* ---- one case ------------------------------------------------------------------------------- */

static int run_case(const struct watching *w, const struct program_case *item,
                    struct trial_end *ret, struct gb_err *err)
{
    cleanup_buf struct buf input = BUF_INIT(INPUT_MAX);
    cleanup_load struct load load = { 0 };

    *ret = (struct trial_end){ 0 };
    if (case_input(item, &input) < 0 || program_case_load(&w->program, &w->spec, item, &load) < 0)
        return gb_no_memory(err);
    return program_start(&w->program, &load, item->argv, input.data, input.len,
                         w->program.box.limits.wall_ms, &w->spec, ret, err);
}

static void fail(struct watching *w, int r, const struct gb_err *err)
{
    (void)pthread_mutex_lock(&w->lock);
    if (w->r == 0) {
        w->r = r;
        w->err = *err;
    }
    (void)pthread_mutex_unlock(&w->lock);
    atomic_store(&w->is_lost, true);
}

static double share(const struct watching *w)
{
    return coverage_read(w->told.data ? w->told.data : "", w->told.len, w->nonce, w->spec.code, "");
}

static void take(struct watching *w, const struct buf *told)
{
    (void)pthread_mutex_lock(&w->lock);
    (void)buf_add(&w->told, told->data ? told->data : "", told->len);
    if (w->told.len <= LOOKED_MAX && share(w) >= 1)
        atomic_store(&w->is_full, true);
    (void)pthread_mutex_unlock(&w->lock);
}

static void watch_case(void *user, size_t i)
{
    struct watching *w = user;
    const struct judge_note *note = &w->j->notes[i];
    struct gb_err err = { 0 };
    struct trial_end end;
    int r;

    if (atomic_load(&w->is_lost) || atomic_load(&w->is_full) || note->test->is_withdrawn ||
        note->test->class == CLASS_STRESS)
        return;
    r = run_case(w, note->item, &end, &err);
    if (r < 0) {
        fail(w, r, &err);
    } else if (end.verdict != VERDICT_OK) {
        atomic_store(&w->is_lost, true);
    } else {
        take(w, &end.err);
    }
    trial_end_clear(&end);
}

int program_watch(struct judging *j, struct gb_err *err)
{
    struct watching w = { .lock = PTHREAD_MUTEX_INITIALIZER, .told = BUF_INIT(TOLD_MAX) };
    int r = begin(&w, j, err);

    if (r == 0)
        crew_do(j->report->n_rows, w.spec.jobs, watch_case, &w);
    if (w.r < 0) {
        r = w.r;
        if (err)
            *err = w.err;
    }
    if (r == 0 && !atomic_load(&w.is_lost) && buf_error(&w.told) == 0)
        j->report->coverage = share(&w);
    free(w.program.argv);
    load_clear(&w.program.load);
    buf_clear(&w.told);
    (void)pthread_mutex_destroy(&w.lock);
    return r;
}
