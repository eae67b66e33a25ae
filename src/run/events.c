/* SPDX-License-Identifier: Apache-2.0 */
/* run/events.c - what reaches a run while it is under way.
 *
 * A wish comes as a queued signal with the program's signal as its value: real-time signals are not
 * merged, so that two wishes are two.
 */
#include "run/events.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/err.h"
#include "base/sys.h"

#define SIGNO_WISH SIGRTMIN

static bool next_event(void *user, struct box_event *ret)
{
    const struct run_events *events = user;
    struct signalfd_siginfo info;

    *ret = (struct box_event){ 0 };
    if (read(events->source.fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
        return false;
    if (info.ssi_signo == (uint32_t)SIGWINCH) {
        ret->kind = BOX_EVENT_RESIZE;
        events->size(&ret->rows, &ret->cols);
        return true;
    }
    ret->kind = BOX_EVENT_SIGNAL;
    ret->signo = (uint32_t)info.ssi_int;
    return info.ssi_code == SI_QUEUE && info.ssi_int > 0 && info.ssi_int < NSIG;
}

int run_events_open(struct run_events *ret, void (*size)(uint32_t *ret_rows, uint32_t *ret_cols),
                    struct gb_err *err)
{
    sigset_t set;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGNO_WISH);
    if (size)
        (void)sigaddset(&set, SIGWINCH);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    *ret = (struct run_events){ .source = { .next = next_event, .user = ret }, .size = size };
    ret->source.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return ret->source.fd < 0 ? gb_fail_sys(err, "watching for signals") : 0;
}

int run_events_ask_signal(int pidfd, uint32_t signo)
{
    siginfo_t info = {
        .si_signo = SIGNO_WISH,
        .si_code = SI_QUEUE,
        .si_pid = getpid(),
        .si_uid = getuid(),
        .si_value.sival_int = (int)signo,
    };

    return sys_pidfd_queue_signal(pidfd, &info) < 0 ? -errno : 0;
}
