/* SPDX-License-Identifier: Apache-2.0 */
/* agent/judge_pair.c - what a pair of boxes says about one test.
 *
 * The runner's word is taken when it is whole: one result, of the test that was asked for, and the
 * end, after which it exits with 0.  Where it is not, what the host itself knows of the two boxes
 * decides: a limit or a signal is an honest failure; a result that nobody asked for, a broken
 * protocol and an exit with 0 in the middle of a test are tampering.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/judge_inside.h"
#include "base/clock.h"
#include "base/err.h"
#include "run/run.h"
#include "store/digest.h"

#define DETAIL_MAX   (8 << 10)
#define VALUE_SHOWN  ((size_t)400)
#define OUTPUT_SHOWN 800
#define NAME_SHOWN   200

/* ---- what is told --------------------------------------------------------------------------- */

static int set_text(char **target, const char *text, struct gb_err *err)
{
    free(*target);
    *target = strdup(text);
    return *target ? 0 : gb_no_memory(err);
}

/* As one line: it may be a stranger's. */
static int set_line(char **target, const char *text, struct gb_err *err)
{
    cleanup_buf struct buf line = BUF_INIT(2 * JUDGE_LINE_MAX);

    words_line(&line, text, strlen(text), JUDGE_LINE_MAX);
    return buf_error(&line) < 0 ? gb_no_memory(err)
                                : set_text(target, line.data ? line.data : "", err);
}

static int tampered(struct judge_row *row, struct judge_note *note, const char *why,
                    struct gb_err *err)
{
    int r = set_text(&note->against, why, err);

    note->is_tampered = true;
    if (row->result == TEST_PASSED)
        row->result = TEST_FAILED;
    note->diagnosis = DIAGNOSIS_CRASH;
    return r < 0 || row->message ? r : set_text(&row->message, why, err);
}

static int failed(struct judge_row *row, struct judge_note *note, enum diagnosis diagnosis,
                  const char *why, struct gb_err *err)
{
    row->result = diagnosis == DIAGNOSIS_TIMEOUT ? TEST_TIMEOUT : TEST_FAILED;
    note->diagnosis = diagnosis;
    return row->message ? 0 : set_line(&row->message, why, err);
}

/* The words of an assert are the test's: the model must not read them. */
static void put_message(const struct guest_result *result, struct buf *ret)
{
    const char *at = result->message;
    size_t source = result->source ? strlen(result->source) : 0;
    const char *found = source > 0 ? strstr(at, result->source) : NULL;

    if (found) {
        words_line(ret, at, (size_t)(found - at), VALUE_SHOWN);
        (void)buf_puts(ret, "the condition");
        at = found + source;
    }
    words_line(ret, at, strlen(at), 2 * VALUE_SHOWN);
}

/* One line: both values where there are two. */
static int write_message(const struct guest_result *result, struct judge_row *row,
                         struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(8 * JUDGE_LINE_MAX);

    if (result->expected && result->actual) {
        (void)buf_puts(&text, "expected ");
        words_line(&text, result->expected, strlen(result->expected), VALUE_SHOWN);
        (void)buf_puts(&text, ", got ");
        words_line(&text, result->actual, strlen(result->actual), VALUE_SHOWN);
    } else if (result->message && result->message[0]) {
        put_message(result, &text);
    } else {
        (void)buf_puts(&text, "no reason given");
    }
    row->message = buf_take(&text);
    return row->message ? 0 : gb_no_memory(err);
}

static int write_detail(const struct guest_result *result, struct judge_row *row,
                        struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(DETAIL_MAX);

    if (result->where && result->where[0])
        words_output(&text, "raised at", result->where, strlen(result->where), OUTPUT_SHOWN);
    if (result->output && result->output[0])
        words_output(&text, "output", result->output, strlen(result->output), OUTPUT_SHOWN);
    if (text.len == 0)
        return 0;
    row->detail = buf_take(&text);
    return row->detail ? 0 : gb_no_memory(err);
}

/* "f" of "target.py:2 in f > target.py:5 in g": what the test called. */
static char *function_of(const char *where)
{
    const char *in = where ? strstr(where, " in ") : NULL;
    size_t len = in ? strcspn(in + 4, " >\n") : 0;

    return len > 0 && len < NAME_SHOWN ? strndup(in + 4, len) : NULL;
}

/* What the code did there: outcome, exception, value. */
static int write_seen(const struct guest_result *result, struct judge_row *row, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(256 << 10);
    const char *value = result->actual ? result->actual : result->message;
    char digest[DIGEST_SIZE];
    int r;

    (void)buf_printf(&text, "%u\n%s\n", (unsigned)result->outcome,
                     result->exception ? result->exception : "");
    if (result->outcome == GUEST_FAILED || result->outcome == GUEST_ERROR)
        (void)buf_puts(&text, value ? value : "");
    r = buf_error(&text) < 0 ? gb_no_memory(err) : digest_of(text.data, text.len, digest, err);
    return r < 0 ? r : set_text(&row->seen, digest, err);
}

