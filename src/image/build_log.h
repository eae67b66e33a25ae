/* SPDX-License-Identifier: Apache-2.0 */
/* image/build_log.h - what a build said.
 *
 * Takes the texts of the engine's stream in the order and the pieces in which they come, and keeps
 * the last lines; the whole is a file's affair (image/log_file.h).  The step that runs is known
 * from the engine's own lines ("Step 2/5 : RUN …"): a line counts only when it is the next of as
 * many steps as the first one named, so that a program that prints such a line is not believed for
 * long.
 */
#pragma once

#include <stddef.h>

#include "base/cleanup.h"

struct build_log;

#define BUILD_LOG_LINES   10  /* of a summary */
#define BUILD_LOG_LINE    400 /* bytes of each, at most */
#define BUILD_LOG_SUMMARY (BUILD_LOG_LINES * (BUILD_LOG_LINE + 1) + 1)

/* NULL when memory is short. */
struct build_log *build_log_new(void);
void build_log_free(struct build_log *log);

DEFINE_CLEANUP(struct build_log *, build_log_free)
#define cleanup_build_log cleanup_with(build_log_freep)

/* One more text of the stream. */
void build_log_add(struct build_log *log, const char *text, size_t len);

/* The build has failed; the engine's message becomes the last line.  The first failure counts. */
void build_log_fail(struct build_log *log, const char *message);

/* The step that runs; NULL when none has begun. */
const char *build_log_layer(const struct build_log *log);

/* "Step 2/5 : RUN …", the step that a failed build was at; NULL when it has not failed or had not
 * begun. */
const char *build_log_failed_layer(const struct build_log *log);

/* The last line of a build that worked, the last BUILD_LOG_LINES of one that failed; lines without
 * anything in them do not count, and control characters are blanks. */
const char *build_log_summary(const struct build_log *log, char text[static BUILD_LOG_SUMMARY]);
