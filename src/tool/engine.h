/* SPDX-License-Identifier: Apache-2.0 */
/* tool/engine.h - the engine that the tools for images speak to. */
#pragma once

struct engine;
struct gb_err;
struct tool_call;

/* The caller owes engine_free().  An address that is none makes the call TOOL_REFUSED: no tool
 * could have done anything. */
int tool_engine(struct tool_call *call, struct engine **ret, struct gb_err *err);
