/* SPDX-License-Identifier: Apache-2.0 */
/* cli/exec_detach.c - `glovebox box run -d`: a process of its own does the run.
 *
 * It has a session of its own, so that a terminal that closes does not end it.  Until the run is
 * written down it is heard on stderr, and its failure is the command's; from then on its log and
 * its record tell.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/id.h"
#include "cli/exec_args.h"
#include "cli/term.h"
#include "conf/settings.h"

static void hold(const struct exec_args *asked, const struct settings *settings, int begun_fd)
    __attribute__((noreturn));

static void hold(const struct exec_args *asked, const struct settings *settings, int begun_fd)
{
    struct exec_args args = *asked;
    struct gb_err err = { 0 };
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    int r;

    (void)setsid();
    if (null_fd < 0 || dup2(null_fd, STDIN_FILENO) < 0 || dup2(null_fd, STDOUT_FILENO) < 0)
        _exit(125);
    args.begun_fd = begun_fd;
    r = exec_run(&args, settings, &err);
    if (r < 0) {
        term_error(&err, settings->color, environ);
        r = term_exit_code(&err);
    }
    _exit(r);
}

int exec_detach(const struct exec_args *args, const struct settings *settings, struct gb_err *err)
{
    char id[ID_SIZE + 1] = "";
    int begun[2];
    pid_t pid;
    ssize_t n;
    int status;

    if (pipe2(begun, O_CLOEXEC) < 0)
        return gb_fail_sys(err, "beginning the run");
    pid = fork();
    if (pid == 0) {
        close(begun[0]);
        hold(args, settings, begun[1]);
    }
    close(begun[1]);
    n = pid < 0 ? -1 : fd_read_full(begun[0], id, ID_SIZE - 1);
    close(begun[0]);
    if (pid < 0)
        return gb_fail_sys(err, "beginning the run");
    id[ID_SIZE - 1] = '\n';
    if (n == ID_SIZE - 1)
        return fd_write_full(STDOUT_FILENO, id, ID_SIZE) < 0 ? gb_fail_sys(err, "writing to stdout")
                                                             : 0;
    /* It has told why. */
    if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return gb_fail(err, -ECHILD, GB_BLAME_HOST,
                       "the process that was to do the run was killed");
    return WEXITSTATUS(status) ? WEXITSTATUS(status) : 125;
}
