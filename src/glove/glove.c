/* SPDX-License-Identifier: Apache-2.0 */
/* glove/glove.c - PID 1 of a box: start, requests, and the loop. */
#include "glove/glove.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/path.h"
#include "glove/counts.h"
#include "glove/dial.h"
#include "glove/drop.h"
#include "glove/landlock.h"
#include "glove/porter.h"
#include "glove/reap.h"
#include "glove/run.h"

#define SETUP_FLAGS \
    (uint32_t)(SETUP_FLAG_LANDLOCK | SETUP_FLAG_SECCOMP | SETUP_FLAG_APART | SETUP_FLAG_EGRESS)

/* Two for each connection; runs get limits of their own. */
#define FILES_WANTED 4096

/* ---- start ---------------------------------------------------------------------------------- */

static void ignore_signal(int signo)
{
    (void)signo;
}

static bool is_fault(int signo)
{
    static const int faults[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGABRT };

    for (size_t i = 0; i < N_ELEMENTS(faults); i++)
        if (faults[i] == signo)
            return true;
    return false;
}

/* The C library keeps some signals for itself and refuses to touch them; whoever started the glove
 * may have left them ignored.  PID 1 does not get them while they are default. */
static void reset_signal(int signo)
{
    struct {
        void (*handler)(int);
        unsigned long flags;
        void (*restorer)(void);
        uint64_t mask;
    } action = { .handler = SIG_DFL };

    (void)syscall(SYS_rt_sigaction, signo, &action, NULL, sizeof(action.mask));
}

/* Signals are caught by a function that does nothing rather than ignored, because exec makes
 * caught ones default again.  Real faults must kill; sent ones do not reach PID 1 as long as they
 * are default.  SIGCHLD is read from a descriptor. */
static int start_signals(struct glove *glove)
{
    struct sigaction action = { .sa_flags = SA_RESTART };
    sigset_t chld;

    for (int signo = 1; signo < NSIG; signo++) {
        action.sa_handler = is_fault(signo) || signo == SIGCHLD ? SIG_DFL : ignore_signal;
        if (sigaction(signo, &action, NULL) < 0 && signo > SIGSYS)
            reset_signal(signo); /* SIGKILL and SIGSTOP refuse in any case */
    }
    (void)sigemptyset(&chld);
    (void)sigaddset(&chld, SIGCHLD);
    if (sigprocmask(SIG_SETMASK, &chld, NULL) < 0)
        return -errno;
    glove->signal_fd = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
    return glove->signal_fd < 0 ? -errno : 0;
}

static int start(struct glove *glove, const struct glove_config *config)
{
    int keep[2] = { config->link_in, config->link_out };
    int r;

    if (keep[0] > keep[1]) {
        keep[0] = config->link_out;
        keep[1] = config->link_in;
    }
    r = fd_close_from(3, keep, 2);
    if (r < 0)
        return r;
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        return -errno;
    fd_allow(FILES_WANTED);
    (void)setsid(); /* refused when it has a session of its own already */
    glove->setup.landlock_fd = -1;
    glove->beat_deadline_ns = glove->end_ns = CLOCK_NEVER_NS;
    r = start_signals(glove);
    return r < 0 ? r : link_init(&glove->link, config->link_in, config->link_out);
}

/* ---- requests ------------------------------------------------------------------------------- */

static int on_hello(struct glove *glove, const void *msg)
{
    const struct msg_hello *hello = msg;

    if (glove->state != GLOVE_START || hello->magic != WIRE_MAGIC || hello->version != WIRE_VERSION)
        return -EPROTO;
    glove->state = GLOVE_GREETED;
    return link_send(&glove->link, MSG_HELLO, 0, 0, hello);
}

static int setup_check(const struct msg_setup *msg)
{
    const char *at = NULL;
    const char *disk;

    if (msg->flags & ~SETUP_FLAGS)
        return -EINVAL;
    while ((disk = wire_strs_next(&msg->disks, &at)) != NULL)
        if (!path_is_clean_absolute(disk) || strlen(disk) >= PATH_MAX)
            return -EINVAL;
    return 0;
}

