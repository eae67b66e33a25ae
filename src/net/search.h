/* SPDX-License-Identifier: Apache-2.0 */
/* net/search.h - looking something up in the web: one table of search servers.
 *
 * What comes back was written by strangers: it is bounded, of one line for each part, and without
 * anything that a terminal obeys or a person does not see.  It stays text to be quoted, never an
 * instruction.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct buf;
struct gb_err;

struct search_server {
    const char *name;
    const char *key_env;  /* NULL: it needs no key */
    const char *base_env; /* variable of its address */
    const char *base_url; /* NULL: must be given */
};

const struct search_server *search_server_at(size_t n); /* NULL behind the last */

struct search_spec {
    const struct search_server *server;
    const char *base_url; /* NULL: the server's */
    const char *key;      /* NULL: none */
    const char *ca_file;
    const char *proxy;
};

#define SEARCH_QUERY_MAX   400       /* bytes; the rest is cut off */
#define SEARCH_RESULTS_MAX 5         /* more are left out */
#define SEARCH_TITLE_MAX   200       /* bytes; the rest is cut off */
#define SEARCH_URL_MAX     500       /* bytes; a longer one is left out */
#define SEARCH_CONTENT_MAX 1200      /* bytes; the rest is cut off */
#define SEARCH_TEXT_MAX    (8 << 10) /* of all results together: what ret must have room for */

/* Appends the results as text; nothing when there are none:
 *
 *    1. Title
 *       https://example.org/page
 *       What the page says of it.
 *
 * The error says what to do and never shows the key; its code is -ENOKEY (none), -EKEYREJECTED,
 * -EAGAIN (too many requests), -EDQUOT (nothing left of the plan), -EACCES (SearXNG without JSON),
 * -EINVAL (an empty query, a bad address), -EREMOTEIO, -EPROTO, or what net/http.h gives.
 * deadline_ns: by CLOCK_MONOTONIC, or CLOCK_NEVER_NS; cancel_fd: -1 for never. */
int search_web(const struct search_spec *spec, const char *query, uint64_t deadline_ns,
               int cancel_fd, struct buf *ret, struct gb_err *err);
