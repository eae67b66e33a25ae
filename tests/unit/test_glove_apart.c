/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_glove_apart.c - runs in a pid and a mount namespace of their own, with paths
 * hidden. */
#include "glove_box.h"

static struct box *box_up_apart(void)
{
    struct box *box = box_new();

    box_greet(box);
    assert_int_equal(box_setup(box, SETUP_FLAG_LANDLOCK | SETUP_FLAG_SECCOMP | SETUP_FLAG_APART, 0),
                     0);
    assert_int_equal(box_limits(box), 0);
    return box;
}

static struct box_run start_apart(struct box *box, const char *const *argv,
                                  const char *const *hidden, bool has_in)
{
    char argv_bytes[4096];
    char env_bytes[256];
    char hidden_bytes[1024];
    struct box_run run = { .seq = box->seq++ };
    struct msg_run msg = { .seq = run.seq, .cwd = box->dir, .flags = RUN_FLAG_APART };

    if (has_in)
        msg.in = run.in = box_stream_open(box);
    msg.out = run.out = box_stream_open(box);
    msg.err = run.err = box_stream_open(box);
    assert_int_equal(wire_strs_pack(argv, argv_bytes, sizeof(argv_bytes), &msg.argv), 0);
    assert_int_equal(wire_strs_pack(box_env, env_bytes, sizeof(env_bytes), &msg.env), 0);
    assert_int_equal(wire_strs_pack(hidden, hidden_bytes, sizeof(hidden_bytes), &msg.hidden), 0);
    box_send(box, MSG_RUN, &msg);
    return run;
}

static const char *const nothing[] = { NULL };

static struct box_run sh_apart(struct box *box, const char *script, const char *const *hidden)
{
    const char *argv[] = { "sh", "-c", script, NULL };

    return start_apart(box, argv, hidden, false);
}

static void says(struct box *box, const char *script, const char *const *hidden, const char *text)
{
    struct box_run run = sh_apart(box, script, hidden);

    assert_string_equal(box_text(box, run.out), text);
    assert_string_equal(box_text(box, run.err), "");
    (void)box_exit(box, &run);
}

static void it_sees_only_itself(void **state)
{
    struct box *box = box_up_apart();
    struct box_run other = box_sh(box, "cat", "i");

    (void)state;
    says(box, "echo $$; echo /proc/[0-9]*", nothing, "2\n/proc/2\n");
    says(box, "kill -0 1 2>/dev/null || echo refused; cat /proc/1/status 2>/dev/null", nothing,
         "refused\n");
    box_send_data(box, other.in, "", 0, true);
    assert_int_equal(box_exit(box, &other), 0);
    box_down(box);
}

static void it_has_no_privilege_and_neither_have_others(void **state)
{
    static const char script[] = "exec grep -E '^(Uid|CapPrm|CapEff|CapBnd|NoNew|Seccomp:)' "
                                 "/proc/self/status";
    static const char text[] = "Uid:\t1000\t1000\t1000\t1000\n"
                               "CapPrm:\t0000000000000000\n"
                               "CapEff:\t0000000000000000\n"
                               "CapBnd:\t0000000000000000\n"
                               "NoNewPrivs:\t1\n"
                               "Seccomp:\t2\n";
    struct box *box = box_up_apart();
    struct box_run run;

    (void)state;
    says(box, script, nothing, text);
    says(box, "exec ls /proc/self/fd", nothing, "0\n1\n2\n3\n");
    run = box_sh(box, script, "o");
    assert_string_equal(box_text(box, run.out), text);
    box_down(box);
}

static void the_masks_of_proc_are_kept(void **state)
{
    struct box *box = box_up_apart();

    (void)state;
    says(box, "cat /proc/kallsyms 2>/dev/null; ls /proc/bus; test -r /proc/meminfo && echo meminfo",
         nothing, "meminfo\n");
    says(box, "cut -d' ' -f5,6 /proc/self/mountinfo | grep '^/proc' | tail -n 4", nothing,
         "/proc rw,nosuid,nodev,noexec,relatime\n"
         "/proc/bus ro,nosuid,nodev,noexec,relatime\n"
         "/proc/kallsyms ro,nosuid,nodev,noexec,relatime\n"
         "/proc/sys ro,nosuid,nodev,noexec,relatime\n");
    box_down(box);
}

static void hidden_paths_show_nothing_and_only_there(void **state)
{
    struct box *box = box_up_apart();
    struct box_run run = box_sh(box, "mkdir tests; echo secret | tee tests/t key >/dev/null", "");
    char dir[80];
    char file[80];
    const char *hidden[] = { dir, file, "/no/such", NULL };

    (void)state;
    assert_int_equal(box_exit(box, &run), 0);
    snprintf(dir, sizeof(dir), "%s/tests", box->dir);
    snprintf(file, sizeof(file), "%s/key", box->dir);
    says(box,
         "ls -A tests; cat key 2>/dev/null || echo closed; (: >tests/x) 2>/dev/null || echo ro;"
         "(umount tests || rmdir tests || mv tests other || rm -f key) 2>/dev/null || echo fast;"
         "grep -rs secret . ; echo end",
         hidden, "closed\nro\nfast\nend\n");
    run = box_sh(box, "cat tests/t key", "o");
    assert_string_equal(box_text(box, run.out), "secret\nsecret\n");
    box_down(box);
}

