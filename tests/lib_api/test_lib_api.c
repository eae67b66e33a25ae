/* SPDX-License-Identifier: Apache-2.0 */
/* lib_api/test_lib_api.c - libglovebox through its header alone, as a program uses it. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "world.h"

#include <cmocka.h>

#define THREADS         4
#define RUNS_PER_THREAD 3

/* ---- runs ----------------------------------------------------------------------------------- */

static void code_runs_and_tells(void **state)
{
    struct world *w = *state;

    code(w, "echo out; echo err >&2; exit 3");
    exec(w);
    assert_int_equal(glovebox_result_verdict(w->result), GLOVEBOX_VERDICT_NONZERO);
    assert_string_equal(glovebox_verdict_name(GLOVEBOX_VERDICT_NONZERO), "nonzero");
    assert_null(glovebox_verdict_name((enum glovebox_verdict)99));
    assert_int_equal(glovebox_result_exit_code(w->result), 3);
    assert_int_equal(glovebox_result_signal(w->result), 0);
    expect_output(w, 1, "out\n");
    expect_output(w, 2, "err\n");
    expect_output(w, 1, "out\n"); /* the second time as the first */
    assert_null(glovebox_result_output(w->result, 3, NULL));
    assert_int_equal(glovebox_result_counter(w->result, GLOVEBOX_COUNTER_STDOUT_BYTES), 4);
    assert_true(glovebox_result_counter(w->result, GLOVEBOX_COUNTER_WALL_US) > 0);
    assert_int_equal(glovebox_result_counter(w->result, GLOVEBOX_COUNTER_SURVIVORS), 0);
    assert_int_equal(glovebox_result_counter(w->result, (enum glovebox_counter)99), 0);
}

static void documents_are_json_texts(void **state)
{
    struct world *w = *state;

    code(w, "echo hello");
    exec(w);
    assert_non_null(strstr(glovebox_result_json(w->result), "\"verdict\":\"ok\""));
    assert_non_null(strstr(glovebox_result_json(w->result), "\"stdout\":\"hello\\n\""));
    assert_ptr_equal(strstr(glovebox_result_receipt(w->result), "{\"backend\":\"native\""),
                     glovebox_result_receipt(w->result));
    /* The receipt is the document's own. */
    assert_non_null(strstr(glovebox_result_json(w->result), glovebox_result_receipt(w->result)));
}

static void a_program_gets_arguments_variables_and_input(void **state)
{
    struct world *w = *state;
    const char *const argv[] = { "sh", "-c", "echo \"$1 $WORD\"; cat", "sh", "one", NULL };

    assert_int_equal(glovebox_request_program(w->request, argv, &w->err), 0);
    assert_int_equal(glovebox_request_env(w->request, "WORD", "two", &w->err), 0);
    assert_int_equal(glovebox_request_stdin(w->request, "three\n", 6, &w->err), 0);
    exec(w);
    expect_output(w, 1, "one two\nthree\n");
    exec(w); /* input is read from its beginning by every run */
    expect_output(w, 1, "one two\nthree\n");
}

static void a_network_is_of_rules_and_of_a_box_of_its_own(void **state)
{
    struct world *w = *state;
    struct glovebox_result *none = NULL;

    code(w, "print(1)");
    exec(w);
    assert_non_null(strstr(glovebox_result_receipt(w->result), "\"net\":\"none\""));
    expect_refused(w, glovebox_request_net(w->request, "no rule at all", &w->err), -EINVAL);
    assert_int_equal(glovebox_request_net(w->request, "192.0.2.1:80", &w->err), 0);
    exec(w);
    assert_null(strstr(glovebox_result_receipt(w->result), "\"net\":\"none\""));
    open_box(w);
    expect_refused(w, glovebox_box_run(w->box, w->request, &none, &w->err), -ENOTSUP);
    assert_null(none);
    assert_int_equal(glovebox_request_net(w->request, NULL, &w->err), 0);
    box_exec(w);
}

