/* SPDX-License-Identifier: Apache-2.0 */
/* wire/bytes.h - little-endian numbers in byte strings of any alignment. */
#pragma once

#include <stdint.h>

static inline void wire_put_u16(uint8_t *at, uint16_t v)
{
    at[0] = (uint8_t)v;
    at[1] = (uint8_t)(v >> 8);
}

static inline void wire_put_u32(uint8_t *at, uint32_t v)
{
    wire_put_u16(at, (uint16_t)v);
    wire_put_u16(at + 2, (uint16_t)(v >> 16));
}

static inline void wire_put_u64(uint8_t *at, uint64_t v)
{
    wire_put_u32(at, (uint32_t)v);
    wire_put_u32(at + 4, (uint32_t)(v >> 32));
}

static inline uint16_t wire_get_u16(const uint8_t *at)
{
    return (uint16_t)(at[0] | at[1] << 8);
}

static inline uint32_t wire_get_u32(const uint8_t *at)
{
    return (uint32_t)wire_get_u16(at) | (uint32_t)wire_get_u16(at + 2) << 16;
}

static inline uint64_t wire_get_u64(const uint8_t *at)
{
    return (uint64_t)wire_get_u32(at) | (uint64_t)wire_get_u32(at + 4) << 32;
}
