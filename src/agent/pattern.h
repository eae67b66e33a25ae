/* SPDX-License-Identifier: Apache-2.0 */
/* agent/pattern.h - regular expressions whose time is bounded by their size times the text's.
 *
 * Expected output may be a pattern that a model wrote, and is compared with what a program printed:
 * both are hostile, and regexec(3) of a short pattern over 64 KiB can take minutes.  So this one
 * goes through the text once with the set of all states it may be in.
 *
 * What models write: literals, ., [a-z], [^…], [:digit:], \d \w \s \D \W \S \b \n \t \r, ( ), (?:
 * ),
 * |, * + ? {m,n} (a ? behind them changes nothing: whether it matches is all that is asked), ^ and
 * $ for the ends of the whole text.  As in Python, . is any character but a newline, and a brace
 * that is no repetition is itself.  Back-references and looking ahead are refused.  Characters are
 * UTF-8, those in brackets ASCII.
 */
#pragma once

#include <stddef.h>

#include "base/cleanup.h"

struct gb_err;
struct pattern;

#define PATTERN_MAX      1024        /* bytes */
#define PATTERN_TEXT_MAX (128 << 10) /* that it is matched against */

/* -EINVAL: the error says what is wrong with it, for the model. */
int pattern_new(const char *text, struct pattern **ret, struct gb_err *err);
void pattern_free(struct pattern **pattern);

#define cleanup_pattern cleanup_with(pattern_free)

/* Is it found anywhere in the text?  1 or 0; -EMSGSIZE for a longer text, -ENOMEM. */
int pattern_finds(const struct pattern *pattern, const char *text, size_t len);
