/* SPDX-License-Identifier: Apache-2.0 */
/* lib_api/test_lib_kept.c - boxes of users, what ran in boxes that live on, and what boxes are made
 * with, through the library's header alone. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "world.h"

#include <cmocka.h>

#define PATIENCE_MS 30000

/* ---- users ---------------------------------------------------------------------------------- */

static void a_users_box_is_made_once_and_found_again(void **state)
{
    struct world *w = *state;
    struct glovebox_box_options options = GLOVEBOX_BOX_OPTIONS_INIT;
    char id[GLOVEBOX_ID_SIZE];

    options.workdir = "/workspace/ann";
    attach(w, "ann", &options);
    (void)snprintf(id, sizeof(id), "%s", glovebox_box_id(w->box));
    code(w, "pwd; echo hers > mine");
    box_exec(w);
    expect_output(w, 1, "/workspace/ann\n");
    attach(w, "ann", NULL); /* it is there: as it is, whatever the options say */
    assert_string_equal(glovebox_box_id(w->box), id);
    code(w, "pwd; cat mine");
    box_exec(w);
    expect_output(w, 1, "/workspace/ann\nhers\n");
    remove_user(w, "ann");
    expect_refused(w, glovebox_user_remove(w->context, "ann", NULL, &w->err), -ENOENT);
}

static void looking_for_a_users_box_makes_none(void **state)
{
    struct world *w = *state;
    char id[GLOVEBOX_ID_SIZE] = "";

    expect_refused(w, glovebox_user_find(w->context, "ann", id, &w->err), -ENOENT);
    expect_refused(w, glovebox_user_find(w->context, "a b", id, &w->err), -EINVAL);
    assert_string_equal(id, "");
    attach(w, "ann", NULL);
    assert_int_equal(glovebox_user_find(w->context, "ann", id, &w->err), 0);
    assert_string_equal(id, glovebox_box_id(w->box));
    remove_user(w, "ann");
    expect_refused(w, glovebox_user_find(w->context, "ann", id, &w->err), -ENOENT);
}

static void users_do_not_share_a_box(void **state)
{
    struct world *w = *state;
    struct glovebox_kept_info info = GLOVEBOX_KEPT_INFO_INIT;
    struct glovebox_kept_list *list = NULL;

    attach(w, "ann", NULL);
    code(w, "echo hers > mine");
    box_exec(w);
    attach(w, "bob", NULL);
    code(w, "test -e mine && echo seen || echo nothing");
    box_exec(w);
    expect_output(w, 1, "nothing\n");
    assert_int_equal(glovebox_kept_list(w->context, &list, &w->err), 0);
    assert_int_equal(glovebox_kept_list_at(list, 0, &info), 0);
    assert_string_equal(info.user, "ann");
    assert_int_equal(glovebox_kept_list_at(list, 1, &info), 0);
    assert_string_equal(info.user, "bob");
    assert_int_equal(glovebox_kept_list_at(list, 2, &info), -ENOENT);
    glovebox_kept_list_free(list);
    remove_user(w, "ann");
    remove_user(w, "bob");
}

static void names_of_users_are_checked(void **state)
{
    struct world *w = *state;
    static const char *const bad[] = { "", "-x", ".x", "a b", "a/b", "ann\n" };

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        expect_refused(w, glovebox_user_attach(w->context, bad[i], NULL, &w->box, &w->err),
                       -EINVAL);
        expect_refused(w, glovebox_user_remove(w->context, bad[i], NULL, &w->err), -EINVAL);
    }
    assert_null(w->box);
}

/* ---- what ran there ------------------------------------------------------------------------- */

static struct glovebox_log *open_log(struct world *w, const char *run, uint64_t cursor)
{
    struct glovebox_log *log = NULL;

    if (glovebox_log_open(w->context, glovebox_box_id(w->box), run, cursor, &log, &w->err) < 0)
        fail_msg("%s", w->err.message);
    return log;
}

static void expect_piece(struct world *w, struct glovebox_log *log, int stream, const char *text)
{
    struct glovebox_log_piece piece = GLOVEBOX_LOG_PIECE_INIT;

    assert_int_equal(glovebox_log_next(log, PATIENCE_MS, &piece, &w->err), GLOVEBOX_LOG_PIECE);
    assert_int_equal(piece.stream, stream);
    assert_int_equal(piece.len, strlen(text));
    assert_memory_equal(piece.bytes, text, piece.len);
}

