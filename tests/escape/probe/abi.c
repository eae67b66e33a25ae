/* SPDX-License-Identifier: Apache-2.0 */
/* abi.c - other doors to the same kernel (C13): i386 and x32 calls, changed numbers, foreign
 * programs.  Each is asked for something harmless that shows that it was executed. */
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe.h"

#define X32_BIT 0x40000000L
#define SEEN    77 /* exit code of a foreign program that ran */

static const int enosys[] = { ENOSYS, 0 };

/* ---- int 0x80 from 64-bit code -------------------------------------------------------------- */

struct call {
    const char *name;
    long nr, a, b, c;
};

static long call_int80(const void *arg)
{
    const struct call *call = arg;
    long rc;

    __asm__ volatile("int $0x80"
                     : "=a"(rc)
                     : "a"(call->nr), "b"(call->a), "c"(call->b), "d"(call->c)
                     : "memory", "r8", "r9", "r10", "r11");
    rc = (int)rc;
    if (rc < 0 && rc > -4096) {
        errno = (int)-rc;
        return -1;
    }
    return rc;
}

static long call_syscall(const void *arg)
{
    const struct call *call = arg;
    long rc;

    __asm__ volatile("syscall"
                     : "=a"(rc)
                     : "a"(call->nr), "D"(call->a), "S"(call->b), "d"(call->c)
                     : "rcx", "r11", "memory");
    if (rc < 0 && rc > -4096) {
        errno = (int)-rc;
        return -1;
    }
    return rc;
}

static void try_calls(const char *how, const struct call *calls, size_t n,
                      long (*way)(const void *), const int *allowed)
{
    for (size_t i = 0; i < n; i++) {
        struct outcome outcome = in_child(way, &calls[i], 5);

        refused_in_child(named("%s-%s", how, calls[i].name), &outcome, allowed);
    }
}

static void try_i386_calls(void)
{
    static const struct call calls[] = {
        { "getpid", 20, 0, 0, 0 },
        { "socketcall", 102, 1, 0, 0 },
        { "unshare", 310, CLONE_NEWUTS, 0, 0 },
        { "mount", 21, 0, 0, 0 },
        { "keyctl", 288, 0, -3, 0 },
        { "add_key", 286, 0, 0, 0 },
        { "ptrace", 26, 0, 0, 0 },
        { "clone", 120, CLONE_NEWUSER, 0, 0 },
        { "execve", 11, 0, 0, 0 },
        { "vm86", 166, 0, 0, 0 },
        { "modify_ldt", 123, 0, 0, 0 },
        { "io_uring_setup", 425, 1, 0, 0 },
        { "socket", 359, 40, 1, 0 },
        { "ipc", 117, 23, 0, 0 },
        { "syslog", 103, 3, 0, 0 },
        { "iopl", 110, 0, 0, 0 },
        { "beyond", 600, 0, 0, 0 },
        { "none", -1, 0, 0, 0 },
    };

    try_calls("int80", calls, ARRAY_SIZE(calls), call_int80, enosys);
}

/* ---- 32-bit code segment -------------------------------------------------------------------- */

enum entry {
    ENTRY_INT80,
    ENTRY_SYSENTER,
    ENTRY_SYSCALL,
};

