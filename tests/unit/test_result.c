/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_result.c - the result of a run and its JSON. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "box/out_log.h"
#include "json/bind.h"
#include "run/result.h"

#include <cmocka.h>

/* A Python program that printed 42. */
static void make(struct run_result *result)
{
    *result = (struct run_result){
        .id = "r_0123456789abcdefghjkmnpqrs",
        .language = "python",
        .n_steps = 1,
        .n_planned = 1,
        .log = out_log_new(1000),
        .has_receipt = true,
        .receipt = { .backend = "native",
                     .walls = WALLS_ALL,
                     .net = "none",
                     .seccomp = "default",
                     .landlock = 7,
                     .groups = "v1",
                     .accounting = "run",
                     .limits = limits_default() },
    };
    result->steps[0] = (struct run_step){
        .name = "run",
        .verdict = VERDICT_OK,
        .facts = { .has_exited = true, .disk_free = 1 << 20, .inodes_free = 10 },
        .wall_us = 12431,
        .cpu_us = 9802,
        .memory_peak_bytes = 9175040,
    };
    assert_non_null(result->log);
}

static void write_out(struct run_result *result, const char *text, size_t len)
{
    out_log_add(result->log, OUT_STDOUT, text, len);
    result->steps[result->n_steps - 1].end = out_log_mark(result->log);
}

static void write_err(struct run_result *result, const char *text)
{
    out_log_add(result->log, OUT_STDERR, text, strlen(text));
    result->steps[result->n_steps - 1].end = out_log_mark(result->log);
}

/* The document as text; freed with the buf.  It is always JSON with no key twice. */
static const char *json_of(const struct run_result *result, bool with_base64, struct buf *buf)
{
    static const struct bind_field none[] = { { 0 } };
    static const struct bind any = { none, 1 << 20, BIND_IGNORE_UNKNOWN };
    struct gb_err err = { 0 };
    char unused;

    buf_reset(buf);
    assert_int_equal(run_result_json(result, with_base64, buf), 0);
    if (bind_text(&any, buf->data, buf->len, &unused, &err) < 0)
        fail_msg("%s: %s", err.msg, buf->data);
    return buf->data;
}

static void has(const struct run_result *result, const char *part)
{
    cleanup_buf struct buf buf = BUF_INIT(1 << 20);

    if (!strstr(json_of(result, true, &buf), part))
        fail_msg("%s is not in %s", part, buf.data);
}

static void has_not(const struct run_result *result, const char *part)
{
    cleanup_buf struct buf buf = BUF_INIT(1 << 20);

    if (strstr(json_of(result, false, &buf), part))
        fail_msg("%s is in %s", part, buf.data);
}

static void a_good_run_is_the_documented_object(void **state)
{
    cleanup_buf struct buf buf = BUF_INIT(1 << 20);
    struct run_result result;

    (void)state;
    make(&result);
    write_out(&result, "42\n", 3);
    assert_int_equal(run_result_add_file(&result, "plot.png", 18231), 0);
    assert_string_equal(
        json_of(&result, false, &buf),
        "{\"schema\":1,\"id\":\"r_0123456789abcdefghjkmnpqrs\",\"language\":\"python\","
        "\"verdict\":\"ok\",\"exit_code\":0,\"signal\":null,\"stdout\":\"42\\n\",\"stderr\":\"\","
        "\"stdout_bytes\":3,\"stderr_bytes\":0,\"truncated\":false,"
        "\"wall_ms\":12.431,\"cpu_ms\":9.802,\"memory_peak_bytes\":9175040,"
        "\"survivors\":0,\"files\":[{\"path\":\"plot.png\",\"bytes\":18231}],\"events\":[],"
        "\"receipt\":{\"backend\":\"native\",\"walls\":{\"user_ns\":true,\"uid_range\":true,"
        "\"mount\":true,\"pid\":true,\"net\":\"none\",\"ipc\":true,\"uts\":true,"
        "\"cgroup_ns\":true,\"seccomp\":\"default\",\"landlock\":7,\"caps\":true,"
        "\"memory\":\"v1\",\"cpu\":\"v1\",\"pids\":\"v1\",\"disk\":true,\"kill\":true},"
        "\"accounting\":\"run\",\"limits\":{\"memory_bytes\":536870912,\"cpus\":1.000,"
        "\"pids\":128,\"disk_bytes\":268435456,\"inodes\":65536,\"wall_ms\":30000,"
        "\"cpu_ms\":30000,\"output_keep_bytes\":8388608,\"output_max_bytes\":1073741824}}}");
    run_result_clear(&result);
    run_result_clear(&result);
}

