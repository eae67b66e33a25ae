/* SPDX-License-Identifier: Apache-2.0 */
/* model/assemble.c - an answer, put together from the pieces of a stream. */
#include "model/assemble.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"

static const char open_tag[] = "<think>";
static const char close_tag[] = "</think>";

void assembly_init(struct assembly *assembly, const struct assembly_sink *sink, bool may_think)
{
    *assembly = (struct assembly){
        .sink = sink ? *sink : (struct assembly_sink){ 0 },
        .text = BUF_INIT(ASSEMBLY_TEXT_MAX),
        .reasoning = BUF_INIT(ASSEMBLY_TEXT_MAX),
        .model = BUF_INIT(ASSEMBLY_NAME_MAX),
        .think = may_think ? THINK_BEFORE : THINK_NEVER,
    };
}

void assembly_clear(struct assembly *assembly)
{
    for (size_t i = 0; i < assembly->n_calls; i++) {
        buf_clear(&assembly->calls[i].id);
        buf_clear(&assembly->calls[i].name);
        buf_clear(&assembly->calls[i].arguments);
    }
    free(assembly->calls);
    buf_clear(&assembly->text);
    buf_clear(&assembly->reasoning);
    buf_clear(&assembly->model);
    repeat_clear(&assembly->repeat);
    *assembly = (struct assembly){ 0 };
}

int assembly_fail(struct assembly *assembly, enum fault_kind kind, const char *why)
{
    if (assembly->fault.kind == FAULT_NONE)
        (void)fault_set(&assembly->fault, kind, "%s", why);
    return -EREMOTEIO;
}

/* An append failed: too much, or no memory. */
static int no_room(struct assembly *assembly, int code)
{
    struct gb_err cause = { 0 };

    if (assembly->fault.kind != FAULT_NONE)
        return code;
    if (code == -ENOMEM)
        (void)gb_fail(&cause, code, GB_BLAME_HOST, "no memory for a model's answer");
    else
        (void)gb_fail(&cause, code, GB_BLAME_PEER, "more than %d bytes", ASSEMBLY_TEXT_MAX);
    return fault_from(&assembly->fault, code == -ENOMEM ? FAULT_ENDED : FAULT_SIZE, &cause);
}

/* ---- text and reasoning --------------------------------------------------------------------- */

static int keep(struct assembly *assembly, struct buf *buf,
                void (*tell)(void *user, const char *bytes, size_t len), const char *bytes,
                size_t len)
{
    while (len > 0) {
        const char *nul = memchr(bytes, '\0', len);
        size_t n = nul ? (size_t)(nul - bytes) : len;
        int r = n > 0 ? buf_add(buf, bytes, n) : 0;

        if (r < 0)
            return no_room(assembly, r);
        if (n > 0 && tell)
            tell(assembly->sink.user, bytes, n);
        n += nul != NULL;
        bytes += n;
        len -= n;
    }
    return 0;
}

static int put_text(struct assembly *assembly, const char *bytes, size_t len)
{
    return keep(assembly, &assembly->text, assembly->sink.text, bytes, len);
}

