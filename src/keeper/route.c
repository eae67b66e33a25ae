/* SPDX-License-Identifier: Apache-2.0 */
/* keeper/route.c - whose a frame is, and what it is called on the other side.
 *
 * A frame is decoded before it is passed on: what a client or the glove made up goes no further.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "keeper/keeper.h"

/* How long the glove may leave what is sent to it unread. */
#define SEND_MS 10000

union message {
    struct msg_hello hello;
    struct msg_data data;
    struct msg_credit credit;
    struct msg_run run;
    struct msg_signal signal;
    struct msg_resize resize;
    struct msg_kill kill;
    struct msg_put put;
    struct msg_get get;
    struct msg_list list;
    struct msg_remove remove;
    struct msg_ping ping;
    struct msg_ok ok;
    struct msg_error error;
    struct msg_exit exit;
    struct msg_usage usage;
    struct msg_counts counts;
    struct msg_told told;
    struct msg_hang_up hang_up;
    struct msg_serve serve;
    struct msg_dial dial;
    char room[MSG_STRUCT_MAX];
};

/* ---- to the glove --------------------------------------------------------------------------- */

/* All of it: the glove reads its link whatever else it does, so this is a matter of moments.
 * -ETOOMANYREFS: nothing was sent, because this user has too many descriptors under way. */
static int send_frame(struct keeper *k, size_t len, const int *fds, size_t n_fds)
{
    uint64_t deadline_ns = clock_after_ms(SEND_MS);
    size_t at = 0;

    while (at < len && k->lost == 0) {
        struct pollfd out = { .fd = k->link_fd, .events = POLLOUT };
        ssize_t n = fd_send(k->link_fd, k->frame + at, len - at, fds, n_fds, MSG_DONTWAIT);

        if (n == -ETOOMANYREFS && at == 0)
            return -ETOOMANYREFS;
        if (n == -EAGAIN && poll(&out, 1, clock_poll_ms(deadline_ns)) == 0)
            k->lost = -ETIMEDOUT;
        else if (n < 0 && n != -EAGAIN)
            k->lost = (int)n;
        if (n < 0)
            continue;
        at += (size_t)n;
        n_fds = 0;
    }
    return k->lost;
}

int route_send(struct keeper *k, uint8_t type, uint32_t channel, uint8_t flags, const void *msg,
               const int *fds, size_t n_fds)
{
    int n = msg_encode(type, channel, flags, msg, k->frame, sizeof(k->frame));

    return n < 0 ? n : send_frame(k, (size_t)n, fds, n_fds);
}

int keeper_beat(struct keeper *k)
{
    char nothing[1] = { 0 };

    return route_send(k, MSG_BEAT, 0, 0, nothing, NULL, 0);
}

/* ---- from a client -------------------------------------------------------------------------- */

static int refuse(struct keeper_client *c, uint32_t seq, int error)
{
    struct msg_error msg = { .seq = seq, .error = (uint32_t)error, .step = GLOVE_STEP_REQUEST };

    return client_send_msg(c, MSG_ERROR, 0, &msg);
}

static int on_hello(struct keeper *k, struct keeper_client *c, union message *msg)
{
    (void)k;
    if (c->is_greeted || msg->hello.magic != WIRE_MAGIC || msg->hello.version != WIRE_VERSION)
        return -EPROTO;
    c->is_greeted = true;
    return client_send_msg(c, MSG_HELLO, 0, &msg->hello);
}

/* The descriptors of a RUN; the rest moves up. */
static int take_fds(struct keeper_client *c, size_t n, int *fds)
{
    if (n > c->n_fds)
        return -EPROTO;
    memcpy(fds, c->fds, n * sizeof(*fds));
    c->n_fds -= n;
    memmove(c->fds, c->fds + n, c->n_fds * sizeof(*fds));
    return 0;
}

/* Routes that were opened for a request that goes nowhere. */
static void routes_close(struct keeper *k, const uint32_t *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct keeper_route *route = route_by_number(k, numbers[i]);

        if (route)
            route_close(k, route);
    }
}

static int run_routes(struct keeper *k, struct keeper_client *c, struct msg_run *run)
{
    uint32_t *numbers[] = { &run->in, &run->out, &run->err };
    uint32_t opened[N_ELEMENTS(numbers)] = { 0 };

    for (size_t i = 0; i < N_ELEMENTS(numbers); i++) {
        int r = *numbers[i] ? route_open(k, c, i == 0, 0, numbers[i]) : 0;

        if (r < 0) {
            routes_close(k, opened, i);
            return r;
        }
        opened[i] = *numbers[i];
    }
    return 0;
}

