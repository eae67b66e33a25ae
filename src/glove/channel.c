/* SPDX-License-Identifier: Apache-2.0 */
/* glove/channel.c - byte streams between the link and the pipes of programs. */
#include "glove/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "glove/link.h"

/* A default pipe halves the throughput. */
#define PIPE_SIZE (1 << 20)

/* Frames of one channel in a row, before the others and the host's frames get their turn. */
#define FRAMES_IN_A_ROW 8

/* Four windows: whoever has sent so much is likely to send more. */
#define MUCH (4 * (uint64_t)WIRE_CREDIT_START)

/* ---- the table ------------------------------------------------------------------------------ */

static uint16_t *hint_of(struct channels *channels, uint32_t number)
{
    return &channels->hints[number / 2 % CHANNEL_HINTS];
}

static bool is_number(const struct channel *channel, uint32_t number)
{
    return channel->way != CHANNEL_FREE && channel->number == number;
}

struct channel *channel_find(struct channels *channels, uint32_t number)
{
    struct channel *hinted = &channels->all[*hint_of(channels, number)];

    if (is_number(hinted, number))
        return hinted;
    for (size_t i = 0; i < channels->used; i++)
        if (is_number(&channels->all[i], number))
            return &channels->all[i];
    return NULL;
}

static struct channel *find_free(struct channels *channels)
{
    struct channel *abandoned = NULL;

    for (size_t i = 0; i < CHANNELS_MAX; i++) {
        struct channel *channel = &channels->all[i];

        if (channel->way == CHANNEL_IN && channel->fd < 0 && !channel->spill)
            abandoned = channel;
        if (channel->way != CHANNEL_FREE)
            continue;
        if (i >= channels->used)
            channels->used = i + 1;
        return channel;
    }
    return abandoned;
}

int channel_open(struct channels *channels, uint32_t number, enum channel_way way,
                 struct channel **ret)
{
    struct channel *channel;

    if (number == 0 || number % 2 != 0 || channel_find(channels, number))
        return -EPROTO;
    channel = find_free(channels);
    if (!channel)
        return -EPROTO;
    *channel = (struct channel){
        .number = number,
        .way = way,
        .fd = -1,
        .credit = (uint64_t)WIRE_CREDIT_START,
        .window = WIRE_CREDIT_START,
    };
    *hint_of(channels, number) = (uint16_t)(channel - channels->all);
    *ret = channel;
    return 0;
}

static void channel_free(struct channel *channel)
{
    channel_abandon(channel);
    channel->way = CHANNEL_FREE;
}

/* ---- pipes and spills ----------------------------------------------------------------------- */

static struct spill *free_of(struct spill *spills, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!spills[i].is_taken)
            return &spills[i];
    return NULL;
}

static struct spill *spill_take(struct channels *channels)
{
    struct spill *spill = free_of(channels->spills, SPILLS_MAX);

    if (spill)
        *spill = (struct spill){ .is_taken = true,
                                 .size = WIRE_CREDIT_START,
                                 .bytes = channels->spill_bytes[spill - channels->spills] };
    return spill;
}

static struct spill *spill_take_wide(struct channels *channels)
{
    struct spill *spill = free_of(channels->wides, WIDES_MAX);

    if (spill)
        *spill = (struct spill){ .is_taken = true,
                                 .size = WIRE_CREDIT_WIDE,
                                 .bytes = channels->wide_bytes[spill - channels->wides] };
    return spill;
}

/* Whole pages of a spill that has been used go back to the kernel. */
static void spill_release(struct spill *spill)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = ((uintptr_t)spill->bytes + page - 1) & ~(page - 1);
    uintptr_t to = ((uintptr_t)spill->bytes + spill->size) & ~(page - 1);

    (void)madvise(spill->bytes + (from - (uintptr_t)spill->bytes), to - from, MADV_DONTNEED);
    spill->is_taken = false;
}

void channel_abandon(struct channel *channel)
{
    /* The other direction has the socket too. */
    if (channel->fd >= 0 && channel->end == CHANNEL_SOCKET)
        (void)shutdown(channel->fd, channel->way == CHANNEL_IN ? SHUT_WR : SHUT_RD);
    drop_fd(&channel->fd);
    if (!channel->spill)
        return;
    channel->owed += (uint32_t)channel->spill->len;
    spill_release(channel->spill);
    channel->spill = NULL;
}

