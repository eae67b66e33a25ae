/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run_user.c - the box of a task's user. */
#include "cli/run_user.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "box/detached.h"
#include "cli/box_user.h"
#include "cli/run_args.h"
#include "cli/run_session.h"
#include "conf/box_spec.h"
#include "conf/settings.h"
#include "json/value.h"
#include "json/writer.h"
#include "package/diagnosis.h"
#include "package/provide.h"
#include "package/wish.h"
#include "run/packages.h"
#include "run/spool.h"

#define ORDER_MAX ((size_t)8 << 20)
#define NAMES_MAX ((size_t)64 << 10)

/* ---- the maker ------------------------------------------------------------------------------- */

/* What a new box is to be: {"python", "node": package/wish.h, "net", "old", "ttl_ms"}, behind its
 * size.  The old one is the box that the user has, "" for none. */
struct birth {
    char id[ID_SIZE];
    struct gb_err err;
};

struct making {
    const struct run_user *user;
    int fd;
};

/* In place of the old one, of which it has what was given to it when it was made.  Somebody else
 * may have made or removed a box since the order was given: -ESTALE. */
static int make_instead(const struct run_user *user, const char *old_id, struct box_wish wish,
                        struct kept *ret, struct gb_err *err)
{
    const char *state_dir = user->settings->state_dir;
    cleanup_close int lock = kept_lock(state_dir, err);
    cleanup_kept struct kept old = { 0 };
    int r = lock < 0 ? lock : kept_find_user(state_dir, user->name, &old, err);

    if (r < 0)
        return r;
    if (!old_id || strcmp(old.id, old_id) != 0)
        return gb_fail(err, -ESTALE, GB_BLAME_CALLER, "it was made or removed by somebody else");
    if (r == 0) {
        wish.workdir = old.workdir;
        wish.limits = &old.box.receipt.limits;
        wish.is_filled_later = true;
    }
    return box_make(user->settings, &wish, ret, err);
}

static int make_wished(const struct run_user *user, const struct json_value *order,
                       const struct package_wishes *wishes, struct kept *ret, struct gb_err *err)
{
    cleanup_with(box_packages_clear) struct box_packages packages;
    struct box_wish wish = { .env = environ, .user = user->name, .wishes = wishes };
    int r = 0;

    (void)json_bool(json_get(order, "net"), &wish.is_unserved);
    (void)json_u64(json_get(order, "ttl_ms"), &wish.ttl_ms);
    box_packages_init(&packages);
    if (!package_wishes_are_empty(wishes)) {
        r = box_packages_show(user->settings, wishes, wish.is_unserved, NULL, &packages, err);
        wish.packages = &packages;
    }
    return r < 0 ? r : make_instead(user, json_str(json_get(order, "old"), NULL), wish, ret, err);
}

static int make_one(const struct run_user *user, const char *text, size_t len, struct birth *ret)
{
    cleanup_json struct json_value *order = NULL;
    cleanup_kept struct kept kept = { 0 };
    struct package_wishes wishes;
    int r = json_value_parse(text, len, ORDER_MAX, &order, &ret->err);

    package_wishes_init(&wishes);
    if (r == 0)
        r = package_wishes_get(order, &wishes, &ret->err);
    if (r == 0)
        r = make_wished(user, order, &wishes, &kept, &ret->err);
    if (r == 0)
        memcpy(ret->id, kept.id, ID_SIZE);
    package_wishes_clear(&wishes);
    return r;
}

/* Until the task closes its end, or is no more. */
static void make_all(void *arg, int told_fd, int r)
{
    const struct making *making = arg;
    uint64_t len;

    (void)fd_write_full(told_fd, &r, sizeof(r));
    close(told_fd);
    while (r == 0 && fd_read_full(making->fd, &len, sizeof(len)) == (ssize_t)sizeof(len)) {
        cleanup_free char *text = len <= ORDER_MAX ? malloc((size_t)len + 1) : NULL;
        struct birth birth = { 0 };

        if (!text || fd_read_full(making->fd, text, (size_t)len) != (ssize_t)len)
            break;
        (void)make_one(making->user, text, (size_t)len, &birth);
        if (fd_write_full(making->fd, &birth, sizeof(birth)) < 0)
            break;
    }
    _exit(0);
}

