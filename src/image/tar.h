/* SPDX-License-Identifier: Apache-2.0 */
/* image/tar.h - a tar stream, written.
 *
 * POSIX ustar, with a pax header before an entry whose path or link is longer than its field.  The
 * same entries make the same bytes: owner root, one time for all.  Written here and not by a
 * library because it is this short, and because every byte of a context then is ours to know.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct gb_err;

/* Takes the bytes in order; 0 or the negative errno that ends the stream. */
typedef int (*tar_write)(void *user, const void *bytes, size_t len, struct gb_err *err);

struct tar {
    tar_write write;
    void *user;
    uint64_t left; /* of the present file's contents */
    size_t padding;
};

enum tar_kind {
    TAR_FILE = '0',
    TAR_LINK = '2', /* symbolic */
    TAR_DIRECTORY = '5',
};

struct tar_entry {
    enum tar_kind kind;
    const char *path; /* relative; a directory's without a slash at the end */
    unsigned mode;
    uint64_t size;      /* of a file: so many bytes of contents follow */
    const char *target; /* of a link */
};

#define TAR_SIZE_MAX 077777777777ULL

/* The previous entry's contents must be complete. */
int tar_begin(struct tar *tar, const struct tar_entry *entry, struct gb_err *err);
int tar_add(struct tar *tar, const void *bytes, size_t len, struct gb_err *err);

/* The two empty blocks that end it. */
int tar_end(struct tar *tar, struct gb_err *err);