/* A descriptor that belongs to the run user, so that a program may open it anew by its name.  When
 * these ids change the kernel sets "dumpable" to fs.suid_dumpable, which may be 1; box root must
 * not become traceable by a run that is box root too. */
static int make_as(uid_t uid, gid_t gid, int (*make)(int fds[2]), int fds[2])
{
    int uid_before = setfsuid(uid);
    int gid_before = setfsgid(gid);
    int r = make(fds);

    (void)setfsgid((gid_t)gid_before);
    (void)setfsuid((uid_t)uid_before);
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 && r == 0)
        return -errno;
    return r;
}

static int make_pipe(int fds[2])
{
    return pipe2(fds, O_CLOEXEC) < 0 ? -errno : 0;
}

int channel_pipe(struct channels *channels, struct channel *channel, uid_t uid, gid_t gid,
                 int *ret_fd)
{
    bool is_in = channel->way == CHANNEL_IN;
    int fds[2];
    int r;

    if (is_in) {
        channel->spill = spill_take(channels);
        if (!channel->spill)
            return -ENOBUFS;
    }
    r = make_as(uid, gid, make_pipe, fds);
    if (r < 0)
        return r;
    channel->fd = fds[is_in ? 1 : 0];
    *ret_fd = fds[is_in ? 0 : 1];
    /* Refused when this user has many pipes: slower, nothing else. */
    (void)fcntl(channel->fd, F_SETPIPE_SZ, PIPE_SIZE);
    r = fd_set_nonblock(channel->fd);
    if (r < 0)
        close(*ret_fd);
    return r;
}

