/* SPDX-License-Identifier: Apache-2.0 */
/* glove/main.c - where the glove begins as a program of its own.
 *
 * Without arguments descriptor 3 is the link, a socket, and 0-2 are /dev/null.  With "-" stdin and
 * stdout are the link's two halves, as a container engine has them; behind it may come the list of
 * processors that programs are to be shown.  In a native box the spawner's child becomes the glove
 * without this.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "glove/processors.h"
#include "glove/start.h"

#define LINK_FD 3

/* Of a link that is two pipes: an engine's usual ones hold a single frame. */
#define LINK_PIPE_SIZE (1 << 20)

/* Out of the way of what programs are given as 0 and 1. */
static int lift(int fd)
{
    int lifted = fcntl(fd, F_DUPFD_CLOEXEC, LINK_FD);
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (lifted < 0 || nothing < 0 || dup2(nothing, fd) < 0)
        return -1;
    close(nothing);
    /* Refused when this user has many pipes, or when it is none: slower, nothing else. */
    (void)fcntl(lifted, F_SETPIPE_SZ, LINK_PIPE_SIZE);
    return lifted;
}

/* An engine hands on what a container says. */
static int failed(const char *why)
{
    (void)fd_write_full(STDERR_FILENO, why, strlen(why));
    return 1;
}

int main(int argc, char **argv)
{
    int in;
    int out;

    if (argc < 2 || strcmp(argv[1], "-") != 0)
        return glove_start(LINK_FD, LINK_FD);
    if (getpid() != 1)
        return failed("the glove is not the first process of its container\n");
    if (argc > 2 && processors_show(PROCESSORS_DEVICES, argv[2]) < 0)
        return failed("the glove cannot show the processors of the box\n");
    in = lift(STDIN_FILENO);
    out = lift(STDOUT_FILENO);
    return in < 0 || out < 0 ? 1 : glove_start(in, out);
}
