/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_msg.c - every row of msg.def: encoded, decoded, cut, lengthened and refused.
 *
 * The rows are expanded from the table itself, so that a new message is tested from its first day.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "wire/bytes.h"
#include "wire/msg.h"

#include <cmocka.h>

static const char *const words[] = { "one", "", "with blank", "\xff\x01", NULL };
static char packed[64];
static struct wire_strs list;

/* ---- one function that fills and one that compares, for each message ---- */

static uint64_t count; /* so that no two fields have the same value */

/* clang-format off */
#define MSG(NAME, name, number, direction) \
    static void fill_##name(void *msg) { struct msg_##name *m = msg; (void)m;
#define U32(msg, field)        m->field = (uint32_t)(0x80000001u + count++);
#define U64(msg, field)        m->field = 0x8000000000000001u + count++;
#define STR(msg, field)        m->field = words[count++ % 4];
#define STRS(msg, field, most) m->field = list;
#define BLOB(msg, field)       m->field = (struct wire_blob){ 5, (const uint8_t *)"b\0l\xff" "b" };
#define END(name)              }
#include "wire/msg.def"
#undef MSG
#undef U32
#undef U64
#undef STR
#undef STRS
#undef BLOB
#undef END

#define MSG(NAME, name, number, direction) \
    static void compare_##name(const void *a, const void *b) \
    { const struct msg_##name *m = a, *n = b; (void)m; (void)n;
#define U32(msg, field)        assert_int_equal(m->field, n->field);
#define U64(msg, field)        assert_true(m->field == n->field);
#define STR(msg, field)        assert_string_equal(m->field, n->field);
#define STRS(msg, field, most) assert_int_equal(m->field.count, n->field.count); \
                               assert_int_equal(m->field.size, n->field.size); \
                               assert_memory_equal(m->field.packed, n->field.packed, m->field.size);
#define BLOB(msg, field)       assert_int_equal(m->field.size, n->field.size); \
                               assert_memory_equal(m->field.bytes, n->field.bytes, m->field.size);
#define END(name)              }
#include "wire/msg.def"
#undef MSG
#undef U32
#undef U64
#undef STR
#undef STRS
#undef BLOB
#undef END

static const struct row {
    const char *name;
    uint8_t type;
    unsigned direction;
    void (*fill)(void *msg);
    void (*compare)(const void *a, const void *b);
    bool has_blob;
} rows[] = {
#define MSG(NAME, name, number, direction) \
    { #NAME, number, direction, fill_##name, compare_##name, false
#define U32(msg, field)
#define U64(msg, field)
#define STR(msg, field)
#define STRS(msg, field, most)
#define BLOB(msg, field)       || true
#define END(name)              },
#include "wire/msg.def"
#undef MSG
#undef U32
#undef U64
#undef STR
#undef STRS
#undef BLOB
#undef END
};
/* clang-format on */
#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

union msg {
    uint64_t align;
    uint8_t bytes[MSG_STRUCT_MAX];
};

static uint8_t frame[WIRE_FRAME_MAX];

static int encode(const struct row *row, union msg *msg)
{
    memset(msg, 0, sizeof(*msg));
    row->fill(msg);
    return msg_encode(row->type, 6, WIRE_FLAG_FIN, msg, frame, sizeof(frame));
}

static void every_message_reads_back_as_written(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS; i++) {
        union msg msg, back;
        struct wire_head head;
        int len = encode(&rows[i], &msg);

        print_message("# %s, %d bytes\n", rows[i].name, len);
        assert_true(len >= WIRE_HEAD_SIZE);
        assert_int_equal(wire_head_get(frame, &head), 0);
        assert_int_equal(head.size, len - WIRE_HEAD_SIZE);
        assert_int_equal(head.type, rows[i].type);
        assert_int_equal(head.flags, WIRE_FLAG_FIN);
        assert_int_equal(head.channel, 6);
        assert_int_equal(msg_decode(head.type, frame + WIRE_HEAD_SIZE, head.size, &back), 0);
        rows[i].compare(&msg, &back);
    }
}

static void every_message_that_is_cut_short_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS; i++) {
        union msg msg, back;
        size_t size = (size_t)encode(&rows[i], &msg) - WIRE_HEAD_SIZE;
        size_t shortest = rows[i].has_blob ? size - 5 : size;

        for (size_t n = 0; n < shortest; n++)
            assert_int_equal(msg_decode(rows[i].type, frame + WIRE_HEAD_SIZE, n, &back), -EPROTO);
    }
}

