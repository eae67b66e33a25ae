/* SPDX-License-Identifier: Apache-2.0 */
/* wire/crate.h - files as a byte stream on a channel.
 *
 * A crate is a row of items and an end mark.  An item is
 *    u16 path length | u16 kind << 12 | mode (0-0777) | u64 size | path | size bytes of contents
 * and the end mark is an item head with path length 0, mode 0 and size 0.  Only regular files
 * travel; directories come into being with the files below them.  A listing has no contents: its
 * reader is told so.
 *
 * A crate of all kinds, which both ends must have agreed on, has links too, whose contents is where
 * they lead to, and every directory behind what lies in it, with its mode and no contents.  The
 * size of its end mark tells how many names were passed over.
 *
 * The reader is a state machine fed with pieces of any length.  What it reads is hostile: paths
 * must satisfy path_is_below(), and counts and sizes have caps that its owner sets.  Where a link
 * leads to is any text without a NUL: nobody follows it on the host.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CRATE_HEAD_SIZE 12
#define CRATE_PATH_MAX  4095

enum crate_kind {
    CRATE_FILE,
    CRATE_DIR,
    CRATE_LINK,
};

struct crate_item {
    enum crate_kind kind;
    uint16_t mode;
    uint64_t size;
    char path[CRATE_PATH_MAX + 1];
};

/* Writes head and path to bytes (CRATE_HEAD_SIZE + strlen(path) of them); the length, or -EINVAL
 * for a path that may not travel.  path "" makes the end mark. */
int crate_head_put(const char *path, unsigned mode, uint64_t size,
                   uint8_t bytes[static CRATE_HEAD_SIZE + CRATE_PATH_MAX]);

/* The same for a crate of all kinds. */
int crate_kind_put(enum crate_kind kind, const char *path, unsigned mode, uint64_t size,
                   uint8_t bytes[static CRATE_HEAD_SIZE + CRATE_PATH_MAX]);

struct crate_caps {
    uint64_t files;
    uint64_t bytes;     /* of all contents together */
    bool has_all_kinds; /* links and directories come too */
};

/* What the reader's owner is told, in order: item, its contents piece by piece, done. */
struct crate_ops {
    int (*item)(void *user, const struct crate_item *item);
    int (*data)(void *user, const uint8_t *bytes, size_t len);
    int (*done)(void *user); /* the item is complete */
};

enum crate_state {
    CRATE_HEAD,
    CRATE_PATH,
    CRATE_DATA,
    CRATE_END,
};

struct crate_reader {
    const struct crate_ops *ops;
    void *user;
    struct crate_caps caps;
    bool is_listing;
    enum crate_state state;
    size_t have;      /* bytes of the present head or path */
    size_t path_size; /* as the head said */
    uint64_t left;    /* contents still to come */
    uint64_t files;
    uint64_t bytes;
    uint64_t passed_over; /* as the end mark said */
    uint8_t head[CRATE_HEAD_SIZE];
    struct crate_item item;
};

void crate_reader_init(struct crate_reader *reader, const struct crate_ops *ops, void *user,
                       struct crate_caps caps, bool is_listing);

/* 0; -EPROTO for a malformed crate, also for bytes behind its end; -EFBIG for one over a cap; or
 * what ops returned.  After a failure the reader is not fed again. */
int crate_reader_feed(struct crate_reader *reader, const uint8_t *bytes, size_t len);

/* Has the end mark been read? */
bool crate_reader_is_complete(const struct crate_reader *reader);
