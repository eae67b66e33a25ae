/* SPDX-License-Identifier: Apache-2.0 */
/* agent/judge_special.c - does a program know the inputs of its tests?
 *
 * A special case has the input of a test in the text of the code, and beside it what is expected.
 * So may a comment, a constant of the algorithm or a table of what the task is about.  What a place
 * in the text is for is tried out, in any language:
 *
 *    the text changed there    this test alone fails: nothing else depends on it
 *    the input changed a bit   the program says something else: the place is no threshold; and it
 *                              is not what it says to whatever it does not know: no table
 *
 * Only usual input is looked at that is no mere word or small number: programs do have words, and
 * do treat what is empty or invalid as a case of its own.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/contract.h"
#include "agent/judge_inside.h"
#include "agent/tokens.h"
#include "base/err.h"

#define TOKENS_USED  12  /* the first of an input, or of an output */
#define NUMBER_MIN   4   /* characters of an input that is one token */
#define WORDS_MIN    4   /* tokens of an input that has no number */
#define NEAR         400 /* bytes between an input and its output */
#define PLACES_MAX   4   /* that are tried out for a test */
#define TRIES_MAX    12  /* and all in all */
#define INPUT_LONG   (64 << 10)
#define REASON_SHOWN 120

/* ---- inputs that could not be there by chance ----------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_all_digits(struct token token)
{
    for (size_t i = 0; i < token.len; i++)
        if (!is_digit(token.at[i]))
            return false;
    return true;
}

/* 0 and 1 are in every program. */
static bool says_something(struct token token)
{
    for (size_t i = 0; i < token.len; i++)
        if (token.at[i] >= '2' && token.at[i] <= '9')
            return true;
    return false;
}

static bool is_distinctive(const struct tokens *input)
{
    if (input->n == 0)
        return false;
    if (input->n == 1)
        return is_digit(input->items[0].at[0]) && input->items[0].len >= NUMBER_MIN;
    for (size_t i = 0; i < input->n; i++)
        if (is_digit(input->items[i].at[0]) && says_something(input->items[i]))
            return true;
    return input->n >= WORDS_MIN;
}

static bool is_eligible(const struct judge_note *note)
{
    const struct program_case *item = note->item;

    return !note->test->is_withdrawn &&
           (item->class == CLASS_NORMAL || item->class == CLASS_STRESS) && item->times == 1 &&
           item->expect.out && item->expect.mode != CASE_PATTERN && !item->expect.is_failure &&
           item->expect.exit_code == 0;
}

/* ---- trying out ----------------------------------------------------------------------------- */

struct search {
    struct judging *j;
    size_t test;          /* whose input it is */
    struct tokens input;  /* of the test: arguments, then stdin */
    struct tokens output; /* that is expected */
    unsigned tries;       /* that are left */
};

/* Another word of the same shape: no digit becomes a leading 0. */
static void change_word(char *word, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        bool is_last = word[i] == '9' || word[i] == 'z' || word[i] == 'Z';

        if (is_digit(word[i]) || is_letter(word[i]))
            word[i] = (char)(word[i] + (is_last ? -1 : 1));
    }
}

static int code_changed(const struct agent_files *code, size_t file, struct token place,
                        struct agent_files *ret)
{
    for (size_t i = 0; i < code->n; i++) {
        const struct agent_file *item = &code->items[i];
        int r = agent_files_put(ret, item->path, item->text, item->len);

        if (r < 0)
            return r;
    }
    change_word(ret->items[file].text + (place.at - code->items[file].text), place.len);
    return 0;
}

/* 1: of all tests this one alone fails. */
static int fails_alone(const struct search *search, const struct program *program,
                       const struct judge_spec *spec, struct gb_err *err)
{
    const struct judging *j = search->j;
    int r = program_meet(program, spec, j->notes[search->test].item, NULL, NULL, err);

    if (r != 0)
        return r < 0 ? r : 0;
    for (size_t i = 0; i < j->report->n_rows; i++) {
        if (i == search->test || j->notes[i].test->is_withdrawn ||
            j->notes[i].test->class == CLASS_STRESS)
            continue;
        r = program_meet(program, spec, j->notes[i].item, NULL, NULL, err);
        if (r <= 0)
            return r;
    }
    return 1;
}

static int try_change(const struct search *search, size_t file, struct token place,
                      struct gb_err *err)
{
    cleanup_files struct agent_files code = { 0 };
    struct judge_spec spec = *search->j->spec;
    struct program program = { 0 };
    enum diagnosis ignored;
    char *refused = NULL;
    int r = code_changed(spec.code, file, place, &code);

