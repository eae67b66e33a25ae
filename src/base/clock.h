/* SPDX-License-Identifier: Apache-2.0 */
/* base/clock.h - monotonic time.
 *
 * Deadlines are absolute monotonic nanoseconds (`_ns`); durations given by people are `_ms`.
 * The wall clock may jump and decides nothing here.
 */
#pragma once

#include <stdint.h>
#include <time.h>

#define NS_PER_MS      1000000ULL
#define NS_PER_S       1000000000ULL
#define CLOCK_NEVER_NS UINT64_MAX

uint64_t clock_now_ns(void);

/* A moment of any clock, such as a file's times. */
static inline uint64_t clock_ns_of(struct timespec moment)
{
    return (uint64_t)moment.tv_sec * NS_PER_S + (uint64_t)moment.tv_nsec;
}

/* now + ms, saturating at CLOCK_NEVER_NS. */
uint64_t clock_after_ms(uint64_t ms);

/* Milliseconds for poll(2) until the deadline: rounded up, -1 for never, 0 when it has passed. */
int clock_poll_ms(uint64_t deadline_ns);
