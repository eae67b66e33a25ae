/* SPDX-License-Identifier: Apache-2.0 */
/* image/log_file.h - the log of a build as a file, whole and while it grows.
 *
 * The newest LOG_FILE_KEPT of a directory stay; the oldest goes when another is made.  Names begin
 * with the time, so that they sort.
 */
#pragma once

#include <limits.h>
#include <stdint.h>

struct gb_err;

#define LOG_FILE_KEPT 50

/* A longer log is cut there by who writes it: a step may print without end. */
#define LOG_FILE_MAX (UINT64_C(64) << 20)

/* Makes the directory (0700) where it lacks, and a file that is the caller's to close. */
int log_file_open(const char *dir, uint64_t unix_time, char ret_path[static PATH_MAX],
                  struct gb_err *err);
