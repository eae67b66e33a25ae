/* SPDX-License-Identifier: Apache-2.0 */
/* processes.c - the glove's program (C05), other processes (C11), privileges (C21), signals (C22).
 */
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/kcmp.h>
#include <linux/securebits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "probe.h"

/* ---- C05 ------------------------------------------------------------------------------------ */

void row_c05(char **args)
{
    static const int modes[] = { O_RDONLY, O_WRONLY, O_RDWR, O_PATH, O_WRONLY | O_TRUNC };
    char link[PATH_MAX];

    (void)args;
    for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
        REFUSED(named("proc-1-exe-%#x", (unsigned)modes[i]),
                open("/proc/1/exe", modes[i] | O_CLOEXEC), NO_FILE);
        REFUSED(named("proc-1-task-exe-%#x", (unsigned)modes[i]),
                open("/proc/1/task/1/exe", modes[i] | O_CLOEXEC), NO_FILE);
    }
    REFUSED("readlink-1-exe", readlink("/proc/1/exe", link, sizeof(link)), NO_FILE);
    REFUSED("map-files-1", open("/proc/1/map_files", O_RDONLY | O_DIRECTORY), NO_FILE);
    REFUSED("self-exe-write", open("/proc/self/exe", O_WRONLY | O_CLOEXEC), ETXTBSY, EACCES, EROFS);
    /* While a child of the glove runs its first instructions it is still the glove's program.  No
     * process that is not ours may be seen with it: look for any exe that is a memfd. */
    for (int pid = 2; pid < 400; pid++) {
        ssize_t n = readlink(named("/proc/%d/exe", pid), link, sizeof(link) - 1);

        link[n < 0 ? 0 : n] = '\0';
        if (n > 0 && strstr(link, "memfd:glovebox"))
            leak(named("exe-of-%d", pid), link);
    }
    blocked("memfd-search", "done");
}

/* ---- C11 ------------------------------------------------------------------------------------ */

static const char *const private_files[] = {
    "mem",     "environ",     "maps",       "smaps",        "auxv",   "syscall", "stack",
    "io",      "personality", "exe",        "cwd",          "root",   "fd",      "map_files",
    "ns/user", "pagemap",     "stat",       "cmdline",      "status", "wchan",   "limits",
    "cgroup",  "mountinfo",   "task/1/mem", "attr/current", "timers",
};

static void try_process(pid_t pid)
{
    char byte = 0;
    struct iovec here = { &byte, 1 }, there = { (void *)0x400000, 1 };
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

    REFUSED(named("seize-%d", pid), ptrace(PTRACE_SEIZE, pid, 0, 0), EPERM, ESRCH);
    (void)ptrace(PTRACE_INTERRUPT, pid, 0, 0);
    (void)ptrace(PTRACE_DETACH, pid, 0, 0);
    REFUSED(named("attach-%d", pid), ptrace(PTRACE_ATTACH, pid, 0, 0), EPERM, ESRCH);
    REFUSED(named("vm-readv-%d", pid), syscall(SYS_process_vm_readv, pid, &here, 1, &there, 1, 0),
            EPERM, ESRCH);
    REFUSED(named("vm-writev-%d", pid), syscall(SYS_process_vm_writev, pid, &here, 1, &there, 1, 0),
            EPERM, ESRCH);
    REFUSED(named("kcmp-%d", pid), syscall(SYS_kcmp, getpid(), pid, KCMP_FILES, 0, 0), EPERM,
            ESRCH);
    REFUSED(named("getfd-%d", pid), syscall(SYS_pidfd_getfd, pidfd, 0, 0), EPERM, ESRCH);
    REFUSED(named("madvise-%d", pid), syscall(SYS_process_madvise, pidfd, &there, 1, 20, 0), EPERM,
            ESRCH);
    REFUSED(named("prlimit-%d", pid), syscall(SYS_prlimit64, pid, 7, NULL, &(long[2]){ 0 }), EPERM,
            ESRCH);
    for (size_t i = 0; i < ARRAY_SIZE(private_files); i++)
        REFUSED(named("proc-%d-%s", pid, private_files[i]),
                open(named("/proc/%d/%s", pid, private_files[i]), O_RDONLY | O_CLOEXEC), NO_FILE,
                ESRCH);
    if (pidfd >= 0)
        close(pidfd);
}

