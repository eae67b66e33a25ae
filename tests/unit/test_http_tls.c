/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_http_tls.c - whom the HTTP client trusts: a server of openssl(1) and its certificate.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "net/http.h"

#include <cmocka.h>

struct server {
    char dir[64];
    char cert[128];
    char key[128];
    pid_t pid;
    int in;
    int out; /* what it prints */
    unsigned port;
};

static char *const no_environment[] = { NULL };

static pid_t start(const char *const argv[], int in, int out)
{
    posix_spawn_file_actions_t actions;
    pid_t pid = -1;

    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, out, STDERR_FILENO), 0);
    assert_int_equal(posix_spawn(&pid, "/usr/bin/openssl", &actions, NULL,
                                 (char *const *)(uintptr_t)argv, no_environment),
                     0);
    (void)posix_spawn_file_actions_destroy(&actions);
    return pid;
}

static void make_certificate(struct server *s)
{
    const char *const argv[] = { "openssl",
                                 "req",
                                 "-x509",
                                 "-newkey",
                                 "ec",
                                 "-pkeyopt",
                                 "ec_paramgen_curve:P-256",
                                 "-nodes",
                                 "-days",
                                 "2",
                                 "-subj",
                                 "/CN=a test",
                                 "-addext",
                                 "subjectAltName=IP:127.0.0.1",
                                 "-keyout",
                                 s->key,
                                 "-out",
                                 s->cert,
                                 NULL };
    cleanup_close int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int status = -1;

    assert_int_equal(waitpid(start(argv, null, null), &status, 0) > 0 ? status : -1, 0);
}

/* The port is told in a line "ACCEPT 127.0.0.1:PORT". */
static void read_port(struct server *s)
{
    char text[256] = "";
    size_t len = 0;
    const char *at = NULL;

    while (!at || !strchr(at, '\n')) {
        ssize_t n = read(s->out, text + len, sizeof(text) - 1 - len);

        assert_true(n > 0);
        len += (size_t)n;
        at = strstr(text, "ACCEPT 127.0.0.1:");
    }
    s->port = (unsigned)strtoul(at + strlen("ACCEPT 127.0.0.1:"), NULL, 10);
}

static int up(void **state)
{
    struct server *s = calloc(1, sizeof(*s));
    const char *const argv[] = { "openssl", "s_server", "-accept", "127.0.0.1:0", "-cert",
                                 s->cert,   "-key",     s->key,    "-www",        NULL };
    int in[2];
    int out[2];

    assert_non_null(s);
    *state = s;
    (void)snprintf(s->dir, sizeof(s->dir), "/tmp/test-http-tls-XXXXXX");
    assert_non_null(mkdtemp(s->dir));
    (void)snprintf(s->cert, sizeof(s->cert), "%s/cert.pem", s->dir);
    (void)snprintf(s->key, sizeof(s->key), "%s/key.pem", s->dir);
    make_certificate(s);
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    s->pid = start(argv, in[0], out[1]);
    close(in[0]);
    close(out[1]);
    s->in = in[1];
    s->out = out[0];
    read_port(s);
    return 0;
}

static int down(void **state)
{
    struct server *s = *state;
    int status = 0;

    (void)kill(s->pid, SIGKILL);
    assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
    close(s->in);
    close(s->out);
    (void)unlink(s->cert);
    (void)unlink(s->key);
    assert_int_equal(rmdir(s->dir), 0);
    free(s);
    return 0;
}

static int ask(const struct server *s, const char *host, const char *ca_file, int *ret_status,
               struct gb_err *err)
{
    struct http_client *client = NULL;
    struct http_request request = { .ca_file = ca_file, .cancel_fd = -1 };
    struct http_answer answer = { 0 };
    char url[64];
    int r;

    (void)snprintf(url, sizeof(url), "https://%s:%u/?key=sk-secret", host, s->port);
    request.url = url;
    *err = (struct gb_err){ 0 };
    assert_int_equal(http_client_new(&client, err), 0);
    r = http_do(client, &request, &answer, err);
    *ret_status = answer.status;
    http_answer_clear(&answer);
    http_client_free(&client);
    assert_null(strstr(err->msg, "sk-secret"));
    return r;
}

static void test_a_certificate_that_nobody_signed_is_refused(void **state)
{
    struct gb_err err;
    int status;

    assert_int_equal(ask(*state, "127.0.0.1", NULL, &status, &err), -EKEYREJECTED);
    assert_int_equal(err.blame, GB_BLAME_HOST);
    assert_non_null(strstr(err.msg, "is not trusted"));
    assert_non_null(strstr(err.msg, "self-signed"));
    assert_int_equal(status, 0);
}

static void test_a_certificate_that_is_named_is_trusted(void **state)
{
    const struct server *s = *state;
    struct gb_err err;
    int status;

    if (ask(s, "127.0.0.1", s->cert, &status, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(status, 200);
}

static void test_a_certificate_of_another_host_is_refused(void **state)
{
    const struct server *s = *state;
    struct gb_err err;
    int status;

    assert_int_equal(ask(s, "localhost", s->cert, &status, &err), -EKEYREJECTED);
    assert_non_null(strstr(err.msg, "localhost"));
}

static void test_certificates_that_cannot_be_read_are_named(void **state)
{
    struct gb_err err;
    int status;

    assert_int_equal(ask(*state, "127.0.0.1", "/no/such/file.pem", &status, &err), -ENOKEY);
    assert_non_null(strstr(err.msg, "/no/such/file.pem"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_certificate_that_nobody_signed_is_refused),
        cmocka_unit_test(test_a_certificate_that_is_named_is_trusted),
        cmocka_unit_test(test_a_certificate_of_another_host_is_refused),
        cmocka_unit_test(test_certificates_that_cannot_be_read_are_named),
    };

    return cmocka_run_group_tests_name("http_tls", tests, up, down);
}