static void input_comes_from_a_descriptor(void **state)
{
    struct world *w = *state;
    int fds[2];

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    assert_int_equal(write(fds[1], "piped\n", 6), 6);
    close(fds[1]);
    code(w, "cat");
    glovebox_request_stdin_fd(w->request, fds[0]);
    exec(w);
    expect_output(w, 1, "piped\n");
    close(fds[0]);
}

static void files_go_in_and_come_out(void **state)
{
    struct world *w = *state;
    char path[128];
    char text[32] = "";
    uint64_t bytes = 0;
    int fd;

    (void)snprintf(path, sizeof(path), "%s/copy", w->dir);
    code(w, "cat in/a /tmp/b > out");
    assert_int_equal(glovebox_request_put(w->request, "in/a", "one ", 4, 0644, &w->err), 0);
    assert_int_equal(glovebox_request_put(w->request, "/tmp/b", "two", 3, 0644, &w->err), 0);
    assert_int_equal(glovebox_request_get_file(w->request, "out", path, &w->err), 0);
    assert_int_equal(glovebox_request_flags(w->request, GLOVEBOX_LIST_FILES, &w->err), 0);
    exec(w);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(read(fd, text, sizeof(text)), 7);
    close(fd);
    assert_string_equal(text, "one two");
    assert_string_equal(glovebox_result_file(w->result, 0, &bytes), "out");
    assert_int_equal(bytes, 7);
    assert_null(glovebox_result_file(w->result, 1, NULL));
    assert_null(glovebox_result_note(w->result, 0));
}

static void limits_hold(void **state)
{
    struct world *w = *state;

    code(w, "sleep 60");
    assert_int_equal(glovebox_request_limit(w->request, GLOVEBOX_LIMIT_WALL_MS, 200, &w->err), 0);
    exec(w);
    assert_int_equal(glovebox_result_verdict(w->result), GLOVEBOX_VERDICT_TIMEOUT);
    assert_int_equal(glovebox_result_exit_code(w->result), 124);
}

/* ---- output and cancelling ------------------------------------------------------------------ */

struct heard {
    char text[64];
    size_t len;
    int answer;
    int cancel_fd;
};

static int hear(void *user, int stream, const void *bytes, size_t len)
{
    struct heard *heard = user;
    uint64_t one = 1;

    assert_int_equal(stream, 1);
    assert_true(heard->len + len < sizeof(heard->text));
    memcpy(heard->text + heard->len, bytes, len);
    heard->len += len;
    if (heard->cancel_fd >= 0)
        assert_int_equal(write(heard->cancel_fd, &one, sizeof(one)), sizeof(one));
    return heard->answer;
}

static void output_streams_and_need_not_be_kept(void **state)
{
    struct world *w = *state;
    struct heard heard = { .cancel_fd = -1 };

    code(w, "echo live");
    glovebox_request_output(w->request, hear, &heard);
    assert_int_equal(glovebox_request_flags(w->request, GLOVEBOX_DISCARD_OUTPUT, &w->err), 0);
    exec(w);
    assert_string_equal(heard.text, "live\n");
    expect_output(w, 1, "");
    assert_int_equal(glovebox_result_counter(w->result, GLOVEBOX_COUNTER_STDOUT_BYTES), 5);
}

static void a_callback_cancels(void **state)
{
    struct world *w = *state;
    struct heard heard = { .cancel_fd = -1, .answer = -ECANCELED };

    code(w, "echo begun; sleep 60");
    glovebox_request_output(w->request, hear, &heard);
    exec(w);
    assert_int_equal(glovebox_result_verdict(w->result), GLOVEBOX_VERDICT_CANCELLED);
}

static void a_descriptor_cancels(void **state)
{
    struct world *w = *state;
    struct heard heard = { .cancel_fd = eventfd(0, EFD_CLOEXEC) };

    code(w, "echo begun; sleep 60");
    glovebox_request_output(w->request, hear, &heard);
    glovebox_request_cancel_fd(w->request, heard.cancel_fd);
    exec(w);
    assert_int_equal(glovebox_result_verdict(w->result), GLOVEBOX_VERDICT_CANCELLED);
    close(heard.cancel_fd);
}

