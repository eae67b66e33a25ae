/* SPDX-License-Identifier: Apache-2.0 */
/* filters_policy.c - filters.def as a table, and the decision about each call. */
#ifndef _GNU_SOURCE
#    define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier) */
#endif
#include "filters_policy.h"

#include <linux/netlink.h>
#include <linux/prctl.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/stat.h>

/* Younger than the headers of Debian 12, or in none that can be included here. */
#define PR_SET_MDWE                 65
#define PR_GET_MDWE                 66
#define PR_SET_MEMORY_MERGE         67
#define PR_GET_SHADOW_STACK_STATUS  74
#define PR_SET_SHADOW_STACK_STATUS  75
#define PR_LOCK_SHADOW_STACK_STATUS 76
#define PR_GET_AUXV                 0x41555856
#define PROTO_L2TP                  115
#define PROTO_SMC                   256
#define MOUNT_NOSYMFOLLOW           256
#define SOCK_TYPE_BITS              0xf
#define IOPRIO_CLASS_BITS           (7 << 13)
#define IOPRIO_CLASS_RT_BITS        (1 << 13)

#define ALL_CLONE_NEW                                                                             \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | \
     CLONE_NEWNET)
#define COVERING_MOUNT_FLAGS                                                                    \
    (MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_REMOUNT | MS_BIND | MS_REC | MS_SILENT | \
     MS_PRIVATE | MOUNT_NOSYMFOLLOW | MS_NOATIME | MS_NODIRATIME | MS_RELATIME)

#define BITS(a, m, ...)                                                     \
    {                                                                       \
        .arg = (a), .mask = (uint32_t)(m), .value = { __VA_ARGS__ },        \
        .n_values = sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t), \
    }
#define IS(a, ...) BITS(a, UINT32_MAX, __VA_ARGS__)
#define CALLS(r, g, s)      \
    {                       \
        .kind = KIND_CALLS, \
        .run = (r),         \
        .glove = (g),       \
        .names = (s),       \
    },
#define REFUSE(w, answer, s, ...) \
    {                             \
        .kind = KIND_REFUSE,      \
        .who = (w),               \
        .run = (answer),          \
        .glove = (answer),        \
        .names = (s),             \
        .conds = { __VA_ARGS__ }, \
    },
#define PERMIT(w, s, ...)         \
    {                             \
        .kind = KIND_PERMIT,      \
        .who = (w),               \
        .run = ALLOW,             \
        .glove = ALLOW,           \
        .names = (s),             \
        .conds = { __VA_ARGS__ }, \
    },

const struct row policy[] = {
#include "filters.def"
};
const size_t n_rows = sizeof(policy) / sizeof(policy[0]);

struct call calls[MAX_NR];
size_t n_calls;

void die(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    fputs("filters: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    exit(1);
}

/* Steps through the names of a row; false at the end.  *ret_nr is -1 when no number is given. */
static bool next_name(const char **cursor, char name[MAX_NAME], int *ret_nr)
{
    const char *s = *cursor + strspn(*cursor, " ");
    size_t len = strcspn(s, " =");

    if (len == 0)
        return false;
    if (len >= MAX_NAME)
        die("name too long: %s", s);
    memcpy(name, s, len);
    name[len] = '\0';
    *ret_nr = s[len] == '=' ? (int)strtol(s + len + 1, NULL, 10) : -1;
    *cursor = s + strcspn(s, " ");
    return true;
}

bool row_names(const struct row *row, const char *wanted)
{
    char name[MAX_NAME] = "";
    int nr;

    for (const char *c = row->names; next_name(&c, name, &nr);)
        if (strcmp(name, wanted) == 0)
            return true;
    return false;
}

/* The number of a call on this architecture, or -1 when it has none. */
static int call_resolve(const char *name, int nr)
{
    int known = seccomp_syscall_resolve_name(name);

    if (known == __NR_SCMP_ERROR && nr < 0)
        die("%s: no such system call", name);
    if (known == __NR_SCMP_ERROR)
        return nr;
    if (nr >= 0 && known != nr)
        die("%s: the table says %d, libseccomp %d", name, nr, known);
    return known < 0 ? -1 : known;
}

static struct call *call_find(const char *name)
{
    for (size_t i = 0; i < n_calls; i++)
        if (strcmp(calls[i].name, name) == 0)
            return &calls[i];
    return NULL;
}

static void call_add(const struct row *row, const char name[MAX_NAME], int nr)
{
    struct call call = { .nr = call_resolve(name, nr), .run = row->run, .glove = row->glove };

    if (call_find(name) != NULL)
        die("%s: decided twice", name);
    if (call.nr >= MAX_NR || n_calls == MAX_NR)
        die("%s: no room for it", name);
    memcpy(call.name, name, MAX_NAME);
    calls[n_calls++] = call;
}

void policy_load(void)
{
    char name[MAX_NAME] = "";
    int nr;

    for (size_t i = 0; i < n_rows; i++)
        for (const char *c = policy[i].names; next_name(&c, name, &nr);)
            if (policy[i].kind == KIND_CALLS)
                call_add(&policy[i], name, nr);

    for (size_t i = 0; i < n_rows; i++)
        for (const char *c = policy[i].names; next_name(&c, name, &nr);) {
            struct call *call = call_find(name);

            if (call == NULL)
                die("%s: has rules but no decision", name);
            call->ruled |= policy[i].who;
        }
}