static void codes_and_signals_exclude_each_other(void **state)
{
    struct run_result result;

    (void)state;
    make(&result);
    result.steps[0].verdict = VERDICT_NONZERO;
    result.steps[0].facts.code = 3;
    has(&result, "\"verdict\":\"nonzero\",\"exit_code\":3,\"signal\":null,\"stdout\"");
    result.steps[0].verdict = VERDICT_SIGNAL;
    result.steps[0].facts.signo = SIGKILL;
    has(&result, "\"exit_code\":null,\"signal\":9,\"signal_name\":\"SIGKILL\",");
    result.steps[0].verdict = VERDICT_TIMEOUT;
    result.steps[0].facts.has_exited = false;
    has(&result, "\"verdict\":\"timeout\",\"exit_code\":null,\"signal\":null,\"stdout\"");
    run_result_clear(&result);
}

static void signals_have_names(void **state)
{
    char text[RUN_SIGNAL_MAX];

    (void)state;
    assert_string_equal(run_signal_name(SIGSEGV, text), "SIGSEGV");
    assert_string_equal(run_signal_name(SIGXFSZ, text), "SIGXFSZ");
    assert_string_equal(run_signal_name((uint32_t)SIGRTMIN + 2, text), "SIGRTMIN+2");
    assert_string_equal(run_signal_name(33, text), "signal 33");
    assert_string_equal(run_signal_name(UINT32_MAX, text), "signal 4294967295");
}

static void output_of_any_bytes_is_text_and_base64(void **state)
{
    struct run_result result;

    (void)state;
    make(&result);
    write_out(&result,
              "a\xff\x01"
              "b",
              4);
    write_err(&result, "\x1b[31m");
    has(&result, "\"stdout\":\"a\xef\xbf\xbd\\u0001b\",\"stderr\":\"\\u001b[31m\","
                 "\"stdout_base64\":\"Yf8BYg==\",\"stderr_base64\":\"G1szMW0=\","
                 "\"stdout_bytes\":4,\"stderr_bytes\":5,");
    has_not(&result, "base64");
    run_result_clear(&result);
}

static void a_nul_is_text_like_any_other(void **state)
{
    cleanup_buf struct buf buf = BUF_INIT(1 << 20);
    struct run_result result;

    (void)state;
    make(&result);
    write_out(&result, "a\0b", 3);
    assert_int_equal(run_result_json(&result, false, &buf), 0);
    assert_non_null(strstr(buf.data, "\"stdout\":\"a\\u0000b\""));
    run_result_clear(&result);
}

static void what_was_dropped_is_marked_in_text_and_not_in_base64(void **state)
{
    struct run_result result;

    (void)state;
    make(&result);
    out_log_free(result.log);
    result.log = out_log_new(4);
    write_out(&result, "abcdefg", 7);
    has(&result, "\"stdout\":\"ab\\n[... 3 bytes dropped ...]\\nfg\"");
    has(&result, "\"stdout_base64\":\"YWJmZw==\"");
    has(&result, "\"stdout_bytes\":7,\"stderr_bytes\":0,\"truncated\":true");
    run_result_clear(&result);
}

