/* SPDX-License-Identifier: Apache-2.0 */
/* agent/judge_try.c - the program once, as a person would start it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/contract.h"
#include "agent/judge_inside.h"
#include "base/clock.h"
#include "base/err.h"
#include "box/audit.h"
#include "box/carry.h"
#include "egress/resolve.h"
#include "run/run.h"

#define OUT_SHOWN      4000
#define SUMMARY_MAX    (64 << 10) /* of both streams, each byte told in five */
#define NETWORK_MAX    (8 << 10)
#define LIMITS_MAX     (4 << 10)
#define DECISIONS_TOLD 8
#define KEEP_MAX       ((size_t)256 << 10) /* of each stream: in JSON a byte may take six */

/* Exit codes of a program that did not end by itself, as shells have them. */
static int exit_code(const struct trial_end *end)
{
    struct run_facts facts = run_facts_of(&end->end);

    return verdict_exit_code(end->verdict, &facts);
}

/* A traceback says which module was missing, where the check could not tell. */
static bool misses_module(const struct trial_end *end)
{
    static const char words[] = "ModuleNotFoundError";

    return end->err.data && memmem(end->err.data, end->err.len, words, sizeof(words) - 1);
}

static int explain(const struct limits *limits, const struct trial_end *end, const char *packages,
                   struct judge_try *ret, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(SUMMARY_MAX);

    if (end->verdict == VERDICT_OK)
        return 0;
    (void)buf_puts(&text, "The program failed: ");
    if (!words_end(end, limits, &text, &ret->diagnosis)) {
        ret->diagnosis = misses_module(end) ? DIAGNOSIS_MODULE : DIAGNOSIS_CRASH;
        (void)buf_printf(&text, "it ended with exit code %d", ret->exit_code);
    }
    (void)buf_puts(&text, ".\n");
    words_output(&text, "stdout", end->out.data, end->out.len, OUT_SHOWN);
    words_output(&text, "stderr", end->err.data, end->err.len, OUT_SHOWN);
    (void)buf_puts(&text, packages ? packages : "");
    if (ret->network)
        (void)buf_printf(&text, "Its network: %s.\n", ret->network);
    ret->summary = buf_take(&text);
    return ret->summary ? 0 : gb_no_memory(err);
}

static char *bytes_of(struct buf *buf, size_t *ret_len, bool *is_cut)
{
    *is_cut = *is_cut || buf->len > KEEP_MAX;
    *ret_len = buf->len < KEEP_MAX ? buf->len : KEEP_MAX;
    return buf->len > 0 ? buf_take(buf) : strdup("");
}

static int fill(const struct limits *limits, struct trial_end *end, const char *packages,
                struct judge_try *ret, struct gb_err *err)
{
    int r;

    ret->exit_code = exit_code(end);
    ret->is_unrun = !end->has_begun;
    ret->is_timed_out = end->verdict == VERDICT_TIMEOUT || end->verdict == VERDICT_CPU;
    ret->is_cut = end->is_cut[1] || end->is_cut[2];
    ret->ms = end->end.wall_ns / NS_PER_MS;
    ret->memory_peak_bytes = end->end.memory_peak;
    r = explain(limits, end, packages, ret, err);
    if (r < 0)
        return r;
    ret->out = bytes_of(&end->out, &ret->out_len, &ret->is_cut);
    ret->errors = bytes_of(&end->err, &ret->errors_len, &ret->is_cut);
    return ret->out && ret->errors ? 0 : gb_no_memory(err);
}

/* It did not come so far. */
static int fill_unrun(struct judge_try *ret, struct gb_err *err)
{
    ret->exit_code = 1;
    ret->is_unrun = true;
    ret->out = strdup("");
    ret->errors = strdup("");
    return ret->out && ret->errors ? 0 : gb_no_memory(err);
}

static int check(const struct judge_spec *spec, struct judge_try *ret, char **ret_packages,
                 struct gb_err *err)
{
    struct check found = { 0 };
    int r;

    if (spec->is_judged || !check_is_for(spec)) {
        *ret_packages = spec->unsupplied ? strdup(spec->unsupplied) : NULL;
        return spec->unsupplied && !*ret_packages ? gb_no_memory(err) : 0;
    }
    r = check_code(spec, &found, err);
    ret->diagnosis = found.diagnosis;
    ret->summary = take_ptr(found.summary);
    *ret_packages = take_ptr(found.packages);
    check_clear(&found);
    return r;
}

/* ---- with a network ------------------------------------------------------------------------- */

static void put_decision(const struct audit_entry *entry, struct buf *ret)
{
    char target[AUDIT_TARGET_MAX];

    (void)buf_printf(ret, "%s%s", ret->len ? ", " : "", audit_target(entry, target));
    if (entry->answer != NET_YES)
        (void)buf_printf(ret, " was refused: %s", net_answer_text(entry->answer));
    else if (entry->error)
        (void)buf_printf(ret, " could not be reached: %s", resolve_error_text(entry->error));
    else
        (void)buf_puts(ret, " was reached");
}

/* Names that were looked up and may be are told by what was dialled then. */
static int note_network(const struct audit *audit, struct judge_try *ret, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(NETWORK_MAX);
    size_t told = 0;

    for (size_t i = 0; i < audit->n && told < DECISIONS_TOLD; i++) {
        const struct audit_entry *entry = &audit->entries[i];

        if (entry->port == 0 && entry->answer == NET_YES && !entry->error)
            continue;
        put_decision(entry, &text);
        told++;
    }
    if (text.len == 0)
        return 0;
    ret->network = buf_take(&text);
    return ret->network ? 0 : gb_no_memory(err);
}

