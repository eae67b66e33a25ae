/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz/fuzz_listing.c - listings of directories, fed whole and in pieces.
 *
 * The first byte says whether it is of the thing itself and how long the pieces are.  No name that
 * leads elsewhere is ever told, the cap is not crossed, and the pieces make no difference. */
#include <string.h>

#include "must.h"
#include "wire/listing.h"

#define MAX_ENTRIES 20

struct told {
    uint64_t n;
    uint64_t digest;
    bool is_self;
};

static int tell(void *user, const struct listing_entry *entry)
{
    struct told *told = user;
    size_t len = strlen(entry->name);

    must(len > 0 && len <= LISTING_NAME_MAX && !strchr(entry->name, '/'));
    must(strcmp(entry->name, "..") != 0 && (strcmp(entry->name, ".") == 0) == told->is_self);
    must(entry->mode <= 07777 && listing_kind_name(entry->kind));
    told->n++;
    for (size_t i = 0; i < len; i++)
        told->digest = told->digest * 31 + (uint8_t)entry->name[i];
    told->digest = told->digest * 31 + entry->size + entry->mode;
    return 0;
}

static int read_all(const uint8_t *data, size_t size, size_t piece, struct told *told)
{
    struct listing_reader reader = {
        .entry = tell, .user = told, .max_entries = MAX_ENTRIES, .is_self = told->is_self
    };
    int r = 0;

    for (size_t at = 0; at < size && r == 0; at += piece)
        r = listing_reader_feed(&reader, data + at, size - at < piece ? size - at : piece);
    return r == 0 && reader.is_complete ? 1 : r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct told whole = { 0 };
    struct told pieces = { 0 };
    int r;

    if (size < 2)
        return 0;
    whole.is_self = pieces.is_self = data[0] & 1;
    r = read_all(data + 1, size - 1, size, &whole);
    must(read_all(data + 1, size - 1, (data[0] >> 1) + 1, &pieces) == r);
    must(whole.n == pieces.n && whole.digest == pieces.digest && whole.n <= MAX_ENTRIES);
    return 0;
}
