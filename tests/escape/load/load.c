/* SPDX-License-Identifier: Apache-2.0 */
/* load/load.c - takes all it can get of one resource.
 *
 *    load ACT
 *
 * Each act takes until it is refused, prints `refused N REASON`, and stays or fails; some have no
 * end and are killed.  N counts what was taken, in KiB for files.  Static, so that the limits meet
 * the act and not an interpreter.
 */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE  4096
#define MIB   (1 << 20)
#define BLOCK 65536

static char block[BLOCK];

/* ---- what the acts share -------------------------------------------------------------------- */

static void refused(long n)
{
    (void)printf("refused %ld %s\n", n, strerror(errno));
    (void)fflush(stdout);
}

static void stay(void) __attribute__((noreturn));

static void stay(void)
{
    for (;;)
        (void)pause();
}

static void refused_and_stay(long n) __attribute__((noreturn));

static void refused_and_stay(long n)
{
    refused(n);
    stay();
}

static void refused_and_fail(long n) __attribute__((noreturn));

static void refused_and_fail(long n)
{
    refused(n);
    exit(3);
}

static char *map_memory(size_t len, int flags)
{
    return mmap(NULL, len, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
}

static void touch(volatile char *memory, size_t len)
{
    for (size_t i = 0; memory != MAP_FAILED && i < len; i += PAGE)
        memory[i] = 1;
}

static void raise_limit(int which, rlim_t value)
{
    struct rlimit limit = { value, value };

    (void)setrlimit(which, &limit);
}

static int make_file(const char *format, long n)
{
    char name[512];

    (void)snprintf(name, sizeof(name), format, n);
    return open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

/* Blocks written until the first that did not fit. */
static long fill_file(int fd, long most)
{
    long n = 0;

    while (n < most && fd >= 0 && write(fd, block, sizeof(block)) == (ssize_t)sizeof(block))
        n++;
    return n;
}

/* ---- processes (R01) ------------------------------------------------------------------------ */

static void act_fork(void)
{
    long n = 0;
    pid_t pid;

    while ((pid = fork()) > 0)
        n++;
    if (pid == 0)
        stay();
    refused_and_stay(n);
}

static void act_bomb(void)
{
    for (;;)
        (void)fork();
}

/* Every child has a child of its own before it does anything: each parent sleeps in the kernel. */
static void act_vfork(void)
{
    volatile long n = 0;

    for (;;) {
        /* NOLINTNEXTLINE: the very call is what is tried */
        pid_t pid = vfork();

        if (pid < 0)
            break;
        if (pid > 0)
            _exit(0);
        n = n + 1;
    }
    refused_and_stay(n);
}

static void *sit(void *unused)
{
    (void)unused;
    stay();
}

static void act_threads(void)
{
    pthread_attr_t attr;
    pthread_t thread;
    long n = 0;

    (void)pthread_attr_init(&attr);
    (void)pthread_attr_setstacksize(&attr, BLOCK);
    while ((errno = pthread_create(&thread, &attr, sit, NULL)) == 0)
        n++;
    refused_and_stay(n);
}

static void act_zombies(void)
{
    long n = 0;
    pid_t pid;

    while ((pid = fork()) > 0)
        n++;
    if (pid == 0)
        _exit(0);
    refused_and_stay(n);
}

static void act_orphans(void)
{
    for (;;) {
        pid_t pid = fork();

        if (pid == 0) {
            (void)fork();
            _exit(0);
        }
        if (pid > 0)
            (void)waitpid(pid, NULL, 0);
    }
}

/* ---- memory (R02) --------------------------------------------------------------------------- */

static void act_anon(void)
{
    for (;;)
        touch(map_memory(MIB, MAP_PRIVATE), MIB);
}

static void act_shared(void)
{
    for (;;)
        touch(map_memory(MIB, MAP_SHARED), MIB);
}

static void act_populate(void)
{
    for (;;)
        (void)map_memory(8 * MIB, MAP_PRIVATE | MAP_POPULATE);
}

static void act_brk(void)
{
    for (;;) {
        char *memory = sbrk(MIB);

        if ((intptr_t)memory == -1)
            stay();
        touch(memory, MIB);
    }
}

static void act_huge(void)
{
    for (;;) {
        char *memory = map_memory(64 * MIB, MAP_PRIVATE);

        (void)madvise(memory, 64 * MIB, MADV_HUGEPAGE);
        touch(memory, 64 * MIB);
    }
}

static void act_mlock(void)
{
    raise_limit(RLIMIT_MEMLOCK, RLIM_INFINITY);
    (void)mlockall(MCL_CURRENT | MCL_FUTURE);
    for (;;) {
        char *memory = map_memory(MIB, MAP_PRIVATE);

        if (memory == MAP_FAILED)
            (void)munlockall();
        (void)mlock(memory, MIB);
        touch(memory, MIB);
    }
}

/* Together five times the limit; ends when the kernel has killed the first, for which it takes the
 * longer the more there are. */
static void act_crowd(void)
{
    int status = 0;

    for (int i = 0; i < 10; i++) {
        if (fork() == 0) {
            touch(map_memory(32 * MIB, MAP_PRIVATE), 32 * MIB);
            stay();
        }
    }
    while (wait(&status) > 0 && !WIFSIGNALED(status))
        ;
    exit(3);
}

/* NOLINTNEXTLINE(misc-no-recursion): a stack is filled by calls */
static int fall(int depth)
{
    volatile char frame[BLOCK];

    touch(frame, sizeof(frame));
    return depth ? fall(depth - 1) + frame[0] : 0;
}

static void act_fall(void)
{
    (void)fall(1000000);
}

static void act_stack(void)
{
    raise_limit(RLIMIT_STACK, RLIM_INFINITY);
    (void)execl("/proc/self/exe", "load", "fall", NULL);
}

static void *eat_stack(void *unused)
{
    (void)fall(100);
    return sit(unused);
}

static void act_stacks(void)
{
    pthread_t thread;

    while (pthread_create(&thread, NULL, eat_stack, NULL) == 0)
        ;
    stay();
}

/* ---- the kernel's memory (R04) -------------------------------------------------------------- */

static void act_dentries(void)
{
    for (long n = 0;; n++)
        if (mkdir("d", 0700) < 0 || chdir("d") < 0)
            refused_and_stay(n);
}

static void act_negative(void)
{
    for (long n = 0;; n++) {
        char name[256];

        (void)snprintf(name, sizeof(name), "%0200ld", n);
        (void)access(name, F_OK);
    }
}

static void act_sockets(void)
{
    int large = 64 * MIB;
    int ends[2];
    long n = 0;

    raise_limit(RLIMIT_NOFILE, 4096);
    while (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0) {
        (void)setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &large, sizeof(large));
        while (send(ends[0], block, sizeof(block), MSG_DONTWAIT) > 0)
            n++;
    }
    refused_and_stay(n);
}

static void act_pipes(void)
{
    int ends[2];
    long n = 0;

    raise_limit(RLIMIT_NOFILE, 4096);
    while (pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0) {
        (void)fcntl(ends[1], F_SETPIPE_SZ, MIB);
        n += fill_file(ends[1], 64);
    }
    refused_and_stay(n);
}

static void act_maps(void)
{
    for (long n = 0;; n++) {
        char *memory = map_memory(PAGE, MAP_PRIVATE);

        if (memory == MAP_FAILED)
            refused_and_stay(n);
        (void)mprotect(memory, PAGE, n % 2 ? PROT_READ : PROT_NONE);
    }
}

/* Reads of untouched memory show one page of zeros, but need tables to show it with. */
static void act_tables(void)
{
    const size_t len = (size_t)1 << 34;

    for (;;) {
        volatile char *memory =
            mmap(NULL, len, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (memory == MAP_FAILED)
            stay();
        for (size_t i = 0; i < len; i += (size_t)2 * MIB)
            (void)memory[i];
    }
}

static void act_epolls(void)
{
    struct epoll_event event = { .events = EPOLLIN };
    long n = 0;
    int fd;

    while ((fd = epoll_create1(EPOLL_CLOEXEC)) >= 0) {
        for (int other = 0; other < fd; other++)
            (void)epoll_ctl(fd, EPOLL_CTL_ADD, other, &event);
        n++;
    }
    refused_and_stay(n);
}

static void act_timers(void)
{
    struct sigevent event = { .sigev_notify = SIGEV_NONE };
    timer_t timer;
    long n = 0;

    while (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0)
        n++;
    refused_and_stay(n);
}

static void act_signals(void)
{
    union sigval value = { 0 };
    sigset_t all;
    long n = 0;

    (void)sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, NULL);
    while (sigqueue(getpid(), SIGRTMIN, value) == 0)
        n++;
    refused_and_stay(n);
}

static void act_queues(void)
{
    struct mq_attr attr = { .mq_maxmsg = 10, .mq_msgsize = 8192 };

    for (long n = 0;; n++) {
        char name[32];

        (void)snprintf(name, sizeof(name), "/queue-%ld", n);
        if (mq_open(name, O_CREAT | O_RDWR, 0600, &attr) < 0)
            refused_and_stay(n);
    }
}

static void act_locks(void)
{
    int fd = make_file("lock", 0);

    for (long n = 0;; n++) {
        struct flock lock = { .l_type = F_WRLCK, .l_start = 2 * n, .l_len = 1 };

        if (fcntl(fd, F_SETLK, &lock) < 0)
            refused_and_stay(n);
    }
}

/* ---- files (R05, R06) ----------------------------------------------------------------------- */

#define BLOCK_KIB (BLOCK / 1024)

static void act_fill(void)
{
    refused_and_fail(fill_file(make_file("full", 0), 1000000) * BLOCK_KIB);
}

static void act_fallocate(void)
{
    for (long n = 0;; n++) {
        errno = posix_fallocate(make_file("file-%ld", n), 0, BLOCK);
        if (errno)
            refused_and_fail(n * BLOCK_KIB);
    }
}

static void act_sparse(void)
{
    int fd = make_file("sparse", 0);
    long n = 0;

    if (ftruncate(fd, (off_t)1 << 40) == 0)
        (void)puts("TERABYTE");
    if (ftruncate(fd, 8 * MIB) < 0)
        (void)puts("no hole");
    while (pwrite(fd, block, 1, n * PAGE) == 1)
        n++;
    refused_and_fail(n * PAGE / 1024);
}

static void act_unlinked(void)
{
    long n = 0;
    long more;

    do {
        int fd = make_file("gone", 0);

        (void)unlink("gone");
        more = fill_file(fd, 16);
        n += more;
    } while (more == 16);
    refused_and_fail(n * BLOCK_KIB);
}

static void act_logs(void)
{
    for (long n = 0;; n++) {
        int fd = make_file("log-%ld", n);

        if (fd < 0 || write(fd, block, PAGE) != PAGE)
            refused_and_fail(n * PAGE / 1024);
        (void)close(fd);
    }
}

static void act_places(void)
{
    static const char *const places[] = {
        "/workspace/f", "/tmp/f", "/var/tmp/f", "/home/box/f", "/run/f",
    };
    long n = 0;

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        n += fill_file(make_file(places[i], 0), 1000000);
    refused_and_fail(n * BLOCK_KIB);
}

static void act_core(void)
{
    raise_limit(RLIMIT_CORE, RLIM_INFINITY);
    touch(map_memory(4 * MIB, MAP_PRIVATE), 4 * MIB);
    abort();
}

static void act_files(void)
{
    for (long n = 0;; n++) {
        int fd = make_file("%0200ld", n);

        if (fd < 0)
            refused_and_fail(n);
        (void)close(fd);
    }
}

static void act_folders(void)
{
    for (long n = 0;; n++) {
        char name[32];

        (void)snprintf(name, sizeof(name), "d%ld", n);
        if (mkdir(name, 0700) < 0)
            refused_and_fail(n);
    }
}

static void act_links(void)
{
    char target[4000];

    (void)memset(target, 'x', sizeof(target));
    target[sizeof(target) - 1] = '\0';
    for (long n = 0;; n++) {
        char name[32];

        (void)snprintf(name, sizeof(name), "s%ld", n);
        if (symlink(target, name) < 0)
            refused_and_fail(n);
    }
}

static void act_hardlinks(void)
{
    (void)make_file("one", 0);
    for (long n = 0;; n++) {
        char name[32];

        (void)snprintf(name, sizeof(name), "h%ld", n);
        if (link("one", name) < 0)
            refused_and_fail(n);
    }
}

/* ---- descriptors (R07) ---------------------------------------------------------------------- */

static void act_descriptors(void)
{
    struct rlimit limit;
    long n = 0;

    raise_limit(RLIMIT_NOFILE, 1 << 20);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        raise_limit(RLIMIT_NOFILE, limit.rlim_max);
    while (open("/dev/null", O_RDONLY) >= 0)
        n++;
    refused(n);
}

/* ---- CPU (R11) ------------------------------------------------------------------------------ */

#define BURNERS 4

/* In as many processes as are useful: the quota is the group's. */
static void fork_burners(void)
{
    for (int i = 1; i < BURNERS; i++)
        if (fork() == 0)
            return;
}

/* From CPU to CPU, in case that each counts for itself what is left of the quota. */
static void act_hops(void)
{
    fork_burners();
    for (unsigned cpu = 0;; cpu = (cpu + 1) % CPU_SETSIZE) {
        cpu_set_t one;

        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        if (sched_setaffinity(0, sizeof(one), &one) < 0)
            continue;
        for (volatile int i = 0; i < 100000; i++)
            ;
    }
}

/* More than any cache holds, line by line. */
static void act_bandwidth(void)
{
    size_t size = 32 * MIB;
    volatile char *room;

    fork_burners();
    room = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        refused_and_fail(0);
    for (;;)
        for (size_t i = 0; i < size; i += 64)
            room[i]++;
}

/* ---- the table ------------------------------------------------------------------------------ */

#define ACT(name)         \
    {                     \
#        name, act_##name \
    }
static const struct {
    const char *name;
    void (*play)(void);
} acts[] = {
    ACT(fork),     ACT(bomb),      ACT(vfork),       ACT(threads), ACT(zombies),   ACT(orphans),
    ACT(anon),     ACT(shared),    ACT(populate),    ACT(brk),     ACT(huge),      ACT(mlock),
    ACT(crowd),    ACT(fall),      ACT(stack),       ACT(stacks),  ACT(dentries),  ACT(negative),
    ACT(sockets),  ACT(pipes),     ACT(maps),        ACT(tables),  ACT(epolls),    ACT(timers),
    ACT(signals),  ACT(queues),    ACT(locks),       ACT(fill),    ACT(fallocate), ACT(sparse),
    ACT(unlinked), ACT(logs),      ACT(places),      ACT(core),    ACT(files),     ACT(folders),
    ACT(links),    ACT(hardlinks), ACT(descriptors), ACT(hops),    ACT(bandwidth),
};

int main(int argc, char **argv)
{
    (void)memset(block, 1, sizeof(block));
    (void)signal(SIGXFSZ, SIG_IGN);
    for (size_t i = 0; argc == 2 && i < sizeof(acts) / sizeof(acts[0]); i++) {
        if (strcmp(argv[1], acts[i].name) == 0) {
            acts[i].play();
            return 0;
        }
    }
    return 99;
}
