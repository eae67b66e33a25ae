/* SPDX-License-Identifier: Apache-2.0 */
/* lib_api/world.c - what the tests of the library have in common. */
#include "world.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ftw.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Ids that no other test uses. */
#define UID_FIRST 0x64000000u
#define UID_SPAN  0x10000u

/* ---- around every test ---------------------------------------------------------------------- */

void set(struct world *w, const char *name, const char *value)
{
    if (glovebox_context_set(w->context, name, value, &w->err) < 0)
        fail_msg("%s: %s", name, w->err.message);
}

int set_up(void **state)
{
    struct world *w = calloc(1, sizeof(*w));
    char path[128];

    assert_non_null(w);
    w->err.size = sizeof(w->err);
    (void)snprintf(w->dir, sizeof(w->dir), "/tmp/glovebox-lib-XXXXXX");
    assert_non_null(mkdtemp(w->dir));
    assert_int_equal(glovebox_context_new(&w->context, &w->err), 0);
    assert_int_equal(glovebox_request_new(&w->request, &w->err), 0);
    (void)snprintf(path, sizeof(path), "%s/run", w->dir);
    set(w, "run_dir", path);
    (void)snprintf(path, sizeof(path), "%s/state", w->dir);
    set(w, "state_dir", path);
    (void)snprintf(path, sizeof(path), "%u", UID_FIRST + ((unsigned)getpid() % 1024) * UID_SPAN);
    set(w, "native.uid_base", path);
    *state = w;
    return 0;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

int tear_down(void **state)
{
    struct world *w = *state;

    glovebox_result_free(w->result);
    (void)glovebox_box_close(w->box);
    glovebox_request_free(w->request);
    glovebox_context_free(w->context);
    /* Whatever a box needed of processes has been waited for. */
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    assert_int_equal(nftw(w->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
    free(w);
    return 0;
}

/* ---- words ---------------------------------------------------------------------------------- */

void code(struct world *w, const char *text)
{
    assert_int_equal(glovebox_request_code(w->request, "sh", NULL, text, strlen(text), &w->err), 0);
}

static void done(struct world *w, int r)
{
    if (r < 0)
        fail_msg("%d: %s (%s)", r, w->err.message, w->err.remedy);
    assert_int_equal(w->err.code, 0);
    assert_non_null(w->result);
}

void exec(struct world *w)
{
    glovebox_result_free(w->result);
    done(w, glovebox_exec(w->context, w->request, &w->result, &w->err));
}

void box_exec(struct world *w)
{
    glovebox_result_free(w->result);
    done(w, glovebox_box_run(w->box, w->request, &w->result, &w->err));
}

void expect_output(struct world *w, int stream, const char *text)
{
    size_t len = 0;
    const char *output = glovebox_result_output(w->result, stream, &len);

    assert_non_null(output);
    assert_int_equal(len, strlen(text));
    assert_string_equal(output, text);
}

void open_box(struct world *w)
{
    if (glovebox_box_open(w->context, NULL, &w->box, &w->err) < 0)
        fail_msg("%s", w->err.message);
}

void expect_refused(struct world *w, int r, int code)
{
    assert_int_equal(r, code);
    assert_int_equal(w->err.code, code);
    assert_int_equal(w->err.blame, GLOVEBOX_BLAME_CALLER);
    assert_true(strlen(w->err.message) > 0);
}

void attach(struct world *w, const char *user, const struct glovebox_box_options *options)
{
    (void)glovebox_box_close(w->box);
    w->box = NULL;
    if (glovebox_user_attach(w->context, user, options, &w->box, &w->err) < 0)
        fail_msg("%s: %s", user, w->err.message);
}

void remove_user(struct world *w, const char *user)
{
    uint32_t survivors = 1;

    (void)glovebox_box_close(w->box);
    w->box = NULL;
    assert_int_equal(glovebox_user_remove(w->context, user, &survivors, &w->err), 0);
    assert_int_equal(survivors, 0);
}

int listen_somewhere(unsigned *ret_port)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
    assert_int_equal(listen(fd, 4), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    *ret_port = ntohs(at.sin_port);
    return fd;
}