static void file_names_of_any_bytes_are_repaired(void **state)
{
    struct run_result result;

    (void)state;
    make(&result);
    assert_int_equal(run_result_add_file(&result, "a\"\xff\n", 0), 0);
    assert_int_equal(run_result_add_file(&result, "b", INT64_MAX), 0);
    has(&result, "\"files\":[{\"path\":\"a\\\"\xef\xbf\xbd\\n\",\"bytes\":0},"
                 "{\"path\":\"b\",\"bytes\":9223372036854775807}]");
    run_result_clear(&result);
}

static void counters_that_did_not_decide_are_listed(void **state)
{
    struct run_result result;

    (void)state;
    make(&result);
    result.steps[0].facts.disk_free = 0;
    has(&result, "\"events\":[\"disk_full\"]");
    result.steps[0].facts.oom_kills = 1;
    result.steps[0].facts.pids_hits = 2;
    has(&result, "\"events\":[\"oom_kill\",\"pids_max\",\"disk_full\"]");
    result.steps[0].facts.code = 1;
    result.steps[0].verdict = VERDICT_MEMORY;
    has(&result, "\"events\":[\"pids_max\",\"disk_full\"]");
    run_result_clear(&result);
}

/* ---- steps ---- */

static void make_compiled(struct run_result *result)
{
    make(result);
    result->language = "c";
    result->n_planned = 2;
    result->steps[0].name = "compile";
    write_err(result, "warning");
}

static void begin_run(struct run_result *result)
{
    result->steps[1] = result->steps[0];
    result->steps[1].name = "run";
    result->steps[1].begin = out_log_mark(result->log);
    result->steps[1].end = result->steps[1].begin;
    result->n_steps = 2;
}

static void a_failed_compile_is_nonzero_and_says_which_step(void **state)
{
    struct run_result result;

    (void)state;
    make_compiled(&result);
    result.steps[0].verdict = VERDICT_NONZERO;
    result.steps[0].facts.code = 1;
    has(&result, "\"verdict\":\"nonzero\",\"exit_code\":1,\"signal\":null,\"stdout\":\"\","
                 "\"stderr\":\"warning\"");
    has(&result, "\"steps\":[{\"name\":\"compile\",\"verdict\":\"nonzero\",\"exit_code\":1,"
                 "\"signal\":null,\"wall_ms\":12.431,\"cpu_ms\":9.802,"
                 "\"memory_peak_bytes\":9175040}],\"failed_step\":\"compile\"");
    assert_int_equal(run_result_exit_code(&result), 1);
    run_result_clear(&result);
}

static void each_step_has_its_own_output(void **state)
{
    cleanup_buf struct buf buf = BUF_INIT(1 << 20);
    struct run_result result;

    (void)state;
    make_compiled(&result);
    begin_run(&result);
    write_out(&result, "hi", 2);
    assert_non_null(strstr(json_of(&result, false, &buf), "\"stdout\":\"hi\",\"stderr\":\"\","
                                                          "\"stdout_bytes\":2,\"stderr_bytes\":0"));
    assert_non_null(strstr(buf.data, "\"name\":\"compile\",\"verdict\":\"ok\""));
    assert_non_null(strstr(buf.data, "\"stdout\":\"\",\"stderr\":\"warning\","
                                     "\"stdout_bytes\":0,\"stderr_bytes\":7},{\"name\":\"run\""));
    assert_non_null(strstr(buf.data, "}],\"failed_step\":null"));
    run_result_clear(&result);
}

static void one_step_is_not_listed(void **state)
{
    struct run_result result;

    (void)state;
    make(&result);
    has_not(&result, "\"steps\"");
    has_not(&result, "\"failed_step\"");
    run_result_clear(&result);
}

/* ---- errors ---- */

