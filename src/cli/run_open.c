/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run_open.c - what a life of a task needs: settings, models, store, folder, journal. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/folder.h"
#include "agent/journal.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "cli/command.h"
#include "cli/run_args.h"
#include "cli/run_deliver.h"
#include "cli/run_session.h"
#include "conf/box_spec.h"
#include "conf/search.h"
#include "conf/secrets.h"
#include "model/model.h"
#include "model/probe.h"

_Static_assert((int)MODELS_ORCHESTRATOR == (int)ROLE_ORCHESTRATOR &&
                   (int)MODELS_CODER == (int)ROLE_CODER && (int)MODELS_TESTER == (int)ROLE_TESTER &&
                   (int)N_MODELS_ROLES == (int)N_ROLES,
               "conf/models.h and agent/task.h disagree on the roles");

/* ---- what a session is made of -------------------------------------------------------------- */

static bool is_same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_same_model(const struct model_choice *a, const struct model_choice *b)
{
    return is_same(a->spec.provider, b->spec.provider) && is_same(a->spec.name, b->spec.name) &&
           is_same(a->base_url, b->base_url) && is_same(a->spec.key, b->spec.key) &&
           a->spec.context == b->spec.context;
}

static int open_models(struct run_session *session, struct gb_err *err)
{
    const struct model_choice *roles = session->choices.roles;

    for (int role = 0; role < N_ROLES; role++) {
        int r;

        for (int k = 0; k < role && !session->models[role]; k++)
            if (is_same_model(&roles[role], &roles[k]))
                session->models[role] = session->models[k];
        if (session->models[role])
            continue;
        r = model_open(&roles[role].spec, &session->models[role], err);
        if (r < 0)
            return gb_wrap(err, r, "the %s's model", models_role_name((enum models_role)role));
    }
    return 0;
}

static void close_models(struct run_session *session)
{
    for (int role = N_ROLES - 1; role >= 0; role--) {
        bool is_shared = false;

        for (int k = 0; k < role; k++)
            is_shared = is_shared || session->models[k] == session->models[role];
        if (!is_shared)
            model_close(&session->models[role]);
    }
}

/* Those of the life before come first: what is said now counts. */
static int load_settings(struct run_session *session, char *const *flags, struct gb_err *err)
{
    const struct parsed *given = session->args->parsed;
    struct parsed all = { 0 };
    size_t n = 0;
    int r;

    while (flags && flags[2 * n] && flags[2 * n + 1])
        n++;
    all.flags = calloc(n + given->n_flags + 1, sizeof(*all.flags));
    if (!all.flags)
        return gb_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        const struct key *key = key_by_name(flags[2 * i]);

        if (key)
            all.flags[all.n_flags++] = (struct flag_text){ key->id, flags[2 * i + 1] };
    }
    for (size_t i = 0; i < given->n_flags; i++)
        all.flags[all.n_flags++] = given->flags[i];
    settings_clear(&session->settings);
    session->settings = (struct settings){ 0 };
    r = command_settings(session->call, &all, &session->settings, err);
    free(all.flags);
    return r;
}

static int choose_peers(struct run_session *session, struct gb_err *err)
{
    const struct models_input input = {
        .settings = &session->settings,
        .secrets = session->secrets,
        .env = session->call->env,
        .probe = model_probe_local,
    };
    int r = models_choose(&input, &session->choices, err);

    if (r == 0)
        r = open_models(session, err);
    if (r == 0)
        r = search_choose(&session->settings, session->secrets, session->call->env,
                          &session->people.search, err);
    if (r < 0)
        return r;
    session->people.has_search = r > 0;
    return 0;
}

int run_session_prepare(struct run_session *session, char *const *flags, struct gb_err *err)
{
    const char *user = session->args->user ? session->args->user : session->options.order.user;
    int r = load_settings(session, flags, err);

    if (r == 0)
        r = settings_check(&session->settings, err);
    if (r == 0)
        r = secrets_load(&session->settings, session->call->env, &session->secrets, err);
    if (r == 0)
        r = choose_peers(session, err);
    if (r == 0)
        session->box = settings_box_spec(&session->settings);
    return r < 0 || !user ? r : run_user_check(&session->settings, user, err);
}

int run_session_store(struct run_session *session, struct gb_err *err)
{
    const char *dir = session->settings.state_dir;

    if (!dir)
        return gb_fail(err, -ENOENT, GB_BLAME_CALLER,
                       "there is no place to remember tasks" GB_REMEDY
                       "set HOME, XDG_STATE_HOME or GLOVEBOX_STATE_DIR");
    return store_open(dir, &session->store, err);
}

