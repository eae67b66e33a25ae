/* SPDX-License-Identifier: Apache-2.0 */
/* model/window.c - how many tokens a model takes in. */
#include "model/window.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/num.h"
#include "json/value.h"
#include "json/writer.h"
#include "model/listing.h"
#include "model/providers.h"
#include "model/wire.h"
#include "net/http.h"

#define CONNECT_MS 3000
#define TOTAL_MS   10000
#define SHOW_MAX   (16 << 20) /* licences and templates are in it */

uint64_t window_known(const struct provider *provider, const char *model)
{
    static const struct {
        const char *provider;
        const char *begins;
        uint64_t tokens;
    } rows[] = {
#define WINDOW(provider, begins, tokens) { provider, begins, tokens },
#include "model/windows.def"
#undef WINDOW
    };
    uint64_t tokens = provider->context;
    size_t longest = 0;

    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        size_t len = strlen(rows[i].begins);

        if (len > longest && strcmp(rows[i].provider, provider->name) == 0 &&
            strncmp(model, rows[i].begins, len) == 0) {
            longest = len;
            tokens = rows[i].tokens;
        }
    }
    return tokens;
}

static bool is_likely(uint64_t tokens)
{
    return tokens >= WINDOW_MIN && tokens <= WINDOW_MAX;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* ---- Ollama --------------------------------------------------------------------------------- */

/* "llama.context_length" and the like: the key begins with the name of an architecture. */
static uint64_t made_for(const struct json_value *info)
{
    static const char end[] = ".context_length";
    const struct json_value *value;
    const char *key = NULL;
    uint64_t tokens = 0;

    for (size_t i = 0; (value = json_member(info, i, &key)); i++) {
        size_t len = strlen(key);

        if (len > strlen(end) && strcmp(key + len - strlen(end), end) == 0 &&
            json_u64(value, &tokens) && is_likely(tokens))
            return tokens;
    }
    return 0;
}

/* A line "num_ctx  8192" of the model's own parameters. */
static uint64_t of_parameters(const char *text)
{
    static const char word[] = "num_ctx";
    uint64_t tokens = 0;

    for (const char *line = text; line; line = strchr(line, '\n')) {
        char number[16] = "";
        size_t len;

        line += strspn(line, "\n \t");
        if (strncmp(line, word, strlen(word)) != 0)
            continue;
        line += strlen(word);
        line += strspn(line, " \t");
        len = strspn(line, "0123456789");
        memcpy(number, line, len < sizeof(number) ? len : sizeof(number) - 1);
        if (num_parse_u64(number, WINDOW_MIN, WINDOW_MAX, &tokens) == 0)
            return tokens;
    }
    return 0;
}

uint64_t window_of_show(const char *text, size_t len, uint64_t said, uint64_t usual)
{
    cleanup_json struct json_value *json = NULL;
    uint64_t most;
    uint64_t own;

    if (json_value_parse(text, len, SHOW_MAX, &json, NULL) < 0)
        return 0;
    most = made_for(json_get(json, "model_info"));
    own = of_parameters(json_str(json_get(json, "parameters"), NULL));
    if (!most && !own)
        return 0;
    return least(said ? said : own ? own : usual, most ? most : UINT64_MAX);
}

static int ask_ollama(struct http_client *client, const struct window_place *place, uint64_t *ret,
                      struct gb_err *err)
{
    cleanup_with(http_answer_clear) struct http_answer answer = { 0 };
    cleanup_buf struct buf body = BUF_INIT(4096);
    char url[PROVIDER_URL_MAX + 64];
    struct json_writer w;
    struct http_request http = {
        .url = url,
        .headers = place->headers,
        .ca_file = place->ca_file,
        .proxy = place->proxy,
        .connect_ms = CONNECT_MS,
        .total_ms = TOTAL_MS,
        .answer_max = SHOW_MAX,
        .cancel_fd = place->cancel_fd,
    };
    int r;

    json_writer_init(&w, &body, false);
    json_object_begin(&w, NULL);
    json_put_str(&w, "model", place->model);
    json_object_end(&w);
    if (json_writer_end(&w) < 0)
        return 0;
    http.body = body.data;
    http.body_len = body.len;
    (void)snprintf(url, sizeof(url), "%s/api/show", place->base_url);
    r = http_do(client, &http, &answer, err);
    if (r == 0 && answer.status == 200 && answer.body.len > 0)
        *ret = window_of_show(answer.body.data, answer.body.len, place->said,
                              place->provider->context);
    return r;
}

/* ---- the others ----------------------------------------------------------------------------- */

static int ask_listing(struct http_client *client, const struct window_place *place, uint64_t *ret,
                       struct gb_err *err)
{
    char url[PROVIDER_URL_MAX + 64];
    const struct listing_request request = {
        .url = url,
        .headers = place->headers,
        .ca_file = place->ca_file,
        .proxy = place->proxy,
        .connect_ms = CONNECT_MS,
        .total_ms = TOTAL_MS,
        .cancel_fd = place->cancel_fd,
    };
    struct listing listing = { 0 };
    uint64_t told;
    int r;

    (void)snprintf(url, sizeof(url), "%s%s", place->base_url, wire_of(place->provider)->list_path);
    r = listing_get(client, &request, &listing, err);
    if (r < 0)
        return r;
    told = listing_context(&listing, place->model);
    /* llama-server has one model, and answers for it whatever it is called. */
    if (!told && listing.n == 1 && place->provider->flags & PROVIDER_LOCAL)
        told = listing.contexts[0];
    if (is_likely(told))
        *ret = least(told, place->said ? place->said : UINT64_MAX);
    listing_clear(&listing);
    return 0;
}

int window_ask(struct http_client *client, const struct window_place *place, uint64_t *ret,
               struct gb_err *err)
{
    struct gb_err why = { 0 };
    int r = 0;

    *ret = 0;
    if (place->provider->wire == PROVIDER_OLLAMA)
        r = ask_ollama(client, place, ret, &why);
    else if (place->provider->flags & PROVIDER_TELLS)
        r = ask_listing(client, place, ret, &why);
    if (r != -ECANCELED)
        return *ret > 0; /* whatever is wrong there is told when the model is asked */
    if (err)
        *err = why;
    return r;
}
