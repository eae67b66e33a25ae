/* SPDX-License-Identifier: Apache-2.0 */
/* net/search.c - question Tavily and SearXNG, and making their answers harmless. */
#include "net/search.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "json/utf8.h"
#include "json/value.h"
#include "json/writer.h"
#include "net/http.h"

#define ANSWER_MAX (2 << 20)
#define CONNECT_MS 10000
#define TOTAL_MS   60000
#define URL_MAX    2048
#define HEADER_MAX 20000 /* a key's maximum, and its name */

/* A request in the making. */
struct question {
    const struct search_spec *spec;
    struct buf query; /* clean */
    struct buf url;
    struct buf body;
    struct buf auth;
};

struct server {
    struct search_server public;
    /* Fills url, body and auth. */
    void (*ask)(struct question *question);
    /* The error for a status that is not 2xx. */
    int (*refuse)(const struct search_spec *spec, int status, struct gb_err *err);
};

/* ---- text of strangers ---------------------------------------------------------------------- */

/* Appends at most max bytes on one line; runs of blanks become one, unseen characters are one. */
static void put_clean(struct buf *ret, const char *text, size_t len, size_t max)
{
    const uint8_t *at = (const uint8_t *)text;
    const uint8_t *end = at + len;
    size_t start = ret->len;
    bool wants_blank = false;

    while (at < end && !buf_error(ret)) {
        uint32_t point = 0;
        size_t n = utf8_decode(at, (size_t)(end - at), &point);

        if (n == 0 || point == ' ' || point == '\t' || point == '\n' || utf8_is_unseen(point)) {
            wants_blank = ret->len > start;
            at += n ? n : 1;
            continue;
        }
        if (ret->len - start + n + wants_blank > max)
            return;
        if (wants_blank)
            buf_putc(ret, ' ');
        buf_add(ret, at, n);
        wants_blank = false;
        at += n;
    }
}

/* An address is shown only when it is one. */
static void put_address(struct buf *ret, const char *url, size_t len, size_t max)
{
    if (len > max || (strncmp(url, "https://", 8) != 0 && strncmp(url, "http://", 7) != 0))
        return;
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)url[i] <= ' ' || (unsigned char)url[i] >= 0x7f)
            return;
    buf_add(ret, url, len);
}

static const struct part {
    const char *key;
    size_t max; /* bytes */
    void (*put)(struct buf *ret, const char *text, size_t len, size_t max);
} parts[] = {
    { "title", SEARCH_TITLE_MAX, put_clean },
    { "url", SEARCH_URL_MAX, put_address },
    { "content", SEARCH_CONTENT_MAX, put_clean },
};

static int put_result(struct buf *ret, size_t number, const struct json_value *result)
{
    cleanup_buf struct buf text = BUF_INIT(SEARCH_TEXT_MAX);

    (void)buf_printf(&text, "%zu. ", number);
    for (size_t i = 0; i < N_ELEMENTS(parts); i++) {
        cleanup_buf struct buf part = BUF_INIT(SEARCH_TEXT_MAX);
        size_t len = 0;
        const char *said = json_str(json_get(result, parts[i].key), &len);

        if (said)
            parts[i].put(&part, said, len, parts[i].max);
        if (part.len || i == 0)
            (void)buf_printf(&text, "%s%s\n", i ? "   " : "", part.len ? part.data : "(no title)");
    }
    return buf_error(&text) ? buf_error(&text) : buf_add(ret, text.data, text.len);
}

/* ---- the servers ---------------------------------------------------------------------------- */

static const char *base_of(const struct search_spec *spec)
{
    return spec->base_url ? spec->base_url : spec->server->base_url;
}

/* The base without slashes at its end, and the path. */
static void put_url(struct question *question, const char *path)
{
    const char *base = base_of(question->spec);
    size_t len = strlen(base);

    while (len > 0 && base[len - 1] == '/')
        len--;
    buf_add(&question->url, base, len);
    buf_puts(&question->url, path);
}

static void ask_tavily(struct question *question)
{
    struct json_writer w;

    put_url(question, "/search");
    json_writer_init(&w, &question->body, false);
    json_object_begin(&w, NULL);
    json_put_str(&w, "query", question->query.data);
    json_put_u64(&w, "max_results", SEARCH_RESULTS_MAX);
    json_put_str(&w, "search_depth", "basic");
    json_object_end(&w);
    (void)json_writer_end(&w); /* the buf remembers */
    (void)buf_printf(&question->auth, "Authorization: Bearer %s", question->spec->key);
}

static int refuse_tavily(const struct search_spec *spec, int status, struct gb_err *err)
{
    if (status == 401 || status == 403)
        return gb_fail(err, -EKEYREJECTED, GB_BLAME_CALLER,
                       "tavily refuses the key (%d)\nremedy: is %s right?", status,
                       spec->server->key_env);
    if (status == 429)
        return gb_fail(err, -EAGAIN, GB_BLAME_PEER, "tavily: too many requests (429)");
    if (status == 432 || status == 433)
        return gb_fail(err, -EDQUOT, GB_BLAME_CALLER,
                       "tavily: nothing is left of the plan (%d)\nremedy: raise its limit", status);
    return gb_fail(err, -EREMOTEIO, GB_BLAME_PEER, "tavily answers with status %d", status);
}

static void put_escaped(struct buf *ret, const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
            strchr("-._~", c))
            buf_putc(ret, *text);
        else
            buf_printf(ret, "%%%02X", c);
    }
}

static void ask_searxng(struct question *question)
{
    put_url(question, "/search?format=json&q=");
    put_escaped(&question->url, question->query.data);
}

