/* SPDX-License-Identifier: Apache-2.0 */
/* agent/judge_summary.c - outcome, diagnosis, and what goes to the model.
 *
 * Of a test that is held back the model learns that it failed, of which class it is and, where
 * that is known, in which public function: nothing that it could write an answer for.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/contract.h"
#include "agent/judge_inside.h"
#include "base/err.h"
#include "json/utf8.h"

#define SUMMARY_MAX   (64 << 10)
#define IN_FULL       8  /* failing tests that are told with values */
#define BY_NAME       40 /* and then so many by name */
#define DETAIL_MAX    1200
#define LINE_SHOWN    600
#define TOGETHER_PART 4 /* of the tests may run together with the code at most one in so many */
#define ELLIPSIS      "\xe2\x80\xa6"

/* ---- words ---------------------------------------------------------------------------------- */

static bool is_plain(uint32_t point)
{
    return point >= 0x20 && !(point >= 0x7f && point <= 0x9f) && point != 0x2028 && point != 0x2029;
}

/* The piece at `at` as it may be shown; how many bytes it was. */
static size_t put_piece(struct buf *ret, const uint8_t *at, size_t len, bool keeps_tabs)
{
    uint32_t point = 0;
    size_t n = utf8_decode(at, len, &point);

    if (n > 0 && (is_plain(point) || (keeps_tabs && point == '\t')))
        (void)buf_add(ret, at, n);
    else if (n > 0 && (point == '\n' || point == '\r' || point == '\t'))
        (void)buf_putc(ret, ' ');
    else
        (void)buf_printf(ret, "\\x%02x", *at);
    return n > 0 ? n : 1;
}

void words_line(struct buf *ret, const char *bytes, size_t len, size_t max)
{
    const uint8_t *at = (const uint8_t *)bytes;
    size_t end = ret->len + max;

    for (size_t i = 0; i < len;) {
        if (ret->len + 8 > end) {
            (void)buf_puts(ret, ELLIPSIS);
            return;
        }
        i += put_piece(ret, at + i, len - i, false);
    }
}

static void put_lines(struct buf *ret, const char *bytes, size_t len)
{
    const uint8_t *at = (const uint8_t *)bytes;

    while (len > 0) {
        const uint8_t *newline = memchr(at, '\n', len);
        size_t n = newline ? (size_t)(newline - at) : len;

        (void)buf_puts(ret, "    ");
        for (size_t i = 0; i < n;)
            i += put_piece(ret, at + i, n - i, true);
        (void)buf_putc(ret, '\n');
        n += newline ? 1 : 0;
        at += n;
        len -= n;
    }
}

void words_output(struct buf *ret, const char *title, const char *bytes, size_t len, size_t max)
{
    size_t half = max / 2;

    while (len > 0 && (bytes[len - 1] == '\n' || bytes[len - 1] == ' '))
        len--;
    if (len == 0)
        return;
    (void)buf_printf(ret, "  %s:\n", title);
    if (len <= max) {
        put_lines(ret, bytes, len);
        return;
    }
    put_lines(ret, bytes, half);
    (void)buf_printf(ret, "    " ELLIPSIS " %zu bytes " ELLIPSIS "\n", len - 2 * half);
    put_lines(ret, bytes + len - half, half);
}

/* Ends that a limit or a signal made, and what they are called. */
bool words_end(const struct trial_end *end, const struct limits *limits, struct buf *ret,
               enum diagnosis *ret_diagnosis)
{
    static const struct {
        enum verdict verdict;
        enum diagnosis diagnosis;
        enum limit limit;
        const char *words;
    } ends[] = {
        { VERDICT_TIMEOUT, DIAGNOSIS_TIMEOUT, LIMIT_WALL, "did not end within %s" },
        { VERDICT_CPU, DIAGNOSIS_TIMEOUT, LIMIT_CPU_TIME, "used more than %s of CPU time" },
        { VERDICT_OUTPUT, DIAGNOSIS_CRASH, LIMIT_OUTPUT_MAX, "wrote more than %s" },
        { VERDICT_MEMORY, DIAGNOSIS_MEMORY, LIMIT_MEMORY, "needed more than %s of memory" },
        { VERDICT_PIDS, DIAGNOSIS_CRASH, LIMIT_PIDS, "started more than %s processes" },
        { VERDICT_DISK, DIAGNOSIS_CRASH, LIMIT_DISK, "wrote more than %s of files" },
    };
    char text[NUM_TEXT_MAX];
    const char *name;

    if (end->is_late) {
        *ret_diagnosis = DIAGNOSIS_TIMEOUT;
        (void)buf_puts(ret, "it had no time left: that of the whole task is over");
        return true;
    }
    for (size_t i = 0; i < N_ELEMENTS(ends); i++) {
        if (end->verdict != ends[i].verdict)
            continue;
        *ret_diagnosis = ends[i].diagnosis;
        name = strchr(ends[i].words, '%');
        (void)buf_puts(ret, "it ");
        (void)buf_add(ret, ends[i].words, (size_t)(name - ends[i].words));
        (void)buf_puts(ret, limit_text(limits, ends[i].limit, text));
        (void)buf_puts(ret, name + 2);
        return true;
    }
    if (end->verdict != VERDICT_SIGNAL)
        return false;
    *ret_diagnosis = DIAGNOSIS_CRASH;
    name = sigdescr_np((int)end->end.signo);
    (void)buf_printf(ret, "it was killed by signal %" PRIu32 " (%s)", end->end.signo,
                     name ? name : "unknown");
    return true;
}

