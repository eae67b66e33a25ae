/* SPDX-License-Identifier: Apache-2.0 */
/* test_filters.c - the compiled system call filters against a second statement of the policy.
 *
 * The expectations below are written by number, from the policy and not from tools/filters.def, so
 * that a wrong name, a wrong number, a lost rule and a wrong jump all show.  The programs are run
 * by a small interpreter of our own; a few calls are then made for real, in children that have
 * loaded a filter.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gen/filters.h"

#include <cmocka.h>

#define ALLOW      SECCOMP_RET_ALLOW
#define KILL       SECCOMP_RET_KILL_PROCESS
#define FAIL(e)    (SECCOMP_RET_ERRNO | (e))
#define PERM       FAIL(EPERM)
#define NOSYS      FAIL(ENOSYS)
#define RULED      1u /* no answer of a filter: depends on the arguments */
#define N_OF(a)    (sizeof(a) / sizeof((a)[0]))
#define STRAY_BITS 0xdeadbeef00000000ull

#if defined(__x86_64__)
#    define NATIVE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#    define NATIVE AUDIT_ARCH_AARCH64
#endif

struct filter {
    const char *name;
    const struct gb_bpf *code;
    unsigned len;
};
static const struct filter run = { "run", gb_filter_run, gb_filter_run_len };
static const struct filter glove = { "glove", gb_filter_glove, gb_filter_glove_len };
static const struct filter *const filters[] = { &run, &glove };

/* ---- the interpreter ---- */

static bool compares(unsigned code, uint32_t a, uint32_t k)
{
    switch (code) {
    case BPF_JMP | BPF_JEQ | BPF_K:
        return a == k;
    case BPF_JMP | BPF_JGT | BPF_K:
        return a > k;
    case BPF_JMP | BPF_JGE | BPF_K:
        return a >= k;
    case BPF_JMP | BPF_JSET | BPF_K:
        return (a & k) != 0;
    default:
        fail_msg("instruction 0x%02x", code);
        return false;
    }
}

static uint32_t load(const struct seccomp_data *data, uint32_t offset)
{
    uint32_t word = 0;

    assert_true(offset % 4 == 0 && offset <= sizeof(*data) - 4);
    memcpy(&word, (const char *)data + offset, sizeof(word));
    return word;
}

/* The filter's answer.  Every instruction is bounded and all jumps go forward, so it ends. */
static uint32_t judge(const struct filter *f, const struct seccomp_data *data)
{
    uint32_t a = 0;

    for (unsigned pc = 0; pc < f->len; pc++) {
        const struct gb_bpf insn = f->code[pc];

        if (insn.code == (BPF_RET | BPF_K))
            return insn.k;
        if (insn.code == (BPF_LD | BPF_W | BPF_ABS))
            a = load(data, insn.k);
        else if (insn.code == (BPF_ALU | BPF_AND | BPF_K))
            a &= insn.k;
        else if (insn.code == (BPF_JMP | BPF_JA))
            pc += insn.k;
        else
            pc += compares(insn.code, a, insn.k) ? insn.jt : insn.jf;
    }
    fail_msg("%s: ran over the end", f->name);
    return 0;
}

static uint32_t ask(const struct filter *f, long nr, uint64_t a0, uint64_t a1, uint64_t a2,
                    uint64_t a3)
{
    const struct seccomp_data data = { .nr = (int)nr, .arch = NATIVE, .args = { a0, a1, a2, a3 } };

    return judge(f, &data);
}

static void expect(const struct filter *f, uint32_t want, long nr, uint64_t a0, uint64_t a1,
                   uint64_t a2, uint64_t a3)
{
    uint32_t got = ask(f, nr, a0, a1, a2, a3);

    if (got != want)
        fail_msg("%s: call %ld (0x%llx, 0x%llx, 0x%llx, 0x%llx): 0x%08x, wanted 0x%08x", f->name,
                 nr, (unsigned long long)a0, (unsigned long long)a1, (unsigned long long)a2,
                 (unsigned long long)a3, got, want);
}

static void expect_both(uint32_t want, long nr, uint64_t a0, uint64_t a1, uint64_t a2)
{
    expect(&run, want, nr, a0, a1, a2, 0);
    expect(&glove, want, nr, a0, a1, a2, 0);
}

static bool is_one_of(uint64_t v, const uint32_t *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] == v)
            return true;
    return false;
}

/* ---- by number ---- */