static int refuse_searxng(const struct search_spec *spec, int status, struct gb_err *err)
{
    if (status == 403)
        return gb_fail(err, -EACCES, GB_BLAME_CALLER,
                       "the SearXNG server does not answer in JSON (403)\n"
                       "remedy: add json to search.formats in its settings.yml");
    if (status == 429)
        return gb_fail(err, -EAGAIN, GB_BLAME_PEER, "searxng: too many requests (429)");
    return gb_fail(err, -EREMOTEIO, GB_BLAME_PEER, "searxng answers with status %d", status);
}

static const struct server servers[] = {
    { { "tavily", "TAVILY_API_KEY", "TAVILY_BASE_URL", "https://api.tavily.com" },
      ask_tavily,
      refuse_tavily },
    { { "searxng", NULL, "SEARXNG_URL", NULL }, ask_searxng, refuse_searxng },
};

const struct search_server *search_server_at(size_t n)
{
    return n < N_ELEMENTS(servers) ? &servers[n].public : NULL;
}

/* ---- question ---------------------------------------------------------------------------------
 */

static int check_spec(const struct search_spec *spec, struct gb_err *err)
{
    const char *base = base_of(spec);

    if (spec->server->key_env && !spec->key)
        return gb_fail(err, -ENOKEY, GB_BLAME_CALLER, "%s needs a key\nremedy: set %s",
                       spec->server->name, spec->server->key_env);
    if (!base || strlen(base) > URL_MAX / 2 ||
        (strncmp(base, "http://", 7) != 0 && strncmp(base, "https://", 8) != 0))
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "%s needs its address\nremedy: set %s to its http:// or https:// URL",
                       spec->server->name, spec->server->base_env);
    if (strpbrk(base, "@?#"))
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "the address of %s holds a user name or a query", spec->server->name);
    return 0;
}

static int read_answer(const struct search_spec *spec, const struct http_answer *answer,
                       struct buf *ret, struct gb_err *err)
{
    cleanup_buf struct buf found = BUF_INIT(SEARCH_TEXT_MAX);
    cleanup_json struct json_value *json = NULL;
    const struct json_value *results;
    int r = json_value_parse(answer->body.data ? answer->body.data : "", answer->body.len,
                             ANSWER_MAX, &json, err);

    if (r == -ENOMEM)
        return r;
    r = 0; /* what is no JSON has no results */
    results = json_get(json, "results");
    if (json_kind(results) != JSON_ARRAY)
        return gb_fail(err, -EPROTO, GB_BLAME_PEER, "what %s answers is no list of results",
                       spec->server->name);
    for (size_t i = 0; r == 0 && i < json_count(results) && i < SEARCH_RESULTS_MAX; i++)
        r = put_result(&found, i + 1, json_at(results, i));
    /* What does not fit is left out. */
    if (r == 0 || r == -EMSGSIZE)
        r = found.len ? buf_add(ret, found.data, found.len) : 0;
    return r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "no room for what was found") : 0;
}

/* At least a moment: no time at all would mean any. */
static uint64_t total_ms(uint64_t deadline_ns)
{
    uint64_t now = clock_now_ns();
    uint64_t left_ms = deadline_ns > now ? (deadline_ns - now) / NS_PER_MS : 0;

    if (deadline_ns == CLOCK_NEVER_NS || left_ms > TOTAL_MS)
        return TOTAL_MS;
    return left_ms > 0 ? left_ms : 1;
}

static int send_request(struct question *question, uint64_t deadline_ns, int cancel_fd,
                        struct http_answer *answer, struct gb_err *err)
{
    cleanup_with(http_client_free) struct http_client *client = NULL;
    const char *const headers[] = {
        "Accept: application/json",
        question->body.len ? "Content-Type: application/json" : question->auth.data,
        question->body.len ? question->auth.data : NULL,
        NULL,
    };
    const struct http_request request = {
        .url = question->url.data,
        .headers = headers,
        .body = question->body.len ? question->body.data : NULL,
        .body_len = question->body.len,
        .ca_file = question->spec->ca_file,
        .proxy = question->spec->proxy,
        .connect_ms = CONNECT_MS,
        .total_ms = total_ms(deadline_ns),
        .answer_max = ANSWER_MAX,
        .cancel_fd = cancel_fd,
    };
    int r = http_client_new(&client, err);

    return r < 0 ? r : http_do(client, &request, answer, err);
}

static void question_clear(struct question *question)
{
    buf_clear(&question->query);
    buf_clear(&question->url);
    buf_clear(&question->body);
    buf_clear(&question->auth);
}

int search_web(const struct search_spec *spec, const char *query, uint64_t deadline_ns,
               int cancel_fd, struct buf *ret, struct gb_err *err)
{
    const struct server *server = (const struct server *)spec->server;
    cleanup_with(http_answer_clear) struct http_answer answer = { 0 };
    cleanup_with(question_clear) struct question question = {
        .spec = spec,
        .query = BUF_INIT(SEARCH_QUERY_MAX),
        .url = BUF_INIT(URL_MAX),
        .body = BUF_INIT(URL_MAX),
        .auth = BUF_INIT(HEADER_MAX),
    };
    int r = check_spec(spec, err);

    if (r < 0)
        return r;
    put_clean(&question.query, query, strlen(query), SEARCH_QUERY_MAX);
    if (question.query.len == 0)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "there is nothing to search for");
    server->ask(&question);
    if (buf_error(&question.url) || buf_error(&question.body) || buf_error(&question.auth))
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for a search");
    r = send_request(&question, deadline_ns, cancel_fd, &answer, err);
    if (r < 0)
        return gb_wrap(err, r, "searching with %s", spec->server->name);
    if (answer.status < 200 || answer.status > 299)
        return server->refuse(spec, answer.status, err);
    return read_answer(spec, &answer, ret, err);
}
