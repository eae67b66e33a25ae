/* SPDX-License-Identifier: Apache-2.0 */
/* agent/event.h - what a task tells while it works: for the live view, `--jsonl` and logs.
 *
 * Pointers live until the listener returns.  A resumed task tells what it remembers once more, with
 * is_remembered set, so that a view is complete.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct contract;
struct judge_mutation;
struct judge_report;
struct judge_row;
struct judge_tests;
struct agent_files;
struct agent_reach;
struct json_writer;

enum event_kind {
    EVENT_BEGIN,      /* text: the objective; name: the task's id */
    EVENT_STEP,       /* the orchestrator chose; name: code, search, human, finish; text: why */
    EVENT_CONTRACT,   /* contract */
    EVENT_NETWORK,    /* what the program may reach at the end; reach; text: lines for people */
    EVENT_WAITING,    /* text: names of packages that another installs */
    EVENT_INSTALLING, /* text: names of packages */
    EVENT_INSTALLER,  /* text: a line of the program that installs them */
    EVENT_PACKAGES,   /* what boxes have from now on; json: members; text: lines for people */
    EVENT_TESTS,      /* tests */
    EVENT_ATTEMPT,    /* a new attempt begins; number; text: why */
    EVENT_ASK,        /* a model is asked; name: for what; text: the model */
    EVENT_TEXT,       /* a piece of its answer */
    EVENT_REASONING,  /* a piece of its reasoning */
    EVENT_AGAIN,      /* the answer so far is void; text: why */
    EVENT_ANSWERED,   /* name: for what; usage so far in spent */
    EVENT_CODE,       /* files */
    EVENT_ROW,        /* a test has ended; row */
    EVENT_REPORT,     /* report */
    EVENT_MUTATION,   /* mutation */
    EVENT_MATRIX,     /* text: solutions and tests, lines for people */
    EVENT_SEARCH,     /* text: the query, or why there is none */
    EVENT_QUESTION,   /* text: for the human */
    EVENT_OUTPUT,     /* text: what the delivered program printed */
    EVENT_NOTE,       /* text: anything else that a person should know */
    EVENT_END,        /* name: the outcome; text: the explanation */
    N_EVENTS,
};

struct agent_spent {
    unsigned calls;
    uint64_t tokens; /* in and out */
    uint64_t cached; /* of those that went in */
    bool has_cost;
    uint64_t micro_dollars;
    uint64_t wall_ms;
};

struct agent_event {
    enum event_kind kind;
    bool is_remembered;
    const char *name;
    const char *text;
    size_t len; /* of text */
    unsigned number;
    const struct contract *contract;
    const struct agent_reach *reach;
    const char *json; /* an object whose members packages, install and failed are told */
    const struct judge_tests *tests;
    const struct agent_files *files;
    const struct judge_row *row;
    const struct judge_report *report;
    const struct judge_mutation *mutation;
    struct agent_spent spent;
};

struct agent_listener {
    void (*hear)(void *user, const struct agent_event *event);
    void *user;
};

const char *event_name(enum event_kind kind);

/* One line of JSON with its newline (docs/events.md). */
int event_text(const struct agent_event *event, struct buf *ret);

/* Members "packages", "install", "failed" of what was told of packages; null where there is none.
 */
void event_put_packages(struct json_writer *w, const char *json);

/* The member "spent" of events and of the document. */
void event_put_spent(struct json_writer *w, const struct agent_spent *spent);
