/* SPDX-License-Identifier: Apache-2.0 */
/* cli/exec_print.h - what a run writes, on its way to our own streams, and what we say beside it.
 *
 * A printer is embedded by its owner and owes a printer_clear().  Output that goes to a terminal is
 * filtered; with lines it becomes events instead.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/outlet.h"
#include "cli/term_filter.h"
#include "cli/tty_filter.h"
#include "conf/value.h"

struct exec_lines;
struct gb_err;
struct run_request;
struct run_result;
struct tty;

/* A stream of ours that output of the box goes to. */
struct sink {
    struct outlet outlet;
    bool is_tty;
    bool is_ours; /* what we have to say goes there too */
    struct term_filter filter;
};

struct printer {
    struct sink sinks[3];  /* by stream */
    const struct tty *tty; /* while it is raw the program draws on it */
    struct tty_filter tty_filter;
    struct exec_lines *lines; /* they carry the output instead; NULL: none */
    uint64_t wall_ms;         /* of a step: no reader is waited for longer */
    bool is_mid_line;         /* the box wrote last where we write, and no end of a line */
    int error;                /* of the write that failed */
};

void printer_init(struct printer *p, int cancel_fd);
void printer_clear(struct printer *p);

/* A pipe takes the output without a copy; a larger one saves waking its reader.  Where our own
 * words go it is read, so that they can begin on a line of their own: -1. */
int printer_pipe(const struct sink *sink);

/* The request is whole: what holds for its steps. */
void printer_begin(struct printer *p, const struct run_request *request);

/* For struct run_request, whose user is the printer.  When our reader has gone the run has no
 * purpose left: it is cancelled, as SIGPIPE would do. */
int printer_output(void *user, int stream, const void *bytes, size_t len);
void printer_step(void *user, const char *name);

/* What is still here when the run is over. */
void printer_rest(struct printer *p);

/* A reader that left has seen what it wanted, and one that is stuck was given up because we were
 * told to end; any other failure must be told. */
int printer_check(const struct printer *p, struct gb_err *err);

/* Does somebody read what we say? */
bool printer_is_heard(const struct printer *p);

/* What we say begins on a line of its own. */
void printer_start_line(struct printer *p);

/* The notes of a result, and one line for whoever watches, where a limit or a signal decided. */
void printer_notes(struct printer *p, const struct run_result *result);
void printer_hint(struct printer *p, const struct run_result *result, enum color_mode color);
