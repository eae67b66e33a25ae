/* SPDX-License-Identifier: Apache-2.0 */
/* image/dockerfile_form.h - the forms that the text of an instruction may have.  Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct dockerfile_doc;

enum form {
    FORM_PLAIN,
    FORM_JSON,      /* a JSON list of strings, and nothing behind it */
    FORM_AMBIGUOUS, /* builders differ about it */
};

/* The words of a JSON list (NULL at the end, the caller frees all with form_free_words), when it is
 * one.  -ENOMEM, or an enum form. */
int form_json(const char *text, char ***ret_words);

/* The words between blanks.  -ENOMEM, -E2BIG when there are too many. */
int form_words(const char *text, char ***ret_words);
void form_free_words(char **words);

/* The length of the word at text, with the blanks inside its quotes; -EINVAL when a quote is left
 * open. */
int form_word_length(const char *text);

/* The heredocs that a line announces, without their texts, at most max.  The number; -EINVAL when
 * builders might differ about it, -E2BIG, -ENOMEM.  The names are the caller's. */
int form_docs(const char *text, struct dockerfile_doc *docs, size_t max);

/* The length of a blank of Unicode (not ASCII's) at text, or 0. */
size_t form_wide_blank(const char *text, size_t len);
