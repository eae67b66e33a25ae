/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run_resume.c - going on with a task that was begun: by its id, or by its folder. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "agent/folder.h"
#include "base/err.h"
#include "cli/run_args.h"
#include "cli/run_deliver.h"
#include "cli/run_session.h"
#include "cli/strings.h"

/* What the order has fixed. */
static const enum key_id fixed[] = {
    KEY_EFFORT,
    KEY_ASK,
    KEY_CANDIDATES,
    KEY_RUNS_DIR,
};

static int check_flags(const struct run_args *args, struct gb_err *err)
{
    for (size_t i = 0; i < args->parsed->n_flags; i++)
        for (size_t k = 0; k < N_ELEMENTS(fixed); k++)
            if (args->parsed->flags[i].key == fixed[k])
                return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                               "--%s cannot be changed in a task that is resumed",
                               key_at(fixed[k])->flag);
    return 0;
}

/* The result is there: say where. */
static int already_done(const struct store_task *task, struct gb_err *err)
{
    cleanup_summary struct run_summary summary = { 0 };

    run_summary_parse(task->outcome, &summary);
    return gb_fail(err, -EALREADY, GB_BLAME_CALLER,
                   "%s has ended (%s); its result lies in %s" GB_REMEDY
                   "glovebox run --continue %s \"...\" goes on from there",
                   task->id, summary.outcome ? summary.outcome : "done",
                   summary.delivered ? summary.delivered
                   : task->folder    ? task->folder
                                     : "the store",
                   task->id);
}

static int check_state(const struct run_session *session, struct gb_err *err)
{
    const struct store_task *task = &session->task;

    if (task->state == TASK_DONE && (session->args->answer || !run_can_be_raised(task)))
        return already_done(task, err);
    if (session->args->answer && task->state != TASK_WAITING)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "%s does not wait for an answer" GB_REMEDY "glovebox run --resume %s",
                       task->id, task->id);
    return 0;
}

/* Looked at once more when it is ours: another process may have ended it meanwhile. */
static int take_task(struct run_session *session, const char *prefix, struct gb_err *err)
{
    struct store_task *task = &session->task;
    struct store_task again = { 0 };
    int r = store_task_get(session->store, prefix, task, err);

    if (r == 0 && task->state == TASK_DONE)
        r = check_state(session, err);
    if (r < 0)
        return r;
    r = store_task_lock(session->store, task->id, &session->lock_fd, err);
    if (r == -EBUSY)
        return gb_fail(err, r, GB_BLAME_CALLER, "%s is being worked on by another process",
                       task->id);
    if (r == 0)
        r = store_task_get(session->store, task->id, &again, err);
    if (r < 0)
        return r;
    store_task_clear(task);
    *task = again;
    return check_state(session, err);
}

/* Whose files in --out may be replaced: those of an end that the task has had, else those of the
 * task that it continues. */
static int take_parent(struct run_session *session, struct gb_err *err)
{
    int r = 0;

    if (session->task.parent)
        r = run_end_get(session->store, session->task.parent, &session->parent, err);
    if (r >= 0 && session->options.host.delivered) {
        char **own = NULL;

        for (char **text = session->options.host.delivered; *text; text++)
            if (strings_add(&own, *text) < 0) {
                strings_free(own);
                return gb_no_memory(err);
            }
        strings_free(session->parent.delivered);
        session->parent.delivered = own;
    }
    return r < 0 ? r : 0;
}

/* A folder that is gone is made anew, for nothing in it is read back.  Where that cannot be, the
 * task goes on without. */
static int open_folder(struct run_session *session, struct gb_err *err)
{
    const struct store_task *task = &session->task;
    int r = task->folder ? folder_open(task->folder, &session->folder, err) : 0;

    if (r != -ENOENT && r != -ENOTDIR)
        return r;
    *err = (struct gb_err){ 0 };
    (void)folder_make_again(task->folder, task->objective, &session->folder, NULL);
    return 0;
}

/* --out and --force hold for this life; without them the task delivers to where it began with. */
static int take_out(struct run_session *session, struct gb_err *err)
{
    const struct run_args *args = session->args;
    struct run_host *host = &session->options.host;
    cleanup_free char *out = NULL;
    cleanup_free char *given = args->out ? realpath(args->out, NULL) : NULL;
    int r;

    host->is_forced = host->is_forced || args->is_forced;
    if (!args->out || (given && host->out && strcmp(given, host->out) == 0))
        return 0;
    r = deliver_check(args->out, args->is_forced, &out, err);
    if (r < 0)
        return r;
    free(host->out);
    host->out = take_ptr(out);
    host->is_forced = args->is_forced;
    return 0;
}

static int resume_id(struct run_session *session, const char *prefix, struct gb_err *err)
{
    int r = check_flags(session->args, err);

    if (r == 0)
        r = take_task(session, prefix, err);
    if (r == 0)
        r = run_options_parse(session->task.options, &session->options, err);
    if (r == 0)
        r = run_raise(session, err);
    if (r == 0)
        r = take_out(session, err);
    if (r == 0)
        r = take_parent(session, err);
    if (r == 0)
        r = run_session_prepare(session, session->options.host.flags, err);
    if (r == 0)
        r = open_folder(session, err);
    if (r == 0)
        r = session->is_raised
                ? run_raise_commit(session, err)
                : store_task_state(session->store, session->task.id, TASK_RUNNING, NULL, err);
    return r;
}

/* The task whose folder this is; *ret stays NULL when the store has none. */
static int find_by_folder(struct store *store, const char *folder, char **ret, struct gb_err *err)
{
    struct store_task *tasks = NULL;
    size_t n = 0;
    int r = store_task_list(store, STORE_LIST_MAX, &tasks, &n, err);

    for (size_t i = 0; r == 0 && !*ret && i < n; i++) {
        if (!tasks[i].folder || strcmp(tasks[i].folder, folder) != 0)
            continue;
        *ret = strdup(tasks[i].id);
        if (!*ret)
            r = gb_no_memory(err);
    }
    store_tasks_free(tasks, n);
    return r;
}

static int resume_folder(struct run_session *session, struct gb_err *err)
{
    const char *dir = session->args->resume_from;
    cleanup_free char *path = realpath(dir, NULL);
    cleanup_free char *id = NULL;
    int r;

    if (!path)
        return gb_fail(err, -errno, GB_BLAME_CALLER, "--resume_from: '%.200s': %s", dir,
                       strerror(errno));
    r = find_by_folder(session->store, path, &id, err);
    if (r < 0)
        return r;
    if (id)
        return resume_id(session, id, err);
    r = run_session_prepare(session, NULL, err);
    return r < 0 ? r : run_begin(session, err);
}

int run_resume(struct run_session *session, struct gb_err *err)
{
    return session->args->resume ? resume_id(session, session->args->resume, err)
                                 : resume_folder(session, err);
}