/* ---- ends of boxes -------------------------------------------------------------------------- */

/* The server is ended when the runner has ended: that is no reason.  What came before it is. */
static struct trial_end own_end(const struct trial_end *end)
{
    struct trial_end own = { .end = end->end };
    struct run_facts facts = run_facts_of(&end->end);

    if (end->is_late)
        return *end;
    if (facts.cause == KILL_CAUSE_CANCEL)
        facts.cause = KILL_CAUSE_NONE;
    own.verdict = verdict_of(&facts);
    return own;
}

/* 1: a limit or a signal explains it, and row and note tell. */
static int explained(const struct trial_end *end, const struct limits *limits,
                     struct judge_row *row, struct judge_note *note, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(JUDGE_LINE_MAX);
    enum diagnosis diagnosis;
    struct trial_end own = own_end(end);
    int r;

    if (!words_end(&own, limits, &text, &diagnosis))
        return 0;
    if (buf_error(&text) < 0)
        return gb_no_memory(err);
    free(row->message);
    row->message = NULL;
    r = failed(row, note, diagnosis, text.data, err);
    return r < 0 ? r : 1;
}

/* The code's process is gone while the test still wanted something of it. */
static int judge_lost(const struct pair_seen *seen, struct judge_row *row, struct judge_note *note,
                      struct gb_err *err)
{
    const struct trial_end *server = seen->server;
    static const char trace[] = "Traceback";
    char why[128];
    int r = explained(server, seen->limits, row, note, err);

    if (r != 0)
        return r < 0 ? r : 0;
    free(row->message);
    row->message = NULL;
    if (server->end.has_exited && server->end.code == 0 &&
        !(server->err.data && memmem(server->err.data, server->err.len, trace, sizeof(trace) - 1)))
        return tampered(row, note, "the code ended its process with 0 in the middle of a test",
                        err);
    (void)snprintf(why, sizeof(why), "the code ended its process in the middle of a test (%u)",
                   server->end.code);
    return failed(row, note, DIAGNOSIS_CRASH, why, err);
}

/* ---- a result that is not whole ------------------------------------------------------------- */

static bool is_forged(const struct pair_seen *seen)
{
    const struct guest_verdicts *v = seen->verdicts;

    return v->is_broken || v->n_results > 1 ||
           (v->n_results == 1 && strcmp(v->results[0].id, seen->id) != 0);
}

static bool is_whole(const struct pair_seen *seen)
{
    const struct guest_verdicts *v = seen->verdicts;

    return v->n_results == 1 && v->has_end && !v->problem && !is_forged(seen) &&
           !seen->runner->is_cut[2] && seen->runner->verdict == VERDICT_OK;
}

static int judge_broken(const struct pair_seen *seen, struct judge_row *row,
                        struct judge_note *note, struct gb_err *err)
{
    const struct guest_verdicts *v = seen->verdicts;
    int r;

    row->result = TEST_FAILED;
    if (is_forged(seen))
        return tampered(row, note, "the verdict channel has a line that no runner wrote", err);
    r = explained(seen->runner, seen->limits, row, note, err);
    if (r == 0 && seen->server)
        r = explained(seen->server, seen->limits, row, note, err);
    if (r != 0)
        return r < 0 ? r : 0;
    if (!seen->server && seen->runner->end.code == 0)
        return tampered(row, note, "the code ended its process with 0 in the middle of a test",
                        err);
    if (!seen->server)
        return failed(row, note, DIAGNOSIS_CRASH, "the process ended in the middle of a test", err);
    r = failed(row, note, DIAGNOSIS_CRASH,
               v->problem ? v->problem : "the test ended its own process", err);
    if (r == 0 && !v->problem)
        row->result = TEST_ERROR;
    return r;
}

/* ---- a whole result ------------------------------------------------------------------------- */

/* Flags that speak against a pass, and what they mean. */
static const struct {
    enum guest_flag flag;
    const char *words;
} against[] = {
    { GUEST_FLAG_EQUALITY,
      "an equality between objects of the tested code, which only it vouches for" },
    { GUEST_FLAG_ORDER, "an order of objects of the tested code, which only it vouches for" },
    { GUEST_FLAG_UNNAMED, "a type of the tested code that has no name of its own" },
    { GUEST_FLAG_REFUSED, "the tested code changes what a test lent it" },
    { GUEST_FLAG_XPASSED, "a test that is marked to fail passes" },
    { GUEST_FLAG_SWALLOWED, "a block of the tested code swallowed the rest of a test" },
    { GUEST_FLAG_UNCOUNTED, "the tests' runner does not count it" },
};

