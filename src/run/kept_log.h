/* SPDX-License-Identifier: Apache-2.0 */
/* run/kept_log.h - the output of a run in a box that lives on, in files that outlive the command.
 *
 *    runs/r_….log      the beginning, half of what is kept
 *    runs/r_….log.N    what follows, a quarter each; of these the last two are kept
 *
 * A file is a row of chunks, only ever added to.  A chunk is
 *    u32 check | u32 stream | u32 length | u64 position | bytes
 * where position counts all bytes of the run before it, both streams together: a cursor.  A chunk
 * that is not whole, or whose check is wrong, is the end of its file: whoever writes may be killed
 * at any moment, and no reader sees junk.
 *
 * A run that writes nothing has no file.  The directory is the host user's own (0700): nothing in a
 * box reaches it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/id.h"

struct gb_err;
struct kept_log;

#define KEPT_CHUNK_HEAD 20
#define KEPT_CHUNK_MAX  65536

/* ---- writing -------------------------------------------------------------------------------- */

/* keep: bytes on disk at most, heads of chunks included, and one chunk more.  NULL: no memory. */
struct kept_log *kept_log_new(int runs_fd, const char *id, uint64_t keep);

/* A log that cannot be written (the disk is full) ends where it is, and the run goes on. */
void kept_log_add(struct kept_log *log, unsigned stream, const void *bytes, size_t len);

/* 0, or why the log ended before the run. */
int kept_log_error(const struct kept_log *log);
uint64_t kept_log_total(const struct kept_log *log);

void kept_log_free(struct kept_log *log);

/* ---- reading -------------------------------------------------------------------------------- */

struct kept_chunk {
    unsigned stream;
    const uint8_t *bytes; /* until the next call */
    size_t len;
};

/* Its fields are its own but for these three. */
struct kept_reader {
    uint64_t cursor;  /* where it stands */
    uint64_t dropped; /* bytes that were not kept, on the way from the first cursor */
    int fd;           /* the present file; -1: to be opened */
    int runs_fd;
    uint32_t segment;
    uint64_t offset;
    char id[ID_SIZE];
    uint8_t data[KEPT_CHUNK_MAX];
};

/* runs_fd stays the caller's and must outlive it. */
void kept_reader_init(struct kept_reader *reader, int runs_fd, const char *id, uint64_t cursor);
void kept_reader_clear(struct kept_reader *reader);

/* 1: a chunk.  0: there is no more at present. */
int kept_reader_next(struct kept_reader *reader, struct kept_chunk *ret);

/* Removes all files of a log. */
void kept_log_remove(int runs_fd, const char *id);
