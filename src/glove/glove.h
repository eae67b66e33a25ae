/* SPDX-License-Identifier: Apache-2.0 */
/* glove/glove.h - PID 1 of a box: its state, and the order in which it does things.
 *
 * One thread, one poll(2), no allocation: everything there is lives in struct glove, which is large
 * and mostly never touched.  The host's frames are requests; each is answered once, by OK or ERROR.
 *
 *    start ──HELLO──► greeted ──SETUP──► open
 *
 * Until SETUP the glove holds the privileges that it was started with and runs nothing; SETUP gives
 * them up (drop.h) and only then are programs started.  What breaks the protocol, the end of the
 * link, and silence longer than the host promised end the glove, and with PID 1 everything in the
 * box.
 *
 * Functions return 0 or a negative errno; the latter is always the end.  A request that fails is
 * not that: it is answered.
 */
#pragma once

#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "glove/channel.h"
#include "glove/conn.h"
#include "glove/egress.h"
#include "glove/limits.h"
#include "glove/link.h"
#include "glove/proxy_env.h"
#include "glove/remains.h"

#define CHILDREN_MAX 64
#define ENDED_MAX    64

/* Link in, link out, signals, connections, those to the proxy, look-ups; children, what is dialled,
 * channels, what is said to the proxy. */
#define POLLS_MAX (6 + CHILDREN_MAX + DIALS_MAX + CHANNELS_MAX + TALKS_MAX)

enum child_kind {
    CHILD_NONE,
    CHILD_RUN,
    CHILD_PORTER,
};

/* What a child says up its report pipe; the end of the pipe without it means that exec went
 * well. */
struct report {
    uint32_t step; /* enum glove_step */
    uint32_t error;
    uint64_t value;
};

/* A process that was started for a request.  It has a pid until it is reaped and a report pipe
 * until the report is in; a RUN is answered by the report and followed by EXIT, the others are
 * answered when all is over. */
struct child {
    enum child_kind kind;
    uint32_t seq;
    pid_t pid;        /* 0 once reaped */
    int report_fd;    /* -1 once read */
    bool has_report;  /* a report, not just the end of the pipe */
    uint32_t channel; /* of a porter that sends: whose FIN the answer waits for; else 0 */
    uint64_t started_ns;
    bool is_minded; /* RUN: pid is the program's minder */
    bool is_fresh;  /* RUN: with RUN_FLAG_FRESH */
    pid_t main_pid; /* RUN: the program's, 0 while it is not known */
    int status_fd;  /* RUN apart or minded: how the program ended, told by its parent; else -1 */
    int tty_fd;     /* RUN with a terminal: kept open as long as the program lives; else -1 */
    struct report report;
};

/* A run whose main process has ended: others of its session may live on.  The kernel does not use
 * the number again while they do. */
struct ended {
    uint32_t seq; /* 0: none */
    pid_t session;
};

enum glove_state {
    GLOVE_START,
    GLOVE_GREETED,
    GLOVE_OPEN,
};

struct glove_config {
    int link_in;
    int link_out;
};

/* What SETUP said. */
struct setup {
    uid_t uid;
    gid_t gid;
    uint32_t flags;
    uint32_t beat_ms;
    int landlock_fd; /* the rules that every run puts on itself, -1 for none */
    size_t n_disks;
    char disks[SETUP_DISKS_MAX][PATH_MAX];
};

struct glove {
    enum glove_state state;
    struct setup setup;
    struct limits limits;
    struct remains remains;
    uint64_t beat_deadline_ns;
    uint64_t end_ns; /* of its time to live */
    int signal_fd;
    bool may_reap_more; /* the last look at ended children was cut short */
    struct link link;
    struct sheaf sheaf; /* empty but between frames of one channel's data */
    struct channels channels;
    struct conns conns;
    struct egress egress;
    struct child children[CHILDREN_MAX];
    struct ended ended[ENDED_MAX]; /* the latest, in a ring */
    size_t next_ended;
    /* and whose each entry is */
    struct pollfd polls[POLLS_MAX];
    void *owners[POLLS_MAX];
    /* argument vectors of the run that is being started */
    const char *argv[4096 + 1];
    const char *env[1024 + PROXY_VARIABLES + 1];
};

/* Serves until the end; the exit status.  glove is zeroed memory. */
int glove_main(struct glove *glove, const struct glove_config *config);

/* Empties the signal descriptor and reaps some. */
int glove_signals(struct glove *glove);
