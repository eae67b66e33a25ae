/* SPDX-License-Identifier: Apache-2.0 */
/* net/curl_lib.h - libcurl, opened on first use; for the files of net/ alone. */
#pragma once

#define CURL_DISABLE_TYPECHECK /* it is for calls by name */
#include <curl/curl.h>

struct gb_err;

#define CURL_LIB_FUNCTIONS(X) \
    X(global_init)            \
    X(easy_init)              \
    X(easy_cleanup)           \
    X(easy_reset)             \
    X(easy_setopt)            \
    X(easy_getinfo)           \
    X(easy_strerror)          \
    X(easy_perform)           \
    X(easy_recv)              \
    X(easy_send)              \
    X(free)                   \
    X(multi_init)             \
    X(multi_cleanup)          \
    X(multi_setopt)           \
    X(multi_add_handle)       \
    X(multi_remove_handle)    \
    X(multi_perform)          \
    X(multi_poll)             \
    X(multi_info_read)        \
    X(slist_append)           \
    X(slist_free_all)         \
    X(url)                    \
    X(url_set)                \
    X(url_get)                \
    X(url_cleanup)

#define CURL_LIB_POINTER(name) __typeof__(curl_##name) *name;

/* Its functions; written by curl_lib_open() alone. */
struct curl_lib {
    CURL_LIB_FUNCTIONS(CURL_LIB_POINTER)
};
extern struct curl_lib curl_fn;

/* Thread-safe.  The error names library and package. */
int curl_lib_open(struct gb_err *err);

/* curl's own pairs of sockets would survive an exec; no other descriptor here is meant to.  Called
 * behind whatever makes such a pair. */
void curl_lib_seal(void);

/* Sets an option of `easy` unless one has failed already; `code` tells. */
#define CURL_SET(option, value) \
    (code = code == CURLE_OK ? curl_fn.easy_setopt(easy, (option), (value)) : code)
