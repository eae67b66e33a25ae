/* SPDX-License-Identifier: Apache-2.0 */
/* wire/msg.c - one encoder and one decoder for all rows of msg.def.
 *
 * On the wire a STR is u32 length, the bytes, a NUL; STRS is u32 count, u32 size and that many
 * bytes of NUL-ended strings; BLOB is whatever is left.
 */
#include "wire/msg.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "wire/bytes.h"

enum field_type {
    FIELD_U32,
    FIELD_U64,
    FIELD_STR,
    FIELD_STRS,
    FIELD_BLOB,
};

struct field {
    const char *name;
    enum field_type type;
    size_t offset;
    uint32_t most; /* items of a list */
};

struct row {
    const char *name;
    uint8_t type;
    uint8_t direction;
    size_t size;
    const struct field *fields; /* ends with a NULL name */
};

/* The table twice: the fields of each message, then the messages. */
/* clang-format off */
#define MSG(NAME, name, number, direction) static const struct field name##_fields[] = {
#define U32(msg, field)        { #field, FIELD_U32, offsetof(struct msg_##msg, field), 0 },
#define U64(msg, field)        { #field, FIELD_U64, offsetof(struct msg_##msg, field), 0 },
#define STR(msg, field)        { #field, FIELD_STR, offsetof(struct msg_##msg, field), 0 },
#define STRS(msg, field, most) { #field, FIELD_STRS, offsetof(struct msg_##msg, field), most },
#define BLOB(msg, field)       { #field, FIELD_BLOB, offsetof(struct msg_##msg, field), 0 },
#define END(name) \
    { NULL, FIELD_U32, 0, 0 } }; \
    _Static_assert(sizeof(struct msg_##name) <= MSG_STRUCT_MAX, "raise MSG_STRUCT_MAX");
/* clang-format on */
#include "wire/msg.def"
#undef MSG
#undef U32
#undef U64
#undef STR
#undef STRS
#undef BLOB
#undef END

static const struct row rows[] = {
#define MSG(NAME, name, number, direction) \
    { #NAME, number, direction, sizeof(struct msg_##name), name##_fields },
#define U32(msg, field)
#define U64(msg, field)
#define STR(msg, field)
#define STRS(msg, field, most)
#define BLOB(msg, field)
#define END(name)
#include "wire/msg.def"
#undef MSG
#undef U32
#undef U64
#undef STR
#undef STRS
#undef BLOB
#undef END
};

static const struct row *row_of(uint8_t type)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].type == type)
            return &rows[i];
    return NULL;
}

unsigned msg_direction(uint8_t type)
{
    const struct row *row = row_of(type);

    return row ? row->direction : 0;
}

/* ---- encoding ------------------------------------------------------------------------------- */

struct writer {
    uint8_t *at;
    size_t room;
};

static int put(struct writer *w, const void *bytes, size_t len)
{
    if (len > w->room)
        return -EMSGSIZE;
    if (len > 0)
        memcpy(w->at, bytes, len);
    w->at += len;
    w->room -= len;
    return 0;
}

static int put_u32(struct writer *w, uint32_t v)
{
    uint8_t bytes[4];

    wire_put_u32(bytes, v);
    return put(w, bytes, sizeof(bytes));
}

static int put_u64(struct writer *w, uint64_t v)
{
    uint8_t bytes[8];

    wire_put_u64(bytes, v);
    return put(w, bytes, sizeof(bytes));
}

static int put_str(struct writer *w, const char *str)
{
    size_t len = str ? strlen(str) : 0;
    int r;

    if (len > WIRE_PAYLOAD_MAX)
        return -EMSGSIZE;
    r = put_u32(w, (uint32_t)len);
    if (r < 0)
        return r;
    return put(w, str ? str : "", len + 1);
}

static int put_strs(struct writer *w, const struct wire_strs *strs, uint32_t most)
{
    int r;

    if (strs->count > most)
        return -EMSGSIZE;
    r = put_u32(w, strs->count);
    if (r == 0)
        r = put_u32(w, strs->size);
    if (r == 0)
        r = put(w, strs->packed, strs->size);
    return r;
}

