/* SPDX-License-Identifier: Apache-2.0 */
/* net/http.h - requests to HTTP servers; the only user of libcurl, which is opened on first use.
 *
 * A client keeps connections for the next request and belongs to one thread.  Everything is
 * bounded: time to connect, silence, the whole, bytes of head and body.  Redirects are not
 * followed, only http and https are spoken, proxies come from the request alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

struct gb_err;
struct http_client;

struct http_request {
    const char *method; /* NULL: GET, or POST when there is a body */
    const char *url;
    const char *const *headers; /* "Name: value"; NULL-terminated, may be NULL */
    const void *body;           /* may be NULL */
    size_t body_len;
    const char *unix_path; /* the socket to connect to instead of the URL's host; NULL: none */
    const char *ca_file;   /* NULL: the system's */
    const char *cert_file; /* ours, with its key: PEM files; NULL: none */
    const char *key_file;
    bool is_unverified;  /* TLS without a look at the server's certificate */
    const char *proxy;   /* NULL: none */
    uint64_t connect_ms; /* 0: 10 s */
    uint64_t idle_ms;    /* no byte for so long ends it; 0: 60 s */
    uint64_t total_ms;   /* 0: 10 min */
    size_t answer_max;   /* bytes of body; 0: 16 MiB */
    int cancel_fd;       /* readable: give up (-ECANCELED); -1: never */
    /* The body of a 2xx answer as it comes.  Negative ends the request with that code.  NULL, and
     * for any other status: kept in the answer. */
    int (*data)(void *user, const char *bytes, size_t len);
    /* The body in pieces instead of `body`: at most size bytes each, 0 at its end.  Negative ends
     * the request with that code.  It may block; time is not watched meanwhile. */
    ssize_t (*source)(void *user, void *bytes, size_t size);
    void *user; /* of both */
};

struct http_answer {
    int status;
    struct buf head; /* raw lines of the last head */
    struct buf body;
};

int http_client_new(struct http_client **ret, struct gb_err *err);
void http_client_free(struct http_client **client);

/* 0 when there was an answer, whatever its status.  Errors blame the host (no route, no such name,
 * refused, TLS) or the peer (cut off, too large, silent), and name URL's host, never its query:
 *    -EADDRNOTAVAIL, -ECONNREFUSED and what else connect(2) says   there is no connection
 *    -EKEYREJECTED, -EKEYEXPIRED                                   the server's certificate
 *    -ENOKEY, -EKEYEXPIRED                                         ours: none, unusable, refused
 *    -EPROTO                                                       no TLS, no HTTP is spoken
 *    -ETIMEDOUT                                                    to connect, silence, the whole
 *    -ECONNRESET                                                   hung up, cut off
 *    -EMSGSIZE                                                     head or body too long
 *    -ECANCELED, -EINVAL                                           the caller's doing
 * The caller owes http_answer_clear() in any case. */
int http_do(struct http_client *client, const struct http_request *request, struct http_answer *ret,
            struct gb_err *err);

/* The value of the first header of that name, without surrounding blanks, in value (cut to size);
 * false when there is none. */
bool http_header(const struct http_answer *answer, const char *name, char *value, size_t size);

void http_answer_clear(struct http_answer *answer);
