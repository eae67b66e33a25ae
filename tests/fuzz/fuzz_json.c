/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz/fuzz_json.c - any bytes as JSON text, and any bytes as a string in JSON.
 *
 * What binds is written again and binds to the same; what fails leaves nothing behind.  What the
 * writer makes of any bytes is valid UTF-8, free of control bytes, and JSON.  A value's text is
 * JSON that has the same text. */
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "json/bind.h"
#include "json/utf8.h"
#include "json/value.h"
#include "json/writer.h"
#include "must.h"

struct request {
    char *name;
    uint64_t count;
    int64_t offset;
    double ratio;
    bool is_on;
    char **items;
    char **pairs;
    char *any;
    char **all;
};

#define AT(field) offsetof(struct request, field)
static const struct bind_field fields[] = {
    { "s", BIND_STR, AT(name), 0, 0, 0 },    { "u", BIND_U64, AT(count), 0, 1, 600 },
    { "i", BIND_I64, AT(offset), 0, 0, 0 },  { "d", BIND_DOUBLE, AT(ratio), 0, -5, 10 },
    { "b", BIND_BOOL, AT(is_on), 0, 0, 0 },  { "l", BIND_STRS, AT(items), 0, 0, 0 },
    { "p", BIND_PAIRS, AT(pairs), 0, 0, 0 }, { "a", BIND_JSON, AT(any), 0, 0, 0 },
    { "j", BIND_JSONS, AT(all), 0, 0, 0 },   { 0 },
};
static const struct bind bind = { fields, 1 << 20, BIND_IGNORE_UNKNOWN };

static void check_utf8(const char *text)
{
    must(!text || utf8_is_valid(text, strlen(text)));
}

static void write_strs(struct json_writer *w, const char *key, char **strs)
{
    json_array_begin(w, key);
    for (; strs && *strs; strs++)
        json_put_str(w, NULL, *strs);
    json_array_end(w);
}

static void check_again(const struct request *request)
{
    cleanup_buf struct buf text = BUF_INIT(16 << 20);
    struct request again = { 0 };
    struct json_writer w;

    json_writer_init(&w, &text, request->is_on);
    json_object_begin(&w, NULL);
    json_put_str(&w, "s", request->name);
    json_put_i64(&w, "i", request->offset);
    write_strs(&w, "l", request->items);
    json_object_end(&w);
    must(json_writer_end(&w) == 0);
    must(bind_text(&bind, text.data, text.len, &again, NULL) == 0);
    must(!request->name == !again.name);
    must(!request->name || strcmp(request->name, again.name) == 0);
    must(request->offset == again.offset);
    for (size_t i = 0; request->items && request->items[i]; i++)
        must(again.items[i] && strcmp(request->items[i], again.items[i]) == 0);
    bind_clear(&bind, &again);
}

static void check_binding(const char *text, size_t len)
{
    struct request request = { 0 };
    struct gb_err err = { 0 };
    int r = bind_text(&bind, text, len, &request, &err);

    if (r < 0) {
        must(err.code == r && err.msg[0]);
        for (const char *c = err.msg; *c; c++)
            must((unsigned char)*c >= ' ' && *c != 0x7f);
        must(!request.name && !request.items && !request.pairs && !request.any && !request.all);
        return;
    }
    must(request.count <= 600);
    must(request.ratio >= -5 && request.ratio <= 10);
    check_utf8(request.name);
    check_utf8(request.any);
    check_again(&request);
    bind_clear(&bind, &request);
}

static void check_writing(const char *bytes, size_t len)
{
    cleanup_buf struct buf text = BUF_INIT(16 << 20);
    struct request request = { 0 };
    struct json_writer w;

    json_writer_init(&w, &text, false);
    json_object_begin(&w, NULL);
    json_put_bytes(&w, "s", bytes, len);
    json_put_base64(&w, "a", bytes, len);
    json_object_end(&w);
    must(json_writer_end(&w) == 0);
    must(utf8_is_valid(text.data, text.len));
    for (size_t i = 0; i < text.len; i++)
        must((unsigned char)text.data[i] >= ' ' && text.data[i] != 0x7f);
    if (!memchr(bytes, '\0', len))
        must(bind_text(&bind, text.data, text.len, &request, NULL) == 0);
    bind_clear(&bind, &request);
}

/* Every member and item, told in two ways. */
static void check_inside(const struct json_value *value)
{
    const char *key = NULL;

    for (size_t i = 0; i < json_count(value) && i < 100; i++) {
        const struct json_value *member = json_member(value, i, &key);

        must(!member == (json_kind(value) == JSON_ARRAY));
        must(!member || json_get(value, key) == member);
        must(member || json_kind(json_at(value, i)) != JSON_NONE);
    }
}

static void check_value(const char *text, size_t len)
{
    cleanup_json struct json_value *value = NULL;
    cleanup_json struct json_value *again = NULL;
    cleanup_buf struct buf first = BUF_INIT(16 << 20);
    cleanup_buf struct buf second = BUF_INIT(16 << 20);
    struct gb_err err = { 0 };

    if (json_value_parse(text, len, 1 << 20, &value, &err) < 0) {
        must(!value && err.code < 0 && err.msg[0]);
        return;
    }
    check_inside(value);
    must(json_value_text(value, &first) == 0);
    must(utf8_is_valid(first.data, first.len) && !memchr(first.data, '\0', first.len));
    must(json_value_parse(first.data, first.len, 16 << 20, &again, NULL) == 0);
    must(json_value_text(again, &second) == 0);
    must(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    check_binding((const char *)data, size);
    check_value((const char *)data, size);
    check_writing((const char *)data, size);
    return 0;
}
