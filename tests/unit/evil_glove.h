/* SPDX-License-Identifier: Apache-2.0 */
/* unit/evil_glove.h - the other end of a link, which says whatever a test wants.
 *
 * A glove is trusted as code; its bytes are not.  The evil one is a socket of the test and a few
 * verbs: read what the host sent, send frames that are right or wrong in one way.  Where the host
 * waits, a script plays the glove in a thread of its own; it never asserts, it only talks.
 */
#pragma once

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "box/link.h"
#include "wire/bytes.h"
#include "wire/frame.h"
#include "wire/msg.h"

#include <cmocka.h>

struct evil {
    int fd; /* the glove's end */
    struct link *link;
    struct gb_err err;
    uint64_t nonce;
    uint32_t run_seq; /* of the last request that was read, and its channels */
    uint32_t in;
    uint32_t out;
    uint32_t errs;
    atomic_bool is_killed; /* what runs in the box; a script may heed it */
    pthread_t thread;
    void (*script)(struct evil *evil);
};

static inline void evil_up(struct evil *evil)
{
    int pair[2];

    *evil = (struct evil){ .fd = -1 };
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(link_new(pair[0], &evil->link, &evil->err), 0);
    evil->fd = pair[1];
}

static inline void evil_down(struct evil *evil)
{
    link_free(evil->link);
    if (evil->fd >= 0)
        close(evil->fd);
}

/* ---- talking -------------------------------------------------------------------------------- */

/* A peer that has hung up is not this end's problem. */
static inline void evil_bytes(const struct evil *evil, const void *bytes, size_t len)
{
    const uint8_t *at = bytes;

    while (len > 0) {
        ssize_t n = send(evil->fd, at, len, MSG_NOSIGNAL);

        if (n < 0 && errno != EINTR)
            return;
        at += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
}

static inline void evil_frame(const struct evil *evil, uint8_t type, uint8_t flags,
                              uint32_t channel, const void *payload, uint32_t size)
{
    struct wire_head head = { .size = size, .type = type, .flags = flags, .channel = channel };
    uint8_t bytes[WIRE_HEAD_SIZE];

    wire_head_put(bytes, &head);
    evil_bytes(evil, bytes, sizeof(bytes));
    evil_bytes(evil, payload, size);
}

static inline void evil_msg(const struct evil *evil, uint8_t type, const void *msg)
{
    uint8_t frame[512];
    int n = msg_encode(type, 0, 0, msg, frame, sizeof(frame));

    evil_bytes(evil, frame, n > 0 ? (size_t)n : 0);
}

static inline void evil_ok(const struct evil *evil, uint32_t seq, uint64_t value)
{
    evil_msg(evil, MSG_OK, &(struct msg_ok){ .seq = seq, .value = value });
}

static inline void evil_error(const struct evil *evil, uint32_t seq, uint32_t error, uint32_t step)
{
    evil_msg(evil, MSG_ERROR, &(struct msg_error){ .seq = seq, .error = error, .step = step });
}

static inline void evil_exit(const struct evil *evil, uint32_t run, uint32_t code, uint32_t signo)
{
    evil_msg(evil, MSG_EXIT, &(struct msg_exit){ .run = run, .code = code, .signo = signo });
}

static inline void evil_data(const struct evil *evil, uint32_t channel, const void *bytes,
                             size_t len, bool fin)
{
    evil_frame(evil, MSG_DATA, fin ? WIRE_FLAG_FIN : 0, channel, bytes, (uint32_t)len);
}

/* ---- listening ------------------------------------------------------------------------------ */

/* Reads one frame of the host; its type, 0 at the end. */
static inline uint8_t evil_read(const struct evil *evil, struct wire_head *head,
                                uint8_t payload[static WIRE_PAYLOAD_MAX])
{
    uint8_t bytes[WIRE_HEAD_SIZE];

    if (fd_read_full(evil->fd, bytes, sizeof(bytes)) != (ssize_t)sizeof(bytes) ||
        wire_head_get(bytes, head) < 0 ||
        fd_read_full(evil->fd, payload, head->size) != (ssize_t)head->size)
        return 0;
    return head->type;
}

/* Reads on until a frame of that type, and keeps what names a request. */
static inline bool evil_await(struct evil *evil, uint8_t type)
{
    static _Thread_local uint8_t payload[WIRE_PAYLOAD_MAX];
    struct wire_head head;
    uint8_t got;

    do {
        got = evil_read(evil, &head, payload);
    } while (got && got != type);
    if (!got)
        return false;
    if (type == MSG_HELLO)
        evil->nonce = wire_get_u64(payload + 8);
    else if (type != MSG_DATA && type != MSG_CREDIT && head.size >= 4)
        evil->run_seq = wire_get_u32(payload);
    if (type == MSG_RUN) {
        evil->in = wire_get_u32(payload + 8);
        evil->out = wire_get_u32(payload + 12);
        evil->errs = wire_get_u32(payload + 16);
    }
    if (type == MSG_PUT || type == MSG_GET || type == MSG_LIST)
        evil->out = wire_get_u32(payload + 4);
    return true;
}

/* Takes what has come so far; how often there was something.  Negative: the link is lost. */
static inline int evil_pump(struct evil *evil)
{
    int n = 0;
    int r;

    while ((r = link_pump(evil->link, 0, NULL, 0, &evil->err)) > 0)
        n++;
    return r < 0 ? r : n;
}

/* The greeting, as an honest glove says it. */
static inline void evil_greet(struct evil *evil)
{
    assert_int_equal(link_greet(evil->link, &evil->err), 0);
    assert_true(evil_pump(evil) >= 0);
    assert_true(evil_await(evil, MSG_HELLO));
    evil_msg(
        evil, MSG_HELLO,
        &(struct msg_hello){ .magic = WIRE_MAGIC, .version = WIRE_VERSION, .nonce = evil->nonce });
    assert_true(evil_pump(evil) >= 0);
}

/* ---- scripts -------------------------------------------------------------------------------- */

static inline void *evil_play(void *user)
{
    struct evil *evil = user;

    evil->script(evil);
    return NULL;
}

static inline void evil_begin(struct evil *evil, void (*script)(struct evil *evil))
{
    evil->script = script;
    assert_int_equal(pthread_create(&evil->thread, NULL, evil_play, evil), 0);
}

/* The script ends at the latest when the host's end is shut. */
static inline void evil_end(struct evil *evil)
{
    link_free(take_ptr(evil->link));
    assert_int_equal(pthread_join(evil->thread, NULL), 0);
    close(evil->fd);
}