static void expect_no_piece(struct world *w, struct glovebox_log *log, int next)
{
    struct glovebox_log_piece piece = GLOVEBOX_LOG_PIECE_INIT;

    assert_int_equal(glovebox_log_next(log, 0, &piece, &w->err), next);
    assert_null(piece.bytes);
}

static void runs_of_a_kept_box_are_listed(void **state)
{
    struct world *w = *state;
    struct glovebox_run_info info = GLOVEBOX_RUN_INFO_INIT;
    struct glovebox_run_info small = { .size = 1 };
    struct glovebox_run_list *list = NULL;

    attach(w, "ann", NULL);
    code(w, "echo one");
    box_exec(w);
    code(w, "exit 3");
    box_exec(w);
    assert_int_equal(glovebox_run_list(w->context, glovebox_box_id(w->box), &list, &w->err), 0);
    assert_int_equal(glovebox_run_list_at(list, 0, &info), 0);
    assert_string_equal(info.command, "sh: echo one");
    assert_string_equal(info.verdict, "ok");
    assert_int_equal(info.exit_code, 0);
    assert_int_equal(info.output_bytes, 4);
    assert_int_equal(info.is_running, 0);
    assert_true(info.ended_ms >= info.started_ms && info.started_ms > 0);
    assert_int_equal(glovebox_run_list_at(list, 1, &info), 0);
    assert_string_equal(info.id, glovebox_result_id(w->result));
    assert_string_equal(info.verdict, "nonzero");
    assert_int_equal(info.exit_code, 3);
    assert_int_equal(glovebox_run_list_at(list, 2, &info), -ENOENT);
    assert_int_equal(glovebox_run_list_at(list, 0, &small), -EINVAL);
    glovebox_run_list_free(list);
    remove_user(w, "ann");
}

static void output_of_earlier_runs_is_read_by_cursor(void **state)
{
    struct world *w = *state;
    struct glovebox_log *log;
    char first[GLOVEBOX_ID_SIZE];

    attach(w, "ann", NULL);
    code(w, "echo one");
    box_exec(w);
    (void)snprintf(first, sizeof(first), "%s", glovebox_result_id(w->result));
    code(w, "echo two >&2");
    box_exec(w);
    log = open_log(w, NULL, 0);
    assert_string_equal(glovebox_log_run(log), glovebox_result_id(w->result));
    expect_piece(w, log, 2, "two\n");
    glovebox_log_close(log);
    log = open_log(w, first, 0);
    expect_piece(w, log, 1, "one\n");
    expect_no_piece(w, log, GLOVEBOX_LOG_END);
    assert_int_equal(glovebox_log_cursor(log), 4);
    assert_int_equal(glovebox_log_dropped(log), 0);
    glovebox_log_close(log);
    log = open_log(w, first, 2);
    expect_piece(w, log, 1, "e\n");
    expect_no_piece(w, log, GLOVEBOX_LOG_END);
    glovebox_log_close(log);
    remove_user(w, "ann");
}

static void a_log_that_is_not_there_is_told(void **state)
{
    struct world *w = *state;
    struct glovebox_log *log = NULL;
    struct glovebox_run_list *list = NULL;

    attach(w, "ann", NULL);
    expect_refused(w, glovebox_log_open(w->context, "b_none", NULL, 0, &log, &w->err), -ENOENT);
    expect_refused(w, glovebox_run_list(w->context, "b_none", &list, &w->err), -ENOENT);
    expect_refused(
        w, glovebox_log_open(w->context, glovebox_box_id(w->box), NULL, 0, &log, &w->err), -ENOENT);
    expect_refused(w,
                   glovebox_log_open(w->context, glovebox_box_id(w->box), "r_x", 0, &log, &w->err),
                   -ENOENT);
    assert_null(log);
    assert_null(list);
    remove_user(w, "ann");
}

/* A run in a thread of its own; its first output is told through a pipe. */
struct runner {
    struct world *world;
    int told[2];
    int r;
};

static int tell_begun(void *user, int stream, const void *bytes, size_t len)
{
    const struct runner *runner = user;

    (void)stream;
    (void)bytes;
    (void)len;
    return write(runner->told[1], "x", 1) == 1 ? 0 : -1;
}

static void *run_it(void *user)
{
    struct runner *runner = user;
    struct world *w = runner->world;

    runner->r = glovebox_box_run(w->box, w->request, &w->result, NULL);
    return NULL;
}