struct span {
    int first, last;
    uint32_t want;
};

#ifdef __x86_64__
/* The numbers of x86-64; what is in no span is ENOSYS. */
static const struct span run_policy[] = {
    { 0, 15, ALLOW },    /* read .. rt_sigreturn */
    { 16, 16, RULED },   /* ioctl */
    { 17, 40, ALLOW },   /* pread64 .. sendfile */
    { 41, 41, RULED },   /* socket */
    { 42, 52, ALLOW },   /* connect .. getpeername */
    { 53, 53, RULED },   /* socketpair */
    { 54, 55, ALLOW },   /* setsockopt, getsockopt */
    { 56, 56, RULED },   /* clone */
    { 57, 102, ALLOW },  /* fork .. getuid */
    { 103, 103, PERM },  /* syslog */
    { 104, 132, ALLOW }, /* getgid .. utime */
    { 133, 133, RULED }, /* mknod */
    { 134, 134, PERM },  /* uselib */
    { 135, 135, RULED }, /* personality */
    { 136, 136, PERM },  /* ustat */
    { 137, 138, ALLOW }, /* statfs, fstatfs */
    { 139, 139, PERM },  /* sysfs */
    { 140, 143, ALLOW }, /* getpriority .. sched_getparam */
    { 144, 144, RULED }, /* sched_setscheduler */
    { 145, 152, ALLOW }, /* sched_getscheduler .. munlockall */
    { 153, 153, PERM },  /* vhangup */
    { 155, 156, PERM },  /* pivot_root, _sysctl */
    { 157, 157, RULED }, /* prctl */
    { 158, 160, ALLOW }, /* arch_prctl, adjtimex, setrlimit */
    { 161, 161, PERM },  /* chroot */
    { 162, 162, ALLOW }, /* sync */
    { 163, 168, PERM },  /* acct, settimeofday, mount, umount2, swapon, swapoff */
    { 169, 169, KILL },  /* reboot */
    { 170, 171, PERM },  /* sethostname, setdomainname */
    { 172, 172, KILL },  /* iopl */
    { 173, 173, PERM },  /* ioperm */
    { 174, 176, KILL },  /* create_module, init_module, delete_module */
    { 179, 180, PERM },  /* quotactl, nfsservctl */
    { 186, 204, ALLOW }, /* gettid .. sched_getaffinity */
    { 206, 210, PERM },  /* io_setup .. io_cancel */
    { 213, 213, ALLOW }, /* epoll_create */
    { 216, 226, ALLOW }, /* remap_file_pages .. timer_delete */
    { 227, 227, PERM },  /* clock_settime */
    { 228, 235, ALLOW }, /* clock_gettime .. utimes */
    { 240, 245, ALLOW }, /* mq_* */
    { 246, 246, KILL },  /* kexec_load */
    { 247, 247, ALLOW }, /* waitid */
    { 251, 251, RULED }, /* ioprio_set */
    { 252, 255, ALLOW }, /* ioprio_get, inotify_* */
    { 257, 258, ALLOW }, /* openat, mkdirat */
    { 259, 259, RULED }, /* mknodat */
    { 260, 271, ALLOW }, /* fchownat .. ppoll */
    { 272, 272, PERM },  /* unshare */
    { 273, 277, ALLOW }, /* set_robust_list .. sync_file_range */
    { 280, 297, ALLOW }, /* utimensat .. rt_tgsigqueueinfo */
    { 298, 298, PERM },  /* perf_event_open */
    { 299, 299, ALLOW }, /* recvmmsg */
    { 300, 301, PERM },  /* fanotify_* */
    { 302, 302, ALLOW }, /* prlimit64 */
    { 303, 304, PERM },  /* name_to_handle_at, open_by_handle_at */
    { 305, 307, ALLOW }, /* clock_adjtime, syncfs, sendmmsg */
    { 308, 308, PERM },  /* setns */
    { 309, 311, ALLOW }, /* getcpu, process_vm_* */
    { 312, 312, PERM },  /* kcmp */
    { 313, 313, KILL },  /* finit_module */
    { 314, 314, PERM },  /* sched_setattr */
    { 315, 319, ALLOW }, /* sched_getattr .. memfd_create */
    { 320, 320, KILL },  /* kexec_file_load */
    { 321, 321, PERM },  /* bpf */
    { 322, 322, ALLOW }, /* execveat */
    { 323, 323, PERM },  /* userfaultfd */
    { 324, 332, ALLOW }, /* membarrier .. statx */
    { 333, 333, PERM },  /* io_pgetevents */
    { 334, 334, ALLOW }, /* rseq */
    { 424, 424, ALLOW }, /* pidfd_send_signal */
    { 428, 433, PERM },  /* open_tree .. fspick */
    { 434, 434, ALLOW }, /* pidfd_open */
    { 436, 437, ALLOW }, /* close_range, openat2 */
    { 438, 438, PERM },  /* pidfd_getfd */
    { 439, 439, ALLOW }, /* faccessat2 */
    { 440, 440, PERM },  /* process_madvise */
    { 441, 441, ALLOW }, /* epoll_pwait2 */
    { 442, 443, PERM },  /* mount_setattr, quotactl_fd */
    { 448, 448, PERM },  /* process_mrelease */
    { 449, 449, ALLOW }, /* futex_waitv */
    { 452, 456, ALLOW }, /* fchmodat2, map_shadow_stack, futex_* */
    { 462, 466, ALLOW }, /* mseal, *xattrat */
    { 467, 467, PERM },  /* open_tree_attr */
    { 468, 469, ALLOW }, /* file_getattr, file_setattr */
};

