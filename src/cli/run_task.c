/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run_task.c - one life of a task: what it needs is opened, it runs, its end is told.
 *
 * stdout has the answer of a task that asked for one, or the directory of what was built, or what
 * --json and --jsonl promise; all else goes to stderr.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/folder.h"
#include "agent/journal.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "box/carry.h"
#include "cli/command.h"
#include "cli/run_args.h"
#include "cli/run_deliver.h"
#include "cli/run_session.h"
#include "cli/run_tell.h"
#include "cli/strings.h"
#include "cli/term.h"
#include "conf/box_spec.h"
#include "conf/environment.h"
#include "conf/search.h"
#include "conf/secrets.h"
#include "json/writer.h"
#include "model/model.h"
#include "model/probe.h"
#include "run/signals.h"

#define DOCUMENT_MAX (64 << 20)
#define EVENT_MAX    (32 << 20)
#define JOBS_MAX     64

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

static void session_clear(struct run_session *session)
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

static int open_all(struct run_session *session, struct gb_err *err)
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

/* ---- working -------------------------------------------------------------------------------- */

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

/* ---- the end -------------------------------------------------------------------------------- */

static void put_error(struct json_writer *w, const struct gb_err *why)
{
    const char *remedy = gb_err_remedy(why);

    json_object_begin(w, "error");
    json_put_bytes(w, "message", why->msg, gb_err_len(why));
    json_put_str(w, "remedy", remedy);
    json_object_end(w);
}

void run_refused(const struct run_args *args, const struct gb_err *why)
{
    cleanup_buf struct buf text = BUF_INIT(64 << 10);
    struct json_writer w;

    if (args->style == RUN_STYLE_PEOPLE)
        return;
    json_writer_init(&w, &text, false);
    json_object_begin(&w, NULL);
    if (args->style == RUN_STYLE_JSONL)
        json_put_str(&w, "event", "error");
    else
        json_put_u64(&w, "schema", 1);
    put_error(&w, why);
    json_object_end(&w);
    (void)json_writer_end(&w);
    (void)buf_putc(&text, '\n');
    (void)command_print(&text, NULL);
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
static int end_failed(struct run_session *session, int r, struct gb_err *err)
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

static int work(struct run_session *session, struct gb_err *err)
{
    cleanup_buf struct buf document = BUF_INIT(DOCUMENT_MAX);
    int r = open_all(session, err);

    if (r < 0)
        return end_failed(session, r, err);
    make_spec(session);
    r = run_network(session, err);
    if (r == 0)
        r = run_packages_give(session, err);
    if (r == 0)
        r = run_user_give(session, err);
    if (r < 0)
        return end_failed(session, r, err);
    open_view(session);
    if (session->has_view)
        run_tell_begin(&session->view, &session->spec,
                       session->folder ? folder_path(session->folder) : NULL);
    r = agent_run(&session->spec, &session->outcome, err);
    if (r < 0)
        return end_failed(session, r, err);
    r = agent_outcome_text(&session->spec, &session->outcome, &document);
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "the task's document: %s", strerror(-r));
    return session->outcome.is_waiting ? end_waiting(session, &document, err)
                                       : end_done(session, &document, err);
}

int run_task(const struct call *call, const struct run_args *args, struct gb_err *err)
{
    cleanup_with(session_clear) struct run_session session = {
        .call = call,
        .args = args,
        .lock_fd = -1,
        .signals = signals_open(err),
    };

    fd_allow(CARRY_FILES_MAX);
    return session.signals < 0 ? session.signals : work(&session, err);
}
