/* SPDX-License-Identifier: Apache-2.0 */
/* engine/read.c - pieces of the engine's JSON, checked. */
#include "engine/read.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "engine/engine.h"
#include "engine/refusal.h"
#include "json/value.h"

int read_id(const struct json_value *json, char *id, size_t size, struct gb_err *err)
{
    size_t len = 0;
    const char *text = json_str(json, &len);

    if (!text || len == 0 || len >= size)
        return engine_garbled("id", err);
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)text[i]) && !memchr("_.-:", text[i], 4))
            return engine_garbled("id", err);
    memcpy(id, text, len + 1);
    return 0;
}

void read_line(const struct json_value *json, char *line, size_t size)
{
    char whole[REFUSAL_MAX];
    size_t len = 0;
    const char *text = json_str(json, &len);

    refusal_line(text ? text : "", len, whole);
    (void)snprintf(line, size, "%s", whole);
}

bool read_i64(const struct json_value *json, int64_t *ret)
{
    double value = 0;

    if (!json_double(json, &value) || value != floor(value) || fabs(value) > 0x1p53)
        return false;
    *ret = (int64_t)value;
    return true;
}

char *read_text(const struct json_value *json)
{
    const char *text = json_str(json, NULL);

    return strdup(text ? text : "");
}

void read_texts_free(char **texts)
{
    for (char **text = texts; text && *text; text++)
        free(*text);
    free(texts);
}

/* Adds a copy behind the n texts that there are. */
static bool add(char **texts, size_t n, const char *text)
{
    texts[n] = strdup(text);
    return texts[n];
}

char **read_pairs(const struct json_value *json)
{
    size_t count = json_kind(json) == JSON_OBJECT ? json_count(json) : 0;
    char **texts = calloc(2 * (count < READ_MAX ? count : READ_MAX) + 1, sizeof(*texts));
    size_t n = 0;

    for (size_t i = 0; texts && i < count && i < READ_MAX; i++) {
        const char *key = NULL;
        const char *value = json_str(json_member(json, i, &key), NULL);

        if (!value)
            continue;
        if (!add(texts, n, key) || !add(texts, n + 1, value)) {
            read_texts_free(texts);
            return NULL;
        }
        n += 2;
    }
    return texts;
}

/* The texts that `get` finds, as far as it finds any. */
static char **read_each(const struct json_value *json, enum json_kind kind,
                        const char *(*get)(const struct json_value *json, size_t i))
{
    size_t count = json_kind(json) == kind ? json_count(json) : 0;
    char **texts = calloc((count < READ_MAX ? count : READ_MAX) + 1, sizeof(*texts));
    size_t n = 0;

    for (size_t i = 0; texts && i < count && i < READ_MAX; i++) {
        const char *value = get(json, i);

        if (value && !add(texts, n++, value)) {
            read_texts_free(texts);
            return NULL;
        }
    }
    return texts;
}

static const char *text_at(const struct json_value *json, size_t i)
{
    return json_str(json_at(json, i), NULL);
}

static const char *name_at(const struct json_value *json, size_t i)
{
    const char *key = NULL;

    (void)json_member(json, i, &key);
    return key;
}

char **read_texts(const struct json_value *json)
{
    return read_each(json, JSON_ARRAY, text_at);
}

char **read_names(const struct json_value *json)
{
    return read_each(json, JSON_OBJECT, name_at);
}

int read_list(const struct json_value *json, const struct read_kind *kind, void **ret,
              size_t *ret_n, struct gb_err *err)
{
    size_t n = json_count(json);
    char *items;
    int r = 0;

    *ret_n = 0;
    *ret = NULL;
    if (json_kind(json) != JSON_ARRAY)
        return gb_fail(err, -EBADMSG, GB_BLAME_PEER, "the engine's answer has no list of %s",
                       kind->what);
    if (n > kind->max)
        return gb_fail(err, -EMSGSIZE, GB_BLAME_PEER, "the engine has %zu such %s", n, kind->what);
    *ret = items = calloc(n + 1, kind->size);
    if (!items)
        return gb_no_memory(err);
    for (; r == 0 && *ret_n < n; (*ret_n)++)
        r = kind->read(json_at(json, *ret_n), items + *ret_n * kind->size, err);
    return r;
}
