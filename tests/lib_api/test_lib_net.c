/* SPDX-License-Identifier: Apache-2.0 */
/* lib_api/test_lib_net.c - what boxes reach, through the library's header alone. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "world.h"

#include <cmocka.h>

/* Rules for a port of this machine, by the name that stands for it. */
#define RULES_MAX 128
static const char *rules_for(unsigned port, char text[static RULES_MAX])
{
    (void)snprintf(text, RULES_MAX, "127-0-0-1.address.internal:%u,127.0.0.1", port);
    return text;
}

/* A process, as one that makes boxes that live on must have no threads: whoever comes to one of two
 * listeners is greeted. */
static pid_t greet(const int listeners[2])
{
    struct pollfd polls[2] = { { .fd = listeners[0], .events = POLLIN },
                               { .fd = listeners[1], .events = POLLIN } };
    pid_t child = fork();

    if (child != 0)
        return child;
    while (poll(polls, 2, -1) > 0)
        for (int i = 0; i < 2; i++) {
            int fd = polls[i].revents ? accept(polls[i].fd, NULL, NULL) : -1;

            if (fd >= 0)
                (void)!write(fd, "hello\n", 6);
            if (fd >= 0)
                close(fd);
        }
    _exit(0);
}

static void run_python(struct world *w, const char *text)
{
    assert_int_equal(glovebox_request_code(w->request, "python", NULL, text, strlen(text), &w->err),
                     0);
    box_exec(w);
}

static void ask_server(struct world *w, unsigned port)
{
    char text[512];

    (void)snprintf(text, sizeof(text),
                   "import socket\n"
                   "at = ('127-0-0-1.address.internal', %u)\n"
                   "try:\n    print(socket.create_connection(at, 20).makefile().read(), end='')\n"
                   "except OSError:\n    print('none')\n",
                   port);
    run_python(w, text);
}

static void boxes_reach_what_their_options_allow_and_nothing_else(void **state)
{
    struct world *w = *state;
    struct glovebox_box_options options = GLOVEBOX_BOX_OPTIONS_INIT;
    unsigned port;
    unsigned other;
    int listeners[2] = { listen_somewhere(&port), listen_somewhere(&other) };
    const pid_t server = greet(listeners);
    char rules[RULES_MAX];

    assert_true(server > 0);
    options.net = rules_for(port, rules);
    assert_int_equal(glovebox_box_open(w->context, &options, &w->box, &w->err), 0);
    for (int i = 0; i < 2; i++) {
        ask_server(w, port);
        expect_output(w, 1, "hello\n");
        ask_server(w, other);
        expect_output(w, 1, "none\n");
    }
    attach(w, "ann", &options); /* and one that lives on */
    ask_server(w, port);
    expect_output(w, 1, "hello\n");
    ask_server(w, other);
    expect_output(w, 1, "none\n");
    remove_user(w, "ann");
    assert_int_equal(kill(server, SIGKILL), 0);
    assert_int_equal(waitpid(server, NULL, 0), server);
    close(listeners[0]);
    close(listeners[1]);
}

static void rules_of_a_box_are_checked_before_anything_is_made(void **state)
{
    struct world *w = *state;
    struct glovebox_box_options options = GLOVEBOX_BOX_OPTIONS_INIT;
    char id[GLOVEBOX_ID_SIZE];

    options.net = "no rule at all";
    expect_refused(w, glovebox_box_open(w->context, &options, &w->box, &w->err), -EINVAL);
    expect_refused(w, glovebox_kept_create(w->context, &options, id, &w->err), -EINVAL);
    expect_refused(w, glovebox_user_attach(w->context, "ann", &options, &w->box, &w->err), -EINVAL);
    expect_refused(w, glovebox_user_remove(w->context, "ann", NULL, &w->err), -ENOENT);
}

/* ---- the end of a program ------------------------------------------------------------------- */

#define SENT (16 << 20)

/* Takes a little at a time, with little room for more; how much it was, when all has come. */
static pid_t count_slowly(int listener, int told)
{
    static char some[1 << 16];
    const int room = sizeof(some);
    pid_t child = fork();
    uint64_t got = 0;
    int fd;

    if (child != 0)
        return child;
    (void)setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
    fd = accept(listener, NULL, NULL);
    for (ssize_t n; (n = read(fd, some, sizeof(some))) > 0; got += (uint64_t)n)
        (void)poll(NULL, 0, 1);
    (void)!write(told, &got, sizeof(got));
    _exit(0);
}

static void send_much(struct world *w, unsigned port)
{
    char text[256];

    (void)snprintf(text, sizeof(text),
                   "import socket\n"
                   "s = socket.create_connection(('127-0-0-1.address.internal', %u), 20)\n"
                   "s.sendall(bytes(%d))\n",
                   port, SENT);
    run_python(w, text);
}

/* It waits for no answer, and the box goes at once. */
static void what_a_program_sent_before_it_ended_arrives(void **state)
{
    struct world *w = *state;
    struct glovebox_box_options options = GLOVEBOX_BOX_OPTIONS_INIT;
    char rules[RULES_MAX];
    uint64_t got = 0;
    unsigned port;
    int listener = listen_somewhere(&port);
    int told[2];
    pid_t server;

    assert_int_equal(pipe(told), 0);
    server = count_slowly(listener, told[1]);
    assert_true(server > 0);
    options.net = rules_for(port, rules);
    assert_int_equal(glovebox_box_open(w->context, &options, &w->box, &w->err), 0);
    send_much(w, port);
    assert_int_equal(glovebox_box_close(w->box), 0);
    w->box = NULL;
    assert_int_equal(read(told[0], &got, sizeof(got)), sizeof(got));
    assert_int_equal(got, SENT);
    assert_int_equal(waitpid(server, NULL, 0), server);
    close(told[0]);
    close(told[1]);
    close(listener);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(boxes_reach_what_their_options_allow_and_nothing_else),
        TEST(rules_of_a_box_are_checked_before_anything_is_made),
        TEST(what_a_program_sent_before_it_ended_arrives),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
