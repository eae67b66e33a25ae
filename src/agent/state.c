/* SPDX-License-Identifier: Apache-2.0 */
/* agent/state.c - what the parts of the loop share: telling, budget, human, search. */
#include "agent/state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/folder.h"
#include "agent/journal.h"
#include "agent/prompt.h"
#include "agent/redact.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/num.h"

#define EVENT_LINE_MAX (64 << 20)
#define LINE_MAX_BYTES 2048
#define TIME_TEXT_MAX  32
#define NAME_SIZE      32
#define WAIT_MAX_MS    (1000ULL * 60 * 60 * 24 * 30)

/* ---- telling -------------------------------------------------------------------------------- */

/* Pieces of an answer and single tests are told again by what follows them. */
static bool is_for_transcript(const struct agent_event *event)
{
    static const bool is_passing[N_EVENTS] = {
        [EVENT_TEXT] = true,    [EVENT_REASONING] = true, [EVENT_AGAIN] = true,
        [EVENT_ROW] = true,     [EVENT_ASK] = true,       [EVENT_INSTALLING] = true,
        [EVENT_WAITING] = true, [EVENT_INSTALLER] = true,
    };

    return !is_passing[event->kind];
}

static void transcribe(const struct task *task, const struct agent_event *event)
{
    cleanup_buf struct buf line = BUF_INIT(EVENT_LINE_MAX);
    cleanup_buf struct buf clean = BUF_INIT(EVENT_LINE_MAX);
    struct agent_event lasting = *event;

    lasting.is_remembered = false; /* a resumed task writes the same */
    if (event_text(&lasting, &line) == 0 &&
        redact(task->redactor, line.data, line.len, &clean) == 0)
        (void)folder_tell(task->spec->folder, clean.data, clean.len, NULL);
}

/* The lock is held. */
static void tell(struct task *task, const struct agent_event *event)
{
    const struct agent_listener *listener = &task->spec->listener;
    struct agent_event told = *event;

    /* Whatever is told before the first new effect was told in a life before. */
    told.is_remembered = event->is_remembered || journal_only_recalled(task->spec->journal);
    if (task->spec->folder && is_for_transcript(event))
        transcribe(task, event);
    if (listener->hear)
        listener->hear(listener->user, &told);
}

/* The files are for people, and the task does without them; not without a word. */
static void tell_lost(struct task *task)
{
    int failure = task->spec->folder ? folder_failure(task->spec->folder) : 0;
    char text[LINE_MAX_BYTES];
    struct agent_event event = { .kind = EVENT_NOTE, .text = text };

    if (failure == 0 || task->has_lost)
        return;
    task->has_lost = true;
    (void)snprintf(text, sizeof(text), "not everything is in the task's folder: %s",
                   strerror(-failure));
    event.len = strlen(text);
    tell(task, &event);
}

void task_tell(struct task *task, const struct agent_event *event)
{
    (void)pthread_mutex_lock(&task->lock);
    tell(task, event);
    tell_lost(task);
    (void)pthread_mutex_unlock(&task->lock);
}

void task_note(struct task *task, const char *fmt, ...)
{
    char text[LINE_MAX_BYTES];
    struct agent_event event = { .kind = EVENT_NOTE, .text = text };
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    event.len = strlen(text);
    task_tell(task, &event);
}

void task_tell_attempt(struct task *task, const char *why)
{
    struct agent_event event = {
        .kind = EVENT_ATTEMPT,
        .number = task->out->attempts,
        .text = why,
        .len = strlen(why),
    };

    task_tell(task, &event);
}

void task_log(struct task *task, const char *fmt, ...)
{
    char text[LINE_MAX_BYTES];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    (void)buf_printf(&task->steps, "step %u: %s\n", task->step, text);
}

