/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz/fuzz_keeper.c - a keeper between clients who say anything and a glove that may, too.
 *
 * The first byte chooses whether the glove is hostile and whether a full queue is put up with.
 * Then come events: somebody arrives, leaves, reads, or sends a frame.  A glove that is not
 * hostile answers and sends only what it may, and holds the keeper to the link's rules as a real
 * one does, whose end would be the end of the box: then nothing that clients do may lose the
 * link.  It asks for a network, too, which one of the clients may serve.  Whoever is hostile, a
 * client gets only frames of channels and requests of his own, the keeper comes to rest, and no
 * descriptor is left. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "keeper/keeper.h"
#include "must.h"

#define CHOICE_HOSTILE 1
#define CHOICE_PATIENT 2

#define CLIENTS   3
#define GLOVE     CLIENTS
#define TURNS_MAX 1000

/* Numbers are told apart by their lowest bits: what is mixed up is missed, never made up. */
#define SLOTS 64

/* Long enough for a while of fuzzing, and nothing waits for it. */
#define PATIENCE_MS 3600000

enum event {
    EVENT_ARRIVE,
    EVENT_LEAVE,
    EVENT_READ,
    EVENT_GREET,
    EVENT_FRAME,
    EVENT_FLOOD, /* a frame of zeros, as long as it may be */
    EVENT_ANSWER,
    EVENT_DATA,
    EVENT_CREDIT,
    EVENT_NET, /* a question, an answer, a connection, its end */
    N_EVENTS,
};

union any {
    struct msg_run run;
    struct msg_put put;
    struct msg_get get;
    struct msg_list list;
    struct msg_data data;
    struct msg_credit credit;
    struct msg_ok ok;
    struct msg_told told;
    struct msg_dial dial;
    char room[MSG_STRUCT_MAX];
};

struct peer {
    int fd; /* -1: not here */
    struct wire_reader reader;
};

struct client {
    struct peer peer;
    unsigned opened[SLOTS]; /* channels out of the box, by his own numbers */
    unsigned ended[SLOTS];
    unsigned asked[SLOTS]; /* answers that he may get */
    unsigned answered[SLOTS];
    bool has_served;       /* he said so, at least */
    uint32_t asked_by_box; /* the last question that came to him */
    uint32_t next_channel;
};

struct wish {
    uint32_t seq; /* 0: free */
    bool is_run;
    bool is_answered;
    bool is_count;
};

struct channel {
    uint32_t number; /* 0: free */
    bool is_in;
    uint64_t credit;
    uint64_t owed;
};

/* A question, or a connection of either kind. */
struct line {
    uint32_t ask; /* 0: free */
    bool is_lookup;
    bool is_waiting; /* for TOLD, or for our DIALLED */
    uint32_t in;
    uint32_t out;
};

/* What a real one has room for. */
#define LINES_MAX 320
#define DIALS_MAX 256

/* What an honest glove knows. */
struct honest {
    struct wish wishes[KEEPER_REQUESTS_MAX];
    struct channel channels[KEEPER_PLACES];
    struct line lines[LINES_MAX + DIALS_MAX];
    uint32_t next_ask;
};

struct world {
    const uint8_t *at;
    const uint8_t *end;
    bool is_hostile;
    int lost;
    int link_fd;
    struct keeper keeper;
    struct peer glove;
    struct client clients[CLIENTS];
    struct honest honest;
    int fds[FD_PASS_MAX]; /* that came for the glove */
    size_t n_fds;
};

static uint8_t next_byte(struct world *w)
{
    return w->at < w->end ? *w->at++ : 0;
}

/* ---- the ends of sockets -------------------------------------------------------------------- */

static void peer_close(struct peer *peer)
{
    if (peer->fd >= 0)
        close(peer->fd);
    peer->fd = -1;
}