/* What the glove may not do; what is in no span passes. */
static const struct span glove_policy[] = {
    { 16, 16, RULED },   { 41, 41, RULED },   { 53, 53, RULED },   { 56, 56, RULED },
    { 103, 103, PERM },  { 133, 133, RULED }, { 134, 134, PERM },  { 136, 136, PERM },
    { 139, 139, PERM },  { 153, 153, PERM },  { 154, 154, NOSYS }, { 155, 156, PERM },
    { 157, 157, RULED }, { 161, 161, PERM },  { 163, 164, PERM },  { 165, 165, RULED },
    { 166, 168, PERM },  { 169, 169, KILL },  { 170, 171, PERM },  { 172, 172, KILL },
    { 173, 173, PERM },  { 174, 176, KILL },  { 177, 178, NOSYS }, { 179, 180, PERM },
    { 181, 185, NOSYS }, { 205, 205, NOSYS }, { 206, 210, PERM },  { 211, 212, NOSYS },
    { 214, 215, NOSYS }, { 227, 227, PERM },  { 236, 239, NOSYS }, { 246, 246, KILL },
    { 248, 250, NOSYS }, { 251, 251, RULED }, { 256, 256, NOSYS }, { 259, 259, RULED },
    { 272, 272, PERM },  { 278, 279, NOSYS }, { 298, 298, PERM },  { 300, 301, PERM },
    { 303, 304, PERM },  { 308, 308, PERM },  { 312, 312, PERM },  { 313, 313, KILL },
    { 314, 314, PERM },  { 320, 320, KILL },  { 321, 321, PERM },  { 323, 323, PERM },
    { 333, 333, PERM },  { 425, 427, NOSYS }, { 428, 433, PERM },  { 438, 438, PERM },
    { 440, 440, PERM },  { 442, 443, PERM },  { 447, 447, NOSYS }, { 448, 448, PERM },
    { 450, 451, NOSYS }, { 457, 461, NOSYS }, { 467, 467, PERM },  { 470, 470, NOSYS },
};

static uint32_t wanted(const struct span *spans, size_t n, int nr, uint32_t otherwise)
{
    for (size_t i = 0; i < n; i++)
        if (nr >= spans[i].first && nr <= spans[i].last)
            return spans[i].want;
    return otherwise;
}

/* The same answer whatever the arguments are. */
static void expect_flat(const struct filter *f, uint32_t want, int nr)
{
    static const uint64_t args[] = { 0, 1, 0x7e020000, 0x5412, UINT32_MAX, UINT64_MAX, STRAY_BITS };

    for (size_t i = 0; i < N_OF(args); i++)
        expect(f, want, nr, args[i], args[i], args[i], args[i]);
}

static void run_filter_answers_every_number_as_the_policy_says(void **state)
{
    for (int nr = 0; nr <= 1200; nr++) {
        uint32_t want = wanted(run_policy, N_OF(run_policy), nr, NOSYS);

        if (want != RULED)
            expect_flat(&run, want, nr);
    }
}

static void glove_filter_answers_every_number_as_the_policy_says(void **state)
{
    for (int nr = 0; nr <= 1200; nr++) {
        uint32_t want = wanted(glove_policy, N_OF(glove_policy), nr, ALLOW);

        if (want != RULED)
            expect_flat(&glove, want, nr);
    }
}

