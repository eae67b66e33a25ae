/* SPDX-License-Identifier: Apache-2.0 */
/* glove/child.c - a child of the glove from its fork to its exec.
 *
 * The order of the steps is what the security of a run rests on:
 *  - groups first, so that nothing the child does is counted elsewhere;
 *  - limits before the ids change, the capabilities right after;
 *  - the working directory as the run user, inside the root, before Landlock;
 *  - all descriptors but 0-2 and the report closed before the filter, which comes last.
 */
#include "glove/child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/sys.h"
#include "glove/drop.h"
#include "glove/glove.h"
#include "glove/landlock.h"

#define PATH_DEFAULT "/usr/local/bin:/usr/bin:/bin"

pid_t child_fork(int group_fd, uint64_t clone_flags)
{
    struct sys_clone_args args = {
        .flags = clone_flags | (group_fd >= 0 ? SYS_CLONE_INTO_CGROUP : 0),
        .exit_signal = SIGCHLD,
        .cgroup = group_fd >= 0 ? (uint64_t)group_fd : 0,
    };
    pid_t pid;

    /* Where clone3 is refused a plain fork need not be. */
    pid = args.flags == 0 ? fork() : sys_clone3(&args);
    return pid < 0 ? -errno : pid;
}

void child_report(int report_fd, enum glove_step step, int error, uint64_t value)
{
    struct report report = { .step = step, .error = (uint32_t)error, .value = value };

    (void)fd_write_full(report_fd, &report, sizeof(report));
    _exit(1);
}

/* At exec the kernel sends a traced process a SIGTRAP in its own name: the one signal that it would
 * not get without a tracer.  A breakpoint, or raise(), looks different and is the program's own. */
static bool is_trap_of_exec(pid_t pid, int signo)
{
    siginfo_t info;

    return signo == SIGTRAP && ptrace(PTRACE_GETSIGINFO, pid, NULL, &info) == 0 &&
           info.si_code == SI_USER && info.si_pid == pid;
}

/* Detaching fails only when the process was killed meanwhile; its end is told next. */
bool child_has_ended(pid_t pid, int status)
{
    int signo;

    /* Unsigned, because musl's macro multiplies what it is given past the end of an int. */
    if (!WIFSTOPPED((unsigned)status))
        return true;
    signo = is_trap_of_exec(pid, WSTOPSIG(status)) ? 0 : WSTOPSIG(status);
    (void)ptrace(PTRACE_DETACH, pid, NULL, (void *)(intptr_t)signo);
    return false;
}

/* ---- becoming the run user ------------------------------------------------------------------ */

/* Raw calls: the C library's would look for other threads to change with this one. */
static int become_ids(const struct setup *setup)
{
    if (syscall(SYS_setgroups, 0, NULL) < 0 ||
        syscall(SYS_setresgid, setup->gid, setup->gid, setup->gid) < 0 ||
        syscall(SYS_setresuid, setup->uid, setup->uid, setup->uid) < 0)
        return -errno;
    /* The kernel sets this to fs.suid_dumpable when ids change, which may be 1. */
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? -errno : 0;
}

int child_become_user(const struct glove *glove, enum glove_step *ret_step)
{
    int r;

    *ret_step = GLOVE_STEP_RLIMIT;
    r = limits_apply(&glove->limits);
    if (r < 0)
        return r;
    *ret_step = GLOVE_STEP_IDS;
    r = become_ids(&glove->setup);
    if (r < 0)
        return r;
    *ret_step = GLOVE_STEP_CAPS;
    return drop_all();
}

/* ---- becoming a program --------------------------------------------------------------------- */

static int join_groups(const struct child_plan *plan)
{
    for (size_t i = 0; i < plan->n_group_fds; i++)
        if (write(plan->group_fds[i], "0", 1) != 1)
            return -errno;
    return 0;
}

static int start_session(const struct child_plan *plan)
{
    sigset_t none;

    (void)setsid();
    if (plan->has_tty && ioctl(plan->stdio[0], TIOCSCTTY, 0) < 0)
        return -errno;
    (void)sigemptyset(&none);
    return sigprocmask(SIG_SETMASK, &none, NULL) < 0 ? -errno : 0;
}

/* The run is what the kernel should kill when memory is short, not the glove.  The file belongs to
 * nobody while the process is not dumpable; still being box root with more capabilities than any
 * run, it may be so for a moment.  Without /proc it stays as it is. */
static int offer_to_oom_killer(const struct child_plan *plan)
{
    (void)plan;
    if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
        return -errno;
    (void)fd_write_text(AT_FDCWD, "/proc/self/oom_score_adj", "1000");
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? -errno : 0;
}

