/* SPDX-License-Identifier: Apache-2.0 */
/* run/kept_run.c - the runs of a box that lives on, as files beside its record. */
#include "run/kept_run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/file.h"
#include "json/bind.h"
#include "json/writer.h"
#include "run/kept_log.h"
#include "run/result.h"

#define NEW_PREFIX    "."
#define RECORD_ENDING ".json"
#define RECORD_MAX    65536

/* Between its making and its lock a new record is nobody's: for far less than this. */
#define NEW_MS 60000

/* More than are ever there: those under way are not forgotten. */
#define LIST_MAX 4096

#define AT(field) offsetof(struct kept_run, field)
static const struct bind_field fields[] = {
    { "command", BIND_STR, AT(command), BIND_REQUIRED },
    { "verdict", BIND_STR, AT(verdict) },
    { "started_ms", BIND_U64, AT(started_ms), BIND_REQUIRED },
    { "pid", BIND_U64, AT(pid), 0, 0, INT_MAX },
    { "ended_ms", BIND_U64, AT(ended_ms) },
    { "exit_code", BIND_U64, AT(exit_code), 0, 0, 255 },
    { "output_bytes", BIND_U64, AT(output_bytes) },
    { 0 },
};
static const struct bind bind = { .fields = fields, .text_max = RECORD_MAX };

void kept_run_clear(struct kept_run *run)
{
    bind_clear(&bind, run);
}

uint64_t kept_run_now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- writing -------------------------------------------------------------------------------- */

/* One more line, of one write: a reader sees all of it or takes the one before. */
static int record_add(int fd, const struct kept_run *run, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(RECORD_MAX);
    struct json_writer w;
    int r;

    json_writer_init(&w, &text, false);
    json_object_begin(&w, NULL);
    json_put_str(&w, "command", run->command);
    json_put_str(&w, "verdict", run->verdict);
    json_put_u64(&w, "started_ms", run->started_ms);
    json_put_u64(&w, "pid", run->pid);
    json_put_u64(&w, "ended_ms", run->ended_ms);
    json_put_u64(&w, "exit_code", run->exit_code);
    json_put_u64(&w, "output_bytes", run->output_bytes);
    json_object_end(&w);
    r = json_writer_end(&w);
    if (r == 0)
        r = buf_putc(&text, '\n');
    if (r == 0)
        r = fd_write_full(fd, text.data, text.len);
    return r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "writing down run %s: %s", run->id, strerror(-r))
                 : 0;
}

/* Held and written before it has its name: whoever lists the runs finds no record that nobody holds
 * yet, and none whose lock the look itself could be in the way of. */
