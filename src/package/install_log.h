/* SPDX-License-Identifier: Apache-2.0 */
/* package/install_log.h - what an installer says, line by line and without secrets.
 *
 * Each stream has a line of its own.  A line is masked whole and cut afterwards, so that no part of
 * a secret is left at an end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct package_index;

#define INSTALL_LOG_MAX    (64u << 10)
#define INSTALL_LINE_SHOWN 400

struct install_log {
    const struct package_index *index;
    void (*line)(void *user, const char *line); /* as they come; may be NULL */
    void *user;
    struct buf text; /* the end of all lines */
    struct {
        struct buf bytes;
        bool is_cut; /* it was longer than is read of a line */
    } streams[3];
};

/* The owner owes an install_log_clear(). */
void install_log_init(struct install_log *log, const struct package_index *index);
void install_log_clear(struct install_log *log);

void install_log_add(struct install_log *log, int stream, const char *bytes, size_t len);

/* Lines that were not ended are. */
void install_log_end(struct install_log *log);
