/* SPDX-License-Identifier: Apache-2.0 */
/* glove/start.h - all that another program has to know to become the glove. */
#pragma once

/* Serves as PID 1 of a box until link_fd ends; the exit status.  Closes every descriptor but the
 * standard ones, which must be /dev/null, and the link. */
int glove_start(int link_fd);
