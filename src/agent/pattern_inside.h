/* SPDX-License-Identifier: Apache-2.0 */
/* agent/pattern_inside.h - what reading a pattern and matching it have in common.
 *
 *    text ──► postfix (pattern_parse.c) ──► states ──► one pass over the text (pattern.c)
 */
#pragma once

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gb_err;

#define PATTERN_NODES_MAX  512
#define PATTERN_STATES_MAX (2 * PATTERN_NODES_MAX + 2)
#define PATTERN_SETS_MAX   128

enum pattern_op {
    OP_BYTE,  /* arg: the byte */
    OP_SET,   /* arg: which set */
    OP_EMPTY, /* nothing */
    OP_BEGIN, /* ^ */
    OP_END,   /* $ */
    OP_WORD,  /* \b */
    OP_CAT,   /* the two before, one behind the other */
    OP_OR,
    OP_STAR,
    OP_PLUS,
    OP_OPTION,
    OP_SPLIT, /* a state's only: both ways at once */
    OP_FOUND, /* a state's only: the end */
};

struct pattern_node {
    enum pattern_op op;
    uint32_t arg;
};

struct pattern_set {
    uint8_t bits[32];
};

struct pattern_state {
    enum pattern_op op;
    uint32_t arg;
    uint32_t next;
    uint32_t other; /* of a split */
};

struct pattern {
    struct pattern_set sets[PATTERN_SETS_MAX];
    size_t n_sets;
    struct pattern_state states[PATTERN_STATES_MAX];
    size_t n_states;
    uint32_t first;
};

/* Postfix, repetitions written out: an operator stands behind what it joins. */
struct pattern_postfix {
    struct pattern_node nodes[PATTERN_NODES_MAX];
    size_t n;
};

/* The sets go into the pattern.  -EINVAL: the error says what is wrong with the text. */
int pattern_parse(const char *text, struct pattern *pattern, struct pattern_postfix *ret,
                  struct gb_err *err);

static inline bool pattern_set_has(const struct pattern_set *set, unsigned char c)
{
    return set->bits[c >> 3] >> (c & 7) & 1;
}

/* A letter, a digit, an underscore: what \b tells apart. */
static inline bool pattern_is_word(unsigned char c)
{
    return isalnum(c) || c == '_';
}
