/* SPDX-License-Identifier: Apache-2.0 */
/* keeper/ask.c - the network of a box: what its glove asks by itself, and who answers.
 *
 *    glove ── LOOKUP, CONNECT ──► server ── TOLD ──►         a question, and perhaps a connection
 *    glove ◄── DIAL ── server,  ── DIALLED ──►               a connection that the server wants
 *    glove ── HUNG_UP ──► server                             its program reads no more, or it broke
 *    glove ◄── HANG_UP ── server                             its end in both directions
 *
 * A connection is two routes and an entry here, which goes when both routes have ended or the
 * server hangs up.  Numbers of questions are the glove's own; those of dials are the keeper's on
 * the link, so that what comes late for a server who has left is not taken for another's.
 */
#include <errno.h>

#include "keeper/keeper.h"

#define ASKS_END (KEEPER_ASKS_MAX + KEEPER_DIALS_MAX)

/* ---- the table ------------------------------------------------------------------------------ */

/* Questions and dials have parts of their own. */
static size_t part_start(bool is_dial)
{
    return is_dial ? KEEPER_ASKS_MAX : 0;
}

static size_t part_end(bool is_dial)
{
    return is_dial ? ASKS_END : KEEPER_ASKS_MAX;
}

static struct keeper_ask *ask_by_number(struct keeper *k, uint32_t number)
{
    bool is_dial = number & DIAL_ASK;

    for (size_t i = part_start(is_dial); i < part_end(is_dial); i++)
        if (k->asks[i].number == number)
            return &k->asks[i];
    return NULL;
}

static struct keeper_ask *ask_by_theirs(struct keeper *k, uint32_t theirs)
{
    bool is_dial = theirs & DIAL_ASK;

    for (size_t i = part_start(is_dial); i < part_end(is_dial); i++)
        if (k->asks[i].number && k->asks[i].theirs == theirs)
            return &k->asks[i];
    return NULL;
}

static struct keeper_ask *ask_free(struct keeper *k, bool is_dial)
{
    for (size_t i = part_start(is_dial); i < part_end(is_dial); i++)
        if (!k->asks[i].number)
            return &k->asks[i];
    return NULL;
}

static uint16_t place_of(const struct keeper *k, const struct keeper_ask *ask)
{
    return (uint16_t)(ask - k->asks + 1);
}

void ask_route_closed(struct keeper *k, const struct keeper_route *route)
{
    struct keeper_ask *ask = &k->asks[route->ask - 1];

    if (route->is_in)
        ask->in = 0;
    else
        ask->out = 0;
    if (!ask->in && !ask->out)
        ask->number = 0;
}

/* Both channels of a connection, under the link's numbers from now on. */
static int open_routes(struct keeper *k, struct keeper_client *c, struct keeper_ask *ask,
                       uint32_t *in, uint32_t *out)
{
    int r = route_open(k, c, true, place_of(k, ask), in);

    if (r < 0)
        return r;
    ask->in = *in;
    r = route_open(k, c, false, place_of(k, ask), out);
    if (r < 0)
        route_close(k, route_by_number(k, *in));
    else
        ask->out = *out;
    return r;
}

/* The way into the box ends without a word, the way out with the glove's. */
static void forget(struct keeper *k, struct keeper_ask *ask)
{
    struct keeper_route *in = route_by_number(k, ask->in);
    struct keeper_route *out = route_by_number(k, ask->out);

    if (out)
        out->ask = KEEPER_ASK_OVER;
    if (in)
        route_close(k, in);
    *ask = (struct keeper_ask){ 0 };
}

/* ---- from the server ------------------------------------------------------------------------ */

int ask_serve(struct keeper *k, struct keeper_client *c, const struct msg_serve *serve)
{
    struct msg_ok ok = { .seq = serve->seq };
    struct msg_error busy = { .seq = serve->seq, .error = EBUSY, .step = GLOVE_STEP_REQUEST };

    if (k->server)
        return client_send_msg(c, MSG_ERROR, 0, &busy);
    k->server = c;
    return client_send_msg(c, MSG_OK, 0, &ok);
}

/* A glove that ends no channel has used up all there are: both sides are told that it is over. */
static int take_back(struct keeper *k, struct keeper_client *c, uint32_t number)
{
    struct msg_told told = { .ask = number, .error = EAGAIN };
    struct msg_hung_up end = { .ask = number, .error = EAGAIN };
    int r = route_send(k, MSG_TOLD, 0, 0, &told, NULL, 0);

    return r < 0 ? r : client_send_msg(c, MSG_HUNG_UP, 0, &end);
}

int ask_told(struct keeper *k, struct keeper_client *c, struct msg_told *told)
{
    struct keeper_ask *ask = c == k->server ? ask_by_number(k, told->ask) : NULL;
    int r;

    if (!told->ask || !ask || ask->is_answered || ask->kind == KEEPER_DIAL)
        return -EPROTO;
    if (told->error || ask->kind == KEEPER_LOOKUP) {
        told->in = 0;
        told->out = 0;
        ask->number = 0;
        return route_send(k, MSG_TOLD, 0, 0, told, NULL, 0);
    }
    r = open_routes(k, c, ask, &told->in, &told->out);
    if (r == -EAGAIN) {
        ask->number = 0;
        return take_back(k, c, told->ask);
    }
    if (r < 0)
        return r;
    ask->is_answered = true;
    return route_send(k, MSG_TOLD, 0, 0, told, NULL, 0);
}

