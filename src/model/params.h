/* SPDX-License-Identifier: Apache-2.0 */
/* model/params.h - parts of a request that a server may not know.
 *
 * Every clone of an API lacks something else, and says so with a 400 that names it.  Such a part is
 * left out from then on, and the request goes out again at once; each part at most once, so that
 * this ends.  Pure.
 */
#pragma once

#include <stdbool.h>

struct fault;
struct model_request;
struct provider;

/* A set of these says what is not to be sent. */
enum param {
    PARAM_TEMPERATURE = 1 << 0,
    PARAM_SEED = 1 << 1,
    PARAM_NEW_MAX = 1 << 2, /* max_completion_tokens */
    PARAM_OLD_MAX = 1 << 3, /* max_tokens */
    PARAM_EFFORT = 1 << 4,
    PARAM_USAGE_OPTION = 1 << 5, /* stream_options */
    PARAM_SCHEMA = 1 << 6,       /* answers of a schema; then JSON_MODE and the prompt ask for it */
    PARAM_JSON_MODE = 1 << 7,    /* answers in JSON; then only the prompt asks for it */
    PARAM_PREFILL = 1 << 8,      /* an assistant's message at the end */
};

/* What a provider is not sent from the beginning. */
unsigned params_unknown(const struct provider *provider);

/* What a request with these left out really holds.  is_rest: it continues a cut answer. */
unsigned params_sent(const struct provider *provider, const struct model_request *request,
                     bool is_rest, unsigned left_out);

/* Which of the sent ones a refusal is about; 0: none of them. */
unsigned params_refused(const struct fault *fault, unsigned sent);
