/* SPDX-License-Identifier: Apache-2.0 */
/* agent/decision.h - what the orchestrator says next: a choice and its arguments, in one answer. */
#pragma once

#include <stddef.h>

#include "base/cleanup.h"

struct buf;
struct gb_err;

enum action {
    ACTION_CODE,   /* build what the contract says */
    ACTION_SEARCH, /* look something up */
    ACTION_HUMAN,  /* ask the human */
    ACTION_FINISH, /* done, or nothing to build */
    N_ACTIONS,
};

struct decision {
    enum action action;
    char *reason;      /* one line, for people */
    char *contract;    /* code: JSON, for contract_parse(); NULL: the one there is stays */
    char *query;       /* search */
    char *question;    /* human */
    char *answer;      /* finish: of a task that needed no code; NULL */
    char *explanation; /* finish: for people; NULL */
};

const char *action_name(enum action action);

/* The JSON schema for the model, the contract's inside. */
int decision_schema(struct buf *ret);

/* The error says what a model has to mend. */
int decision_parse(const char *json, size_t len, struct decision *ret, struct gb_err *err);
void decision_clear(struct decision *decision);

#define cleanup_decision cleanup_with(decision_clear)
