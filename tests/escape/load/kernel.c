/* SPDX-License-Identifier: Apache-2.0 */
/* load/kernel.c - the kernel's memory (R04). */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "load.h"

/* Directories within directories, not deeper than a path may be: to check each way up takes longer
 * the deeper it is. */
void act_dentries(void)
{
    for (long n = 0;; n++) {
        if (n % 64 == 0 && chdir("/workspace") < 0)
            refused_and_hold(n);
        char name[32];

        (void)snprintf(name, sizeof(name), "d%ld", n);
        if (mkdir(name, 0700) < 0 || chdir(name) < 0)
            refused_and_hold(n);
    }
}

/* Of names that are not there the kernel keeps a note, unless the file system is one of memory.
 * Notes of a disk's outlive the box: each time other names. */
void act_negative(void)
{
    struct timespec now;
    long n = 0;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    for (; n < 200000; n++) {
        char name[256];

        (void)snprintf(name, sizeof(name), "/usr/lib/%0160ld-%ld-%ld", n, (long)now.tv_sec,
                       (long)now.tv_nsec);
        (void)access(name, F_OK);
    }
    refused(n);
}

void act_sockets(void)
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
    refused_and_hold(n);
}

/* The two ends of a connection over the box's own loopback; false when there are no more. */
static bool connect_tcp(int listener, const struct sockaddr_in *here, int ends[2])
{
    ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (ends[0] < 0 || connect(ends[0], (const struct sockaddr *)here, sizeof(*here)) < 0)
        return false;
    ends[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    return ends[1] >= 0;
}

/* However little memory there is, a connection has one segment of 64 KiB: few of them, so that it
 * is the limit that is met. */
#define TCP_DESCRIPTORS 200

/* Nobody reads: what was sent waits in the kernel. */
void act_tcp(void)
{
    struct sockaddr_in here = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t size = sizeof(here);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int ends[2];
    long n = 0;

    if (bind(listener, (struct sockaddr *)&here, size) < 0 || listen(listener, 8) < 0 ||
        getsockname(listener, (struct sockaddr *)&here, &size) < 0)
        exit(98);
    raise_limit(RLIMIT_NOFILE, TCP_DESCRIPTORS);
    while (connect_tcp(listener, &here, ends)) {
        ssize_t sent;

        while ((sent = send(ends[0], block, sizeof(block), MSG_DONTWAIT)) > 0)
            n += sent;
    }
    refused_and_hold(n / 1024);
}

void act_pipes(void)
{
    int ends[2];
    long n = 0;

    raise_limit(RLIMIT_NOFILE, 4096);
    while (pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0) {
        (void)fcntl(ends[1], F_SETPIPE_SZ, MIB);
        n += fill_file(ends[1], 64);
    }
    refused_and_hold(n);
}

void act_maps(void)
{
    for (long n = 0;; n++) {
        char *memory = map_memory(PAGE, MAP_PRIVATE);

        if (memory == MAP_FAILED)
            refused_and_hold(n);
        (void)mprotect(memory, PAGE, n % 2 ? PROT_READ : PROT_NONE);
    }
}

/* Reads of untouched memory show one page of zeros, but need tables to show it with. */
void act_tables(void)
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

/* Each watches those before it, as deep as the kernel lets them nest. */
void act_epolls(void)
{
    struct epoll_event event = { .events = EPOLLIN };
    long n = 0;
    int fd;

    raise_limit(RLIMIT_NOFILE, 4096);
    while ((fd = epoll_create1(EPOLL_CLOEXEC)) >= 0) {
        for (int other = fd - n % 4; other < fd; other++)
            (void)epoll_ctl(fd, EPOLL_CTL_ADD, other, &event);
        n++;
    }
    refused_and_hold(n);
}

void act_timers(void)
{
    struct sigevent event = { .sigev_notify = SIGEV_NONE };
    timer_t timer;
    long n = 0;

    while (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0)
        n++;
    refused_and_hold(n);
}

void act_signals(void)
{
    union sigval value = { 0 };
    sigset_t all;
    long n = 0;

    (void)sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, NULL);
    while (sigqueue(getpid(), SIGRTMIN, value) == 0)
        n++;
    refused_and_hold(n);
}

void act_queues(void)
{
    struct mq_attr attr = { .mq_maxmsg = 10, .mq_msgsize = 8192 };

    for (long n = 0;; n++) {
        char name[32];

        (void)snprintf(name, sizeof(name), "/queue-%ld", n);
        if (mq_open(name, O_CREAT | O_RDWR, 0600, &attr) < 0)
            refused_and_hold(n);
    }
}
