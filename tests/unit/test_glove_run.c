/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_glove_run.c - programs started by a glove: how they start, what they are, how
 * they end. */
#include <dirent.h>

#include "glove_box.h"

/* ---- starting and ending -------------------------------------------------------------------- */

static void a_program_runs_and_its_exit_code_is_told(void **state)
{
    struct box *box = box_up();
    struct box_run run = box_sh(box, "exit 7", "");

    (void)state;
    assert_int_equal(box_answer(box, run.seq), 0);
    assert_true(box->ok.value > 1);
    assert_int_equal(box_exit(box, &run), 7);
    assert_true(box->exit.disk_free > 0);
    assert_true(box->exit.inodes_free > 0);
    assert_true(box->exit.maxrss_bytes > 0);
    box_down(box);
}

static void death_by_a_signal_is_told(void **state)
{
    struct box *box = box_up();
    struct box_run run = box_sh(box, "kill -SEGV $$", "");

    (void)state;
    assert_int_equal(box_exit(box, &run), 1000 + SIGSEGV);
    box_down(box);
}

static void the_stop_of_a_program_that_is_traced_is_not_its_end(void **state)
{
    static const struct {
        const char *script;
        uint32_t end;
    } ends[] = {
        { "exec 'sh', '-c', 'exit 7'", 7 },
        { "kill CONT => $$; exit 8", 8 },
        { "$SIG{TERM} = sub { exit 9 }; kill TERM => $$; exit 10", 9 },
        { "kill SEGV => $$; exit 10", 1000 + SIGSEGV },
        { "system qq(kill -TRAP $$); exit 10", 1000 + SIGTRAP },
    };
    struct box *box = box_up();
    char script[256];

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(ends); i++) {
        const char *argv[] = { "perl", "-e", box_traceme(script, ends[i].script), NULL };
        struct box_run run = box_start(box, argv, "/", "");

        assert_int_equal(box_exit(box, &run), ends[i].end);
    }
    box_down(box);
}

static void refuses(struct box *box, const char *const *argv, const char *cwd, int error,
                    enum glove_step step)
{
    struct box_run run = box_start(box, argv, cwd, "ioe");

    assert_int_equal(box_answer(box, run.seq), error);
    assert_int_equal(box->error.step, step);
    assert_string_equal(box_text(box, run.out), "");
    assert_string_equal(box_text(box, run.err), "");
    box_send_data(box, run.in, "for nobody", 10, true);
    box_ping(box);
    assert_int_equal(box->exits[run.seq - BOX_SEQ_FIRST], UINT32_MAX);
}

static void what_cannot_be_executed_is_an_error_and_no_exit(void **state)
{
    struct box *box = box_up();

    (void)state;
    refuses(box, (const char *[]){ "/no/such", NULL }, "/", ENOENT, GLOVE_STEP_EXEC);
    refuses(box, (const char *[]){ "no-such-command", NULL }, "/", ENOENT, GLOVE_STEP_EXEC);
    refuses(box, (const char *[]){ "/etc/passwd", NULL }, "/", EACCES, GLOVE_STEP_EXEC);
    refuses(box, (const char *[]){ "/etc", NULL }, "/", EACCES, GLOVE_STEP_EXEC);
    refuses(box, (const char *[]){ "", NULL }, "/", ENOENT, GLOVE_STEP_EXEC);
    refuses(box, (const char *[]){ "true", NULL }, "/no/such", ENOENT, GLOVE_STEP_CWD);
    refuses(box, (const char *[]){ "true", NULL }, "/root", EACCES, GLOVE_STEP_CWD);
    refuses(box, (const char *[]){ "true", NULL }, "tmp", EINVAL, GLOVE_STEP_CWD);
    refuses(box, (const char *[]){ NULL }, "/", EINVAL, GLOVE_STEP_REQUEST);
    box_down(box);
}