/* Another run of this box: the same user, the same pid namespace, and yet out of reach.  What the
 * kernel asks nobody but the user about (limits, priorities) is told. */
static void try_sibling(pid_t pid)
{
    char byte = 0;
    struct iovec here = { &byte, 1 }, there = { (void *)0x400000, 1 };
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

    control(named("there-%d", pid), pidfd >= 0, error_name(errno));
    for (int signo = 0; signo <= SIGRTMAX; signo++)
        REFUSED(named("kill-%d-%d", signo, pid), kill(pid, signo), EPERM);
    REFUSED(named("group-kill-%d", pid), kill(-pid, SIGKILL), EPERM, ESRCH);
    REFUSED(named("tgkill-%d", pid), syscall(SYS_tgkill, pid, pid, SIGSTOP), EPERM);
    REFUSED(named("pidfd-kill-%d", pid), syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, 0, 0),
            EPERM);
    REFUSED(named("attach-%d", pid), ptrace(PTRACE_ATTACH, pid, 0, 0), EPERM);
    REFUSED(named("seize-%d", pid), ptrace(PTRACE_SEIZE, pid, 0, 0), EPERM);
    REFUSED(named("vm-readv-%d", pid), syscall(SYS_process_vm_readv, pid, &here, 1, &there, 1, 0),
            EPERM);
    REFUSED(named("vm-writev-%d", pid), syscall(SYS_process_vm_writev, pid, &here, 1, &there, 1, 0),
            EPERM);
    REFUSED(named("getfd-%d", pid), syscall(SYS_pidfd_getfd, pidfd, 0, 0), EPERM);
    for (size_t i = 0; i < ARRAY_SIZE(private_files); i++)
        REFUSED(named("proc-%d-%s", pid, private_files[i]),
                open(named("/proc/%d/%s", pid, private_files[i]), O_RDONLY | O_CLOEXEC), NO_FILE);
    info("limits", syscall(SYS_prlimit64, pid, 7, NULL, &(long[2]){ 0 }) == 0 ? "seen" : "hidden");
    if (pidfd >= 0)
        close(pidfd);
}

static bool is_mine(pid_t pid)
{
    struct stat st;

    return stat(named("/proc/%d", pid), &st) == 0 && st.st_uid == getuid();
}

/* The minder of a run without groups: box root's, above every process of the run. */
static bool is_above(pid_t pid)
{
    for (pid_t at = getppid(); at > 1;) {
        FILE *status = fopen(named("/proc/%d/status", at), "re");
        char line[256];
        int parent = 0;

        if (at == pid) {
            if (status)
                fclose(status);
            return true;
        }
        while (status && fgets(line, sizeof(line), status))
            if (sscanf(line, "PPid: %d", &parent) == 1)
                break;
        if (status)
            fclose(status);
        at = parent;
    }
    return false;
}

void row_c11(char **args)
{
    if (args[0] && !strcmp(args[0], "sibling")) {
        while (*++args)
            try_sibling((pid_t)strtol(*args, NULL, 10));
        return;
    }
    try_process(1);
    for (; *args; args++) {
        pid_t pid = (pid_t)strtol(*args, NULL, 10);

        /* The same small number may be a process of this box. */
        if (kill(pid, 0) < 0 || !is_mine(pid))
            try_process(pid);
    }
    unsigned n_seen = 0;
    for (pid_t pid = 2; pid <= 65536; pid++) {
        if (kill(pid, 0) < 0 && errno == ESRCH)
            continue;
        n_seen++;
        if (is_mine(pid))
            continue;
        if (is_above(pid))
            try_process(pid);
        else
            leak(named("sees-%d", pid), "a process that is not of this run");
    }
    verdict("sees", n_seen > 20, named("%u processes", n_seen));
}

