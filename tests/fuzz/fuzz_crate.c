/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz/fuzz_crate.c - crates of files, fed whole and in pieces.
 *
 * The first byte says whether it is a listing, whether all kinds may come, and how long the pieces
 * are.  No path that leaves is
 * ever told, no cap is crossed, and the pieces make no difference. */
#include <string.h>

#include "base/path.h"
#include "must.h"
#include "wire/crate.h"

#define MAX_FILES 20
#define MAX_BYTES 4096

struct told {
    uint64_t items;
    uint64_t done;
    uint64_t bytes;
    uint64_t due; /* contents of the present item still to come */
    uint64_t digest;
    bool is_listing;
    bool has_all_kinds;
    bool is_link;
};

static void digest(struct told *told, const void *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        told->digest = told->digest * 31 + ((const uint8_t *)bytes)[i];
}

static int tell_item(void *user, const struct crate_item *item)
{
    struct told *told = user;

    must(told->items == told->done);
    must(path_is_below(item->path) && item->mode <= 0777);
    must(item->kind == CRATE_FILE || told->has_all_kinds);
    must(item->kind != CRATE_DIR || item->size == 0);
    must(item->kind != CRATE_LINK || (item->size > 0 && item->size <= CRATE_PATH_MAX));
    told->is_link = item->kind == CRATE_LINK;
    told->items++;
    told->due = told->is_listing ? 0 : item->size;
    digest(told, item->path, strlen(item->path));
    return 0;
}

static int tell_data(void *user, const uint8_t *bytes, size_t len)
{
    struct told *told = user;

    must(len > 0 && len <= told->due);
    must(!told->is_link || !memchr(bytes, '\0', len));
    told->due -= len;
    told->bytes += len;
    digest(told, bytes, len);
    return 0;
}

static int tell_done(void *user)
{
    struct told *told = user;

    must(told->due == 0);
    told->done++;
    return 0;
}

static int read_all(const uint8_t *data, size_t size, size_t piece, struct told *told)
{
    static const struct crate_ops ops = { tell_item, tell_data, tell_done };
    static struct crate_reader reader;
    int r = 0;

    crate_reader_init(&reader, &ops, told,
                      (struct crate_caps){ MAX_FILES, MAX_BYTES, told->has_all_kinds },
                      told->is_listing);
    for (size_t at = 0; at < size && r == 0; at += piece)
        r = crate_reader_feed(&reader, data + at, size - at < piece ? size - at : piece);
    if (r == 0 && crate_reader_is_complete(&reader))
        r = 1;
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct told whole = { 0 }, pieces = { 0 };
    int r;

    if (size < 2)
        return 0;
    whole.is_listing = pieces.is_listing = data[0] & 1;
    whole.has_all_kinds = pieces.has_all_kinds = data[0] & 0x80;
    r = read_all(data + 1, size - 1, size, &whole);
    must(read_all(data + 1, size - 1, ((data[0] & 0x7f) >> 1) + 1, &pieces) == r);
    must(whole.items == pieces.items && whole.done == pieces.done);
    /* A link with a NUL in it is told as far as the pieces before it go. */
    must((r < 0 && whole.has_all_kinds) ||
         (whole.bytes == pieces.bytes && whole.digest == pieces.digest));
    must(whole.items <= MAX_FILES && whole.bytes <= MAX_BYTES);
    must(r != 1 || whole.items == whole.done);
    return 0;
}