static void x32_numbers_kill(void **state)
{
    static const uint32_t others[] = { 0x40000000, 0x7fffffff, 0x80000000, 0xc0000027, 0xfffffffe };

    for (size_t f = 0; f < N_OF(filters); f++) {
        for (long nr = 0; nr <= 600; nr++)
            expect_flat(filters[f], KILL, (int)(nr | 0x40000000));
        for (size_t i = 0; i < N_OF(others); i++)
            expect_flat(filters[f], KILL, (int)others[i]);
    }
}
#endif

/* A tracer cancels a call by making its number -1: that must not kill the tracee. */
static void a_cancelled_call_is_not_a_crime(void **state)
{
    expect(&run, NOSYS, -1, 0, 0, 0, 0);
    expect(&glove, ALLOW, -1, 0, 0, 0, 0);
}

static void numbers_beyond_the_table_are_unknown(void **state)
{
    static const long far[] = { 600, 1023, 1024, 1025, 65536, 0x3fffffff };

    for (size_t i = 0; i < N_OF(far); i++) {
        expect(&run, NOSYS, far[i], 0, 0, 0, 0);
        expect(&glove, ALLOW, far[i], 0, 0, 0, 0);
    }
}

static void foreign_architectures_kill(void **state)
{
    static const uint32_t archs[] = {
        0, AUDIT_ARCH_I386, AUDIT_ARCH_ARM, AUDIT_ARCH_MIPS, UINT32_MAX, NATIVE ^ 0x40000000,
    };

    for (size_t f = 0; f < N_OF(filters); f++)
        for (size_t i = 0; i < N_OF(archs); i++)
            for (int nr = -1; nr <= 600; nr++) {
                const struct seccomp_data data = { .nr = nr, .arch = archs[i] };

                assert_int_equal(judge(filters[f], &data), KILL);
            }
}

/* ---- by argument ---- */

static uint32_t socket_policy(uint32_t family, uint32_t type, uint32_t protocol)
{
    static const uint32_t families[] = { 1, 2, 10 };
    static const uint32_t transports[] = { 33, 115, 132, 256, 262 };

    if (is_one_of(protocol, transports, N_OF(transports)))
        return FAIL(EPROTONOSUPPORT);
    if ((type & 0xf) == 10)
        return PERM;
    if (is_one_of(family, families, N_OF(families)) || (family == 16 && protocol == 0))
        return ALLOW;
    return FAIL(EAFNOSUPPORT);
}

static void sockets_by_family_type_and_protocol(void **state)
{
    static const uint32_t types[] = { 1, 2, 3, 4, 5, 6, 10, 0x801, 0x80001, 0x8080a };

    for (uint32_t family = 0; family <= 70; family++)
        for (size_t t = 0; t < N_OF(types); t++)
            for (uint32_t protocol = 0; protocol <= 300; protocol++) {
                uint32_t want = socket_policy(family, types[t], protocol);

                expect_both(want, SYS_socket, family, types[t], protocol);
                expect_both(want, SYS_socket, family | STRAY_BITS, types[t] | STRAY_BITS,
                            protocol | STRAY_BITS);
            }
    expect_both(FAIL(EAFNOSUPPORT), SYS_socket, UINT64_MAX, 1, 0);
}

static void socketpairs_by_family(void **state)
{
    for (uint32_t family = 0; family <= 70; family++)
        for (uint32_t protocol = 0; protocol <= 22; protocol++) {
            bool ok = family == 1 || family == 2 || family == 10 || (family == 16 && protocol == 0);

            expect_both(ok ? ALLOW : FAIL(EAFNOSUPPORT), SYS_socketpair, family, 1, protocol);
        }
}

static void clone_flag_by_flag(void **state)
{
    const uint64_t companions[] = { 0, SIGCHLD, CLONE_VM | CLONE_VFORK, 0x003d0f00, STRAY_BITS };

    for (unsigned bit = 0; bit < 32; bit++)
        for (size_t i = 0; i < N_OF(companions); i++) {
            uint64_t flags = (1ull << bit) | companions[i];

            expect_both((flags & 0x7e020000) == 0 ? ALLOW : PERM, SYS_clone, flags, 0, 0);
        }
    expect_both(PERM, SYS_clone, UINT64_MAX, 0, 0);
}

