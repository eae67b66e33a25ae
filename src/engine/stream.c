/* SPDX-License-Identifier: Apache-2.0 */
/* engine/stream.c - calls whose answer is a stream of progress. */
#include "engine/stream.h"

#include <errno.h>
#include <stdbool.h>

#include "base/err.h"
#include "engine/engine.h"
#include "engine/refusal.h"
#include "engine/split.h"
#include "json/value.h"
#include "net/http.h"

#define IDLE_MS  (10 * 60 * 1000)
#define TOTAL_MS (60 * 60 * 1000)

struct reading {
    const struct engine_call *call;
    const struct stream_sink *sink;
    struct split split;
    bool has_failed;
    char words[REFUSAL_MAX]; /* the engine's, then */
};

/* Since API 1.48 `error` is going away; before, errorDetail may be there without a text. */
static bool read_failure(struct reading *reading, const struct json_value *json)
{
    size_t len = 0;
    const char *text = json_str(json_path(json, "errorDetail/message"), &len);

    if (!text || len == 0)
        text = json_str(json_get(json, "error"), &len);
    if (!text && json_kind(json_get(json, "errorDetail")) != JSON_OBJECT)
        return false;
    reading->has_failed = true;
    refusal_line(text ? text : "no reason given", text ? len : 15, reading->words);
    return true;
}

static int on_object(void *user, const char *text, size_t len)
{
    struct reading *reading = user;
    cleanup_json struct json_value *json = NULL;
    struct stream_event event = { 0 };
    int r = json_value_parse(text, len, STREAM_OBJECT_MAX, &json, NULL);

    if (r < 0)
        return r == -ENOMEM ? r : -EBADMSG;
    if (read_failure(reading, json))
        return -EREMOTEIO;
    event.status = json_str(json_get(json, "status"), NULL);
    event.id = json_str(json_get(json, "id"), NULL);
    event.text = json_str(json_get(json, "stream"), &event.text_len);
    event.image = json_str(json_path(json, "aux/ID"), NULL);
    (void)json_u64(json_path(json, "progressDetail/current"), &event.current);
    (void)json_u64(json_path(json, "progressDetail/total"), &event.total);
    return reading->sink->event ? reading->sink->event(reading->sink->user, &event) : 0;
}

static int on_data(void *user, const char *bytes, size_t len)
{
    struct reading *reading = user;

    return split_feed(&reading->split, bytes, len);
}

static ssize_t on_source(void *user, void *bytes, size_t size)
{
    const struct reading *reading = user;

    return reading->call->source(reading->call->user, bytes, size);
}

/* What ended it, in our words where they are better. */
static int tell(struct reading *reading, int r, struct gb_err *err)
{
    if (reading->has_failed)
        return refusal_of_words(reading->words, reading->call->missing_remedy, err);
    if (r == -EBADMSG)
        return gb_fail(err, r, GB_BLAME_PEER, "the engine's stream is not JSON");
    if (r == 0 && split_end(&reading->split) < 0)
        return gb_fail(err, -EBADMSG, GB_BLAME_PEER, "the engine cut its stream off");
    return r;
}

int stream_call(struct engine *engine, const struct engine_call *call,
                const struct stream_sink *sink, struct gb_err *err)
{
    cleanup_with(http_answer_clear) struct http_answer answer = { 0 };
    struct reading reading = { .call = call, .sink = sink };
    struct engine_call streamed = *call;
    int r;

    streamed.total_ms = call->total_ms > 0 ? call->total_ms : TOTAL_MS;
    streamed.idle_ms = streamed.total_ms < IDLE_MS ? streamed.total_ms : IDLE_MS;
    streamed.answer_max = STREAM_BYTES_MAX;
    streamed.data = on_data;
    streamed.source = call->source ? on_source : NULL;
    streamed.user = &reading;
    split_init(&reading.split, STREAM_OBJECT_MAX, on_object, &reading);
    r = engine_ask(engine, &streamed, &answer, err);
    r = tell(&reading, r, err);
    split_clear(&reading.split);
    return r;
}
