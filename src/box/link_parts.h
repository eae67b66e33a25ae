/* SPDX-License-Identifier: Apache-2.0 */
/* box/link_parts.h - the host's end of a link, between its files.
 *
 *    link.c          frames out and in, requests, waiting
 *    link_channel.c  channels, their credit, data that goes straight into a pipe
 *    link_side.c     what the glove asks by itself, and descriptors that are served with the link
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "box/link.h"
#include "wire/msg.h"

/* Of runs and files; and two for each connection of its programs, and of its ports. */
#define CHANNELS_MAX   (64 + 2 * 1024 + 2 * 256)
#define CHANNEL_PLACES 4096
#define REQUESTS_MAX   32
#define SIDES_MAX      2

/* Channels with a wide window at a time: what peers are slow to take is held. */
#define WIDES_MAX 8

struct channel {
    uint32_t number; /* 0: free */
    int sink_fd;     /* -1: none */
    const struct channel_ops *ops;
    void *user;
    bool is_finished;    /* FIN has come */
    bool is_held;        /* its owner pays */
    uint64_t credit_in;  /* bytes that may still come */
    uint64_t owed;       /* taken, credit not yet given back */
    uint32_t window;     /* WIRE_CREDIT_START or WIRE_CREDIT_WIDE: all that may be under way */
    uint64_t credit_out; /* bytes that may still go */
};

/* A frame whose payload is on its way from the link into a pipe. */
struct passage {
    struct channel *channel; /* NULL: none, or it was closed */
    size_t left;             /* still to go into the pipe */
    size_t drop;             /* still to be read and thrown away, behind that */
    bool is_last;
    bool is_blocked; /* the pipe is full: it is waited for, not the link */
};

struct request {
    uint32_t seq; /* 0: free */
    bool is_answered;
    int code; /* 0 or -errno */
    uint32_t step;
    uint64_t value;
};

struct link {
    int fd;
    int lost; /* 0 or the negative errno it was lost with */
    const char *why;
    uint32_t next_seq;
    uint32_t next_channel;
    uint64_t nonce;
    bool has_hello;
    struct channel channels[CHANNEL_PLACES];
    size_t n_channels;
    size_t n_wides; /* of the channels */
    struct request requests[REQUESTS_MAX];
    size_t n_sinks;
    struct passage passage;
    void (*exited)(void *user, const struct msg_exit *exit);
    void *exit_user;
    struct link_side sides[SIDES_MAX];
    size_t n_polled[SIDES_MAX]; /* of the entries of the last poll, how many are whose */
    size_t n_sides;
    struct msg_counts counts; /* the last that came */
    struct buf out;           /* frames not yet taken by the socket, from out_at on */
    size_t out_at;
    uint8_t frame[WIRE_FRAME_MAX];
    uint8_t batch[WIRE_BATCH * WIRE_FRAME_MAX]; /* of one channel's data */
    struct wire_reader reader;
};

/* The first reason counts. */
int link_lose(struct link *link, int code, const char *why);

/* Gives the socket what it takes. */
int link_push(struct link *link);
size_t link_queued(const struct link *link);

/* -EAGAIN when the queue is full. */
int link_queue(struct link *link, uint8_t type, uint32_t channel, uint8_t flags, const void *msg);

/* Sends the frames of len bytes that lie in link->batch, or queues what the socket does not take.
 * -EAGAIN when the queue is full. */
int link_send_batch(struct link *link, size_t len);

/* ---- link_channel.c ------------------------------------------------------------------------- */

int channel_take_data(struct link *link, const struct wire_head *head, const uint8_t *payload);
int channel_take_credit(struct link *link, const struct wire_head *head,
                        const struct msg_credit *credit);

/* A frame whose payload is on its way from the link into a pipe.  passage_try(): a head that was
 * read alone may open one; passage_go_on(): 1, 0 when it must be waited, or lost. */
bool passage_is_open(const struct link *link);
int passage_try(struct link *link);
int passage_go_on(struct link *link);

/* ---- link_side.c ---------------------------------------------------------------------------- */

int side_take_ask(struct link *link, uint8_t type, const void *msg);
size_t side_polls(struct link *link, struct pollfd *fds, size_t max);
void side_served(struct link *link, const struct pollfd *fds);
