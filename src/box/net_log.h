/* SPDX-License-Identifier: Apache-2.0 */
/* box/net_log.h - what the network of a box that lives on decided, in its directory.
 *
 *    network.log   one JSON object a line, only ever added to
 *    network.old   what was there before it grew too large
 *
 * Each line has the totals so far, so that the last one tells them whatever was thrown away.  More
 * lines in a second than a person could read are counted instead, and told in one line a moment
 * later: whoever reads then finds every decision in the totals.  Names are what
 * egress/policy.h calls clean: nothing here was chosen freely by a box.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct carry_note;
struct gb_err;
struct net_log;

#define NET_LOG_MAX (256 << 10) /* bytes of a file, and one line more */

/* ---- writing -------------------------------------------------------------------------------- */

/* The directory stays the caller's and must outlive it. */
int net_log_new(int dir_fd, struct net_log **ret, struct gb_err *err);

/* What was only counted is written before. */
void net_log_free(struct net_log *log);

/* When something is to be told though nothing happens: monotonic, CLOCK_NEVER_NS for never.  Tells
 * it if that time has come. */
uint64_t net_log_due_ns(const struct net_log *log);
void net_log_tell(struct net_log *log);

/* For struct carry_spec; user is the struct net_log.  What cannot be written is lost, and nothing
 * else. */
void net_log_note(void *user, const struct carry_note *note);

/* ---- reading -------------------------------------------------------------------------------- */

struct net_totals {
    uint64_t connections;
    uint64_t refused;
    uint64_t bytes_sent;
    uint64_t bytes_received;
};

struct net_line {
    uint64_t at_ms; /* by the wall clock */
    char *what;     /* "look-up", "connection", "end", "more" */
    bool is_allowed;
    char *reason; /* why not, or why it could not be reached; NULL */
    char *name;   /* NULL: an address was named */
    char *address;
    uint64_t port;  /* 0: of a look-up */
    uint64_t count; /* of "more": decisions that were not written down */
    uint64_t bytes_sent;
    uint64_t bytes_received;
    struct net_totals totals;
};

struct net_reader {
    int dir_fd;
    int fd; /* the present file; -1: none yet */
    bool has_old;
    uint64_t at;
};

/* From the oldest line on.  dir_fd stays the caller's. */
void net_reader_init(struct net_reader *reader, int dir_fd);
void net_reader_clear(struct net_reader *reader);

/* 1: a line, cleared by the caller.  0: there is no more at present. */
int net_reader_next(struct net_reader *reader, struct net_line *ret);
void net_line_clear(struct net_line *line);
