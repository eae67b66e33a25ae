/* SPDX-License-Identifier: Apache-2.0 */
/* cli/exec_session.h - what a run has besides its request: our terminal (-t), and, in a box that
 * lives on, the signals that other commands ask for. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/tty.h"
#include "run/events.h"
#include "run/run.h"

struct exec_args;
struct gb_err;
struct settings;

struct exec_session {
    bool has_tty;
    struct tty tty;
    struct run_tty run_tty;
    struct run_events events; /* source.fd -1: none */
    const char **env;         /* the caller's, with our TERM */
    char *term;
};

/* The caller owes exec_session_close(), also after a failure. */
int exec_session_open(const struct exec_args *args, struct exec_session *ret, struct gb_err *err);
void exec_session_close(struct exec_session *session);

/* Makes it part of the request. */
void exec_session_join(struct exec_session *session, struct run_request *request);

/* A person at a terminal is not hurried: without a --timeout a session may last EXEC_SESSION_MS. */
#define EXEC_SESSION_MS UINT64_C(28800000)
struct limits exec_session_limits(const struct exec_session *session,
                                  const struct settings *settings, struct limits limits);
