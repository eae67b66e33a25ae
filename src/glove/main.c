/* SPDX-License-Identifier: Apache-2.0 */
/* glove/main.c - where the glove begins as a program of its own.
 *
 * Started without arguments and without an environment; descriptor 3 is the link, 0-2 are
 * /dev/null.  In a native box the spawner's child becomes the glove without this.
 */
#include "glove/start.h"

#define LINK_FD 3

int main(void)
{
    return glove_start(LINK_FD);
}
