/* SPDX-License-Identifier: Apache-2.0 */
/* agent/plan.c - what the orchestrator wants next. */
#include "agent/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/ask.h"
#include "agent/draft.h"
#include "agent/fallback.h"
#include "agent/state.h"
#include "base/err.h"

#define SCHEMA_MAX (64 << 10)
#define NAME_SIZE  64
#define PLAN_SHARE 50 /* percent of the time: a plan that takes more leaves none to follow it */

void plan_clear(struct plan *plan)
{
    decision_clear(&plan->decision);
    contract_clear(&plan->contract);
}

static int take_contract(struct plan *plan, struct gb_err *err)
{
    const struct task *task = plan->task;
    const char *json = plan->decision.contract;
    const char *language = task->spec->language;
    int r;

    if (!json && !task->out->has_contract)
        return gb_fail(err, -EINVAL, GB_BLAME_PEER, "\"code\" needs a \"contract\"");
    if (!json)
        return 0;
    r = contract_parse(json, strlen(json), &plan->contract, err);
    if (r < 0)
        return r;
    plan->has_contract = true;
    if (fallback_is_example(&plan->contract))
        return gb_fail(err, -EINVAL, GB_BLAME_PEER,
                       "this is the contract of the example; make one for the task");
    if (language && strcmp(plan->contract.language, language) != 0)
        return gb_fail(err, -EINVAL, GB_BLAME_PEER, "the language must be %s, not %s", language,
                       plan->contract.language);
    return 0;
}

static int take_decision(void *user, const char *text, size_t len, struct gb_err *err)
{
    struct plan *plan = user;
    int r;

    plan_clear(plan);
    plan->has_contract = false;
    r = decision_parse(text, len, &plan->decision, err);
    if (r == 0 && plan->decision.action == ACTION_CODE)
        r = take_contract(plan, err);
    return ask_taken(r);
}

static int choose(struct task *task, struct plan *plan, struct gb_err *err)
{
    cleanup_buf struct buf schema = BUF_INIT(SCHEMA_MAX);
    struct prompt_var vars[TASK_VARS + 3];
    char name[NAME_SIZE];
    struct question question = {
        .name = name,
        .role = ROLE_ORCHESTRATOR,
        .doing = "planning",
        .agent = "orchestrator",
        .prompt = "orchestrator",
        .vars = vars,
        .n_vars = N_ELEMENTS(vars),
        .schema_name = "decision",
        .seed = task->step,
        .share = PLAN_SHARE,
    };

    if (decision_schema(&schema) < 0)
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for a schema");
    task_vars(task, vars);
    vars[TASK_VARS] = (struct prompt_var){ "language", task->spec->language, 0 };
    vars[TASK_VARS + 1] = (struct prompt_var){ "languages", task->languages, 0 };
    vars[TASK_VARS + 2] = (struct prompt_var){ "steps", task->steps.data, 0 };
    (void)snprintf(name, sizeof(name), "step-%u/decide", task->step);
    question.schema = schema.data;
    return ask(task, &question, take_decision, plan, NULL, err);
}

/* No answer could be used.  Without a contract the code is written first, unless a human was asked
 * and wants another one; a contract that was there before is kept; after work that is done there is
 * nothing to do but to end. */
static int go_on_without(struct task *task, struct plan *plan, const struct gb_err *why,
                         struct gb_err *err)
{
    bool is_first = task->step == 1;
    int r = 0;

    if (!task->out->has_contract && task->human.len > 0)
        return gb_fail(err, why->code, why->blame, "%s", why->msg);

    plan_clear(plan);
    plan->has_contract = false;
    plan->decision.action = task->out->has_contract && !is_first ? ACTION_FINISH : ACTION_CODE;
    plan->decision.reason = strdup("no plan could be had from the model");
    if (!plan->decision.reason)
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for a plan");
    task_note(task, "no plan could be had from the model: %s", why->msg);
    if (!task->out->has_contract) {
        r = draft_contract(task, &plan->contract, err);
        plan->has_contract = r == 0;
    }
    return r;
}

int plan_make(struct task *task, struct plan *plan, struct gb_err *err)
{
    struct gb_err why = { 0 };
    int r = choose(task, plan, &why);

    if (r == -EBADMSG && !task->is_over)
        return go_on_without(task, plan, &why, err);
    if (r < 0 && err)
        *err = why;
    return r;
}
