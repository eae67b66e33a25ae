/* SPDX-License-Identifier: Apache-2.0 */
/* box/files.c - files into and out of a box, as crates on a channel.
 *
 * The glove does the work as the run user; the host never opens a path of the box.  What comes out
 * is hostile and is checked by wire/crate.c.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "box/box.h"
#include "box/link.h"
#include "box/take.h"
#include "wire/crate.h"
#include "wire/msg.h"

/* Silence of the glove in the middle of a transfer. */
#define STALL_MS 30000

#define PIECE 65536

/* ---- in ------------------------------------------------------------------------------------- */

struct sender {
    struct box *box;
    struct link *link;
    const char *dir;
    uint32_t channel;
    uint32_t seq;
    uint64_t mark;
    uint32_t where;
    bool is_answered;
    bool is_settled;
    struct gb_err *err;
};

static int put_refused(int code, const char *dir, struct gb_err *err)
{
    if (code == -ENOSPC || code == -EDQUOT || code == -EFBIG)
        return gb_fail(err, code, GB_BLAME_CALLER,
                       "the files do not fit into the box: raise --disk");
    return gb_fail(err, code, GB_BLAME_CALLER, "putting files into '%s' of the box: %s", dir,
                   strerror(-code));
}

/* Queues all of it, waiting for credit.  A glove that gave up (disk full) has answered already and
 * grants no more. */
static int send_all(struct sender *s, const void *bytes, size_t len, bool fin)
{
    const uint8_t *at = bytes;
    uint64_t stall_ns = clock_after_ms(STALL_MS);

    do {
        size_t room = link_channel_room(s->link, s->channel);
        size_t n = len < room ? len : room;
        int r;

        if (n > 0 || len == 0) {
            r = link_channel_send(s->link, s->channel, at, n, fin && n == len);
            if (r < 0)
                return gb_fail(s->err, r, GB_BLAME_PEER, "the box was lost while files went in");
            at = n ? at + n : at;
            len -= n;
            stall_ns = clock_after_ms(STALL_MS);
            continue;
        }
        /* Waiting for the box may have brought credit: look again before waiting for more. */
        if (!s->is_settled) {
            r = box_settle(s->box, s->err);
            if (r < 0)
                return r;
            s->is_settled = true;
            continue;
        }
        r = link_answer(s->link, s->seq, &s->mark, &s->where);
        s->is_answered = r != 0;
        if (r < 0)
            return put_refused(r, s->dir, s->err);
        r = link_pump(s->link, stall_ns, NULL, 0, s->err);
        if (r < 0)
            return r;
        if (clock_poll_ms(stall_ns) == 0)
            return gb_fail(s->err, -ETIMEDOUT, GB_BLAME_PEER, "the box takes no more files");
    } while (len > 0);
    return 0;
}

static int send_fd(struct sender *s, const char *what, int fd, uint64_t left)
{
    char piece[PIECE];

    while (left > 0) {
        size_t want = left < sizeof(piece) ? (size_t)left : sizeof(piece);
        ssize_t n = fd_read_full(fd, piece, want);
        int r;

        if (n < 0)
            return gb_fail(s->err, (int)n, GB_BLAME_HOST, "reading '%s': %s", what,
                           strerror((int)-n));
        if ((size_t)n != want)
            return gb_fail(s->err, -EAGAIN, GB_BLAME_CALLER, "'%s' shrank while it was read", what);
        r = send_all(s, piece, want, false);
        if (r < 0)
            return r;
        left -= want;
    }
    return 0;
}

static int send_contents(struct sender *s, const struct box_file *file)
{
    if (file->bytes)
        return file->size ? send_all(s, file->bytes, (size_t)file->size, false) : 0;
    return send_fd(s, file->path, file->fd, file->size);
}

static int send_file(struct sender *s, const struct box_file *file)
{
    uint8_t head[CRATE_HEAD_SIZE + CRATE_PATH_MAX];
    /* An empty path would be the end mark. */
    int n =
        file->path[0] ? crate_head_put(file->path, file->mode & 0777, file->size, head) : -EINVAL;
    int r;

    if (n < 0)
        return gb_fail(s->err, n, GB_BLAME_CALLER, "'%s' is not a path below the workspace",
                       file->path);
    r = send_all(s, head, (size_t)n, false);
    return r < 0 ? r : send_contents(s, file);
}

static int send_end(struct sender *s)
{
    uint8_t head[CRATE_HEAD_SIZE + CRATE_PATH_MAX];
    int n = crate_head_put("", 0, 0, head);

    return send_all(s, head, (size_t)n, true);
}

