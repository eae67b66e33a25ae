/* SPDX-License-Identifier: Apache-2.0 */
/* wire/frame.h - frames: the unit of everything that crosses a link.
 *
 *    u32 size | u8 type | u8 flags | u16 zero | u32 channel | size bytes of payload
 *
 * Little endian.  A payload has at most WIRE_PAYLOAD_MAX bytes, so one fixed buffer holds any
 * frame and nothing is ever allocated for what a peer announces.  Pure functions: no I/O, no state
 * but the reader's buffer.  The bytes are hostile: every check fails with -EPROTO, and the owner
 * of the link closes it then.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define WIRE_HEAD_SIZE   12
#define WIRE_PAYLOAD_MAX 65536
#define WIRE_FRAME_MAX   (WIRE_HEAD_SIZE + WIRE_PAYLOAD_MAX)

#define WIRE_FLAG_FIN 1 /* on DATA: the sender's last frame on this channel */
#define WIRE_FLAGS    WIRE_FLAG_FIN

/* Bytes of DATA that a fresh channel may carry before its receiver grants more. */
#define WIRE_CREDIT_START 262144

/* And the most that it may have granted at a time: to one that carries much. */
#define WIRE_CREDIT_WIDE 1048576

/* Frames of much data that are sent and read at once: each time somebody is woken costs more than
 * the copy of one. */
#define WIRE_BATCH 8

struct wire_head {
    uint32_t size;
    uint8_t type;
    uint8_t flags;
    uint32_t channel;
};

void wire_head_put(uint8_t bytes[static WIRE_HEAD_SIZE], const struct wire_head *head);

/* -EPROTO: size over the maximum, unknown flag, reserved bytes not zero. */
int wire_head_get(const uint8_t bytes[static WIRE_HEAD_SIZE], struct wire_head *ret);

/* Cuts a byte stream into frames.  The owner reads into wire_reader_room(), tells how much with
 * wire_reader_fed(), and takes frames until there is none; a payload is valid until the next call
 * of wire_reader_room().
 *
 * Invariant: 0 <= start <= end <= WIRE_READER_SIZE, and [start, end) are bytes not yet taken. */
#define WIRE_READER_SIZE ((size_t)(WIRE_BATCH + 1) * WIRE_FRAME_MAX)

struct wire_reader {
    size_t start;
    size_t end;
    uint8_t bytes[WIRE_READER_SIZE];
};

void wire_reader_init(struct wire_reader *reader);

/* Where to read to, and how much; never 0 after all complete frames were taken. */
uint8_t *wire_reader_room(struct wire_reader *reader, size_t *ret_room);
void wire_reader_fed(struct wire_reader *reader, size_t n);

/* 1 and a frame, 0 when more bytes are needed, -EPROTO. */
int wire_reader_next(struct wire_reader *reader, struct wire_head *ret_head,
                     const uint8_t **ret_payload);