void run_session_clear(struct run_session *session)
{
    if (session->has_view)
        view_end(&session->view);
    run_user_end(&session->user);
    agent_outcome_clear(&session->outcome);
    journal_close(&session->journal);
    folder_close(&session->folder);
    if (session->store && session->task.id)
        store_task_unlock(session->store, session->task.id, &session->lock_fd);
    store_task_clear(&session->task);
    store_close(&session->store);
    close_models(session);
    models_clear(&session->choices);
    secrets_free(&session->secrets);
    certificates_clear(&session->certificates);
    package_wishes_clear(&session->packages);
    package_host_clear(&session->package_host);
    run_contents_clear(&session->contents);
    run_order_clear(&session->order);
    run_options_clear(&session->options);
    run_end_clear(&session->parent);
    settings_clear(&session->settings);
    drop_fd(&session->signals);
}

/* ---- opening -------------------------------------------------------------------------------- */

/* Before anything is begun: that it can be written, and is nobody's. */
static int check_record(const struct run_args *args, struct gb_err *err)
{
    const char *path = args->record;
    struct stat st;
    int fd;

    if (!path)
        return 0;
    if (lstat(path, &st) == 0) {
        if (args->is_forced && S_ISREG(st.st_mode))
            return 0;
        return gb_fail(err, -EEXIST, GB_BLAME_CALLER,
                       "--record: '%.200s' is there already%s" GB_REMEDY "%s", path,
                       S_ISREG(st.st_mode) ? "" : " and is not a file",
                       S_ISREG(st.st_mode) ? "name another file, or say --force to replace it"
                                           : "name another file");
    }
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0600);
    if (fd < 0)
        return gb_fail(err, -errno, GB_BLAME_CALLER,
                       "--record: '%.200s': %s" GB_REMEDY "name another file", path,
                       strerror(errno));
    (void)close(fd);
    (void)unlink(path);
    return 0;
}

/* A wrong id is told before anything is said about models. */
static int check_task(struct store *store, const char *prefix, struct gb_err *err)
{
    struct store_task task = { 0 };
    int r = store_task_get(store, prefix, &task, err);

    store_task_clear(&task);
    return r;
}

static int open_task(struct run_session *session, struct gb_err *err)
{
    const struct run_args *args = session->args;
    int r;

    if (args->resume || args->resume_from) {
        r = load_settings(session, NULL, err);
        if (r == 0)
            r = run_session_store(session, err);
        return r < 0 ? r : run_resume(session, err);
    }
    r = load_settings(session, NULL, err);
    if (r == 0)
        r = run_session_store(session, err);
    if (r == 0 && args->continues)
        r = check_task(session->store, args->continues, err);
    if (r == 0)
        r = run_session_prepare(session, NULL, err);
    return r < 0 ? r : run_begin(session, err);
}

/* What the store has of it now, and nothing else: the task itself is left alone. */
static int replay_task(struct run_session *session, struct gb_err *err)
{
    struct store_task task = { 0 };
    int r = run_session_store(session, err);

    if (r == 0)
        r = store_task_get(session->store, session->args->replay, &task, err);
    if (r == 0)
        r = journal_replay_stored(session->store, task.id, &session->journal, err);
    store_task_clear(&task);
    store_close(&session->store);
    return r;
}

/* Neither model nor box, store nor network: only what the recording has. */
static int open_replay(struct run_session *session, struct gb_err *err)
{
    int r = load_settings(session, NULL, err);

    if (r == 0 && session->args->out)
        r = deliver_check(session->args->out, session->args->is_forced, &session->options.host.out,
                          err);
    session->options.host.is_forced = session->args->is_forced;
    if (r < 0)
        return r;
    if (session->args->replays_task)
        return replay_task(session, err);
    r = journal_replay(session->args->replay, &session->journal, err);
    if (r < 0 && r != -ENOMEM)
        err->blame = GB_BLAME_CALLER; /* whoever named the file can name another */
    return r;
}

static int open_journal(struct run_session *session, struct gb_err *err)
{
    const struct run_source source = {
        .options = &session->options,
        .objective = session->task.objective,
        .parent = session->task.parent,
        .store = session->store,
    };
    int r = journal_open(session->store, session->task.id, &session->journal, err);

    if (r == 0 && session->args->record)
        r = journal_record(session->journal, session->args->record, err);
    return r < 0 ? r
                 : run_contents_recall(session->journal, &source, &session->order,
                                       &session->contents, err);
}

int run_session_open(struct run_session *session, struct gb_err *err)
{
    int r = check_record(session->args, err);

    if (r < 0)
        return r;
    if (session->args->replay) {
        r = open_replay(session, err);
        return r < 0 ? r
                     : run_contents_recall(session->journal, NULL, &session->order,
                                           &session->contents, err);
    }
    r = open_task(session, err);
    return r < 0 ? r : open_journal(session, err);
}