/* ---- C21 ------------------------------------------------------------------------------------ */

static void check_status(void)
{
    static const char *const wanted[] = {
        "CapInh:\t0000000000000000\n",
        "CapPrm:\t0000000000000000\n",
        "CapEff:\t0000000000000000\n",
        "CapBnd:\t0000000000000000\n",
        "CapAmb:\t0000000000000000\n",
        "NoNewPrivs:\t1\n",
        "Seccomp:\t2\n",
    };
    char text[8192];
    long n = slurp("/proc/self/status", text, sizeof(text));

    for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
        verdict(named("status-%.*s", (int)strcspn(wanted[i], ":"), wanted[i]),
                n <= 0 || !strstr(text, wanted[i]), "");
}

static void try_credentials(void)
{
    gid_t group = 0;
    struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
    struct __user_cap_data_struct all[2] = { { ~0U, ~0U, ~0U }, { ~0U, ~0U, ~0U } };

    REFUSED("setuid-0", syscall(SYS_setuid, 0), EPERM);
    REFUSED("setreuid-0", syscall(SYS_setreuid, 0, 0), EPERM);
    REFUSED("setresuid-0", syscall(SYS_setresuid, -1, 0, -1), EPERM);
    REFUSED("setuid-65534", syscall(SYS_setuid, 65534), EPERM);
    REFUSED("setgid-0", syscall(SYS_setgid, 0), EPERM);
    REFUSED("setgroups-0", syscall(SYS_setgroups, 1, &group), EPERM);
    (void)syscall(SYS_setfsuid, 0);
    verdict("setfsuid-0", syscall(SYS_setfsuid, -1) == 0, "");
    REFUSED("capset", syscall(SYS_capset, &head, all), EPERM);
    REFUSED("ambient", prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0), EPERM,
            EINVAL);
    REFUSED("securebits", prctl(PR_SET_SECUREBITS, SECBIT_KEEP_CAPS, 0, 0, 0), EPERM);
    REFUSED("clear-nnp", prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0), EINVAL);
    for (int cap = 0; cap < 64; cap++)
        if (prctl(PR_CAPBSET_READ, cap, 0, 0, 0) > 0)
            leak(named("bounding-%d", cap), "");
}

static void copy_self(const char *path)
{
    static char buf[65536];
    int in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    int out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
    ssize_t n;

    while (in >= 0 && out >= 0 && (n = read(in, buf, sizeof(buf))) > 0)
        (void)!write(out, buf, (size_t)n);
    close(in);
    close(out);
}

static long exec_whoami(const void *path)
{
    return execl(path, path, "whoami", NULL);
}

/* Exit code 0 of whoami: nothing gained.  One that may not even be started gains nothing too. */
static void try_program(const char *variant, const char *path)
{
    struct outcome outcome = in_child(exec_whoami, path, 10);
    bool is_gain = outcome.exit_code > 0;

    verdict(variant, is_gain || outcome.signo, outcome_text(&outcome));
}

void row_c21(char **args)
{
    /* VFS_CAP_REVISION_2, effective, cap_setuid: what setcap(8) would write. */
    static const unsigned char file_caps[20] = { 1, 0, 0, 2, 0x80 };

    check_status();
    try_credentials();
    copy_self("/tmp/copy");
    (void)chmod("/tmp/copy", 06755);
    try_program("own-setuid", "/tmp/copy");
    REFUSED("file-caps",
            setxattr("/tmp/copy", "security.capability", file_caps, sizeof(file_caps), 0), EPERM,
            ENOTSUP);
    (void)unlink("/tmp/copy");
    for (unsigned i = 0; args[i]; i++)
        try_program(named("given-%u", i), args[i]);
    char mounts[65536];
    (void)slurp("/proc/self/mountinfo", mounts, sizeof(mounts));
    char *rest = mounts;
    for (char *line; (line = strsep(&rest, "\n")) && *line;) {
        char *fields = line, *point = NULL, *flags = NULL;

        for (int i = 0; i < 6; i++) {
            char *word = strsep(&fields, " ");

            point = i == 4 ? word : point;
            flags = i == 5 ? word : flags;
        }
        verdict(named("nosuid:%s", point), !flags || !strstr(flags, "nosuid"), flags ? flags : "");
    }
}

