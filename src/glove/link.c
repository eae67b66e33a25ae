/* SPDX-License-Identifier: Apache-2.0 */
/* glove/link.c - the glove's end of the link: frames in, frames out. */
#include "glove/link.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A payload whose first and last pages are not full needs one more slot than it has pages. */
#define STAGE_SIZE (2 * WIRE_PAYLOAD_MAX)

static int own_fd(int fd)
{
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
        return -errno;
    return fd_set_nonblock(fd);
}

int link_init(struct link *link, int in, int out)
{
    struct stat st;
    int r;

    link->in = in;
    link->out = out;
    link->may_splice = true;
    wire_reader_init(&link->reader);
    if (fstat(in, &st) < 0)
        return -errno;
    link->is_socket = S_ISSOCK(st.st_mode);
    r = own_fd(in);
    if (r == 0)
        r = own_fd(out);
    if (r < 0)
        return r;
    if (pipe2(link->stage, O_CLOEXEC | O_NONBLOCK) < 0)
        return -errno;
    /* Refused when this user has many pipes: frames are shorter then, nothing else. */
    (void)fcntl(link->stage[1], F_SETPIPE_SZ, STAGE_SIZE);
    return 0;
}

/* ---- in ------------------------------------------------------------------------------------- */

static int keep_fds(struct link *link, const int *fds, size_t n)
{
    if (n > FD_PASS_MAX - link->n_fds)
        return -EPROTO;
    for (size_t i = 0; i < n; i++)
        link->fds[link->n_fds++] = fds[i];
    return 0;
}

