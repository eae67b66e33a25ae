/* SPDX-License-Identifier: Apache-2.0 */
/* tool/schema.c - what a tool takes, as JSON Schema. */
#include "tool/schema.h"

#include "json/writer.h"
#include "tool/tool.h"

static void put_type(struct json_writer *w, const struct bind_field *field)
{
    static const char *const types[] = {
        [BIND_STR] = "string",    [BIND_U64] = "integer",  [BIND_I64] = "integer",
        [BIND_DOUBLE] = "number", [BIND_BOOL] = "boolean", [BIND_STRS] = "array",
        [BIND_PAIRS] = "object",
    };

    json_put_str(w, "type", types[field->type]);
    if (field->type == BIND_STRS || field->type == BIND_PAIRS) {
        json_object_begin(w, field->type == BIND_STRS ? "items" : "additionalProperties");
        json_put_str(w, "type", "string");
        json_object_end(w);
    }
    if (field->min != 0 || field->max != 0) {
        json_put_i64(w, "minimum", field->min);
        json_put_i64(w, "maximum", field->max);
    }
}

static void put_field(struct json_writer *w, const struct bind_field *field)
{
    json_object_begin(w, field->name);
    put_type(w, field);
    json_put_str(w, "description", field->help);
    json_object_end(w);
}

void schema_put(struct json_writer *w, const char *key, const struct tool *tool)
{
    json_object_begin(w, key);
    json_put_str(w, "type", "object");
    json_object_begin(w, "properties");
    for (const struct bind_field *field = tool->bind->fields; field->name; field++)
        put_field(w, field);
    json_object_end(w);
    json_array_begin(w, "required");
    for (const struct tool_need *need = tool->needs; need && need->key; need++)
        json_put_str(w, NULL, need->key);
    json_array_end(w);
    json_object_end(w);
}
