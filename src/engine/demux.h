/* SPDX-License-Identifier: Apache-2.0 */
/* engine/demux.h - one stream out of which come two: a pure reader, fed with any pieces.
 *
 * Without a terminal the engine sends what a container writes in frames: 8 bytes of head (stream,
 * three zeros, length in big endian) and as many bytes.  A head may straddle reads.  Nothing is
 * kept but a head, so that a length is no reason to trust or to allocate.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum demux_stream {
    DEMUX_STDIN, /* an echo, which old engines send */
    DEMUX_STDOUT,
    DEMUX_STDERR,
    DEMUX_ENGINE, /* the engine's own words about a failure */
};

struct demux {
    uint8_t head[8];
    size_t n_head;
    uint32_t left; /* of the frame */
};

struct demux_piece {
    enum demux_stream stream;
    const char *bytes; /* points into what was fed */
    size_t len;
};

/* Takes the next piece from *bytes, of which *len are there, and moves both on.  1: *ret is a
 * piece, at least one byte.  0: everything was taken.  -EPROTO: that is no head. */
int demux_next(struct demux *demux, const char **bytes, size_t *len, struct demux_piece *ret);
