/* SPDX-License-Identifier: Apache-2.0 */
/* model/script.c - reading a script, and finding the rule for a request. */
#include "model/script.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/num.h"
#include "json/utf8.h"
#include "model/model.h"

#define PIECE     24
#define PIECE_MAX (1 << 20)

/* ---- reading -------------------------------------------------------------------------------- */

struct reader {
    const char *name;
    const char *at; /* the next line */
    const char *end;
    unsigned line; /* number of the last one read */
    struct script *script;
    struct gb_err *err;
};

static int wrong(const struct reader *reader, const char *what)
{
    return gb_fail(reader->err, -EINVAL, GB_BLAME_CALLER, "%s:%u: %s", reader->name, reader->line,
                   what);
}

static bool next_line(struct reader *reader, const char **ret, size_t *ret_len)
{
    const char *newline;

    if (reader->at == reader->end)
        return false;
    newline = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
    *ret = reader->at;
    *ret_len = (size_t)((newline ? newline : reader->end) - reader->at);
    reader->at = newline ? newline + 1 : reader->end;
    reader->line++;
    return true;
}

static void trim(const char **text, size_t *len)
{
    while (*len > 0 && strchr(" \t\r", (*text)[*len - 1]))
        (*len)--;
    while (*len > 0 && (**text == ' ' || **text == '\t')) {
        (*text)++;
        (*len)--;
    }
}

/* Sets a word of a rule to its value. */
typedef int set_fn(const struct reader *reader, struct script_rule *rule, int which, char *value);

static int set_condition(const struct reader *reader, struct script_rule *rule, int which,
                         char *value)
{
    struct script_condition *condition = &rule->conditions[rule->n_conditions];

    if (rule->n_conditions == SCRIPT_CONDITIONS_MAX)
        return wrong(reader, "too many conditions");
    if (!value[0])
        return wrong(reader, "a condition without a text");
    condition->text = strdup(value);
    if (!condition->text)
        return gb_no_memory(reader->err);
    condition->where = (enum script_where)which;
    rule->n_conditions++;
    return 0;
}

enum number {
    NUMBER_SEED,
    NUMBER_NTH,
    NUMBER_PIECE,
};

static int set_number(const struct reader *reader, struct script_rule *rule, int which, char *value)
{
    uint64_t number = 0;

    if (num_parse_u64(value, 1, which == NUMBER_PIECE ? PIECE_MAX : UINT64_MAX, &number) < 0)
        return wrong(reader, "this must be a number, 1 or more");
    if (which == NUMBER_SEED) {
        rule->has_seed = true;
        rule->seed = number;
    } else if (which == NUMBER_NTH) {
        rule->nth = number;
    } else {
        rule->piece = number;
    }
    return 0;
}

static int set_delay(const struct reader *reader, struct script_rule *rule, int which, char *value)
{
    (void)which;
    if (num_parse_duration(value, &rule->delay_ms) < 0)
        return wrong(reader, "this must be a time: 20ms, 0.5s");
    return 0;
}

static int set_finish(const struct reader *reader, struct script_rule *rule, int which, char *value)
{
    static const char *const words[] = { "stop", "cut", "refused" };

    (void)which;
    for (size_t i = 0; i < N_ELEMENTS(words); i++)
        if (strcmp(value, words[i]) == 0) {
            rule->finish = (enum script_finish)i;
            return 0;
        }
    return wrong(reader, "an answer ends with stop, cut or refused");
}

/* Cuts the first word off; what follows. */
static char *split_word(char *text)
{
    char *rest = text + strcspn(text, " \t");

    if (*rest)
        *rest++ = '\0';
    return rest + strspn(rest, " \t");
}

static int set_usage(const struct reader *reader, struct script_rule *rule, int which, char *value)
{
    char *output = split_word(value);
    char *cached = split_word(output);

    (void)which;
    rule->has_usage = true;
    if (num_parse_u64(value, 0, MODEL_TOKENS_MAX, &rule->input) < 0 ||
        num_parse_u64(output, 0, MODEL_TOKENS_MAX, &rule->output) < 0 ||
        (cached[0] && num_parse_u64(cached, 0, MODEL_TOKENS_MAX, &rule->cached) < 0))
        return wrong(reader, "usage is two or three numbers: input, output, cached");
    return 0;
}