static void a_run_that_never_began_is_a_sandbox_error(void **state)
{
    struct run_result result = { .id = "r_x", .n_planned = 1 };

    (void)state;
    (void)gb_fail(&result.error, -EPERM, GB_BLAME_HOST, "making a user namespace");
    result.has_broken = true;
    result.broken = WALL_USER_NS;
    has(&result, "\"language\":null,\"verdict\":\"sandbox_error\",\"exit_code\":null,");
    has(&result, "\"stdout\":\"\",\"stderr\":\"\",");
    has(&result, "\"memory_peak_bytes\":null,");
    has(&result, "\"error\":{\"wall\":\"user_ns\",\"message\":\"making a user namespace\","
                 "\"remedy\":\"allow user namespaces");
    has(&result, "\"receipt\":null}");
    assert_int_equal(run_result_exit_code(&result), 125);
    result.has_broken = false;
    has(&result, "\"error\":{\"wall\":null,\"message\":\"making a user namespace\","
                 "\"remedy\":null}");
    run_result_clear(&result);
}

/* The two lines of an error's text are two keys; a wall's own remedy is whole even where the text
 * was cut. */
static void a_remedy_is_told_apart_from_its_message(void **state)
{
    struct run_result result = { .id = "r_x", .n_planned = 1 };

    (void)state;
    (void)gb_fail(&result.error, -ENOENT, GB_BLAME_CALLER,
                  "no x in the box\nremedy: apt install y");
    has(&result, "\"error\":{\"wall\":null,\"message\":\"no x in the box\","
                 "\"remedy\":\"apt install y\"}");
    result.has_broken = true;
    result.broken = WALL_USER_NS;
    (void)gb_fail(&result.error, -EPERM, GB_BLAME_HOST, "refused\nremedy: allow us");
    has(&result, "\"message\":\"refused\",\"remedy\":\"allow user namespaces");
    run_result_clear(&result);
}

static void a_result_without_error_has_none(void **state)
{
    struct run_result result;

    (void)state;
    make(&result);
    has_not(&result, "\"error\"");
    run_result_clear(&result);
}

static void walls_that_were_missing_are_false(void **state)
{
    struct run_result result;

    (void)state;
    make(&result);
    result.receipt.walls &= ~(1u << WALL_NET | 1u << WALL_LANDLOCK | 1u << WALL_MEMORY);
    has(&result, "\"net\":false");
    has(&result, "\"landlock\":false");
    has(&result, "\"memory\":false,\"cpu\":\"v1\"");
    result.receipt.groups = NULL;
    has(&result, "\"memory\":false,\"cpu\":true");
    run_result_clear(&result);
}

/* ---- hints ---- */

static void a_limit_that_decided_is_named_with_what_raises_it(void **state)
{
    static const struct {
        enum verdict verdict;
        const char *hint;
    } rows[] = {
        { VERDICT_TIMEOUT, "It took longer than 30 s; --timeout raises the limit." },
        { VERDICT_CPU, "It used more than 30 s of CPU time; --cpu-time raises the limit." },
        { VERDICT_OUTPUT, "It wrote more than 1 GiB of output; --output-max raises the limit." },
        { VERDICT_MEMORY, "It needed more than 512 MiB of memory, of which 300 MiB were files; "
                          "--memory raises the limit." },
        { VERDICT_PIDS, "It wanted more than 128 processes and threads; --pids raises the limit." },
        { VERDICT_DISK, "It filled its 256 MiB of disk space; --disk raises the limit." },
        { VERDICT_OK, NULL },
        { VERDICT_NONZERO, NULL },
        { VERDICT_SIGNAL, NULL },
        { VERDICT_CANCELLED, NULL },
        { VERDICT_SANDBOX_ERROR, NULL },
    };
    char text[RUN_HINT_MAX];
    struct run_result result;

    (void)state;
    make(&result);
    result.steps[0].memory_files_bytes = 300 << 20;
    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        result.steps[0].verdict = rows[i].verdict;
        if (rows[i].hint) {
            assert_string_equal(run_result_hint(&result, text), rows[i].hint);
            has(&result, rows[i].hint);
        } else {
            assert_null(run_result_hint(&result, text));
            has_not(&result, "\"hint\"");
        }
    }
    run_result_clear(&result);
}

