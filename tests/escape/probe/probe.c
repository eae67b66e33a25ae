/* SPDX-License-Identifier: Apache-2.0 */
/* probe.c - the table of rows, and how they report. */
#include "probe.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGS_MAX 64

static const struct row {
    const char *id;
    row_fn *run;
    bool is_act; /* prints what it likes */
} rows[] = {
    { "C01", row_c01 },
    { "C02", row_c02 },
    { "C04", row_c04 },
    { "C05", row_c05 },
    { "C07", row_c07 },
    { "C09", row_c09 },
    { "C10", row_c10 },
    { "C11", row_c11 },
    { "C13", row_c13 },
    { "C14", row_c14 },
    { "C15", row_c15 },
    { "C16", row_c16 },
    { "C17", row_c17 },
    { "C18", row_c18 },
    { "C19", row_c19 },
    { "C20", row_c20 },
    { "C21", row_c21 },
    { "C22", row_c22 },
    { "C26", row_c26 },
    { "C27", row_c27 },
    { "I01", row_i01 },
    { "I02", row_i02 },
    { "N01", row_n01 },
    { "whoami", act_whoami, true },
    { "forge", act_forge, true },
    { "daemons", act_daemons, true },
    { "stopped", act_stopped, true },
    { "traced", act_traced, true },
    { "traceme", act_traceme, true },
    { "traceme-exec", act_traceme_exec, true },
    { "vforked", act_vforked, true },
    { "storm", act_storm, true },
    { "threads", act_threads, true },
    { "neighbour", act_neighbour, true },
    { "status", act_status, true },
};

static const char *current;
static unsigned n_lines;

void begin(const char *id)
{
    current = id;
    n_lines = 0;
}

static void line(const char *variant, const char *word, const char *detail)
{
    printf("%s %s %s %s\n", current, variant, word, detail);
    (void)fflush(stdout);
    n_lines++;
}

void end(void)
{
    printf("%s end DONE %u\n", current, n_lines);
    (void)fflush(stdout);
}

void blocked(const char *variant, const char *detail)
{
    line(variant, "BLOCKED", detail);
}

void leak(const char *variant, const char *detail)
{
    line(variant, "LEAK", detail);
}

void info(const char *variant, const char *detail)
{
    line(variant, "INFO", detail);
}

void verdict(const char *variant, bool is_leak, const char *detail)
{
    line(variant, is_leak ? "LEAK" : "BLOCKED", detail);
}

void control(const char *variant, bool works, const char *detail)
{
    line(variant, works ? "OK" : "BROKEN", detail);
}

const char *named(const char *format, ...)
{
    static char ring[4][PATH_MAX];
    static unsigned next;
    char *text = ring[next++ % ARRAY_SIZE(ring)];
    va_list list;

    va_start(list, format);
    (void)vsnprintf(text, sizeof(ring[0]), format, list);
    va_end(list);
    return text;
}

const char *error_name(int error)
{
    const char *name = strerrorname_np(error);

    return name ? name : named("errno-%d", error);
}

static bool is_among(int error, const int *allowed)
{
    for (; *allowed; allowed++)
        if (*allowed == error)
            return true;
    return false;
}

void refused(const char *variant, long rc, const int *allowed)
{
    int error = errno;

    if (rc >= 0)
        leak(variant, named("returned %ld", rc));
    else
        verdict(variant, !is_among(error, allowed), error_name(error));
}

struct reply {
    long rc;
    int error;
};

static _Noreturn void call_and_tell(long (*call)(const void *), const void *arg, unsigned seconds,
                                    int fd)
{
    struct reply reply;

    (void)alarm(seconds);
    errno = 0;
    reply.rc = call(arg);
    reply.error = errno;
    (void)!write(fd, &reply, sizeof(reply));
    _exit(0);
}

struct outcome in_child(long (*call)(const void *arg), const void *arg, unsigned seconds)
{
    struct outcome outcome = { .exit_code = -1 };
    struct reply reply;
    int ends[2], status = 0;
    pid_t pid;

