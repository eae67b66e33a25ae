/* SPDX-License-Identifier: Apache-2.0 */
/* cli/cmd_runs.c - `glovebox runs`: the tasks that the store remembers.
 *
 * A task that is neither done nor waiting is running when a process holds its lock, else it was
 * interrupted and can be resumed.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/task.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "cli/command.h"
#include "cli/run_args.h"
#include "cli/run_end.h"
#include "cli/run_remove.h"
#include "cli/run_session.h"
#include "cli/term.h"
#include "cli/term_filter.h"
#include "json/writer.h"
#include "store/store.h"

#define TEXT_MAX     (128 << 20)
#define LIST_DEFAULT 20
#define ID_SHOWN     10
#define DATE_SIZE    32

struct runs_args {
    bool is_json;
    bool is_all;
    bool is_forced;
};

#define AT(field) .offset = offsetof(struct runs_args, field)
static const struct opt list_options[] = {
    { OPT_FLAG, "all", 'a', AT(is_all), NULL, "all of them, not only the last 20" },
    { OPT_FLAG, "json", 0, AT(is_json), NULL, "one JSON document, with all of them" },
    { OPT_KEY, .key = KEY_COLOR },
    OPT_HELP_ROW,
    { 0 },
};

static const struct opt show_options[] = {
    { OPT_FLAG, "json", 0, AT(is_json), NULL, "one JSON document, with that of the run" },
    { OPT_KEY, .key = KEY_COLOR },
    OPT_HELP_ROW,
    { 0 },
};

static const struct opt remove_options[] = {
    { OPT_FLAG, "all", 'a', AT(is_all), NULL, "all tasks, but those that work or wait" },
    { OPT_FLAG, "force", 0, AT(is_forced), NULL, "also one that works or waits for an answer" },
    { OPT_KEY, .key = KEY_COLOR },
    OPT_HELP_ROW,
    { 0 },
};

/* ---- states --------------------------------------------------------------------------------- */

enum state {
    STATE_RUNNING,
    STATE_INTERRUPTED,
    STATE_WAITING,
    STATE_DONE,
};

static const char *const state_names[] = {
    [STATE_RUNNING] = "running",
    [STATE_INTERRUPTED] = "interrupted",
    [STATE_WAITING] = "waiting",
    [STATE_DONE] = "done",
};

/* Whoever works on a task holds its lock. */
static enum state state_of(struct store *store, const struct store_task *task)
{
    if (task->state == TASK_DONE)
        return STATE_DONE;
    if (store_task_is_locked(store, task->id))
        return STATE_RUNNING;
    return task->state == TASK_WAITING ? STATE_WAITING : STATE_INTERRUPTED;
}

/* A task that is done shows how. */
static const char *word_of(enum state state, const struct run_summary *summary)
{
    return state == STATE_DONE && summary->outcome ? summary->outcome : state_names[state];
}

static enum term_style style_of(enum state state, const struct run_summary *summary)
{
    if (state == STATE_RUNNING)
        return TERM_BOLD;
    if (state != STATE_DONE)
        return TERM_YELLOW;
    return summary->outcome && strcmp(summary->outcome, "passed") == 0 ? TERM_GREEN : TERM_RED;
}

/* In the time of the place. */
static const char *date_text(uint64_t ms, char text[static DATE_SIZE])
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm parts;

    if (!localtime_r(&seconds, &parts) || strftime(text, DATE_SIZE, "%Y-%m-%d %H:%M", &parts) == 0)
        text[0] = '\0';
    return text;
}

/* ---- list ----------------------------------------------------------------------------------- */

