/* SPDX-License-Identifier: Apache-2.0 */
/* agent/pattern.c - regular expressions in bounded time.
 *
 *    text ──► postfix (pattern_parse.c) ──► states ──► one pass over the text
 *
 * The way of Thompson (1968): a state has at most two ways out, and all states that are possible at
 * a place are kept side by side. */
#include "agent/pattern.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "agent/pattern_inside.h"
#include "base/err.h"

/* ---- postfix to states ---------------------------------------------------------------------- */

/* A piece of the machine: where it begins, and the state whose way out is open. */
struct piece {
    uint32_t first;
    uint32_t last;
};

static uint32_t add_state(struct pattern *pattern, enum pattern_op op, uint32_t arg, uint32_t other)
{
    pattern->states[pattern->n_states] =
        (struct pattern_state){ .op = op, .arg = arg, .other = other };
    return (uint32_t)pattern->n_states++;
}

/* Joins, chooses or repeats the pieces on top of the stack. */
static struct piece combine(struct pattern *pattern, enum pattern_op op, struct piece a,
                            struct piece b)
{
    struct pattern_state *states = pattern->states;
    uint32_t split;
    uint32_t end;

    if (op == OP_CAT) {
        states[a.last].next = b.first;
        return (struct piece){ a.first, b.last };
    }
    end = add_state(pattern, OP_EMPTY, 0, 0);
    split = add_state(pattern, OP_SPLIT, 0, op == OP_OR ? b.first : end);
    states[split].next = a.first;
    states[a.last].next = op == OP_OR || op == OP_OPTION ? end : split;
    if (op == OP_OR)
        states[b.last].next = end;
    return (struct piece){ op == OP_PLUS ? a.first : split, end };
}

/* Every node makes at most two states, so that there is room. */
static void make_states(struct pattern *pattern, const struct pattern_node *nodes, size_t n)
{
    struct piece stack[PATTERN_NODES_MAX] = { 0 };
    size_t height = 0;

    for (size_t i = 0; i < n; i++) {
        enum pattern_op op = nodes[i].op;
        uint32_t state;

        if (op == OP_CAT || op == OP_OR) {
            height--;
            stack[height - 1] = combine(pattern, op, stack[height - 1], stack[height]);
        } else if (op == OP_STAR || op == OP_PLUS || op == OP_OPTION) {
            stack[height - 1] = combine(pattern, op, stack[height - 1], (struct piece){ 0, 0 });
        } else {
            state = add_state(pattern, op, nodes[i].arg, 0);
            stack[height++] = (struct piece){ state, state };
        }
    }
    pattern->first = stack[0].first;
    pattern->states[stack[0].last].next = add_state(pattern, OP_FOUND, 0, 0);
}

int pattern_new(const char *text, struct pattern **ret, struct gb_err *err)
{
    cleanup_free struct pattern_postfix *postfix = calloc(1, sizeof(*postfix));
    cleanup_free struct pattern *pattern = calloc(1, sizeof(*pattern));
    int r;

    if (!postfix || !pattern)
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for a pattern");
    r = pattern_parse(text, pattern, postfix, err);
    if (r < 0)
        return r;
    make_states(pattern, postfix->nodes, postfix->n);
    *ret = take_ptr(pattern);
    return 0;
}

void pattern_free(struct pattern **pattern)
{
    free(*pattern);
    *pattern = NULL;
}

/* ---- matching ------------------------------------------------------------------------------- */

/* States that wait for a byte.  A state is in the set if its mark is the set's place. */
struct front {
    uint32_t states[PATTERN_STATES_MAX];
    size_t n;
};

struct match {
    const struct pattern *pattern;
    const char *text;
    size_t len;
    size_t marks[PATTERN_STATES_MAX]; /* the last place, from 1, at which a state was reached */
    uint32_t stack[PATTERN_STATES_MAX];
    struct front fronts[2];
};

static bool holds(const struct match *match, enum pattern_op op, size_t at)
{
    bool before;
    bool behind;

    if (op == OP_BEGIN)
        return at == 0;
    if (op == OP_END)
        return at == match->len;
    before = at > 0 && pattern_is_word((unsigned char)match->text[at - 1]);
    behind = at < match->len && pattern_is_word((unsigned char)match->text[at]);
    return before != behind;
}

/* Adds a state, and those that it leads to without a byte; true when the end is among them. */
static bool reach(struct match *match, struct front *front, uint32_t first, size_t at)
{
    size_t height = 0;

    match->stack[height++] = first;
    while (height > 0) {
        uint32_t number = match->stack[--height];
        const struct pattern_state *state = &match->pattern->states[number];

        if (match->marks[number] == at + 1)
            continue;
        match->marks[number] = at + 1;
        if (state->op == OP_FOUND)
            return true;
        if (state->op == OP_BYTE || state->op == OP_SET) {
            front->states[front->n++] = number;
            continue;
        }
        if (state->op != OP_EMPTY && state->op != OP_SPLIT && !holds(match, state->op, at))
            continue;
        match->stack[height++] = state->next;
        if (state->op == OP_SPLIT)
            match->stack[height++] = state->other;
    }
    return false;
}

static bool takes(const struct pattern *pattern, const struct pattern_state *state, unsigned char c)
{
    return state->op == OP_BYTE ? state->arg == c : pattern_set_has(&pattern->sets[state->arg], c);
}

static bool run(struct match *match)
{
    const struct pattern *pattern = match->pattern;

    for (size_t at = 0;; at++) {
        const struct front *now = &match->fronts[at % 2];
        struct front *next = &match->fronts[(at + 1) % 2];

        if (reach(match, &match->fronts[at % 2], pattern->first, at))
            return true;
        if (at == match->len)
            return false;
        next->n = 0;
        for (size_t i = 0; i < now->n; i++) {
            const struct pattern_state *state = &pattern->states[now->states[i]];

            if (takes(pattern, state, (unsigned char)match->text[at]) &&
                reach(match, next, state->next, at + 1))
                return true;
        }
    }
}

int pattern_finds(const struct pattern *pattern, const char *text, size_t len)
{
    cleanup_free struct match *match = NULL;

    if (len > PATTERN_TEXT_MAX)
        return -EMSGSIZE;
    match = calloc(1, sizeof(*match));
    if (!match)
        return -ENOMEM;
    match->pattern = pattern;
    match->text = text;
    match->len = len;
    return run(match);
}
