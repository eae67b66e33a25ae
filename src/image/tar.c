/* SPDX-License-Identifier: Apache-2.0 */
/* image/tar.c - a tar stream, written. */
#include "image/tar.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"

#define BLOCK   512
#define PAX_MAX 12288

/* 1980-01-02: archives of other kinds know no earlier time, and what builds inside makes some. */
#define TIME 315619200ULL

struct header {
    char name[100];
    char mode[8];
    char uid[8];
    char gid[8];
    char size[12];
    char mtime[12];
    char checksum[8];
    char kind;
    char target[100];
    char magic[8];
    char owner[32];
    char group[32];
    char major[8];
    char minor[8];
    char prefix[155];
    char unused[12];
};

_Static_assert(sizeof(struct header) == BLOCK, "a header is one block");

/* Octal digits, and a NUL behind them. */
static void put_octal(char *field, size_t size, uint64_t value)
{
    field[--size] = '\0';
    while (size > 0) {
        field[--size] = (char)('0' + (value & 7));
        value >>= 3;
    }
}

/* What does not fit is in a pax header, and this only for readers that know none. */
static void put_text(char *field, size_t size, const char *text)
{
    memcpy(field, text, strnlen(text, size));
}

static void put_checksum(struct header *header)
{
    const unsigned char *bytes = (const unsigned char *)header;
    unsigned sum = 0;

    memset(header->checksum, ' ', sizeof(header->checksum));
    for (size_t i = 0; i < sizeof(*header); i++)
        sum += bytes[i];
    put_octal(header->checksum, 7, sum);
}

static int put_header(struct tar *tar, char kind, const char *name, unsigned mode, uint64_t size,
                      const char *target, struct gb_err *err)
{
    struct header header = { .kind = kind, .magic = "ustar" };

    put_text(header.name, sizeof(header.name), name);
    put_octal(header.mode, sizeof(header.mode), mode);
    put_octal(header.uid, sizeof(header.uid), 0);
    put_octal(header.gid, sizeof(header.gid), 0);
    put_octal(header.size, sizeof(header.size), size);
    put_octal(header.mtime, sizeof(header.mtime), TIME);
    put_text(header.target, sizeof(header.target), target);
    put_octal(header.major, sizeof(header.major), 0);
    put_octal(header.minor, sizeof(header.minor), 0);
    memcpy(header.magic + 6, "00", 2);
    put_checksum(&header);
    tar->left = size;
    tar->padding = (BLOCK - size % BLOCK) % BLOCK;
    return tar->write(tar->user, &header, sizeof(header), err);
}

/* "LENGTH key=value\n", where the length counts its own digits. */
static void add_record(struct buf *pax, const char *key, const char *value)
{
    size_t rest = strlen(key) + strlen(value) + 3;
    size_t len = rest;
    char digits[24];

    do
        len = rest + (size_t)snprintf(digits, sizeof(digits), "%zu", len);
    while (len != rest + (size_t)snprintf(digits, sizeof(digits), "%zu", len));
    buf_printf(pax, "%zu %s=%s\n", len, key, value);
}

static int put_pax(struct tar *tar, const char *path, const char *target, struct gb_err *err)
{
    cleanup_buf struct buf pax = BUF_INIT(PAX_MAX);
    int r;

    if (strlen(path) > sizeof(((struct header *)NULL)->name))
        add_record(&pax, "path", path);
    if (strlen(target) > sizeof(((struct header *)NULL)->target))
        add_record(&pax, "linkpath", target);
    r = buf_error(&pax);
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_CALLER, "a path is too long for an archive");
    if (pax.len == 0)
        return 0;
    r = put_header(tar, 'x', "pax", 0644, pax.len, "", err);
    return r < 0 ? r : tar_add(tar, pax.data, pax.len, err);
}

int tar_begin(struct tar *tar, const struct tar_entry *entry, struct gb_err *err)
{
    cleanup_buf struct buf path = BUF_INIT(PAX_MAX);
    const char *target = entry->kind == TAR_LINK ? entry->target : "";
    int r;

    assert(tar->left == 0);
    buf_puts(&path, entry->path);
    if (entry->kind == TAR_DIRECTORY)
        buf_putc(&path, '/');
    r = buf_error(&path);
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_CALLER, "a path is too long for an archive");
    r = put_pax(tar, path.data, target, err);
    if (r < 0)
        return r;
    return put_header(tar, (char)entry->kind, path.data, entry->mode,
                      entry->kind == TAR_FILE ? entry->size : 0, target, err);
}

int tar_add(struct tar *tar, const void *bytes, size_t len, struct gb_err *err)
{
    static const char zeros[BLOCK];
    int r;

    assert(len <= tar->left);
    r = len ? tar->write(tar->user, bytes, len, err) : 0;
    tar->left -= len;
    if (r < 0 || tar->left > 0 || tar->padding == 0)
        return r;
    r = tar->write(tar->user, zeros, tar->padding, err);
    tar->padding = 0;
    return r;
}

int tar_end(struct tar *tar, struct gb_err *err)
{
    static const char zeros[2 * BLOCK];

    assert(tar->left == 0);
    return tar->write(tar->user, zeros, sizeof(zeros), err);
}
