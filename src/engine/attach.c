/* SPDX-License-Identifier: Apache-2.0 */
/* engine/attach.c - a container's stdin and stdout as one plain socket. */
#include "engine/attach.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "engine/demux.h"
#include "engine/engine.h"
#include "net/hijack.h"
#include "net/http.h"

#define PIECE_MAX  (256 << 10)
#define PIECES_MAX 64

/* Bytes on their way from one side to the other. */
struct cargo {
    char *bytes; /* PIECE_MAX */
    size_t at;
    size_t len;
};

struct attach {
    pthread_t thread;
    int stop_fd; /* an eventfd: readable when the thread shall end */
    atomic_bool is_stopping;
    bool is_tty;

    /* The thread's own. */
    struct hijack *hijack;
    int pair;
    struct demux demux;
    struct cargo out;                /* from the engine, not yet taken apart */
    struct iovec pieces[PIECES_MAX]; /* of it, on their way to the pair */
    size_t n_pieces;
    size_t at_piece;
    struct cargo in;  /* from the pair */
    bool is_out_over; /* the engine ended it */
    bool is_in_over;  /* the caller ended it, */
    bool is_end_sent; /* and the engine knows */
    bool is_reader_gone;
    struct attach_beat beat; /* of 0 ms: none */
    bool is_between;
    uint64_t beat_ns; /* when the next one is due */
    short wanted;     /* of the engine's descriptor */

    pthread_mutex_t lock; /* of what follows */
    char said[ATTACH_SAID_MAX];
    size_t n_said;
    int fault;
};

/* ---- what others may ask -------------------------------------------------------------------- */

static void say(struct attach *attach, const char *bytes, size_t len)
{
    size_t room;

    (void)pthread_mutex_lock(&attach->lock);
    room = sizeof(attach->said) - attach->n_said;
    memcpy(attach->said + attach->n_said, bytes, len < room ? len : room);
    attach->n_said += len < room ? len : room;
    (void)pthread_mutex_unlock(&attach->lock);
}

static void break_off(struct attach *attach, int code)
{
    (void)pthread_mutex_lock(&attach->lock);
    attach->fault = attach->fault < 0 ? attach->fault : code;
    (void)pthread_mutex_unlock(&attach->lock);
    attach->is_out_over = true;
}

size_t attach_said(struct attach *attach, char *text, size_t size)
{
    size_t len;

    (void)pthread_mutex_lock(&attach->lock);
    len = attach->n_said < size - 1 ? attach->n_said : size - 1;
    memcpy(text, attach->said, len);
    (void)pthread_mutex_unlock(&attach->lock);
    text[len] = '\0';
    return len;
}

int attach_fault(struct attach *attach)
{
    int fault;

    (void)pthread_mutex_lock(&attach->lock);
    fault = attach->fault;
    (void)pthread_mutex_unlock(&attach->lock);
    return fault;
}

/* ---- from the engine ------------------------------------------------------------------------ */

/* Drops the first n bytes of what is on its way. */
static void delivered(struct attach *attach, size_t n)
{
    while (attach->at_piece < attach->n_pieces) {
        struct iovec *piece = &attach->pieces[attach->at_piece];
        size_t part = n < piece->iov_len ? n : piece->iov_len;

        piece->iov_base = (char *)piece->iov_base + part;
        piece->iov_len -= part;
        n -= part;
        if (piece->iov_len > 0)
            return;
        attach->at_piece++;
    }
    attach->at_piece = attach->n_pieces = 0;
}