static void clone3_is_unknown_to_runs_and_open_to_the_glove(void **state)
{
    expect(&run, NOSYS, SYS_clone3, 0x1000, 88, 0, 0);
    expect(&glove, ALLOW, SYS_clone3, 0x1000, 88, 0, 0);
}

static void ioctl_refuses_terminal_injection_under_any_high_bits(void **state)
{
    static const uint32_t refused[] = { 0x5412, 0x541c, 0x541d, 0x5423 };
    static const uint64_t high[] = { 0, 1ull << 32, 1ull << 63, STRAY_BITS, 0xffffffffull << 32 };

    for (uint32_t cmd = 0x5400; cmd <= 0x5500; cmd++)
        for (size_t i = 0; i < N_OF(high); i++)
            expect_both(is_one_of(cmd, refused, N_OF(refused)) ? PERM : ALLOW, SYS_ioctl, 0,
                        cmd | high[i], 0);
    for (unsigned bit = 0; bit < 32; bit++)
        expect_both(ALLOW, SYS_ioctl, 0, 0x5412 ^ (1u << bit), 0);
}

static void personality_has_six_values(void **state)
{
    static const uint32_t ok[] = { 0, 8, 0x20000, 0x20008, 0x40000, UINT32_MAX };

    for (unsigned bit = 0; bit < 32; bit++)
        for (size_t i = 0; i < N_OF(ok); i++) {
            uint32_t value = ok[i] ^ (1u << bit);

            expect(&run, is_one_of(value, ok, N_OF(ok)) ? ALLOW : PERM, SYS_personality, value, 0,
                   0, 0);
            expect(&run, ALLOW, SYS_personality, ok[i] | STRAY_BITS, 0, 0, 0);
        }
}

static void scheduling_policies_are_the_ordinary_ones(void **state)
{
    for (uint64_t policy = 0; policy <= 16; policy++) {
        uint32_t want = policy == 0 || policy == 3 || policy == 5 ? ALLOW : PERM;

        expect(&run, want, SYS_sched_setscheduler, 0, policy, 0, 0);
        expect(&run, want, SYS_sched_setscheduler, 0, policy | 0x40000000, 0, 0);
        expect(&run, want, SYS_sched_setscheduler, 0, policy | STRAY_BITS, 0, 0);
    }
    expect(&run, PERM, SYS_sched_setscheduler, 0, 0x80000000, 0, 0);
    expect(&run, PERM, SYS_sched_setscheduler, 0, UINT64_MAX, 0, 0);
}

static void io_priority_is_never_real_time(void **state)
{
    for (uint32_t class = 0; class < 8; class ++)
        for (uint32_t level = 0; level < 8; level++)
            expect_both(class == 1 ? PERM : ALLOW, SYS_ioprio_set, 1, 0, class << 13 | level);
}

static void prctl_is_a_subset(void **state)
{
    static const uint32_t ok[] = {
        1,
        2,
        3,
        4,
        7,
        8,
        15,
        16,
        21,
        22,
        23,
        24,
        25,
        26,
        27,
        29,
        30,
        36,
        37,
        38,
        39,
        40,
        41,
        42,
        47,
        50,
        51,
        52,
        54,
        55,
        56,
        60,
        61,
        63,
        64,
        65,
        66,
        74,
        75,
        76,
        /* VMA, PTRACER, AUXV */ 0x53564d41,
        0x59616d61,
        0x41555856,
    };
    static const uint32_t refused_to_all[] = { 31, 32, 33, 35, 57, 59, 62, 67 };
    static const uint32_t magic[] = { 0x53564d41, 0x59616d61, 0x41555856, 0x7fffffff, UINT32_MAX };

    for (uint32_t i = 0; i < 200 + N_OF(magic); i++) {
        uint32_t option = i < 200 ? i : magic[i - 200];
        bool refused = is_one_of(option, refused_to_all, N_OF(refused_to_all));
        uint32_t want = refused || option == 28 || option == 53 ? PERM : FAIL(EINVAL);

        if (is_one_of(option, ok, N_OF(ok)))
            want = ALLOW;
        expect(&run, want, SYS_prctl, option, 1, 0, 0);
        expect(&run, want, SYS_prctl, option | STRAY_BITS, 1, 0, 0);
        expect(&glove, refused ? PERM : ALLOW, SYS_prctl, option | STRAY_BITS, 1, 0, 0);
    }
}