    if (r < 0)
        return gb_no_memory(err);
    spec.code = &code;
    spec.built = NULL; /* it keeps what is delivered */
    r = program_prepare(&spec, &program, &ignored, &refused, err);
    if (r == 0 && !refused)
        r = fails_alone(search, &program, &spec, err);
    program_clear(&program);
    free(refused);
    return r;
}

/* The text with its token replaced by a neighbour: 7 by 8 or 6, "1h30m" by "1h30n" or "1h30o". */
static int change_input(const char *text, struct token token, int by, struct buf *ret)
{
    size_t from = (size_t)(token.at - text);
    char word[32];

    (void)buf_add(ret, text, from);
    if (token.len < 19 && is_all_digits(token)) {
        (void)snprintf(word, sizeof(word), "%.*s", (int)token.len, token.at);
        (void)buf_printf(ret, "%lld", strtoll(word, NULL, 10) + by);
    } else {
        (void)buf_add(ret, token.at, token.len);
        for (int i = by > 0 ? 1 : 2; i > 0 && buf_error(ret) == 0; i--)
            change_word(ret->data + ret->len - 1, 1);
    }
    return buf_puts(ret, text + from + token.len);
}

/* The token of the input that is changed: a number where there is one. */
static struct token nearest(const struct tokens *input)
{
    for (size_t i = 0; i < input->n; i++)
        if (is_digit(input->items[i].at[0]))
            return input->items[i];
    return input->items[0];
}

static bool lies_in(const char *text, struct token token)
{
    return token.at >= text && token.at < text + strlen(text);
}

/* What the program says when the input is a bit another. */
static int run_near(const struct search *search, int by, struct trial_end *ret, struct gb_err *err)
{
    const struct judging *j = search->j;
    const struct program_case *item = j->notes[search->test].item;
    struct token token = nearest(&search->input);
    cleanup_buf struct buf changed = BUF_INIT(INPUT_LONG + 64);
    char *argv[CASE_ARGS_MAX + 1] = { 0 };
    const char *input = item->input;

    for (size_t i = 0; item->argv[i] && i < CASE_ARGS_MAX; i++) {
        argv[i] = item->argv[i];
        if (lies_in(argv[i], token) && change_input(argv[i], token, by, &changed) == 0)
            argv[i] = changed.data;
    }
    if (lies_in(input, token) && change_input(input, token, by, &changed) == 0)
        input = changed.data;
    if (buf_error(&changed) < 0)
        return gb_no_memory(err);
    return program_start(&j->program, &j->program.load, argv, input, strlen(input),
                         item->timeout_ms, j->spec, ret, err);
}

static bool ended_alike(const struct trial_end *a, const struct trial_end *b)
{
    return a->verdict == b->verdict && a->end.code == b->end.code && a->out.len == b->out.len &&
           (a->out.len == 0 || memcmp(a->out.data, b->out.data, a->out.len) == 0);
}

/* 1 when it is what a test expects. */
static int is_expected(const struct program_case *item, const struct trial_end *end)
{
    char why[CASE_WHY_SIZE];
    const struct case_seen seen = program_seen(end);

    if (end->verdict != VERDICT_OK && end->verdict != VERDICT_NONZERO)
        return 0;
    return case_compare(&item->expect, &seen, why);
}

/* A threshold says the same on one side of it; a table says the same to all that it has not, and
 * some test knows that. */
static int is_of_the_task(const struct search *search, const struct trial_end ends[2],
                          struct gb_err *err)
{
    const struct judging *j = search->j;
    int r = is_expected(j->notes[search->test].item, &ends[0]);

    if (r == 0)
        r = is_expected(j->notes[search->test].item, &ends[1]);
    for (size_t i = 0; r == 0 && i < j->report->n_rows && ended_alike(&ends[0], &ends[1]); i++)
        if (!j->notes[i].test->is_withdrawn)
            r = is_expected(j->notes[i].item, &ends[0]);
    return r < 0 ? gb_no_memory(err) : r;
}

/* 1: what it says to this input it says to no other. */
static int is_singled_out(const struct search *search, struct gb_err *err)
{
    struct trial_end ends[2] = { 0 };
    int r = run_near(search, 1, &ends[0], err);

    if (r == 0)
        r = run_near(search, -1, &ends[1], err);
    if (r == 0 && !ends[0].is_late && !ends[1].is_late)
        r = is_of_the_task(search, ends, err);
    else if (r == 0)
        r = 1;
    trial_end_clear(&ends[0]);
    trial_end_clear(&ends[1]);
    return r < 0 ? r : !r;
}