static void setup_disks(struct setup *setup, const struct msg_setup *msg)
{
    const char *at = NULL;
    const char *disk;

    while ((disk = wire_strs_next(&msg->disks, &at)) != NULL)
        memcpy(setup->disks[setup->n_disks++], disk, strlen(disk) + 1);
}

static int setup_landlock(struct setup *setup, const struct msg_setup *msg, int *ret_abi)
{
    int abi = landlock_abi();

    if (abi < 0)
        return abi;
    if (setup->landlock_fd >= 0)
        close(setup->landlock_fd); /* of a SETUP that failed further on */
    setup->landlock_fd = landlock_rules(abi, &msg->writable);
    *ret_abi = abi;
    return setup->landlock_fd < 0 ? setup->landlock_fd : 0;
}

/* In this order: rules are made while nothing is forbidden yet, the filter comes last. */
static int setup_apply(struct glove *glove, const struct msg_setup *msg, int *ret_abi,
                       enum glove_step *ret_step)
{
    int r = 0;

    *ret_step = GLOVE_STEP_EGRESS;
    if (msg->flags & SETUP_FLAG_EGRESS && !glove->egress.is_on)
        r = egress_begin(&glove->egress);
    if (r < 0)
        return r;
    *ret_step = GLOVE_STEP_LANDLOCK;
    if (msg->flags & SETUP_FLAG_LANDLOCK)
        r = setup_landlock(&glove->setup, msg, ret_abi);
    if (r < 0)
        return r;
    *ret_step = GLOVE_STEP_CAPS;
    r = drop_glove(msg->flags & SETUP_FLAG_APART);
    if (r < 0)
        return r;
    *ret_step = GLOVE_STEP_SECCOMP;
    return msg->flags & SETUP_FLAG_SECCOMP ? filter_glove() : 0;
}

static uint64_t setup_said(const struct glove *glove, int abi)
{
    bool is_proxy = glove->egress.is_on && !glove->egress.catch.is_transparent;

    return (uint64_t)abi | (is_proxy ? SETUP_SAID_PROXY : 0);
}

static int on_setup(struct glove *glove, const void *msg)
{
    const struct msg_setup *request = msg;
    struct setup *setup = &glove->setup;
    enum glove_step step = GLOVE_STEP_REQUEST;
    int abi = 0;
    int r = glove->state == GLOVE_OPEN ? -EALREADY : setup_check(request);

    if (r == 0)
        r = setup_apply(glove, request, &abi, &step);
    if (r < 0) {
        r = link_error(&glove->link, request->seq, -r, step);
        /* At once: what the host has sent behind it takes a set-up for granted and ends the glove.
         */
        return r < 0 ? r : link_flush(&glove->link);
    }
    setup->uid = request->uid;
    setup->gid = request->gid;
    setup->flags = request->flags;
    setup->beat_ms = request->beat_ms;
    setup_disks(setup, request);
    remains_places(&glove->remains, &request->writable);
    if (request->ttl_ms > 0)
        glove->end_ns = clock_after_ms(request->ttl_ms);
    glove->state = GLOVE_OPEN;
    return link_ok(&glove->link, request->seq, setup_said(glove, abi));
}

static int on_limits(struct glove *glove, const void *msg)
{
    const struct msg_limits *request = msg;
    int r = limits_set(&glove->limits, request);

    if (r < 0)
        return link_error(&glove->link, request->seq, -r, GLOVE_STEP_RLIMIT);
    return link_ok(&glove->link, request->seq, 0);
}

static int on_ping(struct glove *glove, const void *msg)
{
    const struct msg_ping *request = msg;

    return link_ok(&glove->link, request->seq, 0);
}

static int on_beat(struct glove *glove, const void *msg)
{
    (void)glove;
    (void)msg;
    return 0;
}