static void mknod_makes_no_devices(void **state)
{
    for (uint32_t format = 0; format <= 0xf; format++) {
        uint64_t mode = format << 12 | 0666;
        uint32_t want = format == 2 || format == 6 ? PERM : ALLOW;

        expect_both(want, SYS_mknodat, UINT64_MAX, 0x1000, mode | STRAY_BITS);
#ifdef SYS_mknod
        expect_both(want, SYS_mknod, 0x1000, mode | STRAY_BITS, 0);
#endif
    }
}

static void only_the_glove_mounts_and_only_to_cover(void **state)
{
    static const uint32_t covering[] = {
        1, 2, 4, 8, 32, 256, 1024, 2048, 4096, 16384, 32768, 1 << 18, 1 << 21,
    };

    for (unsigned bit = 0; bit < 32; bit++) {
        uint32_t flag = 1u << bit;
        bool covers = is_one_of(flag, covering, N_OF(covering));

        expect(&run, PERM, SYS_mount, 0, 0, 0, flag);
        expect(&glove, covers ? ALLOW : PERM, SYS_mount, 0, 0, 0, flag);
        expect(&glove, covers ? ALLOW : PERM, SYS_mount, 0, 0, 0, flag | MS_BIND | MS_RDONLY);
    }
    expect(&run, PERM, SYS_mount, 0, 0, 0, 0);
    expect(&glove, PERM, SYS_mount, 0, 0, 0, 0xc0ed0000 | MS_MOVE);
}

/* ---- the glove filter lets through all that the run filter does ---- */

enum {
    MAX_SEEDS = 1500,
};

/* Arguments on both sides of every constant that occurs in a filter. */
static size_t collect_seeds(uint64_t seeds[MAX_SEEDS])
{
    size_t n = 0;

    for (size_t f = 0; f < N_OF(filters); f++)
        for (unsigned i = 0; i < filters[f]->len; i++) {
            const struct gb_bpf insn = filters[f]->code[i];

            if (insn.code != (BPF_JMP | BPF_JEQ | BPF_K) &&
                insn.code != (BPF_ALU | BPF_AND | BPF_K))
                continue;
            assert_true(n + 4 <= MAX_SEEDS);
            seeds[n++] = insn.k;
            seeds[n++] = insn.k + 1ull;
            seeds[n++] = insn.k - 1ull;
            seeds[n++] = insn.k | STRAY_BITS;
        }
    return n;
}

static void expect_implied(const struct seccomp_data *data)
{
    if (judge(&run, data) == ALLOW && judge(&glove, data) != ALLOW)
        fail_msg("call %d (0x%llx, 0x%llx, 0x%llx): allowed to runs, not to the glove", data->nr,
                 (unsigned long long)data->args[0], (unsigned long long)data->args[1],
                 (unsigned long long)data->args[2]);
}

static void whatever_a_run_may_do_the_glove_may_too(void **state)
{
    static uint64_t seeds[MAX_SEEDS];
    size_t n = collect_seeds(seeds);

    for (int nr = -1; nr <= 600; nr++)
        for (size_t i = 0; i < n; i++) {
            uint64_t a = seeds[i], b = seeds[(i * 7 + (size_t)(nr + 1)) % n];
            struct seccomp_data data = { .nr = nr, .arch = NATIVE, .args = { a, a, a, a, a, a } };

            expect_implied(&data);
            data.args[1] = data.args[3] = b;
            expect_implied(&data);
            data.args[0] = b;
            expect_implied(&data);
        }
}

/* ---- for real ---- */

static void filter_load(const struct filter *f)
{
    struct sock_filter code[BPF_MAXINSNS];
    const struct sock_fprog prog = { .len = (unsigned short)f->len, .filter = code };

    _Static_assert(sizeof(code[0]) == sizeof(f->code[0]), "struct gb_bpf is struct sock_filter");
    memcpy(code, f->code, f->len * sizeof(code[0]));
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0)
        _exit(255);
}

