/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_exec_lines.c - a run told in lines: what they hold, and whom they wait for. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fd.h"
#include "box/out_log.h"
#include "cli/exec_lines.h"
#include "run/result.h"

#include <cmocka.h>

#define SMALL_PIPE 4096

struct fixture {
    int in;
    int out;
    int cancel_in;
    int cancel_out;
    struct exec_lines lines;
};

static void open_lines(struct fixture *f)
{
    int ends[2];
    int cancel[2];

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(pipe2(cancel, O_CLOEXEC), 0);
    *f = (struct fixture){
        .in = ends[0], .out = ends[1], .cancel_in = cancel[0], .cancel_out = cancel[1]
    };
    exec_lines_init(&f->lines, f->out, f->cancel_in);
}

static void close_lines(struct fixture *f)
{
    exec_lines_clear(&f->lines);
    close(f->cancel_in);
    close(f->cancel_out);
    if (f->in >= 0)
        close(f->in);
    if (f->out >= 0)
        close(f->out);
}

static void expect_text(struct fixture *f, const char *text)
{
    char seen[4096] = "";
    ssize_t n = read(f->in, seen, sizeof(seen) - 1);

    assert_true(n > 0);
    assert_string_equal(seen, text);
}

static void add(struct fixture *f, int stream, const char *text, size_t len)
{
    assert_int_equal(exec_lines_output(&f->lines, stream, text, len), 0);
}

static void test_lines_tell_begin_steps_and_output(void **state)
{
    struct fixture f;

    (void)state;
    open_lines(&f);
    exec_lines_begin(&f.lines, "r_1", NULL, 1000);
    exec_lines_step(&f.lines, "run");
    add(&f, OUT_STDOUT, "a\n", 2);
    add(&f, OUT_STDERR, "\"", 1);
    expect_text(&f, "{\"event\":\"begin\",\"schema\":1,\"run\":\"r_1\",\"language\":null}\n"
                    "{\"event\":\"step\",\"name\":\"run\"}\n"
                    "{\"event\":\"output\",\"stream\":\"stdout\",\"data\":\"a\\n\"}\n"
                    "{\"event\":\"output\",\"stream\":\"stderr\",\"data\":\"\\\"\"}\n");
    close_lines(&f);
}

static void test_a_character_is_never_cut(void **state)
{
    static const char banana[] = "\xf0\x9f\x8d\x8c";
    struct fixture f;

    (void)state;
    open_lines(&f);
    for (size_t i = 0; i < 3; i++) {
        add(&f, OUT_STDOUT, &banana[i], 1);
        add(&f, OUT_STDERR, "x", 1);
        expect_text(&f, "{\"event\":\"output\",\"stream\":\"stderr\",\"data\":\"x\"}\n");
    }
    add(&f, OUT_STDOUT, "\x8cy\xc3", 3);
    expect_text(&f,
                "{\"event\":\"output\",\"stream\":\"stdout\",\"data\":\"\xf0\x9f\x8d\x8cy\"}\n");
    exec_lines_step(&f.lines, "run");
    expect_text(&f, "{\"event\":\"output\",\"stream\":\"stdout\",\"data\":\"\xef\xbf\xbd\","
                    "\"base64\":\"ww==\"}\n{\"event\":\"step\",\"name\":\"run\"}\n");
    close_lines(&f);
}

/* What can be no beginning of a character waits for nothing. */
static void test_bytes_that_are_no_text_are_told_at_once(void **state)
{
    struct fixture f;

    (void)state;
    open_lines(&f);
    add(&f, OUT_STDOUT, "\xff", 1);
    expect_text(&f, "{\"event\":\"output\",\"stream\":\"stdout\",\"data\":\"\xef\xbf\xbd\","
                    "\"base64\":\"/w==\"}\n");
    add(&f, OUT_STDOUT, "\xe2\x28", 2);
    expect_text(&f, "{\"event\":\"output\",\"stream\":\"stdout\",\"data\":\"\xef\xbf\xbd(\","
                    "\"base64\":\"4ig=\"}\n");
    close_lines(&f);
}

/* Behind its limit, or when it is told to end, a run does not wait for its reader. */
static void test_patience_ends(void **state)
{
    static const char much[64 << 10];
    struct fixture f;

    (void)state;
    for (int is_cancelled = 0; is_cancelled < 2; is_cancelled++) {
        open_lines(&f);
        exec_lines_begin(&f.lines, "r_1", "python", is_cancelled ? 600000 : 1);
        assert_true(fcntl(f.out, F_SETPIPE_SZ, SMALL_PIPE) >= SMALL_PIPE);
        if (is_cancelled)
            assert_int_equal(write(f.cancel_out, "x", 1), 1);
        exec_lines_step(&f.lines, "run");
        add(&f, OUT_STDOUT, much, sizeof(much));
        assert_true(f.lines.outlet.sent < f.lines.outlet.pending.len);
        assert_true(f.lines.outlet.pending.len > sizeof(much));
        close_lines(&f);
    }
}

static void test_a_reader_that_has_left_is_an_error(void **state)
{
    struct fixture f;

    (void)state;
    (void)signal(SIGPIPE, SIG_IGN);
    open_lines(&f);
    close(f.in);
    f.in = -1;
    assert_int_equal(exec_lines_output(&f.lines, OUT_STDOUT, "x", 1), -EPIPE);
    assert_int_equal(exec_lines_output(&f.lines, OUT_STDOUT, "x", 1), -EPIPE);
    close_lines(&f);
}

static void test_the_last_line_is_the_document(void **state)
{
    struct run_result result = { .id = "r_1", .error = { .code = -EIO, .msg = "lost" } };
    struct gb_err err = { 0 };
    struct fixture f;
    char seen[4096] = "";

    (void)state;
    open_lines(&f);
    add(&f, OUT_STDERR, "\xc3", 1);
    assert_int_equal(exec_lines_end(&f.lines, &result, false, &err), 0);
    close(f.out);
    f.out = -1;
    assert_true(fd_read_full(f.in, seen, sizeof(seen) - 1) > 0);
    assert_non_null(strstr(seen, "\"base64\":\"ww==\"}\n{\"event\":\"result\",\"document\":{"));
    assert_non_null(strstr(seen, "\"message\":\"lost\""));
    assert_string_equal(seen + strlen(seen) - 3, "}}\n");
    close_lines(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_tell_begin_steps_and_output),
        cmocka_unit_test(test_a_character_is_never_cut),
        cmocka_unit_test(test_bytes_that_are_no_text_are_told_at_once),
        cmocka_unit_test(test_patience_ends),
        cmocka_unit_test(test_a_reader_that_has_left_is_an_error),
        cmocka_unit_test(test_the_last_line_is_the_document),
    };

    return cmocka_run_group_tests_name("exec_lines", tests, NULL, NULL);
}
