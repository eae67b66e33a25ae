/* SPDX-License-Identifier: Apache-2.0 */
/* agent/task.h - from a task to working, tested code.
 *
 *    orchestrator ──► code ──► review, or the orchestrator again
 *         │            │  contract → tests → code → judge ─┐
 *         │            └──────────── repair ◄──────────────┘  at most so many attempts
 *         ├──► search
 *         ├──► human
 *         └──► finish
 *
 * Plain code that runs to its end; all it does to the world goes through the journal, so that it
 * can be killed and run again (agent/journal.h).  Every prompt is made anew from the state.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/budget.h"
#include "agent/contract.h"
#include "agent/event.h"
#include "agent/fence.h"
#include "agent/judge.h"
#include "agent/reach.h"
#include "base/cleanup.h"

struct box;
struct box_spec;
struct buf;
struct folder;
struct gb_err;
struct journal;
struct model;
struct package_host;
struct package_wishes;

enum ask_mode {
    ASK_NEVER,
    ASK_BLOCKED, /* only when the orchestrator cannot go on without */
    ASK_ALWAYS,  /* also whether the contract is right, before anything is written */
};

enum agent_role {
    ROLE_ORCHESTRATOR,
    ROLE_CODER,
    ROLE_TESTER,
    N_ROLES,
};

#define AGENT_OBJECTIVE_MAX  (1 << 20)
#define AGENT_ANSWER_MAX     (64 << 10) /* of a human */
#define AGENT_CANDIDATES_MAX 32
#define AGENT_SEARCHES_MAX   3

/* What the last run needs of its user's box. */
struct user_wish {
    const struct package_wishes *packages; /* besides those it has */
    bool has_network;                      /* box_serve() will be asked of it */
};

/* Whose task it is, and the box that lives on for him (agent/user_box.h). */
struct agent_user {
    const char *name; /* NULL: nobody's, and the rest does not matter */
    /* The box, made or made anew with its workspace, as it is wished; wish NULL: as it is, and 1
     * when there is none.  Nobody else's task has it until it is closed.  NULL in a replay. */
    int (*open)(void *user, const struct user_wish *wish, struct box **ret, struct gb_err *err);
    void (*close)(void *user, struct box *box);
    void *user;
};

struct agent_spec {
    const char *id;                /* of the task, for people */
    const char *objective;         /* the task; UTF-8, not empty, at most AGENT_OBJECTIVE_MAX */
    const char *language;          /* that it must be in; NULL: the contract says */
    struct model *models[N_ROLES]; /* the same one may stand for several; all NULL in a replay */
    const struct box_spec *box;    /* of every box: limits, walls, image; NULL in a replay */
    const struct package_host *package_host; /* NULL in a replay */
    const struct package_wishes *packages;   /* the operator's; may be NULL */
    bool installs;                           /* what contract and code want, too */
    const char *net;          /* --net: what the operator grants; NULL: nothing was said */
    const char *net_denied;   /* what he denies, whoever grants it; NULL: nothing */
    struct judge_net network; /* of a box with a network; its policy is the task's to make */
    struct agent_user owner;
    const char *const *secrets; /* NULL-terminated: never in a prompt, a file or an event */
    struct journal *journal;
    struct folder *folder; /* NULL: none */
    struct budget budget;
    const struct budget *raised; /* limits it may go on with from where it stands; NULL: budget's */
    unsigned candidates;         /* solutions to choose from, at least 1 */
    unsigned jobs;               /* boxes at a time */
    const char *effort;          /* of the models; NULL: their own */
    enum ask_mode ask;
    /* The answer of a human into ret; -EAGAIN: there is none now, the task waits.  May be NULL. */
    int (*human)(void *user, const char *question, struct buf *ret, struct gb_err *err);
    /* Results as text into ret; -ENOKEY: there is no search.  May be NULL. */
    int (*search)(void *user, const char *query, uint64_t deadline_ns, struct buf *ret,
                  struct gb_err *err);
    void *user;                       /* of both */
    const struct judge_input *inputs; /* --file: in every box */
    size_t n_inputs;
    const struct agent_files *before; /* of a run that is continued, with its contract; or NULL */
    const char *past;    /* what was done before, of a folder from elsewhere; NULL: nothing */
    unsigned past_steps; /* that it took: the first one now comes behind them */
    const struct contract *contract;
    struct agent_listener listener;
    int cancel_fd; /* -1: never */
};

/* Where a limit stood in the way: with a larger one the task goes on from there. */
struct agent_stop {
    bool is_there;
    enum budget_item item; /* what was used up */
    struct budget budget;  /* as it was then */
    uint64_t place;        /* of the journal: what lies behind it followed from the limit */
};

struct agent_outcome {
    bool is_waiting; /* for a human: question is set and nothing else is final */
    char *question;
    enum outcome outcome;
    char *reason;      /* of anything but passed: one line */
    char *answer;      /* of a task that needed no files, or whose program printed it; NULL */
    char *explanation; /* Markdown; NULL: none */
    char *run_failed;  /* one line: the program, run once more at the end, failed; NULL: no */
    bool has_contract;
    struct contract contract;
    struct agent_reach reach; /* what the last run had of a network */
    char *packages;           /* what was installed for its boxes, as JSON; NULL: nothing */
    struct agent_files code;  /* what is delivered; of a failed task the best there was */
    struct judge_tests tests;
    struct judge_report report; /* of that code */
    struct judge_mutation mutation;
    const struct judge_input *inputs; /* the spec's own */
    size_t n_inputs;
    char *matrix; /* of candidates: JSON (docs/events.md); NULL: there was one only */
    unsigned attempts;
    struct agent_spent spent;
    struct agent_stop stop;  /* the budget ended the task */
    struct agent_stop tried; /* the last step at the code had no more attempts */
};

/* What of its budget a task that did not pass has used up; NULL: it ended by itself. */
const struct agent_stop *agent_outcome_stop(const struct agent_outcome *outcome);

/* 0 whatever came of the task, also when its budget ran out; negative when it could not go on (no
 * model, no box, cancelled, a replay that differs): what was done is in the journal.  The caller
 * owes agent_outcome_clear() in any case; it starts as { 0 }. */
int agent_run(const struct agent_spec *spec, struct agent_outcome *ret, struct gb_err *err);
void agent_outcome_clear(struct agent_outcome *outcome);

#define cleanup_outcome cleanup_with(agent_outcome_clear)

/* The JSON document of `run --json` (docs/events.md), compact. */
int agent_outcome_text(const struct agent_spec *spec, const struct agent_outcome *outcome,
                       struct buf *ret);