static int connect_stdio(const struct child_plan *plan)
{
    for (int fd = 0; fd < 3; fd++)
        if (dup2(plan->stdio[fd], fd) < 0)
            return -errno;
    return 0;
}

/* getcwd says "(unreachable)" for a directory that is not below the root. */
static int enter_cwd(const struct child_plan *plan)
{
    char cwd[PATH_MAX];

    umask(022);
    if (plan->cwd[0] != '/')
        return -EINVAL;
    if (chdir(plan->cwd) < 0)
        return -errno;
    if (syscall(SYS_getcwd, cwd, sizeof(cwd)) < 0)
        return -errno;
    return cwd[0] == '/' ? 0 : -EXDEV;
}

static int put_on_landlock(const struct child_plan *plan)
{
    int rules = plan->glove->setup.landlock_fd;

    return rules < 0 ? 0 : landlock_restrict(rules);
}

static int close_fds(const struct child_plan *plan)
{
    return fd_close_from(3, &plan->report_fd, 1);
}

static int put_on_filter(const struct child_plan *plan)
{
    return plan->glove->setup.flags & SETUP_FLAG_SECCOMP ? filter_run() : 0;
}

static int become_user(const struct child_plan *plan)
{
    enum glove_step step;
    int r = child_become_user(plan->glove, &step);

    if (r < 0)
        child_report(plan->report_fd, step, -r, 0);
    return 0;
}

/* ---- finding the program -------------------------------------------------------------------- */

static const char *search_path(const char *const *env)
{
    for (; *env; env++)
        if (strncmp(*env, "PATH=", 5) == 0)
            return *env + 5;
    return PATH_DEFAULT;
}

/* execve has no const; it does not write. */
static int exec_at(const char *path, const struct child_plan *plan)
{
    char *const *argv;
    char *const *env;

    memcpy(&argv, &plan->argv, sizeof(argv));
    memcpy(&env, &plan->env, sizeof(env));
    (void)execve(path, argv, env);
    return -errno;
}

/* As a shell looks for a command: the first that can be executed; that one was found and may not
 * be is worth more than that none was found. */
static int exec_on_path(const struct child_plan *plan)
{
    const char *dir = search_path(plan->env);
    const char *name = plan->argv[0];
    size_t name_len = strlen(name);
    int result = -ENOENT;

    if (name_len == 0 || name_len > NAME_MAX)
        return name_len == 0 ? -ENOENT : -ENAMETOOLONG;
    for (;; dir++) {
        size_t len = strcspn(dir, ":");
        char path[PATH_MAX];
        int r;

        if (len + name_len + 2 <= sizeof(path)) {
            memcpy(path, dir, len);
            path[len] = '/';
            memcpy(path + len + (len > 0), name, name_len + 1);
            r = exec_at(path, plan);
            if (r == -EACCES)
                result = r;
            else if (r != -ENOENT && r != -ENOTDIR)
                return r;
        }
        dir += len;
        if (!*dir)
            return result;
    }
}

static int exec_program(const struct child_plan *plan)
{
    return strchr(plan->argv[0], '/') ? exec_at(plan->argv[0], plan) : exec_on_path(plan);
}

struct step {
    int (*act)(const struct child_plan *plan);
    enum glove_step step;
};

static const struct step first_steps[] = {
    { join_groups, GLOVE_STEP_GROUP },
    { start_session, GLOVE_STEP_FORK },
};

static const struct step last_steps[] = {
    { offer_to_oom_killer, GLOVE_STEP_CAPS }, { connect_stdio, GLOVE_STEP_PIPE },
    { become_user, GLOVE_STEP_IDS },          { enter_cwd, GLOVE_STEP_CWD },
    { put_on_landlock, GLOVE_STEP_LANDLOCK }, { close_fds, GLOVE_STEP_PIPE },
    { put_on_filter, GLOVE_STEP_SECCOMP },    { exec_program, GLOVE_STEP_EXEC },
};

static void take_steps(const struct child_plan *plan, const struct step *steps, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int r = steps[i].act(plan);

        if (r < 0)
            child_report(plan->report_fd, steps[i].step, -r, 0);
    }
}

void child_begin(const struct child_plan *plan)
{
    take_steps(plan, first_steps, N_ELEMENTS(first_steps));
}

void child_exec(const struct child_plan *plan)
{
    take_steps(plan, last_steps, N_ELEMENTS(last_steps));
    _exit(1); /* exec_program() fails or does not return */
}