static void path_search_remembers_what_may_not_be_executed(void **state)
{
    struct box *box = box_up();
    const char *argv[] = { "tool", NULL };
    char env[1][128];
    char bytes[160];
    struct msg_run msg = { .seq = box->seq++, .cwd = "/" };
    int fd;

    (void)state;
    snprintf(env[0], sizeof(env[0]), "PATH=/no/such:%s:/usr/bin", box->dir);
    snprintf(bytes, sizeof(bytes), "%s/tool", box->dir);
    fd = open(bytes, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(wire_strs_pack(argv, bytes, sizeof(bytes), &msg.argv), 0);
    assert_int_equal(wire_strs_pack((const char *[]){ env[0], NULL }, bytes + 32, 128, &msg.env),
                     0);
    box_send(box, MSG_RUN, &msg);
    assert_int_equal(box_answer(box, msg.seq), EACCES);
    assert_int_equal(box->error.step, GLOVE_STEP_EXEC);
    box_down(box);
}

static uint32_t send_fresh(struct box *box)
{
    static const char *const argv[] = { "true", NULL };
    struct msg_run msg = { .seq = box->seq++, .cwd = "/", .flags = RUN_FLAG_FRESH };
    char bytes[2][64];

    assert_int_equal(wire_strs_pack(argv, bytes[0], sizeof(bytes[0]), &msg.argv), 0);
    assert_int_equal(wire_strs_pack(box_env, bytes[1], sizeof(bytes[1]), &msg.env), 0);
    box_send(box, MSG_RUN, &msg);
    return msg.seq;
}

/* This box has this machine's files, which leave the time at which they were read. */
static void a_box_that_cannot_be_watched_is_new_once(void **state)
{
    struct box *box = box_up();
    struct box_run first = { .seq = send_fresh(box) };

    (void)state;
    assert_int_equal(box_answer(box, first.seq), 0);
    assert_int_equal(box_exit(box, &first), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(box_answer(box, send_fresh(box)), ESTALE);
        assert_int_equal(box->error.step, GLOVE_STEP_FRESH);
    }
    box_down(box);
}

static void unknown_flags_are_refused_and_apart_needs_setup(void **state)
{
    struct box *box = box_up();
    char bytes[16];
    struct msg_run msg = { .seq = box->seq++, .cwd = "/", .flags = RUN_FLAG_APART };

    (void)state;
    assert_int_equal(wire_strs_pack((const char *[]){ "true", NULL }, bytes, 16, &msg.argv), 0);
    box_send(box, MSG_RUN, &msg);
    assert_int_equal(box_answer(box, msg.seq), EPERM);
    msg.seq = box->seq++;
    msg.flags = 1u << 30;
    box_send(box, MSG_RUN, &msg);
    assert_int_equal(box_answer(box, msg.seq), EINVAL);
    box_down(box);
}

/* ---- what a run is -------------------------------------------------------------------------- */

static void says(struct box *box, const char *script, const char *text)
{
    struct box_run run = box_sh(box, script, "oe");

    assert_string_equal(box_text(box, run.out), text);
    assert_string_equal(box_text(box, run.err), "");
    (void)box_exit(box, &run);
}

static void a_run_is_the_run_user_without_any_privilege(void **state)
{
    struct box *box = box_up();

    (void)state;
    says(box, "exec grep -E '^(Uid|Gid|Groups|Cap|NoNew|Seccomp:)' /proc/self/status",
         "Uid:\t1000\t1000\t1000\t1000\n"
         "Gid:\t1000\t1000\t1000\t1000\n"
         "Groups:\t \n"
         "CapInh:\t0000000000000000\n"
         "CapPrm:\t0000000000000000\n"
         "CapEff:\t0000000000000000\n"
         "CapBnd:\t0000000000000000\n"
         "CapAmb:\t0000000000000000\n"
         "NoNewPrivs:\t1\n"
         "Seccomp:\t2\n");
    box_down(box);
}

static void a_run_has_three_descriptors_and_default_signals(void **state)
{
    struct box *box = box_up();
    struct box_run run;

    (void)state;
    /* ls itself opens the fourth. */
    says(box, "exec ls /proc/self/fd", "0\n1\n2\n3\n");
    says(box, "exec grep -E '^Sig(Blk|Ign)' /proc/self/status",
         "SigBlk:\t0000000000000000\n"
         "SigIgn:\t0000000000000000\n");
    run = box_start(box, (const char *[]){ "ls", "/proc/self/fd", NULL }, "/", "ioe");
    assert_string_equal(box_text(box, run.out), "0\n1\n2\n3\n");
    box_down(box);
}

static void a_run_has_its_limits_umask_and_environment(void **state)
{
    struct box *box = box_up();
    struct box_run run;
    char dir[80];

    (void)state;
    snprintf(dir, sizeof(dir), "%s\n", box->dir);
    says(box, "ulimit -n; ulimit -Hn; ulimit -c; umask; cat /proc/self/oom_score_adj",
         "1024\n4096\n0\n0022\n1000\n");
    says(box, "pwd", dir);
    run = box_start(box, (const char *[]){ "env", NULL }, "/", "o");
    assert_string_equal(box_text(box, run.out), "PATH=/usr/bin:/bin\nLC_ALL=C\n");
    says(box, "cut -d' ' -f6 /proc/$$/stat | grep -qx $$ && echo session", "session\n");
    box_down(box);
}

static void standard_streams_can_be_opened_by_name(void **state)
{
    struct box *box = box_up();
    struct box_run run = box_sh(box, "cat /dev/stdin >/dev/stdout; echo e >/dev/stderr", "ioe");

    (void)state;
    box_send_data(box, run.in, "hello", 5, true);
    assert_string_equal(box_text(box, run.out), "hello");
    assert_string_equal(box_text(box, run.err), "e\n");
    box_down(box);
}

static void without_channels_there_is_dev_null(void **state)
{
    struct box *box = box_up();
    struct box_run run = box_sh(box, "cat; echo lost; echo lost >&2; exit 3", "");

    (void)state;
    assert_int_equal(box_exit(box, &run), 3);
    box_down(box);
}

static void landlock_keeps_writes_in_the_writable_paths(void **state)
{
    struct box *box = box_up();

    (void)state;
    says(
        box,
        "echo in >file && cat file; mkdir d && mv file d/ && rm -r d; echo x >/dev/null && echo ok",
        "in\nok\n");
    says(box, "test -w /tmp && (: >/tmp/glove-test-outside) 2>/dev/null || echo refused",
         "refused\n");
    assert_int_equal(access("/tmp/glove-test-outside", F_OK), -1);
    box_down(box);
}

static void the_filter_is_on(void **state)
{
    struct box *box = box_up();
    struct box_run run = box_sh(box, "unshare -U true", "e");

    (void)state;
    assert_non_null(strstr(box_text(box, run.err), "Operation not permitted"));
    assert_int_equal(box_exit(box, &run), 1);
    box_down(box);
}

static void the_glove_is_out_of_reach(void **state)
{
    struct box *box = box_up();
    char status[64];
    char text[4096];

    (void)state;
    says(box,
         "for s in 1 2 9 11 15 19 64; do kill -$s 1 2>/dev/null && echo sent; done;"
         "for f in environ mem maps exe fd/3 root/etc; do"
         " test -r /proc/1/$f && cat /proc/1/$f 2>/dev/null; done; echo done",
         "done\n");
    box_ping(box);
    snprintf(status, sizeof(status), "/proc/%d/status", box->pid);
    assert_true(fd_read_text(AT_FDCWD, status, text, sizeof(text)) > 0);
    assert_non_null(strstr(text, "CapPrm:\t00000000000000e0\nCapEff:\t00000000000000e0\n"
                                 "CapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\n"
                                 "NoNewPrivs:\t1\nSeccomp:\t2\n"));
    assert_non_null(strstr(text, "CapInh:\t0000000000000000\n"));
    box_down(box);
}

/* ---- signals, orphans, killing -------------------------------------------------------------- */

static int send_signal(struct box *box, uint32_t run, uint32_t signo)
{
    struct msg_signal msg = { .seq = box->seq++, .run = run, .signo = signo };

    box_send(box, MSG_SIGNAL, &msg);
    return box_answer(box, msg.seq);
}

static void a_signal_reaches_the_whole_group(void **state)
{
    struct box *box = box_up();
    struct box_run run = box_sh(box, "sleep 1000 | sleep 1000 & echo up; wait", "o");
    struct box_stream *out = box_stream(box, run.out);

    (void)state;
    box_wait(box, out->len == 3);
    assert_int_equal(send_signal(box, run.seq, SIGTERM), 0);
    assert_int_equal(box_exit(box, &run), 1000 + SIGTERM);
    /* Only when the sleeping ones have gone too. */
    assert_string_equal(box_text(box, run.out), "up\n");
    assert_int_equal(send_signal(box, run.seq, SIGTERM), ESRCH);
    box_down(box);
}

static void impossible_signals_are_refused(void **state)
{
    struct box *box = box_up();
    struct box_run run = box_sh(box, "cat", "i");

    (void)state;
    assert_int_equal(send_signal(box, run.seq, 0), EINVAL);
    assert_int_equal(send_signal(box, run.seq, 65), EINVAL);
    assert_int_equal(send_signal(box, run.seq, UINT32_MAX), EINVAL);
    assert_int_equal(send_signal(box, 4711, SIGTERM), ESRCH);
    box_send_data(box, run.in, "", 0, true);
    assert_int_equal(box_exit(box, &run), 0);
    box_down(box);
}

static void orphans_are_reaped(void **state)
{
    struct box *box = box_up();
    struct box_run run =
        box_sh(box, "for i in 1 2 3 4 5; do (setsid sh -c 'exec true' &) ; done", "o");

    (void)state;
    assert_int_equal(box_exit(box, &run), 0);
    /* It does not end while one of them is left. */
    says(box, "while grep -qs '^State:.Z' /proc/[0-9]*/status; do :; done; echo none", "none\n");
    box_down(box);
}

static uint64_t kill_all(struct box *box)
{
    struct msg_kill msg = { .seq = box->seq++ };

    box_send(box, MSG_KILL, &msg);
    assert_int_equal(box_answer(box, msg.seq), 0);
    return box->ok.value;
}

static void kill_leaves_nobody(void **state)
{
    struct box *box = box_up();
    struct box_run run = box_sh(box,
                                "trap '' 1 2 3 15;"
                                "for i in 1 2 3 4 5 6 7 8 9; do setsid sleep 1000 & done;"
                                "sh -c 'kill -STOP $$' & echo up; wait",
                                "o");
    struct box_stream *out = box_stream(box, run.out);

    (void)state;
    box_wait(box, out->len == 3);
    assert_int_equal(kill_all(box), 0);
    assert_int_equal(box_exit(box, &run), 1000 + SIGKILL);
    assert_string_equal(box_text(box, run.out), "up\n");
    says(box, "set -- /proc/[0-9]*; echo $#", "3\n"); /* the glove, a minder and sh */
    assert_int_equal(kill_all(box), 0);
    box_down(box);
}

static void a_fork_storm_is_killed(void **state)
{
    struct box *box = box_up();
    /* A shell that may not fork any more ends: the one that speaks forks once, before the storm. */
    struct box_run run = box_sh(box, "f() { f & f & }; (f; f; f) & echo up; cat", "io");
    struct box_stream *out = box_stream(box, run.out);

    (void)state;
    box_wait(box, out->len >= 3);
    assert_int_equal(kill_all(box), 0);
    (void)box_text(box, run.out);
    box_down(box);
}

static void a_flood_of_orphans_does_not_silence_it(void **state)
{
    struct box *box = box_up();
    struct box_run run = box_sh(box,
                                "f() { while :; do (true & true & true &); done; };"
                                "f 2>/dev/null & f 2>/dev/null & echo up; cat",
                                "io");
    struct box_stream *out = box_stream(box, run.out);

    (void)state;
    box_wait(box, out->len >= 3);
    for (int i = 0; i < 200; i++)
        box_ping(box);
    assert_int_equal(kill_all(box), 0);
    (void)box_text(box, run.out);
    box_down(box);
}

static void a_program_that_is_traced_for_ever_does_not_silence_it(void **state)
{
    struct box *box = box_up();
    char script[256];
    const char *argv[] = { "perl", "-e", NULL, NULL };
    struct box_run run;

    (void)state;
    argv[2] = box_traceme(script, "$| = 1; print 'up'; for (;;) { kill CONT => $$; traceme }");
    run = box_start(box, argv, "/", "o");
    box_wait(box, box_stream(box, run.out)->len == 2);
    for (int i = 0; i < 200; i++)
        box_ping(box);
    assert_int_equal(kill_all(box), 0);
    assert_int_equal(box_exit(box, &run), 1000 + SIGKILL);
    box_down(box);
}

/* ---- groups --------------------------------------------------------------------------------- */

static void a_run_joins_the_groups_it_was_given(void **state)
{
    struct box *box = box_up();
    uint8_t frame[256];
    char bytes[16];
    char joined[4] = "";
    int tasks[2];
    struct msg_run msg = { .seq = box->seq++, .cwd = "/", .n_fds = 2 };
    int n;

    (void)state;
    assert_int_equal(pipe2(tasks, O_CLOEXEC), 0);
    assert_int_equal(wire_strs_pack((const char *[]){ "true", NULL }, bytes, 16, &msg.argv), 0);
    n = msg_encode(MSG_RUN, 0, 0, &msg, frame, sizeof(frame));
    assert_int_equal(fd_send(box->fd, frame, (size_t)n, (int[]){ tasks[1], tasks[1] }, 2, 0), n);
    close(tasks[1]);
    assert_int_equal(box_answer(box, msg.seq), 0);
    assert_int_equal(fd_read_full(tasks[0], joined, 3), 2); /* and then its end: nobody holds it */
    assert_string_equal(joined, "00");
    close(tasks[0]);
    box_down(box);
}

static void a_group_that_is_none_is_an_error(void **state)
{
    struct box *box = box_up();
    uint8_t frame[256];
    char bytes[16];
    struct msg_run msg = { .seq = box->seq++, .cwd = "/", .n_fds = 1, .flags = RUN_FLAG_GROUP };
    int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int n;

    (void)state;
    assert_int_equal(wire_strs_pack((const char *[]){ "true", NULL }, bytes, 16, &msg.argv), 0);
    n = msg_encode(MSG_RUN, 0, 0, &msg, frame, sizeof(frame));
    assert_int_equal(fd_send(box->fd, frame, (size_t)n, &fd, 1, 0), n);
    assert_int_equal(box_answer(box, msg.seq), EBADF);
    assert_int_equal(box->error.step, GLOVE_STEP_GROUP);
    close(fd);
    box_down(box);
}

/* ---- many ----------------------------------------------------------------------------------- */

static size_t fds_of(pid_t pid)
{
    char path[64];
    struct dirent *entry;
    size_t n = 0;
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/fd", pid);
    dir = opendir(path);
    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL)
        n += entry->d_name[0] != '.';
    closedir(dir);
    return n;
}