/* ---- places --------------------------------------------------------------------------------- */

static unsigned line_of(const struct agent_file *file, const char *at)
{
    unsigned line = 1;

    for (const char *c = file->text; c < at; c++)
        line += *c == '\n';
    return line;
}

static int suspect(const struct search *search, const struct agent_file *file, const char *at,
                   struct gb_err *err)
{
    struct judge_report *report = search->j->report;
    const struct judge_test *test = search->j->notes[search->test].test;
    cleanup_buf struct buf reason = BUF_INIT(JUDGE_LINE_MAX);

    words_line(&reason, file->path, strlen(file->path), REASON_SHOWN);
    (void)buf_printf(&reason, ":%u: the input of ", line_of(file, at));
    if (test->origin == ORIGIN_HELD_BACK) {
        (void)buf_puts(&reason, "a test");
    } else {
        (void)buf_puts(&reason, "the test '");
        words_line(&reason, test->id, strlen(test->id), REASON_SHOWN);
        (void)buf_putc(&reason, '\'');
    }
    (void)buf_puts(&reason, " is answered with a constant");
    free(report->reason);
    free(report->summary);
    report->summary = NULL;
    report->reason = buf_take(&reason);
    if (!report->reason ||
        asprintf(&report->summary, "%s: %s.\n", outcome_name(OUTCOME_SUSPECT), report->reason) < 0)
        return gb_no_memory(err);
    report->outcome = OUTCOME_SUSPECT;
    return 1;
}

/* 1: a special case was found. */
static int search_file(struct search *search, size_t file, const struct tokens *text,
                       struct gb_err *err)
{
    const struct agent_file *item = &search->j->spec->code->items[file];
    unsigned places = 0;

    for (size_t i = 0; i < text->n && places < PLACES_MAX && search->tries > 0; i++) {
        int r;

        if (!tokens_have(text, i, &search->input, &search->output, NEAR))
            continue;
        places++;
        search->tries--;
        r = try_change(search, file, text->items[i], err);
        if (r == 1)
            r = is_singled_out(search, err);
        if (r != 0)
            return r < 0 ? r : suspect(search, item, text->items[i].at, err);
    }
    return 0;
}

static int input_tokens(const struct program_case *item, struct tokens *ret)
{
    int r = 0;

    for (size_t i = 0; r == 0 && item->argv[i]; i++)
        r = tokens_of(item->argv[i], strlen(item->argv[i]), false, TOKENS_USED, ret);
    return r < 0 ? r : tokens_of(item->input, strlen(item->input), false, TOKENS_USED, ret);
}

static int search_test(struct search *search, const struct tokens *texts, struct gb_err *err)
{
    const struct judging *j = search->j;
    const struct program_case *item = j->notes[search->test].item;
    int r = input_tokens(item, &search->input);

    if (r == 0)
        r = tokens_of(item->expect.out, strlen(item->expect.out), false, TOKENS_USED,
                      &search->output);
    if (r < 0)
        r = gb_no_memory(err);
    else if (is_distinctive(&search->input) && search->output.n > 0 &&
             strlen(item->input) < INPUT_LONG)
        for (size_t file = 0; r == 0 && file < j->spec->code->n; file++)
            r = search_file(search, file, &texts[file], err);
    tokens_clear(&search->input);
    tokens_clear(&search->output);
    return r;
}

int special_find(struct judging *j, struct gb_err *err)
{
    const struct agent_files *code = j->spec->code;
    struct search search = { .j = j, .tries = TRIES_MAX };
    struct tokens *texts = calloc(code->n + 1, sizeof(*texts));
    int r = texts ? 0 : -ENOMEM;

    for (size_t i = 0; r == 0 && i < code->n; i++)
        r = tokens_of(code->items[i].text, code->items[i].len, true, SIZE_MAX, &texts[i]);
    if (r < 0)
        r = gb_no_memory(err);
    for (; r == 0 && search.test < j->report->n_rows; search.test++)
        if (is_eligible(&j->notes[search.test]))
            r = search_test(&search, texts, err);
    for (size_t i = 0; texts && i < code->n; i++)
        tokens_clear(&texts[i]);
    free(texts);
    return r < 0 ? r : 0;
}