static int run_forward(struct keeper *k, struct keeper_client *c, struct msg_run *run,
                       const int *fds)
{
    uint32_t theirs = run->seq;
    struct keeper_request *request;
    int r;

    r = run_routes(k, c, run);
    if (r == 0) {
        r = request_open(k, c, true, &run->seq);
        if (r < 0)
            routes_close(k, (uint32_t[]){ run->in, run->out, run->err }, 3);
    }
    if (r == -EAGAIN)
        return refuse(c, theirs, EAGAIN);
    if (r < 0)
        return r;
    request = request_by_seq(k, run->seq);
    request->in = run->in;
    request->is_killed = run->flags & RUN_FLAG_GROUP;
    if (c->n_runs < KEEPER_RUNS_MAX - 1)
        c->n_runs++;
    r = route_send(k, MSG_RUN, 0, 0, run, fds, run->n_fds);
    if (r != -ETOOMANYREFS)
        return r;
    request->seq = 0;
    routes_close(k, (uint32_t[]){ run->in, run->out, run->err }, 3);
    return refuse(c, theirs, EAGAIN);
}

static int on_run(struct keeper *k, struct keeper_client *c, union message *msg)
{
    int fds[FD_PASS_MAX];
    int r = take_fds(c, msg->run.n_fds, fds);

    /* The glove takes that for the end of its host. */
    if (r == 0 && msg->run.flags & RUN_FLAG_GROUP && msg->run.n_fds == 0)
        r = -EPROTO;
    if (r < 0)
        return r;
    r = run_forward(k, c, &msg->run, fds);
    for (size_t i = 0; i < msg->run.n_fds; i++)
        close(fds[i]);
    return r;
}

/* The run that a SIGNAL or a KILL means; its number on the link. */
static struct keeper_request *name_run(struct keeper *k, const struct keeper_client *c,
                                       uint32_t *run)
{
    struct keeper_request *request = run_of(k, c, *run);

    if (request)
        *run = request->seq;
    return request;
}

static int forward(struct keeper *k, struct keeper_client *c, uint8_t type, uint32_t *seq,
                   const void *msg)
{
    uint32_t theirs = *seq;

    if (request_open(k, c, false, seq) < 0)
        return refuse(c, theirs, EAGAIN);
    return route_send(k, type, 0, 0, msg, NULL, 0);
}

static int on_signal(struct keeper *k, struct keeper_client *c, union message *msg)
{
    if (!name_run(k, c, &msg->signal.run))
        return refuse(c, msg->signal.seq, ESRCH);
    return forward(k, c, MSG_SIGNAL, &msg->signal.seq, msg);
}

static int on_resize(struct keeper *k, struct keeper_client *c, union message *msg)
{
    if (!name_run(k, c, &msg->resize.run))
        return refuse(c, msg->resize.seq, ESRCH);
    return forward(k, c, MSG_RESIZE, &msg->resize.seq, msg);
}

/* One that is not known any more has left nothing that could be found. */
static int on_kill(struct keeper *k, struct keeper_client *c, union message *msg)
{
    struct msg_ok done = { .seq = msg->kill.seq };
    struct keeper_request *run = name_run(k, c, &msg->kill.run);

    if (!run)
        return client_send_msg(c, MSG_OK, 0, &done);
    run->is_killed = true;
    return forward(k, c, MSG_KILL, &msg->kill.seq, msg);
}

static int carry(struct keeper *k, struct keeper_client *c, uint8_t type, uint32_t *seq,
                 uint32_t *channel, const void *msg)
{
    uint32_t theirs = *seq;
    int r = route_open(k, c, type == MSG_PUT, 0, channel);

    if (r == 0) {
        r = request_open(k, c, false, seq);
        if (r < 0)
            routes_close(k, channel, 1);
    }
    if (r == -EAGAIN)
        return refuse(c, theirs, EAGAIN);
    if (r < 0)
        return r;
    return route_send(k, type, 0, 0, msg, NULL, 0);
}

static int on_put(struct keeper *k, struct keeper_client *c, union message *msg)
{
    return carry(k, c, MSG_PUT, &msg->put.seq, &msg->put.channel, msg);
}

static int on_get(struct keeper *k, struct keeper_client *c, union message *msg)
{
    return carry(k, c, MSG_GET, &msg->get.seq, &msg->get.channel, msg);
}

static int on_list(struct keeper *k, struct keeper_client *c, union message *msg)
{
    return carry(k, c, MSG_LIST, &msg->list.seq, &msg->list.channel, msg);
}

static int on_remove(struct keeper *k, struct keeper_client *c, union message *msg)
{
    return forward(k, c, MSG_REMOVE, &msg->remove.seq, msg);
}

static int on_ping(struct keeper *k, struct keeper_client *c, union message *msg)
{
    return forward(k, c, MSG_PING, &msg->ping.seq, msg);
}