static int begin(struct run_user *user, struct gb_err *err)
{
    struct making making = { .user = user };
    int pair[2];
    int told = 0;
    int r;

    user->maker_fd = user->lock_fd = -1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return gb_fail_sys(err, "starting the maker of boxes");
    making.fd = pair[1];
    r = detached_start_with("glovebox-maker", make_all, &making, &making.fd, 1, &told,
                            sizeof(told));
    close(pair[1]);
    user->maker_fd = pair[0];
    r = r < 0 ? r : told;
    return r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "starting the maker of boxes: %s", strerror(-r))
                 : 0;
}

void run_user_end(struct run_user *user)
{
    char none;

    if (!user->name)
        return;
    if (user->maker_fd >= 0) {
        (void)shutdown(user->maker_fd, SHUT_WR);
        (void)fd_read_full(user->maker_fd, &none,
                           1); /* it has nothing to say: its end is awaited */
    }
    drop_fd(&user->maker_fd);
    drop_fd(&user->lock_fd);
    kept_clear(&user->kept);
}

static int order_text(const struct user_wish *wish, const struct package_wishes *packages,
                      const struct kept *old, uint64_t ttl_ms, struct buf *ret)
{
    struct json_writer w;
    int r;

    json_writer_init(&w, ret, false);
    json_object_begin(&w, NULL);
    r = package_wishes_put(packages, &w);
    json_put_bool(&w, "net",
                  wish->has_network ||
                      (old && old->box.receipt.net && strcmp(old->box.receipt.net, "none") != 0));
    json_put_str(&w, "old", old ? old->id : "");
    json_put_u64(&w, "ttl_ms", ttl_ms);
    json_object_end(&w);
    return r < 0 ? r : json_writer_end(&w);
}

/* Gives the order and waits for the box.  One that is cancelled meanwhile is still the user's. */
static int order_box(const struct run_user *user, const struct buf *order, struct kept *ret,
                     struct gb_err *err)
{
    struct pollfd wait[2] = { { .fd = user->maker_fd, .events = POLLIN },
                              { .fd = user->cancel_fd, .events = POLLIN } };
    uint64_t len = order->len;
    struct birth birth;

    if (fd_write_full(user->maker_fd, &len, sizeof(len)) < 0 ||
        fd_write_full(user->maker_fd, order->data, order->len) < 0)
        return gb_fail(err, -EPIPE, GB_BLAME_HOST, "the maker of boxes has ended");
    while (poll(wait, 2, -1) < 0 && errno == EINTR)
        ;
    if (!wait[0].revents && wait[1].revents)
        return gb_fail(err, -ECANCELED, GB_BLAME_CALLER, "cancelled");
    if (fd_read_full(user->maker_fd, &birth, sizeof(birth)) != (ssize_t)sizeof(birth))
        return gb_fail(err, -EPIPE, GB_BLAME_HOST, "the maker of boxes has ended");
    if (birth.err.code < 0) {
        *err = birth.err;
        return birth.err.code;
    }
    return kept_find(user->settings->state_dir, birth.id, ret, err);
}

/* ---- packages -------------------------------------------------------------------------------- */

static void tell(const struct run_user *user, enum event_kind kind, const struct buf *text)
{
    const struct agent_event event = {
        .kind = kind,
        .text = text->data ? text->data : "",
        .len = text->len,
    };

    user->listener.hear(user->listener.user, &event);
}

static void put_names(const struct package_set *set, struct buf *ret)
{
    for (size_t i = 0; i < set->n; i++)
        (void)buf_printf(ret, "%s%s", ret->len ? ", " : "", set->items[i].name);
}

static void tell_begin(void *arg, const struct package_set *set)
{
    cleanup_buf struct buf names = BUF_INIT(NAMES_MAX);

    put_names(set, &names);
    tell(arg, EVENT_INSTALLING, &names);
}

/* In the cache from now on, where the maker finds them; others see who installs.  Is what failed
 * about the set?  *ret_is_about_set. */