static int put_once(const struct reader *reader, char **at, const char *value)
{
    if (*at)
        return wrong(reader, "this was said already");
    *at = strdup(value);
    return *at ? 0 : gb_no_memory(reader->err);
}

static int set_error(const struct reader *reader, struct script_rule *rule, int which, char *value)
{
    const char *message = split_word(value);

    (void)which;
    if (num_parse_u64(value, 400, 599, &rule->status) < 0)
        return wrong(reader, "an error is a status from 400 to 599 and a message");
    return put_once(reader, &rule->error, message);
}

static int set_reasoning(const struct reader *reader, struct script_rule *rule, int which,
                         char *value)
{
    (void)which;
    return put_once(reader, &rule->reasoning, value);
}

static int set_call(const struct reader *reader, struct script_rule *rule, int which, char *value)
{
    struct script_call *call = &rule->calls[rule->n_calls];
    const char *arguments = split_word(value);

    (void)which;
    if (rule->n_calls == SCRIPT_CALLS_MAX)
        return wrong(reader, "too many calls");
    if (!value[0])
        return wrong(reader, "a call is a name and its arguments");
    rule->n_calls++;
    call->name = strdup(value);
    call->arguments = strdup(arguments);
    return call->name && call->arguments ? 0 : gb_no_memory(reader->err);
}

static const struct {
    const char *word;
    set_fn *set;
    int which;
} words[] = {
    { "when", set_condition, SCRIPT_ANY },
    { "unless", set_condition, SCRIPT_NONE },
    { "system", set_condition, SCRIPT_SYSTEM },
    { "user", set_condition, SCRIPT_USER },
    { "after", set_condition, SCRIPT_AFTER },
    { "schema", set_condition, SCRIPT_SCHEMA },
    { "seed", set_number, NUMBER_SEED },
    { "nth", set_number, NUMBER_NTH },
    { "piece", set_number, NUMBER_PIECE },
    { "delay", set_delay, 0 },
    { "finish", set_finish, 0 },
    { "usage", set_usage, 0 },
    { "error", set_error, 0 },
    { "think", set_reasoning, 0 },
    { "call", set_call, 0 },
};

static int set_word(struct reader *reader, struct script_rule *rule, const char *line, size_t len)
{
    const char *colon = memchr(line, ':', len);
    size_t word = colon ? (size_t)(colon - line) : len;
    cleanup_free char *value = NULL;

    if (!rule)
        return wrong(reader, "before the first 'answer' there is nothing to say");
    if (!colon)
        return wrong(reader, "this is neither 'answer', 'word: value' nor '<<<'");
    line += word + 1;
    len -= word + 1;
    trim(&line, &len);
    value = strndup(line, len);
    if (!value)
        return gb_no_memory(reader->err);
    for (size_t i = 0; i < N_ELEMENTS(words); i++)
        if (strlen(words[i].word) == word && memcmp(words[i].word, colon - word, word) == 0)
            return words[i].set(reader, rule, words[i].which, value);
    return wrong(reader, "no such word is known");
}

/* The lines up to one that is the closing mark: ">>>", or what stood behind "<<<". */
static int read_text(struct reader *reader, struct script_rule *rule, const char *mark,
                     size_t mark_len)
{
    const char *start = reader->at;
    unsigned first = reader->line;
    const char *line = NULL;
    size_t len = 0;

    if (!rule)
        return wrong(reader, "a text without an 'answer'");
    if (rule->text)
        return wrong(reader, "this answer has a text already");
    while (next_line(reader, &line, &len)) {
        if (len != mark_len || memcmp(line, mark, len) != 0)
            continue;
        len = line > start ? (size_t)(line - start) - 1 : 0;
        rule->text = strndup(start, len);
        return rule->text ? 0 : gb_no_memory(reader->err);
    }
    reader->line = first;
    return wrong(reader, "this text has no end");
}

static int add_rule(struct reader *reader, struct script_rule **ret)
{
    struct script *script = reader->script;

    if (script->n == SCRIPT_RULES_MAX)
        return wrong(reader, "too many answers");
    *ret = &script->rules[script->n++];
    **ret = (struct script_rule){ .piece = PIECE, .line = reader->line };
    return 0;
}

