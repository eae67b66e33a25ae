/* SPDX-License-Identifier: Apache-2.0 */
/* cli/outlet.c - a stream of ours that a run's output goes to. */
#include "cli/outlet.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

/* Above what a box may have sent before it hears that it must wait, as JSON. */
#define PENDING_MAX (64 << 20)

/* How long a reader may pause when we were told to end. */
#define PAUSE_MS 1000

/* A terminal says that there is room where there is little, so that a write may wait all the same.
 * Others share the one that we were given, and must not find it changed: ours is opened anew, where
 * that is allowed. */
static int open_terminal(int fd)
{
    char path[32];

    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return isatty(fd) ? open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1;
}

void outlet_init(struct outlet *ret, int fd, int cancel_fd)
{
    int own_fd = open_terminal(fd);

    *ret = (struct outlet){
        .fd = own_fd >= 0 ? own_fd : fd,
        .is_own = own_fd >= 0,
        .cancel_fd = cancel_fd,
        .deadline_ns = CLOCK_NEVER_NS,
        .pending = BUF_INIT(PENDING_MAX),
    };
}

void outlet_clear(struct outlet *outlet)
{
    if (outlet->is_own)
        drop_fd(&outlet->fd);
    outlet->is_own = false;
    buf_clear(&outlet->pending);
}

/* 1: there is room.  0: the time is over, or there is a request to end. */
static int await_room(const struct outlet *outlet, uint64_t deadline_ns)
{
    struct pollfd fds[] = { { .fd = outlet->fd, .events = POLLOUT },
                            { .fd = outlet->cancel_fd, .events = POLLIN } };
    int n;

    do
        n = poll(fds, N_ELEMENTS(fds), clock_poll_ms(deadline_ns));
    while (n < 0 && errno == EINTR);
    return n > 0 && fds[0].revents;
}

/* A pipe that has room takes PIPE_BUF bytes without waiting for its reader.  Files have no reader.
 */
static size_t piece_max(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? SSIZE_MAX : PIPE_BUF;
}

static void write_some(struct outlet *outlet, size_t max)
{
    size_t left = outlet->pending.len - outlet->sent;
    ssize_t n = write(outlet->fd, outlet->pending.data + outlet->sent, left < max ? left : max);

    if (n > 0)
        outlet->sent += (size_t)n;
    else if (n < 0 && errno != EINTR && errno != EAGAIN)
        outlet->error = -errno;
}

static bool has_more(const struct outlet *outlet)
{
    return outlet->error == 0 && outlet->sent < outlet->pending.len;
}

static int settle(struct outlet *outlet)
{
    if (outlet->sent == outlet->pending.len) {
        buf_reset(&outlet->pending);
        outlet->sent = 0;
    }
    return outlet->error;
}

int outlet_push(struct outlet *outlet)
{
    size_t max = piece_max(outlet->fd);

    if (outlet->error == 0)
        outlet->error = buf_error(&outlet->pending);
    while (has_more(outlet) && await_room(outlet, outlet->deadline_ns))
        write_some(outlet, max);
    return settle(outlet);
}

int outlet_finish(struct outlet *outlet)
{
    size_t max = piece_max(outlet->fd);

    outlet->deadline_ns = CLOCK_NEVER_NS;
    (void)outlet_push(outlet);
    outlet->cancel_fd = -1;
    while (has_more(outlet)) {
        if (await_room(outlet, clock_after_ms(PAUSE_MS)))
            write_some(outlet, max);
        else
            outlet->error = -ETIMEDOUT;
    }
    return settle(outlet);
}