static void every_message_with_a_byte_too_many_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS; i++) {
        union msg msg, back;
        size_t size = (size_t)encode(&rows[i], &msg) - WIRE_HEAD_SIZE;

        frame[WIRE_HEAD_SIZE + size] = 0;
        if (!rows[i].has_blob)
            assert_int_equal(msg_decode(rows[i].type, frame + WIRE_HEAD_SIZE, size + 1, &back),
                             -EPROTO);
    }
}

static void no_message_is_written_into_too_little_room(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS; i++) {
        union msg msg;
        size_t len = (size_t)encode(&rows[i], &msg);

        assert_int_equal(msg_encode(rows[i].type, 0, 0, &msg, frame, len), len);
        for (size_t n = 0; n < len; n++)
            assert_int_equal(msg_encode(rows[i].type, 0, 0, &msg, frame, n), -EMSGSIZE);
    }
}

static void directions_are_the_tables(void **state)
{
    bool known[256] = { false };

    (void)state;
    for (size_t i = 0; i < N_ROWS; i++) {
        assert_false(known[rows[i].type]);
        known[rows[i].type] = true;
        assert_int_equal(msg_direction(rows[i].type), rows[i].direction);
        assert_int_not_equal(rows[i].direction, 0);
    }
    for (unsigned type = 0; type < 256; type++) {
        union msg msg;

        if (known[type])
            continue;
        assert_int_equal(msg_direction((uint8_t)type), 0);
        assert_int_equal(msg_decode((uint8_t)type, frame, 0, &msg), -EPROTO);
        assert_int_equal(msg_encode((uint8_t)type, 0, 0, &msg, frame, sizeof(frame)), -EINVAL);
    }
}

/* ---- strings, lists, blobs ---- */

static int decode_str(const void *payload, size_t size)
{
    union msg msg;

    return msg_decode(MSG_MASK, payload, size, &msg);
}

static void strings_end_with_their_only_nul(void **state)
{
    (void)state;
    assert_int_equal(decode_str("\0\0\0\0"
                                "\2\0\0\0"
                                "ab\0",
                                11),
                     0);
    assert_int_equal(decode_str("\0\0\0\0"
                                "\0\0\0\0"
                                "\0",
                                9),
                     0);
    assert_int_equal(decode_str("\0\0\0\0"
                                "\2\0\0\0"
                                "abc",
                                11),
                     -EPROTO);
    assert_int_equal(decode_str("\0\0\0\0"
                                "\2\0\0\0"
                                "a\0\0",
                                11),
                     -EPROTO);
    assert_int_equal(decode_str("\0\0\0\0"
                                "\1\0\0\0"
                                "ab\0",
                                11),
                     -EPROTO);
    assert_int_equal(decode_str("\0\0\0\0"
                                "\xff\xff\xff\xff"
                                "ab\0",
                                11),
                     -EPROTO);
    assert_int_equal(decode_str("\0\0\0\0"
                                "\xfe\xff\xff\xff"
                                "ab\0",
                                11),
                     -EPROTO);
}

static int decode_strs(uint32_t n, uint32_t size, const char *bytes, size_t len)
{
    struct msg_setup msg;
    uint8_t payload[256] = { 0 };
    size_t at = 24 + 8; /* six numbers, no disk */

    wire_put_u32(payload + at, n);
    wire_put_u32(payload + at + 4, size);
    memcpy(payload + at + 8, bytes, len);
    return msg_decode(MSG_SETUP, payload, at + 8 + len, &msg);
}

static void lists_have_as_many_strings_as_they_say(void **state)
{
    char many[33 * 2];

    (void)state;
    assert_int_equal(decode_strs(0, 0, "", 0), 0);
    assert_int_equal(decode_strs(2, 4, "a\0b", 4), 0);
    assert_int_equal(decode_strs(3, 3, "\0\0", 3), 0);
    assert_int_equal(decode_strs(1, 4, "a\0b", 4), -EPROTO);
    assert_int_equal(decode_strs(3, 4, "a\0b", 4), -EPROTO);
    assert_int_equal(decode_strs(1, 0, "", 0), -EPROTO);
    assert_int_equal(decode_strs(1, 2, "ab", 2), -EPROTO);
    assert_int_equal(decode_strs(2, 5, "a\0b", 4), -EPROTO);
    assert_int_equal(decode_strs(2, UINT32_MAX, "a\0b", 4), -EPROTO);
    for (size_t i = 0; i < sizeof(many); i++)
        many[i] = i % 2 ? '\0' : 'x';
    assert_int_equal(decode_strs(32, 64, many, 64), 0);
    assert_int_equal(decode_strs(33, 66, many, 66), -EPROTO);
}

