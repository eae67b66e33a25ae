/* SPDX-License-Identifier: Apache-2.0 */
/* model/assemble.h - an answer, put together from the pieces of a stream.
 *
 * Pure: a wire reads events and says here what they hold; pieces go to the sink as they come and
 * are kept.  The pieces are hostile: text, reasoning, the calls and their number are bounded, NULs
 * are dropped, everything is UTF-8 because JSON is.
 *
 * All functions return 0 or a negative errno; the first failure is described in `fault`, and the
 * caller gives the stream up.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "model/fault.h"
#include "model/model.h"
#include "model/repeat.h"

#define ASSEMBLY_TEXT_MAX  (4 << 20) /* of text, of reasoning, of all arguments of calls: bytes */
#define ASSEMBLY_CALLS_MAX 64
#define ASSEMBLY_NAME_MAX  256 /* of ids and names */

/* How the server said that it ended. */
enum assembly_end {
    ASSEMBLY_OPEN, /* it has not said so */
    ASSEMBLY_STOP,
    ASSEMBLY_TOOLS,
    ASSEMBLY_REFUSED,
    ASSEMBLY_CUT, /* at the limit of its length */
};

struct assembly_sink {
    void (*text)(void *user, const char *bytes, size_t len);
    void (*reasoning)(void *user, const char *bytes, size_t len);
    void *user;
};

/* Reasoning that some servers leave in the text: <think>…</think> before anything else. */
enum assembly_think {
    THINK_NEVER,   /* text is text */
    THINK_BEFORE,  /* it may still begin */
    THINK_INSIDE,  /* in it */
    THINK_BETWEEN, /* blank between it and the text */
};

struct assembly_call {
    uint64_t index; /* as the server counts */
    struct buf id;
    struct buf name;
    struct buf arguments;
};

struct assembly {
    struct assembly_sink sink;
    struct buf text;
    struct buf reasoning;
    struct assembly_call *calls; /* of ASSEMBLY_CALLS_MAX */
    size_t n_calls;
    size_t call_bytes;
    enum assembly_end end;
    bool is_done; /* the stream said that it is over */
    struct model_usage usage;
    struct buf model;
    struct fault fault;
    enum assembly_think think;
    char held[16]; /* what may be part of a tag */
    size_t n_held;
    struct repeat repeat; /* the wire's */
};

/* may_think: look for <think>. */
void assembly_init(struct assembly *assembly, const struct assembly_sink *sink, bool may_think);
void assembly_clear(struct assembly *assembly);

#define cleanup_assembly cleanup_with(assembly_clear)

int assembly_text(struct assembly *assembly, const char *bytes, size_t len);
int assembly_reasoning(struct assembly *assembly, const char *bytes, size_t len);

/* A piece of a tool call; has_index false where the server numbers nothing.  Strings may be NULL.
 * A new id under a used index is another call (Ollama). */
struct assembly_piece {
    bool has_index;
    uint64_t index;
    const char *id;
    const char *name;
    const char *arguments;
    size_t arguments_len;
};

int assembly_call(struct assembly *assembly, const struct assembly_piece *piece);

/* The server's word for the end, of any wire; one that nobody knows is a failure. */
int assembly_reason(struct assembly *assembly, const char *reason);

/* Tokens, bounded; output is at least total - input where a total is told. */
void assembly_usage(struct assembly *assembly, uint64_t input, uint64_t cached, uint64_t output,
                    uint64_t total);

/* Fails with a fault of that kind. */
int assembly_fail(struct assembly *assembly, enum fault_kind kind, const char *why);

/* The stream is over: is the answer whole, or cut only at its length? */
int assembly_finish(struct assembly *assembly);

/* Moves everything but the usage into the answer.  -ENOMEM. */
int assembly_take(struct assembly *assembly, struct model_answer *ret);