static int put_field(struct writer *w, const struct field *field, const char *base)
{
    const void *at = base + field->offset;
    struct wire_blob blob;
    const char *str;
    uint64_t u64;
    uint32_t u32;

    switch (field->type) {
    case FIELD_U32:
        memcpy(&u32, at, sizeof(u32));
        return put_u32(w, u32);
    case FIELD_U64:
        memcpy(&u64, at, sizeof(u64));
        return put_u64(w, u64);
    case FIELD_STR:
        memcpy(&str, at, sizeof(str));
        return put_str(w, str);
    case FIELD_STRS:
        return put_strs(w, at, field->most);
    case FIELD_BLOB:
        memcpy(&blob, at, sizeof(blob));
        return put(w, blob.bytes, blob.size);
    }
    return -EINVAL;
}

int msg_encode(uint8_t type, uint32_t channel, uint8_t flags, const void *msg, uint8_t *bytes,
               size_t size)
{
    const struct row *row = row_of(type);
    struct wire_head head = { .type = type, .flags = flags, .channel = channel };
    struct writer w;

    if (!row)
        return -EINVAL;
    if (size < WIRE_HEAD_SIZE)
        return -EMSGSIZE;
    if (size > WIRE_FRAME_MAX)
        size = WIRE_FRAME_MAX;
    w = (struct writer){ .at = bytes + WIRE_HEAD_SIZE, .room = size - WIRE_HEAD_SIZE };
    for (const struct field *field = row->fields; field->name; field++) {
        int r = put_field(&w, field, msg);

        if (r < 0)
            return r;
    }
    head.size = (uint32_t)(w.at - bytes) - WIRE_HEAD_SIZE;
    wire_head_put(bytes, &head);
    return (int)(head.size + WIRE_HEAD_SIZE);
}

/* ---- decoding ------------------------------------------------------------------------------- */

struct cursor {
    const uint8_t *at;
    size_t left;
};

static const uint8_t *take(struct cursor *c, size_t len)
{
    const uint8_t *at = c->at;

    if (len > c->left)
        return NULL;
    c->at += len;
    c->left -= len;
    return at;
}

static int take_u32(struct cursor *c, uint32_t *ret)
{
    const uint8_t *at = take(c, 4);

    if (!at)
        return -EPROTO;
    *ret = wire_get_u32(at);
    return 0;
}

static int take_u64(struct cursor *c, uint64_t *ret)
{
    const uint8_t *at = take(c, 8);

    if (!at)
        return -EPROTO;
    *ret = wire_get_u64(at);
    return 0;
}

static int take_str(struct cursor *c, const char **ret)
{
    const uint8_t *at;
    uint32_t len;

    if (take_u32(c, &len) < 0 || len >= WIRE_PAYLOAD_MAX)
        return -EPROTO;
    at = take(c, (size_t)len + 1);
    if (!at || at[len] != '\0' || memchr(at, '\0', len))
        return -EPROTO;
    *ret = (const char *)at;
    return 0;
}

static int take_strs(struct cursor *c, uint32_t most, struct wire_strs *ret)
{
    struct wire_strs strs;
    uint32_t ends = 0;
    const uint8_t *at;

    if (take_u32(c, &strs.count) < 0 || take_u32(c, &strs.size) < 0 || strs.count > most)
        return -EPROTO;
    at = take(c, strs.size);
    if (!at || (strs.size > 0 && at[strs.size - 1] != '\0'))
        return -EPROTO;
    for (uint32_t i = 0; i < strs.size; i++)
        ends += at[i] == '\0';
    if (ends != strs.count)
        return -EPROTO;
    strs.packed = (const char *)at;
    *ret = strs;
    return 0;
}

static int take_field(struct cursor *c, const struct field *field, char *base)
{
    void *at = base + field->offset;
    struct wire_strs strs;
    struct wire_blob blob;
    const char *str;
    uint64_t u64;
    uint32_t u32;
    int r = 0;

    switch (field->type) {
    case FIELD_U32:
        r = take_u32(c, &u32);
        if (r == 0)
            memcpy(at, &u32, sizeof(u32));
        break;
    case FIELD_U64:
        r = take_u64(c, &u64);
        if (r == 0)
            memcpy(at, &u64, sizeof(u64));
        break;
    case FIELD_STR:
        r = take_str(c, &str);
        if (r == 0)
            memcpy(at, &str, sizeof(str));
        break;
    case FIELD_STRS:
        r = take_strs(c, field->most, &strs);
        if (r == 0)
            memcpy(at, &strs, sizeof(strs));
        break;
    case FIELD_BLOB:
        blob.size = (uint32_t)c->left;
        blob.bytes = take(c, c->left);
        memcpy(at, &blob, sizeof(blob));
        break;
    }
    return r;
}