static bool deliver(struct attach *attach)
{
    struct msghdr message = {
        .msg_iov = attach->pieces + attach->at_piece,
        .msg_iovlen = attach->n_pieces - attach->at_piece,
    };
    ssize_t n = sendmsg(attach->pair, &message, MSG_NOSIGNAL | MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return errno == EINTR;
    if (n < 0) {
        attach->is_reader_gone = true;
        attach->at_piece = attach->n_pieces = 0;
    } else {
        delivered(attach, (size_t)n);
    }
    return true;
}

static int next_piece(struct attach *attach, struct demux_piece *ret)
{
    struct cargo *out = &attach->out;
    const char *bytes = out->bytes + out->at;
    size_t len = out->len - out->at;
    int r = 1;

    *ret = (struct demux_piece){ DEMUX_STDOUT, bytes, len };
    if (attach->is_tty)
        len = 0;
    else
        r = demux_next(&attach->demux, &bytes, &len, ret);
    out->at = out->len - len;
    return r;
}

/* As much as fits: an engine cuts the stream into small pieces, and each would cost its own call.
 */
static void take_apart(struct attach *attach)
{
    while (attach->out.at < attach->out.len && attach->n_pieces < PIECES_MAX) {
        struct demux_piece piece;
        int r = next_piece(attach, &piece);

        if (r < 0) {
            attach->out.at = attach->out.len;
            break_off(attach, r);
        } else if (r > 0 && piece.stream == DEMUX_STDOUT) {
            attach->pieces[attach->n_pieces++] = (struct iovec){
                .iov_base = attach->out.bytes + (piece.bytes - attach->out.bytes),
                .iov_len = piece.len,
            };
        } else if (r > 0 && piece.stream != DEMUX_STDIN) {
            say(attach, piece.bytes, piece.len);
        }
    }
}

static bool fetch(struct attach *attach)
{
    ssize_t n = hijack_recv(attach->hijack, attach->out.bytes, PIECE_MAX);

    if (n == -EAGAIN) {
        attach->wanted |= POLLIN;
        return false;
    }
    if (n < 0)
        break_off(attach, (int)n);
    else if (n == 0)
        attach->is_out_over = true;
    else
        attach->out = (struct cargo){ attach->out.bytes, 0, (size_t)n };
    return true;
}

/* One step; false when it has to wait. */
static bool carry_out(struct attach *attach)
{
    bool is_empty = attach->n_pieces == 0 && attach->out.at == attach->out.len;

    if (is_empty && (attach->is_out_over || !fetch(attach)))
        return false;
    if (attach->n_pieces == 0)
        take_apart(attach);
    return attach->n_pieces == 0 || deliver(attach);
}

/* ---- to the engine -------------------------------------------------------------------------- */

static bool bring(struct attach *attach)
{
    struct cargo *in = &attach->in;
    ssize_t n = hijack_send(attach->hijack, in->bytes + in->at, in->len - in->at);

    if (n == -EAGAIN) {
        attach->wanted |= POLLOUT;
        return false;
    }
    if (n < 0) { /* nobody listens any more; what was said may still be read */
        attach->is_in_over = attach->is_end_sent = true;
        n = (ssize_t)(in->len - in->at);
    }
    in->at += (size_t)n;
    return true;
}

static bool collect(struct attach *attach)
{
    ssize_t n = recv(attach->pair, attach->in.bytes, PIECE_MAX, MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return errno == EINTR;
    if (n <= 0)
        attach->is_in_over = true;
    else
        attach->in = (struct cargo){ attach->in.bytes, 0, (size_t)n };
    if (n > 0 && attach->beat.every_ms) {
        attach->is_between =
            attach->beat.is_between(attach->beat.user, attach->in.bytes, (size_t)n);
        attach->beat_ns = clock_after_ms(attach->beat.every_ms);
    }
    return true;
}

/* With nothing else to bring, and no frame begun. */
static void beat(struct attach *attach)
{
    struct cargo *in = &attach->in;

    if (!attach->beat.every_ms || clock_now_ns() < attach->beat_ns)
        return;
    attach->beat_ns = clock_after_ms(attach->beat.every_ms);
    if (in->at < in->len || attach->is_in_over || !attach->is_between)
        return;
    memcpy(in->bytes, attach->beat.bytes, attach->beat.len);
    *in = (struct cargo){ in->bytes, 0, attach->beat.len };
}

static bool send_end(struct attach *attach)
{
    if (hijack_end(attach->hijack) == -EAGAIN) {
        attach->wanted |= POLLOUT;
        return false;
    }
    attach->is_end_sent = true;
    return true;
}

static bool carry_in(struct attach *attach)
{
    if (attach->in.at < attach->in.len)
        return bring(attach);
    if (!attach->is_in_over)
        return collect(attach);
    return !attach->is_end_sent && send_end(attach);
}

/* ---- the thread ----------------------------------------------------------------------------- */

static bool is_over(const struct attach *attach)
{
    if (atomic_load(&attach->is_stopping) || (attach->is_reader_gone && attach->is_end_sent))
        return true;
    return attach->is_out_over && attach->out.at == attach->out.len && attach->n_pieces == 0;
}

static void wait_for_more(struct attach *attach)
{
    bool takes_in = !attach->is_in_over && attach->in.at == attach->in.len;
    struct pollfd fds[] = {
        { .fd = attach->stop_fd, .events = POLLIN },
        /* Without a wish it is left out: its end would show all the time. */
        { .fd = attach->wanted ? hijack_fd(attach->hijack) : -1, .events = attach->wanted },
        { .fd = attach->is_reader_gone ? -1 : attach->pair,
          .events = (short)((takes_in ? POLLIN : 0) | (attach->n_pieces > 0 ? POLLOUT : 0)) },
    };

    int timeout_ms = attach->beat.every_ms ? clock_poll_ms(attach->beat_ns) : -1;

    if (poll(fds, N_ELEMENTS(fds), timeout_ms) > 0 && fds[2].revents & POLLHUP)
        attach->is_reader_gone = true;
    attach->wanted = 0;
    beat(attach);
}

static void *pump(void *user)
{
    struct attach *attach = user;

    while (!is_over(attach)) {
        bool moved = carry_out(attach);

        moved = carry_in(attach) || moved;
        if (!moved && !is_over(attach))
            wait_for_more(attach);
    }
    hijack_free(&attach->hijack);
    (void)shutdown(attach->pair, SHUT_RDWR);
    return NULL;
}

/* Signals are for the program's other threads. */
static int start(struct attach *attach, struct gb_err *err)
{
    sigset_t all;
    sigset_t before;
    int r;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    r = pthread_create(&attach->thread, NULL, pump, attach);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return r == 0 ? 0 : gb_fail(err, -r, GB_BLAME_HOST, "no thread for an attached container");
}

/* ---- life ----------------------------------------------------------------------------------- */

static void release(struct attach **attach)
{
    struct attach *a = *attach;

    if (!a)
        return;
    hijack_free(&a->hijack);
    drop_fd(&a->pair);
    drop_fd(&a->stop_fd);
    free(a->out.bytes);
    free(a->in.bytes);
    (void)pthread_mutex_destroy(&a->lock);
    free(a);
    *attach = NULL;
}

static int make(bool is_tty, struct attach **ret, int *ret_fd, struct gb_err *err)
{
    cleanup_with(release) struct attach *attach = calloc(1, sizeof(*attach));
    int pair[2];

    if (!attach)
        return gb_no_memory(err);
    attach->pair = attach->stop_fd = -1;
    attach->is_tty = is_tty;
    (void)pthread_mutex_init(&attach->lock, NULL);
    attach->out.bytes = malloc(PIECE_MAX);
    attach->in.bytes = malloc(PIECE_MAX);
    if (!attach->out.bytes || !attach->in.bytes)
        return gb_no_memory(err);
    attach->stop_fd = eventfd(0, EFD_CLOEXEC);
    if (attach->stop_fd < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return gb_fail_sys(err, "a pair of sockets for an attached container");
    attach->pair = pair[0];
    *ret_fd = pair[1];
    *ret = take_ptr(attach);
    return 0;
}

static int take_over(struct engine *engine, const char *container, struct hijack **ret,
                     struct gb_err *err)
{
    static const char *const headers[] = { "Connection: Upgrade", "Upgrade: tcp", NULL };
    cleanup_target struct target target = { 0 };
    cleanup_buf struct buf url = BUF_INIT(8 << 10);
    cleanup_with(http_answer_clear) struct http_answer answer = { 0 };
    const struct engine_call call = { .method = "POST", .target = &target, .headers = headers };
    struct http_request request;
    int r = target_of_id(&target, "/containers/", container, "/attach", err);

    if (r < 0)
        return r;
    target_add_flag(&target, "stream", true);
    target_add_flag(&target, "stdin", true);
    target_add_flag(&target, "stdout", true);
    target_add_flag(&target, "stderr", true);
    r = engine_request(engine, &call, &url, &request, err);
    if (r < 0)
        return r;
    r = hijack_open(&request, &answer, ret, err);
    if (r < 0)
        return engine_lost(engine, r, err);
    return *ret ? 0 : engine_refusal(&call, &answer, err);
}

int attach_open(struct engine *engine, const char *container, bool is_tty,
                const struct attach_beat *beat, struct attach **ret, int *ret_fd,
                struct gb_err *err)
{
    cleanup_with(release) struct attach *attach = NULL;
    cleanup_close int fd = -1;
    int r = make(is_tty, &attach, &fd, err);

    if (r < 0)
        return r;
    assert(attach);
    r = take_over(engine, container, &attach->hijack, err);
    if (r == 0 && beat && beat->len <= PIECE_MAX)
        attach->beat = *beat;
    if (r == 0)
        r = start(attach, err);
    if (r < 0)
        return r;
    *ret = take_ptr(attach);
    *ret_fd = take_fd(&fd);
    return 0;
}

void attach_close(struct attach **attach)
{
    if (!*attach)
        return;
    atomic_store(&(*attach)->is_stopping, true);
    (void)eventfd_write((*attach)->stop_fd, 1);
    (void)pthread_join((*attach)->thread, NULL);
    release(attach);
}
