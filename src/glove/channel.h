/* SPDX-License-Identifier: Apache-2.0 */
/* glove/channel.h - byte streams between the link and the pipes of programs.
 *
 * The host chooses the numbers (even, not 0, not in use) and names them in RUN, PUT and GET.  A
 * channel is open from that frame on, whatever becomes of the request, so that the host may send
 * DATA right behind it; it ends with the FIN of whoever sends on it: of the glove on an OUT
 * channel, of the host on an IN channel.
 *
 * OUT (box to host): the pipe is read only while there is credit, and at most that much; a slow
 * host stops the writing program and nobody else.  The FIN needs credit too when bytes lie before
 * it.
 *
 * IN (host to box): bytes go straight into the pipe.  What the pipe does not take waits in the
 * channel's spill, and credit comes back for bytes that are in the pipe.  So
 *
 *    credit the host has + bytes in the spill + credit owed to the host = the channel's window
 *
 * and a spill of the window's size cannot overflow; a host that sends more than its credit breaks
 * the protocol.  The window is WIRE_CREDIT_START.  For a connection that carries much it grows to
 * WIRE_CREDIT_WIDE, while one of a few wide spills is free: so whoever feeds it works long before
 * he sleeps, and the glove too.  Credit is paid back in quarters of the window: it is never all
 * owed while the host has none.  When nobody reads the pipe any more, bytes are thrown away and
 * paid back at once, so that the host comes to its FIN.  When the table is full, a channel whose
 * FIN the host still owes though nobody reads it gives way.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "wire/frame.h"

struct link;

/* Three for each of 64 children; two for each connection of either kind (conn.h). */
#define CONNS_MAX    1024 /* of programs */
#define DIALS_MAX    256  /* that the host asked for */
#define CHANNELS_MAX (3 * 64 + 2 * (CONNS_MAX + DIALS_MAX))
#define SPILLS_MAX   (72 + CONNS_MAX + DIALS_MAX) /* one for each child and each connection */
#define WIDES_MAX    8                            /* for as many connections at a time */

/* The host gives numbers in their order: each mostly has a place of its own here. */
#define CHANNEL_HINTS 4096

enum channel_way {
    CHANNEL_FREE,
    CHANNEL_IN,
    CHANNEL_OUT,
};

/* What the glove's end is an end of. */
enum channel_end {
    CHANNEL_PIPE,
    CHANNEL_TTY,
    CHANNEL_SOCKET,
};

struct spill {
    bool is_taken;
    size_t start;
    size_t len;
    size_t size;
    uint8_t *bytes;
};

/* Data of one channel that came together, and where it lies: written at once, because whoever reads
 * it is woken each time. */
#define SHEAF_MAX WIRE_BATCH

struct sheaf {
    int n;
    size_t len;
    struct iovec iov[SHEAF_MAX];
};

struct channel {
    uint32_t number;
    enum channel_way way;
    int fd; /* the glove's end of the pipe, -1 when there is none (any more) */
    enum channel_end end;
    bool has_fin;
    bool is_held;    /* OUT: nothing is read yet, other bytes go first */
    bool is_dull;    /* OUT: without credit there is nothing more to learn of its end */
    uint64_t credit; /* OUT: bytes we may send.  IN: bytes the host may send */
    uint32_t window; /* IN: WIRE_CREDIT_START or WIRE_CREDIT_WIDE */
    uint32_t owed;   /* IN: credit to be paid back */
    uint64_t taken;  /* IN: bytes that have come so far */
    struct spill *spill;
    bool *was_reset; /* of a socket, for both directions: whoever meets the error is told it once */
};

struct channels {
    size_t used; /* all channels in use lie below this index */
    struct channel all[CHANNELS_MAX];
    uint16_t hints[CHANNEL_HINTS]; /* by number: where it was put last, in `all` */
    struct spill spills[SPILLS_MAX];
    struct spill wides[WIDES_MAX];
    uint8_t spill_bytes[SPILLS_MAX][WIRE_CREDIT_START];
    uint8_t wide_bytes[WIDES_MAX][WIRE_CREDIT_WIDE];
};

/* Opens a channel without a pipe.  -EPROTO for a number that the host may not choose. */
int channel_open(struct channels *channels, uint32_t number, enum channel_way way,
                 struct channel **ret);

struct channel *channel_find(struct channels *channels, uint32_t number);

/* Makes the pipe of a channel, owned by uid and gid so that a program may open /dev/stdout.  The
 * program's end is the caller's to close, close-on-exec, blocking. */
int channel_pipe(struct channels *channels, struct channel *channel, uid_t uid, gid_t gid,
                 int *ret_fd);

/* Instead of pipes: one terminal for a channel each way, owned by uid and gid.  The program's end
 * is the caller's to close, close-on-exec, blocking. */
int channel_tty(struct channels *channels, struct channel *in, struct channel *out, uid_t uid,
                gid_t gid, int *ret_fd);

/* An IN channel whose socket is still to come: what the host sends waits for it. */
int channel_early(struct channels *channels, struct channel *channel);

/* One connection for a channel each way; the socket is taken over, also on failure.  Once the
 * program's kernel has reset it, was_reset says so, and the OUT channel is abandoned without a FIN
 * when what had come before is read. */
int channel_socket(struct channels *channels, struct channel *in, struct channel *out, int fd,
                   bool *was_reset);

/* Gives the socket of an IN channel what waited for it. */
int channel_begin(struct channel *channel, struct link *link);

/* Ends an IN channel of a socket, whose OUT channel has ended, now: the program sees a reset. */
void channel_break(struct channel *channel);

/* Ends an OUT channel now. */
int channel_finish(struct channel *channel, struct link *link);

/* Gives up the glove's end of a channel; the rest of what the host sends is thrown away. */
void channel_abandon(struct channel *channel);

/* Adds what one frame brought; false: it is full.  Zeroed memory is an empty one. */
bool sheaf_add(struct sheaf *sheaf, const uint8_t *bytes, size_t len);

/* DATA from the host. */
int channel_take(struct channel *channel, struct link *link, const struct sheaf *sheaf,
                 bool is_last);

/* More credit for a connection that carries much, if there is a wide spill for it. */
void channel_widen(struct channels *channels, struct channel *channel);

/* CREDIT from the host. */
int channel_credit(struct channel *channel, uint32_t bytes);

/* What to wait for on fd: POLLIN, POLLOUT, 0 for its other end being closed, -1 for nothing. */
int channel_events(const struct channel *channel);

/* The pipe is ready: IN moves its spill on, OUT sends up to some frames while the link takes
 * them. */
int channel_serve(struct channel *channel, struct link *link);