/* ---- what the model is told ----------------------------------------------------------------- */

static bool is_hidden(const struct judge_note *note)
{
    return note->test->origin == ORIGIN_HELD_BACK;
}

static bool counts(const struct judging *j, size_t i)
{
    return !j->notes[i].test->is_withdrawn;
}

static bool has_failed(const struct judging *j, size_t i)
{
    return counts(j, i) && j->report->rows[i].result != TEST_PASSED;
}

struct tally {
    size_t all;
    size_t failed;
    size_t seen; /* of them, that the model may see */
    size_t hidden[N_CLASSES];
};

static struct tally count(const struct judging *j)
{
    struct tally tally = { 0 };

    for (size_t i = 0; i < j->report->n_rows; i++) {
        tally.all += counts(j, i);
        if (!has_failed(j, i))
            continue;
        tally.failed++;
        if (is_hidden(&j->notes[i]))
            tally.hidden[j->notes[i].test->class]++;
        else
            tally.seen++;
    }
    return tally;
}

static void put_failure(const struct judging *j, size_t i, struct buf *ret)
{
    const struct judge_row *row = &j->report->rows[i];
    const struct judge_note *note = &j->notes[i];

    (void)buf_puts(ret, "\n- ");
    words_line(ret, row->id, strlen(row->id), LINE_SHOWN);
    (void)buf_printf(ret, " (%s): ", test_class_name(note->test->class));
    if (row->message)
        words_line(ret, row->message, strlen(row->message), LINE_SHOWN);
    else
        (void)buf_puts(ret, test_result_name(row->result));
    (void)buf_putc(ret, '\n');
    if (row->detail)
        (void)buf_add(ret, row->detail,
                      strlen(row->detail) < DETAIL_MAX ? strlen(row->detail) : DETAIL_MAX);
    if (ret->len > 0 && ret->data[ret->len - 1] != '\n')
        (void)buf_putc(ret, '\n');
}

/* The first few in full, the next by name. */
static void put_failures(const struct judging *j, struct buf *ret)
{
    size_t n = 0;

    for (size_t i = 0; i < j->report->n_rows; i++) {
        if (!has_failed(j, i) || is_hidden(&j->notes[i]))
            continue;
        n++;
        if (n <= IN_FULL) {
            put_failure(j, i, ret);
        } else if (n <= IN_FULL + BY_NAME) {
            (void)buf_puts(ret, n == IN_FULL + 1 ? "\nAlso failing: " : ", ");
            words_line(ret, j->report->rows[i].id, strlen(j->report->rows[i].id), LINE_SHOWN);
        }
    }
    if (n > IN_FULL + BY_NAME)
        (void)buf_printf(ret, " and %zu more", n - IN_FULL - BY_NAME);
    if (n > IN_FULL)
        (void)buf_puts(ret, ".\n");
}

/* A name of the contract that the failure is about: its last frame that is public. */
static const char *public_name(const struct judging *j, const struct judge_note *note)
{
    const struct contract *contract = j->spec->contract;

    for (size_t i = 0; note->function && i < contract->n_names; i++) {
        const char *name = contract->names[i].name;
        const char *dot = strrchr(name, '.');

        if (strcmp(name, note->function) == 0 || (dot && strcmp(dot + 1, note->function) == 0))
            return name;
    }
    return NULL;
}

static void put_hidden_names(const struct judging *j, struct buf *ret)
{
    const char *told[IN_FULL];
    size_t n = 0;

    for (size_t i = 0; i < j->report->n_rows && n < IN_FULL; i++) {
        const char *name =
            has_failed(j, i) && is_hidden(&j->notes[i]) ? public_name(j, &j->notes[i]) : NULL;
        bool is_new = name != NULL;

        for (size_t k = 0; k < n; k++)
            is_new = is_new && strcmp(told[k], name) != 0;
        if (is_new)
            told[n++] = name;
    }
    for (size_t k = 0; k < n; k++)
        (void)buf_printf(ret, "%s%s", k == 0 ? "; they meet " : ", ", told[k]);
}

static void put_hidden(const struct judging *j, const struct tally *tally, struct buf *ret)
{
    size_t n = tally->failed - tally->seen;
    size_t told = 0;

    if (n == 0)
        return;
    (void)buf_printf(ret, "\n%zu test%s that you do not see fail%s%s: ", n, n == 1 ? "" : "s",
                     n == 1 ? "s" : "", tally->seen > 0 ? " too" : "");
    for (size_t class = 0; class < N_CLASSES; class ++)
        if (tally->hidden[class] > 0)
            (void)buf_printf(ret, "%s%zu %s", told++ ? ", " : "", tally->hidden[class],
                             test_class_name((enum test_class) class));
    put_hidden_names(j, ret);
    (void)buf_puts(ret, ".\n");
    if (tally->seen == 0)
        (void)buf_printf(ret, "What went wrong: %s.\n", diagnosis_name(j->report->diagnosis));
}

