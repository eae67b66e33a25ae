/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run_raise.c - larger limits for a task that was begun: may it go on with them, and from
 * where.
 *
 * A task that the budget has ended goes on from where it stopped.  One whose last step at the code
 * had no more attempts was taken further by the orchestrator; more attempts are made where they
 * ended, and what followed from their end is forgotten.
 */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/run_args.h"
#include "cli/run_session.h"
#include "cli/strings.h"

static const enum key_id keys[N_BUDGET_ITEMS] = {
    [BUDGET_STEPS] = KEY_MAX_STEPS,   [BUDGET_ATTEMPTS] = KEY_MAX_ATTEMPTS,
    [BUDGET_TOKENS] = KEY_MAX_TOKENS, [BUDGET_MONEY] = KEY_MAX_COST,
    [BUDGET_TIME] = KEY_MAX_TIME,
};

struct budget run_limits(const struct settings *settings)
{
    return (struct budget){
        .limits = {
            [BUDGET_STEPS] = settings->task.steps,
            [BUDGET_ATTEMPTS] = settings->task.attempts,
            [BUDGET_TOKENS] = settings->task.tokens,
            [BUDGET_MONEY] = settings->task.cost,
            [BUDGET_TIME] = settings->task.time_ms,
        },
    };
}

static bool is_given(const struct run_args *args, enum key_id key)
{
    for (size_t i = 0; i < args->parsed->n_flags; i++)
        if (args->parsed->flags[i].key == key)
            return true;
    return false;
}

/* Only what was said with --resume: other settings are those of new tasks. */
static int take_limits(const struct run_session *session, struct budget *limits, bool *ret_is_more,
                       struct gb_err *err)
{
    const struct budget given = run_limits(&session->settings);
    struct budget wanted = *limits;

    for (enum budget_item item = 0; item < N_BUDGET_ITEMS; item++) {
        if (!is_given(session->args, keys[item]))
            continue;
        if (given.limits[item] < limits->limits[item])
            return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                           "%s is less than what the task has: a task that is resumed gets more, "
                           "never less",
                           budget_item_option(item));
        wanted.limits[item] = given.limits[item];
    }
    *ret_is_more = budget_raise(limits, &wanted);
    return 0;
}

/* false: *ret_item stands in the way still. */
static bool has_room(const struct agent_stop *stop, const struct budget *limits,
                     enum budget_item *ret_item)
{
    struct budget budget = stop->budget;

    (void)budget_raise(&budget, limits);
    *ret_item = stop->item;
    if (budget.limits[stop->item] == stop->budget.limits[stop->item])
        return false;
    return !budget_is_used_up(&budget, stop->item, ret_item);
}

static int no_room(const struct store_task *task, const struct agent_stop *stop,
                   const struct budget *limits, enum budget_item item, struct gb_err *err)
{
    struct budget budget = stop->budget;
    char used[BUDGET_TEXT_SIZE];

    (void)budget_raise(&budget, limits);
    budget_used_text(&budget, item, used);
    return gb_fail(err, -EALREADY, GB_BLAME_CALLER,
                   "%s has ended: it has used %s" GB_REMEDY
                   "glovebox run --resume %s %s N, with more than that, goes on",
                   task->id, used, task->id, budget_item_option(item));
}

/* Where the task goes on.  With more attempts that is where they ended, unless what was done since
 * can go on by itself. */
static int choose_place(struct run_session *session, const struct run_summary *summary,
                        struct gb_err *err)
{
    const struct budget *limits = &session->options.order.budget;
    const struct agent_stop *stop = &summary->stop;
    const struct agent_stop *tried = &summary->tried;
    enum budget_item item = BUDGET_ATTEMPTS;
    enum budget_item other;
    bool can_go_on = stop->is_there && has_room(stop, limits, &item);
    bool can_try = tried->is_there && has_room(tried, limits, stop->is_there ? &other : &item);

    if (can_try && (!can_go_on || tried->place == stop->place))
        session->raise_place = tried->place;
    else if (can_go_on)
        session->raise_place = stop->place;
    else
        return no_room(&session->task, stop->is_there ? stop : tried, limits, item, err);
    return 0;
}

/* What its end has delivered is the task's own, and may be replaced by its next. */
static int keep_delivered(struct run_session *session, struct gb_err *err)
{
    cleanup_end struct run_end end = { 0 };
    int r = run_end_get(session->store, session->task.id, &end, err);

    if (r <= 0)
        return r;
    strings_free(session->options.host.delivered);
    session->options.host.delivered = take_ptr(end.delivered);
    return 0;
}

bool run_can_be_raised(const struct store_task *task)
{
    cleanup_summary struct run_summary summary = { 0 };

    run_summary_parse(task->outcome, &summary);
    return summary.stop.is_there || summary.tried.is_there;
}

int run_raise(struct run_session *session, struct gb_err *err)
{
    cleanup_summary struct run_summary summary = { 0 };
    int r = take_limits(session, &session->options.order.budget, &session->is_raised, err);

    session->raise_place = UINT64_MAX;
    if (r < 0 || session->task.state != TASK_DONE)
        return r;
    run_summary_parse(session->task.outcome, &summary);
    r = choose_place(session, &summary, err);
    session->is_raised = r == 0; /* it runs again, be it with limits that it was given before */
    return r < 0 ? r : keep_delivered(session, err);
}

int run_raise_commit(struct run_session *session, struct gb_err *err)
{
    cleanup_buf struct buf options = BUF_INIT(STORE_TEXT_MAX);
    int r;

    if (run_options_text(&session->options, &options) < 0)
        return gb_fail(err, -E2BIG, GB_BLAME_CALLER, "the command line is too long");
    r = store_task_reopen(session->store, session->task.id, options.data, session->raise_place,
                          err);
    if (r == 0)
        session->task.state = TASK_RUNNING;
    return r;
}
