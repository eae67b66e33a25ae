/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz/fuzz_frame.c - a byte stream cut into frames, fed in pieces.
 *
 * The first byte says how long the pieces are.  Whatever the pieces, the same frames come out and
 * the same error ends them; a frame's head is written back as it was read. */
#include <string.h>

#include "must.h"
#include "wire/frame.h"

struct outcome {
    int last; /* what ended the reading */
    size_t frames;
    size_t bytes;
    uint64_t digest;
};

static void take(struct outcome *outcome, const struct wire_head *head, const uint8_t *payload)
{
    uint8_t again[WIRE_HEAD_SIZE];

    must(head->size <= WIRE_PAYLOAD_MAX);
    wire_head_put(again, head);
    must(memcmp(again, payload - WIRE_HEAD_SIZE, WIRE_HEAD_SIZE) == 0);
    for (uint32_t i = 0; i < head->size; i++)
        outcome->digest = outcome->digest * 31 + payload[i];
    outcome->digest = outcome->digest * 31 + head->type;
    outcome->bytes += WIRE_HEAD_SIZE + head->size;
    outcome->frames++;
}

static struct outcome read_all(const uint8_t *data, size_t size, size_t piece)
{
    static struct wire_reader reader;
    struct outcome outcome = { 0 };
    size_t fed = 0;

    wire_reader_init(&reader);
    for (;;) {
        struct wire_head head;
        const uint8_t *payload;
        size_t room;
        uint8_t *at;

        while ((outcome.last = wire_reader_next(&reader, &head, &payload)) == 1)
            take(&outcome, &head, payload);
        if (outcome.last < 0 || fed == size)
            return outcome;
        at = wire_reader_room(&reader, &room);
        must(room > 0 && at + room == reader.bytes + sizeof(reader.bytes));
        room = room < piece ? room : piece;
        room = room < size - fed ? room : size - fed;
        memcpy(at, data + fed, room);
        wire_reader_fed(&reader, room);
        fed += room;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct outcome whole, pieces;

    if (size == 0)
        return 0;
    whole = read_all(data + 1, size - 1, SIZE_MAX);
    pieces = read_all(data + 1, size - 1, (size_t)data[0] + 1);
    must(whole.bytes <= size - 1);
    must(whole.last == pieces.last && whole.frames == pieces.frames);
    must(whole.bytes == pieces.bytes && whole.digest == pieces.digest);
    return 0;
}
