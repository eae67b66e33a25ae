/* SPDX-License-Identifier: Apache-2.0 */
/* cli/box_record.h - a run in a box that lives on, written down as it goes (run/kept_run.h). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/id.h"

struct exec_args;
struct gb_err;
struct kept;
struct kept_log;
struct run_result;
struct settings;

struct box_record {
    int runs_fd;
    struct kept_log *log;
    uint64_t started_ms;
    char command[256];
    char id[ID_SIZE];
};

/* Draws the run's id and begins its files. */
int box_record_begin(struct box_record *ret, const struct settings *settings,
                     const struct kept *kept, const struct exec_args *args, struct gb_err *err);

void box_record_add(struct box_record *record, int stream, const void *bytes, size_t len);

/* Writes the end down.  What cannot be written is a note of the result. */
void box_record_end(struct box_record *record, struct run_result *result);

/* The directory of a box's runs; the descriptor is the caller's. */
int box_runs_open(const struct settings *settings, const struct kept *kept, struct gb_err *err);
