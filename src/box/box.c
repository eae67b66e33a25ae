/* SPDX-License-Identifier: Apache-2.0 */
/* box/box.c - opening and closing boxes, whatever their backend. */
#include "box/box.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "box/box_parts.h"
#include "box/carry.h"
#include "box/link.h"
#include "wire/msg.h"

/* What building a box may take on a machine that is out of breath. */
#define PATH_TEXT_MAX (64 << 10)
#define BUILD_MS      20000

/* Silence after which a glove takes its host for dead. */
#define BEAT_LOST_MS 10000

/* Room for what runs need besides their own limits (SECURITY.md: rlimits). */
#define NOFILE_SOFT    1024
#define NOFILE_HARD    4096
#define MEMLOCK_BYTES  (8ULL << 20)
#define STACK_BYTES    (8ULL << 20)
#define SIGPENDING_MAX 4096
#define MSGQUEUE_BYTES 409600 /* four queues; an ordinary user has twice that for all boxes */

void *box_state(struct box *box)
{
    return box->state;
}

struct receipt *box_receipt_edit(struct box *box)
{
    return &box->receipt;
}

const struct receipt *box_receipt(const struct box *box)
{
    return &box->receipt;
}

bool box_is_attached(const struct box *box)
{
    return box->is_attached;
}

wall_set box_without(const struct box *box)
{
    return box->without;
}

struct link *box_link(struct box *box)
{
    return box->link;
}

uint32_t box_run_seq(const struct box *box)
{
    return box->run_seq;
}

void box_set_run_seq(struct box *box, uint32_t seq)
{
    box->run_seq = seq;
}

const struct box_ops *box_ops_of(const struct box *box)
{
    return box->ops;
}

bool box_shows_host(const struct box *box)
{
    return box->ops->shows_host;
}

const char *box_path(const struct box *box)
{
    return box->path ? box->path : "";
}

void box_set_path(struct box *box, char *path)
{
    free(box->path);
    box->path = path;
}

const char *box_python_path(const struct box *box)
{
    return box->python_path ? box->python_path : "";
}

void box_set_python_path(struct box *box, char *path)
{
    free(box->python_path);
    box->python_path = path;
}

const char *box_variables(const struct box *box)
{
    return box->variables ? box->variables : "";
}

int box_set_paths(struct box *box, const struct box_spec *spec, const char *usual,
                  struct gb_err *err)
{
    cleanup_buf struct buf path = BUF_INIT(PATH_TEXT_MAX);
    cleanup_buf struct buf python = BUF_INIT(PATH_TEXT_MAX);

    for (const struct box_layer *layer = spec->layers; layer && layer->source; layer++) {
        if (layer->bin)
            (void)buf_printf(&path, "%s:", layer->bin);
        if (layer->python)
            (void)buf_printf(&python, "%s%s", python.len ? ":" : "", layer->python);
    }
    (void)buf_puts(&path, usual ? usual : "");
    if (!usual || buf_error(&path) < 0 || buf_error(&python) < 0)
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for the PATH");
    box_set_path(box, buf_take(&path));
    box_set_python_path(box, python.len ? buf_take(&python) : NULL);
    return 0;
}

const char *const box_writable[] = {
    BOX_WORKSPACE, BOX_HOME, "/tmp", "/var/tmp", "/run", "/dev/shm", NULL,
};

/* Where the room is told of that runs have left. */
static int pack_disks(const struct box *box, const char *workdir, char *packed, size_t size,
                      struct wire_strs *ret)
{
    const char *disks[SETUP_DISKS_MAX + 1] = { BOX_WORKSPACE };
    size_t n = 0;

    for (const char *const *disk = box->ops->disks; disk && *disk && n < SETUP_DISKS_MAX - 1;
         disk++)
        disks[n++] = *disk;
    if (n > 0 && workdir && strcmp(workdir, BOX_WORKSPACE) != 0)
        disks[n] = workdir;
    return wire_strs_pack(disks, packed, size, ret);
}

static int send_setup(struct box *box, const struct box_spec *spec, uint32_t *ret_seq,
                      struct gb_err *err)
{
    const char *writable[N_ELEMENTS(box_writable) + 2] = { NULL };
    size_t n = 0;
    char packed[PATH_MAX + 256];
    char packed_disks[PATH_MAX + 64];
    uint64_t ttl_ms = box->ops->beats ? spec->ttl_ms : 0;
    struct msg_setup setup = {
        .uid = BOX_UID,
        .gid = BOX_GID,
        .flags = SETUP_FLAG_SECCOMP,
        .beat_ms = box->ops->beats ? BEAT_LOST_MS : 0,
        .ttl_ms = ttl_ms < UINT32_MAX ? (uint32_t)ttl_ms : UINT32_MAX,
    };

