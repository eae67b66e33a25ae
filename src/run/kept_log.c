/* SPDX-License-Identifier: Apache-2.0 */
/* run/kept_log.c - the output of a run in a box that lives on, in files that outlive the command.
 */
#include "run/kept_log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/num.h"
#include "wire/bytes.h"

#define LOG_ENDING ".log"

struct kept_log {
    int runs_fd;
    int fd; /* the present file; -1: nothing has been written yet */
    uint32_t segment;
    uint64_t keep;
    uint64_t size; /* of the present file */
    uint64_t position;
    int error;
    char id[ID_SIZE];
};

static void file_name(const char *id, uint32_t segment, char ret[static NAME_MAX])
{
    if (segment == 0)
        (void)snprintf(ret, NAME_MAX, "%s" LOG_ENDING, id);
    else
        (void)snprintf(ret, NAME_MAX, "%s" LOG_ENDING ".%u", id, (unsigned)segment);
}

/* So that a head which the kernel never wrote, or somebody else did, is not taken for one. */
static uint32_t check_of(const uint8_t head[static KEPT_CHUNK_HEAD])
{
    uint32_t hash = 0x811c9dc5u;

    for (size_t i = 4; i < KEPT_CHUNK_HEAD; i++)
        hash = (hash ^ head[i]) * 0x01000193u;
    return hash;
}

/* ---- writing -------------------------------------------------------------------------------- */