/* The other end by its descriptor: no path of the box is believed. */
static int make_tty(int fds[2])
{
    int unlocked = 0;

    fds[0] = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (fds[0] < 0)
        return -errno;
    if (ioctl(fds[0], TIOCSPTLCK, &unlocked) == 0)
        fds[1] = ioctl(fds[0], TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (fds[1] >= 0)
        return 0;
    fds[1] = -errno;
    close(fds[0]);
    return fds[1];
}

int channel_tty(struct channels *channels, struct channel *in, struct channel *out, uid_t uid,
                gid_t gid, int *ret_fd)
{
    int fds[2] = { -1, -1 };
    int r;

    in->spill = spill_take(channels);
    if (!in->spill)
        return -ENOBUFS;
    r = make_as(uid, gid, make_tty, fds);
    if (r < 0)
        return r;
    out->fd = fds[0];
    out->end = CHANNEL_TTY;
    *ret_fd = fds[1];
    in->fd = fcntl(fds[0], F_DUPFD_CLOEXEC, 3);
    return in->fd < 0 ? -errno : 0;
}

int channel_early(struct channels *channels, struct channel *channel)
{
    channel->spill = spill_take(channels);
    return channel->spill ? 0 : -ENOBUFS;
}

int channel_socket(struct channels *channels, struct channel *in, struct channel *out, int fd,
                   bool *was_reset)
{
    out->fd = fd;
    out->end = CHANNEL_SOCKET;
    out->was_reset = was_reset;
    in->end = CHANNEL_SOCKET;
    in->was_reset = was_reset;
    if (!in->spill)
        in->spill = spill_take(channels);
    in->fd = in->spill ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
    if (in->fd >= 0)
        return 0;
    return in->spill ? -errno : -ENOBUFS;
}

void channel_break(struct channel *channel)
{
    if (channel->fd >= 0)
        fd_reset_at_close(channel->fd);
    drop_fd(&channel->fd); /* shut down first it would be a regular end */
    channel_free(channel);
}

/* ---- box to host ---------------------------------------------------------------------------- */

int channel_finish(struct channel *channel, struct link *link)
{
    struct msg_data data = { .bytes.size = 0 };
    uint32_t number = channel->number;

    channel_free(channel);
    link->has_fin = true;
    return link_send(link, MSG_DATA, number, WIRE_FLAG_FIN, &data);
}

int channel_credit(struct channel *channel, uint32_t bytes)
{
    if (channel->way != CHANNEL_OUT)
        return -EPROTO;
    channel->is_dull = false;
    channel->credit += bytes;
    return 0;
}

/* Behind the program's own end the kernel says EPIPE, and it was no reset. */
static void note_error(struct channel *channel, int error)
{
    if (channel->end == CHANNEL_SOCKET && error != 0 && error != EPIPE)
        *channel->was_reset = true;
}

static int error_of(const struct channel *channel)
{
    int error = 0;
    socklen_t len = sizeof(error);

    if (channel->end != CHANNEL_SOCKET)
        return 0;
    return getsockopt(channel->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 ? errno : error;
}

/* No more comes, or an error did.  A reset is an error for the first who asks, and an end for those
 * behind; what the program had ended itself before that is an end for all. */
static int end_out(struct channel *channel, struct link *link, int error)
{
    if (channel->end != CHANNEL_SOCKET)
        return error < 0 ? error : channel_finish(channel, link);
    note_error(channel, -error);
    if (!*channel->was_reset)
        return channel_finish(channel, link);
    channel_abandon(channel);
    return 0;
}

static int serve_out(struct channel *channel, struct link *link)
{
    if (channel->credit == 0) {
        channel->is_dull = true;
        note_error(channel, error_of(channel));
        return 0;
    }
    for (int i = 0; i < FRAMES_IN_A_ROW && channel->credit > 0; i++) {
        size_t most =
            channel->credit < WIRE_PAYLOAD_MAX ? (size_t)channel->credit : WIRE_PAYLOAD_MAX;
        ssize_t n;
        int r = link_flush(link);

        if (r < 0 || !link_is_idle(link))
            return r;
        n = channel->end == CHANNEL_TTY ? link_send_tty(link, channel->number, channel->fd, most)
                                        : link_send_pipe(link, channel->number, channel->fd, most);
        if (n == -EAGAIN)
            return 0;
        if (n <= 0)
            return end_out(channel, link, (int)n);
        channel->credit -= (uint64_t)n;
    }
    return 0;
}

/* ---- host to box ---------------------------------------------------------------------------- */

/* The free part of the ring begins behind its last byte and may wrap. */
static void spill_add(struct spill *spill, const uint8_t *bytes, size_t len)
{
    size_t at = (spill->start + spill->len) % spill->size;
    size_t first = spill->size - at < len ? spill->size - at : len;

    memcpy(spill->bytes + at, bytes, first);
    memcpy(spill->bytes, bytes + first, len - first);
    spill->len += len;
}

/* The number of bytes written, 0 when the pipe is full, -EPIPE when nobody reads it. */
static ssize_t write_pipe(int fd, const struct iovec *iov, int n_iov)
{
    ssize_t n;

    do {
        n = writev(fd, iov, n_iov);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == EAGAIN ? 0 : -errno;
    return n;
}

static ssize_t spill_write(struct spill *spill, int fd)
{
    size_t first = spill->size - spill->start;
    struct iovec iov[2] = {
        { spill->bytes + spill->start, spill->len < first ? spill->len : first },
        { spill->bytes, spill->len < first ? 0 : spill->len - first },
    };

    return write_pipe(fd, iov, 2);
}

/* The program does not take it. */
static void write_failed(struct channel *channel, int error)
{
    note_error(channel, error);
    channel_abandon(channel);
}

/* Pays back what is owed, once it is worth a frame. */
static int pay(struct channel *channel, struct link *link)
{
    struct msg_credit credit = { .bytes = channel->owed };

    if (channel->has_fin || channel->owed < channel->window / 4)
        return 0;
    channel->credit += channel->owed;
    channel->owed = 0;
    return link_send(link, MSG_CREDIT, channel->number, 0, &credit);
}

/* Without its socket yet. */
static bool is_early(const struct channel *channel)
{
    return channel->fd < 0 && channel->spill;
}

/* After every change: pay, and end the channel when all of it has gone. */
static int settle_in(struct channel *channel, struct link *link)
{
    if (channel->has_fin && !is_early(channel) && (!channel->spill || channel->spill->len == 0)) {
        channel_free(channel);
        return 0;
    }
    return pay(channel, link);
}

static int serve_in(struct channel *channel, struct link *link)
{
    struct spill *spill = channel->spill;

    if (spill->len == 0)
        write_failed(channel, error_of(channel)); /* the other end is closed */
    while (channel->fd >= 0 && spill->len > 0) {
        ssize_t n = spill_write(spill, channel->fd);

        if (n < 0)
            write_failed(channel, (int)-n);
        if (n <= 0)
            break;
        spill->start = (spill->start + (size_t)n) % spill->size;
        spill->len -= (size_t)n;
        channel->owed += (uint32_t)n;
    }
    return settle_in(channel, link);
}

int channel_begin(struct channel *channel, struct link *link)
{
    return channel->spill->len > 0 ? serve_in(channel, link) : settle_in(channel, link);
}

/* What goes into the pipe without a detour. */
static size_t take_directly(struct channel *channel, const struct sheaf *sheaf)
{
    ssize_t n;

    if (channel->fd < 0)
        return channel->spill ? 0 : sheaf->len;
    if (channel->spill->len > 0)
        return 0;
    n = write_pipe(channel->fd, sheaf->iov, sheaf->n);
    if (n >= 0)
        return (size_t)n;
    write_failed(channel, (int)-n);
    return sheaf->len;
}

/* What is behind the first bytes. */
static void spill_rest(struct spill *spill, const struct sheaf *sheaf, size_t done)
{
    for (int i = 0; i < sheaf->n; i++) {
        const struct iovec *one = &sheaf->iov[i];
        size_t skip = done < one->iov_len ? done : one->iov_len;

        spill_add(spill, (const uint8_t *)one->iov_base + skip, one->iov_len - skip);
        done -= skip;
    }
}

bool sheaf_add(struct sheaf *sheaf, const uint8_t *bytes, size_t len)
{
    struct iovec *one = &sheaf->iov[sheaf->n];

    if (sheaf->n == SHEAF_MAX)
        return false;
    if (len == 0)
        return true;
    memcpy(&one->iov_base, &bytes, sizeof(bytes)); /* iovec has no const */
    one->iov_len = len;
    sheaf->n++;
    sheaf->len += len;
    return true;
}

int channel_take(struct channel *channel, struct link *link, const struct sheaf *sheaf,
                 bool is_last)
{
    size_t n = 0;

    if (channel->way != CHANNEL_IN || channel->has_fin || sheaf->len > channel->credit)
        return -EPROTO;
    channel->credit -= sheaf->len;
    channel->taken += sheaf->len;
    channel->has_fin = is_last;
    if (sheaf->len > 0)
        n = take_directly(channel, sheaf);
    channel->owed += (uint32_t)n;
    if (n < sheaf->len)
        spill_rest(channel->spill, sheaf, n);
    return settle_in(channel, link);
}

void channel_widen(struct channels *channels, struct channel *channel)
{
    struct spill *wide;

    if (channel->taken < MUCH || channel->window == WIRE_CREDIT_WIDE || channel->fd < 0 ||
        channel->end != CHANNEL_SOCKET || channel->spill->len > 0 || channel->has_fin)
        return;
    wide = spill_take_wide(channels);
    if (!wide)
        return;
    spill_release(channel->spill);
    channel->spill = wide;
    channel->owed += WIRE_CREDIT_WIDE - channel->window;
    channel->window = WIRE_CREDIT_WIDE;
}

/* ---- both ----------------------------------------------------------------------------------- */

int channel_events(const struct channel *channel)
{
    if (channel->way == CHANNEL_FREE || channel->fd < 0)
        return -1;
    if (channel->way == CHANNEL_OUT && channel->credit > 0)
        return channel->is_held ? -1 : POLLIN;
    if (channel->way == CHANNEL_OUT)
        return channel->end == CHANNEL_SOCKET && !channel->is_dull ? 0 : -1;
    return channel->spill->len > 0 ? POLLOUT : 0;
}

int channel_serve(struct channel *channel, struct link *link)
{
    return channel->way == CHANNEL_OUT ? serve_out(channel, link) : serve_in(channel, link);
}
