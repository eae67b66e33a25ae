/* SPDX-License-Identifier: Apache-2.0 */
/* box/link_side.c - what a glove asks by itself, and descriptors that are served with its link. */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "box/link_parts.h"

int link_add_side(struct link *link, const struct link_side *side)
{
    if (link->n_sides == SIDES_MAX)
        return -EBUSY;
    link->n_polled[link->n_sides] = 0;
    link->sides[link->n_sides++] = *side;
    return 0;
}

void link_drop_side(struct link *link, const void *user)
{
    for (size_t i = 0; i < link->n_sides; i++) {
        if (link->sides[i].user != user)
            continue;
        link->n_sides--;
        memmove(&link->sides[i], &link->sides[i + 1], (link->n_sides - i) * sizeof(link->sides[0]));
        memmove(&link->n_polled[i], &link->n_polled[i + 1],
                (link->n_sides - i) * sizeof(link->n_polled[0]));
        return;
    }
}

int link_tell(struct link *link, uint8_t type, const void *msg)
{
    if (link->lost)
        return link->lost;
    if (link_queue(link, type, 0, 0, msg) < 0)
        return link_lose(link, -ENOBUFS, "the glove reads no more");
    return link_push(link);
}

int side_take_ask(struct link *link, uint8_t type, const void *msg)
{
    for (size_t i = 0; i < link->n_sides; i++)
        if (link->sides[i].ask(link->sides[i].user, type, msg))
            return link->lost;
    return link_lose(link, -EPROTO, "a question that nobody asked for");
}

size_t side_polls(struct link *link, struct pollfd *fds, size_t max)
{
    size_t n = 0;

    for (size_t i = 0; i < link->n_sides; i++) {
        link->n_polled[i] = link->sides[i].polls(link->sides[i].user, fds + n, max - n);
        n += link->n_polled[i];
    }
    return n;
}

void side_served(struct link *link, const struct pollfd *fds)
{
    for (size_t i = 0; i < link->n_sides; i++) {
        link->sides[i].served(link->sides[i].user, fds, link->n_polled[i]);
        fds += link->n_polled[i];
    }
}
