/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz/fuzz_msg.c - payloads of messages; the first byte is the type.
 *
 * A decoder accepts exactly what the encoder makes: what decodes is encoded again to the same
 * bytes.  The line for people never holds a control byte. */
#include <string.h>

#include "must.h"
#include "wire/msg.h"

union msg {
    uint64_t align;
    uint8_t bytes[MSG_STRUCT_MAX];
};

static void check_text(uint8_t type, const union msg *msg)
{
    static const size_t sizes[] = { 1, 2, 40, 4000 };
    char text[4000];

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        msg_text(type, msg, text, sizes[i]);
        must(strlen(text) < sizes[i]);
        for (const char *c = text; *c; c++)
            must((unsigned char)*c >= ' ' && *c != 0x7f);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t again[WIRE_FRAME_MAX];
    union msg msg;
    int len;

    if (size == 0 || msg_decode(data[0], data + 1, size - 1, &msg) < 0)
        return 0;
    must(msg_direction(data[0]));
    len = msg_encode(data[0], 7, 0, &msg, again, sizeof(again));
    must(len == (int)(WIRE_HEAD_SIZE + size - 1));
    must(size == 1 || memcmp(again + WIRE_HEAD_SIZE, data + 1, size - 1) == 0);
    check_text(data[0], &msg);
    return 0;
}
