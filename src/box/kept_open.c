/* SPDX-License-Identifier: Apache-2.0 */
/* box/kept_open.c - a new box that lives on. */
#include "box/kept_open.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "box/box.h"
#include "box/carry.h"
#include "box/detached.h"
#include "box/hold.h"
#include "box/kept.h"
#include "box/kept_dir.h"
#include "box/port.h"
#include "box/switchboard.h"

#define PORTS_TEXT_MAX ((size_t)BOX_PORTS_MAX * 64)

/* What the holder tells its maker, once. */
struct birth {
    char id[ID_SIZE];
    struct gb_err err; /* code 0: it lives */
};

static int open_and_keep(const struct box_spec *wish, const struct kept_spec *kept,
                         struct box **ret, char id[static ID_SIZE], struct gb_err *err)
{
    struct box_spec spec = *wish;
    int r = id_make('b', id);

    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "no name for a box");
    spec.name = id;
    spec.will_live_on = true;
    r = box_open(&spec, ret, err);
    return r < 0 ? r : kept_make(kept, *ret, id, err);
}

/* ---- in a process of its own ----------------------------------------------------------------- */

struct order {
    const struct box_spec *spec;
    const struct kept_spec *kept;
};

/* All that can fail is done before the maker hears of a box. */
static int make_held(const struct order *order, int *ret_boxes, struct box **ret,
                     struct birth *birth)
{
    *ret_boxes = kept_dir_open(order->kept->state_dir, true, &birth->err);
    return *ret_boxes < 0 ? *ret_boxes
                          : open_and_keep(order->spec, order->kept, ret, birth->id, &birth->err);
}

static void hold(void *user, int told_fd, int r)
{
    const struct order *order = user;
    cleanup_close int boxes = -1;
    struct birth birth = { 0 };
    struct hold *held = NULL;
    struct box *box = NULL;
    uint32_t survivors;
    int told;

    if (r < 0)
        (void)gb_fail(&birth.err, r, GB_BLAME_HOST, "leaving the caller: %s", strerror(-r));
    else
        r = make_held(order, &boxes, &box, &birth);
    told = fd_write_full(told_fd, &birth, sizeof(birth));
    close(told_fd);
    if (r == 0)
        r = told; /* a maker that was killed meanwhile has told nobody of the box */
    if (r == 0)
        r = box_hold(box, &(struct hold_spec){ order->kept->ttl_ms, boxes, birth.id }, &held,
                     &birth.err);
    survivors = box_close(box);
    if (birth.id[0])
        kept_forget(order->kept->state_dir, birth.id);
    if (held)
        box_hold_end(held, survivors);
    _exit(r < 0);
}

static int open_held(const struct box_spec *spec, const struct kept_spec *kept,
                     char ret_id[static ID_SIZE], struct gb_err *err)
{
    struct order order = { spec, kept };
    struct birth birth;
    int r = detached_start("glovebox-keeper", hold, &order, &birth, sizeof(birth));

    if (r == -EPIPE)
        return gb_fail(err, r, GB_BLAME_HOST, "the keeper ended before it had a box");
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "starting a keeper: %s", strerror(-r));
    if (birth.err.code < 0) {
        if (err)
            *err = birth.err;
        return birth.err.code;
    }
    memcpy(ret_id, birth.id, ID_SIZE);
    return 0;
}

static int open_box(const struct box_spec *spec, const struct kept_spec *kept,
                    char ret_id[static ID_SIZE], struct gb_err *err)
{
    const struct box_ops *ops = box_backend(spec->backend, err);
    struct box *box = NULL;
    int r;

    if (!ops)
        return -EINVAL;
    if (ops->is_held)
        return open_held(spec, kept, ret_id, err);
    r = open_and_keep(spec, kept, &box, ret_id, err);
    (void)box_close(box);
    return r;
}

/* ---- with a network -------------------------------------------------------------------------- */

/* A box whose network cannot be served is none. */
static int add_switchboard(const struct kept_spec *spec, const char *id, const struct port *ports,
                           size_t n_ports, struct gb_err *err)
{
    cleanup_kept struct kept kept = { 0 };
    struct gb_err ignored = { 0 };
    uint32_t survivors;
    int r = kept_find(spec->state_dir, id, &kept, err);

    if (r < 0)
        return r;
    r = switchboard_start(spec->state_dir, &kept, &spec->denied_later, ports, n_ports, err);
    if (r < 0)
        (void)kept_remove(spec->state_dir, &kept, &survivors, &ignored);
    return r;
}

static int open_with(const struct box_spec *wish, const struct kept_spec *wanted,
                     const struct port *ports, size_t n_ports, char ret_id[static ID_SIZE],
                     struct gb_err *err)
{
    cleanup_with(net_policy_clear) struct net_policy policy = { 0 };
    cleanup_buf struct buf texts = BUF_INIT(PORTS_TEXT_MAX);
    struct kept_spec kept = *wanted;
    struct box_spec spec = *wish;
    struct carry_spec net = { .policy = &policy };
    int r = kept.net_rules ? net_policy_parse(kept.net_rules, &policy, err) : 0;

    for (size_t i = 0; i < n_ports; i++) {
        if (i > 0)
            (void)buf_putc(&texts, ',');
        port_put(&ports[i], &texts);
    }
    if (policy.mode == NET_NONE)
        kept.net_rules = NULL;
    if (policy.mode != NET_NONE || kept.is_unserved)
        spec.net = &net;
    if (r == 0 && n_ports > 0)
        kept.ports = texts.data;
    if (r == 0)
        r = open_box(&spec, &kept, ret_id, err);
    if (r == 0 && (kept.net_rules || kept.ports))
        r = add_switchboard(&kept, ret_id, ports, n_ports, err);
    return r;
}

/* What listens does so before there is a box: a port that cannot be had costs nothing. */
int kept_open(const struct box_spec *spec, const struct kept_spec *kept, struct port *ports,
              size_t n_ports, char ret_id[static ID_SIZE], struct gb_err *err)
{
    int r = 0;

    for (size_t i = 0; i < n_ports; i++)
        ports[i].fd = -1;
    for (size_t i = 0; r == 0 && i < n_ports; i++)
        r = port_listen(&ports[i], err);
    if (r == 0)
        r = open_with(spec, kept, ports, n_ports, ret_id, err);
    for (size_t i = 0; i < n_ports; i++)
        drop_fd(&ports[i].fd);
    return r;
}