/* ---- the whole ------------------------------------------------------------------------------ */

/* The less of them, the more fundamental. */
static unsigned rank(enum diagnosis diagnosis)
{
    static const unsigned ranks[N_DIAGNOSES] = {
        [DIAGNOSIS_SYNTAX] = 1, [DIAGNOSIS_INTERFACE] = 2, [DIAGNOSIS_MODULE] = 3,
        [DIAGNOSIS_MEMORY] = 4, [DIAGNOSIS_TIMEOUT] = 5,   [DIAGNOSIS_CRASH] = 6,
        [DIAGNOSIS_OUTPUT] = 7, [DIAGNOSIS_ASSERTION] = 7, [DIAGNOSIS_NONE] = 8,
    };

    return ranks[diagnosis];
}

static enum diagnosis worst(const struct judging *j)
{
    enum diagnosis found = DIAGNOSIS_NONE;

    for (size_t i = 0; i < j->report->n_rows; i++)
        if (has_failed(j, i) && rank(j->notes[i].diagnosis) < rank(found))
            found = j->notes[i].diagnosis;
    return found;
}

/* The first note that has something against its test, of the wanted kind. */
static const struct judge_note *first_against(const struct judging *j, bool is_tampered)
{
    for (size_t i = 0; i < j->report->n_rows; i++)
        if (counts(j, i) && j->notes[i].against && j->notes[i].is_tampered == is_tampered)
            return &j->notes[i];
    return NULL;
}

/* What shares a process with the code can be forged by it, and the code may have a hand in which
 * tests do: they may neither be many nor all that a class has. */
static const char *mostly_together(const struct judging *j)
{
    size_t all[N_CLASSES] = { 0 };
    size_t together[N_CLASSES] = { 0 };
    size_t n = 0;
    size_t n_together = 0;

    for (size_t i = 0; i < j->report->n_rows; i++) {
        enum test_class class = j->notes[i].test->class;

        if (!counts(j, i))
            continue;
        n++;
        all[class]++;
        n_together += j->notes[i].is_together;
        together[class] += j->notes[i].is_together;
    }
    if (n_together * TOGETHER_PART > n)
        return "more than a quarter of the tests replaces parts of the tested code";
    for (int class = 0; class < N_CLASSES; class ++)
        if (all[class] > 0 && together[class] == all[class])
            return "every test of a class replaces parts of the tested code";
    return NULL;
}

/* Of tampered, suspect and error: which, and why.  The reason names no test that is held back. */
static enum outcome outcome_of(const struct judging *j, const struct tally *tally,
                               const char **ret_reason)
{
    const struct judge_note *note = first_against(j, true);

    *ret_reason = NULL;
    if (note) {
        *ret_reason = note->against;
        return OUTCOME_TAMPERED;
    }
    if (tally->failed > 0)
        return OUTCOME_FAILED;
    if (tally->all == 0) {
        *ret_reason = "there is no test";
        return OUTCOME_ERROR;
    }
    *ret_reason = mostly_together(j);
    if (*ret_reason)
        return OUTCOME_SUSPECT;
    note = first_against(j, false);
    *ret_reason = note ? note->against : j->check.hint;
    return *ret_reason ? OUTCOME_SUSPECT : OUTCOME_PASSED;
}

static int write_summary(struct judging *j, const struct tally *tally, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(SUMMARY_MAX);
    struct judge_report *report = j->report;

    if (tally->failed > 0) {
        (void)buf_printf(&text, "%zu of %zu tests fail.\n", tally->failed, tally->all);
        put_failures(j, &text);
        put_hidden(j, tally, &text);
        if (j->check.packages)
            (void)buf_printf(&text, "\n%s", j->check.packages);
    }
    if (report->reason)
        (void)buf_printf(&text, "%s: %s.\n", outcome_name(report->outcome), report->reason);
    if (text.len == 0)
        return 0;
    report->summary = buf_take(&text);
    return report->summary ? 0 : gb_no_memory(err);
}

int judging_conclude(struct judging *j, struct gb_err *err)
{
    struct judge_report *report = j->report;
    struct tally tally;
    const char *reason;

    if (j->is_decided) {
        report->outcome = OUTCOME_FAILED;
        return 0;
    }
    tally = count(j);
    report->diagnosis = worst(j);
    report->outcome = outcome_of(j, &tally, &reason);
    if (reason && !(report->reason = strdup(reason)))
        return gb_no_memory(err);
    for (size_t i = 0; i < report->n_rows; i++)
        if (report->rows[i].memory_bytes > report->memory_peak_bytes)
            report->memory_peak_bytes = report->rows[i].memory_bytes;
    return write_summary(j, &tally, err);
}