/* Who cannot say all of it at once has no more to say. */
static void peer_send(struct peer *peer, const uint8_t *frame, size_t len, size_t n_fds)
{
    int fds[FD_PASS_MAX];

    for (size_t i = 0; i < n_fds; i++)
        fds[i] = peer->fd;
    if (fd_send(peer->fd, frame, len, fds, n_fds, MSG_DONTWAIT) != (ssize_t)len)
        peer_close(peer);
}

static void peer_say(struct peer *peer, uint8_t type, uint32_t channel, uint8_t flags,
                     const void *msg)
{
    static uint8_t frame[WIRE_FRAME_MAX];
    int n = msg_encode(type, channel, flags, msg, frame, sizeof(frame));

    must(n > 0);
    peer_send(peer, frame, (size_t)n, 0);
}

/* Reads once; false when there was nothing. */
static bool peer_read(struct peer *peer, int *fds, size_t *n_fds)
{
    size_t room;
    uint8_t *at = wire_reader_room(&peer->reader, &room);
    ssize_t n = fd_recv(peer->fd, at, room, fds, n_fds, MSG_DONTWAIT);

    if (n <= 0) {
        *n_fds = 0;
        if (n != -EAGAIN)
            peer_close(peer);
        return false;
    }
    wire_reader_fed(&peer->reader, (size_t)n);
    return true;
}

/* ---- the glove's rules ---------------------------------------------------------------------- */

static struct channel *channel_by(struct world *w, uint32_t number)
{
    for (size_t i = 0; i < N_ELEMENTS(w->honest.channels); i++)
        if (w->honest.channels[i].number == number)
            return &w->honest.channels[i];
    return NULL;
}

static struct wish *wish_by(struct world *w, uint32_t seq)
{
    for (size_t i = 0; i < N_ELEMENTS(w->honest.wishes); i++)
        if (w->honest.wishes[i].seq == seq)
            return &w->honest.wishes[i];
    return NULL;
}

static void channel_open(struct world *w, uint32_t number, bool is_in)
{
    struct channel *channel = channel_by(w, 0);

    must(number % 2 == 0 && number != 0 && channel && !channel_by(w, number));
    *channel = (struct channel){ .number = number, .is_in = is_in, .credit = WIRE_CREDIT_START };
}

static void wish_add(struct world *w, uint8_t type, uint32_t seq)
{
    struct wish *wish = wish_by(w, 0);

    must(seq != 0 && wish && !wish_by(w, seq));
    *wish = (struct wish){ .seq = seq, .is_run = type == MSG_RUN, .is_count = type == MSG_USAGE };
}

static void glove_takes_run(struct world *w, const struct msg_run *run)
{
    must(!(run->flags & RUN_FLAG_GROUP) || run->n_fds > 0);
    if (run->in)
        channel_open(w, run->in, true);
    if (run->out)
        channel_open(w, run->out, false);
    if (run->err)
        channel_open(w, run->err, false);
}

static void glove_takes_data(struct world *w, const struct wire_head *head)
{
    struct channel *channel = head->channel ? channel_by(w, head->channel) : NULL;

    must(channel && channel->is_in && head->size <= channel->credit);
    channel->credit -= head->size;
    channel->owed += head->size;
    if (head->flags & WIRE_FLAG_FIN)
        channel->number = 0;
}

static void glove_takes_credit(struct world *w, const struct wire_head *head, uint32_t bytes)
{
    struct channel *channel = channel_by(w, head->channel);

    must(head->channel != 0 && head->channel % 2 == 0 && head->flags == 0);
    must(!channel || !channel->is_in);
    if (channel)
        channel->credit += bytes;
}

/* ---- an honest glove's network --------------------------------------------------------------- */

static struct line *line_by(struct world *w, uint32_t ask)
{
    for (size_t i = 0; i < N_ELEMENTS(w->honest.lines); i++)
        if (w->honest.lines[i].ask == ask)
            return &w->honest.lines[i];
    return NULL;
}

/* Those whose channels have ended are over. */
static void lines_settle(struct world *w)
{
    for (size_t i = 0; i < N_ELEMENTS(w->honest.lines); i++) {
        struct line *line = &w->honest.lines[i];

        if (line->in && !channel_by(w, line->in) && !channel_by(w, line->out))
            *line = (struct line){ 0 };
    }
}

