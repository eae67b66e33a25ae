/* SPDX-License-Identifier: Apache-2.0 */
/* keeper/table.c - the numbers of channels and requests: whose they are, and which comes next. */
#include <errno.h>

#include "keeper/keeper.h"

/* Each number has one place: no look-up searches. */
static size_t place_of(uint32_t number)
{
    return number / 2 % KEEPER_PLACES;
}

struct keeper_route *route_by_number(struct keeper *k, uint32_t number)
{
    struct keeper_route *route = &k->routes[place_of(number)];

    return number && route->number == number ? route : NULL;
}

static bool is_route_of(const struct keeper_route *route, const struct keeper_client *c,
                        uint32_t theirs)
{
    return route->number && route->owner == c && route->theirs == theirs;
}

/* By the place that was noted for his number; who chooses numbers of the same place is searched
 * for. */
struct keeper_route *route_of(struct keeper *k, const struct keeper_client *c, uint32_t theirs)
{
    uint16_t noted = c->places[place_of(theirs)];

    if (noted == 0)
        return NULL;
    if (is_route_of(&k->routes[noted - 1], c, theirs))
        return &k->routes[noted - 1];
    for (size_t i = 0; i < KEEPER_PLACES; i++)
        if (is_route_of(&k->routes[i], c, theirs))
            return &k->routes[i];
    return NULL;
}

struct keeper_request *request_by_seq(struct keeper *k, uint32_t seq)
{
    for (size_t i = 0; i < KEEPER_REQUESTS_MAX; i++)
        if (k->requests[i].seq == seq)
            return &k->requests[i];
    return NULL;
}

/* A place for a new one: that of a run that is over when there is no other. */
static struct keeper_request *request_free(struct keeper *k)
{
    struct keeper_request *request = request_by_seq(k, 0);

    for (size_t i = 0; !request && i < KEEPER_REQUESTS_MAX; i++)
        if (k->requests[i].has_ended)
            request = &k->requests[i];
    return request;
}

struct keeper_request *run_of(struct keeper *k, const struct keeper_client *c, uint32_t theirs)
{
    for (size_t i = 0; i < KEEPER_REQUESTS_MAX; i++) {
        struct keeper_request *request = &k->requests[i];

        if (request->seq && request->is_run && request->serial == c->serial &&
            request->theirs == theirs)
            return request;
    }
    return NULL;
}

/* Numbers begin again one day, and some of the first may still be in use; 0 stands for none. */
static uint32_t next_seq(struct keeper *k)
{
    while (k->next_seq == 0 || request_by_seq(k, k->next_seq))
        k->next_seq++;
    return k->next_seq++;
}

static uint32_t next_channel(struct keeper *k)
{
    uint32_t number;

    while (k->next_channel == 0 || k->routes[place_of(k->next_channel)].number)
        k->next_channel += 2;
    number = k->next_channel;
    k->next_channel += 2;
    return number;
}

int route_open(struct keeper *k, struct keeper_client *c, bool is_in, uint16_t ask,
               uint32_t *number)
{
    uint32_t theirs = *number;
    struct keeper_route *route;

    if (theirs == 0 || theirs % 2 != 0 || route_of(k, c, theirs))
        return -EPROTO;
    if (ask ? k->n_routes >= KEEPER_PLACES - KEEPER_ROUTES_MAX
            : k->n_request_routes == KEEPER_ROUTES_MAX)
        return -EAGAIN;
    *number = next_channel(k);
    route = &k->routes[place_of(*number)];
    *route = (struct keeper_route){
        .number = *number,
        .theirs = theirs,
        .owner = c,
        .is_in = is_in,
        .ask = ask,
        .credit = WIRE_CREDIT_START,
    };
    k->n_routes++;
    k->n_request_routes += !ask;
    c->places[place_of(theirs)] = (uint16_t)(place_of(*number) + 1);
    return 0;
}

void route_close(struct keeper *k, struct keeper_route *route)
{
    if (route->ask && route->ask != KEEPER_ASK_OVER)
        ask_route_closed(k, route);
    k->n_routes--;
    k->n_request_routes -= !route->ask;
    route->number = 0;
}

int request_open(struct keeper *k, const struct keeper_client *c, bool is_run, uint32_t *seq)
{
    struct keeper_request *request = request_free(k);

    if (!request)
        return -EAGAIN;
    *request = (struct keeper_request){
        .seq = next_seq(k),
        .theirs = *seq,
        .serial = c ? c->serial : 0,
        .is_run = is_run,
    };
    *seq = request->seq;
    return 0;
}
