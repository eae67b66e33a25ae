/* SPDX-License-Identifier: Apache-2.0 */
/* box/net_log.c - what the network of a box that lives on decided, in its directory. */
#include "box/net_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "box/carry.h"
#include "egress/resolve.h"
#include "json/bind.h"
#include "json/writer.h"

#define LOG_FILE "network.log"
#define OLD_FILE "network.old"
#define LINE_MAX 2048

/* Lines in a second; what comes beyond them is counted, and told so often. */
#define LINES_MAX 100
#define MORE_MS   100

struct net_log {
    int dir_fd;
    int fd;
    uint64_t size;
    uint64_t second; /* in which … */
    uint64_t n;      /* … so many lines were written */
    uint64_t n_more; /* and so many not, … */
    uint64_t due_ns; /* … which is to be told then */
    struct net_totals totals;
};

/* ---- writing -------------------------------------------------------------------------------- */

static int log_open(struct net_log *log)
{
    log->fd =
        openat(log->dir_fd, LOG_FILE, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    log->size = 0;
    return log->fd < 0 ? -errno : 0;
}

int net_log_new(int dir_fd, struct net_log **ret, struct gb_err *err)
{
    struct net_log *log = calloc(1, sizeof(*log));
    int r = log ? 0 : -ENOMEM;

    if (log) {
        log->dir_fd = dir_fd;
        r = log_open(log);
    }
    if (r < 0) {
        free(log);
        return gb_fail(err, r, GB_BLAME_HOST, "the log of a network: %s", strerror(-r));
    }
    *ret = log;
    return 0;
}

static void write_line(struct net_log *log, const struct buf *line)
{
    if (log->size + line->len > NET_LOG_MAX) {
        (void)renameat(log->dir_fd, LOG_FILE, log->dir_fd, OLD_FILE);
        drop_fd(&log->fd);
        (void)log_open(log);
    }
    if (log->fd >= 0 && fd_write_full(log->fd, line->data, line->len) == 0)
        log->size += line->len;
}

static void put_totals(struct json_writer *w, const struct net_totals *totals)
{
    json_put_u64(w, "connections", totals->connections);
    json_put_u64(w, "refused", totals->refused);
    json_put_u64(w, "all_sent", totals->bytes_sent);
    json_put_u64(w, "all_received", totals->bytes_received);
}

static uint64_t wall_clock_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return clock_ns_of(now) / NS_PER_MS;
}

static void line_begin(struct json_writer *w, struct buf *line, const char *what, uint64_t now_ms)
{
    json_writer_init(w, line, false);
    json_object_begin(w, NULL);
    json_put_u64(w, "at_ms", now_ms);
    json_put_str(w, "what", what);
}

static void line_end(struct net_log *log, struct json_writer *w, struct buf *line)
{
    put_totals(w, &log->totals);
    json_object_end(w);
    (void)json_writer_end(w);
    if (buf_putc(line, '\n') == 0)
        write_line(log, line);
}

static void tell_more(struct net_log *log, uint64_t now_ms)
{
    cleanup_buf struct buf line = BUF_INIT(LINE_MAX);
    struct json_writer w;

    if (!log->n_more)
        return;
    line_begin(&w, &line, "more", now_ms);
    json_put_u64(&w, "count", log->n_more);
    line_end(log, &w, &line);
    log->n_more = 0;
}

static bool may_write(struct net_log *log, uint64_t now_ms)
{
    if (log->second != now_ms / 1000) {
        log->second = now_ms / 1000;
        log->n = 0;
        tell_more(log, now_ms);
    }
    if (log->n == LINES_MAX) {
        if (log->n_more++ == 0)
            log->due_ns = clock_after_ms(MORE_MS);
        return false;
    }
    log->n++;
    return true;
}

static void count(struct net_totals *totals, const struct carry_note *note)
{
    totals->refused += note->answer != NET_YES;
    if (note->is_end) {
        totals->bytes_sent += note->bytes_sent;
        totals->bytes_received += note->bytes_received;
    } else {
        totals->connections += note->answer == NET_YES && note->error == 0 && note->port != 0;
    }
}