static const struct {
    uint8_t type;
    enum glove_state since; /* accepted from this state on */
    int (*handle)(struct glove *glove, const void *msg);
} requests[] = {
    { MSG_HELLO, GLOVE_START, on_hello },     { MSG_SETUP, GLOVE_GREETED, on_setup },
    { MSG_LIMITS, GLOVE_GREETED, on_limits }, { MSG_PING, GLOVE_GREETED, on_ping },
    { MSG_BEAT, GLOVE_GREETED, on_beat },     { MSG_RUN, GLOVE_OPEN, run_start },
    { MSG_SIGNAL, GLOVE_OPEN, run_signal },   { MSG_KILL, GLOVE_OPEN, reap_kill },
    { MSG_RESIZE, GLOVE_OPEN, run_resize },   { MSG_USAGE, GLOVE_OPEN, counts_tell },
    { MSG_PUT, GLOVE_OPEN, porter_put },      { MSG_GET, GLOVE_OPEN, porter_get },
    { MSG_LIST, GLOVE_OPEN, porter_list },    { MSG_REMOVE, GLOVE_OPEN, porter_remove },
    { MSG_TOLD, GLOVE_OPEN, egress_told },    { MSG_HANG_UP, GLOVE_OPEN, conn_hang_up },
    { MSG_DIAL, GLOVE_OPEN, dial_begin },
};

static int on_request(struct glove *glove, const struct wire_head *head, const void *msg)
{
    if (head->channel != 0 || head->flags != 0)
        return -EPROTO;
    for (size_t i = 0; i < N_ELEMENTS(requests); i++)
        if (requests[i].type == head->type)
            return glove->state < requests[i].since ? -EPROTO : requests[i].handle(glove, msg);
    return -EPROTO;
}

/* What has come together for one channel goes on. */
static int pass_sheaf(struct glove *glove, uint32_t number, bool is_last)
{
    struct channel *channel = channel_find(&glove->channels, number);
    int r;

    if (!channel)
        return -EPROTO;
    channel_widen(&glove->channels, channel);
    r = channel_take(channel, &glove->link, &glove->sheaf, is_last);
    glove->sheaf = (struct sheaf){ 0 };
    return r;
}

/* Is the next frame more of the same, and is it here as a whole? */
static bool goes_on(const struct glove *glove, const struct wire_head *head)
{
    struct wire_head next;

    return !(head->flags & WIRE_FLAG_FIN) && glove->sheaf.n < SHEAF_MAX &&
           link_peek(&glove->link, &next) && next.type == MSG_DATA && next.channel == head->channel;
}

static int on_data(struct glove *glove, const struct wire_head *head, const struct msg_data *data)
{
    if (!sheaf_add(&glove->sheaf, data->bytes.bytes, data->bytes.size))
        return -EPROTO;
    return goes_on(glove, head) ? 0 : pass_sheaf(glove, head->channel, head->flags & WIRE_FLAG_FIN);
}

/* Credit may cross with our FIN on its way; a channel that is gone needs none. */
static int on_credit(struct glove *glove, const struct wire_head *head,
                     const struct msg_credit *credit)
{
    struct channel *channel = channel_find(&glove->channels, head->channel);

    if (head->flags != 0 || head->channel == 0 || head->channel % 2 != 0)
        return -EPROTO;
    return channel ? channel_credit(channel, credit->bytes) : 0;
}

static int on_frame(struct glove *glove, const struct wire_head *head, const uint8_t *payload)
{
    _Alignas(16) uint8_t msg[MSG_STRUCT_MAX];
    int r;

    if (!(msg_direction(head->type) & GLOVE_IN))
        return -EPROTO;
    r = msg_decode(head->type, payload, head->size, msg);
    if (r < 0)
        return r;
    if (head->type == MSG_DATA)
        return on_data(glove, head, (const struct msg_data *)(const void *)msg);
    if (head->type == MSG_CREDIT)
        return on_credit(glove, head, (const struct msg_credit *)(const void *)msg);
    return on_request(glove, head, msg);
}

