/* SPDX-License-Identifier: Apache-2.0 */
/* json/value.c - a parsed JSON text, to look around in.
 *
 * A struct json_value is never defined: it is a json_t under another name, so that looking around
 * allocates nothing.  Some of jansson's type names are our kinds' names too; while its header is
 * read they get other ones.  Its macros json_is_object() and the like would then compare our kinds
 * with its types, which the compiler notices. */
#define JSON_NULL   JANSSON_NULL
#define JSON_STRING JANSSON_STRING
#define JSON_ARRAY  JANSSON_ARRAY
#define JSON_OBJECT JANSSON_OBJECT
#include "json/parse.h"
#undef JSON_NULL
#undef JSON_STRING
#undef JSON_ARRAY
#undef JSON_OBJECT

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "json/value.h"

/* Not const, because jansson's iterators want it so; nothing here changes a tree. */
static json_t *tree_of(const struct json_value *value)
{
    return (json_t *)(uintptr_t)value;
}

static const struct json_value *value_of(const json_t *json)
{
    return (const struct json_value *)json;
}

int json_value_parse(const char *text, size_t len, size_t max, struct json_value **ret,
                     struct gb_err *err)
{
    struct parse_rules rules = { max, JSON_ALLOW_NUL, GB_BLAME_PEER };
    json_t *json = NULL;
    int r = parse_text(&rules, text, len, &json, err);

    if (r == 0)
        *ret = (struct json_value *)json;
    return r;
}

void json_value_free(struct json_value **value)
{
    json_decref(tree_of(*value));
    *value = NULL;
}

enum json_kind json_kind(const struct json_value *value)
{
    static const enum json_kind kinds[] = {
        [JANSSON_NULL] = JSON_NULL,   [JSON_TRUE] = JSON_BOOL,
        [JSON_FALSE] = JSON_BOOL,     [JSON_INTEGER] = JSON_NUMBER,
        [JSON_REAL] = JSON_NUMBER,    [JANSSON_STRING] = JSON_STRING,
        [JANSSON_ARRAY] = JSON_ARRAY, [JANSSON_OBJECT] = JSON_OBJECT,
    };

    return value ? kinds[json_typeof(tree_of(value))] : JSON_NONE;
}

/* ---- containers ----------------------------------------------------------------------------- */

const struct json_value *json_get(const struct json_value *object, const char *key)
{
    return value_of(json_object_get(tree_of(object), key));
}

const struct json_value *json_at(const struct json_value *array, size_t i)
{
    return value_of(json_array_get(tree_of(array), i));
}

size_t json_count(const struct json_value *value)
{
    return json_array_size(tree_of(value)) + json_object_size(tree_of(value));
}

const struct json_value *json_member(const struct json_value *object, size_t n,
                                     const char **ret_key)
{
    void *at = json_object_iter(tree_of(object));

    for (; at && n > 0; n--)
        at = json_object_iter_next(tree_of(object), at);
    if (!at)
        return NULL;
    *ret_key = json_object_iter_key(at);
    return value_of(json_object_iter_value(at));
}

/* A step of a path: a key, or the decimal index of an item. */
static const struct json_value *step(const struct json_value *value, const char *name, size_t len)
{
    size_t i = 0;

    if (json_kind(value) == JSON_OBJECT)
        return value_of(json_object_getn(tree_of(value), name, len));
    if (len == 0 || len > 9)
        return NULL;
    for (; len > 0; name++, len--) {
        if (*name < '0' || *name > '9')
            return NULL;
        i = i * 10 + (size_t)(*name - '0');
    }
    return json_at(value, i);
}

const struct json_value *json_path(const struct json_value *value, const char *path)
{
    for (;;) {
        size_t len = strcspn(path, "/");

        value = step(value, path, len);
        if (!value || !path[len])
            return value;
        path += len + 1;
    }
}

/* ---- values --------------------------------------------------------------------------------- */

const char *json_str(const struct json_value *value, size_t *ret_len)
{
    const char *text = json_string_value(tree_of(value));

    if (text && ret_len)
        *ret_len = json_string_length(tree_of(value));
    return text;
}

bool json_u64(const struct json_value *value, uint64_t *ret)
{
    const json_t *json = tree_of(value);

    if (!json_is_integer(json) || json_integer_value(json) < 0)
        return false;
    *ret = (uint64_t)json_integer_value(json);
    return true;
}

bool json_double(const struct json_value *value, double *ret)
{
    const json_t *json = tree_of(value);

    if (!json_is_number(json))
        return false;
    *ret = json_number_value(json);
    return true;
}

bool json_bool(const struct json_value *value, bool *ret)
{
    const json_t *json = tree_of(value);

    if (!json_is_boolean(json))
        return false;
    *ret = json_is_true(json);
    return true;
}

static int add(const char *bytes, size_t len, void *buf)
{
    return buf_add(buf, bytes, len);
}

int json_value_text(const struct json_value *value, struct buf *ret)
{
    if (!value)
        return -EINVAL;
    if (json_dump_callback(tree_of(value), add, ret, JSON_COMPACT | JSON_ENCODE_ANY) < 0)
        return buf_error(ret) < 0 ? buf_error(ret) : -ENOMEM;
    return 0;
}
