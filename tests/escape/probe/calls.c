/* SPDX-License-Identifier: Apache-2.0 */
/* calls.c - keys (C15) and every system call there is (C16).
 *
 * Every number is called with -1 in all arguments: a bad pointer, a bad descriptor, a bad flag.  A
 * call that the filter denies answers with the filter's errno; EFAULT, EBADF and EINVAL mean that
 * the kernel itself looked at the arguments.  (bubblewrap tests its filters in the same way.)
 */
#include <fcntl.h>
#include <linux/keyctl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe.h"

#define LAST_NR 600

void row_c15(char **args)
{
    char text[256];

    (void)args;
    REFUSED("add_key", syscall(SYS_add_key, "user", "probe", "x", 1, KEY_SPEC_USER_KEYRING), ENOSYS,
            EPERM);
    REFUSED("add_key-session",
            syscall(SYS_add_key, "user", "probe", "x", 1, KEY_SPEC_SESSION_KEYRING), ENOSYS, EPERM);
    REFUSED("add_key-keyring",
            syscall(SYS_add_key, "keyring", "probe", NULL, 0, KEY_SPEC_USER_KEYRING), ENOSYS,
            EPERM);
    REFUSED("request_key", syscall(SYS_request_key, "user", "canary", NULL, 0), ENOSYS, EPERM);
    for (long op = 0; op < 34; op++)
        REFUSED(named("keyctl-%ld", op), syscall(SYS_keyctl, op, -1L, -1L, -1L, -1L), ENOSYS,
                EPERM);
    verdict("proc-keys", slurp("/proc/keys", text, sizeof(text)) > 0, "");
    verdict("proc-key-users", slurp("/proc/key-users", text, sizeof(text)) > 0, "");
}

static long call_nr(const void *arg)
{
    long rc = syscall(*(const long *)arg, -1L, -1L, -1L, -1L, -1L, -1L);

    if (rc == 0 && *(const long *)arg == SYS_fork)
        _exit(0);
    return rc;
}

/* Not called: vfork, whose child would return on its parent's stack, and sync, which waits for
 * every disk of the machine. */
static bool is_spared(long nr)
{
    return nr == SYS_vfork || nr == SYS_sync;
}

void row_c16(char **args)
{
    (void)args;
    for (long nr = 0; nr <= LAST_NR; nr++) {
        if (is_spared(nr))
            continue;
        struct outcome outcome = in_child(call_nr, &nr, 1);

        info(named("nr-%ld", nr), outcome_text(&outcome));
    }
}
