/* SPDX-License-Identifier: Apache-2.0 */
/* cli/exec_lines.h - a run told as it goes, one JSON object a line (docs/result.md, --jsonl).
 *
 *    begin → step → output … → step → output … → result
 *
 * Each line is written before the program goes on: a reader who waits makes the program wait, and
 * nothing is kept for it.  Two things end that patience, so that a reader who is stuck cannot keep
 * a run alive: a request to end, and the limit of wall time.  What is unwritten then, and that is
 * at most what the box had already sent, goes out before the result.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct gb_err;
struct run_result;

/* The beginning of a character whose rest has not come yet. */
struct exec_cut {
    char bytes[4];
    size_t len;
};

struct exec_lines {
    int fd;
    int cancel_fd; /* readable: nobody is waited for any more; -1 */
    uint64_t wall_ms;
    uint64_t deadline_ns; /* of the step */
    struct exec_cut cuts[3];
    struct buf piece; /* of output, as it will be told */
    struct buf pending;
    size_t sent; /* of pending */
    int error;   /* of the write that failed */
};

/* The descriptors stay the caller's, who owes exec_lines_clear(). */
void exec_lines_init(struct exec_lines *ret, int fd, int cancel_fd);
void exec_lines_clear(struct exec_lines *lines);

/* language: NULL for a plain command.  wall_ms: the limit of each step. */
void exec_lines_begin(struct exec_lines *lines, const char *id, const char *language,
                      uint64_t wall_ms);
void exec_lines_step(struct exec_lines *lines, const char *name);

/* 0, or why nobody can be told any more. */
int exec_lines_output(struct exec_lines *lines, int stream, const void *bytes, size_t len);

/* The last line; waits for the reader. */
int exec_lines_end(struct exec_lines *lines, const struct run_result *result, struct gb_err *err);