static size_t n_lines(const struct world *w, bool is_dial)
{
    size_t n = 0;

    for (size_t i = 0; i < N_ELEMENTS(w->honest.lines); i++)
        n += w->honest.lines[i].ask && !(w->honest.lines[i].ask & DIAL_ASK) == !is_dial;
    return n;
}

static void glove_takes_told(struct world *w, const struct msg_told *told)
{
    struct line *line = told->ask ? line_by(w, told->ask) : NULL;

    must(line && line->is_waiting && !(told->ask & DIAL_ASK));
    if (told->error || line->is_lookup) {
        *line = (struct line){ 0 };
        return;
    }
    channel_open(w, told->in, true);
    channel_open(w, told->out, false);
    line->is_waiting = false;
    line->in = told->in;
    line->out = told->out;
}

static void glove_takes_dial(struct world *w, const struct msg_dial *dial)
{
    struct line *line;

    lines_settle(w);
    line = line_by(w, 0);
    must(dial->ask & DIAL_ASK && dial->port > 0 && dial->port < 65536 && line);
    must(!line_by(w, dial->ask) && n_lines(w, true) < DIALS_MAX);
    channel_open(w, dial->in, true);
    channel_open(w, dial->out, false);
    *line = (struct line){ .ask = dial->ask, .is_waiting = true, .in = dial->in, .out = dial->out };
}

static void glove_takes_hang_up(struct world *w, uint32_t ask)
{
    struct line *line = ask ? line_by(w, ask) : NULL;
    struct channel *in = line && line->in ? channel_by(w, line->in) : NULL;
    struct channel *out = line && line->out ? channel_by(w, line->out) : NULL;
    struct msg_data end = { .bytes.size = 0 };

    if (in)
        in->number = 0;
    if (out) {
        peer_say(&w->glove, MSG_DATA, out->number, WIRE_FLAG_FIN, &end);
        out->number = 0;
    }
    must(!line || line->in);
    if (line)
        *line = (struct line){ 0 };
}

static void glove_asks(struct world *w)
{
    struct line *line;
    struct msg_lookup lookup = { .name = "one.test" };
    struct msg_connect connect = { .port = 80, .name = "" };

    lines_settle(w);
    line = line_by(w, 0);
    if (!line || n_lines(w, false) == LINES_MAX)
        return;
    *line = (struct line){
        .ask = ++w->honest.next_ask,
        .is_lookup = next_byte(w) & 1,
        .is_waiting = true,
    };
    lookup.ask = connect.ask = line->ask;
    if (line->is_lookup)
        peer_say(&w->glove, MSG_LOOKUP, 0, 0, &lookup);
    else
        peer_say(&w->glove, MSG_CONNECT, 0, 0, &connect);
}

static void glove_news(struct world *w)
{
    struct line *line = &w->honest.lines[next_byte(w) % 8];
    struct msg_dialled dialled = { .ask = line->ask, .error = next_byte(w) & 1 };
    struct msg_hung_up hung_up = { .ask = line->ask, .error = dialled.error };

    lines_settle(w);
    if (!line->ask || !line->in)
        return;
    if (!line->is_waiting)
        peer_say(&w->glove, MSG_HUNG_UP, 0, 0, &hung_up);
    else
        peer_say(&w->glove, MSG_DIALLED, 0, 0, &dialled);
    line->is_waiting = false;
}

/* True: it was of the network. */
static bool glove_takes_net(struct world *w, const struct wire_head *head, const union any *msg)
{
    if (head->type == MSG_TOLD)
        glove_takes_told(w, &msg->told);
    else if (head->type == MSG_DIAL)
        glove_takes_dial(w, &msg->dial);
    else if (head->type == MSG_HANG_UP)
        glove_takes_hang_up(w, msg->told.ask);
    else
        return false;
    return true;
}

