/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run_begin.c - a new task: its order, its row in the store, its folder. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/checkpoint.h"
#include "agent/folder.h"
#include "agent/redact.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/path.h"
#include "cli/run_args.h"
#include "cli/run_deliver.h"
#include "cli/run_session.h"
#include "cli/strings.h"
#include "conf/secrets.h"
#include "store/digest.h"

_Static_assert((int)ASKING_NEVER == (int)ASK_NEVER && (int)ASKING_BLOCKED == (int)ASK_BLOCKED &&
                   (int)ASKING_ALWAYS == (int)ASK_ALWAYS,
               "conf/value.h and agent/task.h disagree on when a person is asked");

#define SCRIPTED "scripted/"

/* ---- the order ------------------------------------------------------------------------------ */

static int take_settings(const struct run_session *session, struct run_order *order,
                         struct gb_err *err)
{
    const struct settings *settings = &session->settings;
    const char *effort = effort_name(settings->effort);
    const char *language = session->args->language;
    const char *net = session->args->net;
    const char *denied = settings->net_caps.denied;
    const char *user = session->args->user;

    if (settings->task.candidates > AGENT_CANDIDATES_MAX)
        return gb_fail(err, -ERANGE, GB_BLAME_CALLER, "--candidates: at most %d are compared",
                       AGENT_CANDIDATES_MAX);
    order->candidates = (unsigned)settings->task.candidates;
    order->ask = (enum ask_mode)settings->ask;
    order->budget = run_limits(settings);
    order->effort = effort ? strdup(effort) : NULL;
    order->language = language ? strdup(language) : NULL;
    order->net = net ? strdup(net) : NULL;
    order->net_denied = denied ? strdup(denied) : NULL;
    order->user = user ? strdup(user) : NULL;
    if ((effort && !order->effort) || (language && !order->language) || (net && !order->net) ||
        (denied && !order->net_denied) || (user && !order->user))
        return gb_no_memory(err);
    order->installs = settings->installs;
    if (id_make('t', order->id) < 0)
        return gb_fail_sys(err, "making an id");
    return run_packages_take(session->args, order, err);
}

/* HOST[:BOX]; the box's path may not lead out of its workspace. */
static int split_file(const char *arg, char **ret_host, char **ret_box, struct gb_err *err)
{
    cleanup_free char *host = strdup(arg);
    char *colon = host ? strrchr(host, ':') : NULL;
    const char *box;

    if (!host)
        return gb_no_memory(err);
    if (colon)
        *colon = '\0';
    box = colon ? colon + 1 : path_base(host);
    if (!path_is_below(box))
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "--file: '%.200s' is no path below the box's workspace", box);
    *ret_box = strdup(box);
    *ret_host = realpath(host, NULL);
    if (!*ret_host)
        return gb_fail(err, -errno, GB_BLAME_CALLER, "--file: %.200s: %s", host, strerror(errno));
    return *ret_box ? 0 : gb_no_memory(err);
}

static bool has_string(char *const *list, const char *text)
{
    for (; list && *list; list++)
        if (strcmp(*list, text) == 0)
            return true;
    return false;
}

static int take_file(const char *arg, struct run_options *options, size_t *bytes,
                     struct gb_err *err)
{
    cleanup_buf struct buf contents = BUF_INIT(RUN_FILE_MAX + 1);
    cleanup_free char *host = NULL;
    cleanup_free char *box = NULL;
    char digest[DIGEST_SIZE];
    int r = split_file(arg, &host, &box, err);

    if (r < 0 || !box)
        return r;
    if (has_string(options->order.files, box))
        return gb_fail(err, -EEXIST, GB_BLAME_CALLER, "--file: two files cannot both be '%.200s'",
                       box);
    r = run_read_file(host, &contents, err);
    if (r < 0)
        return gb_wrap(err, r, "--file");
    *bytes += contents.len;
    if (*bytes > RUN_FILE_MAX)
        return gb_fail(err, -EFBIG, GB_BLAME_CALLER, "--file: more than %d MiB in all",
                       RUN_FILE_MAX >> 20);
    r = digest_of(contents.data, contents.len, digest, err);
    if (r < 0)
        return r;
    if (strings_add(&options->order.files, box) < 0 ||
        strings_add(&options->host.sources, host) < 0 ||
        strings_add(&options->host.sources, digest) < 0)
        return gb_no_memory(err);
    return 0;
}

static int take_files(const struct run_session *session, struct run_options *options,
                      struct gb_err *err)
{
    const struct text_list *files = &session->args->files;
    size_t bytes = 0;
    int r = 0;

    if (files->n > RUN_FILES_MAX)
        return gb_fail(err, -E2BIG, GB_BLAME_CALLER, "--file: more than %d", RUN_FILES_MAX);
    for (size_t i = 0; r == 0 && i < files->n; i++)
        r = take_file(files->items[i], options, &bytes, err);
    return r;
}

