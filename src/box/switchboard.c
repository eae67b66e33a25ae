/* SPDX-License-Identifier: Apache-2.0 */
/* box/switchboard.c - the network of a box that lives on: a process beside its keeper. */
#include "box/switchboard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/num.h"
#include "base/sys.h"
#include "box/carry.h"
#include "box/detached.h"
#include "box/kept.h"
#include "box/link.h"
#include "box/net_log.h"
#include "box/ports.h"
#include "wire/msg.h"

#define PROCESS_NAME "glovebox-switch"

/* Held by it as long as it lives; its number is in it. */
#define LOCK_FILE "network.lock"

struct order {
    const char *state_dir;
    const struct kept *kept;
    const struct denied_source *denied_later;
    const struct port *ports;
    size_t n_ports;
};

struct switchboard {
    struct box *box;
    int dir_fd;
    int lock_fd;
    struct net_policy policy;
    struct net_log *log;
    struct ports *ports;
};

/* ---- in a process of its own ----------------------------------------------------------------- */

static int take_lock(struct switchboard *board, struct gb_err *err)
{
    board->lock_fd = openat(board->dir_fd, LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (board->lock_fd < 0 || flock(board->lock_fd, LOCK_EX) < 0 ||
        dprintf(board->lock_fd, "%d\n", (int)getpid()) < 0)
        return gb_fail_sys(err, "the lock of a box's network");
    return 0;
}

/* From now on it answers the glove's questions.  Ports first: the box may answer at once. */
static int serve(struct switchboard *board, const struct order *order, struct gb_err *err)
{
    const struct kept *kept = order->kept;
    struct carry_spec spec = {
        .policy = &board->policy,
        .note = net_log_note,
        .caps = kept->net_caps,
        .denied_later = *order->denied_later,
    };
    int r = net_policy_parse(kept->net_rules ? kept->net_rules : "none", &board->policy, err);

    if (r == 0)
        r = net_log_new(board->dir_fd, &board->log, err);
    spec.user = board->log;
    if (r == 0)
        r = ports_new(box_link(board->box), order->ports, order->n_ports, &board->ports, err);
    return r < 0 ? r : box_serve(board->box, &spec, err);
}

static int begin(struct switchboard *board, const struct order *order, struct gb_err *err)
{
    struct box_news news;
    int r = kept_attach(order->state_dir, order->kept, &board->box, &news, err);

    fd_allow(CARRY_FILES_MAX);
    if (r == 0)
        r = board->dir_fd = kept_dir(order->state_dir, order->kept, err);
    if (r >= 0)
        r = take_lock(board, err);
    return r < 0 ? r : serve(board, order, err);
}

static void end(struct switchboard *board)
{
    ports_free(board->ports);
    (void)box_close(board->box); /* its carry tells the log of ends, by the policy */
    net_log_free(board->log);
    net_policy_clear(&board->policy);
}

static void body(void *user, int told_fd, int r)
{
    const struct order *order = user;
    struct switchboard board = { .dir_fd = -1, .lock_fd = -1 };
    struct gb_err err = { 0 };

    if (r < 0)
        (void)gb_fail(&err, r, GB_BLAME_HOST, "leaving the caller: %s", strerror(-r));
    else
        r = begin(&board, order, &err);
    (void)fd_write_full(told_fd, &err, sizeof(err));
    close(told_fd);
    while (r >= 0) {
        r = link_pump(box_link(board.box), net_log_due_ns(board.log), NULL, 0, &err);
        net_log_tell(board.log);
    }
    end(&board);
    _exit(0);
}

int switchboard_start(const char *state_dir, const struct kept *kept,
                      const struct denied_source *denied_later, const struct port *ports,
                      size_t n_ports, struct gb_err *err)
{
    struct order order = { state_dir, kept, denied_later, ports, n_ports };
    int fds[BOX_PORTS_MAX];
    struct gb_err told;
    int r;

    for (size_t i = 0; i < n_ports; i++)
        fds[i] = ports[i].fd;
    r = detached_start_with(PROCESS_NAME, body, &order, fds, n_ports, &told, sizeof(told));
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "starting the network of a box: %s", strerror(-r));
    if (told.code < 0 && err)
        *err = told;
    return told.code;
}

/* ---- from outside --------------------------------------------------------------------------- */

/* The number means it and nobody else as long as the lock is held: looked at after it has been
 * taken hold of. */
bool switchboard_lives(int dir_fd, int *ret_pidfd)
{
    cleanup_close int fd = openat(dir_fd, LOCK_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    cleanup_close int pidfd = -1;
    char text[32] = "";
    uint64_t pid = 0;
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

    if (ret_pidfd)
        *ret_pidfd = -1;
    if (n > 0 && text[n - 1] == '\n')
        text[n - 1] = '\0';
    if (n <= 0 || num_parse_u64(text, 1, INT32_MAX, &pid) < 0)
        return false;
    if (ret_pidfd)
        pidfd = sys_pidfd_open((pid_t)pid);
    if (flock(fd, LOCK_SH | LOCK_NB) == 0)
        return false;
    if (ret_pidfd)
        *ret_pidfd = take_fd(&pidfd);
    return true;
}