static void a_thousand_runs_leave_no_descriptor(void **state)
{
    struct box *box = box_up();
    size_t before;

    (void)state;
    box_ping(box);
    before = fds_of(box->pid);
    for (int i = 0; i < 1000; i++) {
        const char *argv[] = { i % 10 ? "/bin/true" : "/no/such", NULL };
        struct box_run run = box_start(box, argv, "/", i % 2 ? "ioe" : "oe");

        if (run.in)
            box_send_data(box, run.in, "x", 1, true);
        if (i % 10)
            assert_int_equal(box_exit(box, &run), 0);
        else
            assert_int_equal(box_answer(box, run.seq), ENOENT);
        (void)box_text(box, run.out);
        (void)box_text(box, run.err);
    }
    box_ping(box);
    assert_int_equal(fds_of(box->pid), before);
    box_down(box);
}

static void sixty_four_runs_at_once_and_no_more(void **state)
{
    struct box *box = box_up();
    struct box_run runs[CHILDREN_MAX];
    struct box_run more;

    (void)state;
    for (size_t i = 0; i < CHILDREN_MAX; i++)
        runs[i] = box_sh(box, "cat", "i");
    more = box_sh(box, "cat", "i");
    assert_int_equal(box_answer(box, more.seq), EAGAIN);
    box_send_data(box, more.in, "", 0, true);
    for (size_t i = 0; i < CHILDREN_MAX; i++)
        box_send_data(box, runs[i].in, "", 0, true);
    for (size_t i = 0; i < CHILDREN_MAX; i++)
        assert_int_equal(box_exit(box, &runs[i]), 0);
    more = box_sh(box, "exit 5", "");
    assert_int_equal(box_exit(box, &more), 5);
    box_down(box);
}