/* Switches to the 32-bit code segment and asks i386's exit() for SEEN; comes back from nowhere. */
static long call_compat(const void *arg)
{
    static const unsigned char entries[][2] = { { 0xcd, 0x80 }, { 0x0f, 0x34 }, { 0x0f, 0x05 } };
    unsigned char *code = mmap(NULL, 65536, PROT_READ | PROT_WRITE | PROT_EXEC,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    static const unsigned char body[] = { 0xb8, 1, 0, 0, 0, 0xbb, SEEN, 0, 0, 0 };

    if (code == MAP_FAILED)
        return -1;
    memcpy(code, body, sizeof(body));
    memcpy(code + sizeof(body), entries[*(const enum entry *)arg], 2);
    /* mov ebp, esp first would matter to sysenter only if it were to return. */
    memcpy(code + sizeof(body) + 2, (unsigned char[]){ 0xf4 }, 1);
    unsigned char *stack = code + 32768;
    __asm__ volatile("mov %1, %%rsp\n\t"
                     "mov %1, %%rbp\n\t"
                     "pushq $0x23\n\t"
                     "pushq %0\n\t"
                     "lretq"
                     :
                     : "r"(code), "r"(stack)
                     : "memory");
    return 0;
}

static void try_compat_segment(void)
{
    static const char *const names[] = { "int80", "sysenter", "syscall" };

    for (int entry = ENTRY_INT80; entry <= ENTRY_SYSCALL; entry++) {
        struct outcome outcome = in_child(call_compat, &entry, 5);

        verdict(named("cs23-%s", names[entry]),
                outcome.exit_code >= 0 || outcome.is_hung || !outcome.signo,
                outcome_text(&outcome));
    }
}

/* ---- x32, and numbers that are not what they seem ------------------------------------------- */

static void try_x32_calls(void)
{
    static const struct call calls[] = {
        { "getpid", X32_BIT | 39, 0, 0, 0 },    { "socket", X32_BIT | 41, 40, 1, 0 },
        { "mount", X32_BIT | 165, 0, 0, 0 },    { "unshare", X32_BIT | 272, CLONE_NEWUTS, 0, 0 },
        { "keyctl", X32_BIT | 250, 0, -3, 0 },  { "execve", X32_BIT | 520, 0, 0, 0 },
        { "ptrace", X32_BIT | 521, 0, 0, 0 },   { "ioctl", X32_BIT | 514, 0, 0x5412, 0 },
        { "io_uring", X32_BIT | 425, 1, 0, 0 }, { "last", X32_BIT | 547, 0, 0, 0 },
    };

    try_calls("x32", calls, ARRAY_SIZE(calls), call_syscall, enosys);
}

/* The kernel looks at the low 32 bits of the number. */
static void try_odd_numbers(void)
{
    static const struct call calls[] = {
        { "high-unshare", (1L << 32) | SYS_unshare, CLONE_NEWUTS, 0, 0 },
        { "high-mount", (1L << 63) | SYS_mount, 0, 0, 0 },
        { "high-setns", (0xffffL << 48) | SYS_setns, -1, 0, 0 },
    };
    static const struct call absent[] = {
        { "minus-1", -1, 0, 0, 0 },      { "max", 0x3fffffff, 0, 0, 0 },
        { "min", 0x80000000L, 0, 0, 0 }, { "both", 0xc0000000L | 39, 0, 0, 0 },
        { "beyond", 599, 0, 0, 0 },      { "old-x32-gap", 512, 0, 0, 0 },
    };
    static const int denied[] = { EPERM, ENOSYS, 0 };

    try_calls("nr", calls, ARRAY_SIZE(calls), call_syscall, denied);
    try_calls("nr", absent, ARRAY_SIZE(absent), call_syscall, enosys);
}

static long call_after_personality(const void *arg)
{
    if (personality((unsigned long)*(const long *)arg) < 0)
        return -1;
    return syscall(SYS_unshare, CLONE_NEWUTS);
}

static void try_personalities(void)
{
    static const long kinds[] = { PER_LINUX32, PER_LINUX32 | ADDR_NO_RANDOMIZE, PER_SVR4,
                                  READ_IMPLIES_EXEC };

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        struct outcome outcome = in_child(call_after_personality, &kinds[i], 5);

        refused_in_child(named("personality-%#lx", (unsigned long)kinds[i]), &outcome,
                         (const int[]){ EPERM, 0 });
    }
}

/* ---- a tracer that changes the call after it was made --------------------------------------- */

static _Noreturn void be_traced(void)
{
    (void)ptrace(PTRACE_TRACEME, 0, 0, 0);
    raise(SIGSTOP);
    (void)syscall(SYS_getppid);
    _exit(0);
}

static bool next_stop(pid_t pid, int request, int *status)
{
    return ptrace(request, pid, 0, 0) == 0 && waitpid(pid, status, 0) == pid && WIFSTOPPED(*status);
}

/* rax after a getppid that the tracer turned into `nr` with this first argument; LONG_MIN when the
 * filter killed it for that.  Then the call's end is still shown to the tracer, with the number
 * that was not executed in rax, and the signal comes after it. */
static long turn_call(pid_t pid, long nr, unsigned long first)
{
    struct user_regs_struct regs;
    int status;

    do {
        if (!next_stop(pid, PTRACE_SYSCALL, &status) || ptrace(PTRACE_GETREGS, pid, 0, &regs) < 0)
            return LONG_MIN;
    } while (regs.orig_rax != SYS_getppid);
    regs.orig_rax = (unsigned long)nr;
    regs.rdi = first;
    (void)ptrace(PTRACE_SETREGS, pid, 0, &regs);
    if (!next_stop(pid, PTRACE_SYSCALL, &status))
        return LONG_MIN;
    (void)ptrace(PTRACE_GETREGS, pid, 0, &regs);
    if (next_stop(pid, PTRACE_CONT, &status) && WSTOPSIG(status) == SIGSYS)
        return LONG_MIN;
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS ? LONG_MIN : (long)regs.rax;
}