static ssize_t read_plain(int fd, uint8_t *at, size_t room)
{
    ssize_t n;

    do {
        n = read(fd, at, room);
    } while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

int link_read(struct link *link)
{
    int fds[FD_PASS_MAX];
    size_t n_fds = FD_PASS_MAX;
    size_t room;
    uint8_t *at = wire_reader_room(&link->reader, &room);
    ssize_t n;

    if (link->is_socket) {
        n = fd_recv(link->in, at, room, fds, &n_fds, 0);
    } else {
        n = read_plain(link->in, at, room);
        n_fds = 0;
    }
    if (n == -EAGAIN)
        return 0;
    if (n <= 0)
        return n < 0 ? (int)n : -EPIPE;
    wire_reader_fed(&link->reader, (size_t)n);
    return keep_fds(link, fds, n_fds);
}

int link_next(struct link *link, struct wire_head *ret_head, const uint8_t **ret_payload)
{
    int r = wire_reader_next(&link->reader, ret_head, ret_payload);

    if (r == 0 && link->n_fds > 0 && link->reader.start == link->reader.end)
        return -EPROTO;
    return r;
}

bool link_peek(const struct link *link, struct wire_head *ret_head)
{
    const struct wire_reader *reader = &link->reader;
    size_t have = reader->end - reader->start;

    return have >= WIRE_HEAD_SIZE && wire_head_get(reader->bytes + reader->start, ret_head) == 0 &&
           have - WIRE_HEAD_SIZE >= ret_head->size;
}

int link_take_fds(struct link *link, int *fds, size_t n)
{
    if (n > link->n_fds)
        return -EPROTO;
    memcpy(fds, link->fds, n * sizeof(int));
    link->n_fds -= n;
    memmove(link->fds, link->fds + n, link->n_fds * sizeof(int));
    return 0;
}

/* ---- out ------------------------------------------------------------------------------------ */

int link_send(struct link *link, uint8_t type, uint32_t channel, uint8_t flags, const void *msg)
{
    int n;

    if (link->queue_start > 0) {
        memmove(link->queue, link->queue + link->queue_start, link->queue_end - link->queue_start);
        link->queue_end -= link->queue_start;
        link->queue_start = 0;
    }
    n = msg_encode(type, channel, flags, msg, link->queue + link->queue_end,
                   LINK_QUEUE_SIZE - link->queue_end);
    if (n < 0)
        return -ENOBUFS;
    link->queue_end += (size_t)n;
    return 0;
}

size_t link_room(const struct link *link)
{
    return LINK_QUEUE_SIZE - (link->queue_end - link->queue_start);
}

int link_ok(struct link *link, uint32_t seq, uint64_t value)
{
    struct msg_ok ok = { .seq = seq, .value = value };

    return link_send(link, MSG_OK, 0, 0, &ok);
}

int link_error(struct link *link, uint32_t seq, int error, enum glove_step step)
{
    struct msg_error msg = { .seq = seq, .error = (uint32_t)error, .step = step };

    return link_send(link, MSG_ERROR, 0, 0, &msg);
}

static bool data_is_waiting(const struct link *link)
{
    return link->head_left > 0 || link->stage_left > 0 || link->copy_start < link->copy_end;
}

bool link_is_idle(const struct link *link)
{
    return !data_is_waiting(link) && link->queue_start == link->queue_end;
}

ssize_t link_send_pipe(struct link *link, uint32_t channel, int pipe_fd, size_t most)
{
    struct wire_head head = { .type = MSG_DATA, .channel = channel };
    ssize_t n;

    if (most > WIRE_PAYLOAD_MAX)
        most = WIRE_PAYLOAD_MAX;
    do {
        n = splice(pipe_fd, NULL, link->stage[1], NULL, most, SPLICE_F_NONBLOCK);
    } while (n < 0 && errno == EINTR);
    if (n <= 0)
        return n < 0 ? -errno : 0;
    head.size = (uint32_t)n;
    wire_head_put(link->head, &head);
    link->head_left = WIRE_HEAD_SIZE;
    link->stage_left = (size_t)n;
    return n;
}

/* EIO: nobody has the terminal open any more. */
ssize_t link_send_tty(struct link *link, uint32_t channel, int tty_fd, size_t most)
{
    struct wire_head head = { .type = MSG_DATA, .channel = channel };
    ssize_t n = read_plain(tty_fd, link->copy, most < WIRE_PAYLOAD_MAX ? most : WIRE_PAYLOAD_MAX);

    if (n <= 0)
        return n == -EIO ? 0 : n;
    head.size = (uint32_t)n;
    wire_head_put(link->head, &head);
    link->head_left = WIRE_HEAD_SIZE;
    link->copy_start = 0;
    link->copy_end = (size_t)n;
    return n;
}

/* Writes some; the number, 0 when the link is full. */
static ssize_t write_some(const struct link *link, const uint8_t *bytes, size_t len)
{
    ssize_t n;

    do {
        n = write(link->out, bytes, len);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == EAGAIN ? 0 : -errno;
    return n;
}

static ssize_t flush_head(struct link *link)
{
    ssize_t n = write_some(link, link->head + WIRE_HEAD_SIZE - link->head_left, link->head_left);

    if (n > 0)
        link->head_left -= (size_t)n;
    return n;
}

static ssize_t flush_copy(struct link *link)
{
    ssize_t n = write_some(link, link->copy + link->copy_start, link->copy_end - link->copy_start);

    if (n > 0)
        link->copy_start += (size_t)n;
    return n;
}

static ssize_t unstage(struct link *link)
{
    ssize_t n = read_plain(link->stage[0], link->copy, link->stage_left);

    if (n <= 0)
        return n < 0 ? n : -EIO;
    link->copy_start = 0;
    link->copy_end = (size_t)n;
    link->stage_left -= (size_t)n;
    return n;
}

static ssize_t flush_stage(struct link *link)
{
    ssize_t n;

    if (!link->may_splice)
        return unstage(link);
    do {
        n = splice(link->stage[0], NULL, link->out, NULL, link->stage_left, SPLICE_F_NONBLOCK);
    } while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN)
        return 0;
    if (n < 0 && errno == EINVAL) {
        link->may_splice = false;
        return unstage(link);
    }
    if (n <= 0)
        return n < 0 ? -errno : -EIO;
    link->stage_left -= (size_t)n;
    return n;
}

static ssize_t flush_queue(struct link *link)
{
    ssize_t n =
        write_some(link, link->queue + link->queue_start, link->queue_end - link->queue_start);

    if (n > 0)
        link->queue_start += (size_t)n;
    return n;
}

static ssize_t flush_some(struct link *link)
{
    if (link->head_left > 0)
        return flush_head(link);
    if (link->copy_start < link->copy_end)
        return flush_copy(link);
    if (link->stage_left > 0)
        return flush_stage(link);
    return flush_queue(link);
}

int link_flush(struct link *link)
{
    while (!link_is_idle(link)) {
        ssize_t n = flush_some(link);

        if (n <= 0)
            return (int)n;
    }
    return 0;
}