static void glove_takes_request(struct world *w, const struct wire_head *head, union any *msg)
{
    must(head->channel == 0 && head->flags == 0);
    must(head->type != MSG_HELLO && head->type != MSG_SETUP && head->type != MSG_LIMITS &&
         head->type != MSG_SERVE);
    if (glove_takes_net(w, head, msg))
        return;
    /* All begin with their number. */
    wish_add(w, head->type, msg->ok.seq);
    if (head->type == MSG_RUN)
        glove_takes_run(w, &msg->run);
    else if (head->type == MSG_PUT)
        channel_open(w, msg->put.channel, true);
    else if (head->type == MSG_GET)
        channel_open(w, msg->get.channel, false);
    else if (head->type == MSG_LIST)
        channel_open(w, msg->list.channel, false);
}

static void glove_drops_fds(struct world *w, size_t n)
{
    must(n <= w->n_fds);
    for (size_t i = 0; i < n; i++)
        close(w->fds[i]);
    w->n_fds -= n;
    memmove(w->fds, w->fds + n, w->n_fds * sizeof(*w->fds));
}

static void glove_takes(struct world *w, const struct wire_head *head, const uint8_t *payload)
{
    union any msg;

    must(msg_direction(head->type) & GLOVE_IN);
    must(msg_decode(head->type, payload, head->size, &msg) == 0);
    if (head->type == MSG_RUN)
        glove_drops_fds(w, msg.run.n_fds);
    if (w->is_hostile)
        return;
    if (head->type == MSG_DATA)
        glove_takes_data(w, head);
    else if (head->type == MSG_CREDIT)
        glove_takes_credit(w, head, msg.credit.bytes);
    else
        glove_takes_request(w, head, &msg);
}

/* It always reads. */
static void glove_reads(struct world *w)
{
    struct wire_head head;
    const uint8_t *payload;
    size_t n_fds = FD_PASS_MAX - w->n_fds;

    while (w->glove.fd >= 0 && peer_read(&w->glove, w->fds + w->n_fds, &n_fds)) {
        w->n_fds += n_fds;
        while (wire_reader_next(&w->glove.reader, &head, &payload) > 0)
            glove_takes(w, &head, payload);
        must(w->n_fds == 0 || w->glove.reader.start < w->glove.reader.end);
        n_fds = FD_PASS_MAX - w->n_fds;
    }
}

/* ---- an honest glove ------------------------------------------------------------------------ */

static struct channel *nth_channel(struct world *w, uint8_t nth, bool is_in)
{
    for (size_t i = 0; i < N_ELEMENTS(w->honest.channels); i++) {
        struct channel *channel = &w->honest.channels[i];

        if (channel->number && channel->is_in == is_in && nth-- == 0)
            return channel;
    }
    return NULL;
}

static struct wish *nth_wish(struct world *w, uint8_t nth)
{
    for (size_t i = 0; i < N_ELEMENTS(w->honest.wishes); i++)
        if (w->honest.wishes[i].seq && nth-- == 0)
            return &w->honest.wishes[i];
    return NULL;
}

static void glove_answers(struct world *w)
{
    struct wish *wish = nth_wish(w, next_byte(w) % 8);
    struct msg_exit end = { .run = wish ? wish->seq : 0 };
    struct msg_counts counts = { .seq = end.run };
    struct msg_error error = { .seq = end.run, .error = ENOENT };
    struct msg_ok ok = { .seq = end.run };
    bool is_error = next_byte(w) & 1;

    if (!wish)
        return;
    if (wish->is_answered)
        peer_say(&w->glove, MSG_EXIT, 0, 0, &end);
    else if (is_error)
        peer_say(&w->glove, MSG_ERROR, 0, 0, &error);
    else if (wish->is_count)
        peer_say(&w->glove, MSG_COUNTS, 0, 0, &counts);
    else
        peer_say(&w->glove, MSG_OK, 0, 0, &ok);
    if (wish->is_run && !wish->is_answered && !is_error)
        wish->is_answered = true;
    else
        wish->seq = 0;
}