/* ---- boxes ---------------------------------------------------------------------------------- */

static void a_box_has_many_runs_and_keeps_its_files(void **state)
{
    struct world *w = *state;
    void *bytes = NULL;
    size_t len = 0;

    open_box(w);
    assert_int_equal(glovebox_box_put(w->box, "n", "1", 1, 0644, &w->err), 0);
    code(w, "n=$(cat n); echo $((n + 1)) > n");
    for (int i = 0; i < 3; i++)
        box_exec(w);
    assert_int_equal(glovebox_box_get(w->box, "n", 16, &bytes, &len, &w->err), 0);
    assert_int_equal(len, 2);
    assert_string_equal(bytes, "4\n");
    glovebox_free(bytes);
    assert_int_equal(glovebox_box_close(w->box), 0);
    w->box = NULL;
}

static void a_file_that_is_too_large_or_missing_is_told(void **state)
{
    struct world *w = *state;
    void *bytes = NULL;
    size_t len = 0;

    open_box(w);
    assert_int_equal(glovebox_box_put(w->box, "/workspace/big", "12345678", 8, 0644, &w->err), 0);
    expect_refused(w, glovebox_box_get(w->box, "big", 7, &bytes, &len, &w->err), -EFBIG);
    expect_refused(w, glovebox_box_get(w->box, "none", 7, &bytes, &len, &w->err), -ENOENT);
    expect_refused(w, glovebox_box_get(w->box, "../etc", 7, &bytes, &len, &w->err), -EINVAL);
    assert_null(bytes);
    assert_int_equal(glovebox_box_get(w->box, "big", 8, &bytes, &len, &w->err), 0);
    assert_int_equal(len, 8);
    glovebox_free(bytes);
}

static void files_of_the_host_are_copied(void **state)
{
    struct world *w = *state;
    char from[128];
    char to[128];
    struct stat st;
    int fd;

    (void)snprintf(from, sizeof(from), "%s/from", w->dir);
    (void)snprintf(to, sizeof(to), "%s/to", w->dir);
    fd = open(from, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    assert_int_equal(write(fd, "#!/bin/sh\necho ran\n", 19), 19);
    close(fd);
    open_box(w);
    assert_int_equal(glovebox_box_put_file(w->box, "tool", from, &w->err), 0);
    code(w, "./tool");
    box_exec(w);
    expect_output(w, 1, "ran\n");
    assert_int_equal(glovebox_box_get_file(w->box, "tool", to, &w->err), 0);
    assert_int_equal(stat(to, &st), 0);
    assert_int_equal(st.st_size, 19);
    expect_refused(w, glovebox_box_put_file(w->box, "dir", w->dir, &w->err), -EINVAL);
}

static void a_run_can_only_lower_the_limits_of_its_box(void **state)
{
    struct world *w = *state;

    set(w, "limits.timeout", "20s");
    open_box(w);
    code(w, "true");
    assert_int_equal(glovebox_request_limit(w->request, GLOVEBOX_LIMIT_WALL_MS, 60000, &w->err), 0);
    assert_int_equal(glovebox_request_limit(w->request, GLOVEBOX_LIMIT_PIDS, 7, &w->err), 0);
    box_exec(w);
    assert_non_null(strstr(glovebox_result_receipt(w->result), "\"wall_ms\":20000"));
    assert_non_null(strstr(glovebox_result_receipt(w->result), "\"pids\":7"));
}

/* ---- boxes that live on --------------------------------------------------------------------- */

static size_t count_kept(struct world *w, const char *id)
{
    struct glovebox_kept_info info = GLOVEBOX_KEPT_INFO_INIT;
    struct glovebox_kept_info small = { .size = 1 };
    struct glovebox_kept_list *list = NULL;
    size_t n = 0;

    assert_int_equal(glovebox_kept_list(w->context, &list, &w->err), 0);
    for (; glovebox_kept_list_at(list, n, &info) == 0; n++) {
        assert_string_equal(info.id, id);
        assert_string_equal(info.backend, "native");
        assert_string_equal(info.workdir, "/workspace/deep");
        assert_int_equal(info.ttl_ms, 600000);
        assert_int_equal(info.size, sizeof(info));
    }
    assert_int_equal(glovebox_kept_list_at(list, n, &small), -EINVAL);
    glovebox_kept_list_free(list);
    return n;
}

static void a_kept_box_is_found_again_until_it_is_removed(void **state)
{
    struct world *w = *state;
    struct glovebox_box_options options = GLOVEBOX_BOX_OPTIONS_INIT;
    char id[GLOVEBOX_ID_SIZE] = "";
    uint32_t survivors = 1;

    options.workdir = "/workspace/deep";
    options.ttl_ms = 600000;
    if (glovebox_kept_create(w->context, &options, id, &w->err) < 0)
        fail_msg("%s", w->err.message);
    assert_int_equal(count_kept(w, id), 1);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(glovebox_kept_attach(w->context, id, &w->box, &w->err), 0);
        code(w, "pwd; echo x >> seen; wc -l < seen");
        box_exec(w);
        expect_output(w, 1, i ? "/workspace/deep\n2\n" : "/workspace/deep\n1\n");
        assert_int_equal(glovebox_box_close(w->box), 0);
        w->box = NULL;
    }
    assert_int_equal(glovebox_kept_remove(w->context, id, &survivors, &w->err), 0);
    assert_int_equal(survivors, 0);
    /* Its keeper is no child of whoever made it, nor its zombie. */
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    assert_int_equal(count_kept(w, id), 0);
    assert_int_equal(glovebox_kept_attach(w->context, id, &w->box, &w->err), -ENOENT);
    assert_int_equal(w->err.code, -ENOENT);
}

