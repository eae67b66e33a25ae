/* SPDX-License-Identifier: Apache-2.0 */
/* run/run.c - a request, executed in a box of its own. */
#include "run/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "box/audit.h"
#include "box/box.h"
#include "box/carry.h"
#include "box/link.h"
#include "run/environment.h"
#include "run/language.h"
#include "run/result.h"
#include "run/transfer.h"

/* Where compiled things go: writable, executable, not in the workspace.  In a box that has other
 * runs the run's id stands behind it. */
#define BUILD_DIR  "/tmp"
#define BUILD_NAME ".glovebox-build"
#define BUILD_OUT  BUILD_DIR "/" BUILD_NAME

#define TTL_SLACK_MS 1000
#define TTL_FILES_MS 120000

/* Exit codes of a program that could not be executed, as shells have them. */
#define EXIT_NOT_FOUND  127
#define EXIT_NOT_USABLE 126

struct execution {
    const struct run_request *request;
    struct run_result *result;
    struct box *box;
    uint64_t mark;   /* of the files that went in */
    bool is_visitor; /* the box has had, and will have, other runs */
};

/* ---- steps ---------------------------------------------------------------------------------- */

static int on_output(void *user, int stream, const void *bytes, size_t len)
{
    struct execution *x = user;

    out_log_add(x->result->log, (enum out_stream)stream, bytes, len);
    return x->request->output ? x->request->output(x->request->user, stream, bytes, len) : 0;
}

static enum kill_cause cause_of(enum box_kill kill)
{
    static const enum kill_cause causes[] = {
        [BOX_KILL_NONE] = KILL_CAUSE_NONE,     [BOX_KILL_CANCEL] = KILL_CAUSE_CANCEL,
        [BOX_KILL_WALL] = KILL_CAUSE_WALL,     [BOX_KILL_CPU] = KILL_CAUSE_CPU,
        [BOX_KILL_OUTPUT] = KILL_CAUSE_OUTPUT,
    };

    return causes[kill];
}

struct run_facts run_facts_of(const struct box_run_end *end)
{
    return (struct run_facts){
        .is_lost = end->is_lost,
        .cause = cause_of(end->kill),
        .has_exited = end->has_exited,
        .code = end->code,
        .signo = end->signo,
        .is_uncounted = end->count_error && !end->exec_error,
        .oom_kills = end->oom_kills,
        .pids_hits = end->pids_hits,
        .disk_free = end->disk_free,
        .inodes_free = end->inodes_free,
    };
}

void run_drain(struct box *box, const struct run_facts *facts, uint64_t wall_us, uint64_t wall_ms,
               int cancel_fd)
{
    uint64_t most_us = wall_ms * 1000;

    if (facts->has_exited && facts->cause == KILL_CAUSE_NONE && wall_us < most_us)
        box_drain(box, clock_after_ms((most_us - wall_us) / 1000), cancel_fd);
}

static void note_facts(struct run_step *step, const struct box_run_end *end)
{
    step->facts = run_facts_of(end);
    step->wall_us = end->wall_ns / 1000;
    step->cpu_us = end->cpu_ns / 1000;
    step->memory_peak_bytes = end->memory_peak;
    step->memory_files_bytes = end->memory_files;
}

/* The program was not there or not executable: told as a shell would, on stderr, so that it is
 * seen wherever the output is. */