static int install(struct run_user *user, const struct package_wishes *wishes,
                   struct packages *packages, bool *ret_is_about_set, struct gb_err *err)
{
    const struct packages_watch watch = { .begin = tell_begin, .user = user };
    const struct box_spec box = settings_box_spec(user->settings);
    const struct packages_order order = {
        .wishes = wishes,
        .host = user->host,
        .box = &box,
        .cancel_fd = user->cancel_fd,
        .watch = &watch,
    };
    struct run_packages *told = NULL;
    int r = package_wishes_are_empty(wishes) ? 0 : packages_open(&order, packages, &told, err);

    *ret_is_about_set = r < 0 && diagnosis_is_about_set(told ? told->failure : NULL);
    run_packages_free(told);
    return r;
}

static void tell_left_out(const struct run_user *user, const struct gb_err *why)
{
    cleanup_buf struct buf text = BUF_INIT(NAMES_MAX);

    (void)buf_puts(&text, "packages that the user's box had are left out, for they do not go with "
                          "those of this task: ");
    (void)buf_add(&text, why->msg, gb_err_len(why));
    tell(user, EVENT_NOTE, &text);
}

/* Installs what the task needs and what the box had (ret); where both do not go together, what the
 * task needs.  An index that is away takes nothing from the box. */
static int settle_packages(struct run_user *user, const struct package_wishes *needed,
                           struct package_wishes *ret, struct packages *packages,
                           struct gb_err *err)
{
    struct gb_err why = { 0 };
    bool is_about_set;
    int r = install(user, ret, packages, &is_about_set, &why);

    if (r < 0 && !is_about_set && err)
        *err = why;
    if (r == 0 || !is_about_set)
        return r;
    packages_close(packages);
    packages_init(packages);
    package_wishes_clear(ret);
    r = package_wishes_add_others(ret, needed, err);
    if (r == 0)
        r = install(user, ret, packages, &is_about_set, err);
    if (r == 0)
        tell_left_out(user, &why);
    return r;
}

/* ---- a box as it is needed ------------------------------------------------------------------- */

static int attach(struct run_user *user, struct box **ret, struct box_news *news,
                  struct gb_err *err)
{
    return kept_attach(user->settings->state_dir, &user->kept, ret, news, err);
}

/* What a task left that was killed in the middle: one that is not filled, or one that was filled
 * from the other.  What is found (id; "": none) is whole, and the one that everybody has used. */
static void remove_others(const struct run_user *user, const char *id)
{
    struct kept *list = NULL;
    size_t n = 0;
    bool is_there = false;
    uint32_t survivors;

    if (kept_list(user->settings->state_dir, &list, &n, NULL) < 0)
        return;
    for (size_t i = 0; i < n; i++) {
        bool is_users = list[i].user && strcmp(list[i].user, user->name) == 0;

        if (strcmp(list[i].id, id) == 0)
            is_there = true;
        else if (is_users && (list[i].is_filling || is_there))
            (void)kept_remove(user->settings->state_dir, &list[i], &survivors, NULL);
        kept_clear(&list[i]);
    }
    free(list);
}

/* Has somebody removed or replaced the box since it was found?  Installing takes minutes. */
static bool is_gone(const struct run_user *user)
{
    cleanup_kept struct kept now = { 0 };
    struct gb_err ignored = { 0 };
    int r = kept_find_user(user->settings->state_dir, user->name, &now, &ignored);

    return r > 0 || (r == 0 && strcmp(now.id, user->kept.id) != 0);
}

/* The files of the old box, which has nothing under way; -ESTALE when it is gone. */
static int empty_old(struct run_user *user, struct spool **ret, uint64_t *ret_ttl_ms,
                     struct gb_err *err)
{
    struct box_news news = { 0 };
    struct box *box = NULL;
    int r = attach(user, &box, &news, err);

