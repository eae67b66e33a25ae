/* SPDX-License-Identifier: Apache-2.0 */
/* bench/boxloop.c - boxes one after another in one process, as a server makes them.
 *
 * usage: boxloop RUN_DIR UID_BASE COUNT EVERY
 *
 * Opens a box, runs /usr/bin/true in it and closes it, COUNT times, and after each EVERY boxes
 * tells on stdout: boxes so far, resident KiB, open descriptors, nanoseconds since the start.
 * `glovebox exec` is one process a box and forgets everything when it ends; only here can a leak of
 * the library show.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "box/box.h"
#include "run/result.h"
#include "run/run.h"

static unsigned long long now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (unsigned long long)t.tv_sec * 1000000000u + (unsigned long long)t.tv_nsec;
}

/* Counted page by page: statm is an estimate, off by up to 32 pages a CPU. */
static long resident_kib(void)
{
    static const char name[] = "Rss:";
    FILE *f = fopen("/proc/self/smaps_rollup", "re");
    char line[256];
    long kib = -1;

    while (f && kib < 0 && fgets(line, sizeof(line), f))
        if (strncmp(line, name, strlen(name)) == 0)
            kib = strtol(line + strlen(name), NULL, 10);
    if (!f || kib < 0)
        exit(1);
    fclose(f);
    return kib;
}

/* Without the one that looks. */
static long open_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    long n = -3;

    if (!dir)
        exit(1);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static void run_once(const struct run_request *request)
{
    struct run_result result = { 0 };
    struct gb_err err = { 0 };

    if (run_execute(request, &result, &err) < 0 || run_result_exit_code(&result) != 0) {
        fprintf(stderr, "boxloop: %s\n", err.msg[0] ? err.msg : "the program failed");
        exit(1);
    }
    run_result_clear(&result);
}

int main(int argc, char **argv)
{
    static const char *const program[] = { "/usr/bin/true", NULL };
    struct box_spec spec = { .backend = "native", .limits = limits_default() };
    struct run_request request = {
        .box = &spec, .args = program, .workdir = BOX_WORKSPACE, .stdin_fd = -1, .cancel_fd = -1
    };
    unsigned long long begin = now_ns();
    long count;
    long every;

    if (argc != 5) {
        fprintf(stderr, "usage: boxloop RUN_DIR UID_BASE COUNT EVERY\n");
        return 2;
    }
    spec.run_dir = argv[1];
    spec.uid_base = (uint32_t)strtoul(argv[2], NULL, 10);
    count = strtol(argv[3], NULL, 10);
    every = strtol(argv[4], NULL, 10);
    for (long i = 1; i <= count; i++) {
        run_once(&request);
        if (i % every == 0)
            printf("%ld %ld %ld %llu\n", i, resident_kib(), open_descriptors(), now_ns() - begin);
    }
    return 0;
}
