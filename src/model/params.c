/* SPDX-License-Identifier: Apache-2.0 */
/* model/params.c - parts of a request that a server may not know. */
#include "model/params.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"
#include "model/fault.h"
#include "model/model.h"
#include "model/providers.h"

static const struct {
    unsigned param;
    const char *word; /* in lower case */
} names[] = {
    { PARAM_TEMPERATURE, "temperature" },
    { PARAM_SEED, "seed" },
    { PARAM_NEW_MAX, "max_completion_tokens" },
    { PARAM_OLD_MAX, "max_tokens" },
    { PARAM_EFFORT, "reasoning_effort" },
    { PARAM_EFFORT, "effort" },
    { PARAM_EFFORT, "thinking" },
    { PARAM_EFFORT, "think" },
    { PARAM_USAGE_OPTION, "stream_options" },
    { PARAM_USAGE_OPTION, "include_usage" },
    { PARAM_SCHEMA, "json_schema" },
    { PARAM_SCHEMA | PARAM_JSON_MODE, "response_format" },
    { PARAM_EFFORT, "output_config.effort" },
    { PARAM_SCHEMA, "output_config" },
    { PARAM_SCHEMA, "output_format" },
    { PARAM_SCHEMA, "format" },
    { PARAM_SCHEMA, "schema" },
    { PARAM_SCHEMA, "grammar" },
    { PARAM_SCHEMA, "structured" },
    { PARAM_JSON_MODE, "json_object" },
    { PARAM_JSON_MODE, "json mode" },
    { PARAM_PREFILL, "prefill" },
    { PARAM_PREFILL, "end with a user message" },
    { PARAM_PREFILL, "last message" },
};

unsigned params_unknown(const struct provider *provider)
{
    static const struct {
        unsigned flag;
        unsigned param;
    } rows[] = {
        { PROVIDER_TEMPERATURE, PARAM_TEMPERATURE },
        { PROVIDER_SEED, PARAM_SEED },
        { PROVIDER_SCHEMA, PARAM_SCHEMA },
        { PROVIDER_PREFILL, PARAM_PREFILL },
        { PROVIDER_USAGE_OPTION, PARAM_USAGE_OPTION },
    };
    unsigned unknown = 0;

    for (size_t i = 0; i < N_ELEMENTS(rows); i++)
        if (!(provider->flags & rows[i].flag))
            unknown |= rows[i].param;
    if (provider->wire == PROVIDER_ANTHROPIC)
        unknown |= PARAM_JSON_MODE;
    if (provider->wire != PROVIDER_OPENAI)
        unknown |= PARAM_NEW_MAX;
    return unknown;
}

/* Two names for one thing: the other one when the usual one was refused. */
static unsigned max_param(const struct provider *provider, unsigned left_out)
{
    unsigned usual = provider->flags & PROVIDER_NEW_MAX ? PARAM_NEW_MAX : PARAM_OLD_MAX;

    return left_out & usual ? (PARAM_NEW_MAX | PARAM_OLD_MAX) & ~usual : usual;
}

unsigned params_sent(const struct provider *provider, const struct model_request *request,
                     bool is_rest, unsigned left_out)
{
    unsigned wanted = PARAM_USAGE_OPTION;

    if (request->temperature >= 0)
        wanted |= PARAM_TEMPERATURE;
    if (request->seed)
        wanted |= PARAM_SEED;
    if (request->effort)
        wanted |= PARAM_EFFORT;
    /* Anthropic's wire has no request without a limit. */
    if (request->max_tokens || provider->wire == PROVIDER_ANTHROPIC)
        wanted |= max_param(provider, left_out);
    /* The rest of an answer is no JSON by itself. */
    if (request->schema && !is_rest)
        wanted |= left_out & PARAM_SCHEMA ? PARAM_JSON_MODE : PARAM_SCHEMA;
    if (is_rest)
        wanted |= PARAM_PREFILL;
    return wanted & ~left_out;
}

static bool is_letter(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Where the word stands alone in the text; NULL. */
static const char *find_word(const char *text, const char *word)
{
    size_t len = strlen(word);

    for (const char *at = text; (at = strcasestr(at, word)); at++)
        if ((at == text || !is_letter(at[-1])) && !is_letter(at[len]))
            return at;
    return NULL;
}

unsigned params_refused(const struct fault *fault, unsigned sent)
{
    const char *text = fault->param[0] ? fault->param : fault->message;
    const char *first = NULL;
    unsigned refused = 0;

    /* A schema that its grammar cannot hold makes some servers fail. */
    if (fault->kind == FAULT_SERVER && fault->status == 500)
        sent &= PARAM_SCHEMA | PARAM_JSON_MODE;
    else if (fault->kind != FAULT_REQUEST)
        return 0;
    /* Of several words the first is what it is about: "'max_tokens' is not supported, use …". */
    for (size_t i = 0; i < N_ELEMENTS(names); i++) {
        const char *at = names[i].param & sent ? find_word(text, names[i].word) : NULL;

        if (at && (!first || at < first)) {
            first = at;
            refused = names[i].param & sent;
        }
    }
    return refused;
}
