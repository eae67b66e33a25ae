/* SPDX-License-Identifier: Apache-2.0 */
/* bench/spawnloop.c - starts commands in turn and tells how long each took.
 *
 * usage: spawnloop ROUNDS BURST JOBS PAUSE_MS null|pipe :: COMMAND [ARG]... [:: COMMAND
 * [ARG]...]...
 *
 * A round starts every command once, one after the other, so that whatever else the machine does
 * hits all of them alike; every round begins with another command.  "Once" is BURST starts, at most
 * JOBS of them at a time, and before each burst there is a pause.  Each burst is a line on stdout:
 * number of the command, nanoseconds from the first start to the last end, and the largest resident
 * set in KiB among its processes.
 *
 * It is a program of its own because the figures are a few milliseconds: it is small, so that
 * starting from it costs little, and does nothing else meanwhile.  With `pipe` it also is the
 * reader of the command's stdout, to its end.  A command that fails ends the measurement.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COMMANDS_MAX 8
#define READ_SIZE    (128 * 1024) /* cat's */

extern char **environ;

struct loop {
    long rounds;
    long burst;
    long jobs;
    long pause_ms;
    int has_pipe;
    char **commands[COMMANDS_MAX];
    long n_commands;
};

static void die(const char *what)
{
    fprintf(stderr, "spawnloop: %s: %s\n", what, strerror(errno));
    exit(1);
}

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void pause_for(long ms)
{
    struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

    if (ms > 0)
        nanosleep(&t, NULL);
}

/* stdin is /dev/null, stdout the given descriptor, stderr ours. */
static pid_t start(char **argv, int out)
{
    posix_spawn_file_actions_t actions;
    pid_t pid;

    if (posix_spawn_file_actions_init(&actions) != 0 ||
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0) != 0 ||
        posix_spawn_file_actions_adddup2(&actions, out, 1) != 0)
        die("file actions");
    errno = posix_spawn(&pid, argv[0], &actions, NULL, argv, environ);
    if (errno != 0)
        die(argv[0]);
    posix_spawn_file_actions_destroy(&actions);
    return pid;
}

static void finish(char **argv, long *largest)
{
    struct rusage used;
    int status;

    while (wait4(-1, &status, 0, &used) < 0)
        if (errno != EINTR)
            die("wait4");
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fprintf(stderr, "spawnloop: %s %s failed with status %#x\n", argv[0],
                argv[1] ? argv[1] : "", (unsigned)status);
        exit(1);
    }
    if (used.ru_maxrss > *largest)
        *largest = used.ru_maxrss;
}

static void drain(int fd)
{
    static char bytes[READ_SIZE];
    ssize_t n;

    do {
        n = read(fd, bytes, sizeof(bytes));
    } while (n > 0 || (n < 0 && errno == EINTR));
    if (n < 0)
        die("read");
}

/* One start whose output is read to its end. */
static void run_piped(char **argv, long *largest)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        die("pipe2");
    (void)start(argv, ends[1]);
    close(ends[1]);
    drain(ends[0]);
    finish(argv, largest);
    close(ends[0]);
}

static void run_burst(const struct loop *loop, char **argv, int null, long *largest)
{
    long running = 0;

    for (long i = 0; i < loop->burst; i++) {
        if (loop->has_pipe) {
            run_piped(argv, largest);
            continue;
        }
        (void)start(argv, null);
        if (++running < loop->jobs)
            continue;
        finish(argv, largest);
        running--;
    }
    for (; running > 0; running--)
        finish(argv, largest);
}

static void run_rounds(const struct loop *loop, int null)
{
    for (long round = 0; round < loop->rounds; round++) {
        for (long i = 0; i < loop->n_commands; i++) {
            long which = (round + i) % loop->n_commands;
            long largest = 0;
            uint64_t begin;

            pause_for(loop->pause_ms);
            begin = now_ns();
            run_burst(loop, loop->commands[which], null, &largest);
            printf("%ld %llu %ld\n", which, (unsigned long long)(now_ns() - begin), largest);
        }
    }
}

/* Splits argv at "::" in place. */
static int parse(struct loop *loop, int argc, char **argv)
{
    if (argc < 8 || strcmp(argv[6], "::") != 0)
        return -1;
    loop->rounds = strtol(argv[1], NULL, 10);
    loop->burst = strtol(argv[2], NULL, 10);
    loop->jobs = strtol(argv[3], NULL, 10);
    loop->pause_ms = strtol(argv[4], NULL, 10);
    loop->has_pipe = strcmp(argv[5], "pipe") == 0;
    for (int i = 6; i < argc; i++) {
        if (strcmp(argv[i], "::") != 0)
            continue;
        if (loop->n_commands == COMMANDS_MAX || i + 1 == argc)
            return -1;
        argv[i] = NULL;
        loop->commands[loop->n_commands++] = &argv[i + 1];
    }
    return loop->rounds > 0 && loop->burst > 0 && loop->jobs > 0 ? 0 : -1;
}

int main(int argc, char **argv)
{
    struct loop loop = { 0 };
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (null < 0)
        die("/dev/null");
    if (parse(&loop, argc, argv) < 0) {
        fprintf(stderr, "usage: spawnloop ROUNDS BURST JOBS PAUSE_MS null|pipe :: COMMAND...\n");
        return 2;
    }
    run_rounds(&loop, null);
    return 0;
}
