/* SPDX-License-Identifier: Apache-2.0 */
/* model/fault.h - what went wrong with a request: one kind, and the server's own words.
 *
 * Servers tell the same fact in many ways: by status, by type, by code, or only in a sentence; in
 * the body of an answer or in the middle of a stream under status 200.  Here they become one kind,
 * which decides whether asking again makes sense and what a person can do.  The words are hostile:
 * they are kept short and without control bytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct json_value;

enum fault_kind {
    FAULT_NONE,
    FAULT_KEY,     /* refused */
    FAULT_MODEL,   /* there is no such model */
    FAULT_ADDRESS, /* there is no such API */
    FAULT_QUOTA,   /* nothing left to spend */
    FAULT_RATE,    /* too many requests */
    FAULT_CONTEXT, /* the prompt is too long */
    FAULT_REQUEST, /* something else about the request is refused */
    FAULT_SERVER,  /* it failed, or is overloaded */
    FAULT_LINK,    /* no connection, or it was cut off */
    FAULT_GARBLED, /* what came is not the protocol */
    FAULT_SIZE,    /* what came is too much */
    FAULT_ENDED,   /* cancelled, deadline, memory: nothing to do with the server */
};

struct fault {
    enum fault_kind kind;
    int status;          /* HTTP's, or what a stream's error stands for; 0: none */
    char word[64];       /* its code or type */
    char param[64];      /* the parameter that it names */
    char message[300];   /* for people */
    struct gb_err cause; /* LINK, SIZE, ENDED: the error as it came */
    bool is_away;        /* LINK: there was no connection at all */
    /* What the server said about another try. */
    bool has_advice; /* x-should-retry */
    bool may_retry;
    bool has_wait;
    uint64_t wait_ms;
};

/* From an error's JSON (NULL: the body was none) and status (0: in a stream). */
void fault_read(struct fault *fault, int status, const struct json_value *json);

/* From a body as it came: JSON, or a text of which the beginning is shown. */
void fault_read_body(struct fault *fault, int status, const char *body, size_t len);

/* A kind with our own words. */
int fault_set(struct fault *fault, enum fault_kind kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* From an error of the layers below: cancelled, out of memory, no connection. */
int fault_from(struct fault *fault, enum fault_kind kind, const struct gb_err *cause);

/* A few words for a progress line: "429 too many requests". */
#define FAULT_BRIEF_MAX 64
const char *fault_brief(const struct fault *fault, char text[static FAULT_BRIEF_MAX]);

/* Who was asked, for the error. */
struct fault_place {
    const char *label;    /* "openai/gpt-6-luna" */
    const char *endpoint; /* URL */
    const char *model;
    const char *key_env; /* what to set; NULL: no key is needed */
    const char *key;     /* is taken out of what the server says; NULL: none was sent */
    const char *remedy;  /* when nobody answers */
    const char *offers;  /* names of models there; NULL: not known */
    unsigned tries;
};

/* The error for people, with what they can do as its remedy; its code. */
int fault_fail(const struct fault *fault, const struct fault_place *place, struct gb_err *err);
