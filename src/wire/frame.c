/* SPDX-License-Identifier: Apache-2.0 */
/* wire/frame.c - heads, and cutting a byte stream into frames. */
#include "wire/frame.h"

#include <errno.h>
#include <string.h>

#include "wire/bytes.h"

void wire_head_put(uint8_t bytes[static WIRE_HEAD_SIZE], const struct wire_head *head)
{
    wire_put_u32(bytes, head->size);
    bytes[4] = head->type;
    bytes[5] = head->flags;
    wire_put_u16(bytes + 6, 0);
    wire_put_u32(bytes + 8, head->channel);
}

int wire_head_get(const uint8_t bytes[static WIRE_HEAD_SIZE], struct wire_head *ret)
{
    struct wire_head head = {
        .size = wire_get_u32(bytes),
        .type = bytes[4],
        .flags = bytes[5],
        .channel = wire_get_u32(bytes + 8),
    };

    if (head.size > WIRE_PAYLOAD_MAX || (head.flags & ~WIRE_FLAGS) || wire_get_u16(bytes + 6) != 0)
        return -EPROTO;
    *ret = head;
    return 0;
}

void wire_reader_init(struct wire_reader *reader)
{
    reader->start = 0;
    reader->end = 0;
}

/* The bytes move to the front only when a whole frame might not fit behind them, so that a stream
 * of large frames is seldom moved. */
uint8_t *wire_reader_room(struct wire_reader *reader, size_t *ret_room)
{
    if (reader->start == reader->end) {
        wire_reader_init(reader);
    } else if (WIRE_READER_SIZE - reader->start < WIRE_FRAME_MAX) {
        memmove(reader->bytes, reader->bytes + reader->start, reader->end - reader->start);
        reader->end -= reader->start;
        reader->start = 0;
    }
    *ret_room = WIRE_READER_SIZE - reader->end;
    return reader->bytes + reader->end;
}

void wire_reader_fed(struct wire_reader *reader, size_t n)
{
    reader->end += n;
}

int wire_reader_next(struct wire_reader *reader, struct wire_head *ret_head,
                     const uint8_t **ret_payload)
{
    const uint8_t *at = reader->bytes + reader->start;
    size_t have = reader->end - reader->start;
    int r;

    if (have < WIRE_HEAD_SIZE)
        return 0;
    r = wire_head_get(at, ret_head);
    if (r < 0)
        return r;
    if (have - WIRE_HEAD_SIZE < ret_head->size)
        return 0;
    *ret_payload = at + WIRE_HEAD_SIZE;
    reader->start += WIRE_HEAD_SIZE + ret_head->size;
    return 1;
}
