/* SPDX-License-Identifier: Apache-2.0 */
/* wire/listing.c - what lies in a directory, as a byte stream on a channel. */
#include "wire/listing.h"

#include <errno.h>
#include <string.h>

#include "wire/bytes.h"

#define MODE_MAX 07777

static const char *const kind_names[] = {
    [LISTING_FILE] = "file",          [LISTING_DIRECTORY] = "directory",
    [LISTING_LINK] = "link",          [LISTING_PIPE] = "pipe",
    [LISTING_SOCKET] = "socket",      [LISTING_CHARACTER] = "character device",
    [LISTING_BLOCK] = "block device",
};

const char *listing_kind_name(enum listing_kind kind)
{
    return kind_names[kind];
}

static bool is_name(const char *name)
{
    size_t len = strlen(name);

    return len > 0 && len <= LISTING_NAME_MAX && !strchr(name, '/') && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0;
}

int listing_put(const struct listing_entry *entry,
                uint8_t bytes[static LISTING_HEAD_SIZE + LISTING_NAME_MAX])
{
    size_t len;

    memset(bytes, 0, LISTING_HEAD_SIZE);
    if (!entry)
        return LISTING_HEAD_SIZE;
    if ((!is_name(entry->name) && strcmp(entry->name, ".") != 0) || entry->mode > MODE_MAX)
        return -EINVAL;
    len = strlen(entry->name);
    wire_put_u16(bytes, (uint16_t)len);
    wire_put_u16(bytes + 2, entry->mode);
    wire_put_u16(bytes + 4, (uint16_t)entry->kind);
    wire_put_u64(bytes + 6, entry->size);
    wire_put_u64(bytes + 14, (uint64_t)entry->changed_ns);
    memcpy(bytes + LISTING_HEAD_SIZE, entry->name, len);
    return (int)(LISTING_HEAD_SIZE + len);
}

static int head_complete(struct listing_reader *reader)
{
    static const uint8_t end[LISTING_HEAD_SIZE];
    uint16_t kind = wire_get_u16(reader->head + 4);

    if (memcmp(reader->head, end, sizeof(end)) == 0) {
        reader->is_complete = true;
        return 0;
    }
    reader->name_size = wire_get_u16(reader->head);
    reader->item.mode = wire_get_u16(reader->head + 2);
    reader->item.kind = (enum listing_kind)kind;
    reader->item.size = wire_get_u64(reader->head + 6);
    reader->item.changed_ns = (int64_t)wire_get_u64(reader->head + 14);
    if (reader->name_size == 0 || reader->name_size > LISTING_NAME_MAX ||
        reader->item.mode > MODE_MAX || kind < LISTING_FILE || kind > LISTING_BLOCK)
        return -EPROTO;
    return reader->n_entries++ < reader->max_entries ? 0 : -EFBIG;
}

static int name_complete(struct listing_reader *reader)
{
    char *name = reader->item.name;

    name[reader->name_size] = '\0';
    reader->have = 0;
    if (strlen(name) != reader->name_size)
        return -EPROTO;
    if (reader->is_self ? strcmp(name, ".") != 0 : !is_name(name))
        return -EPROTO;
    return reader->entry(reader->user, &reader->item);
}

/* One step: takes at least one byte. */
static int feed_some(struct listing_reader *reader, const uint8_t *bytes, size_t len, size_t *ret_n)
{
    bool is_head = reader->have < LISTING_HEAD_SIZE;
    size_t whole = is_head ? LISTING_HEAD_SIZE : LISTING_HEAD_SIZE + reader->name_size;
    size_t n = whole - reader->have < len ? whole - reader->have : len;

    if (is_head)
        memcpy(reader->head + reader->have, bytes, n);
    else
        memcpy(reader->item.name + reader->have - LISTING_HEAD_SIZE, bytes, n);
    reader->have += n;
    *ret_n = n;
    if (reader->have < whole)
        return 0;
    return is_head ? head_complete(reader) : name_complete(reader);
}

int listing_reader_feed(struct listing_reader *reader, const uint8_t *bytes, size_t len)
{
    while (len > 0) {
        size_t n = 0;
        int r = reader->is_complete ? -EPROTO : feed_some(reader, bytes, len, &n);

        if (r < 0)
            return r;
        bytes += n;
        len -= n;
    }
    return 0;
}