static void what_the_compiler_did_is_told_as_such(void **state)
{
    char text[RUN_HINT_MAX];
    char end[RUN_END_MAX];
    struct run_result result;

    (void)state;
    make(&result);
    result.steps[0].name = "compile";
    result.steps[0].verdict = VERDICT_TIMEOUT;
    assert_string_equal(run_result_hint(&result, text),
                        "Compiling took longer than 30 s; --timeout raises the limit.");
    result.steps[0].verdict = VERDICT_MEMORY;
    assert_string_equal(
        run_result_hint(&result, text),
        "The compiler needed more than 512 MiB of memory; --memory raises the limit.");
    result.steps[0].verdict = VERDICT_SIGNAL;
    result.steps[0].facts.signo = 11;
    assert_string_equal(run_result_killed(&result, end),
                        "the compiler was killed by SIGSEGV (exit 139)");
    result.steps[0].name = "run";
    assert_string_equal(run_result_killed(&result, end), "killed by SIGSEGV (exit 139)");
    result.steps[0].verdict = VERDICT_CANCELLED;
    assert_null(run_result_killed(&result, end));
    run_result_clear(&result);
}

static void files_are_named_only_when_there_were_some(void **state)
{
    char text[RUN_HINT_MAX];
    struct run_result result;

    (void)state;
    make(&result);
    result.steps[0].verdict = VERDICT_MEMORY;
    assert_string_equal(run_result_hint(&result, text),
                        "It needed more than 512 MiB of memory; --memory raises the limit.");
    result.has_receipt = false;
    assert_null(run_result_hint(&result, text));
    run_result_clear(&result);
}

static void a_disk_out_of_inodes_is_not_told_to_grow(void **state)
{
    char text[RUN_HINT_MAX];
    struct run_result result;

    (void)state;
    make(&result);
    result.steps[0].verdict = VERDICT_DISK;
    result.steps[0].facts.inodes_free = 0;
    assert_string_equal(run_result_hint(&result, text),
                        "It made more than 65536 files, the most it may have.");
    run_result_clear(&result);
}

static void a_document_over_the_bufs_maximum_is_an_error(void **state)
{
    cleanup_buf struct buf buf = BUF_INIT(100);
    struct run_result result;

    (void)state;
    make(&result);
    assert_int_equal(run_result_json(&result, false, &buf), -EMSGSIZE);
    run_result_clear(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_run_is_the_documented_object),
        cmocka_unit_test(codes_and_signals_exclude_each_other),
        cmocka_unit_test(signals_have_names),
        cmocka_unit_test(output_of_any_bytes_is_text_and_base64),
        cmocka_unit_test(a_nul_is_text_like_any_other),
        cmocka_unit_test(what_was_dropped_is_marked_in_text_and_not_in_base64),
        cmocka_unit_test(file_names_of_any_bytes_are_repaired),
        cmocka_unit_test(counters_that_did_not_decide_are_listed),
        cmocka_unit_test(a_failed_compile_is_nonzero_and_says_which_step),
        cmocka_unit_test(each_step_has_its_own_output),
        cmocka_unit_test(one_step_is_not_listed),
        cmocka_unit_test(a_run_that_never_began_is_a_sandbox_error),
        cmocka_unit_test(a_remedy_is_told_apart_from_its_message),
        cmocka_unit_test(a_result_without_error_has_none),
        cmocka_unit_test(walls_that_were_missing_are_false),
        cmocka_unit_test(a_limit_that_decided_is_named_with_what_raises_it),
        cmocka_unit_test(what_the_compiler_did_is_told_as_such),
        cmocka_unit_test(files_are_named_only_when_there_were_some),
        cmocka_unit_test(a_disk_out_of_inodes_is_not_told_to_grow),
        cmocka_unit_test(a_document_over_the_bufs_maximum_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