/* Runs body in a child under the filters, first to last; returns its wait status. */
static int in_child(const struct filter *first, const struct filter *second, int (*body)(void *),
                    void *arg)
{
    int status = 0;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        filter_load(first);
        if (second != NULL)
            filter_load(second);
        _exit(body(arg));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

struct probe {
    const char *what;
    long nr;
    long args[4];
    int want; /* errno, 0 for success, -SIGSYS for death */
};

/* Arguments are such that a call that gets through does no harm. */
static const struct probe probes[] = {
    { "getppid", SYS_getppid, { 0 }, 0 },
    { "unshare(NEWUSER)", SYS_unshare, { CLONE_NEWUSER }, EPERM },
    { "clone(NEWUSER)", SYS_clone, { CLONE_NEWUSER | SIGCHLD }, EPERM },
    { "mount", SYS_mount, { 0, 0, 0, MS_MOVE }, EPERM },
    { "socket(vsock)", SYS_socket, { 40, SOCK_STREAM }, EAFNOSUPPORT },
    { "socket(alg)", SYS_socket, { 38, SOCK_SEQPACKET }, EAFNOSUPPORT },
    { "socket(packet by inet)", SYS_socket, { AF_INET, 10, 0x300 }, EPERM },
    { "socket(mptcp)", SYS_socket, { AF_INET, SOCK_STREAM, 262 }, EPROTONOSUPPORT },
    { "socket(unix)", SYS_socket, { AF_UNIX, SOCK_STREAM }, 0 },
    { "socket(inet)", SYS_socket, { AF_INET, SOCK_STREAM }, 0 },
    { "socket(netlink route)", SYS_socket, { AF_NETLINK, SOCK_RAW, 0 }, 0 },
    { "socket(netlink audit)", SYS_socket, { AF_NETLINK, SOCK_RAW, 9 }, EAFNOSUPPORT },
    { "ioctl(TIOCSTI)", SYS_ioctl, { -1, 0x5412 }, EPERM },
    { "ioctl(TIOCSTI, high bits)", SYS_ioctl, { -1, (long)(0x5412 | STRAY_BITS) }, EPERM },
    { "ioctl(TCGETS)", SYS_ioctl, { -1, 0x5401 }, EBADF },
    { "keyctl", SYS_keyctl, { 0, -3 }, ENOSYS },
    { "io_uring_setup", SYS_io_uring_setup, { 0 }, ENOSYS },
    { "bpf", SYS_bpf, { -1 }, EPERM },
    { "number 1000", 1000, { 0 }, -1 },
    { "init_module", SYS_init_module, { 0 }, -SIGSYS },
    { "reboot with bad magic", SYS_reboot, { 0 }, -SIGSYS },
#ifdef __x86_64__
    { "getpid through x32", 39 | 0x40000000, { 0 }, -SIGSYS },
#endif
};

static int probe_call(void *arg)
{
    const struct probe *p = arg;
    long r = syscall(p->nr, p->args[0], p->args[1], p->args[2], p->args[3], 0, 0);

    return r < 0 ? errno : 0;
}

static void probe_check(const struct filter *first, const struct filter *second)
{
    for (size_t i = 0; i < N_OF(probes); i++) {
        struct probe p = probes[i];
        int status = in_child(first, second, probe_call, &p);
        int got = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);

        if (p.want == -1)
            p.want = ENOSYS; /* from the run filter, or from the kernel behind the glove's */
        if (got != p.want)
            fail_msg("%s under %s: %d, wanted %d", p.what, first->name, got, p.want);
    }
}

static void the_kernel_agrees_about_the_run_filter(void **state)
{
    probe_check(&run, NULL);
}

static void the_kernel_agrees_about_the_glove_filter(void **state)
{
    probe_check(&glove, NULL);
}

static void the_kernel_agrees_about_both_together(void **state)
{
    probe_check(&glove, &run);
}

#ifdef __x86_64__
static int call_as_i386(void *arg)
{
    long nr = 20; /* getpid */

    __asm__ volatile("int $0x80" : "+a"(nr) : : "memory", "r8", "r9", "r10", "r11");
    return nr > 0 ? 0 : 1;
}

/* SIGSEGV: a kernel that has no such gate. */
static void i386_calls_die(void **state)
{
    for (size_t f = 0; f < N_OF(filters); f++) {
        int status = in_child(filters[f], NULL, call_as_i386, NULL);

        assert_true(WIFSIGNALED(status));
        assert_true(WTERMSIG(status) == SIGSYS || WTERMSIG(status) == SIGSEGV);
    }
}
#endif

static void *thread_body(void *arg)
{
    *(int *)arg = 1;
    return NULL;
}

static int do_ordinary_things(void *arg)
{
    pthread_t thread;
    int ran = 0, pair[2], status = 0;
    pid_t pid;

    if (pthread_create(&thread, NULL, thread_body, &ran) != 0 || pthread_join(thread, NULL) != 0 ||
        !ran)
        return 1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return 2;
    pid = fork();
    if (pid == 0) {
        execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
        _exit(127);
    }
    if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 7)
        return 3;
    return 0;
}

