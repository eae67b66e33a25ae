/* SPDX-License-Identifier: Apache-2.0 */
/* agent/decision.c - what the orchestrator says next. */
#include "agent/decision.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/contract.h"
#include "agent/quote.h"
#include "base/buf.h"
#include "base/err.h"
#include "json/bind.h"

#define TEXT_MAX (256 << 10)

/* The arguments that an action cannot do without. */
static const struct {
    const char *name;
    size_t needs; /* offset of a char * in struct decision; 0: nothing */
    const char *key;
} actions[N_ACTIONS] = {
    [ACTION_CODE] = { "code", 0, NULL },
    [ACTION_SEARCH] = { "search", offsetof(struct decision, query), "query" },
    [ACTION_HUMAN] = { "human", offsetof(struct decision, question), "question" },
    [ACTION_FINISH] = { "finish", 0, NULL },
};

/* As it comes, before its action is looked at. */
struct said {
    char *action;
    char *reason;
    char *contract;
    char *query;
    char *question;
    char *answer;
    char *explanation;
};

static const struct bind_field fields[] = {
    { "action", BIND_STR, offsetof(struct said, action), BIND_REQUIRED },
    { "reason", BIND_STR, offsetof(struct said, reason), 0 },
    { "contract", BIND_JSON, offsetof(struct said, contract), 0 },
    { "query", BIND_STR, offsetof(struct said, query), 0 },
    { "question", BIND_STR, offsetof(struct said, question), 0 },
    { "answer", BIND_STR, offsetof(struct said, answer), 0 },
    { "explanation", BIND_STR, offsetof(struct said, explanation), 0 },
    { 0 },
};

static const struct bind binding = { .fields = fields, .text_max = TEXT_MAX };

const char *action_name(enum action action)
{
    return actions[action].name;
}

int decision_schema(struct buf *ret)
{
    (void)buf_puts(ret, "{\"type\":\"object\",\"additionalProperties\":false,"
                        "\"required\":[\"action\",\"reason\"],\"properties\":{"
                        "\"action\":{\"type\":\"string\",\"enum\":[");
    for (size_t i = 0; i < N_ACTIONS; i++)
        (void)buf_printf(ret, "%s\"%s\"", i ? "," : "", actions[i].name);
    (void)buf_puts(ret, "]},\"reason\":{\"type\":\"string\",\"maxLength\":200},\"contract\":");
    (void)buf_puts(ret, contract_schema);
    (void)buf_puts(ret, ",\"query\":{\"type\":\"string\",\"maxLength\":200},"
                        "\"question\":{\"type\":\"string\",\"maxLength\":400},"
                        "\"answer\":{\"type\":\"string\",\"maxLength\":2000},"
                        "\"explanation\":{\"type\":\"string\",\"maxLength\":2000}}}");
    return buf_error(ret);
}

static int find_action(const char *name, enum action *ret, struct gb_err *err)
{
    char quoted[QUOTE_SIZE];

    for (size_t i = 0; i < N_ACTIONS; i++) {
        if (strcmp(actions[i].name, name) == 0) {
            *ret = (enum action)i;
            return 0;
        }
    }
    return gb_fail(err, -EINVAL, GB_BLAME_PEER,
                   "\"action\" is %s; it must be one of code, search, human, finish",
                   quote_str(name, quoted));
}

static bool is_empty(const char *text)
{
    return !text || !text[strspn(text, " \t\r\n")];
}

static int check(const struct decision *decision, struct gb_err *err)
{
    size_t offset = actions[decision->action].needs;
    const char *needed;

    if (offset == 0)
        return 0;
    memcpy(&needed, (const char *)decision + offset, sizeof(needed));
    if (!is_empty(needed))
        return 0;
    return gb_fail(err, -EINVAL, GB_BLAME_PEER, "\"action\" is \"%s\", so \"%s\" must be there",
                   actions[decision->action].name, actions[decision->action].key);
}

int decision_parse(const char *json, size_t len, struct decision *ret, struct gb_err *err)
{
    struct said said = { 0 };
    enum action action;
    int r = bind_text(&binding, json, len, &said, err);

    *ret = (struct decision){ 0 };
    if (r < 0)
        return r;
    r = find_action(said.action, &action, err);
    if (r == 0)
        *ret = (struct decision){
            .action = action,
            .reason = take_ptr(said.reason),
            .contract = take_ptr(said.contract),
            .query = take_ptr(said.query),
            .question = take_ptr(said.question),
            .answer = take_ptr(said.answer),
            .explanation = take_ptr(said.explanation),
        };
    bind_clear(&binding, &said);
    if (r == 0)
        r = check(ret, err);
    if (r < 0)
        decision_clear(ret);
    return r;
}

void decision_clear(struct decision *decision)
{
    free(decision->reason);
    free(decision->contract);
    free(decision->query);
    free(decision->question);
    free(decision->answer);
    free(decision->explanation);
    *decision = (struct decision){ 0 };
}