static void a_log_is_followed_while_its_run_goes_on(void **state)
{
    struct world *w = *state;
    struct runner runner = { .world = w };
    struct glovebox_log *log;
    pthread_t thread;
    int input[2];
    char byte;

    assert_int_equal(pipe(runner.told), 0);
    assert_int_equal(pipe(input), 0);
    attach(w, "ann", NULL);
    code(w, "echo begin; read line; echo $line");
    glovebox_request_stdin_fd(w->request, input[0]);
    glovebox_request_output(w->request, tell_begun, &runner);
    assert_int_equal(pthread_create(&thread, NULL, run_it, &runner), 0);
    assert_int_equal(read(runner.told[0], &byte, 1), 1);
    log = open_log(w, NULL, 0);
    expect_piece(w, log, 1, "begin\n");
    expect_no_piece(w, log, GLOVEBOX_LOG_LATER);
    assert_int_equal(write(input[1], "end\n", 4), 4);
    expect_piece(w, log, 1, "end\n");
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(runner.r, 0);
    expect_no_piece(w, log, GLOVEBOX_LOG_END);
    glovebox_log_close(log);
    remove_user(w, "ann");
    for (int i = 0; i < 2; i++) {
        close(runner.told[i]);
        close(input[i]);
    }
}

/* ---- ports ---------------------------------------------------------------------------------- */

/* Of the one box that there is, as the list of boxes tells them. */
static void list_ports(struct world *w, char *ret, size_t size)
{
    struct glovebox_kept_info info = GLOVEBOX_KEPT_INFO_INIT;
    struct glovebox_kept_list *list = NULL;

    assert_int_equal(glovebox_kept_list(w->context, &list, &w->err), 0);
    assert_int_equal(glovebox_kept_list_at(list, 0, &info), 0);
    assert_int_equal(glovebox_kept_list_at(list, 1, &info), -ENOENT);
    (void)snprintf(ret, size, "%s", info.ports ? info.ports : "none");
    glovebox_kept_list_free(list);
}

