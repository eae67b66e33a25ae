/* SPDX-License-Identifier: Apache-2.0 */
/* agent/ask_inside.h - a question while it is asked.  For ask.c and ask_chat.c only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/ask.h"
#include "agent/state.h"
#include "base/buf.h"

struct gb_err;
struct json_writer;

#define ASK_INPUT_MAX     (16 << 20)
#define ASK_OUTPUT_MAX    (64 << 20)
#define ASK_LINE_KEEP     (16 << 10) /* of lines heard as they come that cannot be told apart */
#define ASK_BYTES_TOKEN   3          /* at least, of any text that people write */
#define ASK_SMALL_CONTEXT 40000      /* tokens */

struct asking {
    struct task *task;
    const struct question *question;
    const char *name;   /* with the number of the try */
    const char *schema; /* as this model gets it; NULL */
    uint64_t until_ms;  /* of the task's time: the end of its share; UINT64_MAX: none */
    struct buf system;
    struct buf user;
    struct buf lost;     /* what a call took that failed and is not remembered; empty: nothing */
    struct buf lines[2]; /* of answer and reasoning as they come: told when they are whole */
};

/* Of a prompt for a model that takes in so many tokens: at most 60 % of them; the rest is for its
 * answer. */
uint64_t ask_bytes_of(uint64_t context);

/* Whatever the answer depends on but the model, which a resumed task may change. */
int ask_input(const struct asking *asking, struct buf *ret);

/* The text without the task's secrets; null without a text. */
void ask_put_clean(const struct asking *asking, struct json_writer *w, const char *key,
                   const char *text);

/* The effect (journal.h): user is the asking.  Its output is JSON: an answer; or, under the key
 * timed_out, share_over, endless, refused or failed, why there is none, because something follows
 * from it; and what it took.  What a call took that fails is in asking->lost. */
int ask_chat(void *user, struct buf *ret, struct gb_err *err);
