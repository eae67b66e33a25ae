/* SPDX-License-Identifier: Apache-2.0 */
/* run/signals.c - being told to end, as a descriptor. */
#include "run/signals.h"

#include <signal.h>
#include <sys/signalfd.h>

#include "base/err.h"

int signals_open(struct gb_err *err)
{
    sigset_t set;
    int fd;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return fd < 0 ? gb_fail_sys(err, "watching for signals") : fd;
}