static void input_that_a_host_never_ends_does_not_pile_up(void **state)
{
    struct box *box = box_up();

    (void)state;
    for (int i = 0; i < 100; i++) {
        struct box_run run = box_start(box, (const char *[]){ "/bin/true", NULL }, "/", "i");

        assert_int_equal(box_exit(box, &run), 0);
    }
    for (int i = 0; i < CHANNELS_MAX; i++) {
        struct box_run run = box_start(box, (const char *[]){ NULL }, "/", "i");

        assert_int_equal(box_answer(box, run.seq), EINVAL);
    }
    box_ping(box);
    assert_true(fds_of(box->pid) < 20);
    box_down(box);
}

/* ---- killing one of several ----------------------------------------------------------------- */

static int kill_run(struct box *box, const struct box_run *run)
{
    struct msg_kill msg = { .seq = box->seq++, .run = run->seq };

    box_send(box, MSG_KILL, &msg);
    assert_int_equal(box_answer(box, msg.seq), 0);
    return (int)box->ok.value;
}

/* A shell that does what it is told; its first line has come. */
static struct box_run shell_up(struct box *box)
{
    struct box_run run = box_sh(box, "echo ready; exec sh", "io");

    box_wait(box, strstr(box_stream(box, run.out)->bytes, "ready\n"));
    return run;
}

