/* SPDX-License-Identifier: Apache-2.0 */
/* model/retry.h - whether and when a request is made again.
 *
 * The convention of the providers' own libraries: two retries, for 408, 409, 429, 5xx and broken
 * connections; the server's advice first (x-should-retry, retry-after-ms, retry-after in seconds or
 * as a date), else half a second doubled each time, at most 8 s, less up to a quarter by chance.
 * Unlike theirs, a wait of more than a minute is not shortened but left to the caller: asking again
 * earlier than told only makes it longer.  And too many requests (429) without advice are met with
 * three retries after 5, 15 and 30 s: such limits count by the minute.  A 429 or 503 that gives no
 * time but says which of its limits has nothing left is met when that one is full again.
 *
 * Pure but for retry_pause().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct fault;
struct gb_err;

#define RETRIES_MAX       2
#define RATE_RETRIES_MAX  3
#define RETRY_WAIT_MAX_MS 60000

/* Names of headers: what is left of a limit, and when all of it is there again, as a duration
 * ("6m0s", "120ms", "1.5s") or a time (RFC 3339). */
struct retry_limit {
    const char *remaining;
    const char *reset;
};
#define RETRY_LIMITS 6
extern const struct retry_limit retry_limits[RETRY_LIMITS];

/* Values of the answer's headers as they came; NULL: not there. */
struct retry_headers {
    const char *should_retry;
    const char *retry_after_ms;
    const char *retry_after;
    struct retry_limit limits[RETRY_LIMITS]; /* values here, of the names above */
};

/* Puts the server's advice into the fault.  now: the wall clock, for dates. */
void retry_advise(struct fault *fault, const struct retry_headers *headers, time_t now);

/* May the request be made again after n retries, and after how long?  chance: any number. */
bool retry_due(const struct fault *fault, unsigned n, uint32_t chance, uint64_t *ret_wait_ms);

/* Waits.  -ECANCELED when cancel_fd (-1: never) becomes readable, -ETIMEDOUT at once when the
 * deadline comes first. */
int retry_pause(uint64_t wait_ms, uint64_t deadline_ns, int cancel_fd, struct gb_err *err);
