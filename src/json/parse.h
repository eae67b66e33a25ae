/* SPDX-License-Identifier: Apache-2.0 */
/* json/parse.h - hostile text to jansson's tree, for the files of json/ alone. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "base/err.h"

struct parse_rules {
    size_t text_max;     /* bytes */
    size_t flags;        /* jansson's, besides those that are always set */
    enum gb_blame blame; /* whose text it is */
};

/* The caller owes a json_decref().  Refused: too long, nested deeper than BIND_DEPTH_MAX, a key
 * given twice, and what is not JSON. */
int parse_text(const struct parse_rules *rules, const char *text, size_t len, json_t **ret,
               struct gb_err *err);

/* What a stranger wrote, fit for an error text: short, and without control bytes. */
#define PARSE_SHOWN_MAX 120
const char *parse_shown(const char *said, char text[static PARSE_SHOWN_MAX]);