/* Exit code 0: an ordinary user without any privilege; else what was gained. */
void act_whoami(char **args)
{
    struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
    struct __user_cap_data_struct data[2] = { 0 };

    (void)args;
    (void)syscall(SYS_capget, &head, data);
    if (geteuid() != getuid() || getegid() != getgid() || geteuid() == 0)
        _exit(1);
    if (data[0].effective || data[1].effective || data[0].permitted || data[1].permitted)
        _exit(2);
    if (getauxval(AT_SECURE))
        _exit(3);
    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
        _exit(4);
    _exit(0);
}

/* Everything /proc says about the rights of this process, for comparison of one run with another.
 */
void act_status(char **args)
{
    static const char *const names[] = { "status",        "limits",  "mountinfo", "cgroup",
                                         "oom_score_adj", "uid_map", "gid_map",   "setgroups" };
    static const char *const links[] = { "cgroup", "ipc", "mnt", "net", "pid", "user", "uts" };
    char text[65536];

    (void)args;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (slurp(named("/proc/self/%s", names[i]), text, sizeof(text)) >= 0)
            printf("== %s\n%s", names[i], text);
    }
    for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
        ssize_t n = readlink(named("/proc/self/ns/%s", links[i]), text, sizeof(text) - 1);

        printf("== ns %s %.*s\n", links[i], (int)(n < 0 ? 0 : n), text);
    }
    for (int fd = 3; fd < 4096; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            printf("== fd %d\n", fd);
    printf("== parent %d\n", getppid());
}

/* ---- C22 ------------------------------------------------------------------------------------ */

static void signal_glove(int signo)
{
    siginfo_t si = { .si_signo = signo, .si_code = SI_QUEUE };
    int pidfd = (int)syscall(SYS_pidfd_open, 1, 0);

    si.si_pid = getpid();
    si.si_uid = getuid();
    REFUSED(named("kill-%d", signo), kill(1, signo), EPERM, ESRCH);
    REFUSED(named("tkill-%d", signo), syscall(SYS_tkill, 1, signo), EPERM, ESRCH);
    REFUSED(named("tgkill-%d", signo), syscall(SYS_tgkill, 1, 1, signo), EPERM, ESRCH);
    REFUSED(named("sigqueue-%d", signo), syscall(SYS_rt_sigqueueinfo, 1, signo, &si), EPERM, ESRCH);
    REFUSED(named("tgsigqueue-%d", signo), syscall(SYS_rt_tgsigqueueinfo, 1, 1, signo, &si), EPERM,
            ESRCH);
    REFUSED(named("pidfd-%d", signo), syscall(SYS_pidfd_send_signal, pidfd, signo, NULL, 0), EPERM,
            ESRCH, EBADF);
    if (pidfd >= 0)
        close(pidfd);
}

static long crash(const void *arg)
{
    raise(SIGSEGV);
    return arg != NULL;
}

void row_c22(char **args)
{
    (void)args;
    for (int signo = 1; signo <= 64; signo++)
        signal_glove(signo);
    /* The glove's process group. */
    REFUSED("setpgid-1", setpgid(0, 1), EPERM, ESRCH);
    REFUSED("setpgid-of-1", setpgid(1, 0), EPERM, ESRCH);
    for (int i = 0; i < 100; i++)
        (void)in_child(crash, NULL, 5);
    blocked("segv-storm", "100 crashes");
    (void)kill(-1, SIGKILL);
    blocked("kill-all", "still here");
}
