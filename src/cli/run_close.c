/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run_close.c - how a life of a task ends: it failed, waits for an answer, or is done.
 *
 * stdout has the answer of a task that asked for one, or the directory of what was built, or what
 * --json and --jsonl promise; all else goes to stderr.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/folder.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "cli/command.h"
#include "cli/run_args.h"
#include "cli/run_deliver.h"
#include "cli/run_session.h"
#include "cli/run_tell.h"
#include "cli/strings.h"
#include "cli/term.h"

#define DOCUMENT_MAX (64 << 20)

int run_take_style(const struct call *call, int r, bool is_json, bool is_jsonl,
                   struct run_args *ret, struct gb_err *err)
{
    bool is_document = r < 0 ? command_wants(call, "--json") : is_json;
    bool is_lines = r < 0 ? command_wants(call, "--jsonl") : is_jsonl;

    ret->style = is_lines ? RUN_STYLE_JSONL : is_document ? RUN_STYLE_JSON : RUN_STYLE_PEOPLE;
    if (r == 0 && is_json && is_jsonl)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "--json and --jsonl exclude each other");
    return r;
}

void run_refused(const struct run_args *args, const struct gb_err *why)
{
    if (args->style != RUN_STYLE_PEOPLE)
        command_print_error(args->style == RUN_STYLE_JSONL, why);
}

/* --jsonl: {"event":"result","document":{…}} */
static int print_document(const struct run_session *session, const struct buf *document,
                          struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(DOCUMENT_MAX + 64);

    if (session->args->style == RUN_STYLE_PEOPLE)
        return 0;
    if (session->args->style == RUN_STYLE_JSONL)
        (void)buf_puts(&text, "{\"event\":\"result\",\"document\":");
    (void)buf_add(&text, document->data, document->len);
    (void)buf_puts(&text, session->args->style == RUN_STYLE_JSONL ? "}\n" : "\n");
    return command_print(&text, err);
}

/* The same model would refuse the same prompt once more. */
static bool needs_another_model(int r, const struct gb_err *err)
{
    return err->blame == GB_BLAME_CALLER && (r == -E2BIG || r == -EINVAL || r == -ENOENT);
}

static void tell_how_to_resume(const struct run_session *session, int r, const struct gb_err *err)
{
    if (!session->args->replay && session->task.id && session->lock_fd >= 0 &&
        session->task.state != TASK_DONE)
        (void)dprintf(STDERR_FILENO, "glovebox: resume it with: glovebox run --resume %s%s\n",
                      session->task.id,
                      session->journal && needs_another_model(r, err) ? " --model MODEL" : "");
}

/* For `runs list`: why it stands still.  That this cannot be kept is no worse than the failure. */
static void remember_failure(const struct run_session *session, int r, const struct gb_err *why)
{
    cleanup_buf struct buf summary = BUF_INIT(STORE_TEXT_MAX);
    char reason[sizeof(why->msg)];

    if (!session->store || !session->journal)
        return;
    (void)snprintf(reason, sizeof(reason), "%.*s", (int)gb_err_len(why), why->msg);
    if (run_summary_failed(r == -ECANCELED ? "cancelled" : reason, &summary) == 0)
        (void)store_task_state(session->store, session->task.id, TASK_RUNNING, summary.data, NULL);
}

/* What fails after the signal fails of it, whatever it calls that. */
static bool is_cancelled(const struct run_session *session)
{
    struct pollfd wait = { .fd = session->signals, .events = POLLIN };

    return poll(&wait, 1, 0) == 1;
}

/* What was done is in the journal. */
int run_session_failed(struct run_session *session, int r, struct gb_err *err)
{
    if (session->journal && is_cancelled(session))
        r = -ECANCELED;
    if (session->has_view)
        view_pause(&session->view);
    if (session->lock_fd < 0 && !(session->args->replay && r == -ESTALE))
        return r; /* nothing was begun */
    remember_failure(session, r, err);
    run_refused(session->args, err);
    if (r == -ECANCELED)
        (void)dprintf(STDERR_FILENO, "glovebox: cancelled\n");
    else
        term_error(err, session->settings.color, session->call->env);
    tell_how_to_resume(session, r, err);
    if (r == -ECANCELED)
        return RUN_EXIT_CANCELLED;
    if (session->args->replay)
        return RUN_EXIT_FAILED;
    /* What is wrong with the command is told before the journal is opened. */
    return session->journal ? RUN_EXIT_ERROR : term_exit_code(err);
}

static int end_waiting(struct run_session *session, const struct buf *document, struct gb_err *err)
{
    cleanup_buf struct buf summary = BUF_INIT(STORE_TEXT_MAX);
    int r = run_summary_text(&session->outcome, NULL, &summary);

    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "out of memory");
    if (session->store)
        r = store_task_state(session->store, session->task.id, TASK_WAITING, summary.data, err);
    if (r == 0)
        r = print_document(session, document, err);
    if (r < 0)
        return r;
    if (session->has_view)
        view_pause(&session->view);
    (void)dprintf(STDERR_FILENO,
                  "glovebox: the task waits for an answer; give it with: "
                  "glovebox runs answer %s \"...\"\n",
                  session->order.id);
    return RUN_EXIT_WAITING;
}