static int on_usage(struct keeper *k, struct keeper_client *c, union message *msg)
{
    return forward(k, c, MSG_USAGE, &msg->usage.seq, msg);
}

static int on_serve(struct keeper *k, struct keeper_client *c, union message *msg)
{
    return ask_serve(k, c, &msg->serve);
}

static int on_told(struct keeper *k, struct keeper_client *c, union message *msg)
{
    return ask_told(k, c, &msg->told);
}

static int on_hang_up(struct keeper *k, struct keeper_client *c, union message *msg)
{
    return ask_hang_up(k, c, &msg->hang_up);
}

static int on_dial(struct keeper *k, struct keeper_client *c, union message *msg)
{
    return ask_dial(k, c, &msg->dial);
}

static const struct {
    uint8_t type;
    int (*handle)(struct keeper *k, struct keeper_client *c, union message *msg);
} requests[] = {
    { MSG_HELLO, on_hello },   { MSG_RUN, on_run },         { MSG_SIGNAL, on_signal },
    { MSG_KILL, on_kill },     { MSG_PUT, on_put },         { MSG_GET, on_get },
    { MSG_PING, on_ping },     { MSG_USAGE, on_usage },     { MSG_LIST, on_list },
    { MSG_REMOVE, on_remove }, { MSG_RESIZE, on_resize },   { MSG_SERVE, on_serve },
    { MSG_TOLD, on_told },     { MSG_HANG_UP, on_hang_up }, { MSG_DIAL, on_dial },
};

/* A request that was refused has no route: what was sent right behind it is thrown away. */
static int on_data(struct keeper *k, const struct keeper_client *c, const struct wire_head *head,
                   const struct msg_data *data)
{
    struct keeper_route *route = route_of(k, c, head->channel);
    uint32_t number;

    if (!route)
        return 0;
    if (!route->is_in || data->bytes.size > route->credit)
        return -EPROTO;
    route->credit -= data->bytes.size;
    number = route->number;
    if (head->flags & WIRE_FLAG_FIN)
        route_close(k, route);
    return route_send(k, MSG_DATA, number, head->flags, data, NULL, 0);
}

static int on_credit(struct keeper *k, const struct keeper_client *c, const struct wire_head *head,
                     const struct msg_credit *credit)
{
    const struct keeper_route *route = route_of(k, c, head->channel);

    if (!route)
        return 0; /* it crossed with the FIN */
    if (route->is_in)
        return -EPROTO;
    return route_send(k, MSG_CREDIT, route->number, 0, credit, NULL, 0);
}

int route_from_client(struct keeper *k, struct keeper_client *c, const struct wire_head *head,
                      const uint8_t *payload)
{
    union message msg;

    if (!(msg_direction(head->type) & GLOVE_IN) ||
        msg_decode(head->type, payload, head->size, &msg) < 0 ||
        (!c->is_greeted && head->type != MSG_HELLO))
        return -EPROTO;
    if (head->type == MSG_DATA)
        return on_data(k, c, head, &msg.data);
    if (head->type == MSG_CREDIT)
        return on_credit(k, c, head, &msg.credit);
    if (head->channel != 0 || head->flags != 0)
        return -EPROTO;
    for (size_t i = 0; i < N_ELEMENTS(requests); i++)
        if (requests[i].type == head->type)
            return requests[i].handle(k, c, &msg);
    return -EPROTO;
}

/* ---- from the glove ------------------------------------------------------------------------- */

/* What comes for nobody is thrown away and paid for, so that its sender comes to its end. */
static int drop_data(struct keeper *k, struct keeper_route *route, const struct wire_head *head)
{
    struct msg_credit credit = { .bytes = head->size };

    if (head->flags & WIRE_FLAG_FIN)
        route_close(k, route);
    else if (head->size > 0)
        return route_send(k, MSG_CREDIT, route->number, 0, &credit, NULL, 0);
    return 0;
}

int route_pass_on(struct keeper *k, struct keeper_client *c, const struct wire_head *head,
                  uint32_t channel, const void *msg)
{
    int n = msg_encode(head->type, channel, head->flags, msg, k->frame, sizeof(k->frame));

    if (n < 0)
        return -EPROTO;
    if (client_send(c, k->frame, (size_t)n) == 0)
        return 0;
    k->held_serial = c->serial;
    return 1;
}

static int give_data(struct keeper *k, const struct wire_head *head, const struct msg_data *data)
{
    struct keeper_route *route = route_by_number(k, head->channel);
    struct keeper_client *c;
    int r;

    if (!route || route->is_in)
        return -EPROTO;
    c = route->owner;
    if (!c)
        return drop_data(k, route, head);
    r = route_pass_on(k, c, head, route->theirs, data);
    if (r == 0 && head->flags & WIRE_FLAG_FIN)
        route_close(k, route);
    return r;
}

