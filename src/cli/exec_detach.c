/* SPDX-License-Identifier: Apache-2.0 */
/* cli/exec_detach.c - `glovebox box run -d`: a process of its own does the run.
 *
 * It leaves the command (box/detached.h) but for the directory, from which paths count, the files
 * that go in, and stderr, on which it is heard until the run is written down: its failure is the
 * command's.  From then on its log and its record tell.
 *
 *    command                       the process of its own
 *       | <---- the run's id ---------|  its record is there
 *       | prints it                   |
 *       | ----- go ------------------>|  the program starts
 *
 * An id that cannot be printed, or a command that is killed before it was, starts nothing.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/id.h"
#include "box/detached.h"
#include "cli/exec_args.h"
#include "cli/term.h"
#include "conf/settings.h"

#define PROGRAM_NAME "glovebox-run"

struct order {
    const struct exec_args *args;
    const struct settings *settings;
    int dir_fd;
    int stderr_fd;
    int go_fd;
};

int exec_tell_begun(const struct exec_args *args, const char *id, struct gb_err *err)
{
    cleanup_close int null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    struct exec_birth birth = { 0 };
    char go;

    (void)memcpy(birth.id, id, sizeof(birth.id));
    (void)fd_write_full(args->begun_fd, &birth, sizeof(birth));
    if (null_fd >= 0)
        (void)dup2(null_fd, STDERR_FILENO);
    if (fd_read_full(args->go_fd, &go, 1) != 1)
        return gb_fail(err, -ECANCELED, GB_BLAME_HOST,
                       "not begun: its id could not be told to whoever wanted it");
    return 0;
}

/* The rest of what the command has. */
static int settle(struct order *order, int r, struct gb_err *err)
{
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "leaving the command: %s", strerror(-r));
    if (fchdir(order->dir_fd) < 0)
        return gb_fail_sys(err, "going back to the directory");
    drop_fd(&order->dir_fd);
    drop_fd(&order->stderr_fd);
    return 0;
}

static void run_apart(void *user, int told_fd, int left)
{
    struct order *order = user;
    struct exec_args args = *order->args;
    struct exec_birth birth = { 0 };
    struct gb_err err = { 0 };
    int r;

    (void)dup2(order->stderr_fd, STDERR_FILENO);
    args.begun_fd = told_fd;
    args.go_fd = order->go_fd;
    r = settle(order, left, &err);
    if (r == 0)
        r = exec_run(&args, order->settings, &err);
    if (r < 0) {
        term_error(&err, order->settings->color, environ);
        r = term_exit_code(&err);
    }
    birth.exit_code = r;
    /* Of a run that was begun nobody reads it. */
    (void)fd_write_full(told_fd, &birth, sizeof(birth));
    _exit(r);
}

/* What it needs of the command's: how many. */
static size_t needs(const struct order *order, int fds[static DETACHED_FDS_MAX])
{
    size_t n = 0;

    static_assert(EXEC_FILES_MAX + 3 <= DETACHED_FDS_MAX);
    fds[n++] = order->dir_fd;
    fds[n++] = order->stderr_fd;
    fds[n++] = order->go_fd;
    for (size_t i = 0; i < order->args->n_files; i++)
        fds[n++] = order->args->files[i].fd;
    return n;
}

/* The id first: whoever reads it finds a run that is under way, or is about to be. */
static int print_id(const char *id, int go_fd, struct gb_err *err)
{
    char line[ID_SIZE + 1];
    int r;

    (void)snprintf(line, sizeof(line), "%s\n", id);
    r = fd_write_full(STDOUT_FILENO, line, strlen(line));
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "writing to stdout: %s", strerror(-r));
    (void)fd_send(go_fd, "", 1, NULL, 0, 0);
    return 0;
}

static int start(struct order *order, int go_fd, struct gb_err *err)
{
    int fds[DETACHED_FDS_MAX];
    struct exec_birth birth;
    int r = detached_start_with(PROGRAM_NAME, run_apart, order, fds, needs(order, fds), &birth,
                                sizeof(birth));

    if (r == -EPIPE)
        return gb_fail(err, -ECHILD, GB_BLAME_HOST,
                       "the process that was to do the run was killed");
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "beginning the run: %s", strerror(-r));
    if (!birth.id[0]) /* it has told why */
        return birth.exit_code ? birth.exit_code : 125;
    return print_id(birth.id, go_fd, err);
}

int exec_detach(const struct exec_args *args, const struct settings *settings, struct gb_err *err)
{
    cleanup_close int dir_fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    cleanup_close int stderr_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    cleanup_close int hears = -1;
    cleanup_close int says = -1;
    struct order order = { args, settings, dir_fd, stderr_fd, -1 };
    int pair[2];

    if (dir_fd < 0 || stderr_fd < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return gb_fail_sys(err, "beginning the run");
    hears = order.go_fd = pair[0];
    says = pair[1];
    return start(&order, says, err);
}