int task_clean(const struct task *task, struct buf *text)
{
    cleanup_buf struct buf clean = BUF_INIT(text->max);
    int r = buf_error(text);

    if (r == 0 && redact_finds(task->redactor, text->data, text->len)) {
        r = redact(task->redactor, text->data, text->len, &clean);
        buf_reset(text);
        if (r == 0)
            r = buf_add(text, clean.data, clean.len);
    }
    return r;
}

/* ---- budget --------------------------------------------------------------------------------- */

static int put_limits(void *user, struct buf *ret, struct gb_err *err)
{
    const struct task *task = user;
    struct budget budget = task->budget;

    (void)budget_raise(&budget, task->spec->raised);
    return budget_limits_text(&budget, ret) < 0
               ? gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for the limits")
               : 0;
}

/* Where something is remembered still, what comes next followed from the limits as they were. */
static bool may_raise(const struct task *task)
{
    struct budget budget = task->budget;

    return task->spec->raised && budget_raise(&budget, task->spec->raised) &&
           journal_is_in_front(task->spec->journal);
}

static void tell_raised(struct task *task, const struct budget *before)
{
    char options[LINE_MAX_BYTES] = "";
    size_t len = 0;

    for (enum budget_item item = 0; item < N_BUDGET_ITEMS; item++)
        if (task->budget.limits[item] > before->limits[item])
            len += (size_t)snprintf(options + len, sizeof(options) - len, "%s%s", len ? ", " : "",
                                    budget_item_option(item));
    task_note(task, "the task goes on with a larger %s", options);
}

static int take_raised(struct task *task, struct gb_err *err)
{
    struct journal *journal = task->spec->journal;
    cleanup_buf struct buf text = BUF_INIT(LINE_MAX_BYTES);
    const struct budget before = task->budget;
    struct budget limits;
    char name[NAME_SIZE];
    int r;

    (void)snprintf(name, sizeof(name), "limits-%u", ++task->looks);
    if (!journal_has(journal, name) && !may_raise(task))
        return 0;
    r = journal_do(journal, name, "", 0, put_limits, task, &text, err);
    if (r < 0)
        return r;
    if (budget_limits_parse(text.data ? text.data : "", text.len, &limits) < 0)
        return gb_fail(err, -EINVAL, GB_BLAME_HOST,
                       "what is remembered of '%s' cannot be read: it is damaged, or an older "
                       "glovebox wrote it" GB_REMEDY "begin the task anew",
                       name);
    task->is_late = false;
    if (budget_raise(&task->budget, &limits))
        tell_raised(task, &before);
    return 0;
}

/* Work in boxes that the task's own time has cut short is done again with more of it. */
static void keep_stop(struct task *task, enum budget_item next)
{
    struct agent_stop stop = {
        .is_there = true,
        .budget = task->budget,
        .place = journal_place(task->spec->journal),
    };

    if (!budget_is_used_up(&task->budget, next, &stop.item))
        return;
    if (stop.item == BUDGET_TIME && task->is_late)
        stop.place = task->late_place;
    if (stop.item == BUDGET_ATTEMPTS)
        task->out->tried = stop;
    else
        task->out->stop = stop;
}

int task_may(struct task *task, enum budget_item next, struct gb_err *err)
{
    int r = take_raised(task, err);

    if (r < 0)
        return r;
    r = budget_check(&task->budget, next, err);
    if (r < 0)
        keep_stop(task, next);
    task->is_over |= r < 0 && next != BUDGET_ATTEMPTS;
    return r;
}

uint64_t task_deadline(const struct task *task)
{
    struct budget budget = task->budget;
    uint64_t left_ms;

    if (task->spec->raised)
        (void)budget_raise(&budget, task->spec->raised);
    left_ms = budget_left(&budget, BUDGET_TIME);
    return left_ms > WAIT_MAX_MS ? CLOCK_NEVER_NS : clock_now_ns() + left_ms * NS_PER_MS;
}

void task_spend_time(struct task *task, uint64_t ms)
{
    task->spent.wall_ms += ms;
    budget_spend_time(&task->budget, ms);
}

