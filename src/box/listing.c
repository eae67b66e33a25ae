/* SPDX-License-Identifier: Apache-2.0 */
/* box/listing.c - what lies in a box, and removing it.
 *
 * The glove does the work as the run user; the host never opens a path of the box.  Names that come
 * out are hostile and are checked by wire/listing.c.
 */
#include "wire/listing.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "box/box.h"
#include "box/link.h"
#include "box/take.h"
#include "wire/msg.h"

#define REMOVE_MS 60000

/* The path as it was said: of one below "/", the whole. */
static const char *what_of(const char *dir, const char *path, char text[static PATH_MAX + 1])
{
    if (!*path)
        return dir;
    (void)snprintf(text, PATH_MAX + 1, "%s%s", dir[1] ? "" : "/", path);
    return text;
}

/* What the box says of a path, as far as it has a better name than errno's. */
static int explain(int code, const char *dir, const char *path, struct gb_err *err)
{
    char what[PATH_MAX + 1];
    static const struct {
        int code;
        const char *text;
    } reasons[] = {
        { -ENOENT, "is not there in the box" },
        { -ENOTDIR, "is no directory in the box, or lies behind something that is none" },
        { -ELOOP, "is a link in the box or lies behind one, and no link is followed" },
        { -ENOTEMPTY, "is a directory in the box that is not empty" GB_REMEDY "-r removes it with "
                      "all that is in it" },
        { -EACCES, "is closed to the programs of the box" },
        { -EROFS, "lies where nothing can be changed" },
        { -EBUSY, "is a place that the box cannot do without" },
    };

    for (size_t i = 0; i < N_ELEMENTS(reasons); i++)
        if (reasons[i].code == code)
            return gb_fail(err, code, GB_BLAME_CALLER, "'%.200s' %s", what_of(dir, path, what),
                           reasons[i].text);
    return gb_fail(err, code, GB_BLAME_CALLER, "'%.200s' of the box: %s", what_of(dir, path, what),
                   strerror(-code));
}

static int feed_listing(void *user, const uint8_t *bytes, size_t len)
{
    return listing_reader_feed(user, bytes, len);
}

int box_list(struct box *box, const struct box_list_spec *spec,
             int (*entry)(void *user, const struct listing_entry *entry), void *user,
             struct gb_err *err)
{
    struct listing_reader reader = {
        .entry = entry,
        .user = user,
        .max_entries = spec->is_self ? 1 : spec->max_entries,
        .is_self = spec->is_self,
    };
    struct msg_list list = {
        .flags = spec->is_self ? LIST_FLAG_SELF : 0,
        .max_entries = (uint32_t)reader.max_entries,
        .dir = spec->dir,
        .path = spec->path,
    };
    struct box_take take = {
        .type = MSG_LIST,
        .msg = &list,
        .channel = &list.channel,
        .most = (reader.max_entries + 1) * (LISTING_HEAD_SIZE + LISTING_NAME_MAX),
        .feed = feed_listing,
        .user = &reader,
    };
    char what[PATH_MAX + 1];
    bool is_refused = false;
    int r = box_take(box, &take, &is_refused, err);

    if (r == 0 && !reader.is_complete) {
        is_refused = true;
        r = -EPROTO;
    }
    if (is_refused && r == -EFBIG)
        return gb_fail(err, r, GB_BLAME_CALLER, "'%.200s' of the box has more than %llu entries",
                       what_of(spec->dir, spec->path, what), (unsigned long long)spec->max_entries);
    return is_refused ? explain(r, spec->dir, spec->path, err) : r;
}

int box_remove(struct box *box, const char *dir, const char *path, bool is_tree, uint64_t *ret_n,
               struct gb_err *err)
{
    struct msg_remove msg = {
        .flags = is_tree ? REMOVE_FLAG_TREE : 0,
        .dir = dir,
        .path = path,
    };
    struct link *link = box_link(box);
    uint32_t where = 0;
    uint32_t seq = 0;
    int r = box_settle(box, err);

    if (r == 0)
        r = link_request(link, MSG_REMOVE, &msg, NULL, 0, &seq, err);
    if (r < 0)
        return r;
    r = link_await(link, seq, clock_after_ms(REMOVE_MS), ret_n, &where, err);
    return r < 0 && where ? explain(r, dir, path, err) : r;
}
