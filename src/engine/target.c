/* SPDX-License-Identifier: Apache-2.0 */
/* engine/target.c - the path and query of a request to the engine. */
#include "engine/target.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "json/writer.h"

#define TARGET_MAX     (256 << 10)
#define NAME_BYTES_MAX 512

static bool is_plain(const char *name, const char *also)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr(also, name[i]))
            return false;
    return len > 0 && len < NAME_BYTES_MAX;
}

/* No part of it is empty, "." or "..": the path stays what it is. */
static bool has_good_parts(const char *name)
{
    for (const char *part = name;; part++) {
        size_t len = strcspn(part, "/");

        if (len == 0 || strncmp(part, ".", len) == 0 || strncmp(part, "..", len) == 0)
            return false;
        part += len;
        if (!*part)
            return true;
    }
}

/* Failures stay in the buf. */
static int put(struct target *target, const char *before, const char *name, const char *after)
{
    (void)buf_puts(&target->text, before);
    (void)buf_puts(&target->text, name);
    (void)buf_puts(&target->text, after);
    return 0;
}

static int bad_name(const char *kind, struct gb_err *err)
{
    return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "that is no name of %s", kind);
}

int target_of_id(struct target *target, const char *before, const char *id, const char *after,
                 struct gb_err *err)
{
    *target = (struct target){ .text = BUF_INIT(TARGET_MAX) };
    if (id && (!is_plain(id, "_.-") || !has_good_parts(id)))
        return bad_name("a container or volume", err);
    return id ? put(target, before, id, after) : put(target, before, "", "");
}

int target_of_image(struct target *target, const char *before, const char *name, const char *after,
                    struct gb_err *err)
{
    *target = (struct target){ .text = BUF_INIT(TARGET_MAX) };
    if (!is_plain(name, "_.-/:@+") || !has_good_parts(name))
        return bad_name("an image", err);
    return put(target, before, name, after);
}

static void put_encoded(struct buf *text, const char *value, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)value[i];

        if (isalnum(c) || strchr("-._~", c ? c : ' '))
            (void)buf_putc(text, (char)c);
        else
            (void)buf_printf(text, "%%%02X", c);
    }
}

static void add(struct target *target, const char *key, const char *value, size_t len)
{
    (void)buf_printf(&target->text, "%c%s=", target->has_query ? '&' : '?', key);
    put_encoded(&target->text, value, len);
    target->has_query = true;
}

void target_add(struct target *target, const char *key, const char *value)
{
    if (value)
        add(target, key, value, strlen(value));
}

void target_add_u64(struct target *target, const char *key, uint64_t value)
{
    char text[24];

    (void)snprintf(text, sizeof(text), "%" PRIu64, value);
    target_add(target, key, text);
}

void target_add_flag(struct target *target, const char *key, bool value)
{
    target_add(target, key, value ? "1" : NULL);
}

void target_add_filters(struct target *target, const struct target_filter *filters, size_t n)
{
    cleanup_buf struct buf json = BUF_INIT(TARGET_MAX);
    struct json_writer w;
    bool has_any = false;

    json_writer_init(&w, &json, false);
    json_object_begin(&w, NULL);
    for (size_t i = 0; i < n; i++) {
        if (!filters[i].values || !filters[i].values[0])
            continue;
        has_any = true;
        json_array_begin(&w, filters[i].name);
        for (const char *const *value = filters[i].values; *value; value++)
            json_put_str(&w, NULL, *value);
        json_array_end(&w);
    }
    json_object_end(&w);
    if (json_writer_end(&w) < 0)
        target->text.error = buf_error(&json);
    else if (has_any)
        add(target, "filters", json.data, json.len);
}

void target_clear(struct target *target)
{
    buf_clear(&target->text);
}
