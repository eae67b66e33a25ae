/* SPDX-License-Identifier: Apache-2.0 */
/* load/processes.c - processes (R01), their memory (R02), CPU (R11). */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "load.h"

/* ---- processes (R01) ------------------------------------------------------------------------ */

void act_fork(void)
{
    long n = 0;
    pid_t pid;

    while ((pid = fork()) > 0)
        n++;
    if (pid == 0)
        stay();
    refused_and_stay(n);
}

void act_bomb(void)
{
    for (;;)
        (void)fork();
}

/* Every child has a child of its own before it does anything: each parent sleeps in the kernel. */
void act_vfork(void)
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

void act_threads(void)
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

void act_zombies(void)
{
    long n = 0;
    pid_t pid;

    while ((pid = fork()) > 0)
        n++;
    if (pid == 0)
        _exit(0);
    refused_and_stay(n);
}

void act_orphans(void)
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

void act_anon(void)
{
    for (;;)
        touch(map_memory(MIB, MAP_PRIVATE), MIB);
}

void act_shared(void)
{
    for (;;)
        touch(map_memory(MIB, MAP_SHARED), MIB);
}

void act_populate(void)
{
    for (;;)
        (void)map_memory(8 * MIB, MAP_PRIVATE | MAP_POPULATE);
}

void act_brk(void)
{
    for (;;) {
        char *memory = sbrk(MIB);

        if ((intptr_t)memory == -1)
            stay();
        touch(memory, MIB);
    }
}

void act_huge(void)
{
    for (;;) {
        char *memory = map_memory(64 * MIB, MAP_PRIVATE);

        (void)madvise(memory, 64 * MIB, MADV_HUGEPAGE);
        touch(memory, 64 * MIB);
    }
}

void act_mlock(void)
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
void act_crowd(void)
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

void act_fall(void)
{
    (void)fall(1000000);
}

void act_stack(void)
{
    raise_limit(RLIMIT_STACK, RLIM_INFINITY);
    (void)execl("/proc/self/exe", "load", "fall", NULL);
}

static void *eat_stack(void *unused)
{
    (void)fall(100);
    return sit(unused);
}

void act_stacks(void)
{
    pthread_t thread;

    while (pthread_create(&thread, NULL, eat_stack, NULL) == 0)
        ;
    stay();
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
void act_hops(void)
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
void act_bandwidth(void)
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
