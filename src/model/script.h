/* SPDX-License-Identifier: Apache-2.0 */
/* model/script.h - the answers of a scripted model, and which of them a request gets.
 *
 * docs/internals/model-script.md describes the text.  Rules are tried in their order; which one
 * fits depends on the request alone, so that a task that is resumed gets the same answers.  The one
 * exception is `nth`, which counts the requests of this script since it was read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct gb_err;
struct model_request;

#define SCRIPT_MAX            (1 << 20) /* bytes */
#define SCRIPT_RULES_MAX      1000
#define SCRIPT_CONDITIONS_MAX 16
#define SCRIPT_CALLS_MAX      8

enum script_where {
    SCRIPT_ANY,    /* some message holds it */
    SCRIPT_NONE,   /* none does */
    SCRIPT_SYSTEM, /* a message of the system does */
    SCRIPT_USER,   /* the last message of the user does */
    SCRIPT_AFTER,  /* the answer so far, which was cut, does */
    SCRIPT_SCHEMA, /* the name of the schema is this */
};

struct script_condition {
    enum script_where where;
    char *text;
};

struct script_call {
    char *name;
    char *arguments;
};

enum script_finish {
    SCRIPT_STOP,
    SCRIPT_CUT,
    SCRIPT_REFUSED,
};

struct script_rule {
    struct script_condition conditions[SCRIPT_CONDITIONS_MAX];
    size_t n_conditions;
    bool has_seed;
    uint64_t seed;
    uint64_t nth; /* 0: always */
    uint64_t hits;
    char *text; /* NULL: none */
    char *reasoning;
    struct script_call calls[SCRIPT_CALLS_MAX];
    size_t n_calls;
    enum script_finish finish;
    uint64_t piece;    /* bytes */
    uint64_t delay_ms; /* before each */
    bool has_usage;
    uint64_t input;
    uint64_t output;
    uint64_t cached;
    uint64_t status; /* 0: no error */
    char *error;
    unsigned line; /* where it begins */
};

struct script {
    struct script_rule *rules;
    size_t n;
};

/* name: for errors, which say the line. */
int script_read(const char *name, const char *text, size_t len, struct script *ret,
                struct gb_err *err);
void script_clear(struct script *script);

/* The rule for a request; partial: what there is of a cut answer, NULL for a fresh question.
 * NULL when no rule fits. */
struct script_rule *script_find(struct script *script, const struct model_request *request,
                                const char *partial);
