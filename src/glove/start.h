/* SPDX-License-Identifier: Apache-2.0 */
/* glove/start.h - all that another program has to know to become the glove. */
#pragma once

/* Serves as PID 1 of a box until the link ends, whose halves may be one socket; the exit status.
 * Closes every descriptor but the standard ones, which must be /dev/null, and the link. */
int glove_start(int link_in, int link_out);