int msg_decode(uint8_t type, const uint8_t *payload, size_t size, void *ret)
{
    const struct row *row = row_of(type);
    struct cursor c = { .at = payload, .left = size };

    if (!row || size > WIRE_PAYLOAD_MAX)
        return -EPROTO;
    memset(ret, 0, row->size);
    for (const struct field *field = row->fields; field->name; field++) {
        int r = take_field(&c, field, ret);

        if (r < 0)
            return r;
    }
    return c.left == 0 ? 0 : -EPROTO;
}

/* ---- for people ------------------------------------------------------------------------------ */

struct liner {
    char *at;
    size_t room; /* with the NUL */
};

static void line_bytes(struct liner *l, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len && l->room > 1; i++, l->at++, l->room--) {
        *l->at = bytes[i];
        if ((unsigned char)bytes[i] < ' ' || bytes[i] == 0x7f)
            *l->at = '?';
    }
    *l->at = '\0';
}

static void line_str(struct liner *l, const char *str)
{
    line_bytes(l, str, strlen(str));
}

static void line_u64(struct liner *l, uint64_t v)
{
    char text[24];

    (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
    line_str(l, text);
}

static void line_strs(struct liner *l, const struct wire_strs *strs)
{
    const char *at = NULL;
    const char *str;

    line_str(l, "[");
    for (uint32_t i = 0; (str = wire_strs_next(strs, &at)) != NULL; i++) {
        line_str(l, i ? " " : "");
        line_str(l, str);
    }
    line_str(l, "]");
}

static void line_field(struct liner *l, const struct field *field, const char *base)
{
    const void *at = base + field->offset;
    struct wire_strs strs;
    struct wire_blob blob;
    const char *str;
    uint64_t u64;
    uint32_t u32;

    line_str(l, " ");
    line_str(l, field->name);
    line_str(l, "=");
    switch (field->type) {
    case FIELD_U32:
        memcpy(&u32, at, sizeof(u32));
        line_u64(l, u32);
        break;
    case FIELD_U64:
        memcpy(&u64, at, sizeof(u64));
        line_u64(l, u64);
        break;
    case FIELD_STR:
        memcpy(&str, at, sizeof(str));
        line_str(l, str ? str : "");
        break;
    case FIELD_STRS:
        memcpy(&strs, at, sizeof(strs));
        line_strs(l, &strs);
        break;
    case FIELD_BLOB:
        memcpy(&blob, at, sizeof(blob));
        line_u64(l, blob.size);
        line_str(l, " bytes");
        break;
    }
}

void msg_text(uint8_t type, const void *msg, char *text, size_t size)
{
    const struct row *row = row_of(type);
    struct liner l;

    if (size == 0)
        return;
    l.at = text;
    l.room = size;
    line_str(&l, row ? row->name : "?");
    for (const struct field *field = row ? row->fields : NULL; field && field->name; field++)
        line_field(&l, field, msg);
}

/* ---- lists ---------------------------------------------------------------------------------- */

int wire_strs_pack(const char *const *strings, char *bytes, size_t size, struct wire_strs *ret)
{
    struct wire_strs strs = { .packed = bytes };

    for (; strings && *strings; strings++) {
        size_t len = strlen(*strings) + 1;

        if (len > size - strs.size || size > UINT32_MAX)
            return -EMSGSIZE;
        memcpy(bytes + strs.size, *strings, len);
        strs.size += (uint32_t)len;
        strs.count++;
    }
    *ret = strs;
    return 0;
}

const char *wire_strs_next(const struct wire_strs *strs, const char **at)
{
    const char *next = *at ? *at + strlen(*at) + 1 : strs->packed;

    if (strs->size == 0 || next >= strs->packed + strs->size)
        return NULL;
    *at = next;
    return next;
}