static void note_exec_error(struct execution *x, struct run_step *step, const char *program,
                            int error)
{
    char line[512];
    int n = snprintf(line, sizeof(line), "glovebox: %.400s: %s\n", program, strerror(error));

    step->facts.has_exited = true;
    step->facts.code = error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_USABLE;
    if (n > 0)
        (void)on_output(x, OUT_STDERR, line,
                        (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1);
    /* What a language needs was not the caller's to name. */
    if (error == ENOENT && x->request->language && !strchr(program, '/'))
        run_result_add_note(
            x->result,
            box_shows_host(x->box)
                ? "this machine has no %s for boxes: install it below /usr, or show "
                  "a tree that has it with --toolchain"
                : "the image has no %s: name one that has it with --image",
            program);
}

/* Why the verdict is sandbox_error. */
static int tell_trouble(struct box *box, const struct run_step *step, const struct box_run_end *end,
                        struct gb_err *err)
{
    if (step->facts.is_uncounted && !end->is_lost)
        return gb_fail(err, -end->count_error, GB_BLAME_HOST,
                       "what ended the program is not known: a counter of its group could not be "
                       "read: %s",
                       strerror(end->count_error));
    return gb_wrap(err, box_ended(box, err), "the box was lost while the program ran");
}

static int run_step(struct execution *x, const char *name, const char *const *argv,
                    char *const *extra_env, bool has_input, struct gb_err *err)
{
    const struct run_request *request = x->request;
    struct run_step *step = &x->result->steps[x->result->n_steps];
    const struct run_tty *tty = has_input ? request->tty : NULL;
    struct box_run_end end;
    struct box_run_spec spec = {
        .argv = argv,
        .cwd = request->workdir,
        .limits = request->box->limits,
        .stdin_fd = has_input ? request->stdin_fd : -1,
        .cancel_fd = request->cancel_fd,
        .output = on_output,
        .user = x,
        .sinks = request->keeps_output ? NULL : request->sinks,
        .has_tty = tty,
        .events = has_input ? request->events : NULL,
        .is_last = has_input && request->leaves_box,
        .ret_broken = request->box->ret_broken,
    };
    const struct run_env_places places = { box_path(x->box), box_python_path(x->box),
                                           request->workdir, box_variables(x->box) };
    struct run_env env;
    int r = run_env_make(&env, &places, extra_env, request->env);

    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "no memory for the environment");
    spec.env = env.list;
    step->name = name;
    step->begin = out_log_mark(x->result->log);
    if (request->step)
        request->step(request->user, name);
    if (tty)
        tty->begin(tty->user, &spec.rows, &spec.cols);
    r = box_run(x->box, &spec, &end, err);
    if (tty)
        tty->end(tty->user);
    run_env_clear(&env);
    if (r < 0)
        return r;
    x->result->n_steps++;
    note_facts(step, &end);
    if (end.exec_error)
        note_exec_error(x, step, argv[0], end.exec_error);
    step->verdict = verdict_of(&step->facts);
    step->end = out_log_mark(x->result->log);
    if (end.survivors > x->result->survivors)
        x->result->survivors = end.survivors;
    if (step->verdict == VERDICT_SANDBOX_ERROR)
        return tell_trouble(x->box, step, &end, err);
    return 0;
}

/* ---- code and programs ---------------------------------------------------------------------- */

static int check_toolchain(struct execution *x, struct gb_err *err)
{
    const struct language *language = x->request->language;
    char found[PATH_MAX];

    if (!box_shows_host(x->box) || box_path_has(box_path(x->box), language->program, found))
        return 0;
    return gb_fail(
        err, -ENOENT, GB_BLAME_CALLER,
        "no %s for %s in the box\nremedy: apt install %s, or show one with --toolchain DIR",
        language->program, language->name, language->package);
}

/* The step's command and, for the last one, the caller's arguments behind it. */
static const char **join_args(char *const *argv, const char *const *args)
{
    size_t n = 0;
    size_t n_args = 0;
    const char **joined;

    while (argv[n])
        n++;
    while (args && args[n_args])
        n_args++;
    joined = calloc(n + n_args + 1, sizeof(*joined));
    for (size_t i = 0; joined && i < n; i++)
        joined[i] = argv[i];
    for (size_t i = 0; joined && i < n_args; i++)
        joined[n + i] = args[i];
    return joined;
}

/* A step that could not be run decides, not the one before it. */
static void note_unrun(struct run_result *result, const char *name)
{
    struct run_step *step = &result->steps[result->n_steps++];

    *step = (struct run_step){ .name = name, .facts = { .is_lost = true } };
    step->begin = step->end = out_log_mark(result->log);
    step->verdict = verdict_of(&step->facts);
}

static int run_steps(struct execution *x, const struct language_step *steps, size_t n,
                     struct gb_err *err)
{
    x->result->n_planned = n;
    for (size_t i = 0; i < n; i++) {
        bool is_last = i + 1 == n;
        cleanup_free const char **argv =
            join_args(steps[i].argv, is_last ? x->request->args : NULL);
        int r;

        if (!argv)
            return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for arguments");
        r = run_step(x, steps[i].name, argv, steps[i].env, is_last, err);
        if (r < 0 && i > 0 && x->result->n_steps == i)
            note_unrun(x->result, steps[i].name);
        if (r < 0)
            return r;
        if (x->result->steps[i].verdict != VERDICT_OK)
            break;
    }
    return 0;
}

