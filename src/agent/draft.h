/* SPDX-License-Identifier: Apache-2.0 */
/* agent/draft.h - the way on without a plan: code first, and a contract from it. */
#pragma once

struct contract;
struct gb_err;
struct task;

/* For a task whose orchestrator could not be understood.  Asks the coder with the task alone (the
 * effect step-N/draft), unless an answer is wanted, and makes the contract on the host
 * (agent/fallback.h).  The code is in task->draft.  -EBADMSG when there is no code either. */
int draft_contract(struct task *task, struct contract *ret, struct gb_err *err);