/* A script's path is kept whole: the task may be resumed from elsewhere. */
static int add_flag(const struct flag_text *flag, struct run_host *host)
{
    cleanup_free char *script = NULL;
    cleanup_free char *text = NULL;
    const char *path = flag->text + sizeof(SCRIPTED) - 1;

    if (flag->key == KEY_MODEL && strncmp(flag->text, SCRIPTED, sizeof(SCRIPTED) - 1) == 0)
        script = realpath(path, NULL);
    if (script && asprintf(&text, SCRIPTED "%s", script) < 0)
        return -ENOMEM;
    if (strings_add(&host->flags, key_at(flag->key)->name) < 0)
        return -ENOMEM;
    return strings_add(&host->flags, text ? text : flag->text);
}

static int take_host(const struct run_session *session, struct run_host *host, struct gb_err *err)
{
    const struct parsed *parsed = session->args->parsed;
    int r = 0;

    for (size_t i = 0; r == 0 && i < parsed->n_flags; i++)
        if (parsed->flags[i].key != KEY_COLOR)
            r = add_flag(&parsed->flags[i], host);
    host->is_forced = session->args->is_forced;
    return r < 0 ? gb_no_memory(err) : 0;
}

/* ---- what it goes on from ------------------------------------------------------------------- */

/* Where the run that is continued delivered its files to, this one may too. */
static bool is_out_of(const struct run_host *parent, const char *out)
{
    cleanup_free char *path = out ? realpath(out, NULL) : NULL;

    return path && parent->out && strcmp(parent->out, path) == 0;
}

/* Somebody's changes are neither lost nor taken for the task's. */
static int check_changed(const struct run_session *session, const struct run_host *parent,
                         bool is_same_out, struct gb_err *err)
{
    const char *path;

    if (!parent->out || deliver_changed(parent->out, session->parent.delivered, &path) == 0)
        return 0;
    if (is_same_out && !session->args->is_forced)
        return gb_fail(err, -EEXIST, GB_BLAME_CALLER,
                       "--out: you changed '%.200s/%.100s' since" GB_REMEDY
                       "name another directory, or say --force",
                       session->args->out, path);
    (void)dprintf(STDERR_FILENO,
                  "glovebox: %s/%s was changed since; the task goes on from its own copy\n",
                  parent->out, path);
    return 0;
}

/* Unless --file is said anew. */
static void take_parents_files(const struct run_session *session, struct run_options *parent,
                               struct run_options *options)
{
    if (session->args->files.n > 0 || !parent->order.files)
        return;
    options->order.files = take_ptr(parent->order.files);
    options->host.sources = take_ptr(parent->host.sources);
    options->host.has_parents_files = true;
    (void)dprintf(STDERR_FILENO, "glovebox: the task has the files of %s:", session->task.parent);
    for (char **path = options->order.files; *path; path++)
        (void)dprintf(STDERR_FILENO, " %s", *path);
    (void)dprintf(STDERR_FILENO, "\n");
}

static int take_parent(struct run_session *session, struct run_options *options,
                       bool *ret_is_known_out, struct gb_err *err)
{
    cleanup_options struct run_options past = { 0 };
    struct store_task parent = { 0 };
    int r = store_task_get(session->store, session->args->continues, &parent, err);

    if (r == 0 && parent.state != TASK_DONE)
        r = gb_fail(err, -EBUSY, GB_BLAME_CALLER,
                    "%s has not ended yet" GB_REMEDY "glovebox run --resume %s", parent.id,
                    parent.id);
    if (r == 0)
        r = run_end_get(session->store, parent.id, &session->parent, err);
    if (r == 1)
        r = run_options_parse(parent.options, &past, err);
    if (r == 0) {
        *ret_is_known_out = is_out_of(&past.host, session->args->out);
        options->order.has_contract = session->parent.has_contract;
        session->task.parent = take_ptr(parent.id);
        r = check_changed(session, &past.host, *ret_is_known_out, err);
    }
    if (r == 0)
        take_parents_files(session, &past, options);
    for (char **path = session->parent.files; r == 0 && path && *path; path++)
        r = strings_add(&options->order.before, *path) < 0 ? gb_no_memory(err) : 0;
    store_task_clear(&parent);
    return r;
}