static int record_new(int runs_fd, const struct kept_run *run, struct gb_err *err)
{
    char temp[NAME_MAX];
    char name[NAME_MAX];
    cleanup_close int fd = -1;
    int r;

    (void)snprintf(temp, sizeof(temp), NEW_PREFIX "%s" RECORD_ENDING, run->id);
    (void)snprintf(name, sizeof(name), "%s" RECORD_ENDING, run->id);
    fd = openat(runs_fd, temp, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        return gb_fail_sys(err, "writing down run %s", run->id);
    r = flock(fd, LOCK_EX | LOCK_NB) < 0 ? gb_fail_sys(err, "holding run %s", run->id)
                                         : record_add(fd, run, err);
    if (r == 0 && renameat(runs_fd, temp, runs_fd, name) < 0)
        r = gb_fail_sys(err, "writing down run %s", run->id);
    if (r < 0) {
        (void)unlinkat(runs_fd, temp, 0);
        return r;
    }
    return take_fd(&fd);
}

static void forget(int runs_fd, const char *id)
{
    char name[NAME_MAX];

    (void)snprintf(name, sizeof(name), "%s" RECORD_ENDING, id);
    kept_log_remove(runs_fd, id);
    (void)unlinkat(runs_fd, name, 0);
}

/* Is it the name of a record?  Then the id in it. */
static bool id_of(const char *name, char ret[static ID_SIZE])
{
    if (strlen(name) != ID_SIZE - 1 + strlen(RECORD_ENDING) ||
        strcmp(name + ID_SIZE - 1, RECORD_ENDING) != 0)
        return false;
    (void)snprintf(ret, ID_SIZE, "%.*s", ID_SIZE - 1, name);
    return id_is_valid('r', ret);
}

static bool is_new(const char *name)
{
    char id[ID_SIZE];

    return strncmp(name, NEW_PREFIX, strlen(NEW_PREFIX)) == 0 &&
           id_of(name + strlen(NEW_PREFIX), id);
}

/* What a command left that was killed before its record had a name. */
static void sweep_new(int runs_fd, const char *name)
{
    cleanup_close int fd =
        openat(runs_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    struct stat st;

    if (fd >= 0 && fstat(fd, &st) == 0 &&
        kept_run_now_ms() > (uint64_t)st.st_mtim.tv_sec * 1000 + NEW_MS &&
        flock(fd, LOCK_EX | LOCK_NB) == 0)
        (void)unlinkat(runs_fd, name, 0);
}

/* How many there are, and sweeps what is none; 0 when they cannot be looked at. */
static size_t count(int runs_fd)
{
    int fd = openat(runs_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    size_t n = 0;

    if (!dir && fd >= 0)
        close(fd);
    while (dir && (entry = readdir(dir)) != NULL) {
        char id[ID_SIZE];

        n += id_of(entry->d_name, id);
        if (is_new(entry->d_name))
            sweep_new(runs_fd, entry->d_name);
    }
    if (dir)
        (void)closedir(dir);
    return n;
}

static void forget_oldest(int runs_fd)
{
    struct gb_err ignored = { 0 };
    struct kept_run *list = NULL;
    size_t n = 0;

    if (count(runs_fd) <= KEPT_RUNS_MAX + KEPT_RUNS_MORE ||
        kept_run_list(runs_fd, &list, &n, &ignored) < 0)
        return;
    for (size_t i = 0; i < n; i++) {
        if (i + KEPT_RUNS_MAX < n && !list[i].is_running)
            forget(runs_fd, list[i].id);
        kept_run_clear(&list[i]);
    }
    free(list);
}

int kept_run_begin(int runs_fd, const char *id, const char *command, uint64_t started_ms,
                   struct gb_err *err)
{
    struct kept_run run = { .started_ms = started_ms, .pid = (uint64_t)getpid() };
    char text[KEPT_RUN_COMMAND_MAX + 1];
    int fd;

    (void)snprintf(run.id, sizeof(run.id), "%s", id);
    (void)snprintf(text, sizeof(text), "%s", command);
    run.command = text;
    fd = record_new(runs_fd, &run, err);
    if (fd >= 0)
        forget_oldest(runs_fd);
    return fd;
}

int kept_run_end(int record_fd, const char *command, uint64_t started_ms,
                 const struct run_result *result, uint64_t output_bytes, struct gb_err *err)
{
    char text[KEPT_RUN_COMMAND_MAX + 1];
    char verdict[64];
    struct kept_run run = {
        .command = text,
        .verdict = verdict,
        .started_ms = started_ms,
        .ended_ms = kept_run_now_ms(),
        .exit_code = (uint64_t)run_result_exit_code(result),
        .output_bytes = output_bytes,
    };
    int r;

    (void)snprintf(run.id, sizeof(run.id), "%s", result->id);
    (void)snprintf(text, sizeof(text), "%s", command);
    (void)snprintf(verdict, sizeof(verdict), "%s", verdict_name(run_result_step(result)->verdict));
    r = record_add(record_fd, &run, err);
    /* Not by its close, whose event comes first: who waits for it would look too early. */
    (void)flock(record_fd, LOCK_UN);
    return r;
}

bool kept_run_has_ended(int runs_fd, const char *id)
{
    char name[NAME_MAX];
    cleanup_close int fd = -1;

    (void)snprintf(name, sizeof(name), "%s" RECORD_ENDING, id);
    fd = openat(runs_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    return fd < 0 || flock(fd, LOCK_SH | LOCK_NB) == 0;
}

/* ---- reading -------------------------------------------------------------------------------- */

/* The last line that is whole: whoever writes may be killed at any moment.  Without any, all there
 * is, which is no record then. */
static const char *last_line(const struct buf *text, size_t *ret_len)
{
    const char *end = text->len ? memrchr(text->data, '\n', text->len) : NULL;
    const char *before = end ? memrchr(text->data, '\n', (size_t)(end - text->data)) : NULL;
    const char *begin = before ? before + 1 : text->data;

    *ret_len = end ? (size_t)(end - begin) : text->len;
    return begin;
}

static int record_read(int runs_fd, const char *id, struct kept_run *ret, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(RECORD_MAX);
    char name[NAME_MAX];
    cleanup_close int fd = -1;
    bool has_ended = kept_run_has_ended(runs_fd, id); /* first: what ends later has its verdict */
    const char *line;
    size_t len;
    int r;

    (void)snprintf(name, sizeof(name), "%s" RECORD_ENDING, id);
    fd = openat(runs_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    r = fd < 0 ? -errno : file_read(fd, &text);
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "run %s: %s", id, strerror(-r));
    *ret = (struct kept_run){ 0 };
    line = last_line(&text, &len);
    r = bind_text(&bind, line, len, ret, err);
    if (r < 0)
        return r;
    (void)snprintf(ret->id, sizeof(ret->id), "%s", id);
    ret->is_running = !ret->verdict && !has_ended;
    return 0;
}

static int by_start(const void *a, const void *b)
{
    const struct kept_run *one = a;
    const struct kept_run *other = b;

    if (one->started_ms != other->started_ms)
        return one->started_ms < other->started_ms ? -1 : 1;
    return strcmp(one->id, other->id);
}

int kept_run_list(int runs_fd, struct kept_run **ret, size_t *ret_n, struct gb_err *err)
{
    int fd = openat(runs_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct kept_run *list = dir ? calloc(LIST_MAX, sizeof(*list)) : NULL;
    const struct dirent *entry;
    size_t n = 0;

    if (!dir && fd >= 0)
        close(fd);
    if (!dir)
        return gb_fail_sys(err, "reading the runs of the box");
    while (list && n < LIST_MAX && (entry = readdir(dir)) != NULL) {
        struct gb_err ignored = { 0 }; /* it went in this moment, or is none of ours */
        char id[ID_SIZE];

        if (id_of(entry->d_name, id) && record_read(runs_fd, id, &list[n], &ignored) == 0)
            n++;
    }
    (void)closedir(dir);
    if (!list)
        return gb_no_memory(err);
    qsort(list, n, sizeof(*list), by_start);
    *ret = list;
    *ret_n = n;
    return 0;
}

/* The place of the one that is meant; n for none, n + 1 for more than one. */
static size_t choose(const struct kept_run *list, size_t n, const char *id)
{
    size_t found = n;

    if (!id)
        return n > 0 ? n - 1 : n;
    for (size_t i = 0; i < n; i++) {
        if (strncmp(list[i].id, id, strlen(id)) != 0)
            continue;
        if (found < n)
            return n + 1;
        found = i;
    }
    return found;
}

int kept_run_find(int runs_fd, const char *id, struct kept_run *ret, struct gb_err *err)
{
    struct kept_run *list = NULL;
    size_t n = 0;
    size_t at;
    int r = kept_run_list(runs_fd, &list, &n, err);

    if (r < 0)
        return r;
    at = choose(list, n, id);
    if (at < n) {
        *ret = list[at];
        list[at] = (struct kept_run){ 0 };
    } else if (!id) {
        r = gb_fail(err, -ENOENT, GB_BLAME_CALLER, "nothing has run in that box yet");
    } else {
        r = gb_fail(err, -ENOENT, GB_BLAME_CALLER,
                    "%s run '%.40s'" GB_REMEDY "glovebox box runs BOX shows them",
                    at == n ? "there is no" : "more than one", id);
    }
    for (size_t i = 0; i < n; i++)
        kept_run_clear(&list[i]);
    free(list);
    return r;
}