/* ---- what is refused ------------------------------------------------------------------------ */

static void settings_are_checked_and_a_bad_one_changes_nothing(void **state)
{
    struct world *w = *state;

    expect_refused(w, glovebox_context_set(w->context, "model", "a/b", &w->err), -EINVAL);
    expect_refused(w, glovebox_context_set(w->context, "nothing", "1", &w->err), -EINVAL);
    expect_refused(w, glovebox_context_set(w->context, "limits.memory", "much", &w->err), -EINVAL);
    expect_refused(w, glovebox_context_set(w->context, "run_dir", "here", &w->err), -EINVAL);
    set(w, "limits.memory", "64m");
    code(w, "true");
    exec(w);
    assert_non_null(strstr(glovebox_result_receipt(w->result), "\"memory_bytes\":67108864"));
}

static void a_request_is_checked_as_it_is_made(void **state)
{
    struct world *w = *state;
    struct glovebox_request *r = w->request;
    struct glovebox_error *e = &w->err;
    const char *const none[] = { NULL };
    const char *const args[] = { "x", NULL };

    expect_refused(w, glovebox_exec(w->context, r, &w->result, e), -EINVAL);
    assert_null(w->result);
    expect_refused(w, glovebox_request_code(r, "klingon", NULL, "", 0, e), -EINVAL);
    assert_non_null(strstr(e->remedy, "python"));
    expect_refused(w, glovebox_request_code(r, NULL, NULL, "", 0, e), -EINVAL);
    expect_refused(w, glovebox_request_code(r, "sh", "../x.sh", "", 0, e), -EINVAL);
    expect_refused(w, glovebox_request_program(r, none, e), -EINVAL);
    expect_refused(w, glovebox_request_args(r, args, e), -EINVAL);
    expect_refused(w, glovebox_request_env(r, "A=B", "", e), -EINVAL);
    expect_refused(w, glovebox_request_limit(r, GLOVEBOX_LIMIT_PIDS, 0, e), -ERANGE);
    expect_refused(w, glovebox_request_limit(r, GLOVEBOX_LIMIT_PIDS, 1 << 20, e), -ERANGE);
    expect_refused(w, glovebox_request_limit(r, (enum glovebox_limit)99, 1, e), -EINVAL);
    expect_refused(w, glovebox_request_workdir(r, "tmp", e), -EINVAL);
    expect_refused(w, glovebox_request_put(r, "a/../b", "", 0, 0, e), -EINVAL);
    expect_refused(w, glovebox_request_flags(r, 1u << 30, e), -EINVAL);
}

