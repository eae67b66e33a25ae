/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz/fuzz_demux.c - any bytes as an attached stream, in one piece and in pieces.
 *
 * The first byte says how long the pieces are.  Both readings give the same bytes of the same
 * streams and end alike; no byte comes out that did not go in. */
#include <string.h>

#include "base/buf.h"
#include "engine/demux.h"
#include "must.h"

static int read_stream(const char *bytes, size_t len, size_t piece_len, struct buf out[4])
{
    struct demux demux = { 0 };
    int r = 0;

    for (size_t at = 0; at < len && r == 0; at += piece_len) {
        const char *piece = bytes + at;
        size_t left = len - at < piece_len ? len - at : piece_len;
        struct demux_piece taken;

        while ((r = demux_next(&demux, &piece, &left, &taken)) > 0) {
            must(taken.len > 0 && taken.stream <= DEMUX_ENGINE);
            must(taken.bytes >= bytes + at && taken.bytes + taken.len <= bytes + len);
            must(buf_add(&out[taken.stream], taken.bytes, taken.len) == 0);
        }
        must(r < 0 || left == 0);
    }
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf whole[4] = { BUF_INIT(1 << 24), BUF_INIT(1 << 24), BUF_INIT(1 << 24),
                            BUF_INIT(1 << 24) };
    struct buf torn[4] = { BUF_INIT(1 << 24), BUF_INIT(1 << 24), BUF_INIT(1 << 24),
                           BUF_INIT(1 << 24) };
    int r;

    if (size == 0)
        return 0;
    r = read_stream((const char *)data + 1, size - 1, size, whole);
    must(r == read_stream((const char *)data + 1, size - 1, data[0] % 16 + 1U, torn));
    for (int i = 0; i < 4; i++) {
        must(whole[i].len == torn[i].len);
        must(whole[i].len == 0 || memcmp(whole[i].data, torn[i].data, whole[i].len) == 0);
        buf_clear(&whole[i]);
        buf_clear(&torn[i]);
    }
    return 0;
}