    (void)fflush(stdout);
    if (pipe2(ends, O_CLOEXEC) < 0 || (pid = fork()) < 0) {
        perror("probe: in_child");
        exit(90);
    }
    if (pid == 0)
        call_and_tell(call, arg, seconds, ends[1]);
    close(ends[1]);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFSIGNALED(status)) {
        outcome.signo = WTERMSIG(status);
        outcome.is_hung = outcome.signo == SIGALRM;
    } else if (read(ends[0], &reply, sizeof(reply)) == sizeof(reply)) {
        outcome.rc = reply.rc;
        outcome.error = reply.error;
    } else {
        outcome.exit_code = WEXITSTATUS(status);
    }
    close(ends[0]);
    return outcome;
}

const char *outcome_text(const struct outcome *outcome)
{
    if (outcome->is_hung)
        return "waits";
    if (outcome->signo)
        return named("SIG%s", sigabbrev_np(outcome->signo));
    if (outcome->exit_code >= 0)
        return named("exit-%d", outcome->exit_code);
    return outcome->rc == -1 ? error_name(outcome->error) : "ok";
}

void refused_in_child(const char *variant, const struct outcome *outcome, const int *allowed)
{
    bool is_killed = outcome->signo == SIGSYS;
    bool is_error = !outcome->signo && outcome->exit_code < 0 && outcome->rc == -1 &&
                    is_among(outcome->error, allowed);

    verdict(variant, !is_killed && !is_error, outcome_text(outcome));
}

static void walk_at(const char *top, unsigned type, bool (*skip)(const char *),
                    void (*visit)(const char *), unsigned depth)
{
    char path[PATH_MAX];
    struct dirent *entry;
    struct stat st;
    DIR *dir = depth < 40 ? opendir(top) : NULL;

    if (!dir)
        return;
    while ((entry = readdir(dir))) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        if ((size_t)snprintf(path, sizeof(path), "%s/%s", strcmp(top, "/") ? top : "",
                             entry->d_name) >= sizeof(path))
            continue;
        if (lstat(path, &st) < 0)
            continue;
        if (S_ISDIR(st.st_mode) && !(skip && skip(path)))
            walk_at(path, type, skip, visit, depth + 1);
        else if ((st.st_mode & S_IFMT) == type)
            visit(path);
    }
    closedir(dir);
}

void walk(const char *top, unsigned type, bool (*skip)(const char *path),
          void (*visit)(const char *path))
{
    walk_at(top, type, skip, visit, 0);
}

long slurp(const char *path, char *buf, size_t size)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    size_t used = 0;
    ssize_t n = -1;

    if (fd < 0)
        return -1;
    while (used < size - 1 && (n = read(fd, buf + used, size - 1 - used)) > 0)
        used += (size_t)n;
    close(fd);
    buf[used] = '\0';
    return n < 0 && !used ? -1 : (long)used;
}

bool is_open(const char *path)
{
    char byte[2];
    struct dirent *entry;
    DIR *dir = opendir(path);
    bool has_name = false;

    if (!dir)
        return slurp(path, byte, sizeof(byte)) > 0;
    while (!has_name && (entry = readdir(dir)))
        has_name = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(dir);
    return has_name;
}

static int run_row(char *word)
{
    char *args[ARGS_MAX + 1] = { 0 };
    char *rest = strchr(word, '=');

    if (rest)
        *rest++ = '\0';
    for (size_t i = 0; rest && i < ARGS_MAX; i++)
        args[i] = strsep(&rest, ",");
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        if (strcmp(rows[i].id, word))
            continue;
        begin(rows[i].id);
        rows[i].run(args);
        if (!rows[i].is_act)
            end();
        return 0;
    }
    (void)fprintf(stderr, "probe: no row '%s'\n", word);
    return 2;
}

int main(int argc, char **argv)
{
    int failed = argc < 2 ? 2 : 0;

    for (int i = 1; i < argc && !failed; i++)
        failed = run_row(argv[i]);
    return failed;
}
