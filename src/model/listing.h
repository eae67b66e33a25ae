/* SPDX-License-Identifier: Apache-2.0 */
/* model/listing.h - which models a server offers. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct gb_err;
struct http_client;

struct listing_request {
    const char *url;
    const char *const *headers; /* NULL-terminated */
    const char *ca_file;
    const char *proxy;
    uint64_t connect_ms;
    uint64_t total_ms;
    int cancel_fd;
};

struct listing {
    char **names; /* NULL-terminated; in the server's order */
    size_t n;
    const char *usual;  /* the first that does more than make embeddings; NULL: there is none */
    uint64_t *contexts; /* tokens of each, where the server tells; 0 */
};

#define LISTING_MAX      1000 /* names; more are left out */
#define LISTING_NAME_MAX 256  /* bytes; longer ones are left out, and what is not plain text */

/* From the JSON of a server; pure. -EPROTO when it is no list of models. */
int listing_read(const char *text, size_t len, struct listing *ret, struct gb_err *err);

/* Asks.  -EPROTO when it answers something else than a list, -EACCES for 401 and 403. */
int listing_get(struct http_client *client, const struct listing_request *request,
                struct listing *ret, struct gb_err *err);
void listing_clear(struct listing *listing);

/* Tokens of the model of that name; 0: it is not in the list, or the server does not tell. */
uint64_t listing_context(const struct listing *listing, const char *name);

/* "a, b, c": the names most like the wanted one, cut to size. */
void listing_nearest(const struct listing *listing, const char *wanted, char *text, size_t size);