int assembly_reasoning(struct assembly *assembly, const char *bytes, size_t len)
{
    return keep(assembly, &assembly->reasoning, assembly->sink.reasoning, bytes, len);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* What was held back is of this kind after all. */
static int release(struct assembly *assembly,
                   int (*put)(struct assembly *assembly, const char *bytes, size_t len))
{
    size_t n = assembly->n_held;

    assembly->n_held = 0;
    return put(assembly, assembly->held, n);
}

/* Nothing but blank so far: is this the tag?  Takes one byte. */
static int think_before(struct assembly *assembly, char c)
{
    size_t blank = 0;
    size_t n;

    assembly->held[assembly->n_held++] = c;
    n = assembly->n_held;
    while (blank < n && is_blank(assembly->held[blank]))
        blank++;
    if (n - blank <= strlen(open_tag) && n < sizeof(assembly->held) &&
        memcmp(assembly->held + blank, open_tag, n - blank) == 0) {
        if (n - blank == strlen(open_tag)) {
            assembly->think = THINK_INSIDE;
            assembly->n_held = 0;
        }
        return 0;
    }
    assembly->think = THINK_NEVER;
    return release(assembly, put_text);
}

/* Up to the closing tag, of which a part may be held from the piece before.  How many bytes were
 * used in *ret. */
static int think_inside(struct assembly *assembly, const char *bytes, size_t len, size_t *ret)
{
    size_t start = 0; /* of what is told, when no tag begins here */
    int r = 0;

    for (size_t i = 0; i < len && r == 0; i++) {
        if (bytes[i] == close_tag[assembly->n_held]) {
            if (assembly->n_held == 0) {
                r = assembly_reasoning(assembly, bytes + start, i - start);
                start = i;
            }
            assembly->held[assembly->n_held++] = bytes[i];
            if (assembly->n_held < strlen(close_tag))
                continue;
            assembly->n_held = 0;
            assembly->think = THINK_BETWEEN;
            *ret = i + 1;
            return r;
        }
        if (assembly->n_held > 0) {
            r = release(assembly, assembly_reasoning);
            start = i--; /* this byte may begin the tag itself */
        }
    }
    *ret = len;
    if (r == 0 && assembly->n_held == 0)
        r = assembly_reasoning(assembly, bytes + start, len - start);
    return r;
}

int assembly_text(struct assembly *assembly, const char *bytes, size_t len)
{
    int r = 0;

    while (len > 0 && r == 0) {
        size_t used = 1;

        if (assembly->think == THINK_NEVER)
            return put_text(assembly, bytes, len);
        if (assembly->think == THINK_BEFORE)
            r = think_before(assembly, *bytes);
        else if (assembly->think == THINK_INSIDE)
            r = think_inside(assembly, bytes, len, &used);
        else if (!is_blank(*bytes))
            assembly->think = THINK_NEVER, used = 0;
        bytes += used;
        len -= used;
    }
    return r;
}

/* ---- tool calls ----------------------------------------------------------------------------- */

static struct assembly_call *find_call(struct assembly *assembly,
                                       const struct assembly_piece *piece)
{
    bool has_id = piece->id && piece->id[0];

    if (!piece->has_index) {
        bool is_new = has_id || (piece->name && piece->name[0]);

        return is_new || assembly->n_calls == 0 ? NULL : &assembly->calls[assembly->n_calls - 1];
    }
    for (size_t i = assembly->n_calls; i > 0; i--) {
        struct assembly_call *call = &assembly->calls[i - 1];

        if (call->index == piece->index)
            return has_id && call->id.len > 0 && strcmp(call->id.data, piece->id) != 0 ? NULL
                                                                                       : call;
    }
    return NULL;
}

static struct assembly_call *new_call(struct assembly *assembly, uint64_t index)
{
    struct assembly_call *call;

    if (!assembly->calls)
        assembly->calls = calloc(ASSEMBLY_CALLS_MAX, sizeof(*assembly->calls));
    if (!assembly->calls) {
        (void)no_room(assembly, -ENOMEM);
        return NULL;
    }
    if (assembly->n_calls == ASSEMBLY_CALLS_MAX) {
        (void)assembly_fail(assembly, FAULT_SIZE, "more tool calls than anybody needs");
        return NULL;
    }
    call = &assembly->calls[assembly->n_calls++];
    *call = (struct assembly_call){ .index = index,
                                    .id = BUF_INIT(ASSEMBLY_NAME_MAX),
                                    .name = BUF_INIT(ASSEMBLY_NAME_MAX),
                                    .arguments = BUF_INIT(ASSEMBLY_TEXT_MAX) };
    return call;
}

/* Ids and names come whole, some servers repeat them in every piece. */
static int put_once(struct assembly *assembly, struct buf *buf, const char *text)
{
    int r = text && text[0] && buf->len == 0 ? buf_puts(buf, text) : 0;

    return r < 0 ? no_room(assembly, r) : 0;
}

int assembly_call(struct assembly *assembly, const struct assembly_piece *piece)
{
    struct assembly_call *call = find_call(assembly, piece);
    int r;

    if (!call)
        call = new_call(assembly, piece->has_index ? piece->index : assembly->n_calls);
    if (!call)
        return -EREMOTEIO;
    r = put_once(assembly, &call->id, piece->id);
    if (r == 0)
        r = put_once(assembly, &call->name, piece->name);
    if (r < 0 || piece->arguments_len == 0)
        return r;
    assembly->call_bytes += piece->arguments_len;
    if (assembly->call_bytes > ASSEMBLY_TEXT_MAX)
        return no_room(assembly, -EMSGSIZE);
    return keep(assembly, &call->arguments, NULL, piece->arguments, piece->arguments_len);
}

/* ---- the end -------------------------------------------------------------------------------- */

int assembly_reason(struct assembly *assembly, const char *reason)
{
    static const struct {
        const char *word;
        enum assembly_end end;
    } words[] = {
        { "stop", ASSEMBLY_STOP },
        { "end_turn", ASSEMBLY_STOP },
        { "stop_sequence", ASSEMBLY_STOP },
        { "eos", ASSEMBLY_STOP },
        { "eos_token", ASSEMBLY_STOP },
        { "tool_calls", ASSEMBLY_TOOLS },
        { "function_call", ASSEMBLY_TOOLS },
        { "tool_use", ASSEMBLY_TOOLS },
        { "content_filter", ASSEMBLY_REFUSED },
        { "refusal", ASSEMBLY_REFUSED },
        { "safety", ASSEMBLY_REFUSED },
        { "length", ASSEMBLY_CUT },
        { "max_tokens", ASSEMBLY_CUT },
        { "model_length", ASSEMBLY_CUT },
        { "pause_turn", ASSEMBLY_CUT },
    };

    for (size_t i = 0; i < N_ELEMENTS(words); i++)
        if (strcasecmp(words[i].word, reason) == 0) {
            if (assembly->end != ASSEMBLY_REFUSED)
                assembly->end = words[i].end;
            return 0;
        }
    if (strcmp(reason, "model_context_window_exceeded") == 0)
        return assembly_fail(assembly, FAULT_CONTEXT, "prompt and answer do not fit its context");
    return assembly_fail(assembly, FAULT_SERVER, "it ended for a reason unknown here");
}

static uint64_t bounded(uint64_t tokens)
{
    return tokens < MODEL_TOKENS_MAX ? tokens : MODEL_TOKENS_MAX;
}

void assembly_usage(struct assembly *assembly, uint64_t input, uint64_t cached, uint64_t output,
                    uint64_t total)
{
    struct model_usage *usage = &assembly->usage;

    usage->is_known = true;
    usage->input = bounded(input);
    usage->cached = bounded(cached < input ? cached : input);
    usage->output = bounded(output);
    /* Gemini counts its reasoning in the total only. */
    if (total > input && bounded(total - input) > usage->output)
        usage->output = bounded(total - input);
}

int assembly_finish(struct assembly *assembly)
{
    int r = 0;

    if (assembly->fault.kind != FAULT_NONE)
        return -EREMOTEIO;
    if (assembly->n_held > 0)
        r = release(assembly, assembly->think == THINK_BEFORE ? put_text : assembly_reasoning);
    if (r < 0)
        return r;
    /* A stream that says it is over without a reason is a server that knows none. */
    if (assembly->end == ASSEMBLY_OPEN && assembly->is_done)
        assembly->end = ASSEMBLY_STOP;
    if (assembly->end == ASSEMBLY_OPEN)
        return assembly_fail(assembly, FAULT_LINK, "the answer was cut off");
    if (assembly->end == ASSEMBLY_STOP && assembly->n_calls > 0)
        assembly->end = ASSEMBLY_TOOLS;
    if (assembly->end == ASSEMBLY_TOOLS && assembly->n_calls == 0)
        assembly->end = ASSEMBLY_STOP;
    return 0;
}

static int take_calls(struct assembly *assembly, struct model_answer *ret)
{
    if (assembly->n_calls == 0)
        return 0;
    ret->calls = calloc(assembly->n_calls, sizeof(*ret->calls));
    if (!ret->calls)
        return -ENOMEM;
    ret->n_calls = assembly->n_calls;
    for (size_t i = 0; i < assembly->n_calls; i++) {
        struct assembly_call *from = &assembly->calls[i];
        struct model_call *to = &ret->calls[i];

        if (from->arguments.len == 0)
            (void)buf_puts(&from->arguments, "{}");
        to->id = buf_take(&from->id);
        to->name = buf_take(&from->name);
        to->arguments = buf_take(&from->arguments);
        if (!to->id || !to->name || !to->arguments)
            return -ENOMEM;
    }
    return 0;
}

int assembly_take(struct assembly *assembly, struct model_answer *ret)
{
    static const enum model_finish finishes[] = {
        [ASSEMBLY_OPEN] = MODEL_STOP,   [ASSEMBLY_STOP] = MODEL_STOP,
        [ASSEMBLY_TOOLS] = MODEL_TOOLS, [ASSEMBLY_REFUSED] = MODEL_REFUSED,
        [ASSEMBLY_CUT] = MODEL_STOP,
    };
    bool has_reasoning = assembly->reasoning.len > 0;
    bool has_model = assembly->model.len > 0;

    ret->text = buf_take(&assembly->text);
    ret->reasoning = has_reasoning ? buf_take(&assembly->reasoning) : NULL;
    ret->model = has_model ? buf_take(&assembly->model) : NULL;
    ret->finish = finishes[assembly->end];
    if (!ret->text || (has_reasoning && !ret->reasoning) || (has_model && !ret->model))
        return -ENOMEM;
    return take_calls(assembly, ret);
}

void model_answer_clear(struct model_answer *answer)
{
    for (size_t i = 0; i < answer->n_calls; i++) {
        free(answer->calls[i].id);
        free(answer->calls[i].name);
        free(answer->calls[i].arguments);
    }
    free(answer->calls);
    free(answer->text);
    free(answer->reasoning);
    free(answer->model);
    *answer = (struct model_answer){ 0 };
}
