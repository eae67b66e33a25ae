/* SPDX-License-Identifier: Apache-2.0 */
/* agent/fallback.h - a contract that no model has made: what the words of the task and the code
 * itself say.
 *
 * For models that cannot plan.  It claims as little as it can, and says in its assumptions where it
 * comes from; tests that are written from it see names and signatures and no code.
 */
#pragma once

#include <stdbool.h>

#include "agent/contract.h"

struct agent_files;
struct gb_err;

#define FALLBACK_FILE  "solution.py" /* of a library */
#define FALLBACK_NAMES 16            /* of a task or of code; more are left alone */

/* The first word that tells it ("library", "script"), else whether the task names a call, f(x). */
enum contract_kind fallback_kind(const char *task, const char *language);

/* The one that the task names ("in Rust", "a Bash script"), unless the user says; else python. */
const char *fallback_language(const char *task, const char *language);

/* The file that code without a path becomes. */
const char *fallback_path(const char *task, const char *language);

/* A contract for code that is there; for an answer code may be NULL.  Names are the calls that the
 * task writes, f(x), else the public ones of the code.  Examples are calls with plain values and
 * what the task says that they give: "fib(0) is 0", "f('') raises ValueError".  -EINVAL for code
 * that has nothing to call. */
int fallback_contract(const char *task, const char *language, const struct agent_files *code,
                      struct contract *ret, struct gb_err *err);

/* Is it the example of the orchestrator's prompt, word for word?  A task may be about the same
 * thing, in any language: a contract that was made for it has words of its own. */
bool fallback_is_example(const struct contract *contract);
