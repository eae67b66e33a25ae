/* SPDX-License-Identifier: Apache-2.0 */
/* model/retry.c - whether and when a request is made again. */
#include "model/retry.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/err.h"
#include "model/fault.h"

/* Where requests are counted by the minute, a second or two is no help. */
static const uint64_t rate_waits_ms[RATE_RETRIES_MAX] = { 5000, 15000, 30000 };

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

void retry_advise(struct fault *fault, const struct retry_headers *headers, time_t now)
{
    if (headers->should_retry) {
        fault->may_retry = strcasecmp(headers->should_retry, "true") == 0;
        fault->has_advice = fault->may_retry || strcasecmp(headers->should_retry, "false") == 0;
    }
    fault->has_wait = read_number(headers->retry_after_ms, 1, &fault->wait_ms) ||
                      read_number(headers->retry_after, 1000, &fault->wait_ms) ||
                      read_date(headers->retry_after, now, &fault->wait_ms);
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
