/* SPDX-License-Identifier: Apache-2.0 */
/* agent/reach.h - what the delivered program may reach, when it is run at the end.
 *
 *    hosts of the contract ─► covered by --net           ─► granted
 *                          ─► a human is asked, once     ─► granted, or refused with a reason
 *
 * Tests never have a network.  The last run has all that was granted and nothing else: what the
 * operator listed, and what a human answered.  Both are remembered (the order of a task, an effect
 * "step-N/hosts"), so that a task which is run again has the same.
 */
#pragma once

#include <stddef.h>

struct buf;
struct gb_err;
struct json_writer;
struct task;

struct reach_refusal {
    char *host;
    const char *reason; /* one line, static */
};

struct agent_reach {
    char **granted; /* rules (egress/policy.h), NULL-terminated; NULL: none */
    struct reach_refusal *refused;
    size_t n_refused; /* of the present contract */
};

/* What the operator grants, before anything else. */
int reach_begin(struct task *task, struct gb_err *err);

/* The hosts of the present contract: a human is asked for those that nobody was asked for yet.
 * -EAGAIN when the task has to wait.  What is refused is told, and does not stop the work. */
int reach_settle(struct task *task, struct gb_err *err);

/* Lines for a model whose program failed: which hosts it was not granted; nothing for none. */
void reach_put_refused(const struct agent_reach *reach, struct buf *ret);

/* Members "granted" and "refused" of an object that is begun. */
void reach_put(struct json_writer *w, const struct agent_reach *reach);

void reach_clear(struct agent_reach *reach);
