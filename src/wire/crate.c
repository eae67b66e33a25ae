/* SPDX-License-Identifier: Apache-2.0 */
/* wire/crate.c - files as a byte stream on a channel. */
#include "wire/crate.h"

#include <errno.h>
#include <string.h>

#include "base/path.h"
#include "wire/bytes.h"

#define KIND_SHIFT 12

/* Of a directory there is nothing but its name, and a link leads somewhere. */
static bool has_right_size(unsigned kind, uint64_t size)
{
    return kind == CRATE_FILE || (kind == CRATE_DIR && size == 0) ||
           (kind == CRATE_LINK && size > 0 && size <= CRATE_PATH_MAX);
}

int crate_kind_put(enum crate_kind kind, const char *path, unsigned mode, uint64_t size,
                   uint8_t bytes[static CRATE_HEAD_SIZE + CRATE_PATH_MAX])
{
    size_t len = strlen(path);

    if (len > CRATE_PATH_MAX || mode > 0777 || (len > 0 && !path_is_below(path)) ||
        !has_right_size(kind, size))
        return -EINVAL;
    wire_put_u16(bytes, (uint16_t)len);
    wire_put_u16(bytes + 2, (uint16_t)(mode | (unsigned)kind << KIND_SHIFT));
    wire_put_u64(bytes + 4, size);
    memcpy(bytes + CRATE_HEAD_SIZE, path, len);
    return (int)(CRATE_HEAD_SIZE + len);
}

int crate_head_put(const char *path, unsigned mode, uint64_t size,
                   uint8_t bytes[static CRATE_HEAD_SIZE + CRATE_PATH_MAX])
{
    return crate_kind_put(CRATE_FILE, path, mode, size, bytes);
}

void crate_reader_init(struct crate_reader *reader, const struct crate_ops *ops, void *user,
                       struct crate_caps caps, bool is_listing)
{
    *reader = (struct crate_reader){
        .ops = ops,
        .user = user,
        .caps = caps,
        .is_listing = is_listing,
    };
}

bool crate_reader_is_complete(const struct crate_reader *reader)
{
    return reader->state == CRATE_END;
}

/* Fills `to` up to `want` bytes; the number taken from the input. */
static size_t gather(struct crate_reader *reader, uint8_t *to, size_t want, const uint8_t *bytes,
                     size_t len)
{
    size_t n = want - reader->have < len ? want - reader->have : len;

    memcpy(to + reader->have, bytes, n);
    reader->have += n;
    return n;
}

static int end_complete(struct crate_reader *reader, unsigned mode, uint64_t size)
{
    reader->state = CRATE_END;
    reader->passed_over = size;
    return mode == 0 && (size == 0 || reader->caps.has_all_kinds) ? 0 : -EPROTO;
}

static int head_complete(struct crate_reader *reader)
{
    uint16_t path_size = wire_get_u16(reader->head);
    uint16_t mode = wire_get_u16(reader->head + 2);
    uint64_t size = wire_get_u64(reader->head + 4);
    unsigned kind = reader->caps.has_all_kinds ? mode >> KIND_SHIFT : 0;

    reader->have = 0;
    if (path_size == 0)
        return end_complete(reader, mode, size);
    mode = (uint16_t)(mode & ~(kind << KIND_SHIFT));
    if (path_size > CRATE_PATH_MAX || mode > 0777 || !has_right_size(kind, size))
        return -EPROTO;
    if (reader->files >= reader->caps.files)
        return -EFBIG;
    if (!reader->is_listing && size > reader->caps.bytes - reader->bytes)
        return -EFBIG;
    reader->files++;
    reader->path_size = path_size;
    reader->item.kind = (enum crate_kind)kind;
    reader->item.mode = mode;
    reader->item.size = size;
    reader->left = reader->is_listing ? 0 : size;
    reader->bytes += reader->left;
    reader->state = CRATE_PATH;
    return 0;
}

static int item_complete(struct crate_reader *reader)
{
    reader->state = CRATE_HEAD;
    return reader->ops->done(reader->user);
}

static int path_complete(struct crate_reader *reader)
{
    int r;

    reader->have = 0;
    reader->item.path[reader->path_size] = '\0';
    if (strlen(reader->item.path) != reader->path_size || !path_is_below(reader->item.path))
        return -EPROTO;
    r = reader->ops->item(reader->user, &reader->item);
    if (r < 0)
        return r;
    if (reader->left == 0)
        return item_complete(reader);
    reader->state = CRATE_DATA;
    return 0;
}

static int feed_data(struct crate_reader *reader, const uint8_t *bytes, size_t len, size_t *ret_n)
{
    size_t n = reader->left < len ? (size_t)reader->left : len;
    int r;

    *ret_n = n;
    if (reader->item.kind == CRATE_LINK && memchr(bytes, '\0', n))
        return -EPROTO;
    r = reader->ops->data(reader->user, bytes, n);
    if (r < 0)
        return r;
    reader->left -= n;
    return reader->left == 0 ? item_complete(reader) : 0;
}

/* One step: takes at least one byte. */
static int feed_some(struct crate_reader *reader, const uint8_t *bytes, size_t len, size_t *ret_n)
{
    switch (reader->state) {
    case CRATE_HEAD:
        *ret_n = gather(reader, reader->head, CRATE_HEAD_SIZE, bytes, len);
        return reader->have == CRATE_HEAD_SIZE ? head_complete(reader) : 0;
    case CRATE_PATH:
        *ret_n = gather(reader, (uint8_t *)reader->item.path, reader->path_size, bytes, len);
        return reader->have == reader->path_size ? path_complete(reader) : 0;
    case CRATE_DATA:
        return feed_data(reader, bytes, len, ret_n);
    case CRATE_END:
        break;
    }
    return -EPROTO;
}

int crate_reader_feed(struct crate_reader *reader, const uint8_t *bytes, size_t len)
{
    while (len > 0) {
        size_t n = 0;
        int r = feed_some(reader, bytes, len, &n);

        if (r < 0)
            return r;
        bytes += n;
        len -= n;
    }
    return 0;
}
