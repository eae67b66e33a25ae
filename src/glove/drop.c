/* SPDX-License-Identifier: Apache-2.0 */
/* glove/drop.c - giving up privileges, and the system call filters. */
#include "glove/drop.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "gen/filters.h"

/* No capability by being root, by changing ids or by keeping; and that for good. */
#define SECUREBITS                                                                           \
    (SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |                         \
     SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE | \
     SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

#define CAPS_KEPT (1u << CAP_KILL | 1u << CAP_SETUID | 1u << CAP_SETGID)

/* Highest capability that a kernel could know. */
#define CAPS_MAX 64

static int empty_bounding_set(void)
{
    for (unsigned long cap = 0; cap < CAPS_MAX; cap++) {
        if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0)
            continue;
        if (errno == EINVAL && cap > 0)
            return 0; /* past the last one */
        return -errno;
    }
    return 0;
}

static int set_caps(uint32_t low)
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[2] = {
        { .effective = low, .permitted = low, .inheritable = 0 },
    };

    return syscall(SYS_capset, &head, data) < 0 ? -errno : 0;
}

int drop_glove(bool may_mount)
{
    int r;

    if (prctl(PR_SET_SECUREBITS, SECUREBITS, 0, 0, 0) < 0)
        return -errno;
    r = empty_bounding_set();
    if (r < 0)
        return r;
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
        return -errno;
    r = set_caps(CAPS_KEPT | (may_mount ? 1u << CAP_SYS_ADMIN : 0));
    if (r < 0)
        return r;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
}

int drop_all(void)
{
    return set_caps(0);
}

int drop_to_kill(void)
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[2];

    if (syscall(SYS_capget, &head, data) < 0)
        return -errno;
    return set_caps(data[0].permitted & 1u << CAP_KILL);
}

_Static_assert(sizeof(struct gb_bpf) == sizeof(struct sock_filter), "the same instruction");

static int filter_load(const struct gb_bpf *program, size_t len)
{
    /* sock_fprog has no const; the kernel copies. */
    struct sock_fprog fprog = {
        .len = (unsigned short)len,
        .filter = (struct sock_filter *)(uintptr_t)program,
    };

    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &fprog) < 0 ? -errno : 0;
}

int filter_glove(void)
{
    return filter_load(gb_filter_glove, N_ELEMENTS(gb_filter_glove));
}

int filter_run(void)
{
    return filter_load(gb_filter_run, N_ELEMENTS(gb_filter_run));
}
