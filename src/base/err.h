/* SPDX-License-Identifier: Apache-2.0 */
/* base/err.h - the error that travels up from the layers above base and wire.
 *
 * A gb_err is owned by the caller, starts as `= { 0 }`, holds its text inline and is never freed:
 * a failure path allocates nothing and leaks nothing.  It is set once, where the fact is known, and
 * wrapped only where context is added.  All functions return the code, so that a failure is one
 * line: `return gb_fail_sys(err, "mounting '%s'", dst);`.  err may be NULL.
 */
#pragma once

#include <errno.h>
#include <stddef.h>

/* Who can repair it: decides exit code, HTTP status and whether a retry makes sense. */
enum gb_blame {
    GB_BLAME_NONE,
    GB_BLAME_CALLER, /* bad request */
    GB_BLAME_HOST,   /* this machine lacks or refuses something */
    GB_BLAME_PEER,   /* a box, engine or server misbehaved */
    GB_BLAME_BUG,    /* glovebox itself is wrong */
};

/* What separates the two lines of a text: what is wrong, and what helps. */
#define GB_REMEDY "\nremedy: "

struct gb_err {
    int code; /* 0 or a negative errno value, equal to what was returned */
    enum gb_blame blame;
    char msg[480]; /* outermost context first; perhaps a remedy behind it */
};

/* Sets code (negative errno), blame and text. */
int gb_fail(struct gb_err *err, int code, enum gb_blame blame, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Inline, so that compilers and analyzers know it for a failure. */
static inline int gb_no_memory(struct gb_err *err)
{
    (void)gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory");
    return -ENOMEM;
}

/* As gb_fail() from errno, which is spelt out behind the text; the host is to blame. */
int gb_fail_sys(struct gb_err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Prepends "context: ".  When the whole is too long the context is cut, the cause stays. */
int gb_wrap(struct gb_err *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds a remedy to a text that has none, as far as there is room. */
void gb_add_remedy(struct gb_err *err, const char *remedy);

/* The length of the text without its remedy. */
size_t gb_err_len(const struct gb_err *err);

/* What the text says that helps; else what helps whenever this machine has run out of what the code
 * names; else NULL. */
const char *gb_err_remedy(const struct gb_err *err);