static void two_files_cannot_have_one_place(void **state)
{
    struct world *w = *state;

    assert_int_equal(glovebox_request_code(w->request, NULL, "a.sh", "true", 4, &w->err), 0);
    assert_int_equal(glovebox_request_put(w->request, "/workspace/a.sh", "false", 5, 0, &w->err),
                     0);
    expect_refused(w, glovebox_exec(w->context, w->request, &w->result, &w->err), -EEXIST);
}

static void too_many_arguments_are_refused(void **state)
{
    struct world *w = *state;
    char *long_one = calloc(1, 40000);
    const char *const argv[] = { "echo", long_one, NULL };

    assert_non_null(long_one);
    memset(long_one, 'x', 39999);
    assert_int_equal(glovebox_request_program(w->request, argv, &w->err), 0);
    expect_refused(w, glovebox_request_env(w->request, "A", long_one, &w->err), -E2BIG);
    free(long_one);
}

static void an_error_of_another_size_is_not_written_past(void **state)
{
    struct world *w = *state;
    struct glovebox_error small = { .size = 16, .code = 7 };
    struct glovebox_error unset = { .code = 7 };

    assert_int_equal(glovebox_context_set(w->context, "nothing", "", &small), -EINVAL);
    assert_int_equal(glovebox_context_set(w->context, "nothing", "", &unset), -EINVAL);
    assert_int_equal(glovebox_context_set(w->context, "nothing", "", NULL), -EINVAL);
    assert_int_equal(small.code, 7);
    assert_int_equal(unset.code, 7);
}

/* What a program of tomorrow may hand to the library of today. */
struct grown_options {
    struct glovebox_box_options known;
    uint64_t later;
};

static void options_may_grow_but_not_be_ignored(void **state)
{
    struct world *w = *state;
    struct grown_options grown = { .known = { .size = sizeof(grown) }, .later = 1 };
    struct glovebox_box_options unset = { 0 };

    expect_refused(w, glovebox_box_open(w->context, &unset, &w->box, &w->err), -EINVAL);
    expect_refused(w, glovebox_box_open(w->context, &grown.known, &w->box, &w->err), -ENOSYS);
    grown.later = 0;
    assert_int_equal(glovebox_box_open(w->context, &grown.known, &w->box, &w->err), 0);
}

static void a_disabled_backend_refuses(void **state)
{
    struct world *w = *state;

    set(w, "backend", "disabled");
    code(w, "true");
    assert_int_equal(glovebox_exec(w->context, w->request, &w->result, &w->err), -EPERM);
    assert_int_equal(w->err.blame, GLOVEBOX_BLAME_HOST);
    assert_true(strlen(w->err.remedy) > 0);
    assert_null(w->result);
}

static void the_environment_counts_only_where_it_is_given(void **state)
{
    struct world *w = *state;
    char home[128];
    char *env[] = { home, (char[]){ "GLOVEBOX_PIDS=9" }, NULL };

    (void)snprintf(home, sizeof(home), "HOME=%s", w->dir);
    assert_int_equal(setenv("GLOVEBOX_PIDS", "8", 1), 0);
    code(w, "true");
    exec(w);
    assert_non_null(strstr(glovebox_result_receipt(w->result), "\"pids\":128"));
    assert_int_equal(glovebox_context_configure(w->context, env, NULL, &w->err), 0);
    exec(w); /* and what was set before still wins: the run directory */
    assert_non_null(strstr(glovebox_result_receipt(w->result), "\"pids\":9"));
    assert_int_equal(unsetenv("GLOVEBOX_PIDS"), 0);
}

/* ---- threads -------------------------------------------------------------------------------- */

struct worker {
    struct world *world;
    pthread_t thread;
    int number;
    int failures;
};