    for (const char *const *dir = box_writable; *dir; dir++)
        writable[n++] = *dir;
    writable[n++] = "/dev/mqueue";
    writable[n] = spec->workdir;
    if (box->receipt.walls & 1u << WALL_LANDLOCK)
        setup.flags |= SETUP_FLAG_LANDLOCK;
    if (box->carry)
        setup.flags |= SETUP_FLAG_EGRESS;
    if (wire_strs_pack(writable, packed, sizeof(packed), &setup.writable) < 0 ||
        pack_disks(box, spec->workdir, packed_disks, sizeof(packed_disks), &setup.disks) < 0)
        return gb_fail(err, -ENAMETOOLONG, GB_BLAME_CALLER, "the working directory is too long");
    return link_request(box->link, MSG_SETUP, &setup, NULL, 0, ret_seq, err);
}

/* NPROC is not the limit but a net below it: at the limit itself forks would fail without the
 * group's counter rising, and the verdict would be lost. */
static int send_limits(struct box *box, const struct limits *limits, uint32_t *ret_seq,
                       struct gb_err *err)
{
    struct msg_limits msg = {
        .nproc = box->ops->shares_ids ? UINT64_MAX : 2 * limits->pids + 64,
        .fsize = limits->disk_bytes,
        .nofile_soft = NOFILE_SOFT,
        .nofile_hard = NOFILE_HARD,
        .memlock = MEMLOCK_BYTES,
        .stack = STACK_BYTES,
        .sigpending = SIGPENDING_MAX,
        .msgqueue = MSGQUEUE_BYTES,
    };

    return link_request(box->link, MSG_LIMITS, &msg, NULL, 0, ret_seq, err);
}

static int setup_failed(const struct box_spec *spec, int code, uint32_t step, struct gb_err *err)
{
    int wall = wall_of_step(step);

    if (step == 0)
        return code;
    if (step == GLOVE_STEP_EGRESS)
        return gb_fail(err, code, GB_BLAME_HOST,
                       "the network of the box cannot be made: %s" GB_REMEDY
                       "see whether this kernel has IPv4 with a loopback device, or use --net none",
                       strerror(-code));
    if (wall >= 0)
        return wall_fail((enum wall)wall, code, spec->ret_broken, err);
    return gb_fail(err, code, GB_BLAME_HOST, "the glove could not be set up, at step %u: %s", step,
                   strerror(-code));
}

/* Greets the glove and tells it who runs are.  All is sent before the first answer is waited for,
 * even before there is a glove: a round trip costs more than the work. */
static int glove_greet(struct box *box, const struct box_spec *spec, struct gb_err *err)
{
    int r = link_greet(box->link, err);

    if (r == 0)
        r = send_setup(box, spec, &box->setup_seq, err);
    if (r == 0)
        r = send_limits(box, &spec->limits, &box->limits_seq, err);
    return r;
}

/* Waits for one event on a box that is being built. */
static int settle_step(struct box *box, uint64_t deadline_ns, struct gb_err *err)
{
    bool has_cancel = box->spec->cancel_fd > 0;
    struct pollfd watch[] = {
        { .fd = box->ops->watch_fd(box), .events = POLLIN },
        { .fd = has_cancel ? box->spec->cancel_fd : -1, .events = POLLIN },
    };
    int r = link_pump(box->link, deadline_ns, watch, N_ELEMENTS(watch), err);

    if (r < 0 || watch[0].revents)
        return box->ops->lost(box, box->spec, err);
    if (watch[1].revents)
        return gb_fail(err, -ECANCELED, GB_BLAME_CALLER, "cancelled while the box was made");
    if (r == 0 && clock_poll_ms(deadline_ns) == 0)
        return gb_fail(err, -ETIMEDOUT, GB_BLAME_PEER, "the box was not built in time");
    return 0;
}

/* The glove's answer to its set-up is the sign that the box stands. */
static int await_setup(struct box *box, struct gb_err *err)
{
    uint64_t deadline_ns = clock_after_ms(BUILD_MS);
    uint32_t step = 0;
    uint64_t said = 0;
    int r;

    while ((r = link_answer(box->link, box->setup_seq, &said, &step)) == 0) {
        int lost = settle_step(box, deadline_ns, err);

        if (lost == 0)
            continue;
        /* A glove that could not be set up says why before it ends at the next request. */
        link_last_words(box->link);
        r = link_answer(box->link, box->setup_seq, &said, &step);
        if (r >= 0 || !step)
            return lost;
        break;
    }
    if (r < 0)
        return setup_failed(box->spec, r, step, err);
    box->receipt.landlock = (unsigned)said & SETUP_SAID_ABI;
    if (box->carry && said & SETUP_SAID_PROXY)
        box->receipt.net = "proxy";
    box->ready_ns = clock_now_ns();
    return link_await(box->link, box->limits_seq, deadline_ns, &said, &step, err);
}

int box_ended(struct box *box, struct gb_err *err)
{
    if (box->ops->ended)
        return box->ops->ended(box, err);
    return gb_fail(err, -EPIPE, GB_BLAME_HOST, "its glove or spawner was killed");
}

int box_settle(struct box *box, struct gb_err *err)
{
    int r;

    if (box->settled)
        return box->settled > 0
                   ? 0
                   : gb_fail(err, box->settled, GB_BLAME_HOST, "the box was not built");
    r = await_setup(box, err);
    box->settled = r < 0 ? r : 1;
    box->spec = NULL;
    return r;
}

