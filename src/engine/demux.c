/* SPDX-License-Identifier: Apache-2.0 */
/* engine/demux.c - one stream out of which come two. */
#include "engine/demux.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* Completes the head as far as bytes go. */
static void take_head(struct demux *demux, const char **bytes, size_t *len)
{
    size_t missing = sizeof(demux->head) - demux->n_head;
    size_t n = *len < missing ? *len : missing;

    memcpy(demux->head + demux->n_head, *bytes, n);
    demux->n_head += n;
    *bytes += n;
    *len -= n;
}

static bool is_head(const uint8_t head[8])
{
    return head[0] <= DEMUX_ENGINE && head[1] == 0 && head[2] == 0 && head[3] == 0;
}

static uint32_t length_of(const uint8_t head[8])
{
    return (uint32_t)head[4] << 24 | (uint32_t)head[5] << 16 | (uint32_t)head[6] << 8 | head[7];
}

int demux_next(struct demux *demux, const char **bytes, size_t *len, struct demux_piece *ret)
{
    while (*len > 0 && demux->left == 0) {
        if (demux->n_head == sizeof(demux->head))
            demux->n_head = 0; /* its frame is over */
        take_head(demux, bytes, len);
        if (demux->n_head < sizeof(demux->head))
            return 0;
        if (!is_head(demux->head))
            return -EPROTO;
        demux->left = length_of(demux->head);
    }
    if (*len == 0)
        return 0;
    *ret = (struct demux_piece){
        .stream = (enum demux_stream)demux->head[0],
        .bytes = *bytes,
        .len = *len < demux->left ? *len : demux->left,
    };
    *bytes += ret->len;
    *len -= ret->len;
    demux->left -= (uint32_t)ret->len;
    return 1;
}