static int segment_open(struct kept_log *log)
{
    char name[NAME_MAX];
    int fd;

    file_name(log->id, log->segment, name);
    fd = openat(log->runs_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    log->fd = fd;
    log->size = 0;
    return 0;
}

struct kept_log *kept_log_new(int runs_fd, const char *id, uint64_t keep)
{
    struct kept_log *log = calloc(1, sizeof(*log));

    if (!log)
        return NULL;
    *log = (struct kept_log){ .runs_fd = runs_fd, .fd = -1, .keep = keep };
    (void)snprintf(log->id, sizeof(log->id), "%s", id);
    return log;
}

static void segment_remove(const struct kept_log *log, uint32_t segment)
{
    char name[NAME_MAX];

    file_name(log->id, segment, name);
    (void)unlinkat(log->runs_fd, name, 0);
}

/* The new file is there before the oldest goes: a reader always finds where to go on. */
static int segment_next(struct kept_log *log)
{
    int old = log->fd;
    int r;

    log->segment++;
    r = segment_open(log);
    if (r < 0)
        return r;
    close(old);
    if (log->segment > 2)
        segment_remove(log, log->segment - 2);
    return 0;
}

static int chunk_write(struct kept_log *log, unsigned stream, const void *bytes, size_t len)
{
    uint64_t most = log->segment == 0 ? log->keep / 2 : log->keep / 4;
    uint8_t head[KEPT_CHUNK_HEAD];
    struct iovec parts[2] = { { head, sizeof(head) }, { (void *)(uintptr_t)bytes, len } };
    ssize_t n;
    int r = log->fd < 0 ? segment_open(log) : 0;

    if (log->size + sizeof(head) + len > most && log->size > 0)
        r = segment_next(log);
    if (r < 0)
        return r;
    wire_put_u32(head + 4, stream);
    wire_put_u32(head + 8, (uint32_t)len);
    wire_put_u64(head + 12, log->position);
    wire_put_u32(head, check_of(head));
    n = writev(log->fd, parts, 2);
    if (n != (ssize_t)(sizeof(head) + len))
        return n < 0 ? -errno : -ENOSPC;
    log->size += sizeof(head) + len;
    return 0;
}

void kept_log_add(struct kept_log *log, unsigned stream, const void *bytes, size_t len)
{
    const uint8_t *at = bytes;

    while (len > 0) {
        size_t n = len < KEPT_CHUNK_MAX ? len : KEPT_CHUNK_MAX;

        if (log->error == 0)
            log->error = chunk_write(log, stream, at, n);
        log->position += n;
        at += n;
        len -= n;
    }
}

int kept_log_error(const struct kept_log *log)
{
    return log->error;
}

uint64_t kept_log_total(const struct kept_log *log)
{
    return log->position;
}

void kept_log_free(struct kept_log *log)
{
    if (!log)
        return;
    if (log->fd >= 0)
        close(log->fd);
    free(log);
}

/* ---- its files ------------------------------------------------------------------------------ */

/* The number of a file of this log; -1 for any other name. */
static int64_t segment_of(const char *id, const char *name)
{
    size_t len = strlen(id);
    uint64_t number;

    if (strncmp(name, id, len) != 0 || strncmp(name + len, LOG_ENDING, strlen(LOG_ENDING)) != 0)
        return -1;
    name += len + strlen(LOG_ENDING);
    if (!*name)
        return 0;
    if (*name != '.' || num_parse_u64(name + 1, 1, UINT32_MAX, &number) < 0)
        return -1;
    return (int64_t)number;
}

static DIR *files_open(int runs_fd)
{
    int fd = openat(runs_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (!dir && fd >= 0)
        close(fd);
    return dir;
}

/* The first from `least` on; -1 when there is none. */
static int64_t segment_find(int runs_fd, const char *id, uint32_t least)
{
    DIR *dir = files_open(runs_fd);
    const struct dirent *entry;
    int64_t found = -1;

    while (dir && (entry = readdir(dir)) != NULL) {
        int64_t number = segment_of(id, entry->d_name);

        if (number >= (int64_t)least && (found < 0 || number < found))
            found = number;
    }
    if (dir)
        (void)closedir(dir);
    return found;
}

void kept_log_remove(int runs_fd, const char *id)
{
    int64_t segment;

    for (uint32_t i = 0; (segment = segment_find(runs_fd, id, i)) >= 0; i = (uint32_t)segment + 1) {
        char name[NAME_MAX];

        file_name(id, (uint32_t)segment, name);
        (void)unlinkat(runs_fd, name, 0);
        if (segment == UINT32_MAX)
            break;
    }
}

/* ---- reading -------------------------------------------------------------------------------- */

void kept_reader_init(struct kept_reader *reader, int runs_fd, const char *id, uint64_t cursor)
{
    reader->cursor = cursor;
    reader->dropped = 0;
    reader->fd = -1;
    reader->runs_fd = runs_fd;
    reader->segment = 0;
    reader->offset = 0;
    (void)snprintf(reader->id, sizeof(reader->id), "%s", id);
}

void kept_reader_clear(struct kept_reader *reader)
{
    drop_fd(&reader->fd);
}

/* 1: a file is open.  0: there is none from here on. */
static int open_from(struct kept_reader *reader, uint32_t least)
{
    int64_t segment = segment_find(reader->runs_fd, reader->id, least);
    char name[NAME_MAX];
    int fd;

    if (segment < 0)
        return 0;
    file_name(reader->id, (uint32_t)segment, name);
    fd = openat(reader->runs_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return errno == ENOENT ? 0 : -errno; /* it went in this moment: looked for next time */
    drop_fd(&reader->fd);
    reader->fd = fd;
    reader->segment = (uint32_t)segment;
    reader->offset = 0;
    return 1;
}

struct head {
    uint32_t stream;
    uint32_t len;
    uint64_t position;
};

/* The head at the present place, if the chunk is whole. */
static bool read_head(const struct kept_reader *reader, struct head *ret)
{
    uint8_t head[KEPT_CHUNK_HEAD];
    struct stat st;

    if (pread(reader->fd, head, sizeof(head), (off_t)reader->offset) != (ssize_t)sizeof(head) ||
        wire_get_u32(head) != check_of(head))
        return false;
    ret->stream = wire_get_u32(head + 4);
    ret->len = wire_get_u32(head + 8);
    ret->position = wire_get_u64(head + 12);
    return (ret->stream == 1 || ret->stream == 2) && ret->len > 0 && ret->len <= KEPT_CHUNK_MAX &&
           ret->position <= UINT64_MAX / 2 && fstat(reader->fd, &st) == 0 &&
           (uint64_t)st.st_size >= reader->offset + sizeof(head) + ret->len;
}

/* Takes the chunk with that head, or passes over it.  1: there is something of it. */
static int take_chunk(struct kept_reader *reader, const struct head *head, struct kept_chunk *ret)
{
    uint64_t at = reader->offset + KEPT_CHUNK_HEAD;
    size_t skip;

    reader->offset = at + head->len;
    if (head->position + head->len <= reader->cursor)
        return 0;
    if (pread(reader->fd, reader->data, head->len, (off_t)at) != (ssize_t)head->len)
        return -EIO;
    if (head->position > reader->cursor) {
        reader->dropped += head->position - reader->cursor;
        reader->cursor = head->position;
    }
    skip = (size_t)(reader->cursor - head->position);
    reader->cursor = head->position + head->len;
    *ret = (struct kept_chunk){
        .stream = head->stream,
        .bytes = reader->data + skip,
        .len = head->len - skip,
    };
    return 1;
}

/* 0: the file has no more chunks that are whole. */
static int take_next(struct kept_reader *reader, struct kept_chunk *ret)
{
    struct head head;
    int r = 0;

    while (r == 0 && read_head(reader, &head))
        r = take_chunk(reader, &head, ret);
    return r;
}

int kept_reader_next(struct kept_reader *reader, struct kept_chunk *ret)
{
    int r = reader->fd >= 0 ? 1 : open_from(reader, reader->segment);

    while (r > 0) {
        r = take_next(reader, ret);
        if (r != 0 || segment_find(reader->runs_fd, reader->id, reader->segment + 1) < 0)
            return r;
        /* Once there is a next file nothing is added to this one; until then something was. */
        r = take_next(reader, ret);
        if (r != 0)
            return r;
        r = open_from(reader, reader->segment + 1);
    }
    return r;
}