static void shell_says(struct box *box, const struct box_run *shell, const char *line,
                       const char *wanted)
{
    box_send_data(box, shell->in, line, strlen(line), false);
    box_wait(box, strstr(box_stream(box, shell->out)->bytes, wanted));
}

static void kill_of_a_run_spares_the_others(void **state)
{
    struct box *box = box_up();
    struct box_run shell = shell_up(box);
    struct box_run victim = box_sh(box, "sleep 1000 & echo on; sleep 1000", "o");

    (void)state;
    box_wait(box, strstr(box_stream(box, victim.out)->bytes, "on\n"));
    assert_int_equal(kill_run(box, &victim), 0);
    assert_int_equal(box_exit(box, &victim), 1000 + SIGKILL);
    /* Its background job had the other end of this, too. */
    assert_string_equal(box_text(box, victim.out), "on\n");
    shell_says(box, &shell, "echo still here\n", "still here\n");
    box_down(box);
}

/* The first two have been seen to be there before the program ends. */
static void a_run_takes_with_it_what_it_left(void **state)
{
    struct box *box = box_up();
    struct box_run shell = shell_up(box);
    struct box_run victim = box_sh(box,
                                   "(setsid sh -c 'echo on; exec sleep 1000' &);"
                                   "sh -c 'echo on; kill -STOP $$' & read go; sleep 1000 & exit 3",
                                   "io");

    (void)state;
    box_wait(box, strstr(box_stream(box, victim.out)->bytes, "on\non\n"));
    box_send_data(box, victim.in, "go\n", 3, true);
    assert_int_equal(box_exit(box, &victim), 3);
    assert_string_equal(box_text(box, victim.out), "on\non\n");
    /* One that is over, and one that never was: nobody is left to kill. */
    assert_int_equal(kill_run(box, &victim), 0);
    assert_int_equal(kill_run(box, &(struct box_run){ .seq = 999999 }), 0);
    shell_says(box, &shell, "set -- /proc/[0-9]*; echo $#\n", "3\n"); /* glove, minder, shell */
    box_down(box);
}