static void threads_children_and_sockets_work_in_a_run(void **state)
{
    int status = in_child(&glove, &run, do_ordinary_things, NULL);

    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static int spawn_with_pidfd(void *arg)
{
    int pidfd = -1;
    struct clone_args args = {
        .flags = CLONE_PIDFD | CLONE_CLEAR_SIGHAND,
        .pidfd = (uint64_t)(uintptr_t)&pidfd,
        .exit_signal = SIGCHLD,
    };
    siginfo_t info = { 0 };
    long pid = syscall(SYS_clone3, &args, sizeof(args));

    if (pid == 0) {
        filter_load(&run);
        _exit(7);
    }
    if (pid < 0 || waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED) < 0)
        return 1;
    return info.si_code == CLD_EXITED && info.si_status == 7 ? 0 : 2;
}

static void the_glove_starts_a_run_with_clone3(void **state)
{
    int status = in_child(&glove, NULL, spawn_with_pidfd, NULL);

    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* PID 1 of new namespaces covers a directory, then becomes a run. */
static int cover(const char *dir)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/secret", dir);
    if (access(path, F_OK) < 0)
        return 11;
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("none", dir, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV, "size=4k") < 0)
        return 12;
    filter_load(&run);
    if (getpid() != 1 || access(path, F_OK) == 0)
        return 13;
    return umount2(dir, MNT_DETACH) < 0 && errno == EPERM ? 0 : 14;
}

enum {
    NO_NAMESPACES = 77,
};

static int hide_a_path(void *arg)
{
    struct clone_args args = {
        .flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS,
        .exit_signal = SIGCHLD,
    };
    int status = 0;
    long pid = syscall(SYS_clone3, &args, sizeof(args));

    if (pid == 0)
        _exit(cover(arg));
    if (pid < 0)
        return errno == ENOSYS ? 1 : NO_NAMESPACES;
    if (waitpid((pid_t)pid, &status, 0) < 0 || !WIFEXITED(status))
        return 2;
    return WEXITSTATUS(status);
}

static void the_glove_can_hide_paths_from_a_run(void **state)
{
    char dir[] = "/tmp/test_filters.XXXXXX", path[64];
    int fd, status;

    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/secret", dir);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    status = in_child(&glove, NULL, hide_a_path, dir);
    close(fd);
    unlink(path);
    rmdir(dir);
    assert_true(fd >= 0 && WIFEXITED(status));
    if (WEXITSTATUS(status) == NO_NAMESPACES)
        skip(); /* the host has none for us, filter or not */
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef __x86_64__
        cmocka_unit_test(run_filter_answers_every_number_as_the_policy_says),
        cmocka_unit_test(glove_filter_answers_every_number_as_the_policy_says),
        cmocka_unit_test(x32_numbers_kill),
        cmocka_unit_test(i386_calls_die),
#endif
        cmocka_unit_test(a_cancelled_call_is_not_a_crime),
        cmocka_unit_test(numbers_beyond_the_table_are_unknown),
        cmocka_unit_test(foreign_architectures_kill),
        cmocka_unit_test(sockets_by_family_type_and_protocol),
        cmocka_unit_test(socketpairs_by_family),
        cmocka_unit_test(clone_flag_by_flag),
        cmocka_unit_test(clone3_is_unknown_to_runs_and_open_to_the_glove),
        cmocka_unit_test(ioctl_refuses_terminal_injection_under_any_high_bits),
        cmocka_unit_test(personality_has_six_values),
        cmocka_unit_test(scheduling_policies_are_the_ordinary_ones),
        cmocka_unit_test(io_priority_is_never_real_time),
        cmocka_unit_test(prctl_is_a_subset),
        cmocka_unit_test(mknod_makes_no_devices),
        cmocka_unit_test(only_the_glove_mounts_and_only_to_cover),
        cmocka_unit_test(whatever_a_run_may_do_the_glove_may_too),
        cmocka_unit_test(the_kernel_agrees_about_the_run_filter),
        cmocka_unit_test(the_kernel_agrees_about_the_glove_filter),
        cmocka_unit_test(the_kernel_agrees_about_both_together),
        cmocka_unit_test(threads_children_and_sockets_work_in_a_run),
        cmocka_unit_test(the_glove_starts_a_run_with_clone3),
        cmocka_unit_test(the_glove_can_hide_paths_from_a_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
