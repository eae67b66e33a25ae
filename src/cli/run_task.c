/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run_task.c - one life of a task: what it needs is opened, it runs, its end is told. */
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "agent/folder.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "box/carry.h"
#include "cli/command.h"
#include "cli/run_args.h"
#include "cli/run_session.h"
#include "cli/run_tell.h"
#include "cli/term.h"
#include "conf/environment.h"
#include "conf/secrets.h"
#include "run/signals.h"

#define EVENT_MAX (32 << 20)
#define JOBS_MAX  64

static void hear_as_json(void *user, const struct agent_event *event)
{
    cleanup_buf struct buf line = BUF_INIT(EVENT_MAX);

    (void)user;
    if (event_text(event, &line) == 0)
        (void)fd_write_full(STDOUT_FILENO, line.data, line.len); /* a reader may have seen enough */
}

/* Both, where a person watches what a program reads. */
static void hear(void *user, const struct agent_event *event)
{
    struct run_session *session = user;

    if (session->args->style == RUN_STYLE_JSONL)
        hear_as_json(NULL, event);
    if (session->has_view)
        view_hear(&session->view, event);
}

static void open_view(struct run_session *session)
{
    const char *name = environment_get(session->call->env, "TERM");
    bool is_dumb = !name || !*name || strcmp(name, "dumb") == 0;
    struct term term;

    term_init(&term, STDERR_FILENO, session->settings.color, session->call->env);
    session->people.has_terminal = term.is_tty;
    /* Where stdout is read by a program, lines on stderr are for a person or for nobody. */
    if (session->args->style != RUN_STYLE_PEOPLE && (!term.is_tty || isatty(STDOUT_FILENO)))
        return;
    view_init(&session->view, &term, session->args->is_plain || is_dumb);
    session->has_view = true;
    session->people.view = &session->view;
}

static unsigned cpus(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

    return n < 1 ? 1 : n > JOBS_MAX ? JOBS_MAX : (unsigned)n;
}

static void make_spec(struct run_session *session)
{
    const struct run_order *order = &session->order;
    const struct run_contents *contents = &session->contents;
    bool is_replay = session->args->replay;

    session->people.answer = session->args->answer;
    session->people.cancel_fd = session->signals;
    session->spec = (struct agent_spec){
        .id = order->id,
        .objective = contents->objective,
        .language = order->language,
        .box = is_replay ? NULL : &session->box,
        .installs = order->installs,
        .net = order->net,
        .net_denied = order->net_denied,
        .secrets = session->secrets ? secrets_values(session->secrets) : NULL,
        .journal = session->journal,
        .folder = session->folder,
        .budget = order->budget,
        .raised = is_replay ? NULL : &session->options.order.budget,
        .candidates = order->candidates,
        .jobs = cpus() + 1, /* a box waits for the kernel part of its time */
        .effort = order->effort,
        .ask = order->ask,
        .human = run_people_ask,
        .search = run_people_search,
        .user = &session->people,
        .inputs = contents->inputs,
        .n_inputs = contents->n_inputs,
        .before = order->before ? &contents->before : NULL,
        .contract = order->has_contract ? &contents->contract : NULL,
        .past = contents->past,
        .past_steps = order->past_steps,
        .listener = { .hear = hear, .user = session },
        .cancel_fd = session->signals,
    };
    for (int role = 0; role < N_ROLES; role++)
        session->spec.models[role] = session->models[role];
}

static int work(struct run_session *session, struct gb_err *err)
{
    int r = run_session_open(session, err);

    if (r < 0)
        return run_session_failed(session, r, err);
    make_spec(session);
    r = run_network(session, err);
    if (r == 0)
        r = run_packages_give(session, err);
    if (r == 0)
        r = run_user_give(session, err);
    if (r < 0)
        return run_session_failed(session, r, err);
    open_view(session);
    if (session->has_view)
        run_tell_begin(&session->view, &session->spec,
                       session->folder ? folder_path(session->folder) : NULL);
    r = agent_run(&session->spec, &session->outcome, err);
    return r < 0 ? run_session_failed(session, r, err) : run_session_done(session, err);
}

int run_task(const struct call *call, const struct run_args *args, struct gb_err *err)
{
    cleanup_with(run_session_clear) struct run_session session = {
        .call = call,
        .args = args,
        .lock_fd = -1,
        .signals = signals_open(err),
    };

    fd_allow(CARRY_FILES_MAX);
    return session.signals < 0 ? session.signals : work(&session, err);
}
