/* SPDX-License-Identifier: Apache-2.0 */
/* model/chat.c - one answer: attempts, and the rests of what was cut at its length.
 *
 * A round is one request that ended well.  Its answer may be cut; then the next round asks for the
 * rest, with what there is as the assistant's own words.  What a round streamed before it failed is
 * void: the consumer is told so by again() and hears the earlier rounds once more.  A consumer that
 * takes text but has no again() cannot forget, so nothing is retried once it has heard something of
 * a round. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "model/assemble.h"
#include "model/fault.h"
#include "model/ops.h"
#include "model/prices.h"
#include "model/retry.h"

#define RESTS_MAX   4
#define BYTES_TOKEN 3 /* at least, of any text that people write */

struct chat {
    struct model *model;
    const struct model_request *request;
    struct model_answer *answer;
    struct buf text;      /* of the rounds so far */
    struct buf reasoning; /* the same */
    unsigned n_rounds;
    unsigned tries; /* of this round */
    uint64_t heard; /* bytes that came in this try */
    bool is_heard;  /* the consumer has got something of this round */
};

/* ---- to the consumer ------------------------------------------------------------------------ */

static void tell_text(void *user, const char *bytes, size_t len)
{
    struct chat *chat = user;

    chat->heard += len;
    if (!chat->request->text)
        return;
    chat->is_heard = true;
    chat->request->text(chat->request->user, bytes, len);
}

static void tell_reasoning(void *user, const char *bytes, size_t len)
{
    struct chat *chat = user;

    chat->heard += len;
    if (!chat->request->reasoning)
        return;
    chat->is_heard = true;
    chat->request->reasoning(chat->request->user, bytes, len);
}

static void tell_again(struct chat *chat, const struct fault *fault, uint64_t wait_ms)
{
    const struct model_request *request = chat->request;
    char brief[FAULT_BRIEF_MAX];
    char why[FAULT_BRIEF_MAX + 40];

    chat->is_heard = false;
    if (!request->again)
        return;
    (void)snprintf(why, sizeof(why), "%s", fault_brief(fault, brief));
    if (wait_ms >= 1000) /* long enough for a person to wonder */
        (void)snprintf(why, sizeof(why), "%s, waiting %" PRIu64 " s", brief,
                       (wait_ms + 999) / 1000);
    request->again(request->user, why, wait_ms);
    if (request->reasoning && chat->reasoning.len > 0)
        request->reasoning(request->user, chat->reasoning.data, chat->reasoning.len);
    if (request->text && chat->text.len > 0)
        request->text(request->user, chat->text.data, chat->text.len);
}

/* ---- attempts ------------------------------------------------------------------------------- */

/* Of a server that does not tell it, or did not come to it.  One that was never reached, or that
 * refused, used nothing; one that was given no more time has read the prompt at least. */
static void guess_usage(const struct chat *chat, bool is_read, struct model_usage *usage)
{
    const struct model_request *request = chat->request;
    uint64_t bytes = chat->n_rounds > 0 ? chat->text.len : 0;

    if (!is_read && chat->heard == 0)
        return;
    for (size_t i = 0; i < request->n_messages; i++)
        bytes += strlen(request->messages[i].text);
    usage->input = bytes / BYTES_TOKEN;
    usage->output = chat->heard / BYTES_TOKEN;
}

/* Each request has its own price: a longer prompt may have another. */
static void add_usage(struct chat *chat, struct model_usage usage)
{
    const struct model *model = chat->model;
    const struct price_place place = { model->provider, model->name, model->endpoint,
                                       model->prices };
    struct model_usage *sum = &chat->answer->usage;

    if (usage.input == 0 && usage.output == 0 && !usage.has_cost)
        return;
    usage.has_cost = price_of(&place, &usage, &usage.cost);
    sum->is_known = sum->is_known && usage.is_known;
    sum->has_cost = sum->has_cost && usage.has_cost;
    sum->input += usage.input;
    sum->output += usage.output;
    sum->cached += usage.cached;
    sum->cost += usage.has_cost ? usage.cost : 0;
}

static int attempt(struct chat *chat, struct assembly *assembly, struct fault *fault)
{
    const struct assembly_sink sink = { tell_text, tell_reasoning, chat };
    const struct model_ask ask = {
        .request = chat->request,
        .partial = chat->n_rounds > 0 ? chat->text.data : NULL,
        .requests = &chat->answer->requests,
    };
    int r;

    chat->heard = 0;
    assembly_init(assembly, &sink, chat->model->may_think);
    r = chat->model->ops->ask(chat->model, &ask, assembly, fault);
    /* What a failed attempt used is paid for all the same. */
    if (!assembly->usage.is_known)
        guess_usage(chat, r == 0 || fault->kind == FAULT_ENDED, &assembly->usage);
    add_usage(chat, assembly->usage);
    chat->tries++;
    return r;
}

static uint32_t chance(void)
{
    uint32_t number = 0;

    /* Without randomness, the longest wait. */
    (void)!getrandom(&number, sizeof(number), GRND_NONBLOCK);
    return number;
}

static int give_up(struct chat *chat, const struct fault *fault, struct gb_err *err)
{
    struct fault_place place = { .label = chat->model->label, .endpoint = chat->model->endpoint };

    chat->model->ops->place(chat->model, fault, &place);
    place.tries = chat->tries;
    return fault_fail(fault, &place, err);
}