static void glove_sends(struct world *w)
{
    static const uint8_t bytes[WIRE_PAYLOAD_MAX];
    struct channel *channel = nth_channel(w, next_byte(w) % 8, false);
    uint32_t size = next_byte(w) * 257;
    uint8_t flags = next_byte(w) & WIRE_FLAGS;
    struct msg_data data;

    if (!channel)
        return;
    if (size > channel->credit)
        size = (uint32_t)channel->credit;
    data.bytes.bytes = bytes;
    data.bytes.size = size;
    peer_say(&w->glove, MSG_DATA, channel->number, flags, &data);
    channel->credit -= size;
    if (flags)
        channel->number = 0;
}

static void glove_pays(struct world *w)
{
    struct channel *channel = nth_channel(w, next_byte(w) % 8, true);
    struct msg_credit credit;

    if (!channel || channel->owed == 0)
        return;
    credit.bytes = (uint32_t)channel->owed;
    peer_say(&w->glove, MSG_CREDIT, channel->number, 0, &credit);
    channel->credit += channel->owed;
    channel->owed = 0;
}

/* ---- clients -------------------------------------------------------------------------------- */

static void client_opens(struct client *c, uint32_t channel)
{
    if (channel)
        c->opened[channel % SLOTS]++;
}

/* What he may get for what he sends. */
static void client_asks(struct client *c, const struct wire_head *head, const uint8_t *payload)
{
    union any msg;

    if (msg_decode(head->type, payload, head->size, &msg) < 0 || head->type == MSG_DATA ||
        head->type == MSG_CREDIT || !(msg_direction(head->type) & GLOVE_IN))
        return;
    c->asked[msg.ok.seq % SLOTS] += head->type == MSG_RUN ? 2 : 1;
    if (head->type == MSG_RUN) {
        client_opens(c, msg.run.in);
        client_opens(c, msg.run.out);
        client_opens(c, msg.run.err);
    } else if (head->type == MSG_PUT) {
        client_opens(c, msg.put.channel);
    } else if (head->type == MSG_GET) {
        client_opens(c, msg.get.channel);
    } else if (head->type == MSG_LIST) {
        client_opens(c, msg.list.channel);
    } else if (head->type == MSG_TOLD) {
        client_opens(c, msg.told.in);
        client_opens(c, msg.told.out);
    } else if (head->type == MSG_DIAL) {
        client_opens(c, msg.dial.in);
        client_opens(c, msg.dial.out);
    }
    c->has_served = c->has_served || head->type == MSG_SERVE;
}

static void client_gets(const struct world *w, struct client *c, const struct wire_head *head,
                        const uint8_t *payload)
{
    union any msg;
    size_t slot = head->channel % SLOTS;

    must(msg_direction(head->type) & GLOVE_OUT);
    must(msg_decode(head->type, payload, head->size, &msg) == 0);
    if (head->type == MSG_HELLO)
        return;
    if (head->type == MSG_DATA || head->type == MSG_CREDIT) {
        must(c->opened[slot] > c->ended[slot]);
        c->ended[slot] += head->type == MSG_DATA && head->flags & WIRE_FLAG_FIN;
        return;
    }
    must(head->channel == 0);
    if (head->type == MSG_LOOKUP || head->type == MSG_CONNECT || head->type == MSG_HUNG_UP ||
        head->type == MSG_DIALLED) {
        must(c->has_served);
        c->asked_by_box = msg.told.ask;
        return;
    }
    slot = msg.ok.seq % SLOTS;
    c->answered[slot]++;
    must(w->is_hostile ? c->asked[slot] > 0 : c->asked[slot] >= c->answered[slot]);
}

static void client_reads(const struct world *w, struct client *c)
{
    struct wire_head head;
    const uint8_t *payload;
    int fds[FD_PASS_MAX];
    size_t n_fds = FD_PASS_MAX;

    while (c->peer.fd >= 0 && peer_read(&c->peer, fds, &n_fds)) {
        must(n_fds == 0);
        n_fds = FD_PASS_MAX;
        while (wire_reader_next(&c->peer.reader, &head, &payload) > 0)
            client_gets(w, c, &head, payload);
    }
}

