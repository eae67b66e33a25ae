/* SPDX-License-Identifier: Apache-2.0 */
/* cli/exec_lines.h - a run told as it goes, one JSON object a line (docs/result.md, --jsonl).
 *
 *    waiting, installing, installer … → begin → step → output … → step → output … → result
 *
 * Each line is written before the program goes on, until a request to end or the limit of wall time
 * ends the patience with a reader who is stuck (cli/outlet.h).  What is unwritten then goes out
 * before the result.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "cli/outlet.h"

struct gb_err;
struct run_result;

/* The beginning of a character whose rest has not come yet. */
struct exec_cut {
    char bytes[4];
    size_t len;
};

struct exec_lines {
    struct outlet outlet;
    uint64_t wall_ms; /* of a step */
    struct exec_cut cuts[3];
    struct buf piece; /* of output, as it will be told */
};

/* The descriptors stay the caller's, who owes exec_lines_clear(). */
void exec_lines_init(struct exec_lines *ret, int fd, int cancel_fd);
void exec_lines_clear(struct exec_lines *lines);

/* language: NULL for a plain command.  wall_ms: the limit of each step. */
void exec_lines_begin(struct exec_lines *lines, const char *id, const char *language,
                      uint64_t wall_ms);
void exec_lines_step(struct exec_lines *lines, const char *name);

/* Before the beginning: "waiting" and "installing" with names of packages, "installer" with a line
 * of the program that installs them. */
void exec_lines_install(struct exec_lines *lines, const char *event, const char *text);

/* 0, or why nobody can be told any more. */
int exec_lines_output(struct exec_lines *lines, int stream, const void *bytes, size_t len);

/* The last line; waits for the reader. */
int exec_lines_end(struct exec_lines *lines, const struct run_result *result, bool with_base64,
                   struct gb_err *err);
