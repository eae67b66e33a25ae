/* SPDX-License-Identifier: Apache-2.0 */
/* bench/spawnloop.c - starts commands in turn and tells how long each took.
 *
 * usage: spawnloop ROUNDS BURST JOBS PAUSE_MS null|pipe :: COMMAND... [:: COMMAND...]...
 *
 * A round starts every command once, one after the other, so that whatever else the machine does
 * hits all of them alike; every round begins with another command.  "Once" is BURST starts, at most
 * JOBS of them at a time, and before each burst there is a pause.  Each burst is a line on stdout:
 * number of the command, nanoseconds from the first start to the last end, microseconds of CPU time
 * and the largest resident set in KiB, both of all its processes: those that a command leaves to
 * others to reap (bubblewrap does) are reaped here.
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
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COMMANDS_MAX 8
#define JOBS_MAX     64
#define ORPHANS_S    20           /* whoever stays longer ends the measurement (SIGALRM) */
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

/* What was started and has not ended. */
struct running {
    pid_t pids[JOBS_MAX];
    long n;
};

/* What a burst has used. */
struct cost {
    long cpu_us;
    long rss_kib;
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
static void start(char **argv, int out, struct running *running)
{
    posix_spawn_file_actions_t actions;

    if (posix_spawn_file_actions_init(&actions) != 0 ||
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0) != 0 ||
        posix_spawn_file_actions_adddup2(&actions, out, 1) != 0)
        die("file actions");
    errno = posix_spawn(&running->pids[running->n++], argv[0], &actions, NULL, argv, environ);
    if (errno != 0)
        die(argv[0]);
    posix_spawn_file_actions_destroy(&actions);
}

static long cpu_us(const struct rusage *used)
{
    return (used->ru_utime.tv_sec + used->ru_stime.tv_sec) * 1000000 + used->ru_utime.tv_usec +
           used->ru_stime.tv_usec;
}

static void add_cost(struct cost *cost, const struct rusage *used)
{
    cost->cpu_us += cpu_us(used);
    if (used->ru_maxrss > cost->rss_kib)
        cost->rss_kib = used->ru_maxrss;
}

/* Was it one of those that were started, not an orphan? */
static int was_running(struct running *running, pid_t pid)
{
    for (long i = 0; i < running->n; i++) {
        if (running->pids[i] != pid)
            continue;
        running->pids[i] = running->pids[--running->n];
        return 1;
    }
    return 0;
}

/* Waits for one that was started. */
static void finish(struct running *running, struct cost *cost)
{
    struct rusage used;
    int status;
    pid_t pid;

    do {
        while ((pid = wait4(-1, &status, 0, &used)) < 0)
            if (errno != EINTR)
                die("wait4");
        add_cost(cost, &used);
    } while (!was_running(running, pid));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return;
    fprintf(stderr, "spawnloop: a command failed with status %#x\n", (unsigned)status);
    exit(1);
}

/* Until there is none: what one command leaves to do must not slow down the next. */
static void reap_orphans(struct cost *cost)
{
    struct rusage used;

    alarm(ORPHANS_S);
    while (wait4(-1, NULL, 0, &used) > 0)
        add_cost(cost, &used);
    alarm(0);
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
static void run_piped(char **argv, struct cost *cost)
{
    struct running running = { .n = 0 };
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        die("pipe2");
    start(argv, ends[1], &running);
    close(ends[1]);
    drain(ends[0]);
    finish(&running, cost);
    close(ends[0]);
}

static void run_burst(const struct loop *loop, char **argv, int null, struct cost *cost)
{
    struct running running = { .n = 0 };

    for (long i = 0; i < loop->burst; i++) {
        if (loop->has_pipe) {
            run_piped(argv, cost);
            continue;
        }
        start(argv, null, &running);
        if (running.n == loop->jobs)
            finish(&running, cost);
    }
    while (running.n > 0)
        finish(&running, cost);
}

static void run_rounds(const struct loop *loop, int null)
{
    for (long round = 0; round < loop->rounds; round++) {
        for (long i = 0; i < loop->n_commands; i++) {
            long which = (round + i) % loop->n_commands;
            struct cost cost = { 0 };
            uint64_t begin;
            uint64_t end;

            pause_for(loop->pause_ms);
            begin = now_ns();
            run_burst(loop, loop->commands[which], null, &cost);
            end = now_ns();
            reap_orphans(&cost);
            printf("%ld %llu %ld %ld\n", which, (unsigned long long)(end - begin), cost.cpu_us,
                   cost.rss_kib);
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
    return loop->rounds > 0 && loop->burst > 0 && loop->jobs > 0 && loop->jobs <= JOBS_MAX ? 0 : -1;
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
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
        die("prctl");
    run_rounds(&loop, null);
    return 0;
}
