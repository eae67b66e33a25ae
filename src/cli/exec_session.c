/* SPDX-License-Identifier: Apache-2.0 */
/* cli/exec_session.c - what a run has besides its request. */
#include "cli/exec_session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/exec_args.h"
#include "conf/settings.h"
#include "run/events.h"

#define TERM_NAME_MAX 64

/* It goes into the box as it is: a name and nothing else. */
static bool is_term_name(const char *name)
{
    size_t len = name
                     ? strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                    "-+._")
                     : 0;

    return len > 0 && len <= TERM_NAME_MAX && !name[len];
}

/* The caller's own list comes later, and wins. */
static int take_term(const struct exec_args *args, struct exec_session *session, struct gb_err *err)
{
    const char *name = getenv("TERM");
    size_t n = 0;

    if (!is_term_name(name))
        name = "dumb";
    session->env = calloc(args->n_env + 2, sizeof(*session->env));
    if (!session->env || asprintf(&session->term, "TERM=%s", name) < 0)
        return gb_no_memory(err);
    session->env[n++] = session->term;
    for (size_t i = 0; i < args->n_env; i++)
        session->env[n++] = args->env[i];
    return 0;
}

int exec_session_open(const struct exec_args *args, struct exec_session *ret, struct gb_err *err)
{
    int r = 0;

    *ret = (struct exec_session){ .has_tty = args->has_tty, .events.source.fd = -1 };
    if (args->has_tty)
        r = tty_open(&ret->tty, err);
    if (r == 0 && args->has_tty)
        r = take_term(args, ret, err);
    ret->run_tty = (struct run_tty){ .begin = tty_begin, .end = tty_end, .user = &ret->tty };
    if (r == 0 && (args->has_tty || args->box || args->user))
        r = run_events_open(&ret->events, args->has_tty ? tty_size : NULL, err);
    return r;
}

void exec_session_close(struct exec_session *session)
{
    if (session->events.source.fd >= 0)
        close(session->events.source.fd);
    free(session->env);
    free(session->term);
}

void exec_session_join(struct exec_session *session, struct run_request *request)
{
    if (session->events.source.fd >= 0)
        request->events = &session->events.source;
    if (!session->has_tty)
        return;
    request->tty = &session->run_tty;
    request->stdin_fd = STDIN_FILENO;
    request->env = session->env;
    request->sinks = NULL;
}

struct limits exec_session_limits(const struct exec_session *session,
                                  const struct settings *settings, struct limits limits)
{
    if (!session->has_tty || settings->set[KEY_TIMEOUT].origin.kind != ORIGIN_DEFAULT)
        return limits;
    return limits_or((struct limits){ .wall_ms = EXEC_SESSION_MS }, limits);
}
