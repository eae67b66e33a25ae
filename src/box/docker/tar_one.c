/* SPDX-License-Identifier: Apache-2.0 */
/* box/docker/tar_one.c - a tar with one file in it. */
#include "box/docker/tar_one.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Where the fields of a ustar head are. */
#define AT_NAME     0
#define AT_MODE     100
#define AT_UID      108
#define AT_GID      116
#define AT_SIZE     124
#define AT_TIME     136
#define AT_CHECKSUM 148
#define AT_TYPE     156
#define AT_MAGIC    257

static void put_octal(unsigned char *head, size_t at, size_t digits, unsigned long long value)
{
    char text[24];

    (void)snprintf(text, sizeof(text), "%0*llo", (int)digits, value);
    memcpy(head + at, text, digits + 1);
}

void tar_one_init(struct tar_one *tar, const char *name, unsigned mode, const void *bytes,
                  size_t len)
{
    unsigned sum = 0;

    *tar = (struct tar_one){ .bytes = bytes, .len = len };
    (void)snprintf((char *)tar->head + AT_NAME, 100, "%s", name);
    put_octal(tar->head, AT_MODE, 7, mode);
    put_octal(tar->head, AT_UID, 7, 0);
    put_octal(tar->head, AT_GID, 7, 0);
    put_octal(tar->head, AT_SIZE, 11, len);
    put_octal(tar->head, AT_TIME, 11, 0);
    memset(tar->head + AT_CHECKSUM, ' ', 8);
    tar->head[AT_TYPE] = '0';
    memcpy(tar->head + AT_MAGIC,
           "ustar\0"
           "00",
           8);
    for (size_t i = 0; i < TAR_BLOCK; i++)
        sum += tar->head[i];
    put_octal(tar->head, AT_CHECKSUM, 6, sum);
}

static size_t padded(size_t len)
{
    return (len + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
}

ssize_t tar_one_read(struct tar_one *tar, void *bytes, size_t size)
{
    static const unsigned char zeros[2 * TAR_BLOCK];
    const struct {
        const unsigned char *bytes;
        size_t len;
    } parts[] = {
        { tar->head, TAR_BLOCK },
        { tar->bytes, tar->len },
        { zeros, padded(tar->len) - tar->len },
        { zeros, sizeof(zeros) },
    };
    size_t begin = 0;

    for (size_t i = 0; i < N_ELEMENTS(parts); i++) {
        size_t end = begin + parts[i].len;

        if (tar->at < end) {
            size_t n = end - tar->at < size ? end - tar->at : size;

            memcpy(bytes, parts[i].bytes + (tar->at - begin), n);
            tar->at += n;
            return (ssize_t)n;
        }
        begin = end;
    }
    return 0;
}

/* Heads of other kinds (pax) may come before it. */
bool tar_one_holds(const char *tar, size_t tar_len, const void *bytes, size_t len)
{
    size_t at = 0;

    while (tar_len - at >= TAR_BLOCK) {
        char digits[12] = "";
        size_t size;

        memcpy(digits, tar + at + AT_SIZE, 11);
        size = (size_t)strtoull(digits, NULL, 8);
        if (size > tar_len - at - TAR_BLOCK)
            return false;
        if (tar[at + AT_TYPE] == '0' || tar[at + AT_TYPE] == '\0')
            return size == len && memcmp(tar + at + TAR_BLOCK, bytes, len) == 0;
        at += TAR_BLOCK + padded(size);
        if (at > tar_len)
            return false;
    }
    return false;
}