static void expect_greeting(unsigned port)
{
    const struct sockaddr_in at = { .sin_family = AF_INET,
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                    .sin_port = htons((uint16_t)port) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char said[8] = "";

    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(recv(fd, said, 6, MSG_WAITALL), 6);
    assert_string_equal(said, "hello\n");
    close(fd);
}

static void ports_of_this_machine_lead_to_a_box_that_lives_on(void **state)
{
    static const char server[] = "import socket\n"
                                 "s = socket.create_server(('127.0.0.1', 3000))\n"
                                 "print('up', flush=True)\n"
                                 "s.accept()[0].sendall(b'hello\\n')\n";
    struct world *w = *state;
    struct glovebox_box_options options = GLOVEBOX_BOX_OPTIONS_INIT;
    struct runner runner = { .world = w };
    pthread_t thread;
    unsigned port = 0;
    char ports[64];
    char byte;

    options.ports = "0:3000";
    attach(w, "ann", &options);
    list_ports(w, ports, sizeof(ports));
    assert_int_equal(sscanf(ports, "127.0.0.1:%u:3000", &port), 1);
    assert_true(port > 0);
    assert_int_equal(pipe(runner.told), 0);
    assert_int_equal(
        glovebox_request_code(w->request, "python", NULL, server, strlen(server), &w->err), 0);
    glovebox_request_output(w->request, tell_begun, &runner);
    assert_int_equal(pthread_create(&thread, NULL, run_it, &runner), 0);
    assert_int_equal(read(runner.told[0], &byte, 1), 1);
    expect_greeting(port);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(runner.r, 0);
    close(runner.told[0]);
    close(runner.told[1]);
    remove_user(w, "ann");
}

static void ports_of_a_box_are_checked_before_anything_is_made(void **state)
{
    struct world *w = *state;
    struct glovebox_box_options options = GLOVEBOX_BOX_OPTIONS_INIT;
    char ports[64];
    unsigned taken;
    int listener = listen_somewhere(&taken);
    char id[GLOVEBOX_ID_SIZE] = "";

    options.ports = "http";
    expect_refused(w, glovebox_kept_create(w->context, &options, id, &w->err), -EINVAL);
    expect_refused(w, glovebox_user_attach(w->context, "ann", &options, &w->box, &w->err), -EINVAL);
    options.ports = "0.0.0.0:8080:80";
    expect_refused(w, glovebox_kept_create(w->context, &options, id, &w->err), -EPERM);
    (void)snprintf(ports, sizeof(ports), "%u:80", taken);
    options.ports = ports;
    assert_int_equal(glovebox_kept_create(w->context, &options, id, &w->err), -EADDRINUSE);
    expect_refused(w, glovebox_box_open(w->context, &options, &w->box, &w->err), -EINVAL);
    assert_string_equal(id, "");
    expect_refused(w, glovebox_user_find(w->context, "ann", id, &w->err), -ENOENT);
    close(listener);
}

/* ---- packages, as far as no index is needed -------------------------------------------------- */

static void names_of_packages_are_checked(void **state)
{
    struct world *w = *state;
    struct glovebox_packages *packages = NULL;
    const enum glovebox_package_kind python = GLOVEBOX_PACKAGE_PYTHON;
    char path[128];

    assert_int_equal(glovebox_packages_new(&packages, &w->err), 0);
    assert_int_equal(glovebox_packages_add(packages, python, "numpy>=1.26", &w->err), 0);
    expect_refused(w, glovebox_packages_add(packages, python, "x; rm -rf /", &w->err), -EINVAL);
    expect_refused(w, glovebox_packages_add(packages, python, "--pre", &w->err), -EINVAL);
    expect_refused(w, glovebox_packages_add(packages, GLOVEBOX_PACKAGE_NODE, "../x", &w->err),
                   -EINVAL);
    expect_refused(w, glovebox_packages_add(packages, (enum glovebox_package_kind)9, "x", &w->err),
                   -EINVAL);
    (void)snprintf(path, sizeof(path), "%s/none.txt", w->dir);
    expect_refused(w, glovebox_packages_add_file(packages, python, path, &w->err), -ENOENT);
    expect_refused(w, glovebox_packages_add_file(packages, python, w->dir, &w->err), -EINVAL);
    glovebox_packages_free(packages);
}

static void a_box_that_stands_gets_no_packages_for_one_run(void **state)
{
    struct world *w = *state;
    struct glovebox_packages *packages = NULL;
    struct glovebox_result *none = NULL;

    assert_int_equal(glovebox_packages_new(&packages, &w->err), 0);
    assert_int_equal(glovebox_packages_add(packages, GLOVEBOX_PACKAGE_PYTHON, "a", &w->err), 0);
    assert_int_equal(glovebox_request_packages(w->request, packages, &w->err), 0);
    glovebox_packages_free(packages);
    open_box(w);
    code(w, "true");
    expect_refused(w, glovebox_box_run(w->box, w->request, &none, &w->err), -ENOTSUP);
    assert_int_equal(glovebox_request_packages(w->request, NULL, &w->err), 0);
    box_exec(w);
    assert_null(glovebox_result_package(w->result, 0, NULL));
    assert_int_equal(glovebox_request_flags(w->request, GLOVEBOX_AUTO_PACKAGES, &w->err), 0);
    expect_refused(w, glovebox_box_run(w->box, w->request, &none, &w->err), -ENOTSUP);
    assert_null(none);
}

/* ---- growth --------------------------------------------------------------------------------- */

/* The options of a program that was compiled with the first header. */
struct first_options {
    size_t size;
    const char *workdir;
    uint64_t ttl_ms;
};

static void options_of_the_first_header_still_count(void **state)
{
    struct world *w = *state;
    struct {
        struct first_options options;
        const char *junk[4]; /* what lies behind them is the program's */
    } old = { .options = { .size = sizeof(struct first_options), .workdir = "/workspace/old" },
              .junk = { "x", "x", "x", "x" } };

    assert_int_equal(
        glovebox_box_open(w->context, (const struct glovebox_box_options *)&old, &w->box, &w->err),
        0);
    assert_null(glovebox_box_id(w->box));
    code(w, "pwd");
    box_exec(w);
    expect_output(w, 1, "/workspace/old\n");
    assert_non_null(strstr(glovebox_result_receipt(w->result), "\"net\":\"none\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_users_box_is_made_once_and_found_again),
        TEST(looking_for_a_users_box_makes_none),
        TEST(users_do_not_share_a_box),
        TEST(names_of_users_are_checked),
        TEST(runs_of_a_kept_box_are_listed),
        TEST(output_of_earlier_runs_is_read_by_cursor),
        TEST(a_log_that_is_not_there_is_told),
        TEST(a_log_is_followed_while_its_run_goes_on),
        TEST(ports_of_this_machine_lead_to_a_box_that_lives_on),
        TEST(ports_of_a_box_are_checked_before_anything_is_made),
        TEST(names_of_packages_are_checked),
        TEST(a_box_that_stands_gets_no_packages_for_one_run),
        TEST(options_of_the_first_header_still_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
