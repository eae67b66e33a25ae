/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz/fuzz_model_stream.c - any bytes as a model's stream, in one piece and in pieces.
 *
 * The first byte says which wire it is, whether <think> counts and how long the pieces are; in the
 * second reading every event is parsed in full (model/repeat.h).  Both end alike and make the same
 * answer: text and reasoning that are UTF-8 without NULs and
 * what the sink was told, no more calls and tokens than allowed.  The same bytes are read as the
 * body of an error, as a list of models and as what Ollama tells of a model, too. */
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "json/utf8.h"
#include "model/assemble.h"
#include "model/listing.h"
#include "model/stream.h"
#include "model/window.h"
#include "model/wire.h"
#include "must.h"

struct reading {
    struct assembly assembly;
    struct buf told;
    struct buf thought;
    int r;
};

static const struct wire *const wires[] = { &wire_openai, &wire_anthropic, &wire_openai,
                                            &wire_ollama };
static const struct wire *real; /* of plain_event() */

/* No event is compared with the one before. */
static int plain_event(struct assembly *assembly, const char *data, size_t len)
{
    repeat_clear(&assembly->repeat);
    return real->event(assembly, data, len);
}

static void on_text(void *user, const char *bytes, size_t len)
{
    struct reading *reading = user;

    must(len > 0);
    must(buf_add(&reading->told, bytes, len) == 0);
}

static void on_reasoning(void *user, const char *bytes, size_t len)
{
    struct reading *reading = user;

    must(len > 0);
    must(buf_add(&reading->thought, bytes, len) == 0);
}

static void read_stream(struct reading *reading, uint8_t how, const char *bytes, size_t len,
                        size_t piece)
{
    const struct assembly_sink sink = { on_text, on_reasoning, reading };
    struct wire wire = *(real = wires[how & 3]);
    struct stream stream;
    int r = 0;

    if (piece < len)
        wire.event = plain_event;
    *reading = (struct reading){
        .told = BUF_INIT(ASSEMBLY_TEXT_MAX),
        .thought = BUF_INIT(ASSEMBLY_TEXT_MAX),
    };
    assembly_init(&reading->assembly, &sink, how & 2);
    stream_init(&stream, &wire, &reading->assembly);
    for (size_t at = 0; at < len && r == 0; at += piece)
        r = stream_feed(&stream, bytes + at, len - at < piece ? len - at : piece);
    if (r == 0)
        r = stream_end(&stream);
    stream_clear(&stream);
    reading->r = r;
}

static void check_text(const struct buf *text, const struct buf *told)
{
    must(text->len == told->len);
    must(text->len == 0 || memcmp(text->data, told->data, text->len) == 0);
    must(utf8_is_valid(text->data ? text->data : "", text->len));
    must(text->len == 0 || !memchr(text->data, '\0', text->len));
}

static void check_answer(struct reading *reading)
{
    struct assembly *assembly = &reading->assembly;
    struct model_answer answer = { 0 };

    must((reading->r < 0) == (assembly->fault.kind != FAULT_NONE));
    check_text(&assembly->text, &reading->told);
    check_text(&assembly->reasoning, &reading->thought);
    must(assembly->n_calls <= ASSEMBLY_CALLS_MAX);
    must(assembly->usage.input <= MODEL_TOKENS_MAX && assembly->usage.output <= MODEL_TOKENS_MAX);
    must(assembly->usage.cached <= assembly->usage.input);
    if (reading->r < 0)
        return;
    must(assembly->end != ASSEMBLY_OPEN);
    must((assembly->end == ASSEMBLY_TOOLS) <= (assembly->n_calls > 0));
    must(assembly_take(assembly, &answer) == 0);
    for (size_t i = 0; i < answer.n_calls; i++)
        must(answer.calls[i].id && answer.calls[i].name && answer.calls[i].arguments[0]);
    model_answer_clear(&answer);
}

static void check_alike(const struct reading *one, const struct reading *other)
{
    must(one->r == other->r);
    must(one->assembly.fault.kind == other->assembly.fault.kind);
    must(one->assembly.end == other->assembly.end);
    must(one->assembly.n_calls == other->assembly.n_calls);
    must(one->assembly.usage.input == other->assembly.usage.input);
    must(one->told.len == other->told.len && one->thought.len == other->thought.len);
    must(one->told.len == 0 || memcmp(one->told.data, other->told.data, one->told.len) == 0);
}

static void check_other_readings(int status, const char *bytes, size_t len)
{
    struct fault fault;
    struct listing listing = { 0 };

    fault_read_body(&fault, status, bytes, len);
    must(fault.kind != FAULT_NONE);
    for (const char *c = fault.message; *c; c++)
        must((unsigned char)*c >= ' ' && *c != 0x7f);
    if (listing_read(bytes, len, &listing, NULL) == 0)
        must(listing.n <= LISTING_MAX && !listing.names[listing.n]);
    listing_clear(&listing);
    must(window_of_show(bytes, len, 0, 8192) <= WINDOW_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reading whole;
    struct reading torn;

    if (size < 2)
        return 0;
    read_stream(&whole, data[0], (const char *)data + 1, size - 1, size);
    read_stream(&torn, data[0], (const char *)data + 1, size - 1, 1 + (data[0] >> 2));
    check_alike(&whole, &torn);
    check_answer(&whole);
    check_answer(&torn);
    check_other_readings(data[0] * 3, (const char *)data + 1, size - 1);
    assembly_clear(&whole.assembly);
    assembly_clear(&torn.assembly);
    buf_clear(&whole.told);
    buf_clear(&whole.thought);
    buf_clear(&torn.told);
    buf_clear(&torn.thought);
    return 0;
}