static void put_json_head(struct json_writer *w, const struct store_task *task, enum state state,
                          const struct run_summary *summary)
{
    json_put_str(w, "id", task->id);
    json_put_str(w, "state", state_names[state]);
    json_put_str(w, "outcome", summary->outcome);
    json_put_str(w, "reason", summary->reason);
    json_put_str(w, "question", summary->question);
    json_put_str(w, "objective", task->objective);
    json_put_str(w, "folder", task->folder);
    json_put_str(w, "delivered", summary->delivered);
    json_put_str(w, "parent", task->parent);
    json_put_u64(w, "created_ms", task->created_ms);
    json_put_u64(w, "changed_ms", task->changed_ms);
}

static void list_json(struct store *store, const struct store_task *tasks, size_t n,
                      struct buf *ret)
{
    struct json_writer w;

    json_writer_init(&w, ret, true);
    json_object_begin(&w, NULL);
    json_put_u64(&w, "schema", 1);
    json_array_begin(&w, "runs");
    for (size_t i = 0; i < n; i++) {
        cleanup_summary struct run_summary summary = { 0 };

        run_summary_parse(tasks[i].outcome, &summary);
        json_object_begin(&w, NULL);
        put_json_head(&w, &tasks[i], state_of(store, &tasks[i]), &summary);
        json_object_end(&w);
    }
    json_array_end(&w);
    json_object_end(&w);
    (void)json_writer_end(&w);
}

/* As much of its first line as the terminal has room for. */
static void put_objective(const struct store_task *task, const struct term *term, struct buf *ret)
{
    size_t used = ID_SHOWN + 2 + 16 + 2 + 11 + 2;
    size_t room = term->width > used + 20 ? term->width - used : 20;
    const char *text = task->objective + strspn(task->objective, " \t\r\n");
    size_t len = strcspn(text, "\n");
    bool is_cut = text[len];

    if (len > room - 1) {
        is_cut = true;
        len = room - 1;
        while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
            len--;
    }
    (void)term_filter_line(text, len, ret);
    (void)buf_puts(ret, is_cut ? "…\n" : "\n");
}

static void list_text(struct store *store, const struct store_task *tasks, size_t n,
                      const struct term *term, struct buf *ret)
{
    for (size_t i = 0; i < n; i++) {
        cleanup_summary struct run_summary summary = { 0 };
        enum state state = state_of(store, &tasks[i]);
        char date[DATE_SIZE];

        run_summary_parse(tasks[i].outcome, &summary);
        (void)buf_printf(ret, "%.*s  %s  %s%-11s%s  ", ID_SHOWN, tasks[i].id,
                         date_text(tasks[i].created_ms, date),
                         term_on(term, style_of(state, &summary)), word_of(state, &summary),
                         term_off(term));
        put_objective(&tasks[i], term, ret);
        if (state == STATE_INTERRUPTED && summary.reason) {
            (void)buf_printf(ret, "%*s", ID_SHOWN + 2, "");
            (void)term_filter_line(summary.reason, strcspn(summary.reason, "\n"), ret);
            (void)buf_putc(ret, '\n');
        }
        if (state == STATE_INTERRUPTED)
            (void)buf_printf(ret, "%*sglovebox run --resume %.*s\n", ID_SHOWN + 2, "", ID_SHOWN,
                             tasks[i].id);
        else if (state == STATE_WAITING)
            (void)buf_printf(ret, "%*sglovebox runs answer %.*s \"...\"\n", ID_SHOWN + 2, "",
                             ID_SHOWN, tasks[i].id);
    }
}

/* Everything that the commands here need: settings and store. */
struct opened {
    struct runs_args args;
    struct parsed parsed;
    struct settings settings;
    struct store *store;
    struct term term;
};

static void opened_clear(struct opened *opened)
{
    store_close(&opened->store);
    settings_clear(&opened->settings);
    parsed_clear(&opened->parsed);
}

