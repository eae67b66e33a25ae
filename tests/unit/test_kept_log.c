/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_kept_log.c - output of runs in files: what is kept, what a reader sees, and when the
 * writer is killed or the files are not what they were. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "run/kept_log.h"
#include "run/kept_run.h"
#include "run/result.h"

#include <cmocka.h>

#define ID "r_00000000000000000000000000"

struct place {
    char path[64];
    int fd;
    struct gb_err err;
};

static int set_up(void **state)
{
    struct place *place = calloc(1, sizeof(*place));

    assert_non_null(place);
    (void)snprintf(place->path, sizeof(place->path), "/tmp/kept-log-XXXXXX");
    assert_non_null(mkdtemp(place->path));
    place->fd = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(place->fd >= 0);
    *state = place;
    return 0;
}

static int tear_down(void **state)
{
    struct place *place = *state;
    char command[128];
    pid_t pid = fork();
    int status;

    (void)snprintf(command, sizeof(command), "%s", place->path);
    if (pid == 0) {
        execlp("rm", "rm", "-rf", command, NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    close(place->fd);
    free(place);
    return 0;
}

static struct kept_log *log_new(struct place *place, uint64_t keep)
{
    struct kept_log *log = kept_log_new(place->fd, ID, keep);

    assert_non_null(log);
    return log;
}

/* Everything from a cursor on: "1:bytes" and "2:bytes" in a row. */
static void read_all(struct place *place, uint64_t cursor, struct buf *ret, uint64_t *ret_dropped,
                     uint64_t *ret_next)
{
    static struct kept_reader reader;
    struct kept_chunk chunk;
    int r;

    kept_reader_init(&reader, place->fd, ID, cursor);
    while ((r = kept_reader_next(&reader, &chunk)) > 0) {
        (void)buf_printf(ret, "%u:", chunk.stream);
        (void)buf_add(ret, chunk.bytes, chunk.len);
    }
    assert_int_equal(r, 0);
    *ret_dropped = reader.dropped;
    *ret_next = reader.cursor;
    kept_reader_clear(&reader);
}

static void expect(struct place *place, uint64_t cursor, const char *text, uint64_t next)
{
    cleanup_buf struct buf got = BUF_INIT(1 << 20);
    uint64_t dropped;
    uint64_t at;

    (void)buf_puts(&got, "");
    read_all(place, cursor, &got, &dropped, &at);
    assert_string_equal(got.data, text);
    assert_int_equal(dropped, 0);
    assert_int_equal(at, next);
}

static void test_what_was_written_is_read_from_any_cursor(void **state)
{
    struct place *place = *state;
    struct kept_log *log = log_new(place, 1 << 20);

    expect(place, 0, "", 0);
    kept_log_add(log, 1, "abc", 3);
    kept_log_add(log, 2, "de", 2);
    expect(place, 0, "1:abc2:de", 5);
    kept_log_add(log, 1, "f", 1);
    expect(place, 0, "1:abc2:de1:f", 6);
    expect(place, 2, "1:c2:de1:f", 6);
    expect(place, 3, "2:de1:f", 6);
    expect(place, 6, "", 6);
    expect(place, 99, "", 99);
    kept_log_free(log);
    expect(place, 0, "1:abc2:de1:f", 6);
}

static uint64_t disk_use(const struct place *place, unsigned *ret_files)
{
    uint64_t bytes = 0;

    *ret_files = 0;
    for (unsigned i = 0; i < 10000; i++) {
        char name[64];
        struct stat st;

        (void)snprintf(name, sizeof(name), i ? ID ".log.%u" : ID ".log", i);
        if (fstatat(place->fd, name, &st, 0) < 0)
            continue;
        bytes += (uint64_t)st.st_size;
        (*ret_files)++;
    }
    return bytes;
}

static void test_beginning_and_end_of_a_flood_are_kept(void **state)
{
    struct place *place = *state;
    struct kept_log *log = log_new(place, 4096);
    cleanup_buf struct buf got = BUF_INIT(1 << 20);
    uint64_t dropped;
    uint64_t next;
    unsigned files;
    char line[16];

    for (unsigned i = 0; i < 5000; i++) {
        (void)snprintf(line, sizeof(line), "%07u\n", i);
        kept_log_add(log, 1, line, 8);
        assert_true(disk_use(place, &files) <= 4096 + 100);
        assert_true(files <= 4);
        i += i > 300 ? 100 : 0;
    }
    assert_int_equal(kept_log_error(log), 0);
    read_all(place, 0, &got, &dropped, &next);
    assert_int_equal(next, kept_log_total(log));
    assert_true(dropped > 0);
    assert_memory_equal(got.data, "1:0000000\n1:0000001\n", 20);
    assert_memory_equal(got.data + got.len - 8, line, 8);
    kept_log_free(log);
}

/* A reader in the middle of a file that goes finds where to go on. */
static void test_a_slow_reader_of_a_flood_sees_order_and_gaps(void **state)
{
    struct place *place = *state;
    struct kept_log *log = log_new(place, 2048);
    static struct kept_reader reader;
    uint64_t seen = 0;
    unsigned last = 0;
    unsigned n = 0;

    kept_reader_init(&reader, place->fd, ID, 0);
    for (unsigned i = 1; i <= 3000; i++) {
        struct kept_chunk chunk;
        char line[16];

        (void)snprintf(line, sizeof(line), "%07u\n", i);
        kept_log_add(log, 1, line, 8);
        if (i % 7 != 0 || kept_reader_next(&reader, &chunk) <= 0)
            continue;
        assert_int_equal(chunk.len, 8);
        assert_true((unsigned)strtoul((const char *)chunk.bytes, NULL, 10) > last);
        last = (unsigned)strtoul((const char *)chunk.bytes, NULL, 10);
        seen += 8;
        n++;
        assert_int_equal(reader.cursor, 8 * (uint64_t)last);
        assert_int_equal(seen + reader.dropped, reader.cursor);
    }
    assert_true(n > 100 && reader.dropped > 0);
    kept_reader_clear(&reader);
    kept_log_free(log);
}

static void test_output_longer_than_a_chunk_is_whole(void **state)
{
    struct place *place = *state;
    struct kept_log *log = log_new(place, 8 << 20);
    size_t len = 3 * KEPT_CHUNK_MAX + 17;
    cleanup_free char *bytes = malloc(len);
    static struct kept_reader reader;
    struct kept_chunk chunk;
    size_t at = 0;

    assert_non_null(bytes);
    for (size_t i = 0; i < len; i++)
        bytes[i] = (char)(i * 7 + i / 251);
    kept_log_add(log, 2, bytes, len);
    kept_reader_init(&reader, place->fd, ID, 0);
    while (kept_reader_next(&reader, &chunk) > 0) {
        assert_memory_equal(chunk.bytes, bytes + at, chunk.len);
        at += chunk.len;
    }
    assert_int_equal(at, len);
    kept_reader_clear(&reader);
    kept_log_free(log);
}

/* The writer was killed in the middle of a chunk, at each byte of it. */
static void test_half_a_chunk_is_not_seen(void **state)
{
    struct place *place = *state;
    struct kept_log *log = log_new(place, 1 << 20);
    struct stat st;

    kept_log_add(log, 1, "whole", 5);
    kept_log_add(log, 1, "half", 4);
    kept_log_free(log);
    assert_int_equal(fstatat(place->fd, ID ".log", &st, 0), 0);
    for (off_t size = st.st_size - 1; size >= st.st_size - 24; size--) {
        cleanup_close int fd = openat(place->fd, ID ".log", O_WRONLY | O_CLOEXEC);

        assert_int_equal(ftruncate(fd, size), 0);
        expect(place, 0, "1:whole", 5);
    }
}

/* What a crash of the machine may leave: a file of the right length without its bytes. */
static void test_junk_is_not_taken_for_output(void **state)
{
    static const uint8_t zeros[4096];
    struct place *place = *state;
    struct kept_log *log = log_new(place, 1 << 20);
    cleanup_close int fd = -1;

    kept_log_add(log, 1, "good", 4);
    kept_log_free(log);
    fd = openat(place->fd, ID ".log", O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_int_equal(fd_write_full(fd, zeros, sizeof(zeros)), 0);
    expect(place, 0, "1:good", 4);
    for (size_t i = 0; i < KEPT_CHUNK_HEAD; i++) { /* one bit of the first head */
        cleanup_close int rw = openat(place->fd, ID ".log", O_RDWR | O_CLOEXEC);
        uint8_t byte;

        assert_int_equal(pread(rw, &byte, 1, (off_t)i), 1);
        byte ^= 4;
        assert_int_equal(pwrite(rw, &byte, 1, (off_t)i), 1);
        expect(place, 0, "", 0);
        byte ^= 4;
        assert_int_equal(pwrite(rw, &byte, 1, (off_t)i), 1);
    }
    expect(place, 0, "1:good", 4);
}

static void test_a_log_is_made_once_and_removed_whole(void **state)
{
    struct place *place = *state;
    struct kept_log *log = log_new(place, 256);
    struct kept_log *other = log_new(place, 256);
    unsigned files;

    (void)disk_use(place, &files);
    assert_int_equal(files, 0); /* before anything is written */
    for (int i = 0; i < 100; i++)
        kept_log_add(log, 1, "0123456789", 10);
    kept_log_free(log);
    kept_log_add(other, 1, "x", 1);
    assert_int_equal(kept_log_error(other), -EEXIST);
    kept_log_free(other);
    kept_log_remove(place->fd, ID);
    (void)disk_use(place, &files);
    assert_int_equal(files, 0);
    expect(place, 0, "", 0);
}

/* ---- records -------------------------------------------------------------------------------- */

static void test_a_run_is_running_then_ended_or_lost(void **state)
{
    struct place *place = *state;
    struct run_result result = { .id = ID };
    cleanup_kept_run struct kept_run run = { 0 };
    cleanup_close int record = kept_run_begin(place->fd, ID, "a command", 5, &place->err);

    assert_true(record >= 0);
    assert_false(kept_run_has_ended(place->fd, ID));
    assert_int_equal(kept_run_find(place->fd, "r_0", &run, &place->err), 0);
    assert_true(run.is_running);
    assert_null(run.verdict);
    assert_string_equal(run.command, "a command");
    assert_int_equal(flock(record, LOCK_UN), 0);
    assert_true(kept_run_has_ended(place->fd, ID));
    kept_run_clear(&run);
    assert_int_equal(kept_run_find(place->fd, NULL, &run, &place->err), 0);
    assert_false(run.is_running); /* and it has no verdict: its command was killed */
    assert_null(run.verdict);
    result.n_steps = 1;
    result.steps[0].verdict = VERDICT_OK;
    result.steps[0].facts.has_exited = true;
    assert_int_equal(kept_run_end(record, "a command", 5, &result, 77, &place->err), 0);
    kept_run_clear(&run);
    assert_int_equal(kept_run_find(place->fd, ID, &run, &place->err), 0);
    assert_string_equal(run.verdict, "ok");
    assert_int_equal(run.output_bytes, 77);
    assert_int_equal(kept_run_find(place->fd, "r_1", &(struct kept_run){ 0 }, &place->err),
                     -ENOENT);
}

/* Whoever writes the end is killed behind each byte of it. */
static void test_half_an_end_is_none(void **state)
{
    struct place *place = *state;
    struct run_result result = { .id = ID, .n_steps = 1 };
    cleanup_close int record = kept_run_begin(place->fd, ID, "a command", 5, &place->err);
    off_t begun = lseek(record, 0, SEEK_END);
    off_t whole;

    result.steps[0].facts.has_exited = true;
    assert_int_equal(kept_run_end(record, "a command", 5, &result, 77, &place->err), 0);
    whole = lseek(record, 0, SEEK_END);
    assert_true(whole > begun && begun > 0);
    for (off_t size = whole; size >= begun; size--) {
        cleanup_kept_run struct kept_run run = { 0 };

        assert_int_equal(ftruncate(record, size), 0);
        assert_int_equal(kept_run_find(place->fd, ID, &run, &place->err), 0);
        assert_int_equal(run.verdict != NULL, size == whole);
        assert_string_equal(run.command, "a command");
    }
}

/* Who lists the runs takes the lock of each for a moment: a record that had its name before it is
 * held would be kept from being held by that, and its run from beginning. */
static void test_a_record_has_its_name_once_it_is_held_and_whole(void **state)
{
    struct place *place = *state;
    cleanup_close int news = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    cleanup_close int record = -1;
    _Alignas(8) char events[4096];
    unsigned seen = 0;
    ssize_t n;

    assert_true(inotify_add_watch(news, place->path, IN_ALL_EVENTS) >= 0);
    record = kept_run_begin(place->fd, ID, "a command", 5, &place->err);
    assert_true(record >= 0);
    n = read(news, events, sizeof(events));
    assert_true(n > 0);
    for (ssize_t at = 0; at < n;) {
        const struct inotify_event *event = (const void *)(events + at);

        if (event->len && strcmp(event->name, ID ".json") == 0)
            seen |= event->mask;
        at += (ssize_t)(sizeof(*event) + event->len);
    }
    assert_true(seen & IN_MOVED_TO);
    assert_false(seen & (IN_CREATE | IN_MODIFY));
}

static void test_the_oldest_runs_that_are_over_are_forgotten(void **state)
{
    struct place *place = *state;
    struct kept_run *list = NULL;
    int running = -1;
    size_t n = 0;

    for (unsigned i = 0; i < KEPT_RUNS_MAX + KEPT_RUNS_MORE + 1; i++) {
        char id[ID_SIZE];
        int record;

        (void)snprintf(id, sizeof(id), "r_%026u", i);
        record = kept_run_begin(place->fd, id, "x", i + 1, &place->err);
        assert_true(record >= 0);
        if (i == 0)
            running = record;
        else
            close(record);
    }
    assert_int_equal(kept_run_list(place->fd, &list, &n, &place->err), 0);
    assert_int_equal(n, KEPT_RUNS_MAX + 1);
    assert_true(list[0].is_running);
    assert_int_equal(list[0].started_ms, 1);
    assert_int_equal(list[1].started_ms, KEPT_RUNS_MORE + 2);
    for (size_t i = 0; i < n; i++)
        kept_run_clear(&list[i]);
    free(list);
    close(running);
}

static void test_records_that_are_none_are_passed_over(void **state)
{
    static const char *const texts[] = { "", "{", "[]", "{\"command\":1,\"started_ms\":1}",
                                         "{\"started_ms\":1}" };
    struct place *place = *state;
    struct kept_run *list = NULL;
    size_t n = 0;

    for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
        cleanup_close int fd =
            openat(place->fd, ID ".json", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        assert_int_equal(fd_write_full(fd, texts[i], strlen(texts[i])), 0);
        assert_int_equal(kept_run_list(place->fd, &list, &n, &place->err), 0);
        assert_int_equal(n, 0);
        free(list);
    }
    assert_int_equal(symlinkat("/etc/passwd", place->fd, "r_11111111111111111111111111.json"), 0);
    assert_int_equal(kept_run_list(place->fd, &list, &n, &place->err), 0);
    assert_int_equal(n, 0);
    free(list);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_what_was_written_is_read_from_any_cursor),
        CASE(test_beginning_and_end_of_a_flood_are_kept),
        CASE(test_a_slow_reader_of_a_flood_sees_order_and_gaps),
        CASE(test_output_longer_than_a_chunk_is_whole),
        CASE(test_half_a_chunk_is_not_seen),
        CASE(test_junk_is_not_taken_for_output),
        CASE(test_a_log_is_made_once_and_removed_whole),
        CASE(test_a_run_is_running_then_ended_or_lost),
        CASE(test_half_an_end_is_none),
        CASE(test_a_record_has_its_name_once_it_is_held_and_whole),
        CASE(test_the_oldest_runs_that_are_over_are_forgotten),
        CASE(test_records_that_are_none_are_passed_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