/* "1234" and a newline before the output: how many milliseconds it took. */
struct timed {
    struct task *task;
    journal_effect effect;
    void *user;
};

static int do_timed(void *user, struct buf *ret, struct gb_err *err)
{
    const struct timed *timed = user;
    cleanup_buf struct buf output = BUF_INIT(ret->max);
    uint64_t started_ns = clock_now_ns();
    uint64_t took_ms;
    int r = supply_open(timed->task, err);

    if (r == 0)
        r = timed->effect(timed->user, &output, err);
    took_ms = (clock_now_ns() - started_ns) / NS_PER_MS;
    if (r < 0)
        return r;
    (void)buf_printf(ret, "%" PRIu64 "\n", took_ms);
    return buf_add(ret, output.data, output.len);
}

int task_do(struct task *task, const char *name, const struct buf *input, journal_effect effect,
            void *user, struct buf *ret, struct gb_err *err)
{
    struct timed timed = { task, effect, user };
    cleanup_buf struct buf output = BUF_INIT(ret->max + TIME_TEXT_MAX);
    uint64_t place = journal_place(task->spec->journal);
    int was_there = journal_do(task->spec->journal, name, input->data, input->len, do_timed, &timed,
                               &output, err);
    char *end;
    uint64_t ms;
    int r;

    if (was_there < 0)
        return was_there;
    end = output.len > 0 ? memchr(output.data, '\n', output.len) : NULL;
    if (end)
        *end = '\0';
    if (!end || num_parse_u64(output.data, 0, UINT32_MAX, &ms) < 0)
        return gb_fail(err, -EINVAL, GB_BLAME_HOST, "what is remembered of '%s' is damaged", name);
    task_spend_time(task, ms);
    if (!task->is_late && budget_left(&task->budget, BUDGET_TIME) == 0) {
        task->is_late = true;
        task->late_place = place;
    }
    r = buf_add(ret, end + 1, output.len - (size_t)(end + 1 - output.data));
    return r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "what came of '%s' is too long", name)
                 : was_there;
}

void task_vars(const struct task *task, struct prompt_var vars[static TASK_VARS])
{
    vars[0] = (struct prompt_var){ "task", task->spec->objective, 0 };
    vars[1] = (struct prompt_var){ "contract", task->contract, 0 };
    vars[2] = (struct prompt_var){ "available", task->available, 0 };
    vars[3] = (struct prompt_var){ "inputs", task->inputs, 0 };
    vars[4] = (struct prompt_var){ "human", task->human.data, 0 };
    vars[5] = (struct prompt_var){ "search", task->search.data, 0 };
    vars[6] = (struct prompt_var){ "network", task->network, 0 };
    vars[7] = (struct prompt_var){ "workspace", task->workspace, 0 };
}

/* ---- human ---------------------------------------------------------------------------------- */

struct wish {
    const struct task *task;
    const char *text;
};

static int hear_human(void *user, struct buf *ret, struct gb_err *err)
{
    const struct wish *wish = user;
    const struct agent_spec *spec = wish->task->spec;

    int r = spec->human(spec->user, wish->text, ret, err);

    if (r == 0 && ret->len > AGENT_ANSWER_MAX)
        r = gb_fail(err, -EMSGSIZE, GB_BLAME_CALLER, "an answer may have %d KiB",
                    AGENT_ANSWER_MAX >> 10);
    return r < 0 ? r : task_clean(wish->task, ret);
}

static void tell_text(struct task *task, enum event_kind kind, const char *text)
{
    struct agent_event event = { .kind = kind, .text = text, .len = strlen(text) };

    task_tell(task, &event);
}

static int wait_for(struct task *task, const char *question, struct gb_err *err)
{
    task->out->is_waiting = true;
    task->out->question = strdup(question);
    return gb_fail(err, task->out->question ? -EAGAIN : -ENOMEM, GB_BLAME_NONE,
                   "the task waits for an answer");
}