static int read_lines(struct reader *reader)
{
    struct script_rule *rule = NULL;
    const char *line = NULL;
    size_t len = 0;
    int r = 0;

    while (r == 0 && next_line(reader, &line, &len)) {
        trim(&line, &len);
        if (len == 0 || line[0] == '#')
            continue;
        if (len == strlen("answer") && memcmp(line, "answer", len) == 0)
            r = add_rule(reader, &rule);
        else if (len >= 3 && memcmp(line, "<<<", 3) == 0)
            r = len > 3 ? read_text(reader, rule, line + 3, len - 3)
                        : read_text(reader, rule, ">>>", 3);
        else
            r = set_word(reader, rule, line, len);
    }
    return r;
}

int script_read(const char *name, const char *text, size_t len, struct script *ret,
                struct gb_err *err)
{
    struct reader reader = {
        .name = name, .at = text, .end = text + len, .script = ret, .err = err
    };
    int r;

    *ret = (struct script){ 0 };
    if (len > SCRIPT_MAX)
        return gb_fail(err, -EMSGSIZE, GB_BLAME_CALLER, "%s is longer than a script may be", name);
    if (memchr(text, '\0', len) || !utf8_is_valid(text, len))
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "%s is not a text in UTF-8", name);
    ret->rules = calloc(SCRIPT_RULES_MAX, sizeof(*ret->rules));
    r = ret->rules ? read_lines(&reader) : gb_no_memory(reader.err);
    if (r == 0 && ret->n == 0)
        r = gb_fail(err, -EINVAL, GB_BLAME_CALLER, "%s has no answers", name);
    if (r < 0)
        script_clear(ret);
    return r;
}

void script_clear(struct script *script)
{
    for (size_t i = 0; script->rules && i < script->n; i++) {
        struct script_rule *rule = &script->rules[i];

        for (size_t j = 0; j < rule->n_conditions; j++)
            free(rule->conditions[j].text);
        for (size_t j = 0; j < rule->n_calls; j++) {
            free(rule->calls[j].name);
            free(rule->calls[j].arguments);
        }
        free(rule->text);
        free(rule->reasoning);
        free(rule->error);
    }
    free(script->rules);
    *script = (struct script){ 0 };
}

/* ---- finding -------------------------------------------------------------------------------- */

static bool in_messages(const struct model_request *request, int role, const char *text)
{
    for (size_t i = 0; i < request->n_messages; i++)
        if ((role < 0 || request->messages[i].role == (enum model_role)role) &&
            strstr(request->messages[i].text, text))
            return true;
    return false;
}

static bool in_last_user(const struct model_request *request, const char *text)
{
    for (size_t i = request->n_messages; i > 0; i--)
        if (request->messages[i - 1].role == MODEL_USER)
            return strstr(request->messages[i - 1].text, text);
    return false;
}

static bool holds(const struct script_condition *condition, const struct model_request *request,
                  const char *partial)
{
    const char *text = condition->text;

    switch (condition->where) {
    case SCRIPT_ANY:
        return in_messages(request, -1, text);
    case SCRIPT_NONE:
        return !in_messages(request, -1, text);
    case SCRIPT_SYSTEM:
        return in_messages(request, MODEL_SYSTEM, text);
    case SCRIPT_USER:
        return in_last_user(request, text);
    case SCRIPT_AFTER:
        return partial && strstr(partial, text);
    case SCRIPT_SCHEMA:
        return request->schema && request->schema_name && strcmp(request->schema_name, text) == 0;
    }
    return false;
}

static bool fits(const struct script_rule *rule, const struct model_request *request,
                 const char *partial)
{
    bool is_rest = false;

    if (rule->has_seed && rule->seed != request->seed)
        return false;
    for (size_t i = 0; i < rule->n_conditions; i++) {
        is_rest = is_rest || rule->conditions[i].where == SCRIPT_AFTER;
        if (!holds(&rule->conditions[i], request, partial))
            return false;
    }
    return is_rest == (partial != NULL);
}

struct script_rule *script_find(struct script *script, const struct model_request *request,
                                const char *partial)
{
    for (size_t i = 0; i < script->n; i++) {
        struct script_rule *rule = &script->rules[i];

        if (!fits(rule, request, partial))
            continue;
        rule->hits++;
        if (rule->nth == 0 || rule->nth == rule->hits)
            return rule;
    }
    return NULL;
}
