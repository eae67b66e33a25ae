/* SPDX-License-Identifier: Apache-2.0 */
/* net/hijack.h - a connection that is taken over after its request: plain bytes both ways.
 *
 * One thread uses it at a time.  Over TLS bytes may wait inside although poll(2) shows none: read
 * until -EAGAIN before waiting for the descriptor.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct gb_err;
struct hijack;
struct http_answer;
struct http_request;

/* Connects and asks; of the request data, source and idle_ms do not count.  When the server agrees
 * (101, or 200 as proxies say) *ret is the caller's to free.  0 and NULL: it answered otherwise,
 * and *ret_answer tells, as far as its body has a Content-Length.  Errors are http_do()'s.  The
 * caller owes http_answer_clear() in any case. */
int hijack_open(const struct http_request *request, struct http_answer *ret_answer,
                struct hijack **ret, struct gb_err *err);
void hijack_free(struct hijack **hijack);

/* For poll(2). */
int hijack_fd(const struct hijack *hijack);

/* A number of bytes; 0 at the end; -EAGAIN, -ECONNRESET. */
ssize_t hijack_recv(struct hijack *hijack, void *bytes, size_t size);
ssize_t hijack_send(struct hijack *hijack, const void *bytes, size_t len);

/* Nothing more will be sent, which the other side sees as an end of file; reading goes on.
 * -EAGAIN: not now. -ENOTSUP: TLS of another kind than OpenSSL's. */
int hijack_end(struct hijack *hijack);
