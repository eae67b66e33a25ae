/* SPDX-License-Identifier: Apache-2.0 */
/* agent/plan.h - what the orchestrator wants next: its decision, and the contract with it. */
#pragma once

#include <stdbool.h>

#include "agent/contract.h"
#include "agent/decision.h"

struct gb_err;
struct task;

struct plan {
    const struct task *task;
    struct decision decision;
    bool has_contract; /* another one than before */
    struct contract contract;
};

/* Asks for it.  Where no answer can be used there is one all the same, as far as that can be
 * (docs/internals/agent.md, Without a plan).  plan_clear() is owed in any case. */
int plan_make(struct task *task, struct plan *plan, struct gb_err *err);
void plan_clear(struct plan *plan);