uint64_t box_ready_ns(const struct box *box)
{
    return box->ready_ns;
}

static int begin_network(struct box *box, const struct box_spec *spec, struct gb_err *err)
{
    box->receipt.net = "transparent";
    return carry_new(box->link, spec->net, &box->carry, err);
}

static int box_start(struct box *box, const struct box_spec *spec, struct gb_err *err)
{
    int fd = -1;
    int r = box->ops->start(box, spec, &fd, err);

    if (r < 0)
        return r;
    r = link_new(fd, &box->link, err);
    if (r == 0 && spec->net)
        r = begin_network(box, spec, err);
    if (r < 0)
        return r;
    r = glove_greet(box, spec, err);
    /* Gone already: the backend knows why. */
    return r < 0 && link_is_lost(box->link) ? box->ops->lost(box, spec, err) : r;
}

static int begin_without(const struct box_spec *spec, const struct box_ops *ops, wall_set without,
                         struct box **ret, struct gb_err *err)
{
    struct box *box = calloc(1, sizeof(*box) + ops->state_size);
    int r;

    if (!box)
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for a box");
    box->ops = ops;
    box->spec = spec;
    box->without = without;
    box->receipt = (struct receipt){ .backend = ops->name, .limits = spec->limits };
    r = box_start(box, spec, err);
    /* Where walls may be missing the box is waited for: what fails decides what comes next. */
    if (r == 0 && spec->may_miss)
        r = box_settle(box, err);
    if (r < 0) {
        (void)box_close(box);
        return r;
    }
    *ret = box;
    return 0;
}

static int check_network(const struct box_spec *spec, const struct box_ops *ops, struct gb_err *err)
{
    bool has_ports = spec->ports && spec->ports[0].port;

    if ((spec->has_network || has_ports) && !ops->has_bridge)
        return gb_fail(err, -ENOTSUP, GB_BLAME_CALLER, "boxes of backend '%s' have no network",
                       ops->name);
    if (spec->net && !ops->carries)
        return gb_fail(err, -ENOTSUP, GB_BLAME_CALLER,
                       "boxes of backend '%s' have no rules for their network" GB_REMEDY
                       "use --backend native or docker with --net, or no network",
                       ops->name);
    if (spec->net && spec->has_network)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "a box with rules for its network has no other network");
    if (has_ports && !spec->has_network)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "a box without a network has no ports");
    return 0;
}

int box_begin(const struct box_spec *asked, struct box **ret, struct gb_err *err)
{
    const struct box_ops *ops = box_backend(asked->backend, err);
    struct box_spec spec = *asked;
    wall_set without = 0;
    int broken = -1;
    int r;

    if (asked->ret_broken)
        *asked->ret_broken = -1;
    if (!ops)
        return -EINVAL;
    r = limits_check(&asked->limits, err);
    if (r == 0)
        r = check_network(asked, ops, err);
    if (r < 0)
        return r;
    if (!asked->may_miss)
        return begin_without(asked, ops, 0, ret, err);
    spec.ret_broken = &broken;
    do {
        without |= broken >= 0 ? 1u << broken : 0;
        broken = -1;
        r = begin_without(&spec, ops, without, ret, err);
    } while (r < 0 && broken >= 0 && asked->may_miss & ops->can_miss & ~without & 1u << broken);
    if (r < 0 && asked->ret_broken)
        *asked->ret_broken = broken;
    return r;
}

int box_open(const struct box_spec *spec, struct box **ret, struct gb_err *err)
{
    struct box *box = NULL;
    int r = box_begin(spec, &box, err);

    if (!box)
        return r;
    r = box_settle(box, err);
    if (r < 0) {
        (void)box_close(box);
        return r;
    }
    *ret = box;
    return 0;
}

static void box_free(struct box *box)
{
    if (box_held(box)) {
        close(box->held.link_fd);
        close(box->held.listener_fd);
    }
    carry_free(box->carry);
    link_free(box->link);
    free(box->path);
    free(box->variables);
    free(box->python_path);
    free(box);
}

int box_usage(struct box *box, struct box_usage *ret, struct gb_err *err)
{
    int r = box_settle(box, err);

    if (r < 0)
        return r;
    if (!box->ops->usage)
        return gb_fail(err, -ENOTSUP, GB_BLAME_CALLER, "what boxes of backend '%s' use is not told",
                       box->ops->name);
    return box->ops->usage(box, ret, err);
}

uint64_t box_memory_bytes(struct box *box)
{
    uint64_t bytes;

    return box->ops->memory_bytes && box->ops->memory_bytes(box, &bytes) == 0 ? bytes : UINT64_MAX;
}

uint32_t box_close(struct box *box)
{
    uint32_t survivors;

    if (!box)
        return 0;
    /* The backend first: a kill costs less than letting the glove notice the end of its link,
     * which is there for when nobody else is. */
    survivors = box->ops->destroy(box);
    box_free(box);
    return survivors;
}

void box_leave(struct box *box)
{
    if (!box->ops->leave || box->ops->leave(box) < 0)
        (void)box_close(box);
    else
        box_free(box);
}