/* A test that ran together with the code never counts for itself: that is not its fault. */
static int judge_passed(const struct pair_seen *seen, const struct guest_result *result,
                        struct judge_row *row, struct judge_note *note, struct gb_err *err)
{
    unsigned flags = seen->server ? result->flags : result->flags & ~(unsigned)GUEST_FLAG_UNCOUNTED;

    row->result = TEST_PASSED;
    if (flags & GUEST_FLAG_VIOLATION)
        return tampered(row, note, "the tested code forged an answer", err);
    for (size_t i = 0; i < N_ELEMENTS(against); i++) {
        if (!(flags & against[i].flag))
            continue;
        row->is_suspect = true;
        return set_text(&note->against, against[i].words, err);
    }
    return 0;
}

/* By the exception's name; the first that fits.  Whatever else is raised is another answer than the
 * expected one: only a process that has died has crashed. */
static enum diagnosis diagnosis_of(const struct guest_result *result)
{
    static const struct {
        const char *name;
        enum diagnosis diagnosis;
    } table[] = {
        { "ModuleNotFoundError", DIAGNOSIS_MODULE }, { "ImportError", DIAGNOSIS_INTERFACE },
        { "SyntaxError", DIAGNOSIS_SYNTAX },         { "IndentationError", DIAGNOSIS_SYNTAX },
        { "MemoryError", DIAGNOSIS_MEMORY },
    };

    for (size_t i = 0; result->exception && i < N_ELEMENTS(table); i++)
        if (strcmp(result->exception, table[i].name) == 0)
            return table[i].diagnosis;
    return result->outcome == GUEST_SERVER_LOST ? DIAGNOSIS_CRASH : DIAGNOSIS_ASSERTION;
}

/* Whose fault an error outside of the test's own call is: the code's, if it was raised there or is
 * about what it promised to have. */
static bool is_codes_fault(const struct guest_result *result)
{
    enum diagnosis diagnosis = diagnosis_of(result);

    if (result->where && result->where[0])
        return true;
    return (result->flags & GUEST_FLAG_TOO_LARGE) ||
           ((result->flags & GUEST_FLAG_IMPORT) &&
            (diagnosis == DIAGNOSIS_MODULE || diagnosis == DIAGNOSIS_INTERFACE ||
             diagnosis == DIAGNOSIS_SYNTAX));
}

static int judge_failed(const struct pair_seen *seen, const struct guest_result *result,
                        struct judge_row *row, struct judge_note *note, struct gb_err *err)
{
    bool is_error = result->outcome == GUEST_ERROR && !is_codes_fault(result);
    int r = write_message(result, row, err);

    row->result = is_error ? TEST_ERROR : TEST_FAILED;
    note->diagnosis = diagnosis_of(result);
    note->function = function_of(result->where);
    if (r == 0)
        r = write_detail(result, row, err);
    if (r == 0 && (result->flags & GUEST_FLAG_VIOLATION))
        r = tampered(row, note, "the tested code forged an answer", err);
    return r;
}

static int judge_result(const struct pair_seen *seen, const struct guest_result *result,
                        struct judge_row *row, struct judge_note *note, struct gb_err *err)
{
    switch (result->outcome) {
    case GUEST_PASSED:
        return judge_passed(seen, result, row, note, err);
    case GUEST_SERVER_LOST:
        row->result = TEST_FAILED;
        return seen->server ? judge_lost(seen, row, note, err)
                            : judge_failed(seen, result, row, note, err);
    case GUEST_TIMEOUT:
        return failed(row, note, DIAGNOSIS_TIMEOUT, "the test took longer than its limit", err);
    case GUEST_SKIPPED:
        row->result = TEST_SKIPPED;
        note->diagnosis = DIAGNOSIS_ASSERTION;
        return write_message(result, row, err);
    case GUEST_FAILED:
    case GUEST_ERROR:
    case GUEST_NEEDS_TOGETHER:
    default:
        return judge_failed(seen, result, row, note, err);
    }
}

static void note_costs(const struct pair_seen *seen, const struct guest_result *result,
                       struct judge_row *row)
{
    const struct trial_end *code = seen->server ? seen->server : seen->runner;

    row->memory_bytes = code->end.memory_peak;
    row->ms = result && result->ms >= 0 && result->ms < 1e9 ? (uint64_t)result->ms
                                                            : seen->runner->end.wall_ns / NS_PER_MS;
}

int pair_judge(const struct pair_seen *seen, struct judge_row *row, struct judge_note *note,
               struct gb_err *err)
{
    const struct guest_result *result = is_whole(seen) ? &seen->verdicts->results[0] : NULL;
    int r;

    if (result && result->outcome == GUEST_NEEDS_TOGETHER && seen->server)
        return 1;
    note_costs(seen, result, row);
    r = result ? judge_result(seen, result, row, note, err) : judge_broken(seen, row, note, err);
    return r < 0 || !result ? r : write_seen(result, row, err);
}