static void client_arrives(struct world *w, struct client *c)
{
    uint8_t frame[128];
    int fds[FD_PASS_MAX];
    size_t n_fds = FD_PASS_MAX;
    int pair[2];

    peer_close(&c->peer);
    memset(c, 0, offsetof(struct client, peer.reader.bytes));
    memset(c->opened, 0, sizeof(*c) - offsetof(struct client, opened));
    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    c->peer.fd = pair[1];
    keeper_welcome(&w->keeper, pair[0]);
    must(fd_recv(pair[1], frame, sizeof(frame), fds, &n_fds, MSG_DONTWAIT) > WIRE_HEAD_SIZE);
    must(n_fds == 1 && frame[4] == MSG_WELCOME);
    close(fds[0]);
}

static void client_greets(struct client *c)
{
    struct msg_hello hello = { .magic = WIRE_MAGIC, .version = WIRE_VERSION };

    peer_say(&c->peer, MSG_HELLO, 0, 0, &hello);
}

static void client_says(struct client *c, uint8_t type, const void *msg)
{
    static uint8_t frame[256];
    struct wire_head head;
    int n = msg_encode(type, 0, 0, msg, frame, sizeof(frame));

    must(n > 0 && wire_head_get(frame, &head) == 0);
    client_asks(c, &head, frame + WIRE_HEAD_SIZE);
    peer_send(&c->peer, frame, (size_t)n, 0);
}

/* What a server does, whether he is one or not. */
static void client_serves(struct world *w, struct client *c)
{
    uint8_t what = next_byte(w);
    uint32_t channel = c->next_channel += 4;
    struct msg_serve serve = { .seq = 1 };
    struct msg_told told = { .ask = c->asked_by_box, .error = what & 8 ? EACCES : 0 };
    struct msg_dial dial = { .ask = DIAL_ASK | channel, .port = 80 };
    struct msg_hang_up end = { .ask = what & 8 ? DIAL_ASK | (channel - 4) : c->asked_by_box };

    told.in = dial.in = channel;
    told.out = dial.out = channel + 2;
    if (what % 4 == 0)
        client_says(c, MSG_SERVE, &serve);
    else if (what % 4 == 1)
        client_says(c, MSG_TOLD, &told);
    else if (what % 4 == 2)
        client_says(c, MSG_DIAL, &dial);
    else
        client_says(c, MSG_HANG_UP, &end);
}

/* ---- events --------------------------------------------------------------------------------- */

/* Type, flags, channel, descriptors and length are bytes of the input, then what it says. */
static void send_any(struct world *w, struct peer *peer, struct client *c, bool is_flood)
{
    static uint8_t frame[WIRE_FRAME_MAX];
    struct wire_head head = { .type = next_byte(w) };
    size_t n_fds;

    head.flags = next_byte(w) & WIRE_FLAGS;
    head.channel = next_byte(w);
    n_fds = next_byte(w) % 4;
    head.size = is_flood ? WIRE_PAYLOAD_MAX : next_byte(w);
    memset(frame + WIRE_HEAD_SIZE, 0, head.size);
    for (size_t i = 0; !is_flood && i < head.size; i++)
        frame[WIRE_HEAD_SIZE + i] = next_byte(w);
    wire_head_put(frame, &head);
    if (c)
        client_asks(c, &head, frame + WIRE_HEAD_SIZE);
    peer_send(peer, frame, WIRE_HEAD_SIZE + head.size, n_fds);
}

static void glove_event(struct world *w, enum event event)
{
    if (w->glove.fd < 0)
        return;
    if (event == EVENT_LEAVE)
        peer_close(&w->glove);
    else if (w->is_hostile)
        send_any(w, &w->glove, NULL, event == EVENT_FLOOD);
    else if (event == EVENT_ANSWER)
        glove_answers(w);
    else if (event == EVENT_DATA)
        glove_sends(w);
    else if (event == EVENT_NET && next_byte(w) & 1)
        glove_asks(w);
    else if (event == EVENT_NET)
        glove_news(w);
    else
        glove_pays(w);
}