/* 1 when help was wanted. */
static int open_store(const struct call *call, struct opened *ret, struct gb_err *err)
{
    int r = command_parse(call, &ret->args, &ret->parsed, err);

    if (r == 0)
        r = command_settings(call, &ret->parsed, &ret->settings, err);
    if (r != 0)
        return r;
    if (ret->parsed.has_rest)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "unexpected argument '--'");
    if (!ret->settings.state_dir)
        return gb_fail(err, -ENOENT, GB_BLAME_CALLER,
                       "there is no place that remembers tasks" GB_REMEDY
                       "set HOME, XDG_STATE_HOME or GLOVEBOX_STATE_DIR");
    term_init(&ret->term, STDOUT_FILENO, ret->settings.color, call->env);
    return store_open(ret->settings.state_dir, &ret->store, err);
}

static int list_with(struct opened *opened, struct gb_err *err)
{
    bool is_all = opened->args.is_all || opened->args.is_json;
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
    struct store_task *tasks = NULL;
    size_t n = 0;
    int r = command_no_operands(&opened->parsed, err);

    if (r == 0)
        r = store_task_list(opened->store, is_all ? STORE_LIST_MAX : LIST_DEFAULT, &tasks, &n, err);
    if (r < 0)
        return r;
    if (opened->args.is_json)
        list_json(opened->store, tasks, n, &text);
    else
        list_text(opened->store, tasks, n, &opened->term, &text);
    store_tasks_free(tasks, n);
    if (text.len == 0 && buf_error(&text) == 0) {
        (void)dprintf(STDERR_FILENO, "No tasks yet; glovebox run \"TASK\" begins one.\n");
        return 0;
    }
    return command_print(&text, err);
}

/* With --json an error is a document too. */
static void refuse(const struct opened *opened, const struct gb_err *why)
{
    const struct run_args args = { .style =
                                       opened->args.is_json ? RUN_STYLE_JSON : RUN_STYLE_PEOPLE };

    run_refused(&args, why);
}

static int list_call(const struct call *call, struct gb_err *err)
{
    cleanup_with(opened_clear) struct opened opened = { 0 };
    int r = open_store(call, &opened, err);

    if (r == 0)
        r = list_with(&opened, err);
    if (r < 0)
        refuse(&opened, err);
    return r > 0 ? 0 : r;
}

/* ---- show ----------------------------------------------------------------------------------- */

static void show_json(const struct store_task *task, enum state state,
                      const struct run_summary *summary, const struct buf *document,
                      struct buf *ret)
{
    struct json_writer w;

    json_writer_init(&w, ret, false);
    json_object_begin(&w, NULL);
    json_put_u64(&w, "schema", 1);
    put_json_head(&w, task, state, summary);
    if (document->len > 0)
        json_put_raw(&w, "document", document->data);
    else
        json_put_null(&w, "document");
    json_object_end(&w);
    (void)json_writer_end(&w);
    (void)buf_putc(ret, '\n');
}

/* A label, and text in as many lines as it has. */
static void put_field(const struct term *term, const char *label, const char *text, struct buf *ret)
{
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        (void)buf_printf(ret, "%s%-10s%s ", term_on(term, TERM_BOLD), label, term_off(term));
        (void)term_filter_line(line, strcspn(line, "\n"), ret);
        (void)buf_putc(ret, '\n');
        label = "";
    }
}

static void put_next(const struct term *term, const struct store_task *task, enum state state,
                     struct buf *ret)
{
    static const char *const forms[] = {
        [STATE_RUNNING] = NULL,
        [STATE_INTERRUPTED] = "glovebox run --resume %s",
        [STATE_WAITING] = "glovebox runs answer %s \"...\"",
        [STATE_DONE] = "glovebox run --continue %s \"...\"",
    };
    cleanup_buf struct buf line = BUF_INIT(256);
    const char *hole = forms[state] ? strstr(forms[state], "%s") : NULL;

    if (!hole)
        return;
    (void)buf_printf(&line, "%.*s%s%s", (int)(hole - forms[state]), forms[state], task->id,
                     hole + 2);
    put_field(term, "next", line.data, ret);
}

