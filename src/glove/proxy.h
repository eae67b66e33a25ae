/* SPDX-License-Identifier: Apache-2.0 */
/* glove/proxy.h - programs that ask a proxy, told apart by their first byte.
 *
 *    accepted ─► HTTP ──────────────────► asked ─► head goes on ─► open      (GET http://…)
 *             │     └───────────────────► asked ─────────────────► open      (CONNECT)
 *             └► SOCKS greeting ─► request ─► asked ─────────────► open
 *
 * What is asked of the host is the CONNECT of a caught connection (egress.h): names and rules, and
 * what is written down, are the same.  A head is read no further than it goes: what follows stays
 * in the socket for the channel.
 *
 * Invariants
 *  1. Heads that are being read are bounded; more connections wait in the kernel's queue.
 *  2. A head goes on when the link has room for it and half as much again for other frames.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "glove/proxy_http.h"

struct conn;
struct glove;
struct msg_told;

#define TALKS_MAX 64

enum talk_step {
    TALK_FREE,
    TALK_BEGIN,
    TALK_HTTP,
    TALK_SOCKS_GREETING,
    TALK_SOCKS_REQUEST,
    TALK_ASKED,
    TALK_HEAD, /* which is to go on */
};

enum talk_kind {
    TALK_OF_HTTP,
    TALK_OF_TUNNEL,
    TALK_OF_SOCKS,
};

/* What is said before a connection through the proxy is open. */
struct talk {
    enum talk_step step;
    enum talk_kind kind;
    struct proxy_target target;
    size_t len;
    char bytes[HTTP_HEAD_MAX + HTTP_GROWTH];
};

struct proxy {
    struct talk talks[TALKS_MAX];
};

/* A place for one more; NULL: there is none. */
struct talk *proxy_place(struct proxy *proxy);

/* A connection that came to the proxy's port. */
void proxy_begin(struct talk *talk, struct conn *conn, int fd);

/* It has said something. */
int proxy_serve(struct glove *glove, struct conn *conn);

/* What the host said of it: refused, it is told so and *ret_is_over; else it is told that it may
 * begin.  Its head, if it has one, is to go on by proxy_settle(). */
void proxy_told(struct conn *conn, const struct msg_told *told, bool *ret_is_over);

/* Sends the head on when there is room. */
int proxy_settle(struct glove *glove, struct conn *conn);

void proxy_forget(struct conn *conn);