static void client_event(struct world *w, struct client *c, enum event event)
{
    if (event == EVENT_ARRIVE)
        client_arrives(w, c);
    else if (c->peer.fd < 0)
        return;
    else if (event == EVENT_LEAVE)
        peer_close(&c->peer);
    else if (event == EVENT_READ)
        client_reads(w, c);
    else if (event == EVENT_GREET)
        client_greets(c);
    else if (event == EVENT_NET)
        client_serves(w, c);
    else
        send_any(w, &c->peer, c, event == EVENT_FLOOD);
}

/* Until nothing happens any more; what the last turn said. */
static int turn(struct world *w)
{
    for (int turns = 0;; turns++) {
        struct pollfd polls[KEEPER_POLLS_MAX];
        uint64_t deadline_ns = CLOCK_NEVER_NS;
        size_t n = keeper_polls(&w->keeper, polls, &deadline_ns);
        bool is_due = deadline_ns <= clock_now_ns();
        int r;

        must(turns < TURNS_MAX);
        if (poll(polls, (nfds_t)n, 0) == 0 && !is_due)
            return 0;
        r = keeper_serve(&w->keeper, polls, n);
        if (r != 0)
            return r;
        glove_reads(w);
    }
}

/* 0 while it goes on. */
static int step(struct world *w)
{
    uint8_t op = next_byte(w);
    unsigned who = op % (CLIENTS + 1);
    enum event event = op / (CLIENTS + 1) % N_EVENTS;
    bool has_left;
    int r;

    if (who == GLOVE)
        glove_event(w, event);
    else
        client_event(w, &w->clients[who], event);
    has_left = w->glove.fd < 0;
    r = turn(w);
    must(r >= 0 || w->is_hostile || has_left);
    must(r <= 1 && (r != 1 || w->keeper.destroyer_fd >= 0));
    return r;
}

/* ---- beginning and end ---------------------------------------------------------------------- */

static void on_lost(void *user, uint32_t first, uint32_t n)
{
    (void)user;
    must(first % KEEPER_RUNS_MAX == 1 && n > 0 && n < KEEPER_RUNS_MAX);
}

static void on_welcome(void *user, struct msg_welcome *ret, int *fds, size_t *n_fds)
{
    const struct world *w = user;

    fds[0] = w->link_fd;
    *n_fds = 1;
    ret->ttl_ms = 1;
}

static const struct keeper_ops ops = { .lost = on_lost, .welcome = on_welcome };

static void world_up(struct world *w, uint8_t choice)
{
    int pair[2];

    w->is_hostile = choice & CHOICE_HOSTILE;
    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    w->link_fd = pair[0];
    w->glove.fd = pair[1];
    for (size_t i = 0; i < CLIENTS; i++)
        w->clients[i].peer.fd = -1;
    /* Small numbers: a hostile glove should be able to guess them. */
    keeper_init(&w->keeper, pair[0], 1, 2, &ops, w);
    w->keeper.stall_ms = choice & CHOICE_PATIENT ? PATIENCE_MS : 0;
}

static void world_down(struct world *w)
{
    for (size_t i = 0; i < KEEPER_CLIENTS_MAX; i++)
        if (w->keeper.clients[i])
            client_free(w->keeper.clients[i]);
    for (size_t i = 0; i < CLIENTS; i++)
        peer_close(&w->clients[i].peer);
    peer_close(&w->glove);
    glove_drops_fds(w, w->n_fds);
    close(w->link_fd);
}

static int free_number(void)
{
    int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);

    must(fd >= 0);
    close(fd);
    return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world *w = calloc(1, sizeof(*w));
    int before = free_number();

    must(w);
    w->at = data;
    w->end = data + size;
    world_up(w, next_byte(w));
    while (w->at < w->end && step(w) == 0)
        continue;
    world_down(w);
    must(free_number() == before);
    free(w);
    return 0;
}
