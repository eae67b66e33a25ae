/* SPDX-License-Identifier: Apache-2.0 */
/* glove/start.c - the one glove of a process. */
#include "glove/start.h"

#include "glove/glove.h"

/* Zero pages until they are used. */
static struct glove glove;

int glove_start(int link_in, int link_out)
{
    const struct glove_config config = { .link_in = link_in, .link_out = link_out };

    return glove_main(&glove, &config);
}