static void a_hidden_path_through_a_link_is_refused(void **state)
{
    struct box *box = box_up_apart();
    struct box_run run = box_sh(box, "ln -s /usr way", "");
    char way[80];
    char below[80];
    const char *bad[] = { way, below, "/proc/1", "relative", "/tmp/../etc" };
    static const int errors[] = { ELOOP, ELOOP, EINVAL, EINVAL, EINVAL };

    (void)state;
    assert_int_equal(box_exit(box, &run), 0);
    snprintf(way, sizeof(way), "%s/way", box->dir);
    snprintf(below, sizeof(below), "%s/way/bin", box->dir);
    for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
        run = sh_apart(box, "true", (const char *[]){ bad[i], NULL });
        assert_int_equal(box_answer(box, run.seq), errors[i]);
        assert_int_equal(box->error.step, GLOVE_STEP_NAMESPACE);
        assert_string_equal(box_text(box, run.out), "");
    }
    box_down(box);
}

static void its_end_is_told_as_it_was(void **state)
{
    struct box *box = box_up_apart();
    struct box_run run = sh_apart(box, "exit 9", nothing);

    (void)state;
    assert_int_equal(box_exit(box, &run), 9);
    run = sh_apart(box, "kill -SEGV $$", nothing);
    assert_int_equal(box_exit(box, &run), 1000 + SIGSEGV);
    run = sh_apart(box, "kill -KILL $$", nothing);
    assert_int_equal(box_exit(box, &run), 1000 + SIGKILL);
    run = start_apart(box, (const char *[]){ "/no/such", NULL }, nothing, false);
    assert_int_equal(box_answer(box, run.seq), ENOENT);
    assert_int_equal(box->error.step, GLOVE_STEP_EXEC);
    box_ping(box);
    assert_int_equal(box->exits[run.seq - BOX_SEQ_FIRST], UINT32_MAX);
    box_down(box);
}

static void its_stop_is_not_its_end(void **state)
{
    struct box *box = box_up_apart();
    char script[256];
    const char *argv[] = { "perl", "-e", box_traceme(script, "exec 'sh', '-c', 'exit 7'"), NULL };
    struct box_run run = start_apart(box, argv, nothing, false);

    (void)state;
    assert_int_equal(box_exit(box, &run), 7);
    box_down(box);
}

static void what_it_leaves_behind_goes_with_it(void **state)
{
    struct box *box = box_up_apart();
    struct box_run run = sh_apart(box, "setsid sleep 1000 & sleep 1000 & exit 3", nothing);

    (void)state;
    assert_int_equal(box_exit(box, &run), 3);
    assert_string_equal(box_text(box, run.out), ""); /* nobody holds it any more */
    box_down(box);
}

static int send_signal(struct box *box, uint32_t run, uint32_t signo)
{
    struct msg_signal msg = { .seq = box->seq++, .run = run, .signo = signo };

    box_send(box, MSG_SIGNAL, &msg);
    return box_answer(box, msg.seq);
}

static void signals_reach_it(void **state)
{
    static const uint32_t signals[] = { SIGTERM, SIGKILL };
    struct box *box = box_up_apart();

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(signals); i++) {
        struct box_run run = sh_apart(box, "echo up; sleep 1000", nothing);
        struct box_stream *out = box_stream(box, run.out);

        box_wait(box, out->len == 3);
        assert_int_equal(send_signal(box, run.seq, signals[i]), 0);
        assert_int_equal(box_exit(box, &run), 1000 + signals[i]);
        assert_string_equal(box_text(box, run.out), "up\n");
    }
    box_down(box);
}

static void many_leave_nothing(void **state)
{
    struct box *box = box_up_apart();

    (void)state;
    for (int i = 0; i < 50; i++) {
        struct box_run run = sh_apart(box, "exit 0", nothing);

        assert_int_equal(box_exit(box, &run), 0);
        (void)box_text(box, run.out);
        (void)box_text(box, run.err);
    }
    box_down(box);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_sees_only_itself),
        cmocka_unit_test(it_has_no_privilege_and_neither_have_others),
        cmocka_unit_test(the_masks_of_proc_are_kept),
        cmocka_unit_test(hidden_paths_show_nothing_and_only_there),
        cmocka_unit_test(a_hidden_path_through_a_link_is_refused),
        cmocka_unit_test(its_end_is_told_as_it_was),
        cmocka_unit_test(its_stop_is_not_its_end),
        cmocka_unit_test(what_it_leaves_behind_goes_with_it),
        cmocka_unit_test(signals_reach_it),
        cmocka_unit_test(many_leave_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