/* ---- with limits of another box ------------------------------------------------------------- */

static void put_limit(struct buf *ret, const struct limits *task, const struct limits *box,
                      enum limit limit)
{
    bool is_box = limit_value(box, limit) < limit_value(task, limit);
    char holds[NUM_TEXT_MAX];
    char other[NUM_TEXT_MAX];

    (void)buf_printf(ret, "%s%s %s, as %s (%s: %s)", ret->len ? "; " : "", limit_flag(limit),
                     limit_text(is_box ? box : task, limit, holds),
                     is_box ? "the box has" : "the task has", is_box ? "the task" : "the box",
                     limit_text(is_box ? task : box, limit, other));
}

/* Of each the lower one holds, and who set the other must not believe that it did.  Cores and disk
 * are the box's own, which a run cannot lower. */
static int note_limits(const struct limits *task, const struct limits *box, struct judge_try *ret,
                       struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(LIMITS_MAX);

    for (enum limit i = 0; i < N_LIMITS; i++) {
        bool is_boxes = i == LIMIT_CPUS || i == LIMIT_DISK;
        uint64_t of_task = limit_value(task, i);
        uint64_t of_box = limit_value(box, i);

        if (limit_flag(i) && (is_boxes ? of_box < of_task : of_box != of_task))
            put_limit(&text, task, box, i);
    }
    if (text.len == 0)
        return 0;
    ret->limits = buf_take(&text);
    return ret->limits ? 0 : gb_no_memory(err);
}

/* One start of the program, and who is told of what it asks for. */
struct one_start {
    const struct judge_spec *spec;
    struct program *program;
    char *const *args;
    const char *input;
    size_t input_len;
    struct carry_spec carry;
    struct limits *limits; /* that hold */
    struct judge_try *ret;
};

static int start_here(const struct one_start *one, struct trial_end *end, struct gb_err *err)
{
    const struct judge_spec *spec = one->spec;

    return program_start(one->program, &one->program->load, one->args, one->input, one->input_len,
                         spec->box->limits.wall_ms, spec, end, err);
}

static int start_new(const struct one_start *one, struct trial_end *end, struct gb_err *err)
{
    struct program *program = one->program;
    int r;

    if (one->carry.policy) {
        program->box.net = &one->carry;
        program->box.certificates = one->spec->net.certificates;
    }
    r = start_here(one, end, err);
    program->box.net = NULL;
    return r;
}

/* In a box that lives on, which has a network for as long as this. */
static int start_home(const struct one_start *one, struct trial_end *end, struct gb_err *err)
{
    const struct judge_home *home = &one->spec->home;
    int r = home->open(home->user, &one->program->there, err);

    if (r < 0)
        return r;
    r = note_limits(one->limits, &box_receipt(one->program->there)->limits, one->ret, err);
    *one->limits = limits_min(*one->limits, box_receipt(one->program->there)->limits);
    if (r == 0 && one->carry.policy)
        r = box_serve(one->program->there, &one->carry, err);
    if (r == 0)
        r = start_here(one, end, err);
    home->close(home->user, one->program->there);
    one->program->there = NULL;
    return r;
}

/* Only here, after all checks, does a box have a network. */
static int start(const struct judge_spec *spec, struct program *program, char *const *args,
                 const char *input, size_t input_len, struct trial_end *end, struct limits *limits,
                 struct judge_try *ret, struct gb_err *err)
{
    cleanup_free struct audit *audit = NULL;
    struct one_start one = {
        .spec = spec,
        .program = program,
        .args = args,
        .input = input,
        .input_len = input_len,
        .carry = { .policy = spec->net.policy, .note = audit_note, .caps = spec->net.caps },
        .limits = limits,
        .ret = ret,
    };
    int r;

    if (one.carry.policy) {
        one.carry.user = audit = calloc(1, sizeof(*audit));
        if (!audit)
            return gb_no_memory(err);
    }
    r = spec->home.open ? start_home(&one, end, err) : start_new(&one, end, err);
    return r == 0 && audit ? note_network(audit, ret, err) : r;
}

int judge_try(const struct judge_spec *spec, char *const *args, const char *input, size_t input_len,
              struct judge_try *ret, struct gb_err *err)
{
    cleanup_free char *packages = NULL;
    struct program program = { 0 };
    struct trial_end end = { 0 };
    struct limits limits = spec->box->limits;
    int r;

    *ret = (struct judge_try){ 0 };
    r = check(spec, ret, &packages, err);
    if (r == 0 && !ret->summary)
        r = program_prepare(spec, &program, &ret->diagnosis, &ret->summary, err);
    if (r == 0 && !ret->summary && !spec->is_judged)
        r = syntax_check(spec, &program, &ret->diagnosis, &ret->summary, err);
    if (r == 0 && ret->summary)
        r = fill_unrun(ret, err);
    else if (r == 0)
        r = start(spec, &program, args, input, input_len, &end, &limits, ret, err);
    if (r == 0 && !ret->out)
        r = fill(&limits, &end, packages, ret, err);
    trial_end_clear(&end);
    program_clear(&program);
    if (r < 0)
        judge_try_clear(ret);
    return r;
}