/* In the run's folder in any case, and where --out says.  *ret_dir is where people look. */
static int deliver(struct run_session *session, const struct deliverable *files, char **ret_dir,
                   struct gb_err *err)
{
    const struct run_host *host = &session->options.host;
    cleanup_free char *own = NULL;
    int r = 0;

    if (files->n == 0)
        return 0;
    if (session->folder && asprintf(&own, "%s/delivered", folder_path(session->folder)) < 0)
        return gb_no_memory(err);
    if (own)
        r = deliver_write(files, own, true, NULL, err);
    *ret_dir = take_ptr(own);
    if (r == 0 && host->out) {
        r = deliver_write(files, host->out, host->is_forced, session->parent.delivered, err);
        if (r == 0) {
            free(*ret_dir);
            *ret_dir = strdup(host->out);
        } else if (*ret_dir) {
            char remedy[PATH_MAX + 64];

            (void)snprintf(remedy, sizeof(remedy), "the files lie in %s", *ret_dir);
            gb_add_remedy(err, remedy);
        }
    }
    return r;
}

static int remember(struct run_session *session, const struct deliverable *files, const char *dir,
                    const struct buf *document, struct gb_err *err)
{
    cleanup_buf struct buf summary = BUF_INIT(STORE_TEXT_MAX);
    int r;

    if (!session->store)
        return 0;
    if (run_summary_text(&session->outcome, dir, &summary) < 0)
        return gb_no_memory(err);
    r = run_end_put(session->store, session->task.id, &session->outcome, files, document, err);
    return r < 0 ? r
                 : store_task_state(session->store, session->task.id, TASK_DONE, summary.data, err);
}

/* --file once more, for people who run what was built.  In a replay only names are known. */
static int files_given(const struct run_session *session, char ***ret)
{
    char *const *sources = session->options.host.sources;
    int r = 0;

    for (char **box = session->order.files; r == 0 && box && *box; box++) {
        const char *host = sources ? *sources : *box;
        cleanup_free char *both = NULL;

        if (strcmp(path_base(host), *box) != 0 || strchr(host, ':'))
            r = asprintf(&both, "%s:%s", host, *box) < 0 ? -ENOMEM : 0;
        if (r == 0)
            r = strings_add(ret, both ? both : host);
        sources = sources ? sources + 2 : NULL;
    }
    return r;
}

/* For whoever reads stdout: the answer, or the directory. */
static int tell_end(struct run_session *session, const struct deliverable *files, const char *dir,
                    struct gb_err *err)
{
    const struct agent_outcome *outcome = &session->outcome;
    char **given = NULL;

    if (session->has_view && files_given(session, &given) == 0)
        run_tell_end(&session->view, outcome, files, dir ? dir : "", given);
    strings_free(given);
    if (session->has_view && session->store)
        run_tell_stop(&session->view, session->task.id, agent_outcome_stop(outcome));
    if (session->args->style != RUN_STYLE_PEOPLE)
        return 0;
    if (outcome->answer)
        return run_tell_answer(outcome->answer, err);
    return dir && !isatty(STDOUT_FILENO) ? run_tell_answer(dir, err) : 0;
}

/* A directory of --out that could not be written is told last: the task itself is done, and its
 * files lie in its folder.  A replay has none. */
static int end_done(struct run_session *session, const struct buf *document, struct gb_err *err)
{
    cleanup_deliverable struct deliverable files = { 0 };
    cleanup_free char *dir = NULL;
    struct gb_err undelivered = { 0 };
    int r = deliverable_make(&session->outcome, &files, err);
    int delivered;

    if (r < 0)
        return r;
    delivered = deliver(session, &files, &dir, &undelivered);
    r = remember(session, &files, dir, document, err);
    if (r == 0)
        r = tell_end(session, &files, dir, err);
    if (r == 0)
        r = print_document(session, document, err);
    if (r < 0)
        return r;
    if (delivered < 0) {
        term_error(&undelivered, session->settings.color, session->call->env);
        if (!dir)
            return term_exit_code(&undelivered);
    }
    return session->outcome.outcome == OUTCOME_PASSED ? RUN_EXIT_PASSED : RUN_EXIT_FAILED;
}

int run_session_done(struct run_session *session, struct gb_err *err)
{
    cleanup_buf struct buf document = BUF_INIT(DOCUMENT_MAX);
    int r = agent_outcome_text(&session->spec, &session->outcome, &document);

    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "the task's document: %s", strerror(-r));
    return session->outcome.is_waiting ? end_waiting(session, &document, err)
                                       : end_done(session, &document, err);
}
