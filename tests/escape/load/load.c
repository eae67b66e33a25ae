/* SPDX-License-Identifier: Apache-2.0 */
/* load/load.c - takes all it can get of one resource: load ACT (load.h).
 *
 * Static, so that the limits meet the act and not an interpreter.
 */
#include "load.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

char block[BLOCK];

void refused(long n)
{
    (void)printf("refused %ld %s\n", n, strerror(errno));
    (void)fflush(stdout);
}

void stay(void)
{
    for (;;)
        (void)pause();
}

void refused_and_stay(long n)
{
    refused(n);
    stay();
}

void refused_and_hold(long n)
{
    refused(n);
    (void)poll(NULL, 0, 300);
    exit(3);
}

void refused_and_fail(long n)
{
    refused(n);
    exit(3);
}

char *map_memory(size_t len, int flags)
{
    return mmap(NULL, len, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
}

void touch(volatile char *memory, size_t len)
{
    for (size_t i = 0; memory != MAP_FAILED && i < len; i += PAGE)
        memory[i] = 1;
}

void raise_limit(int which, rlim_t value)
{
    struct rlimit limit = { value, value };

    (void)setrlimit(which, &limit);
}

int make_file(const char *format, long n)
{
    char name[512];

    (void)snprintf(name, sizeof(name), format, n);
    return open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

long fill_file(int fd, long most)
{
    long n = 0;

    while (n < most && fd >= 0 && write(fd, block, sizeof(block)) == (ssize_t)sizeof(block))
        n++;
    return n;
}

/* ---- the table ------------------------------------------------------------------------------ */

#define ACT(name)         \
    {                     \
#        name, act_##name \
    }
static const struct {
    const char *name;
    act_fn *play;
} acts[] = {
    ACT(fork),     ACT(bomb),      ACT(vfork),       ACT(threads), ACT(zombies),   ACT(orphans),
    ACT(anon),     ACT(shared),    ACT(populate),    ACT(brk),     ACT(huge),      ACT(mlock),
    ACT(crowd),    ACT(fall),      ACT(stack),       ACT(stacks),  ACT(dentries),  ACT(negative),
    ACT(sockets),  ACT(tcp),       ACT(pipes),       ACT(maps),    ACT(tables),    ACT(epolls),
    ACT(timers),   ACT(signals),   ACT(queues),      ACT(fill),    ACT(fallocate), ACT(sparse),
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