static int on_link(struct glove *glove)
{
    struct wire_head head;
    const uint8_t *payload;
    int r = link_read(&glove->link);

    if (r < 0)
        return r;
    while ((r = link_next(&glove->link, &head, &payload)) > 0) {
        r = on_frame(glove, &head, payload);
        if (r < 0)
            return r;
    }
    if (glove->setup.beat_ms > 0)
        glove->beat_deadline_ns = clock_after_ms(glove->setup.beat_ms);
    return r;
}

int glove_signals(struct glove *glove)
{
    struct signalfd_siginfo info;

    while (read(glove->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
        continue;
    return reap_some(glove);
}

/* ---- the loop ------------------------------------------------------------------------------- */

#define END_PATIENCE_MS 1

/* Places in glove->polls. */
enum {
    SLOT_IN,
    SLOT_OUT,
    SLOT_SIGNALS,
    SLOT_CONNS,
    SLOT_PROXIED,
    SLOT_LOOKUPS,
    SLOT_CHILDREN,
};

static size_t poll_add(struct glove *glove, size_t n, int fd, short events, void *owner)
{
    glove->polls[n] = (struct pollfd){ .fd = fd, .events = events };
    glove->owners[n] = owner;
    return n + 1;
}

/* Which places are whose: where what is dialled begins, channels, what is said to the proxy. */
struct spans {
    size_t dialled;
    size_t channels;
    size_t talks;
    size_t end;
};

static size_t poll_egress(struct glove *glove, size_t n, bool is_idle)
{
    struct egress *egress = &glove->egress;
    bool takes_conns = is_idle && egress_wants_conn(glove);
    bool takes_proxied = is_idle && egress_wants_proxied(glove);
    bool takes_lookups = is_idle && egress_wants_lookup(egress);

    n = poll_add(glove, n, takes_conns ? egress->catch.tcp_fd : -1, POLLIN, NULL);
    n = poll_add(glove, n, takes_proxied ? egress->catch.proxy_fd : -1, POLLIN, NULL);
    return poll_add(glove, n, takes_lookups ? egress->catch.dns_fd : -1, POLLIN, NULL);
}

static size_t poll_talks(struct glove *glove, size_t n)
{
    for (size_t i = 0; i < glove->conns.used[CONN_OURS]; i++) {
        struct conn *conn = &glove->conns.all[CONN_OURS][i];

        if (conn->state == CONN_TALKS)
            n = poll_add(glove, n, conn->fd, POLLIN, conn);
    }
    return n;
}

/* Those that the host asked for and that do not stand yet. */
static size_t poll_dialled(struct glove *glove, size_t n)
{
    for (size_t i = 0; i < glove->conns.used[CONN_THEIRS]; i++) {
        struct conn *conn = &glove->conns.all[CONN_THEIRS][i];

        if (conn->state == CONN_ASKED)
            n = poll_add(glove, n, conn->fd, POLLOUT, conn);
    }
    return n;
}

/* While the link is full, only what the host sends and what the box has to read goes on. */
static struct spans poll_prepare(struct glove *glove)
{
    bool is_idle = link_is_idle(&glove->link);
    struct spans spans;
    size_t n = 0;

    n = poll_add(glove, n, glove->link.in, POLLIN, NULL);
    n = poll_add(glove, n, is_idle ? -1 : glove->link.out, POLLOUT, NULL);
    n = poll_add(glove, n, glove->signal_fd, POLLIN, NULL);
    n = poll_egress(glove, n, is_idle);
    for (size_t i = 0; i < CHILDREN_MAX; i++)
        if (glove->children[i].kind != CHILD_NONE && glove->children[i].report_fd >= 0)
            n = poll_add(glove, n, glove->children[i].report_fd, POLLIN, &glove->children[i]);
    spans.dialled = n;
    n = spans.channels = poll_dialled(glove, n);
    for (size_t i = 0; i < glove->channels.used; i++) {
        struct channel *channel = &glove->channels.all[i];
        int events = channel_events(channel);

        if (events >= 0 && (events != POLLIN || is_idle))
            n = poll_add(glove, n, channel->fd, (short)events, channel);
    }
    spans.talks = n;
    spans.end = is_idle ? poll_talks(glove, n) : n;
    return spans;
}

static int serve_channels(struct glove *glove, size_t first, size_t n)
{
    for (size_t i = first; i < n; i++) {
        int r = glove->polls[i].revents ? channel_serve(glove->owners[i], &glove->link) : 0;

        if (r < 0)
            return r;
    }
    return 0;
}

static int serve_reports(struct glove *glove, size_t first, size_t n)
{
    for (size_t i = first; i < n; i++) {
        int r = glove->polls[i].revents ? reap_report(glove, glove->owners[i]) : 0;

        if (r < 0)
            return r;
    }
    return 0;
}

static int serve_dialled(struct glove *glove, size_t first, size_t n)
{
    int r = 0;

    for (size_t i = first; r == 0 && i < n; i++)
        if (glove->polls[i].revents)
            r = dial_ready(glove, glove->owners[i]);
    return r;
}

static int serve_egress(struct glove *glove, size_t first, size_t n)
{
    int r = glove->polls[SLOT_CONNS].revents ? egress_accept(glove) : 0;

    if (r == 0 && glove->polls[SLOT_PROXIED].revents)
        r = egress_accept_proxied(glove);
    for (size_t i = first; r == 0 && i < n; i++)
        if (glove->polls[i].revents)
            r = proxy_serve(glove, glove->owners[i]);
    if (r == 0 && glove->polls[SLOT_LOOKUPS].revents)
        r = egress_question(glove);
    return r;
}

/* A stream that ends is mostly a program that ends: its signal is a moment away, and both go to the
 * host together. */
static bool has_signals(struct glove *glove)
{
    struct pollfd ended = { .fd = glove->signal_fd, .events = POLLIN };
    bool has_fin = glove->link.has_fin;

    glove->link.has_fin = false;
    if (glove->polls[SLOT_SIGNALS].revents || glove->may_reap_more)
        return true;
    return has_fin && poll(&ended, 1, END_PATIENCE_MS) > 0;
}

/* The host's frames come last: they open and end what the poll was about.  Children that have
 * ended come right before them, so that a request is answered from the newest state. */
static int serve(struct glove *glove, const struct spans *spans)
{
    int r = link_flush(&glove->link);

    if (r == 0)
        r = serve_channels(glove, spans->channels, spans->talks);
    if (r == 0)
        r = serve_dialled(glove, spans->dialled, spans->channels);
    if (r == 0)
        r = serve_egress(glove, spans->talks, spans->end);
    if (r == 0)
        r = serve_reports(glove, SLOT_CHILDREN, spans->dialled);
    if (r == 0 && has_signals(glove))
        r = glove_signals(glove);
    if (r == 0 && glove->polls[SLOT_IN].revents)
        r = on_link(glove);
    if (r == 0)
        r = reap_settle(glove);
    if (r == 0)
        r = conn_settle(glove);
    return r < 0 ? r : link_flush(&glove->link);
}

static int turn(struct glove *glove)
{
    struct spans spans = poll_prepare(glove);
    uint64_t next_ns =
        glove->beat_deadline_ns < glove->end_ns ? glove->beat_deadline_ns : glove->end_ns;
    int timeout_ms = glove->may_reap_more ? 0 : clock_poll_ms(next_ns);

    if (poll(glove->polls, (nfds_t)spans.end, timeout_ms) < 0)
        return errno == EINTR ? 0 : -errno;
    if (clock_now_ns() >= glove->end_ns)
        return -ETIME;
    if (clock_now_ns() >= glove->beat_deadline_ns && !glove->polls[SLOT_IN].revents)
        return -ETIMEDOUT;
    return serve(glove, &spans);
}

int glove_main(struct glove *glove, const struct glove_config *config)
{
    int r = start(glove, config);

    while (r == 0)
        r = turn(glove);
    return 1;
}
