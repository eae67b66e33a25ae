/* SPDX-License-Identifier: Apache-2.0 */
/* agent/state.h - a task at work: what the parts of the loop share.  Nobody else includes it.
 *
 * The state is made from effects only, so that it is the same whenever the task is run again.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/fence.h"
#include "agent/journal.h"
#include "agent/prompt.h"
#include "agent/supply.h"
#include "agent/task.h"
#include "base/buf.h"
#include "egress/policy.h"
#include "store/digest.h"

struct build;
struct gb_err;
struct redactor;

/* What the loop must know of a model: an effect, because a replay has none. */
struct model_facts {
    char *label;
    char *endpoint;
    uint64_t context; /* tokens */
    bool samples;     /* takes a temperature: as it was known after its last answer */
    bool told_schema; /* in words, as a part of the prompt; known in the same way */
};

#define STATE_TEXT_MAX  (1 << 20)
#define STATE_FILES_MAX (8 << 20)

struct task {
    const struct agent_spec *spec;
    struct agent_outcome *out;
    struct redactor *redactor;
    bool has_lost;        /* something could not be written to the folder, and that was said */
    pthread_mutex_t lock; /* events come from the judge's threads too */

    struct model_facts models[N_ROLES];
    char *languages;      /* "python, c, go": what the box can run */
    char *available;      /* what else it has, for prompts */
    char *inputs;         /* the user's files, a line each; "" */
    char *workspace;      /* what lies in the user's own box, a line each; NULL */
    bool has_told_limits; /* where that box's are not the task's */

    struct budget budget;
    struct agent_spent spent;
    unsigned looks;      /* at the budget */
    bool is_late;        /* work in boxes was under way when the time was used up: */
    uint64_t late_place; /* of the journal, before it */
    bool is_over;        /* the budget: the task ends with what it has */
    unsigned iteration;  /* of the folder, so far */
    unsigned step;       /* of the orchestrator */
    unsigned searches;
    bool has_no_search;  /* and that was said */
    unsigned unanswered; /* questions that nobody was there to answer */

    char *contract;               /* the present one as JSON, for prompts; NULL */
    char (*earlier)[DIGEST_SIZE]; /* of code that was run for it, in all attempts (attempt.h) */
    size_t n_earlier;
    unsigned idle_steps; /* in a row, without any new code */
    struct build *build; /* of that contract; NULL before its first step */
    struct judge_built *built;
    bool is_unplanned;        /* the contract is none of the orchestrator's (draft.h) */
    struct agent_files draft; /* code that was there before such a contract: the first attempt's */

    struct supply supply; /* packages of its boxes */

    struct net_policy net; /* granted so far, for the run at the end (agent/reach.h) */
    char *network;         /* that, and what was refused, for prompts */
    char **asked_hosts;    /* that a human was asked for; NULL-terminated, or NULL */

    struct buf steps;  /* a line for each step, for the orchestrator */
    struct buf human;  /* questions and answers */
    struct buf search; /* what was found last */
};

/* Tells the listener and the transcript.  Any thread. */
void task_tell(struct task *task, const struct agent_event *event);
void task_note(struct task *task, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Adds a line to what the orchestrator is told. */
void task_log(struct task *task, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Takes the task's secrets out of a text before anybody remembers it.  -ENOMEM, -EMSGSIZE. */
int task_clean(const struct task *task, struct buf *text);

/* May the next thing be done?  -EDQUOT, and is_over from then on.  Here the limits grow, where the
 * task was resumed with larger ones: that is an effect too, "limits-N" at the N-th look. */
int task_may(struct task *task, enum budget_item next, struct gb_err *err);

/* The variables that most prompts show. */
#define TASK_VARS 8
void task_vars(const struct task *task, struct prompt_var vars[static TASK_VARS]);

/* When the time of the task is used up, by CLOCK_MONOTONIC; CLOCK_NEVER_NS for one of months.  For
 * use inside of effects. */
uint64_t task_deadline(const struct task *task);

/* An attempt begins; why: what was wrong with the last one, or "". */
void task_tell_attempt(struct task *task, const char *why);

/* Milliseconds that an effect took, out of the journal. */
void task_spend_time(struct task *task, uint64_t ms);

/* journal_do() for work in boxes: the time that it took is remembered with its output, and spent.
 */
int task_do(struct task *task, const char *name, const struct buf *input, journal_effect effect,
            void *user, struct buf *ret, struct gb_err *err);

/* ---- parts ---------------------------------------------------------------------------------- */

/* Models and box, as effects "models" and "facts". */
int facts_take(struct task *task, struct gb_err *err);

/* The work on an answer, and on a program or a library: what came of it is in task->out.  0, or
 * negative when the task cannot go on. */
int answer_make(struct task *task, struct gb_err *err);
int build_make(struct task *task, struct gb_err *err);
void build_free(struct build **build); /* before another contract */

/* There is code, and no test that it could meet. */
bool build_is_untested(const struct task *task);

/* What was wrong with the last attempt, in a line; NULL. */
const char *build_last(const struct task *task);

/* Explains what was built: the last call.  Into task->out. */
int review_write(struct task *task, struct gb_err *err);

/* Looks it up, at most AGENT_SEARCHES_MAX times a task; name is the effect's.  What was found is in
 * task->search; that there is no search, or nothing was found, is no failure. */
int lookup(struct task *task, const char *name, const char *query, struct gb_err *err);

/* Asks the human: 1 and the answer is in task->human, and in ret if that is not NULL; 0 when nobody
 * is there to ask (the task goes on without); -EAGAIN when the task has to wait. */
int ask_human(struct task *task, const char *name, const char *question, struct buf *ret,
              struct gb_err *err);
