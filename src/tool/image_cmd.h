/* SPDX-License-Identifier: Apache-2.0 */
/* tool/image_cmd.h - the command that an image brings along, run in its environment.
 *
 * It is a run like any other: the glove starts it as the run user, in the image's own directory and
 * with its variables; its limits hold, its output is a log on the host (`box runs`, `box logs`),
 * and `box kill` ends it.  A process of ours does it, as for `box run -d`, and ends with the
 * environment.  The directory of the box holds, besides what tool/environment.h tells,
 *
 *    image_cmd    the id of that run
 */
#pragma once

#include "engine/images.h"

struct buf;
struct environment;
struct gb_err;
struct tool_call;
struct tool_host;

struct image_cmd {
    struct images_config config;
    const char **argv; /* entry point and command; borrowed from config */
};

/* What the image says.  -EINVAL: it has no command. */
int image_cmd_find(struct tool_call *call, const char *image, struct image_cmd *ret,
                   struct gb_err *err);
void image_cmd_clear(struct image_cmd *cmd);
#define cleanup_image_cmd cleanup_with(image_cmd_clear)

/* On return the run is written down.  That its program cannot be started is told by its log. */
int image_cmd_start(const struct tool_host *host, const struct environment *environment,
                    const struct image_cmd *cmd, uint64_t wall_ms, struct gb_err *err);

/* Its log so far, a JSON object as tool/last_run.h's, with `running`.  1: the environment has none.
 */
int image_cmd_text(const struct tool_host *host, const struct environment *environment,
                   struct buf *ret, struct gb_err *err);
