/* SPDX-License-Identifier: Apache-2.0 */
/* glove/limits.c - resource limits of runs. */
#include "glove/limits.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "wire/msg.h"

/* Places for a value that is no field of the message. */
#define ZERO (SIZE_MAX - 1)
#define KEPT SIZE_MAX

#define FIELD(name) offsetof(struct msg_limits, name)

/* Where in the message the two values of each limit are. */
static const struct {
    int resource;
    size_t soft;
    size_t hard;
} rows[LIMITS_MAX] = {
    { RLIMIT_CORE, ZERO, ZERO },
    { RLIMIT_RTPRIO, ZERO, ZERO },
    { RLIMIT_NICE, ZERO, ZERO },
    { RLIMIT_NPROC, FIELD(nproc), FIELD(nproc) },
    { RLIMIT_FSIZE, FIELD(fsize), FIELD(fsize) },
    { RLIMIT_NOFILE, FIELD(nofile_soft), FIELD(nofile_hard) },
    { RLIMIT_MEMLOCK, FIELD(memlock), FIELD(memlock) },
    { RLIMIT_STACK, FIELD(stack), KEPT },
    { RLIMIT_SIGPENDING, FIELD(sigpending), FIELD(sigpending) },
    { RLIMIT_MSGQUEUE, FIELD(msgqueue), FIELD(msgqueue) },
};

/* Not prlimit(2) of the C library: the type of its second argument differs between them. */
static int limit_call(int resource, const struct rlimit *to, struct rlimit *ret)
{
    return syscall(SYS_prlimit64, 0, resource, to, ret) < 0 ? -errno : 0;
}

static rlim_t value_at(const struct msg_limits *msg, size_t place, rlim_t most)
{
    uint64_t value;

    if (place == ZERO)
        return 0;
    if (place == KEPT)
        return most;
    memcpy(&value, (const char *)msg + place, sizeof(value));
    return value < most ? (rlim_t)value : most;
}

int limits_set(struct limits *limits, const struct msg_limits *msg)
{
    for (size_t i = 0; i < LIMITS_MAX; i++) {
        struct rlimit now;
        rlim_t hard;
        int r = limit_call(rows[i].resource, NULL, &now);

        if (r < 0)
            return r;
        hard = value_at(msg, rows[i].hard, now.rlim_max);
        limits->values[i].rlim_max = hard;
        limits->values[i].rlim_cur = value_at(msg, rows[i].soft, hard);
    }
    limits->is_set = true;
    return 0;
}

int limits_apply(const struct limits *limits)
{
    for (size_t i = 0; i < LIMITS_MAX; i++) {
        int r = limit_call(rows[i].resource, &limits->values[i], NULL);

        if (r < 0)
            return r;
    }
    return 0;
}