static int give_credit(struct keeper *k, const struct wire_head *head,
                       const struct msg_credit *credit)
{
    struct keeper_route *route = route_by_number(k, head->channel);
    struct keeper_client *c = route ? route->owner : NULL;
    uint64_t window;
    int r;

    if (!c)
        return 0;
    window = route->ask ? WIRE_CREDIT_WIDE : WIRE_CREDIT_START;
    if (!route->is_in || credit->bytes > window - route->credit)
        return -EPROTO;
    r = route_pass_on(k, c, head, route->theirs, credit);
    if (r == 0)
        route->credit += credit->bytes;
    return r;
}

/* Nobody reads the input of a run that has ended; not every client says so. */
static int end_input(struct keeper *k, uint32_t number)
{
    struct msg_data end = { .bytes.size = 0 };
    struct keeper_route *route = route_by_number(k, number);

    if (!route)
        return 0;
    route_close(k, route);
    return route_send(k, MSG_DATA, number, WIRE_FLAG_FIN, &end, NULL, 0);
}

/* An answer, or the end of a run.  Both name the request in their first field. */
static int give_answer(struct keeper *k, const struct wire_head *head, union message *msg)
{
    uint32_t *seq = head->type == MSG_EXIT     ? &msg->exit.run
                    : head->type == MSG_COUNTS ? &msg->counts.seq
                    : head->type == MSG_ERROR  ? &msg->error.seq
                                               : &msg->ok.seq;
    struct keeper_request *request = *seq ? request_by_seq(k, *seq) : NULL;
    struct keeper_client *c;
    int r = 0;

    if (!request || request->has_ended || (head->type == MSG_EXIT && !request->is_run))
        return -EPROTO;
    c = client_of(k, request->serial);
    *seq = request->theirs;
    if (c)
        r = route_pass_on(k, c, head, 0, msg);
    if (r != 0 || (head->type == MSG_OK && request->is_run))
        return r;
    request->has_ended = head->type == MSG_EXIT && c;
    if (!request->has_ended)
        request->seq = 0;
    return end_input(k, request->in);
}

static bool is_answer(uint8_t type)
{
    static const uint8_t types[] = { MSG_OK, MSG_ERROR, MSG_EXIT, MSG_COUNTS };

    return memchr(types, type, sizeof(types)) != NULL;
}

int route_to_client(struct keeper *k, const struct wire_head *head, const uint8_t *payload)
{
    union message msg;

    if (!(msg_direction(head->type) & GLOVE_OUT) || head->type == MSG_HELLO ||
        msg_decode(head->type, payload, head->size, &msg) < 0)
        return -EPROTO;
    if (head->type == MSG_DATA)
        return give_data(k, head, &msg.data);
    if (head->type == MSG_CREDIT)
        return give_credit(k, head, &msg.credit);
    return is_answer(head->type) ? give_answer(k, head, &msg) : ask_from_glove(k, head, &msg);
}

/* ---- who has left --------------------------------------------------------------------------- */

static int orphan_route(struct keeper *k, struct keeper_route *route)
{
    struct msg_data end = { .bytes.size = 0 };
    struct msg_credit credit = { .bytes = WIRE_CREDIT_START };
    uint32_t number = route->number;

    if (!route->is_in)
        return route_send(k, MSG_CREDIT, number, 0, &credit, NULL, 0);
    route_close(k, route);
    return route_send(k, MSG_DATA, number, WIRE_FLAG_FIN, &end, NULL, 0);
}

/* The keeper's own KILL, whose answer nobody waits for. */
static int kill_run(struct keeper *k, uint32_t run)
{
    struct msg_kill kill = { .run = run };

    if (request_open(k, NULL, false, &kill.seq) < 0)
        return 0; /* its group has been killed; where there is none, the end of the box does it */
    return route_send(k, MSG_KILL, 0, 0, &kill, NULL, 0);
}

int route_orphan(struct keeper *k, struct keeper_client *c)
{
    int r = k->server == c ? ask_orphan(k) : 0;

    /* Also when the link is lost: nobody may be named who is not there. */
    for (size_t i = 0; i < KEEPER_PLACES; i++) {
        if (!k->routes[i].number || k->routes[i].owner != c)
            continue;
        k->routes[i].owner = NULL;
        if (r == 0)
            r = orphan_route(k, &k->routes[i]);
    }
    for (size_t i = 0; i < KEEPER_REQUESTS_MAX; i++) {
        struct keeper_request *request = &k->requests[i];

        if (!request->seq || request->serial != c->serial)
            continue;
        request->serial = 0;
        if (r == 0 && request->is_run && !request->is_killed)
            r = kill_run(k, request->seq);
        if (request->has_ended)
            *request = (struct keeper_request){ 0 };
    }
    return r;
}