    if (r < 0)
        return is_gone(user) ? -ESTALE : r;
    if (news.runs > 0)
        r = gb_fail(err, -EBUSY, GB_BLAME_CALLER,
                    "it has %" PRIu32 " runs under way, and has to be made anew for what this task "
                    "needs" GB_REMEDY "glovebox box runs --user %s shows them",
                    news.runs, user->name);
    else
        r = spool_take(box, BOX_WORKSPACE, user->kept.box.receipt.limits.disk_bytes,
                       user->settings->state_dir, ret, err);
    if (r == -EFBIG)
        r = gb_fail(err, r, GB_BLAME_CALLER,
                    "it has to be made anew for what this task needs, and more than %d files, or "
                    "more bytes than it may have, lie in its workspace" GB_REMEDY
                    "remove what is not needed with glovebox box run --user %s -- rm",
                    SPOOL_FILES_MAX, user->name);
    *ret_ttl_ms = news.ttl_ms;
    (void)box_close(box);
    return r < 0 && is_gone(user) ? -ESTALE : r;
}

static void tell_left_behind(const struct run_user *user, uint64_t n)
{
    cleanup_buf struct buf text = BUF_INIT(NAMES_MAX);

    if (n == 0)
        return;
    (void)buf_printf(&text,
                     "the user's box was made anew, and %" PRIu64 " of the names in its workspace "
                     "did not move with it: sockets, pipes, or what its programs may not read",
                     n);
    tell(user, EVENT_NOTE, &text);
}

static int fill_new(const struct run_user *user, const struct kept *kept, struct spool *spool,
                    struct gb_err *err)
{
    struct box_news news;
    struct box *box = NULL;
    int r = kept_attach(user->settings->state_dir, kept, &box, &news, err);

    if (r == 0)
        r = spool_give(spool, box, BOX_WORKSPACE, err);
    (void)box_close(box);
    return r < 0 ? r : kept_fill_done(user->settings->state_dir, kept, err);
}

/* Somebody else may have been quicker. */
static int remove_old(const struct run_user *user, const struct kept *old, struct gb_err *err)
{
    struct gb_err why = { 0 };
    cleanup_kept struct kept found = { 0 };
    uint32_t survivors;
    int r = kept_remove(user->settings->state_dir, old, &survivors, &why);

    if (r == 0 || kept_find(user->settings->state_dir, old->id, &found, NULL) < 0)
        return 0;
    *err = why;
    return r;
}

/* Makes the box, or makes it anew: user->kept is the new one then. */
static int renew(struct run_user *user, const struct user_wish *wish,
                 const struct package_wishes *packages, struct gb_err *err)
{
    const char *state_dir = user->settings->state_dir;
    bool has_old = user->kept.id[0];
    cleanup_buf struct buf order = BUF_INIT(ORDER_MAX);
    cleanup_spool struct spool *spool = NULL;
    cleanup_kept struct kept made = { 0 };
    struct kept old;
    uint64_t ttl_ms = 0;
    uint32_t survivors;
    int r = has_old ? empty_old(user, &spool, &ttl_ms, err) : 0;

    if (r < 0)
        return r;
    if (order_text(wish, packages, has_old ? &user->kept : NULL, ttl_ms, &order) < 0)
        return gb_no_memory(err);
    r = order_box(user, &order, &made, err);
    if (r == 0 && spool)
        r = fill_new(user, &made, spool, err);
    if (r < 0) {
        if (made.id[0])
            (void)kept_remove(state_dir, &made, &survivors, NULL);
        return r;
    }
    old = user->kept;
    user->kept = made;
    made = old;
    if (spool)
        tell_left_behind(user, spool_left_behind(spool));
    return has_old ? remove_old(user, &made, err) : 0;
}

static bool is_same(const struct package_wishes *a, const struct package_wishes *b, int *ret_r)
{
    cleanup_buf struct buf one = BUF_INIT(ORDER_MAX);
    cleanup_buf struct buf other = BUF_INIT(ORDER_MAX);

    *ret_r = package_wishes_text(a, &one) < 0 || package_wishes_text(b, &other) < 0 ? -ENOMEM : 0;
    return one.len == other.len && (one.len == 0 || memcmp(one.data, other.data, one.len) == 0);
}

static bool has_way_out(const struct kept *kept)
{
    return kept->box.receipt.net && strcmp(kept->box.receipt.net, "none") != 0;
}

