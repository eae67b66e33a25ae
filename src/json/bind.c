/* SPDX-License-Identifier: Apache-2.0 */
/* json/bind.c - tables that bind JSON to structs. */
#include "json/bind.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "json/parse.h"

static void cleanup_json(json_t **json)
{
    json_decref(*json);
}

static void strs_free(char **strs)
{
    for (char **at = strs; at && *at; at++)
        free(*at);
    free(strs);
}

/* ---- tree to fields ------------------------------------------------------------------------- */

/* Copies one value to the field at `at`; the kinds of values are rows of binders[] below.  What a
 * failing one leaves there, bind_text() frees. */
typedef int bind_fn(const struct bind_field *field, json_t *json, void *at, struct gb_err *err);

static int wrong_type(const struct bind_field *field, const char *wanted, struct gb_err *err)
{
    return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "key '%s' must be %s", field->name, wanted);
}

static int put_str(char **at, char *copy, struct gb_err *err)
{
    if (!copy)
        return gb_no_memory(err);
    *at = copy;
    return 0;
}

static int bind_str(const struct bind_field *field, json_t *json, void *at, struct gb_err *err)
{
    if (!json_is_string(json))
        return wrong_type(field, "a string", err);
    return put_str(at, strdup(json_string_value(json)), err);
}

static int bind_bool(const struct bind_field *field, json_t *json, void *at, struct gb_err *err)
{
    if (!json_is_boolean(json))
        return wrong_type(field, "true or false", err);
    *(bool *)at = json_is_true(json);
    return 0;
}

static bool has_bounds(const struct bind_field *field)
{
    return field->min != 0 || field->max != 0;
}

static int out_of_range(const struct bind_field *field, int64_t min, struct gb_err *err)
{
    if (!has_bounds(field))
        return gb_fail(err, -ERANGE, GB_BLAME_CALLER, "key '%s' must be at least %" PRId64,
                       field->name, min);
    return gb_fail(err, -ERANGE, GB_BLAME_CALLER, "key '%s' must be from %" PRId64 " to %" PRId64,
                   field->name, min, field->max);
}

static int bind_i64(const struct bind_field *field, json_t *json, void *at, struct gb_err *err)
{
    int64_t value = json_integer_value(json);

    if (!json_is_integer(json))
        return wrong_type(field, "a whole number", err);
    if (has_bounds(field) && (value < field->min || value > field->max))
        return out_of_range(field, field->min, err);
    *(int64_t *)at = value;
    return 0;
}

static int bind_u64(const struct bind_field *field, json_t *json, void *at, struct gb_err *err)
{
    if (json_is_integer(json) && json_integer_value(json) < 0)
        return out_of_range(field, field->min > 0 ? field->min : 0, err);
    return bind_i64(field, json, at, err);
}

static int bind_double(const struct bind_field *field, json_t *json, void *at, struct gb_err *err)
{
    double value = json_number_value(json);

    if (!json_is_number(json))
        return wrong_type(field, "a number", err);
    if (has_bounds(field) && (value < (double)field->min || value > (double)field->max))
        return out_of_range(field, field->min, err);
    *(double *)at = value;
    return 0;
}

static char *text_of(const json_t *json)
{
    return json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);
}

static int bind_json(const struct bind_field *field, json_t *json, void *at, struct gb_err *err)
{
    (void)field;
    return put_str(at, text_of(json), err);
}

static char *item_text(const struct bind_field *field, const json_t *item)
{
    return field->type == BIND_JSONS ? text_of(item) : strdup(json_string_value(item));
}

static int bind_array(const struct bind_field *field, json_t *json, void *at, struct gb_err *err)
{
    const char *wanted = field->type == BIND_STRS ? "an array of strings" : "an array";
    char **strs;

    if (!json_is_array(json))
        return wrong_type(field, wanted, err);
    strs = calloc(json_array_size(json) + 1, sizeof(*strs));
    if (!strs)
        return gb_no_memory(err);
    *(char ***)at = strs;
    for (size_t i = 0; i < json_array_size(json); i++) {
        const json_t *item = json_array_get(json, i);

        if (field->type == BIND_STRS && !json_is_string(item))
            return wrong_type(field, wanted, err);
        strs[i] = item_text(field, item);
        if (!strs[i])
            return gb_no_memory(err);
    }
    return 0;
}

static int bind_pairs(const struct bind_field *field, json_t *json, void *at, struct gb_err *err)
{
    const char *key;
    json_t *value;
    char **strs;

    if (!json_is_object(json))
        return wrong_type(field, "an object of strings", err);
    strs = calloc(2 * json_object_size(json) + 1, sizeof(*strs));
    if (!strs)
        return gb_no_memory(err);
    *(char ***)at = strs;
    json_object_foreach(json, key, value)
    {
        if (!json_is_string(value))
            return wrong_type(field, "an object of strings", err);
        *strs++ = strdup(key);
        if (!strs[-1] || !(*strs++ = strdup(json_string_value(value))))
            return gb_no_memory(err);
    }
    return 0;
}

static bind_fn *const binders[] = {
    [BIND_STR] = bind_str,       [BIND_U64] = bind_u64,   [BIND_I64] = bind_i64,
    [BIND_DOUBLE] = bind_double, [BIND_BOOL] = bind_bool, [BIND_STRS] = bind_array,
    [BIND_PAIRS] = bind_pairs,   [BIND_JSON] = bind_json, [BIND_JSONS] = bind_array,
};

static int check_keys(const struct bind *bind, json_t *json, struct gb_err *err)
{
    char text[PARSE_SHOWN_MAX];
    const char *key;
    json_t *value;

    json_object_foreach(json, key, value)
    {
        const struct bind_field *field = bind->fields;

        while (field->name && strcmp(field->name, key) != 0)
            field++;
        if (!field->name)
            return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "unknown key '%s'",
                           parse_shown(key, text));
    }
    return 0;
}

static int bind_fields(const struct bind *bind, json_t *json, void *ret, struct gb_err *err)
{
    for (const struct bind_field *field = bind->fields; field->name; field++) {
        json_t *value = json_object_get(json, field->name);
        int r = 0;

        if (value && !json_is_null(value))
            r = binders[field->type](field, value, (char *)ret + field->offset, err);
        else if (field->flags & BIND_REQUIRED)
            r = gb_fail(err, -EINVAL, GB_BLAME_CALLER, "key '%s' is required", field->name);
        if (r < 0)
            return r;
    }
    return 0;
}

int bind_text(const struct bind *bind, const char *text, size_t len, void *ret, struct gb_err *err)
{
    struct parse_rules rules = { .text_max = bind->text_max, .blame = GB_BLAME_CALLER };
    cleanup_with(cleanup_json) json_t *json = NULL;
    int r = parse_text(&rules, text, len, &json, err);

    if (r < 0)
        return r;
    if (!json_is_object(json))
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "the JSON must be an object");
    if (!(bind->flags & BIND_IGNORE_UNKNOWN))
        r = check_keys(bind, json, err);
    if (r == 0)
        r = bind_fields(bind, json, ret, err);
    if (r < 0)
        bind_clear(bind, ret);
    return r;
}

void bind_clear(const struct bind *bind, void *bound)
{
    for (const struct bind_field *field = bind->fields; field->name; field++) {
        void *at = (char *)bound + field->offset;

        if (field->type == BIND_STR || field->type == BIND_JSON) {
            free(*(char **)at);
            *(char **)at = NULL;
        } else if (field->type == BIND_STRS || field->type == BIND_PAIRS ||
                   field->type == BIND_JSONS) {
            strs_free(*(char ***)at);
            *(char ***)at = NULL;
        }
    }
}
