/* SPDX-License-Identifier: Apache-2.0 */
/* unit/killed.h - work that is killed at each of its system calls in turn.
 *
 * A process can die between any two system calls, and nothing else that it does is seen from
 * outside.  So "killed at any moment" is a finite list, and a test walks it from end to end.
 */
#pragma once

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the child: what must hold there.  cmocka's own asserts would jump into the parent's tests. */
#define CHILD_MUST(truth) \
    do {                  \
        if (!(truth))     \
            _exit(99);    \
    } while (0)

static inline pid_t killed_begin(void (*work)(void *), void *user)
{
    pid_t pid = fork();

    if (pid == 0) {
        CHILD_MUST(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
        CHILD_MUST(raise(SIGSTOP) == 0);
        work(user);
        _exit(0);
    }
    return pid;
}

/* Does the work in a process of its own and kills that as it enters its n-th system call, which is
 * not done any more.  1: it was killed; 0: it has fewer and came to its end; -1: anything else. */
static inline int killed_at(unsigned n, void (*work)(void *), void *user)
{
    pid_t pid = killed_begin(work, user);
    int status = 0;

    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
        return -1;
    if (ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD) < 0)
        return -1;
    for (unsigned stops = 0; stops < 2 * n - 1; stops++) /* at its entry and at its end */
        if (ptrace(PTRACE_SYSCALL, pid, NULL, NULL) < 0 || waitpid(pid, &status, 0) != pid ||
            !WIFSTOPPED(status))
            return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
    if (kill(pid, SIGKILL) < 0 || waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status))
        return -1;
    return 1;
}

/* The same without a watcher: 0 when the work came to its end. */
static inline pid_t work_begin(void (*work)(void *), void *user)
{
    pid_t pid = fork();

    if (pid == 0) {
        CHILD_MUST(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
        work(user);
        _exit(0);
    }
    return pid;
}

/* Its exit status; -1 when it was killed. */
static inline int work_status(pid_t pid)
{
    int status;

    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

static inline bool work_is_done(pid_t pid)
{
    return work_status(pid) == 0;
}

/* Puts a small file system onto a directory, for this process only.  Not everybody may: the work
 * ends with WORK_CANNOT then. */
#define WORK_CANNOT 77
static inline void work_on_small_disk(const char *path, const char *options)
{
    if (unshare(CLONE_NEWNS) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
        _exit(WORK_CANNOT);
    if (mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("none", path, "tmpfs", 0, options) < 0)
        _exit(WORK_CANNOT);
}