static int run_code(struct execution *x, struct gb_err *err)
{
    const struct run_request *request = x->request;
    struct language_step steps[2] = { 0 };
    char path[PATH_MAX];
    char out[sizeof(BUILD_OUT) + ID_SIZE];
    struct language_source source = {
        .path = path, .out = out, .code = request->code, .len = request->code_len
    };
    size_t n = 0;
    int r = check_toolchain(x, err);

    (void)snprintf(out, sizeof(out), "%s%s%s", BUILD_OUT, x->is_visitor ? "-" : "",
                   x->is_visitor ? x->result->id : "");

    if (r < 0)
        return r;
    if (snprintf(path, sizeof(path), "%s/%s", request->workdir, request->name) >= PATH_MAX)
        return gb_fail(err, -ENAMETOOLONG, GB_BLAME_CALLER, "the working directory is too long");
    r = language_steps(request->language, &source, &request->box->limits, steps, &n, err);
    if (r == 0)
        r = run_steps(x, steps, n, err);
    language_steps_clear(steps);
    return r;
}

static int run_program(struct execution *x, struct gb_err *err)
{
    x->result->n_planned = 1;
    return run_step(x, "run", x->request->args, NULL, true, err);
}

/* ---- all of it ------------------------------------------------------------------------------ */

static int run_in_box(struct execution *x, struct gb_err *err)
{
    const struct run_request *request = x->request;
    struct gb_err out_err = { 0 };
    int r = transfer_in(x->box, request, &x->mark, err);
    int out;

    if (r == 0)
        r = request->language ? run_code(x, err) : run_program(x, err);
    if (r < 0)
        return r;
    out = transfer_out(x->box, request, x->mark, x->result, &out_err);
    if (out < 0 && err)
        *err = out_err;
    return out;
}

/* What only this run needed does not stay in a box that goes on.  It may be gone already. */
static void tidy(struct execution *x)
{
    const struct run_request *request = x->request;
    struct gb_err ignored = { 0 };
    char out[sizeof(BUILD_NAME) + ID_SIZE];
    uint64_t n;

    if (!request->language || link_is_lost(box_link(x->box)))
        return;
    if (request->is_name_ours)
        (void)box_remove(x->box, request->workdir, request->name, false, &n, &ignored);
    if (!request->language->compile)
        return;
    (void)snprintf(out, sizeof(out), BUILD_NAME "-%s", x->result->id);
    (void)box_remove(x->box, BUILD_DIR, out, true, &n, &ignored);
}

static int prepare(struct execution *x, struct gb_err *err)
{
    struct run_result *result = x->result;
    int r = 0;

    if (x->request->id)
        (void)snprintf(result->id, sizeof(result->id), "%s", x->request->id);
    else
        r = id_make('r', result->id);
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "drawing a name for the run: %s", strerror(-r));
    result->language = x->request->language ? x->request->language->name : NULL;
    result->log = out_log_new(x->request->keeps_output ? x->request->box->limits.output_keep : 0);
    if (!result->log)
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for the output");
    return 0;
}

static void note_receipt(struct execution *x)
{
    x->result->receipt = *box_receipt(x->box);
    x->result->has_receipt = true;
}

/* A small source goes into the box as it is built, which saves a process and a round trip. */
static bool can_plant(const struct run_request *request)
{
    const struct box_ops *ops = box_backend(request->box->backend, NULL);

    return ops && ops->plants && request->language && !request->workspace &&
           request->code_len <= BOX_SEED_MAX;
}

/* The second line behind a caller who is stuck (nobody reads the output): the box ends by itself a
 * moment after the last step must have ended.  Files on their way need time besides. */
static uint64_t ttl_of(const struct run_request *request)
{
    uint64_t steps = request->language && request->language->compile ? 2 : 1;
    bool has_files = request->n_inputs || request->n_outputs || request->workspace;

    return steps * request->box->limits.wall_ms + (has_files ? TTL_FILES_MS : TTL_SLACK_MS);
}

/* A box that was lost before all was told: how its program ended is not certain enough to be told.
 */
static void note_lost(struct run_result *result)
{
    struct run_step *step;

    if (result->n_steps == 0)
        return;
    step = &result->steps[result->n_steps - 1];
    /* What we killed it for is known all the same. */
    if (step->facts.cause != KILL_CAUSE_NONE)
        return;
    step->facts.is_lost = true;
    step->verdict = verdict_of(&step->facts);
}

