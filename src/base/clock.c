/* SPDX-License-Identifier: Apache-2.0 */
/* base/clock.c - monotonic time. */
#include "base/clock.h"

#include <limits.h>

uint64_t clock_now_ns(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return clock_ns_of(ts);
}

uint64_t clock_after_ms(uint64_t ms)
{
    uint64_t now = clock_now_ns();

    if (ms > (CLOCK_NEVER_NS - now) / NS_PER_MS)
        return CLOCK_NEVER_NS;
    return now + ms * NS_PER_MS;
}

int clock_poll_ms(uint64_t deadline_ns)
{
    uint64_t now;
    uint64_t ms;

    if (deadline_ns == CLOCK_NEVER_NS)
        return -1;
    now = clock_now_ns();
    if (deadline_ns <= now)
        return 0;
    ms = (deadline_ns - now + NS_PER_MS - 1) / NS_PER_MS;
    return ms > INT_MAX ? INT_MAX : (int)ms;
}