/* A crate that breaks off is refused by the glove; its answer ends the request. */
static void put_abandon(struct sender *s)
{
    struct gb_err ignored = { 0 };

    if (s->is_answered || link_is_lost(s->link) || box_settle(s->box, &ignored) < 0)
        return;
    if (link_channel_send(s->link, s->channel, NULL, 0, true) == 0)
        (void)link_await(s->link, s->seq, clock_after_ms(STALL_MS), &s->mark, &s->where, &ignored);
}

static int put_begin(struct sender *s)
{
    struct msg_put put = { .dir = s->dir };

    s->channel = link_channel_open(s->link, NULL, s);
    if (!s->channel)
        return gb_fail(s->err, -EBUSY, GB_BLAME_BUG, "no free channel");
    put.channel = s->channel;
    return link_request(s->link, MSG_PUT, &put, NULL, 0, &s->seq, s->err);
}

/* r: how sending went.  The channel is closed in any case. */
static int put_end(struct sender *s, int r)
{
    if (r < 0 && s->seq && r != -ETIMEDOUT)
        put_abandon(s);
    if (r == 0)
        r = box_settle(s->box, s->err);
    if (r == 0) {
        r = link_await(s->link, s->seq, clock_after_ms(STALL_MS), &s->mark, &s->where, s->err);
        if (r < 0 && s->where)
            r = put_refused(r, s->dir, s->err);
    }
    if (s->channel)
        link_channel_close(s->link, s->channel);
    return r;
}

int box_put(struct box *box, const char *dir, const struct box_file *files, size_t n_files,
            uint64_t *ret_mark, struct gb_err *err)
{
    struct sender s = { .box = box, .link = box_link(box), .dir = dir, .err = err };
    int r = put_begin(&s);

    for (size_t i = 0; r == 0 && i < n_files; i++)
        r = send_file(&s, &files[i]);
    if (r == 0)
        r = send_end(&s);
    r = put_end(&s, r);
    if (r == 0)
        *ret_mark = s.mark;
    return r;
}

int box_put_crate(struct box *box, const char *dir, int fd, uint64_t size, struct gb_err *err)
{
    struct sender s = { .box = box, .link = box_link(box), .dir = dir, .err = err };
    int r = put_begin(&s);

    if (r == 0)
        r = send_fd(&s, "files of a box", fd, size);
    if (r == 0)
        r = send_all(&s, NULL, 0, true);
    return put_end(&s, r);
}

/* ---- out ------------------------------------------------------------------------------------ */

static int get_refused(int code, const struct box_get_spec *spec, struct gb_err *err)
{
    const char *what = spec->path[0] ? spec->path : spec->dir;

    if (code == -EFBIG)
        return gb_fail(err, code, GB_BLAME_CALLER,
                       "'%s' holds more than %llu files or %llu MiB: not copied out", what,
                       (unsigned long long)spec->max_files,
                       (unsigned long long)(spec->max_bytes >> 20));
    return gb_fail(err, code, GB_BLAME_CALLER, "getting '%s' out of the box: %s", what,
                   strerror(-code));
}

/* More than any crate within the caps can have. */
static uint64_t crate_most(const struct box_get_spec *spec)
{
    uint64_t heads = (spec->max_files + 1) * (CRATE_HEAD_SIZE + CRATE_PATH_MAX);

    return spec->is_listing ? heads : heads + spec->max_bytes;
}

static int feed_crate(void *user, const uint8_t *bytes, size_t len)
{
    return crate_reader_feed(user, bytes, len);
}

int box_get(struct box *box, const struct box_get_spec *spec, const struct crate_ops *ops,
            void *user, struct gb_err *err)
{
    struct crate_reader reader;
    struct msg_get get = {
        .flags = (spec->is_listing ? GET_FLAG_LIST : 0) | (spec->has_since ? GET_FLAG_CHANGED : 0) |
                 (spec->is_tree ? GET_FLAG_TREE : 0) | (spec->has_all_kinds ? GET_FLAG_KINDS : 0),
        .max_files = (uint32_t)spec->max_files,
        .max_bytes = spec->max_bytes,
        .since = spec->since,
        .dir = spec->dir,
        .path = spec->path,
    };
    struct box_take take = {
        .type = MSG_GET,
        .msg = &get,
        .channel = &get.channel,
        .most = crate_most(spec),
        .feed = feed_crate,
        .user = &reader,
    };
    bool is_refused = false;
    int r;

    crate_reader_init(&reader, ops, user,
                      (struct crate_caps){
                          .files = spec->max_files,
                          .bytes = spec->max_bytes,
                          .has_all_kinds = spec->has_all_kinds,
                      },
                      spec->is_listing);
    r = box_take(box, &take, &is_refused, err);
    if (r == 0 && !crate_reader_is_complete(&reader)) {
        is_refused = true;
        r = -EPROTO;
    }
    if (r == 0 && spec->ret_passed_over)
        *spec->ret_passed_over = reader.passed_over;
    return is_refused ? get_refused(r, spec, err) : r;
}
