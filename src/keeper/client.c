/* SPDX-License-Identifier: Apache-2.0 */
/* keeper/client.c - one client of a keeper: his socket, and what waits for him. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "keeper/keeper.h"

struct keeper_client *client_new(int fd, uint32_t serial)
{
    struct keeper_client *c = mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (c == MAP_FAILED)
        return NULL;
    c->fd = fd;
    c->serial = serial;
    wire_reader_init(&c->reader);
    return c;
}

void client_free(struct keeper_client *c)
{
    for (size_t i = 0; i < c->n_fds; i++)
        close(c->fds[i]);
    close(c->fd);
    (void)munmap(c, sizeof(*c));
}

/* ---- out ------------------------------------------------------------------------------------ */

static void compact(struct keeper_client *c)
{
    memmove(c->out, c->out + c->out_start, c->out_end - c->out_start);
    c->out_end -= c->out_start;
    c->out_start = 0;
}

int client_send(struct keeper_client *c, const uint8_t *frame, size_t len)
{
    if (c->out_end - c->out_start + len > sizeof(c->out))
        return -EAGAIN;
    if (c->out_end + len > sizeof(c->out))
        compact(c);
    memcpy(c->out + c->out_end, frame, len);
    c->out_end += len;
    return 0;
}

int client_send_msg(struct keeper_client *c, uint8_t type, uint32_t channel, const void *msg)
{
    uint8_t frame[256];
    int n = msg_encode(type, channel, 0, msg, frame, sizeof(frame));

    return n < 0 ? n : client_send(c, frame, (size_t)n);
}

int client_flush(struct keeper_client *c)
{
    while (c->out_start < c->out_end) {
        ssize_t n = send(c->fd, c->out + c->out_start, c->out_end - c->out_start,
                         MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN ? 0 : -errno;
        c->out_start += (size_t)n;
    }
    /* What a flood has touched goes back to the kernel. */
    if (c->out_end > WIRE_CREDIT_START)
        (void)madvise(c->out, sizeof(c->out), MADV_DONTNEED);
    c->out_start = 0;
    c->out_end = 0;
    return 0;
}

/* ---- in ------------------------------------------------------------------------------------- */

int client_read(struct keeper_client *c)
{
    size_t room;
    uint8_t *at = wire_reader_room(&c->reader, &room);
    size_t n_fds = FD_PASS_MAX - c->n_fds;
    ssize_t n = fd_recv(c->fd, at, room, c->fds + c->n_fds, &n_fds, MSG_DONTWAIT);

    if (n == -EAGAIN)
        return 0;
    if (n <= 0)
        return n < 0 ? (int)n : -EPIPE;
    c->n_fds += n_fds;
    wire_reader_fed(&c->reader, (size_t)n);
    return 0;
}