int ask_hang_up(struct keeper *k, struct keeper_client *c, struct msg_hang_up *end)
{
    struct keeper_ask *ask = c == k->server ? ask_by_theirs(k, end->ask) : NULL;

    if (c != k->server)
        return -EPROTO;
    if (!ask)
        return 0; /* it crossed with the end of the other direction */
    if (!ask->is_answered && ask->kind != KEEPER_DIAL)
        return -EPROTO;
    end->ask = ask->number;
    forget(k, ask);
    return route_send(k, MSG_HANG_UP, 0, 0, end, NULL, 0);
}

/* They begin again one day, and some of the first may still stand. */
static uint32_t next_dial(struct keeper *k)
{
    uint32_t number;

    do {
        number = DIAL_ASK | k->next_dial++;
    } while (ask_by_number(k, number));
    return number;
}

int ask_dial(struct keeper *k, struct keeper_client *c, struct msg_dial *dial)
{
    struct keeper_ask *ask = ask_free(k, true);
    struct msg_dialled busy = { .ask = dial->ask, .error = EAGAIN };
    int r;

    if (c != k->server || !(dial->ask & DIAL_ASK) || dial->port == 0 || dial->port > UINT16_MAX ||
        ask_by_theirs(k, dial->ask))
        return -EPROTO;
    if (ask)
        *ask = (struct keeper_ask){ .theirs = dial->ask, .kind = KEEPER_DIAL };
    r = ask ? open_routes(k, c, ask, &dial->in, &dial->out) : -EAGAIN;
    if (r == -EAGAIN)
        return client_send_msg(c, MSG_DIALLED, 0, &busy);
    if (r < 0)
        return r;
    ask->number = dial->ask = next_dial(k);
    return route_send(k, MSG_DIAL, 0, 0, dial, NULL, 0);
}

/* ---- from the glove ------------------------------------------------------------------------- */

static int no_network(struct keeper *k, uint32_t number)
{
    struct msg_told told = { .ask = number, .error = ENETDOWN };

    return route_send(k, MSG_TOLD, 0, 0, &told, NULL, 0);
}

static int on_question(struct keeper *k, const struct wire_head *head, uint32_t number,
                       const void *msg)
{
    struct keeper_ask *ask = ask_free(k, false);
    int r;

    if (number == 0 || number & DIAL_ASK || ask_by_number(k, number) || !ask)
        return -EPROTO;
    if (!k->server)
        return no_network(k, number);
    r = route_pass_on(k, k->server, head, 0, msg);
    if (r == 0)
        *ask = (struct keeper_ask){
            .number = number,
            .theirs = number,
            .kind = head->type == MSG_LOOKUP ? KEEPER_LOOKUP : KEEPER_CONNECT,
        };
    return r;
}

/* DIALLED or HUNG_UP; what is not known any more has ended on the way. */
static int on_news(struct keeper *k, const struct wire_head *head, uint32_t *number, void *msg)
{
    struct keeper_ask *ask = *number ? ask_by_number(k, *number) : NULL;
    bool is_answer = head->type == MSG_DIALLED;
    uint32_t ours = *number;
    int r;

    if (!ask || !k->server)
        return 0;
    if (ask->is_answered == is_answer || (is_answer && ask->kind != KEEPER_DIAL))
        return -EPROTO;
    *number = ask->theirs;
    r = route_pass_on(k, k->server, head, 0, msg);
    *number = ours;
    if (r == 0 && is_answer)
        ask->is_answered = true;
    return r;
}

int ask_from_glove(struct keeper *k, const struct wire_head *head, void *msg)
{
    uint32_t *number = msg; /* the first field of all */

    if (head->channel != 0 || head->flags != 0)
        return -EPROTO;
    return head->type == MSG_LOOKUP || head->type == MSG_CONNECT
               ? on_question(k, head, *number, msg)
               : on_news(k, head, number, msg);
}

/* ---- the server has left -------------------------------------------------------------------- */

static int orphan(struct keeper *k, struct keeper_ask *ask)
{
    struct msg_hang_up end = { .ask = ask->number };
    bool is_question = ask->kind != KEEPER_DIAL && !ask->is_answered;

    forget(k, ask);
    return is_question ? no_network(k, end.ask) : route_send(k, MSG_HANG_UP, 0, 0, &end, NULL, 0);
}

int ask_orphan(struct keeper *k)
{
    int r = 0;

    k->server = NULL;
    for (size_t i = 0; i < ASKS_END; i++)
        if (k->asks[i].number) {
            int sent = r == 0 ? orphan(k, &k->asks[i]) : 0;

            r = r < 0 ? r : sent;
        }
    return r;
}
