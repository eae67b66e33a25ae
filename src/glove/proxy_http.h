/* SPDX-License-Identifier: Apache-2.0 */
/* glove/proxy_http.h - requests that HTTP makes of the proxy, and what it is told.
 *
 *    GET http://example.org/page HTTP/1.1      goes on as  GET /page HTTP/1.1, one a connection
 *    CONNECT example.org:443 HTTP/1.1          opens a tunnel
 *
 * There is one reading of a head.  Whatever two programs could read differently is answered with
 * 400: a Host that is not the target's, lines that end otherwise than in CR LF, folded lines,
 * blanks before a colon, user names in a target, two lengths of a body.  Pure: bytes in, bytes out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "glove/proxy_target.h"

#define HTTP_HEAD_MAX   16384
#define HTTP_FIELDS_MAX 128
#define HTTP_GROWTH     256 /* what a head may gain by being written anew */

struct http_request {
    bool is_tunnel; /* CONNECT */
    struct proxy_target target;
    size_t len; /* of the head as it goes on; 0 for a tunnel */
    char head[HTTP_HEAD_MAX + HTTP_GROWTH];
};

/* How many of the bytes are the head, its empty line included; 0: it goes on.  None of the first
 * `from` bytes ends it. */
size_t http_head_end(const char *bytes, size_t from, size_t len);

/* 0 and a request, or the status with which it is to be answered.  bytes are one whole head. */
int http_request_read(const char *bytes, size_t len, struct http_request *ret);

/* What is told in place of a server's answer: one line that names the target and says why, as the
 * host said it; NULL where it was not asked.  Its length. */
#define HTTP_ANSWER_MAX 768
struct wire_blob;
size_t http_answer(int status, const struct proxy_target *target, const struct wire_blob *why,
                   char ret[static HTTP_ANSWER_MAX]);

/* The status for an errno of the host. */
int http_status_of(uint32_t error);