/* cmocka's assertions belong to the main thread. */
static bool says(struct glovebox_result *result, int r, const char *text)
{
    const char *output = r == 0 ? glovebox_result_output(result, 1, NULL) : NULL;
    bool is_right = output && strcmp(output, text) == 0 && glovebox_result_json(result);

    glovebox_result_free(result);
    return is_right;
}

static void *work(void *user)
{
    struct worker *worker = user;
    const struct world *w = worker->world;
    struct glovebox_request *own = NULL;
    struct glovebox_box *box = NULL;
    char text[16];

    (void)snprintf(text, sizeof(text), "%d\n", worker->number);
    if (glovebox_request_new(&own, NULL) < 0 || glovebox_box_open(w->context, NULL, &box, NULL) < 0)
        worker->failures++;
    if (own && glovebox_request_code(own, "sh", NULL, "cat", 3, NULL) < 0)
        worker->failures++;
    if (own && glovebox_request_stdin(own, text, strlen(text), NULL) < 0)
        worker->failures++;
    for (int i = 0; own && box && i < RUNS_PER_THREAD; i++) {
        struct glovebox_result *result = NULL;
        int r = glovebox_box_run(box, own, &result, NULL);

        worker->failures += !says(result, r, text);
    }
    (void)glovebox_box_close(box);
    glovebox_request_free(own);
    return NULL;
}

static void threads_share_a_context_and_have_boxes_of_their_own(void **state)
{
    struct world *w = *state;
    struct worker workers[THREADS] = { 0 };

    for (int i = 0; i < THREADS; i++) {
        workers[i].world = w;
        workers[i].number = i;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        assert_int_equal(workers[i].failures, 0);
    }
}

static void *work_shared(void *user)
{
    struct worker *worker = user;
    const struct world *w = worker->world;

    for (int i = 0; i < RUNS_PER_THREAD; i++) {
        struct glovebox_result *result = NULL;
        int r = glovebox_exec(w->context, w->request, &result, NULL);

        worker->failures += !says(result, r, "same\n");
    }
    return NULL;
}

static void threads_share_a_request(void **state)
{
    struct world *w = *state;
    struct worker workers[THREADS] = { 0 };

    code(w, "cat");
    assert_int_equal(glovebox_request_stdin(w->request, "same\n", 5, &w->err), 0);
    for (int i = 0; i < THREADS; i++) {
        workers[i].world = w;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work_shared, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        assert_int_equal(workers[i].failures, 0);
    }
}

static void the_version_is_told(void **state)
{
    (void)state;
    assert_string_equal(glovebox_version(), VERSION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(code_runs_and_tells),
        TEST(documents_are_json_texts),
        TEST(a_program_gets_arguments_variables_and_input),
        TEST(a_network_is_of_rules_and_of_a_box_of_its_own),
        TEST(input_comes_from_a_descriptor),
        TEST(files_go_in_and_come_out),
        TEST(limits_hold),
        TEST(output_streams_and_need_not_be_kept),
        TEST(a_callback_cancels),
        TEST(a_descriptor_cancels),
        TEST(a_box_has_many_runs_and_keeps_its_files),
        TEST(a_file_that_is_too_large_or_missing_is_told),
        TEST(files_of_the_host_are_copied),
        TEST(a_run_can_only_lower_the_limits_of_its_box),
        TEST(a_kept_box_is_found_again_until_it_is_removed),
        TEST(settings_are_checked_and_a_bad_one_changes_nothing),
        TEST(a_request_is_checked_as_it_is_made),
        TEST(two_files_cannot_have_one_place),
        TEST(too_many_arguments_are_refused),
        TEST(an_error_of_another_size_is_not_written_past),
        TEST(options_may_grow_but_not_be_ignored),
        TEST(a_disabled_backend_refuses),
        TEST(the_environment_counts_only_where_it_is_given),
        TEST(threads_share_a_context_and_have_boxes_of_their_own),
        TEST(threads_share_a_request),
        cmocka_unit_test(the_version_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