/* What the budget has ended goes on with more of it. */
static void put_next_raised(const struct term *term, const struct store_task *task,
                            const struct run_summary *summary, struct buf *ret)
{
    const struct agent_stop *stop = summary->stop.is_there ? &summary->stop : &summary->tried;
    cleanup_buf struct buf line = BUF_INIT(256);

    if (!stop->is_there)
        return;
    (void)buf_printf(&line, "glovebox run --resume %s %s N", task->id,
                     budget_item_option(stop->item));
    put_field(term, "next", line.data, ret);
}

static void show_text(const struct store_task *task, enum state state,
                      const struct run_summary *summary, const struct term *term, struct buf *ret)
{
    char date[DATE_SIZE];

    put_field(term, "task", task->id, ret);
    put_field(term, "state", word_of(state, summary), ret);
    put_field(term, "begun", date_text(task->created_ms, date), ret);
    put_field(term, "changed", date_text(task->changed_ms, date), ret);
    if (task->parent)
        put_field(term, "continues", task->parent, ret);
    put_field(term, "objective", task->objective, ret);
    if (summary->reason)
        put_field(term, "reason", summary->reason, ret);
    if (summary->question)
        put_field(term, "question", summary->question, ret);
    if (task->folder)
        put_field(term, "folder", task->folder, ret);
    if (summary->delivered)
        put_field(term, "delivered", summary->delivered, ret);
    if (state == STATE_DONE)
        put_next_raised(term, task, summary, ret);
    put_next(term, task, state, ret);
}

static int show_task(struct opened *opened, const struct store_task *task, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
    cleanup_buf struct buf document = BUF_INIT(STORE_OUTPUT_MAX);
    cleanup_summary struct run_summary summary = { 0 };
    enum state state = state_of(opened->store, task);
    int r = run_end_document(opened->store, task->id, &document, err);

    if (r < 0)
        return r;
    run_summary_parse(task->outcome, &summary);
    if (opened->args.is_json)
        show_json(task, state, &summary, &document, &text);
    else
        show_text(task, state, &summary, &opened->term, &text);
    return command_print(&text, err);
}

static int show_with(struct opened *opened, struct gb_err *err)
{
    struct store_task task = { 0 };
    int r;

    if (opened->parsed.n_operands != 1)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "name one task: 'glovebox runs list'");
    r = store_task_get(opened->store, opened->parsed.operands[0], &task, err);
    if (r == 0)
        r = show_task(opened, &task, err);
    store_task_clear(&task);
    return r;
}

static int show_call(const struct call *call, struct gb_err *err)
{
    cleanup_with(opened_clear) struct opened opened = { 0 };
    int r = open_store(call, &opened, err);

    if (r == 0)
        r = show_with(&opened, err);
    if (r < 0)
        refuse(&opened, err);
    return r > 0 ? 0 : r;
}

/* ---- rm ------------------------------------------------------------------------------------- */

/* Why it is not removed without --force; NULL: it is. */
static const char *reason_to_stay(struct store *store, const struct store_task *task)
{
    static const char *const reasons[] = {
        [STATE_RUNNING] = "is being worked on",
        [STATE_INTERRUPTED] = NULL,
        [STATE_WAITING] = "waits for an answer",
        [STATE_DONE] = NULL,
    };

    return reasons[state_of(store, task)];
}

/* The folder first: what is interrupted in between is removed the next time. */
static int remove_one(struct opened *opened, const struct store_task *task, struct buf *ret,
                      struct gb_err *err)
{
    struct gb_err why = { 0 };
    int lock = -1;
    int folder = 0;
    int r = store_task_lock(opened->store, task->id, &lock, err);

    if (r == -EBUSY && opened->args.is_forced)
        *err = (struct gb_err){ 0 };
    else if (r < 0)
        return r;
    if (task->folder)
        folder = run_remove_folder(task, &why);
    r = store_task_forget(opened->store, task->id, err);
    store_task_unlock(opened->store, task->id, &lock);
    if (r < 0)
        return r;
    (void)buf_printf(ret, "removed %s", task->id);
    if (folder != 0) {
        (void)buf_puts(ret, folder > 0 ? " and " : "; its folder stays: ");
        (void)term_filter_line(task->folder, strlen(task->folder), ret);
    }
    if (folder < 0)
        (void)buf_printf(ret, " (%s)", why.msg);
    (void)buf_putc(ret, '\n');
    return 0;
}

