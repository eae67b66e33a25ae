/* SPDX-License-Identifier: Apache-2.0 */
/* glove/main.c - where PID 1 of a box begins.
 *
 * Started without arguments and without an environment; descriptor 3 is the link, 0-2 are
 * /dev/null.
 */
#include "glove/glove.h"

#define LINK_FD 3

static struct glove glove;

int main(void)
{
    const struct glove_config config = { .link_in = LINK_FD, .link_out = LINK_FD };

    return glove_main(&glove, &config);
}
