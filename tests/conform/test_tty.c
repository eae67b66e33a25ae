/* SPDX-License-Identifier: Apache-2.0 */
/* conform/test_tty.c - programs with a terminal, and what reaches a program while it runs. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "trial.h"

/* An event is sent, or something is typed, when the program has written the word. */
struct cue {
    struct trial *trial;
    const char *word;
    struct box_event event;
    const char *typed; /* instead of the event */
    int input_fd;
    int pipe[2];
    bool is_given;
};

static bool next_event(void *user, struct box_event *ret)
{
    struct cue *cue = user;
    char byte;

    *ret = cue->event;
    return read(cue->pipe[0], &byte, 1) == 1;
}

static int watch_for_cue(void *user, int stream, const void *bytes, size_t len)
{
    struct cue *cue = user;
    struct trial_stream *s = &cue->trial->streams[stream];

    if (s->total + len >= sizeof(s->text))
        return -ENOBUFS;
    memcpy(s->text + s->total, bytes, len);
    s->total += len;
    if (cue->is_given || !strstr(s->text, cue->word))
        return 0;
    cue->is_given = true;
    if (cue->typed)
        return fd_write_full(cue->input_fd, cue->typed, strlen(cue->typed));
    return fd_write_full(cue->pipe[1], "!", 1);
}

/* A script with a terminal whose input is these words and stays open. */
static void run_at(struct trial *t, const char *script, const char *words, struct cue *cue)
{
    const char *const argv[] = { "sh", "-c", script, NULL };
    struct box_run_spec spec = trial_spec(t, argv);
    struct box_events events = { .next = next_event, .user = cue };
    int input[2];

    assert_int_equal(pipe2(input, O_CLOEXEC), 0);
    assert_int_equal(fd_write_full(input[1], words, strlen(words)), 0);
    spec.has_tty = true;
    spec.rows = 33;
    spec.cols = 77;
    spec.stdin_fd = input[0];
    if (cue) {
        assert_int_equal(pipe2(cue->pipe, O_CLOEXEC), 0);
        cue->input_fd = input[1];
        events.fd = cue->pipe[0];
        spec.events = &events;
        spec.output = watch_for_cue;
        spec.user = cue;
    }
    assert_int_equal(trial_run(t, &spec), 0);
    assert_int_equal(t->end.survivors, 0);
    assert_int_equal(t->streams[2].total, 0);
    for (int i = 0; i < 2; i++) {
        close(input[i]);
        if (cue)
            close(cue->pipe[i]);
    }
}

static void all_three_streams_are_a_terminal_of_that_size(void **state)
{
    struct trial *t = *state;

    trial_open(t);
    run_at(t, "test -t 0 && test -t 1 && test -t 2 && stty size && echo error >&2", "", NULL);
    assert_string_equal(t->streams[1].text, "33 77\r\nerror\r\n");
    assert_int_equal(t->end.code, 0);
}

static void what_is_typed_is_echoed_and_read(void **state)
{
    struct trial *t = *state;

    trial_open(t);
    run_at(t, "read x; echo got $x", "word\r", NULL);
    assert_string_equal(t->streams[1].text, "word\r\ngot word\r\n");
}

static void keys_are_signals(void **state)
{
    struct trial *t = *state;
    struct cue cue = { .trial = t, .word = "up", .typed = "\003" };

    trial_open(t);
    run_at(t, "echo up; exec sleep 1000", "", &cue);
    assert_int_equal(t->end.signo, SIGINT);
}

static void an_input_that_ends_is_no_end_of_the_terminal(void **state)
{
    struct trial *t = *state;
    const char *const argv[] = { "sh", "-c", "sleep 0.1; echo on >/dev/tty; exit 3", NULL };
    struct box_run_spec spec = trial_spec(t, argv);
    cleanup_close int fd = memfd_create("input", MFD_CLOEXEC);

    trial_open(t);
    spec.has_tty = true;
    spec.stdin_fd = fd;
    assert_int_equal(trial_run(t, &spec), 0);
    assert_string_equal(t->streams[1].text, "on\r\n");
    assert_int_equal(t->end.code, 3);
}

static void a_new_size_is_told(void **state)
{
    struct trial *t = *state;
    struct cue cue = {
        .trial = t,
        .word = "up",
        .event = { .kind = BOX_EVENT_RESIZE, .rows = 12, .cols = 150 },
    };

    trial_open(t);
    run_at(t, "trap 'stty size; exit 5' WINCH; echo up; while :; do sleep 0.05; done", "", &cue);
    assert_string_equal(t->streams[1].text, "up\r\n12 150\r\n");
    assert_int_equal(t->end.code, 5);
}

static void a_signal_is_passed_on(void **state)
{
    struct trial *t = *state;
    struct cue cue = {
        .trial = t,
        .word = "up",
        .event = { .kind = BOX_EVENT_SIGNAL, .signo = SIGUSR2 },
    };

    trial_open(t);
    run_at(t, "trap 'echo caught; exit 6' USR2; echo up; read x", "", &cue);
    assert_string_equal(t->streams[1].text, "up\r\ncaught\r\n");
    assert_int_equal(t->end.code, 6);
}

/* The glove's refusal is not the run's end. */
static void an_event_that_makes_no_sense_does_no_harm(void **state)
{
    struct trial *t = *state;
    struct cue cue = {
        .trial = t,
        .word = "up",
        .event = { .kind = BOX_EVENT_SIGNAL, .signo = 4711 },
    };

    trial_open(t);
    run_at(t, "echo up; sleep 0.3; echo on", "", &cue);
    assert_string_equal(t->streams[1].text, "up\r\non\r\n");
    assert_int_equal(t->end.code, 0);
    trial_says(t, "echo after", "after\n");
}

static void a_process_that_stays_is_killed_with_the_run(void **state)
{
    struct trial *t = *state;

    trial_open(t);
    run_at(t, "(trap '' HUP; sleep 1000) & echo up", "", NULL);
    assert_string_equal(t->streams[1].text, "up\r\n");
    trial_says(t, "echo after", "after\n");
}

/* Each has a terminal of its own, and none is left over. */
static void many_one_after_another(void **state)
{
    struct trial *t = *state;

    trial_open(t);
    for (int i = 0; i < 80; i++) {
        run_at(t, "echo on", "", NULL);
        assert_string_equal(t->streams[1].text, "on\r\n");
    }
}

int main(void)
{
    static const struct trial_test tests[] = {
        TRIAL_TEST(all_three_streams_are_a_terminal_of_that_size),
        TRIAL_TEST(what_is_typed_is_echoed_and_read),
        TRIAL_TEST(keys_are_signals),
        TRIAL_TEST(an_input_that_ends_is_no_end_of_the_terminal),
        TRIAL_TEST(a_new_size_is_told),
        TRIAL_TEST(a_signal_is_passed_on),
        TRIAL_TEST(an_event_that_makes_no_sense_does_no_harm),
        TRIAL_TEST(a_process_that_stays_is_killed_with_the_run),
        TRIAL_TEST(many_one_after_another),
    };

    return trial_main(tests, N_ELEMENTS(tests));
}
