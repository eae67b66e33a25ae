/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz/fuzz_kept_log.c - a log of output that anybody may have written.
 *
 * The first byte is the cursor.  What is told has a stream, lies in order, is within the file, and
 * is counted right. */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "must.h"
#include "run/kept_log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct kept_reader reader;
    struct kept_chunk chunk;
    uint64_t told = 0;
    uint64_t before;
    int r;

    if (size < 1)
        return 0;
    kept_reader_init(&reader, -1, "r_00000000000000000000000000", data[0]);
    reader.fd = memfd_create("log", MFD_CLOEXEC);
    must(reader.fd >= 0 && fd_write_full(reader.fd, data + 1, size - 1) == 0);
    before = reader.cursor;
    while ((r = kept_reader_next(&reader, &chunk)) > 0) {
        must(chunk.stream == 1 || chunk.stream == 2);
        must(chunk.len > 0 && chunk.len <= KEPT_CHUNK_MAX);
        must(reader.cursor >= before + chunk.len);
        before = reader.cursor;
        told += chunk.len;
    }
    must(r == 0 && told < size);
    must(reader.cursor == data[0] + told + reader.dropped);
    kept_reader_clear(&reader);
    return 0;
}