static long changed_call(long nr, unsigned long first)
{
    int status;
    pid_t pid = fork();

    if (pid == 0)
        be_traced();
    long rax = pid > 0 && waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)
                   ? turn_call(pid, nr, first)
                   : LONG_MIN;
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, &status, 0);
    return rax;
}

static void try_tracer(void)
{
    static const struct {
        const char *name;
        long nr;
        unsigned long first;
    } turns[] = {
        { "unshare", SYS_unshare, CLONE_NEWUTS },
        { "socket-vsock", SYS_socket, 40 },
        { "keyctl", SYS_keyctl, 0 },
        { "x32-getpid", X32_BIT | 39, 0 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(turns); i++) {
        long rax = changed_call(turns[i].nr, turns[i].first);
        bool is_denied = rax == -EPERM || rax == -ENOSYS || rax == -EAFNOSUPPORT || rax == LONG_MIN;

        verdict(named("traced-%s", turns[i].name), !is_denied,
                rax == LONG_MIN ? "killed" : named("%ld", rax));
    }
}

/* A filter of one's own that says "allow" cannot overrule the first one. */
static long call_behind_own_filter(const void *arg)
{
    struct sock_filter allow[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
    struct sock_fprog program = { 1, allow };

    (void)arg;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0)
        return -1;
    return syscall(SYS_unshare, CLONE_NEWUTS);
}

/* Neither can one that hands the call to a supervisor, who might let it continue. */
static long call_behind_notifier(const void *arg)
{
    struct sock_filter notify[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { ARRAY_SIZE(notify), notify };

    (void)arg;
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program) <
        0)
        return -1;
    return syscall(SYS_unshare, CLONE_NEWUTS);
}

/* ---- foreign programs ----------------------------------------------------------------------- */

/* A program of 92 bytes: exit(SEEN) by int 0x80. */
static size_t elf32(unsigned char *out, unsigned char machine)
{
    static const unsigned char head[84] = {
        0x7f, 'E', 'L', 'F', 1,  1, 1,  0,    0,    0,    0,    0,    0,    0,    0,    0,    2,
        0,    3,   0,   1,   0,  0, 0,  0x54, 0x80, 0x04, 0x08, 52,   0,    0,    0,    0,    0,
        0,    0,   0,   0,   0,  0, 52, 0,    32,   0,    1,    0,    0,    0,    0,    0,    0,
        0,    1,   0,   0,   0,  0, 0,  0,    0,    0,    0x80, 0x04, 0x08, 0,    0x80, 0x04, 0x08,
        96,   0,   0,   0,   96, 0, 0,  0,    5,    0,    0,    0,    0,    0x10, 0,    0,
    };
    static const unsigned char code[12] = { 0xb8, 1, 0, 0, 0, 0xbb, SEEN, 0, 0, 0, 0xcd, 0x80 };

    memcpy(out, head, sizeof(head));
    memcpy(out + sizeof(head), code, sizeof(code));
    out[18] = machine;
    return sizeof(head) + sizeof(code);
}

static long exec_file(const void *path)
{
    return execl(path, path, NULL);
}

static void try_foreign_programs(void)
{
    static const struct {
        const char *name;
        unsigned char machine;
    } kinds[] = { { "i386", 3 }, { "x32", 62 }, { "arm", 40 } };
    unsigned char bytes[128];
    char path[64];

    /* Without a box /tmp is everybody's, and two probes may be at work. */
    snprintf(path, sizeof(path), "/tmp/foreign-%d", (int)getpid());
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        size_t size = elf32(bytes, kinds[i].machine);
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

        (void)!write(fd, bytes, size);
        close(fd);
        struct outcome outcome = in_child(exec_file, path, 5);

        verdict(named("program-%s", kinds[i].name), outcome.exit_code == SEEN,
                outcome_text(&outcome));
        (void)unlink(path);
    }
}

void row_c13(char **args)
{
    (void)args;
    try_i386_calls();
    try_compat_segment();
    try_x32_calls();
    try_odd_numbers();
    try_personalities();
    try_tracer();
    struct outcome outcome = in_child(call_behind_own_filter, NULL, 5);
    refused_in_child("own-filter", &outcome, (const int[]){ EPERM, 0 });
    outcome = in_child(call_behind_notifier, NULL, 5);
    refused_in_child("own-notifier", &outcome, (const int[]){ EPERM, ENOSYS, 0 });
    try_foreign_programs();
}
