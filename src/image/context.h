/* SPDX-License-Identifier: Apache-2.0 */
/* image/context.h - the directory that an image is built from, as a tar stream.
 *
 * The directory is anybody's.  Each name is opened from the directory it stands in and never
 * through a link; a link travels as a link, whatever it points to; pipes, sockets and devices are
 * left out and counted.  A file is read once, from the descriptor that its size came from; one that
 * shrinks meanwhile ends the stream.  Directories are walked in the order of the bytes of their
 * names, so that the same files make the same stream.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "image/tar.h"

struct buf;
struct gb_err;
struct ignore;
struct template_facts;

#define CONTEXT_ENTRIES_MAX 100000
#define CONTEXT_BYTES_MAX   (2ULL << 30)
#define CONTEXT_DEPTH_MAX   64
#define CONTEXT_PATH_MAX    4000

/* O_RDONLY and close-on-exec; the caller's to close. */
int context_open(const char *path, struct gb_err *err);

/* The Dockerfile of that name (relative; no link on the way).  -ENOENT when there is none. */
int context_read_dockerfile(int dir_fd, const char *name, struct buf *ret, struct gb_err *err);

/* What .dockerignore says; *ret is NULL when there is none. */
int context_read_ignore(int dir_fd, struct ignore **ret, struct gb_err *err);

/* What the files at the top of the context tell about it, for the choice of a template. */
int context_look(int dir_fd, struct template_facts *ret, struct gb_err *err);

struct context_spec {
    int dir_fd;
    struct ignore *ignore; /* or NULL */
    /* What is built, under a name at the top that replaces whatever the directory has there: the
     * engine reads what was checked.  NULL: none. */
    const char *dockerfile_name;
    const char *dockerfile;
    size_t dockerfile_len;
    uint64_t max_entries; /* 0: CONTEXT_ENTRIES_MAX */
    uint64_t max_bytes;   /* of all files; 0: CONTEXT_BYTES_MAX */
};

struct context_report {
    uint64_t n_entries; /* written */
    uint64_t n_bytes;   /* of files */
    uint64_t n_ignored; /* a directory that is not entered is one */
    uint64_t n_skipped; /* pipes, sockets, devices */
    char skipped[256];  /* the first of these, cut */
};

/* Writes the whole stream.  -EFBIG names the cap that was reached, -ESTALE the file that changed;
 * what was written before stays written. */
int context_write(const struct context_spec *spec, tar_write write, void *user,
                  struct context_report *ret, struct gb_err *err);