/* No look at the children can be sure to meet it. */
static void a_run_that_forks_away_over_and_over_is_caught(void **state)
{
    struct box *box = box_up();
    struct box_run shell = shell_up(box);
    struct box_run victim = box_sh(
        box, "exec perl -MPOSIX -e 'while (1) { if (fork) { POSIX::_exit(3) } setsid }'", "o");

    (void)state;
    assert_int_equal(box_exit(box, &victim), 3);
    assert_string_equal(box_text(box, victim.out), "");
    shell_says(box, &shell, "set -- /proc/[0-9]*; echo $#\n", "3\n");
    box_down(box);
}

static void kill_of_a_run_meets_what_has_left_its_session(void **state)
{
    struct box *box = box_up();
    struct box_run shell = shell_up(box);
    struct box_run victim =
        box_sh(box, "(setsid sh -c 'echo on; exec sleep 1000' &); exec sleep 1000", "o");

    (void)state;
    box_wait(box, strstr(box_stream(box, victim.out)->bytes, "on\n"));
    assert_int_equal(kill_run(box, &victim), 0);
    assert_int_equal(box_exit(box, &victim), 1000 + SIGKILL);
    assert_string_equal(box_text(box, victim.out), "on\n");
    shell_says(box, &shell, "echo still here\n", "still here\n");
    box_down(box);
}