static void a_list_over_its_count_is_not_written_either(void **state)
{
    const char *strings[34] = { NULL };
    struct msg_setup msg = { 0 };
    char bytes[128];

    (void)state;
    for (size_t i = 0; i < 33; i++)
        strings[i] = "x";
    assert_int_equal(wire_strs_pack(strings, bytes, sizeof(bytes), &msg.writable), 0);
    assert_true(msg_encode(MSG_SETUP, 0, 0, &msg, frame, sizeof(frame)) < 0);
    strings[32] = NULL;
    assert_int_equal(wire_strs_pack(strings, bytes, sizeof(bytes), &msg.writable), 0);
    assert_true(msg_encode(MSG_SETUP, 0, 0, &msg, frame, sizeof(frame)) > 0);
}

static void a_payload_has_at_most_64_kib(void **state)
{
    static uint8_t bytes[WIRE_PAYLOAD_MAX + 1];
    static uint8_t room[WIRE_FRAME_MAX + 100];
    struct msg_data msg = { .bytes = { WIRE_PAYLOAD_MAX, bytes } };

    (void)state;
    assert_int_equal(msg_encode(MSG_DATA, 2, 0, &msg, room, sizeof(room)), WIRE_FRAME_MAX);
    msg.bytes.size++;
    assert_int_equal(msg_encode(MSG_DATA, 2, 0, &msg, room, sizeof(room)), -EMSGSIZE);
    assert_int_equal(msg_decode(MSG_DATA, bytes, WIRE_PAYLOAD_MAX, &msg), 0);
    assert_int_equal(msg_decode(MSG_DATA, bytes, WIRE_PAYLOAD_MAX + 1, &msg), -EPROTO);
}

static void packed_strings_are_found_in_order(void **state)
{
    struct wire_strs strs;
    const char *at = NULL;
    char bytes[64];

    (void)state;
    assert_int_equal(wire_strs_pack(words, bytes, sizeof(bytes), &strs), 0);
    assert_int_equal(strs.count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(wire_strs_next(&strs, &at), words[i]);
    assert_null(wire_strs_next(&strs, &at));
    assert_int_equal(wire_strs_pack(words, bytes, strs.size, &strs), 0);
    assert_int_equal(wire_strs_pack(words, bytes, strs.size - 1, &strs), -EMSGSIZE);
    assert_int_equal(wire_strs_pack(NULL, bytes, 0, &strs), 0);
    at = NULL;
    assert_null(wire_strs_next(&strs, &at));
}

/* ---- for people ---- */

static void a_message_is_one_clean_line(void **state)
{
    struct msg_failed msg = {
        .step = 3, .wall = 2, .where = 1, .error = 13, .detail = "a\nb\x1b[31m"
    };
    char text[128];

    (void)state;
    msg_text(MSG_FAILED, &msg, text, sizeof(text));
    assert_string_equal(text, "FAILED step=3 wall=2 where=1 error=13 detail=a?b?[31m");
    msg_text(250, &msg, text, sizeof(text));
    assert_string_equal(text, "?");
}

static void a_line_is_cut_to_the_room_there_is(void **state)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        union msg msg;

        (void)state;
        (void)encode(&rows[i], &msg);
        for (size_t size = 0; size < 200; size++) {
            char text[201];

            memset(text, '~', sizeof(text));
            msg_text(rows[i].type, &msg, text, size);
            assert_int_equal(text[size], '~');
            if (size > 0)
                assert_true(strlen(text) < size);
        }
    }
}

static int pack_list(void **state)
{
    (void)state;
    return wire_strs_pack(words, packed, sizeof(packed), &list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_message_reads_back_as_written),
        cmocka_unit_test(every_message_that_is_cut_short_is_refused),
        cmocka_unit_test(every_message_with_a_byte_too_many_is_refused),
        cmocka_unit_test(no_message_is_written_into_too_little_room),
        cmocka_unit_test(directions_are_the_tables),
        cmocka_unit_test(strings_end_with_their_only_nul),
        cmocka_unit_test(lists_have_as_many_strings_as_they_say),
        cmocka_unit_test(a_list_over_its_count_is_not_written_either),
        cmocka_unit_test(a_payload_has_at_most_64_kib),
        cmocka_unit_test(packed_strings_are_found_in_order),
        cmocka_unit_test(a_message_is_one_clean_line),
        cmocka_unit_test(a_line_is_cut_to_the_room_there_is),
    };

    return cmocka_run_group_tests(tests, pack_list, NULL);
}
