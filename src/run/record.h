/* SPDX-License-Identifier: Apache-2.0 */
/* run/record.h - a run in a box that lives on, written down as it goes (run/kept_run.h). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/id.h"

struct gb_err;
struct kept;
struct kept_log;
struct run_result;

struct run_record {
    int runs_fd;
    int record_fd;
    struct kept_log *log;
    uint64_t started_ms;
    char command[256]; /* the longest that is kept is shorter */
    char id[ID_SIZE];
};

/* Draws the run's id and begins its files; command: as much of it as fits. */
int run_record_begin(struct run_record *ret, const char *state_dir, const struct kept *kept,
                     const char *command, struct gb_err *err);

void run_record_add(struct run_record *record, int stream, const void *bytes, size_t len);

/* What glovebox has to say of a run belongs to its log too. */
void run_record_failure(struct run_record *record, const struct gb_err *failure);

/* Writes the end down.  What cannot be written is a note of the result. */
void run_record_end(struct run_record *record, struct run_result *result);

/* The directory of a box's runs; the descriptor is the caller's. */
int run_record_dir(const char *state_dir, const struct kept *kept, struct gb_err *err);
