/* SPDX-License-Identifier: Apache-2.0 */
/* net/way.h - how a request reaches its server: URL, socket, TLS, proxy; for net/ alone. */
#pragma once

#include <stdbool.h>

#include "net/curl_lib.h"

struct gb_err;
struct http_request;

#define WAY_HOST_MAX 128

struct way {
    CURLU *url;
    char host[WAY_HOST_MAX];    /* for errors: name and port or the socket, nothing else */
    char said[CURL_ERROR_SIZE]; /* curl's own words */
};

/* Reads the URL, which must be one of http or https.  The caller owes a way_clear() in any case. */
int way_init(struct way *way, const struct http_request *request, struct gb_err *err);
void way_clear(struct way *way);

/* The options of the connection.  The handle writes to way->said until it is reset. */
CURLcode way_set(struct way *way, CURL *easy, const struct http_request *request);

bool way_is_tls(const struct way *way);

/* A part of the URL; -EINVAL when there is none, or when it is longer. */
int way_part(const struct way *way, CURLUPart part, char *text, size_t size);

/* What an option that could not be set means: memory, or a libcurl that is too old. */
int way_unset(CURLcode code, struct gb_err *err);

/* What went wrong, as http_do() promises it. */
int way_failure(struct way *way, CURL *easy, const struct http_request *request, CURLcode curl,
                struct gb_err *err);