/* Neither its signals nor its hands reach the one that watches over it. */
static void a_program_cannot_touch_its_minder(void **state)
{
    struct box *box = box_up();

    (void)state;
    says(box,
         "kill -9 $PPID 2>/dev/null && echo killed; kill -TERM $PPID 2>/dev/null && echo told;"
         "cat /proc/$PPID/environ /proc/$PPID/maps 2>/dev/null && echo read; echo end",
         "end\n");
    box_down(box);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_runs_and_its_exit_code_is_told),
        cmocka_unit_test(death_by_a_signal_is_told),
        cmocka_unit_test(the_stop_of_a_program_that_is_traced_is_not_its_end),
        cmocka_unit_test(what_cannot_be_executed_is_an_error_and_no_exit),
        cmocka_unit_test(path_search_remembers_what_may_not_be_executed),
        cmocka_unit_test(a_box_that_cannot_be_watched_is_new_once),
        cmocka_unit_test(unknown_flags_are_refused_and_apart_needs_setup),
        cmocka_unit_test(a_run_is_the_run_user_without_any_privilege),
        cmocka_unit_test(a_run_has_three_descriptors_and_default_signals),
        cmocka_unit_test(a_run_has_its_limits_umask_and_environment),
        cmocka_unit_test(standard_streams_can_be_opened_by_name),
        cmocka_unit_test(without_channels_there_is_dev_null),
        cmocka_unit_test(landlock_keeps_writes_in_the_writable_paths),
        cmocka_unit_test(the_filter_is_on),
        cmocka_unit_test(the_glove_is_out_of_reach),
        cmocka_unit_test(a_signal_reaches_the_whole_group),
        cmocka_unit_test(impossible_signals_are_refused),
        cmocka_unit_test(orphans_are_reaped),
        cmocka_unit_test(kill_leaves_nobody),
        cmocka_unit_test(kill_of_a_run_spares_the_others),
        cmocka_unit_test(a_run_takes_with_it_what_it_left),
        cmocka_unit_test(a_run_that_forks_away_over_and_over_is_caught),
        cmocka_unit_test(kill_of_a_run_meets_what_has_left_its_session),
        cmocka_unit_test(a_program_cannot_touch_its_minder),
        cmocka_unit_test(a_fork_storm_is_killed),
        cmocka_unit_test(a_flood_of_orphans_does_not_silence_it),
        cmocka_unit_test(a_program_that_is_traced_for_ever_does_not_silence_it),
        cmocka_unit_test(a_run_joins_the_groups_it_was_given),
        cmocka_unit_test(a_group_that_is_none_is_an_error),
        cmocka_unit_test(a_thousand_runs_leave_no_descriptor),
        cmocka_unit_test(sixty_four_runs_at_once_and_no_more),
        cmocka_unit_test(input_that_a_host_never_ends_does_not_pile_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