/* Whatever became of its files: how a program ended is known when its step has been noted. */
static void drain(const struct execution *x)
{
    const struct run_request *request = x->request;
    const struct run_step *last;

    if (x->result->n_steps == 0)
        return;
    last = &x->result->steps[x->result->n_steps - 1];
    run_drain(x->box, &last->facts, last->wall_us, request->box->limits.wall_ms,
              request->cancel_fd);
}

static int run_and_close(struct execution *x, struct gb_err *err)
{
    int r = run_in_box(x, err);
    bool is_settled = box_settle(x->box, NULL) == 0;
    uint32_t survivors;

    drain(x);
    if (is_settled)
        note_receipt(x);
    if (!is_settled || (r < 0 && link_is_lost(box_link(x->box))))
        note_lost(x->result);
    if (r == 0 && x->request->leaves_box) {
        box_leave(x->box);
        return 0;
    }
    survivors = box_close(x->box);
    if (survivors > x->result->survivors)
        x->result->survivors = survivors;
    return r;
}

/* The caller gave up before there was a box: a result like that of a program that he ended. */
static int note_cancelled(struct execution *x)
{
    struct run_step *step = &x->result->steps[x->result->n_steps++];

    step->name = "run";
    step->facts = (struct run_facts){ .cause = KILL_CAUSE_CANCEL };
    step->verdict = verdict_of(&step->facts);
    step->begin = step->end = out_log_mark(x->result->log);
    return 0;
}

/* What went wrong belongs to the result too. */
static int finish(struct execution *x, int r, int broken, const struct gb_err *failure,
                  struct gb_err *err)
{
    struct run_result *result = x->result;

    if (r >= 0)
        return r;
    result->error = *failure;
    result->has_broken = broken >= 0;
    result->broken = broken >= 0 ? (enum wall)broken : 0;
    if (err)
        *err = *failure;
    return r;
}

int run_execute(const struct run_request *asked, struct run_result *result, struct gb_err *err)
{
    struct run_request request = *asked;
    struct execution x = { .request = &request, .result = result };
    struct box_spec spec = *asked->box;
    struct box_file seed = {
        .path = asked->name, .mode = 0644, .bytes = asked->code, .fd = -1, .size = asked->code_len
    };
    struct carry_spec network = {
        .policy = asked->net,
        .note = audit_note,
        .caps = asked->net_caps,
    };
    struct gb_err failure = { 0 };
    int broken = -1;
    int r;

    request.box = &spec;
    if (asked->net) {
        network.user = result->network = calloc(1, sizeof(*result->network));
        spec.net = &network;
    }
    spec.ret_broken = &broken;
    spec.cancel_fd = asked->cancel_fd;
    spec.ttl_ms = ttl_of(asked);
    spec.seed = can_plant(asked) ? &seed : NULL;
    r = prepare(&x, &failure);
    if (r == 0 && asked->net && !result->network)
        r = gb_fail(&failure, -ENOMEM, GB_BLAME_HOST, "no memory for a network");
    if (r == 0)
        r = transfer_check(&request, &failure);
    if (r == 0)
        r = box_begin(&spec, &x.box, &failure);
    if (r == 0)
        r = run_and_close(&x, &failure);
    if (r == -ECANCELED && result->n_steps == 0)
        r = note_cancelled(&x);
    if (result->network)
        run_result_note_network(result);
    return finish(&x, r, broken, &failure, err);
}

int run_execute_in(struct box *box, const struct run_request *asked, struct run_result *result,
                   struct gb_err *err)
{
    struct execution x = { .request = asked, .result = result, .box = box, .is_visitor = true };
    struct gb_err failure = { 0 };
    int r = prepare(&x, &failure);

    if (r == 0)
        r = transfer_check(asked, &failure);
    /* What was there before is not of this run. */
    if (r == 0 && asked->lists_files)
        r = box_put(box, asked->workdir, NULL, 0, &x.mark, &failure);
    if (r == 0) {
        r = run_in_box(&x, &failure);
        drain(&x);
        tidy(&x);
    }
    note_receipt(&x);
    x.result->receipt.limits = asked->box->limits;
    if (r < 0 && link_is_lost(box_link(box)))
        note_lost(result);
    return finish(&x, r, -1, &failure, err);
}
