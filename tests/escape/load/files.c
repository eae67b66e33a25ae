/* SPDX-License-Identifier: Apache-2.0 */
/* load/files.c - files (R05, R06) and descriptors (R07). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "load.h"

/* ---- files (R05, R06) ----------------------------------------------------------------------- */

#define BLOCK_KIB (BLOCK / 1024)

void act_fill(void)
{
    refused_and_fail(fill_file(make_file("full", 0), 1000000) * BLOCK_KIB);
}

void act_fallocate(void)
{
    for (long n = 0;; n++) {
        errno = posix_fallocate(make_file("file-%ld", n), 0, BLOCK);
        if (errno)
            refused_and_fail(n * BLOCK_KIB);
    }
}

void act_sparse(void)
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

void act_unlinked(void)
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

void act_logs(void)
{
    for (long n = 0;; n++) {
        int fd = make_file("log-%ld", n);

        if (fd < 0 || write(fd, block, PAGE) != PAGE)
            refused_and_fail(n * PAGE / 1024);
        (void)close(fd);
    }
}

void act_places(void)
{
    static const char *const places[] = {
        "/workspace/f", "/tmp/f", "/var/tmp/f", "/home/box/f", "/run/f",
    };
    long n = 0;

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        n += fill_file(make_file(places[i], 0), 1000000);
    refused_and_fail(n * BLOCK_KIB);
}

void act_core(void)
{
    raise_limit(RLIMIT_CORE, RLIM_INFINITY);
    touch(map_memory(4 * MIB, MAP_PRIVATE), 4 * MIB);
    abort();
}

void act_files(void)
{
    for (long n = 0;; n++) {
        int fd = make_file("%0200ld", n);

        if (fd < 0)
            refused_and_fail(n);
        (void)close(fd);
    }
}

void act_folders(void)
{
    for (long n = 0;; n++) {
        char name[32];

        (void)snprintf(name, sizeof(name), "d%ld", n);
        if (mkdir(name, 0700) < 0)
            refused_and_fail(n);
    }
}

void act_links(void)
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

void act_hardlinks(void)
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

void act_descriptors(void)
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