/* A folder that the store knows nothing of: from another machine, or of a task that was removed. */
static int take_folder(struct run_session *session, struct run_options *options, struct gb_err *err)
{
    cleanup_folder struct folder *folder = NULL;
    cleanup_checkpoint struct checkpoint checkpoint = { 0 };
    int r = folder_open(session->args->resume_from, &folder, err);

    if (r == 0)
        r = folder_get_checkpoint(folder, &checkpoint, err);
    if (r < 0)
        return r;
    if (checkpoint.orchestrator_step >= options->order.budget.limits[BUDGET_STEPS])
        return gb_fail(err, -EDQUOT, GB_BLAME_CALLER,
                       "--resume_from: that task has had %" PRIu64 " steps of %" PRIu64 GB_REMEDY
                       "allow more with --max-steps",
                       checkpoint.orchestrator_step, options->order.budget.limits[BUDGET_STEPS]);
    options->order.has_past =
        checkpoint.orchestrator_step > 0 || checkpoint.history || checkpoint.execution_feedback;
    options->order.past_steps = (unsigned)checkpoint.orchestrator_step;
    for (size_t i = 0; i < checkpoint.latest_code.n; i++)
        if (strings_add(&options->order.before, checkpoint.latest_code.items[i].path) < 0)
            return gb_no_memory(err);
    options->host.from = strdup(folder_path(folder));
    session->task.objective = take_ptr(checkpoint.objective);
    return options->host.from ? 0 : gb_no_memory(err);
}

static int take_past(struct run_session *session, struct run_options *options, struct gb_err *err)
{
    bool is_known_out = false;
    int r = 0;

    if (session->args->continues)
        r = take_parent(session, options, &is_known_out, err);
    else if (session->args->resume_from)
        r = take_folder(session, options, err);
    if (r == 0 && session->args->out)
        r = deliver_check(session->args->out, session->args->is_forced || is_known_out,
                          &options->host.out, err);
    return r;
}

/* ---- the task ------------------------------------------------------------------------------- */

static int make_options(struct run_session *session, struct gb_err *err)
{
    struct run_options *options = &session->options;
    int r = take_settings(session, &options->order, err);

    if (r == 0)
        r = take_host(session, &options->host, err);
    if (r == 0)
        r = take_past(session, options, err);
    if (r == 0)
        r = take_files(session, options, err);
    return r;
}

static int put_task(struct run_session *session, struct gb_err *err)
{
    cleanup_buf struct buf options = BUF_INIT(STORE_TEXT_MAX);
    struct store_task *task = &session->task;

    if (run_options_text(&session->options, &options) < 0)
        return gb_fail(err, -E2BIG, GB_BLAME_CALLER, "the command line is too long");
    task->id = strdup(session->options.order.id);
    task->options = buf_take(&options);
    task->folder = strdup(folder_path(session->folder));
    task->state = TASK_RUNNING;
    if (!task->id || !task->options || !task->folder)
        return gb_no_memory(err);
    return store_task_new(session->store, task, err);
}

/* A key in the task's text goes nowhere: all that is kept, shown and sent is made from what is
 * left.
 */
static int redact_objective(struct run_session *session, struct gb_err *err)
{
    cleanup_buf struct buf clean = BUF_INIT(AGENT_OBJECTIVE_MAX);
    cleanup_redactor struct redactor *redactor = NULL;
    char **objective = &session->task.objective;
    size_t len = strlen(*objective);

    if (redactor_new(secrets_values(session->secrets), &redactor) < 0)
        return gb_no_memory(err);
    if (!redact_finds(redactor, *objective, len))
        return 0;
    if (redact(redactor, *objective, len, &clean) < 0)
        return gb_fail(err, -EFBIG, GB_BLAME_CALLER, "the task has more than 1 MiB");
    free(*objective);
    *objective = buf_take(&clean);
    (void)dprintf(STDERR_FILENO, "glovebox: the task has a key in it, which is left out\n");
    return *objective ? 0 : gb_no_memory(err);
}

static int take_objective(struct run_session *session, struct gb_err *err)
{
    struct store_task *task = &session->task;

    if (!task->objective)
        task->objective = strdup(session->args->objective);
    return task->objective ? redact_objective(session, err) : gb_no_memory(err);
}

static int make_folder(struct run_session *session, struct gb_err *err)
{
    bool is_named = session->settings.set[KEY_RUNS_DIR].origin.kind != ORIGIN_DEFAULT;
    int r = folder_make(session->settings.runs_dir, is_named, session->task.objective,
                        &session->folder, err);

    if (r < 0)
        gb_add_remedy(err, "--runs-dir DIR names another place");
    return r;
}

int run_begin(struct run_session *session, struct gb_err *err)
{
    struct store_task *task = &session->task;
    int r = make_options(session, err);

    if (r == 0)
        r = take_objective(session, err);
    if (r == 0)
        r = make_folder(session, err);
    if (r == 0) {
        r = put_task(session, err);
        if (r < 0)
            folder_discard(&session->folder);
    }
    if (r == 0)
        r = store_task_lock(session->store, task->id, &session->lock_fd, err);
    return r;
}
