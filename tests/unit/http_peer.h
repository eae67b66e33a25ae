/* SPDX-License-Identifier: Apache-2.0 */
/* unit/http_peer.h - a server that says whatever a test wants.
 *
 * A child process plays a list of acts on a loopback socket: take a connection, read a request,
 * send bytes that are right or wrong.  What it was asked is shared with the test.  A peer that is
 * asked for something else than its acts expect exits with 1, which peer_down() tells; it dies with
 * the test in any case.
 */
#pragma once

#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

#include <cmocka.h>

enum peer_kind {
    PEER_END,
    PEER_ACCEPT, /* closes the connection it had */
    PEER_READ,   /* a whole request */
    PEER_SEND,   /* text, n times (0: once); a client that hangs up meanwhile is fine */
    PEER_DRIP,   /* text, byte by byte with a pause of n ms before each; the same */
    PEER_SIP,    /* a request that ends with Z, 1 MiB every n ms at most */
    PEER_RAISE,  /* makes the eventfd n readable, when the client has had the time to wait */
    PEER_HOLD,   /* until the client hangs up */
};

struct peer_act {
    enum peer_kind kind;
    const char *text;
    unsigned n;
};

#define PEER_SAW_MAX (4 << 20)

struct peer_saw {
    unsigned accepts;
    size_t len;
    char requests[PEER_SAW_MAX]; /* one behind the other */
};

struct peer {
    pid_t pid;
    unsigned port;
    char url[64]; /* "http://127.0.0.1:PORT/v1" */
    struct peer_saw *saw;
};

/* ---- the child's side: nothing here asserts ---- */

static inline bool peer_read_some(int fd, struct peer_saw *saw)
{
    ssize_t n = read(fd, saw->requests + saw->len, PEER_SAW_MAX - 1 - saw->len);

    if (n > 0)
        saw->len += (size_t)n;
    return n > 0;
}

static inline bool peer_read_request(int fd, struct peer_saw *saw)
{
    const char *begin = saw->requests + saw->len;
    const char *length;
    const char *end;
    size_t whole;

    while (!(end = strstr(begin, "\r\n\r\n")))
        if (!peer_read_some(fd, saw))
            return false;
    length = strcasestr(begin, "\r\nContent-Length: ");
    whole = (size_t)(end + 4 - saw->requests);
    if (length && length < end)
        whole += strtoul(length + 18, NULL, 10);
    while (saw->len < whole)
        if (!peer_read_some(fd, saw))
            return false;
    return saw->len == whole;
}

static inline bool peer_send(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);

        if (n < 0)
            return false;
        bytes += n;
        len -= (size_t)n;
    }
    return true;
}

static inline void peer_pause(unsigned ms)
{
    struct timespec pause = { .tv_nsec = (long)ms * 1000000 };

    (void)nanosleep(&pause, NULL);
}

static inline bool peer_sip(int fd, unsigned ms)
{
    static char bytes[1 << 20];
    ssize_t n;

    do {
        peer_pause(ms);
        n = recv(fd, bytes, sizeof(bytes), MSG_WAITALL | MSG_DONTWAIT);
    } while ((n < 0 && errno == EAGAIN) || (n > 0 && bytes[n - 1] != 'Z'));
    return n > 0;
}

static inline void peer_drip(int fd, const struct peer_act *act)
{
    for (const char *c = act->text; *c; c++) {
        peer_pause(act->n);
        if (!peer_send(fd, c, 1))
            return;
    }
}

static inline bool peer_act(int listener, int *fd, const struct peer_act *act, struct peer_saw *saw)
{
    char byte;

    switch (act->kind) {
    case PEER_ACCEPT:
        drop_fd(fd);
        *fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        saw->accepts++;
        return *fd >= 0;
    case PEER_READ:
        return peer_read_request(*fd, saw);
    case PEER_SEND:
        for (unsigned i = 0; i < (act->n ? act->n : 1); i++)
            if (!peer_send(*fd, act->text, strlen(act->text)))
                break;
        return true;
    case PEER_DRIP:
        peer_drip(*fd, act);
        return true;
    case PEER_SIP:
        return peer_sip(*fd, act->n);
    case PEER_RAISE:
        peer_pause(50);
        return eventfd_write((int)act->n, 1) == 0;
    case PEER_HOLD:
        while (read(*fd, &byte, 1) > 0)
            ;
        return true;
    default:
        return false;
    }
}

static inline void peer_play(int listener, const struct peer_act *acts, struct peer_saw *saw)
{
    int fd = -1;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)alarm(60);
    for (; acts->kind != PEER_END; acts++)
        if (!peer_act(listener, &fd, acts, saw))
            _exit(1);
    _exit(0);
}

/* ---- the test's side ---- */

/* A socket on a free port of this machine. */
static inline int peer_socket(unsigned *ret_port)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t len = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    *ret_port = ntohs(address.sin_port);
    return fd;
}

static inline void peer_up(struct peer *peer, const struct peer_act *acts)
{
    int fd = peer_socket(&peer->port);

    assert_int_equal(listen(fd, 8), 0);
    peer->saw =
        mmap(NULL, sizeof(*peer->saw), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(peer->saw != MAP_FAILED);
    (void)snprintf(peer->url, sizeof(peer->url), "http://127.0.0.1:%u/v1", peer->port);
    peer->pid = fork();
    assert_true(peer->pid >= 0);
    if (peer->pid == 0)
        peer_play(fd, acts, peer->saw);
    close(fd);
}

/* All acts were played. */
static inline void peer_down(struct peer *peer)
{
    int status = 0;

    assert_int_equal(waitpid(peer->pid, &status, 0), peer->pid);
    assert_int_equal(status, 0);
    assert_int_equal(munmap(peer->saw, sizeof(*peer->saw)), 0);
}