/* Nothing is made where the box is as it is needed. */
static int fit_once(struct run_user *user, const struct user_wish *wish, struct gb_err *err)
{
    struct package_wishes had;
    struct package_wishes all;
    struct packages packages;
    bool is_fit = user->kept.id[0] && (!wish->has_network || has_way_out(&user->kept));
    int r = 0;

    package_wishes_init(&had);
    package_wishes_init(&all);
    packages_init(&packages);
    if (user->kept.id[0])
        r = box_wishes(user->settings, &user->kept, &had, err);
    if (r == 0)
        r = package_wishes_add_others(&all, wish->packages, err);
    if (r == 0)
        r = package_wishes_add_others(&all, &had, err);
    if (r == 0)
        is_fit = is_same(&had, &all, &r) && is_fit;
    if (r == 0 && !is_fit)
        r = settle_packages(user, wish->packages, &all, &packages, err);
    if (r == 0 && !is_fit)
        r = renew(user, wish, &all, err);
    packages_close(&packages);
    package_wishes_clear(&all);
    package_wishes_clear(&had);
    return r;
}

/* Once more when the user has another box by now. */
static int fit(struct run_user *user, const struct user_wish *wish, struct gb_err *err)
{
    int r = fit_once(user, wish, err);

    if (r != -ESTALE)
        return r;
    *err = (struct gb_err){ 0 };
    kept_clear(&user->kept);
    r = kept_find_user(user->settings->state_dir, user->name, &user->kept, err);
    return r < 0 ? r : fit_once(user, wish, err);
}

/* ---- for the agent --------------------------------------------------------------------------- */

static void close_box(void *arg, struct box *box)
{
    struct run_user *user = arg;

    (void)box_close(box);
    kept_clear(&user->kept);
    user->kept = (struct kept){ 0 };
    drop_fd(&user->lock_fd);
}

static int open_box(void *arg, const struct user_wish *wish, struct box **ret, struct gb_err *err)
{
    struct run_user *user = arg;
    const char *state_dir = user->settings->state_dir;
    struct box_news news;
    int r;

    user->lock_fd = kept_lock_user(state_dir, user->name, user->cancel_fd, err);
    r = user->lock_fd < 0 ? user->lock_fd : kept_find_user(state_dir, user->name, &user->kept, err);
    if (r >= 0)
        remove_others(user, user->kept.id);
    if (r >= 0 && wish)
        r = fit(user, wish, err);
    if (r == 0)
        r = attach(user, ret, &news, err);
    if (r != 0)
        close_box(user, NULL);
    return r;
}

/* ---- the beginning ---------------------------------------------------------------- */

static int refuse(const char *name, const char *what, const char *its, const char *tasks,
                  struct gb_err *err)
{
    return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                   "--user: the box of %s has %s %s, and the task %s" GB_REMEDY
                   "say --%s %s, or remove the box: glovebox box rm --user %s",
                   name, what, its, tasks, what, its, name);
}

int run_user_check(const struct settings *settings, const char *name, struct gb_err *err)
{
    cleanup_kept struct kept kept = { 0 };
    const struct box_spec box = settings_box_spec(settings);
    const char *image = settings->image ? settings->image : BOX_IMAGE_HOST;
    int r = kept_find_user(settings->state_dir, name, &kept, err);

    if (r != 0)
        return r < 0 ? r : 0;
    if (strcmp(kept.box.receipt.backend, box.backend) != 0)
        return refuse(name, "backend", kept.box.receipt.backend, box.backend, err);
    if (kept.image && strcmp(kept.image, image) != 0)
        return refuse(name, "image", kept.image, image, err);
    if (kept.net_rules || kept.ports)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "--user: the box of %s has rules or ports of its own, and a task's run has "
                       "the task's network only" GB_REMEDY
                       "remove the box: glovebox box rm --user %s",
                       name, name);
    return 0;
}

int run_user_give(struct run_session *session, struct gb_err *err)
{
    struct run_user *user = &session->user;
    int r;

    session->spec.owner.name = session->order.user;
    if (!session->order.user || session->args->replay)
        return 0;
    *user = (struct run_user){
        .name = session->order.user,
        .settings = &session->settings,
        .host = &session->package_host,
        .listener = session->spec.listener,
        .cancel_fd = session->signals,
    };
    r = begin(user, err);
    session->spec.owner = (struct agent_user){ user->name, open_box, close_box, user };
    return r;
}
