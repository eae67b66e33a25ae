/* SPDX-License-Identifier: Apache-2.0 */
/* spawner/guard.c - a twin of the spawner that outlives it, should it be killed. */
#include "spawner/guard.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sys.h"

#define STACK_SIZE (128 << 10)

struct duty {
    int spawner; /* its pidfd */
    void (*stand_in)(void *arg);
    void *arg;
};

/* While the spawner lives, nothing is touched but this stack. */
static int keep_watch(void *arg)
{
    const struct duty *duty = arg;
    struct pollfd end = { .fd = duty->spawner, .events = POLLIN };
    int n;

    (void)prctl(PR_SET_NAME, "glovebox-guard");
    do {
        n = poll(&end, 1, -1);
    } while (n < 0 && errno == EINTR);
    /* Anything but its end says nothing about the spawner, whose box is not to be touched. */
    if (n == 1 && end.revents & POLLIN)
        duty->stand_in(duty->arg);
    return 0;
}

pid_t guard_start(void (*stand_in)(void *arg), void *arg)
{
    static _Alignas(16) char stack[STACK_SIZE];
    static struct duty duty;
    int spawner = sys_pidfd_open(getpid());
    pid_t pid;

    if (spawner < 0)
        return 0;
    duty = (struct duty){ .spawner = spawner, .stand_in = stand_in, .arg = arg };
    pid = clone(keep_watch, stack + sizeof(stack), CLONE_VM | CLONE_FILES | SIGCHLD, &duty);
    return pid < 0 ? 0 : pid;
}

void guard_dismiss(pid_t guard)
{
    if (guard <= 0)
        return;
    (void)kill(guard, SIGKILL);
    (void)waitpid(guard, NULL, 0);
}
