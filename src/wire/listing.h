/* SPDX-License-Identifier: Apache-2.0 */
/* wire/listing.h - what lies in a directory, as a byte stream on a channel.
 *
 * A listing is a row of entries and an end mark.  An entry is
 *    u16 name length | u16 mode (0-07777) | u16 kind | u64 size | i64 time of change (ns) | name
 * and the end mark is an entry head that is all zero.  Entries are told, not opened: links, pipes,
 * sockets and devices are named like files.
 *
 * The reader is a state machine fed with pieces of any length.  What it reads is hostile: a name is
 * one component that leads nowhere else, kinds are known ones, and the count has a cap.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LISTING_HEAD_SIZE 22
#define LISTING_NAME_MAX  255

enum listing_kind {
    LISTING_FILE = 1,
    LISTING_DIRECTORY,
    LISTING_LINK,
    LISTING_PIPE,
    LISTING_SOCKET,
    LISTING_CHARACTER,
    LISTING_BLOCK,
};

struct listing_entry {
    enum listing_kind kind;
    uint16_t mode;
    uint64_t size;
    int64_t changed_ns;              /* since 1970; of its contents */
    char name[LISTING_NAME_MAX + 1]; /* "." for the thing itself */
};

/* "file", "directory", … */
const char *listing_kind_name(enum listing_kind kind);

/* Writes an entry, or with NULL the end mark; the length, or -EINVAL for a name that may not
 * travel. */
int listing_put(const struct listing_entry *entry,
                uint8_t bytes[static LISTING_HEAD_SIZE + LISTING_NAME_MAX]);

struct listing_reader {
    int (*entry)(void *user, const struct listing_entry *entry);
    void *user;
    uint64_t max_entries;
    bool is_self; /* one entry, named "."; else none is */
    bool is_complete;
    uint64_t n_entries;
    size_t have; /* bytes of the present entry */
    size_t name_size;
    uint8_t head[LISTING_HEAD_SIZE];
    struct listing_entry item;
};

/* 0; -EPROTO for a malformed listing, also for bytes behind its end; -EFBIG for one over the cap;
 * or what entry() returned.  After a failure the reader is not fed again. */
int listing_reader_feed(struct listing_reader *reader, const uint8_t *bytes, size_t len);