int ask_human(struct task *task, const char *name, const char *question, struct buf *ret,
              struct gb_err *err)
{
    struct wish wish = { task, question };
    cleanup_buf struct buf answer = BUF_INIT(AGENT_ANSWER_MAX);
    bool has_human = task->spec->human || journal_has(task->spec->journal, name);
    int r;

    if (task->spec->ask == ASK_NEVER || !has_human)
        return 0;
    tell_text(task, EVENT_QUESTION, question);
    if (journal_is_at_end(task->spec->journal))
        return wait_for(task, question, err);
    r = journal_do(task->spec->journal, name, question, strlen(question), hear_human, &wish,
                   &answer, err);
    if (r == -EAGAIN)
        return wait_for(task, question, err);
    if (r < 0)
        return r;
    (void)buf_printf(&task->human, "Question: %s\nAnswer: %s\n", question,
                     answer.data ? answer.data : "");
    if (ret)
        (void)buf_add(ret, answer.data, answer.len);
    return 1;
}

/* ---- search --------------------------------------------------------------------------------- */

/* How an output begins that has no results; those begin with a number. */
enum {
    NO_SEARCH = '!',
    NOT_FOUND = '~'
};

/* Another search would fail the same way. */
static bool is_lasting(int code)
{
    return code == -ENOKEY || code == -EKEYREJECTED || code == -EDQUOT || code == -EACCES;
}

/* A search that cannot be made is remembered too: nothing depends on it. */
static int search_it(void *user, struct buf *ret, struct gb_err *err)
{
    const struct wish *wish = user;
    const struct agent_spec *spec = wish->task->spec;
    struct gb_err why = { 0 };
    int r = spec->search(spec->user, wish->text, task_deadline(wish->task), ret, &why);

    if (r == -ECANCELED)
        return gb_fail(err, r, why.blame, "%s", why.msg);
    if (r < 0) {
        buf_reset(ret);
        (void)buf_printf(ret, "%c%.*s", is_lasting(r) ? NO_SEARCH : NOT_FOUND,
                         (int)gb_err_len(&why), why.msg);
    }
    return task_clean(wish->task, ret);
}

static int say_no_search(struct task *task, const char *why)
{
    task_note(task, "no search: %s", why);
    task->has_no_search = true;
    task_log(task, "there is no search; go on without");
    return 0;
}

int lookup(struct task *task, const char *name, const char *query, struct gb_err *err)
{
    struct wish wish = { task, query };
    cleanup_buf struct buf found = BUF_INIT(STATE_TEXT_MAX);
    cleanup_buf struct buf input = BUF_INIT(STATE_TEXT_MAX);
    int r;

    if (task->has_no_search)
        return 0;
    if (!task->spec->search && !journal_has(task->spec->journal, name))
        return say_no_search(task, "none is set up; TAVILY_API_KEY or search.url sets one up");
    if (task->searches >= AGENT_SEARCHES_MAX) {
        task_log(task, "no more than %d searches a task", AGENT_SEARCHES_MAX);
        return 0;
    }
    task->searches++;
    tell_text(task, EVENT_SEARCH, query);
    r = buf_puts(&input, query);
    r = r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "no memory for a search")
              : task_do(task, name, &input, search_it, &wish, &found, err);
    if (r < 0)
        return r;
    if (found.len > 0 && found.data[0] == NO_SEARCH)
        return say_no_search(task, found.data + 1);
    if (found.len > 0 && found.data[0] == NOT_FOUND) {
        task_note(task, "a search failed: %s", found.data + 1);
        task_log(task, "a search failed; go on without, or search for something else");
        return 0;
    }
    buf_reset(&task->search);
    r = buf_add(&task->search, found.data, found.len);
    task_log(task, found.len > 0 ? "searched: %s" : "searched, and nothing was found: %s", query);
    return r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "no memory for what was found") : 0;
}
