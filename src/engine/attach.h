/* SPDX-License-Identifier: Apache-2.0 */
/* engine/attach.h - a container's stdin and stdout as one plain socket.
 *
 * The engine's stream is neither plain (heads of frames, perhaps TLS) nor always a socket that can
 * be handed on, so a thread of its own carries the bytes between it and one end of a socketpair;
 * the other end is the caller's.  Both directions are bounded by one buffer: who does not read
 * slows the other side down.
 *
 * The end: when the container or the engine ends the stream, the caller reads an end of file behind
 * the last byte.  shutdown(SHUT_WR) of the caller's end is an end of file on the container's stdin;
 * closing it altogether also closes the connection.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct attach;
struct engine;
struct gb_err;

/* What a container says on stderr is kept up to here; more is dropped. */
#define ATTACH_SAID_MAX 4096

/* A sign of life for the container: bytes that it gets when nothing else has gone to it for so
 * long.  They go only between two frames of what the caller sends: is_between() hears every byte
 * that goes in, in the thread, and says whether one frame is over and no other has begun. */
struct attach_beat {
    const void *bytes;
    size_t len;
    unsigned every_ms;
    bool (*is_between)(void *user, const void *bytes, size_t len);
    void *user;
};

/* beat may be NULL.  Before the container is started, else what it says first is lost.  *ret_fd is
 * the caller's to close; the attach to attach_close(), in either order. */
int attach_open(struct engine *engine, const char *container, bool is_tty,
                const struct attach_beat *beat, struct attach **ret, int *ret_fd,
                struct gb_err *err);

/* Ends the thread and the connection.  What was not read is lost. */
void attach_close(struct attach **attach);

/* What came on stderr so far, and the engine's own words; thread-safe. */
size_t attach_said(struct attach *attach, char *text, size_t size);

/* 0: it goes on, or ended as it should; else what broke the stream: -ECONNRESET, -EPROTO.
 * Thread-safe. */
int attach_fault(struct attach *attach);
