/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_context_stream.c - a context that is read piece by piece, to its end or not. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "image/context_stream.h"

#include <cmocka.h>

#define LARGE (4 << 20)

static char dir[64];

static int make_dir(void **state)
{
    char path[100];
    int fd;
    int r;

    (void)state;
    (void)snprintf(dir, sizeof(dir), "/tmp/gbctx-XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    (void)snprintf(path, sizeof(path), "%s/large", dir);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    r = ftruncate(fd, LARGE);
    (void)close(fd);
    return r;
}

static int remove_dir(void **state)
{
    char path[100];

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/large", dir);
    (void)unlink(path);
    return rmdir(dir);
}

/* The sum of what comes; the last answer in *ret_r. */
static size_t drain(struct context_stream *stream, ssize_t *ret_r)
{
    static char bytes[10000];
    size_t sum = 0;

    while ((*ret_r = context_stream_read(stream, bytes, sizeof(bytes))) > 0)
        sum += (size_t)*ret_r;
    return sum;
}

static void a_dockerfile_alone_is_a_context(void **state)
{
    const struct context_spec spec = {
        .dir_fd = -1,
        .dockerfile_name = "Dockerfile",
        .dockerfile = "FROM x\n",
        .dockerfile_len = 7,
    };
    struct context_stream *stream = NULL;
    struct context_report report = { 0 };
    ssize_t r;

    (void)state;
    assert_int_equal(context_stream_open(&spec, &stream, NULL), 0);
    assert_int_equal(drain(stream, &r), 4 * 512);
    assert_int_equal(r, 0);
    assert_int_equal(context_stream_close(&stream, &report, NULL), 0);
    assert_int_equal(report.n_entries, 1);
    assert_null(stream);
}

static void a_directory_comes_whole(void **state)
{
    cleanup_close int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const struct context_spec spec = { .dir_fd = fd };
    struct context_stream *stream = NULL;
    struct context_report report = { 0 };
    ssize_t r;

    (void)state;
    assert_int_equal(context_stream_open(&spec, &stream, NULL), 0);
    assert_int_equal(drain(stream, &r), LARGE + 3 * 512);
    assert_int_equal(context_stream_close(&stream, &report, NULL), 0);
    assert_int_equal(report.n_bytes, LARGE);
}

static void a_reader_who_stops_early_is_no_failure(void **state)
{
    cleanup_close int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const struct context_spec spec = { .dir_fd = fd };
    struct context_stream *stream = NULL;
    struct context_report report = { 0 };
    struct gb_err err = { 0 };
    char bytes[10];

    (void)state;
    assert_int_equal(context_stream_open(&spec, &stream, &err), 0);
    assert_int_equal(context_stream_read(stream, bytes, sizeof(bytes)), sizeof(bytes));
    assert_int_equal(context_stream_close(&stream, &report, &err), 0);
    assert_int_equal(err.code, 0);
}

static void a_context_over_its_cap_fails_the_reader_too(void **state)
{
    cleanup_close int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const struct context_spec spec = { .dir_fd = fd, .max_bytes = 100 };
    struct context_stream *stream = NULL;
    struct context_report report = { 0 };
    struct gb_err err = { 0 };
    ssize_t r;

    (void)state;
    assert_int_equal(context_stream_open(&spec, &stream, &err), 0);
    (void)drain(stream, &r);
    assert_int_equal(r, -EFBIG);
    assert_int_equal(context_stream_close(&stream, &report, &err), -EFBIG);
    assert_int_equal(err.code, -EFBIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dockerfile_alone_is_a_context),
        cmocka_unit_test(a_directory_comes_whole),
        cmocka_unit_test(a_reader_who_stops_early_is_no_failure),
        cmocka_unit_test(a_context_over_its_cap_fails_the_reader_too),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
