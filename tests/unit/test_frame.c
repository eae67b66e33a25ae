/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_frame.c - frame heads, and cutting a byte stream into frames. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "wire/bytes.h"
#include "wire/frame.h"

#include <cmocka.h>

static void numbers_are_little_endian(void **state)
{
    uint8_t bytes[8];

    (void)state;
    wire_put_u16(bytes, 0x0102);
    assert_memory_equal(bytes, "\x02\x01", 2);
    wire_put_u32(bytes, 0x01020304);
    assert_memory_equal(bytes, "\x04\x03\x02\x01", 4);
    wire_put_u64(bytes, 0x0102030405060708);
    assert_memory_equal(bytes, "\x08\x07\x06\x05\x04\x03\x02\x01", 8);
    assert_true(wire_get_u64(bytes) == 0x0102030405060708);
    memset(bytes, 0xff, 8);
    assert_int_equal(wire_get_u16(bytes), 0xffff);
    assert_true(wire_get_u32(bytes) == UINT32_MAX);
    assert_true(wire_get_u64(bytes) == UINT64_MAX);
}

static void a_head_reads_back_as_written(void **state)
{
    const struct wire_head head = {
        .size = 65536, .type = 200, .flags = WIRE_FLAG_FIN, .channel = 0xfffffffe
    };
    uint8_t bytes[WIRE_HEAD_SIZE];
    struct wire_head back;

    (void)state;
    wire_head_put(bytes, &head);
    assert_memory_equal(bytes, "\0\0\1\0\xc8\1\0\0\xfe\xff\xff\xff", WIRE_HEAD_SIZE);
    assert_int_equal(wire_head_get(bytes, &back), 0);
    assert_int_equal(back.size, head.size);
    assert_int_equal(back.type, head.type);
    assert_int_equal(back.flags, head.flags);
    assert_int_equal(back.channel, head.channel);
}

static void a_head_is_refused_when_anything_in_it_is_wrong(void **state)
{
    static const struct {
        size_t at;
        uint8_t value;
    } wrong[] = {
        { 2, 2 },    /* size 0x20000 */
        { 3, 0x80 }, /* size over 2^31 */
        { 5, 2 },    /* unknown flag */
        { 5, 0x80 }, { 6, 1 }, { 7, 1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        uint8_t bytes[WIRE_HEAD_SIZE] = { 0 };
        struct wire_head head = { .size = 77 };

        bytes[wrong[i].at] = wrong[i].value;
        assert_int_equal(wire_head_get(bytes, &head), -EPROTO);
        assert_int_equal(head.size, 77);
    }
}

static void one_byte_over_the_greatest_payload_is_refused(void **state)
{
    uint8_t bytes[WIRE_HEAD_SIZE] = { 0 };
    struct wire_head head;

    (void)state;
    wire_put_u32(bytes, WIRE_PAYLOAD_MAX);
    assert_int_equal(wire_head_get(bytes, &head), 0);
    wire_put_u32(bytes, WIRE_PAYLOAD_MAX + 1);
    assert_int_equal(wire_head_get(bytes, &head), -EPROTO);
}

/* ---- the reader ---- */

/* Frame i has a payload of sizes[i] bytes, all i. */
static size_t put_frames(uint8_t *bytes, const uint32_t *sizes, size_t n)
{
    size_t len = 0;

    for (size_t i = 0; i < n; i++) {
        struct wire_head head = { .size = sizes[i],
                                  .type = (uint8_t)(i + 1),
                                  .channel = (uint32_t)i };

        wire_head_put(bytes + len, &head);
        memset(bytes + len + WIRE_HEAD_SIZE, (int)i, sizes[i]);
        len += WIRE_HEAD_SIZE + sizes[i];
    }
    return len;
}

static void check_frame(const struct wire_head *head, const uint8_t *payload, uint32_t size,
                        size_t i)
{
    assert_int_equal(head->size, size);
    assert_int_equal(head->type, i + 1);
    assert_int_equal(head->channel, i);
    for (uint32_t j = 0; j < size; j++)
        assert_int_equal(payload[j], (uint8_t)i);
}

/* As much of it as there is room for; how much that was. */
static size_t feed(struct wire_reader *reader, const uint8_t *bytes, size_t len)
{
    size_t room;
    uint8_t *at = wire_reader_room(reader, &room);

    assert_true(room > 0);
    assert_true(at + room <= reader->bytes + sizeof(reader->bytes));
    if (len > room)
        len = room;
    memcpy(at, bytes, len);
    wire_reader_fed(reader, len);
    return len;
}

static const uint32_t sizes[] = { 0, 1, 65536, 0, 100, 65536, 65536, 65535, 3 };
#define N_SIZES (sizeof(sizes) / sizeof(sizes[0]))

static struct wire_reader reader;
static uint8_t stream[N_SIZES * WIRE_FRAME_MAX];

/* The last piece is more than the reader holds: it takes what it has room for, and after all whole
 * frames were taken there is always some. */
static void frames_come_out_whole_whatever_the_pieces(void **state)
{
    static const size_t pieces[] = { 1, 2, 11, 12, 13, 4096, 65535, 65548, 1 << 20 };
    size_t len = put_frames(stream, sizes, N_SIZES);

    (void)state;
    for (size_t p = 0; p < sizeof(pieces) / sizeof(pieces[0]); p++) {
        size_t taken = 0;
        size_t at = 0;

        wire_reader_init(&reader);
        while (at < len) {
            struct wire_head head;
            const uint8_t *payload;

            at += feed(&reader, stream + at, len - at < pieces[p] ? len - at : pieces[p]);
            while (wire_reader_next(&reader, &head, &payload) == 1) {
                assert_true(taken < N_SIZES);
                check_frame(&head, payload, sizes[taken], taken);
                taken++;
            }
        }
        assert_int_equal(taken, N_SIZES);
    }
}

static void a_bad_head_stops_the_reader_before_its_payload_comes(void **state)
{
    static const uint8_t bad[WIRE_HEAD_SIZE] = { 0xff, 0xff, 0xff, 0xff };
    struct wire_head head;
    const uint8_t *payload;

    (void)state;
    wire_reader_init(&reader);
    assert_int_equal(feed(&reader, bad, WIRE_HEAD_SIZE - 1), WIRE_HEAD_SIZE - 1);
    assert_int_equal(wire_reader_next(&reader, &head, &payload), 0);
    assert_int_equal(feed(&reader, bad + WIRE_HEAD_SIZE - 1, 1), 1);
    assert_int_equal(wire_reader_next(&reader, &head, &payload), -EPROTO);
    assert_int_equal(wire_reader_next(&reader, &head, &payload), -EPROTO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_little_endian),
        cmocka_unit_test(a_head_reads_back_as_written),
        cmocka_unit_test(a_head_is_refused_when_anything_in_it_is_wrong),
        cmocka_unit_test(one_byte_over_the_greatest_payload_is_refused),
        cmocka_unit_test(frames_come_out_whole_whatever_the_pieces),
        cmocka_unit_test(a_bad_head_stops_the_reader_before_its_payload_comes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
