/* SPDX-License-Identifier: Apache-2.0 */
/* box/take.c - a request whose answer comes on a channel: taken to its end, whatever it holds. */
#include "box/take.h"

#include <errno.h>

#include "base/clock.h"
#include "base/err.h"
#include "box/box.h"
#include "box/link.h"

/* Silence of the glove in the middle of it. */
#define STALL_MS 30000

struct taker {
    const struct box_take *take;
    int code;       /* first failure */
    uint64_t total; /* bytes that came */
    bool is_finished;
};

static void take_data(void *user, const uint8_t *bytes, size_t len)
{
    struct taker *t = user;

    t->total += len;
    if (t->code == 0)
        t->code = t->take->feed(t->take->user, bytes, len);
}

static void take_fin(void *user)
{
    struct taker *t = user;

    t->is_finished = true;
}

static const struct channel_ops take_ops = {
    .data = take_data,
    .fin = take_fin,
};

static int refused(bool *ret_is_refused, int code)
{
    *ret_is_refused = true;
    return code;
}

static int take_all(struct link *link, struct taker *t, uint32_t seq, bool *ret_is_refused,
                    struct gb_err *err)
{
    uint64_t stall_ns = clock_after_ms(STALL_MS);
    uint64_t value;
    uint32_t where = 0;

    while (!t->is_finished) {
        uint64_t before = t->total;
        /* A refusal comes without data; an OK comes behind the last of it. */
        int r = link_answer(link, seq, &value, &where);

        if (r != 0)
            return refused(ret_is_refused, r < 0 ? r : -EPROTO);
        r = link_pump(link, stall_ns, NULL, 0, err);
        if (r < 0)
            return r;
        if (t->total > t->take->most)
            return refused(ret_is_refused, -EFBIG);
        if (t->total != before)
            stall_ns = clock_after_ms(STALL_MS);
        else if (clock_poll_ms(stall_ns) == 0)
            return gb_fail(err, -ETIMEDOUT, GB_BLAME_PEER, "the box sends no more files");
    }
    return 0;
}

static int take_wait(struct link *link, struct taker *t, uint32_t seq, bool *ret_is_refused,
                     struct gb_err *err)
{
    uint64_t value;
    uint32_t where = 0;
    int r = take_all(link, t, seq, ret_is_refused, err);

    if (r < 0)
        return r;
    r = link_await(link, seq, clock_after_ms(STALL_MS), &value, &where, err);
    if (t->code < 0)
        return refused(ret_is_refused, t->code);
    return r < 0 && where ? refused(ret_is_refused, r) : r;
}

int box_take(struct box *box, const struct box_take *take, bool *ret_is_refused, struct gb_err *err)
{
    struct link *link = box_link(box);
    struct taker t = { .take = take };
    uint32_t seq = 0;
    int r;

    *take->channel = link_channel_open(link, &take_ops, &t);
    if (!*take->channel)
        return gb_fail(err, -EBUSY, GB_BLAME_BUG, "no free channel");
    r = box_settle(box, err);
    if (r == 0)
        r = link_request(link, take->type, take->msg, NULL, 0, &seq, err);
    if (r == 0)
        r = take_wait(link, &t, seq, ret_is_refused, err);
    link_channel_close(link, *take->channel);
    return r;
}
