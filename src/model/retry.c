/* SPDX-License-Identifier: Apache-2.0 */
/* model/retry.c - whether and when a request is made again. */
#include "model/retry.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "model/fault.h"

/* Where requests are counted by the minute, a second or two is no help. */
static const uint64_t rate_waits_ms[RATE_RETRIES_MAX] = { 5000, 15000, 30000 };

const struct retry_limit retry_limits[RETRY_LIMITS] = {
    { "x-ratelimit-remaining-requests", "x-ratelimit-reset-requests" },
    { "x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens" },
    { "anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset" },
    { "anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset" },
    { "anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-input-tokens-reset" },
    { "anthropic-ratelimit-output-tokens-remaining", "anthropic-ratelimit-output-tokens-reset" },
};

#define FIRST_WAIT_MS 500
#define LAST_WAIT_MS  8000

/* "12", "1.5": seconds, or with `unit` 1 milliseconds. */
static bool read_number(const char *text, double unit, uint64_t *ret_ms)
{
    char *end = NULL;
    double value;

    if (!text || !text[0] || strspn(text, "0123456789.") < strlen(text))
        return false;
    value = strtod(text, &end);
    if (*end || !(value >= 0 && value < 1e9))
        return false;
    *ret_ms = (uint64_t)(value * unit);
    return true;
}

/* "Wed, 21 Oct 2026 07:28:00 GMT", of which servers send no other form any more. */
static bool read_date(const char *text, time_t now, uint64_t *ret_ms)
{
    struct tm date = { 0 };
    const char *end = text ? strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &date) : NULL;
    time_t then;

    if (!end || *end)
        return false;
    then = timegm(&date);
    *ret_ms = then > now ? (uint64_t)(then - now) * 1000 : 0;
    return true;
}

/* "6m0s", "1h2m3.5s", "120ms". */
static bool read_duration(const char *text, uint64_t *ret_ms)
{
    static const struct {
        const char *name;
        double ms;
    } units[] = { { "ms", 1 }, { "h", 3600000 }, { "m", 60000 }, { "s", 1000 } };
    double sum = 0;

    if (!text || !text[0])
        return false;
    while (*text) {
        size_t digits = strspn(text, "0123456789.");
        char *end = NULL;
        double value = digits > 0 ? strtod(text, &end) : 0;
        size_t unit = 0;

        if (digits == 0 || end != text + digits)
            return false;
        while (unit < N_ELEMENTS(units) &&
               strncmp(end, units[unit].name, strlen(units[unit].name)) != 0)
            unit++;
        if (unit == N_ELEMENTS(units))
            return false;
        sum += value * units[unit].ms;
        text = end + strlen(units[unit].name);
    }
    if (!(sum >= 0 && sum < 1e12))
        return false;
    *ret_ms = (uint64_t)sum;
    return true;
}

/* "2026-10-21T07:28:00Z", perhaps with a fraction of the second. */
static bool read_time(const char *text, time_t now, uint64_t *ret_ms)
{
    struct tm date = { 0 };
    const char *end = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &date) : NULL;
    time_t then;

    if (end && *end == '.')
        end += 1 + strspn(end + 1, "0123456789");
    if (!end || strcmp(end, "Z") != 0)
        return false;
    then = timegm(&date);
    *ret_ms = then > now ? (uint64_t)(then - now) * 1000 : 0;
    return true;
}

/* Until all limits that have nothing left are there again.  A time that is over says nothing. */
static bool read_limits(const struct retry_limit limits[static RETRY_LIMITS], time_t now,
                        uint64_t *ret_ms)
{
    uint64_t longest = 0;

    for (size_t i = 0; i < RETRY_LIMITS; i++) {
        uint64_t ms = 0;

        if (!limits[i].remaining || strcmp(limits[i].remaining, "0") != 0)
            continue;
        if (!read_duration(limits[i].reset, &ms) && !read_time(limits[i].reset, now, &ms))
            continue;
        longest = ms > longest ? ms : longest;
    }
    if (longest > 0)
        *ret_ms = longest;
    return longest > 0;
}

void retry_advise(struct fault *fault, const struct retry_headers *headers, time_t now)
{
    if (headers->should_retry) {
        fault->may_retry = strcasecmp(headers->should_retry, "true") == 0;
        fault->has_advice = fault->may_retry || strcasecmp(headers->should_retry, "false") == 0;
    }
    fault->has_wait = read_number(headers->retry_after_ms, 1, &fault->wait_ms) ||
                      read_number(headers->retry_after, 1000, &fault->wait_ms) ||
                      read_date(headers->retry_after, now, &fault->wait_ms);
    if (!fault->has_wait && (fault->status == 429 || fault->status == 503))
        fault->has_wait = read_limits(headers->limits, now, &fault->wait_ms);
}

static bool is_passing(const struct fault *fault)
{
    switch (fault->kind) {
    case FAULT_RATE:
    case FAULT_SERVER:
    case FAULT_LINK:
        return true;
    default:
        return false;
    }
}

bool retry_due(const struct fault *fault, unsigned n, uint32_t chance, uint64_t *ret_wait_ms)
{
    bool is_rate = fault->kind == FAULT_RATE;
    uint64_t wait_ms = is_rate && n < RATE_RETRIES_MAX ? rate_waits_ms[n] : FIRST_WAIT_MS;

    if (n >= (is_rate ? RATE_RETRIES_MAX : RETRIES_MAX) || fault->kind == FAULT_ENDED ||
        fault->kind == FAULT_QUOTA)
        return false;
    if (!(fault->has_advice ? fault->may_retry : is_passing(fault)))
        return false;
    if (fault->has_wait) {
        *ret_wait_ms = fault->wait_ms;
        return fault->wait_ms <= RETRY_WAIT_MAX_MS;
    }
    for (unsigned i = 0; !is_rate && i < n && wait_ms < LAST_WAIT_MS; i++)
        wait_ms *= 2;
    *ret_wait_ms = wait_ms - wait_ms / 4 * (chance % 1024) / 1024;
    return true;
}

int retry_pause(uint64_t wait_ms, uint64_t deadline_ns, int cancel_fd, struct gb_err *err)
{
    struct pollfd cancel = { .fd = cancel_fd, .events = POLLIN };
    uint64_t end_ns = clock_after_ms(wait_ms);
    int r;

    if (end_ns >= deadline_ns)
        return gb_fail(err, -ETIMEDOUT, GB_BLAME_CALLER, "no time left for another try");
    do {
        r = poll(&cancel, 1, clock_poll_ms(end_ns));
        if (r < 0 && errno != EINTR)
            return gb_fail_sys(err, "waiting for another try");
    } while (r <= 0 && clock_now_ns() < end_ns);
    if (r > 0)
        return gb_fail(err, -ECANCELED, GB_BLAME_CALLER, "cancelled");
    return 0;
}
