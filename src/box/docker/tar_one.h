/* SPDX-License-Identifier: Apache-2.0 */
/* box/docker/tar_one.h - a tar with one file in it, read piece by piece; and one looked into. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define TAR_BLOCK 512

struct tar_one {
    unsigned char head[TAR_BLOCK];
    const unsigned char *bytes;
    size_t len;
    size_t at; /* how much of head, contents, padding and end has been read */
};

/* name: shorter than 100 bytes. */
void tar_one_init(struct tar_one *tar, const char *name, unsigned mode, const void *bytes,
                  size_t len);

/* The next bytes; 0 at the end. */
ssize_t tar_one_read(struct tar_one *tar, void *bytes, size_t size);

/* Is there a file with just these contents in it, as the first one? */
bool tar_one_holds(const char *tar, size_t tar_len, const void *bytes, size_t len);