/* The deadline comes before the next attempt: what went wrong with the last one is the reason. */
static int out_of_time(struct chat *chat, const struct fault *fault, struct gb_err *err)
{
    (void)give_up(chat, fault, err);
    if (err) {
        err->code = -ETIMEDOUT;
        err->msg[gb_err_len(err)] = '\0'; /* what helps against the fault gives no time */
    }
    return gb_wrap(err, -ETIMEDOUT, "no time left for another try");
}

/* One round, with its retries. */
static int ask_round(struct chat *chat, struct assembly *assembly, struct gb_err *err)
{
    const struct model_request *request = chat->request;

    chat->tries = 0;
    chat->is_heard = false;
    for (;;) {
        struct fault fault = { 0 };
        uint64_t wait_ms = 0;
        int r = attempt(chat, assembly, &fault);

        if (r == 0)
            return 0;
        if (chat->is_heard && !request->again)
            return give_up(chat, &fault, err);
        if (!retry_due(&fault, chat->tries - 1, chance(), &wait_ms))
            return give_up(chat, &fault, err);
        if (clock_after_ms(wait_ms) >= request->deadline_ns)
            return out_of_time(chat, &fault, err);
        assembly_clear(assembly);
        tell_again(chat, &fault, wait_ms);
        r = retry_pause(wait_ms, request->deadline_ns, request->cancel_fd, err);
        if (r < 0)
            return r;
    }
}

/* ---- rounds --------------------------------------------------------------------------------- */

static int too_long(struct chat *chat, const char *what, struct gb_err *err)
{
    return gb_fail(err, -EMSGSIZE, GB_BLAME_PEER, "%s: %s", chat->model->label, what);
}

/* Why the rest of a cut answer cannot be asked for; NULL: it can. */
static const char *no_rest(const struct chat *chat, const struct assembly *assembly)
{
    if (assembly->n_calls > 0)
        return "a tool call was cut at the limit of tokens; allow more";
    if (assembly->text.len == 0 && chat->text.len == 0)
        return "all tokens allowed went into reasoning; allow more, or less effort";
    if (assembly->text.len == 0)
        return "the answer was cut at the limit of tokens, and nothing more came";
    if (chat->n_rounds > RESTS_MAX)
        return "the answer was cut at the limit of tokens, and its rests too; allow more";
    return NULL;
}

static int keep_round(struct chat *chat, struct assembly *assembly, struct gb_err *err)
{
    const char *why;
    int r = 0;

    if (assembly->text.len > 0)
        r = buf_add(&chat->text, assembly->text.data, assembly->text.len);
    if (r == 0 && assembly->reasoning.len > 0)
        r = buf_add(&chat->reasoning, assembly->reasoning.data, assembly->reasoning.len);
    if (r == -EMSGSIZE)
        return too_long(chat, "the answer is too long", err);
    if (r < 0)
        return gb_no_memory(err);
    chat->n_rounds++;
    why = assembly->end == ASSEMBLY_CUT ? no_rest(chat, assembly) : NULL;
    chat->answer->is_cut = why != NULL;
    return why ? too_long(chat, why, err) : 0;
}

/* The last round's assembly has the rest; the texts of all rounds are the chat's. */
static int take_answer(struct chat *chat, struct assembly *assembly, struct gb_err *err)
{
    struct model_answer *answer = chat->answer;
    bool has_reasoning = chat->reasoning.len > 0;
    int r = assembly_take(assembly, answer);

    free(answer->text);
    free(answer->reasoning);
    answer->text = buf_take(&chat->text);
    answer->reasoning = has_reasoning ? buf_take(&chat->reasoning) : NULL;
    if (r < 0 || !answer->text || (has_reasoning && !answer->reasoning))
        return gb_no_memory(err);
    return 0;
}

/* The prompt had room alone: it is the answer so far that leaves none for its rest. */
static int no_room_for_rest(struct chat *chat, struct gb_err *err)
{
    chat->answer->is_cut = true;
    return too_long(chat, "the answer has no end within its context", err);
}

static int run_rounds(struct chat *chat, struct gb_err *err)
{
    for (;;) {
        cleanup_assembly struct assembly assembly = { 0 };
        int r = ask_round(chat, &assembly, err);

        if (r == -E2BIG && chat->n_rounds > 0)
            return no_room_for_rest(chat, err);
        if (r == 0)
            r = keep_round(chat, &assembly, err);
        if (r < 0)
            return r;
        if (assembly.end != ASSEMBLY_CUT)
            return take_answer(chat, &assembly, err);
    }
}

int model_chat(struct model *model, const struct model_request *request, struct model_answer *ret,
               struct gb_err *err)
{
    struct chat chat = {
        .model = model,
        .request = request,
        .answer = ret,
        .text = BUF_INIT(ASSEMBLY_TEXT_MAX),
        .reasoning = BUF_INIT(ASSEMBLY_TEXT_MAX),
    };
    int r;

    ret->usage = (struct model_usage){ .is_known = true, .has_cost = true };
    r = run_rounds(&chat, err);
    buf_clear(&chat.text);
    buf_clear(&chat.reasoning);
    return r;
}
