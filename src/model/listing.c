/* SPDX-License-Identifier: Apache-2.0 */
/* model/listing.c - which models a server offers. */
#include "model/listing.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "json/value.h"
#include "net/http.h"

#define ANSWER_MAX  (4 << 20)
#define NEAREST_MAX 6

/* ---- reading -------------------------------------------------------------------------------- */

static bool is_name(const char *name, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)name[i] <= ' ' || (unsigned char)name[i] >= 0x7f)
            return false;
    return len > 0 && len <= LISTING_NAME_MAX;
}

/* vLLM, llama.cpp, Groq and OpenRouter have each a place of their own for it. */
static uint64_t context_of(const struct json_value *model)
{
    static const char *const paths[] = { "max_model_len", "meta/n_ctx", "context_window",
                                         "context_length" };
    uint64_t context = 0;

    for (size_t i = 0; i < N_ELEMENTS(paths); i++)
        if (json_u64(json_path(model, paths[i]), &context))
            break;
    return context;
}

static int add_name(struct listing *listing, const struct json_value *model)
{
    static const char prefix[] = "models/"; /* Gemini's */
    size_t len = 0;
    const char *name = json_str(json_get(model, "id"), &len);

    if (!name)
        name = json_str(json_get(model, "name"), &len);
    if (!name || !is_name(name, len))
        return 0;
    if (strncmp(name, prefix, strlen(prefix)) == 0)
        name += strlen(prefix);
    listing->names[listing->n] = strdup(name);
    if (!listing->names[listing->n])
        return -ENOMEM;
    if (!listing->usual && !strcasestr(name, "embed"))
        listing->usual = listing->names[listing->n];
    listing->contexts[listing->n++] = context_of(model);
    return 0;
}

int listing_read(const char *text, size_t len, struct listing *ret, struct gb_err *err)
{
    cleanup_json struct json_value *json = NULL;
    const struct json_value *models;
    int r = json_value_parse(text, len, ANSWER_MAX, &json, err);

    *ret = (struct listing){ 0 };
    if (r < 0)
        return r == -ENOMEM ? r : gb_fail(err, -EPROTO, GB_BLAME_PEER, "not a list of models");
    models = json_get(json, "data");
    if (json_kind(models) != JSON_ARRAY)
        models = json_get(json, "models");
    if (json_kind(models) != JSON_ARRAY)
        return gb_fail(err, -EPROTO, GB_BLAME_PEER, "not a list of models");
    ret->names = calloc(LISTING_MAX + 1, sizeof(*ret->names));
    ret->contexts = calloc(LISTING_MAX, sizeof(*ret->contexts));
    r = ret->names && ret->contexts ? 0 : -ENOMEM;
    for (size_t i = 0; r == 0 && i < json_count(models) && ret->n < LISTING_MAX; i++)
        r = add_name(ret, json_at(models, i));
    if (r < 0) {
        listing_clear(ret);
        return gb_fail(err, r, GB_BLAME_HOST, "no memory for a list of models");
    }
    return 0;
}

void listing_clear(struct listing *listing)
{
    for (size_t i = 0; listing->names && i < listing->n; i++)
        free(listing->names[i]);
    free(listing->names);
    free(listing->contexts);
    *listing = (struct listing){ 0 };
}

uint64_t listing_context(const struct listing *listing, const char *name)
{
    for (size_t i = 0; i < listing->n; i++)
        if (strcmp(listing->names[i], name) == 0)
            return listing->contexts[i];
    return 0;
}

/* ---- asking --------------------------------------------------------------------------------- */

int listing_get(struct http_client *client, const struct listing_request *request,
                struct listing *ret, struct gb_err *err)
{
    const struct http_request http = {
        .url = request->url,
        .headers = request->headers,
        .ca_file = request->ca_file,
        .proxy = request->proxy,
        .connect_ms = request->connect_ms,
        .total_ms = request->total_ms,
        .answer_max = ANSWER_MAX,
        .cancel_fd = request->cancel_fd,
    };
    cleanup_with(http_answer_clear) struct http_answer answer = { 0 };
    int r = http_do(client, &http, &answer, err);

    *ret = (struct listing){ 0 };
    if (r < 0)
        return r;
    if (answer.status == 401 || answer.status == 403)
        return gb_fail(err, -EACCES, GB_BLAME_CALLER, "the key is refused (%d)", answer.status);
    if (answer.status != 200)
        return gb_fail(err, -EPROTO, GB_BLAME_PEER, "no list of models (%d)", answer.status);
    return listing_read(answer.body.data ? answer.body.data : "", answer.body.len, ret, err);
}

/* ---- choosing ------------------------------------------------------------------------------- */

static size_t likeness(const char *name, const char *wanted)
{
    size_t n = 0;

    while (name[n] && tolower((unsigned char)name[n]) == tolower((unsigned char)wanted[n]))
        n++;
    return n;
}

void listing_nearest(const struct listing *listing, const char *wanted, char *text, size_t size)
{
    const char *picked[NEAREST_MAX] = { 0 };
    size_t used = 0;

    text[0] = '\0';
    for (size_t n = 0; n < NEAREST_MAX && n < listing->n; n++) {
        for (size_t i = 0; i < listing->n; i++) {
            const char *name = listing->names[i];
            bool is_taken = false;

            for (size_t j = 0; j < n; j++)
                is_taken = is_taken || picked[j] == name;
            if (!is_taken && (!picked[n] || likeness(name, wanted) > likeness(picked[n], wanted)))
                picked[n] = name;
        }
        if (used + strlen(picked[n]) + 3 > size)
            return;
        used += (size_t)snprintf(text + used, size - used, "%s%s", n ? ", " : "", picked[n]);
    }
}