/* Those that were named, or all; the caller frees. */
static int tasks_to_remove(struct opened *opened, struct store_task **ret, size_t *ret_n,
                           struct gb_err *err)
{
    const struct parsed *parsed = &opened->parsed;
    int r = 0;

    if (opened->args.is_all && parsed->n_operands > 0)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "--all and an ID exclude each other");
    if (opened->args.is_all)
        return store_task_list(opened->store, STORE_LIST_MAX, ret, ret_n, err);
    if (parsed->n_operands == 0)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "which task? 'glovebox runs list'");
    *ret = calloc(parsed->n_operands, sizeof(**ret));
    if (!*ret)
        return gb_no_memory(err);
    for (size_t i = 0; r == 0 && i < parsed->n_operands; i++) {
        r = store_task_get(opened->store, parsed->operands[i], &(*ret)[*ret_n], err);
        *ret_n += r == 0;
    }
    return r;
}

/* One that may not be removed stands in the way of all that were named with it. */
static int check_named(struct opened *opened, const struct store_task *tasks, size_t n,
                       struct gb_err *err)
{
    for (size_t i = 0; i < n && !opened->args.is_forced && !opened->args.is_all; i++) {
        const char *why = reason_to_stay(opened->store, &tasks[i]);

        if (why)
            return gb_fail(err, -EBUSY, GB_BLAME_CALLER,
                           "%s %s" GB_REMEDY "glovebox runs rm --force removes it all the same",
                           tasks[i].id, why);
    }
    return 0;
}

static bool is_again(const struct store_task *tasks, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(tasks[k].id, tasks[i].id) == 0)
            return true;
    return false;
}

static int remove_tasks(struct opened *opened, const struct store_task *tasks, size_t n,
                        struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
    int r = check_named(opened, tasks, n, err);
    int printed;

    for (size_t i = 0; r == 0 && i < n; i++) {
        const char *why = opened->args.is_forced ? NULL : reason_to_stay(opened->store, &tasks[i]);

        if (why)
            (void)buf_printf(&text, "kept %s: it %s\n", tasks[i].id, why);
        else if (opened->args.is_all || !is_again(tasks, i))
            r = remove_one(opened, &tasks[i], &text, err);
    }
    printed = command_print(&text, r < 0 ? NULL : err);
    return r < 0 ? r : printed;
}

static int remove_call(const struct call *call, struct gb_err *err)
{
    cleanup_with(opened_clear) struct opened opened = { 0 };
    struct store_task *tasks = NULL;
    size_t n = 0;
    int r = open_store(call, &opened, err);

    if (r != 0)
        return r > 0 ? 0 : r;
    r = tasks_to_remove(&opened, &tasks, &n, err);
    if (r == 0)
        r = remove_tasks(&opened, tasks, n, err);
    store_tasks_free(tasks, n);
    return r;
}

/* ---- the commands --------------------------------------------------------------------------- */

const struct cmd cmd_runs_list = {
    .name = "runs list",
    .help = "List tasks, the newest first",
    .usages = { "[OPTIONS]" },
    .options = list_options,
    .run = list_call,
};

const struct cmd cmd_runs_show = {
    .name = "runs show",
    .help = "Show one task: where it stands and where its result lies",
    .usages = { "[OPTIONS] ID" },
    .options = show_options,
    .run = show_call,
};

const struct cmd cmd_runs_rm = {
    .name = "runs rm",
    .help = "Remove tasks and their folders",
    .usages = { "[OPTIONS] ID...", "[OPTIONS] --all" },
    .options = remove_options,
    .run = remove_call,
};
