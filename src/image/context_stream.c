/* SPDX-License-Identifier: Apache-2.0 */
/* image/context_stream.c - a build context as bytes that are read when somebody wants them. */
#include "image/context_stream.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"

struct context_stream {
    struct context_spec spec;
    int in;  /* the thread's end */
    int out; /* the reader's */
    pthread_t thread;
    bool is_joined;
    /* the thread's, until it is joined */
    int result;
    struct context_report report;
    struct gb_err err;
};

static int put(void *user, const void *bytes, size_t len, struct gb_err *err)
{
    const struct context_stream *stream = user;
    const char *at = bytes;

    while (len > 0) {
        ssize_t n = send(stream->in, at, len, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return gb_fail(err, -EPIPE, GB_BLAME_PEER, "nobody reads the context any more");
        at += n;
        len -= (size_t)n;
    }
    return 0;
}

/* A context that is nothing but its Dockerfile. */
static int write_alone(struct context_stream *stream)
{
    const struct context_spec *spec = &stream->spec;
    struct tar tar = { .write = put, .user = stream };
    const struct tar_entry entry = {
        .kind = TAR_FILE,
        .path = spec->dockerfile_name,
        .mode = 0644,
        .size = spec->dockerfile_len,
    };
    int r = tar_begin(&tar, &entry, &stream->err);

    if (r == 0)
        r = tar_add(&tar, spec->dockerfile, spec->dockerfile_len, &stream->err);
    if (r == 0)
        r = tar_end(&tar, &stream->err);
    stream->report.n_entries = 1;
    stream->report.n_bytes = spec->dockerfile_len;
    return r;
}

static void *work(void *user)
{
    struct context_stream *stream = user;

    stream->result = stream->spec.dir_fd < 0
                         ? write_alone(stream)
                         : context_write(&stream->spec, put, stream, &stream->report, &stream->err);
    (void)shutdown(stream->in, SHUT_WR);
    return NULL;
}

/* Signals are for the thread that waits for them. */
static int start(struct context_stream *stream)
{
    sigset_t all;
    sigset_t before;
    int r;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    r = pthread_create(&stream->thread, NULL, work, stream);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -r;
}

int context_stream_open(const struct context_spec *spec, struct context_stream **ret,
                        struct gb_err *err)
{
    cleanup_free struct context_stream *stream = calloc(1, sizeof(*stream));
    int ends[2];
    int r;

    if (!stream)
        return gb_no_memory(err);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return gb_fail_sys(err, "making a socket for the build context");
    stream->spec = *spec;
    stream->in = ends[0];
    stream->out = ends[1];
    r = start(stream);
    if (r < 0) {
        (void)close(ends[0]);
        (void)close(ends[1]);
        return gb_fail(err, r, GB_BLAME_HOST, "starting a thread: %s", strerror(-r));
    }
    *ret = take_ptr(stream);
    return 0;
}

static void join(struct context_stream *stream)
{
    if (!stream->is_joined)
        (void)pthread_join(stream->thread, NULL);
    stream->is_joined = true;
}

ssize_t context_stream_read(void *user, void *bytes, size_t size)
{
    struct context_stream *stream = user;
    ssize_t n;

    do
        n = recv(stream->out, bytes, size, 0);
    while (n < 0 && errno == EINTR);
    if (n != 0)
        return n < 0 ? -errno : n;
    join(stream);
    return stream->result;
}

int context_stream_close(struct context_stream **stream, struct context_report *ret,
                         struct gb_err *err)
{
    struct context_stream *old = *stream;
    int r;

    *stream = NULL;
    if (!old)
        return 0;
    (void)close(old->out);
    join(old);
    (void)close(old->in);
    r = old->result == -EPIPE ? 0 : old->result;
    if (r < 0 && err)
        *err = old->err;
    *ret = old->report;
    free(old);
    return r;
}
