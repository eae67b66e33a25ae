/* SPDX-License-Identifier: Apache-2.0 */
/* engine/refusal.h - what the engine says when it does not do something, as an error.  Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct gb_err;

#define REFUSAL_MAX 300

/* What the body of an error says: {"message": …}, or a line of plain text; "" when neither.  One
 * line without control bytes. */
void refusal_words(const char *body, size_t len, char words[static REFUSAL_MAX]);

/* Any text of the engine's as one line without control bytes. */
void refusal_line(const char *text, size_t len, char line[static REFUSAL_MAX]);

/* The error that a status stands for.  missing_remedy may be NULL. */
int refusal_of_status(int status, const char *words, const char *missing_remedy,
                      struct gb_err *err);

/* The error that arrives in the middle of a stream, whose status was 200. */
int refusal_of_words(const char *words, const char *missing_remedy, struct gb_err *err);

/* "… is too new. Maximum supported API version is 1.41": 41; 0 when it says no such thing. */
unsigned refusal_max_api(const char *words);

/* "1.41": 41; 0 when it is no version 1. */
unsigned refusal_api_of(const char *text);