void net_log_note(void *user, const struct carry_note *note)
{
    struct net_log *log = user;
    cleanup_buf struct buf line = BUF_INIT(LINE_MAX);
    char address[NET_ADDRESS_TEXT_MAX];
    uint64_t now_ms = wall_clock_ms();
    struct json_writer w;

    count(&log->totals, note);
    if (!may_write(log, now_ms))
        return;
    line_begin(&w, &line, note->is_end ? "end" : note->port ? "connection" : "look-up", now_ms);
    json_put_bool(&w, "allowed", note->answer == NET_YES);
    if (note->answer != NET_YES)
        json_put_str(&w, "reason", net_answer_text(note->answer));
    else if (note->error)
        json_put_str(&w, "reason", resolve_error_text(note->error));
    if (*note->name)
        json_put_str(&w, "name", note->name);
    if (note->address)
        json_put_str(&w, "address", net_address_text(note->address, address));
    json_put_u64(&w, "port", note->port);
    json_put_u64(&w, "sent", note->bytes_sent);
    json_put_u64(&w, "received", note->bytes_received);
    line_end(log, &w, &line);
}

uint64_t net_log_due_ns(const struct net_log *log)
{
    return log->n_more ? log->due_ns : CLOCK_NEVER_NS;
}

void net_log_tell(struct net_log *log)
{
    if (clock_now_ns() >= net_log_due_ns(log))
        tell_more(log, wall_clock_ms());
}

void net_log_free(struct net_log *log)
{
    if (!log)
        return;
    tell_more(log, wall_clock_ms());
    drop_fd(&log->fd);
    free(log);
}

/* ---- reading -------------------------------------------------------------------------------- */

#define AT(field) offsetof(struct net_line, field)
static const struct bind_field fields[] = {
    { "at_ms", BIND_U64, AT(at_ms), BIND_REQUIRED },
    { "what", BIND_STR, AT(what), BIND_REQUIRED },
    { "allowed", BIND_BOOL, AT(is_allowed) },
    { "reason", BIND_STR, AT(reason) },
    { "name", BIND_STR, AT(name) },
    { "address", BIND_STR, AT(address) },
    { "port", BIND_U64, AT(port) },
    { "count", BIND_U64, AT(count) },
    { "sent", BIND_U64, AT(bytes_sent) },
    { "received", BIND_U64, AT(bytes_received) },
    { "connections", BIND_U64, AT(totals.connections), BIND_REQUIRED },
    { "refused", BIND_U64, AT(totals.refused), BIND_REQUIRED },
    { "all_sent", BIND_U64, AT(totals.bytes_sent), BIND_REQUIRED },
    { "all_received", BIND_U64, AT(totals.bytes_received), BIND_REQUIRED },
    { 0 },
};
static const struct bind bind = { .fields = fields, .text_max = LINE_MAX };

void net_line_clear(struct net_line *line)
{
    bind_clear(&bind, line);
}

void net_reader_init(struct net_reader *reader, int dir_fd)
{
    *reader = (struct net_reader){ .dir_fd = dir_fd, .fd = -1 };
}

void net_reader_clear(struct net_reader *reader)
{
    drop_fd(&reader->fd);
}

static bool is_present(const struct net_reader *reader)
{
    struct stat now;
    struct stat ours;

    return reader->fd >= 0 && fstat(reader->fd, &ours) == 0 &&
           (fstatat(reader->dir_fd, LOG_FILE, &now, AT_SYMLINK_NOFOLLOW) < 0 ||
            now.st_ino == ours.st_ino);
}

/* From the old file to the present one, and from one that has become old meanwhile. */
static bool go_on(struct net_reader *reader)
{
    int fd = -1;

    if (!reader->has_old)
        fd = openat(reader->dir_fd, OLD_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    reader->has_old = true;
    if (fd < 0 && is_present(reader))
        return false;
    if (fd < 0)
        fd = openat(reader->dir_fd, LOG_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return false;
    drop_fd(&reader->fd);
    reader->fd = fd;
    reader->at = 0;
    return true;
}

/* A line that is whole; 0 for none, negative for one that is no line of ours. */
static int read_line(struct net_reader *reader, struct net_line *ret)
{
    char text[LINE_MAX];
    ssize_t n = reader->fd < 0 ? 0 : pread(reader->fd, text, sizeof(text), (off_t)reader->at);
    const char *end = n > 0 ? memchr(text, '\n', (size_t)n) : NULL;
    struct gb_err ignored = { 0 };

    if (!end)
        return 0;
    reader->at += (uint64_t)(end - text) + 1;
    *ret = (struct net_line){ 0 };
    return bind_text(&bind, text, (size_t)(end - text), ret, &ignored) < 0 ? -EPROTO : 1;
}

int net_reader_next(struct net_reader *reader, struct net_line *ret)
{
    for (;;) {
        int r = read_line(reader, ret);

        if (r > 0)
            return 1;
        if (r == 0 && !go_on(reader))
            return 0;
    }
}
