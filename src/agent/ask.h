/* SPDX-License-Identifier: Apache-2.0 */
/* agent/ask.h - one question to a model, as an effect. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/prompt.h"
#include "agent/task.h"

struct buf;
struct gb_err;
struct task;

#define ASK_VARS_MAX 24
#define ASK_TRIES    3

struct question {
    const char *name; /* of the effect: "step-1/decide" */
    enum agent_role role;
    const char *doing;  /* for people: "writing tests" */
    const char *agent;  /* in the folder: "tester" */
    const char *prompt; /* of prompts.def */
    const struct prompt_var *vars;
    size_t n_vars;
    const char *schema_name; /* the answer is JSON; NULL: text */
    const char *schema;
    double temperature;
    uint64_t seed;
    /* Percent of the time that is left when it is asked: then there is no answer that could be
     * used, and the task goes on without.  0: as long as the task may take. */
    unsigned share;
    /* The task can do without: a call that fails is remembered, and no answer could be used. */
    bool is_optional;
    /* For the folder's agent_input.json beside the prompt; each may be NULL. */
    const char *command;
    const char *feedback;
    const char *previous; /* JSON */
};

/* Reads an answer: 0; 1 when it cannot be used, and the error is told to the model, which is asked
 * again; negative when the task cannot go on. */
typedef int (*ask_take)(void *user, const char *text, size_t len, struct gb_err *err);

/* What a reader returns for the result of a parser: only that there is no memory is not the
 * answer's fault. */
int ask_taken(int r);

/* A schema without its bounds (maxLength, maxItems).  They keep a small model whose server holds it
 * to a grammar from going on for ever; large ones need none, and some of their servers refuse a
 * schema that has any. */
int ask_unbounded(const char *schema, struct buf *ret);

/* Asks until take() is content, at most ASK_TRIES times, the later ones with what was wrong; their
 * effects are NAME, NAME.2, ….  -EBADMSG when no answer could be used, endless and
 * refused ones included.  What the answers took is
 * added to the task's account; *ret_iteration, which may be NULL, is the folder's number. */
int ask(struct task *task, const struct question *question, ask_take take, void *user,
        unsigned *ret_iteration, struct gb_err *err);
