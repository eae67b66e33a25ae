/* SPDX-License-Identifier: Apache-2.0 */
/* net/way.c - how a request reaches its server. */
#include "net/way.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/err.h"
#include "net/alert.h"
#include "net/http.h"
#include "net/tls_fault.h"

#define CONNECT_MS 10000

/* ---- the URL -------------------------------------------------------------------------------- */

static int bad_request(struct gb_err *err, const char *what)
{
    return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "%s", what);
}

int way_part(const struct way *way, CURLUPart part, char *text, size_t size)
{
    char *value = NULL;
    size_t len = 0;

    if (curl_fn.url_get(way->url, part, &value, CURLU_DEFAULT_PORT) == CURLUE_OK) {
        len = strlen(value);
        if (len < size)
            memcpy(text, value, len);
        curl_fn.free(value);
    }
    text[len < size ? len : 0] = '\0';
    return len > 0 && len < size ? 0 : -EINVAL;
}

/* The error does not show the URL: there may be a key in it. */
int way_init(struct way *way, const struct http_request *request, struct gb_err *err)
{
    char scheme[8];
    char name[WAY_HOST_MAX - 8];
    char port[8];

    *way = (struct way){ .url = curl_fn.url() };
    if (!way->url)
        return gb_no_memory(err);
    if (curl_fn.url_set(way->url, CURLUPART_URL, request->url, 0) != CURLUE_OK ||
        way_part(way, CURLUPART_SCHEME, scheme, sizeof(scheme)) < 0 ||
        way_part(way, CURLUPART_HOST, name, sizeof(name)) < 0 ||
        way_part(way, CURLUPART_PORT, port, sizeof(port)) < 0)
        return bad_request(err, "this is not a URL that can be asked");
    if (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0)
        return bad_request(err, "only URLs of http and https can be asked");
    if (request->unix_path &&
        strlen(request->unix_path) >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
        return bad_request(err, "the path of a socket is too long");
    if (request->unix_path)
        (void)snprintf(way->host, sizeof(way->host), "%s", request->unix_path);
    else
        (void)snprintf(way->host, sizeof(way->host), "%s:%s", name, port);
    return 0;
}

bool way_is_tls(const struct way *way)
{
    char scheme[8];

    return way_part(way, CURLUPART_SCHEME, scheme, sizeof(scheme)) == 0 &&
           strcmp(scheme, "https") == 0;
}

void way_clear(struct way *way)
{
    if (way->url)
        curl_fn.url_cleanup(way->url);
    way->url = NULL;
}

/* ---- the connection ------------------------------------------------------------------------- */

/* curl 7.88 makes sockets that survive an exec. */
static curl_socket_t on_socket(void *user, curlsocktype purpose, struct curl_sockaddr *address)
{
    (void)user;
    (void)purpose;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static CURLcode set_tls(CURL *easy, const struct http_request *request)
{
    CURLcode code = CURLE_OK;

    if (request->ca_file) {
        CURL_SET(CURLOPT_CAINFO, request->ca_file);
        CURL_SET(CURLOPT_CAPATH, NULL);
    }
    if (request->cert_file) {
        CURL_SET(CURLOPT_SSLCERT, request->cert_file);
        CURL_SET(CURLOPT_SSLKEY, request->key_file);
    }
    if (request->is_unverified) {
        CURL_SET(CURLOPT_SSL_VERIFYPEER, 0L);
        CURL_SET(CURLOPT_SSL_VERIFYHOST, 0L);
    }
    return code;
}

CURLcode way_set(struct way *way, CURL *easy, const struct http_request *request)
{
    CURLcode code = set_tls(easy, request);
    uint64_t connect_ms = request->connect_ms > 0 ? request->connect_ms : CONNECT_MS;

    CURL_SET(CURLOPT_ERRORBUFFER, way->said);
    CURL_SET(CURLOPT_CURLU, way->url);
    CURL_SET(CURLOPT_PROTOCOLS_STR, "http,https");
    CURL_SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    CURL_SET(CURLOPT_FOLLOWLOCATION, 0L);
    CURL_SET(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    CURL_SET(CURLOPT_PROXY, request->proxy ? request->proxy : ""); /* "": not the environment's */
    CURL_SET(CURLOPT_NOPROXY, "");
    CURL_SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    CURL_SET(CURLOPT_UNIX_SOCKET_PATH, request->unix_path);
    CURL_SET(CURLOPT_OPENSOCKETFUNCTION, on_socket);
    CURL_SET(CURLOPT_TCP_KEEPALIVE, 1L);
    CURL_SET(CURLOPT_NOSIGNAL, 1L);
    CURL_SET(CURLOPT_QUICK_EXIT, 1L); /* a cancelled request does not wait for the name server */
    CURL_SET(CURLOPT_CONNECTTIMEOUT_MS, (long)connect_ms);
    return code;
}

int way_unset(CURLcode code, struct gb_err *err)
{
    if (code == CURLE_OUT_OF_MEMORY)
        return gb_no_memory(err);
    return gb_fail(err, -ENOSYS, GB_BLAME_HOST, "libcurl lacks an option: %s",
                   curl_fn.easy_strerror(code));
}

/* ---- what went wrong ------------------------------------------------------------------------ */

/* The row of CURLE_OK ends the table and stands for everything else. */
static const struct cause {
    CURLcode curl;
    int code;
    enum gb_blame blame;
    const char *what;
} causes[] = {
    { CURLE_COULDNT_RESOLVE_HOST, -EADDRNOTAVAIL, GB_BLAME_HOST, "has no known address" },
    { CURLE_COULDNT_RESOLVE_PROXY, -EADDRNOTAVAIL, GB_BLAME_HOST, "has a proxy without address" },
    { CURLE_COULDNT_CONNECT, -ECONNREFUSED, GB_BLAME_HOST, "cannot be reached" },
    { CURLE_OPERATION_TIMEDOUT, -ETIMEDOUT, GB_BLAME_HOST, "did not let us connect in time" },
    { CURLE_PEER_FAILED_VERIFICATION, -EKEYREJECTED, GB_BLAME_HOST, "is not trusted" },
    { CURLE_SSL_CONNECT_ERROR, -EPROTO, GB_BLAME_HOST, "does not agree on TLS" },
    { CURLE_SSL_CERTPROBLEM, -ENOKEY, GB_BLAME_HOST,
      "was not asked: our certificate or its key cannot be used" },
    { CURLE_SSL_CACERT_BADFILE, -ENOKEY, GB_BLAME_HOST, "cannot be checked" },
    { CURLE_GOT_NOTHING, -ECONNRESET, GB_BLAME_PEER, "hung up without an answer" },
    { CURLE_SEND_ERROR, -ECONNRESET, GB_BLAME_PEER, "hung up during the request" },
    { CURLE_RECV_ERROR, -ECONNRESET, GB_BLAME_PEER, "sent a broken answer" },
    { CURLE_PARTIAL_FILE, -ECONNRESET, GB_BLAME_PEER, "cut its answer off" },
    { CURLE_OUT_OF_MEMORY, -ENOMEM, GB_BLAME_HOST, "was not asked: no memory" },
    { CURLE_OK, -EPROTO, GB_BLAME_PEER, "does not speak HTTP" },
};

/* curl's codes do not tell these apart. */
static const struct cause tls_causes[] = {
    [TLS_FAULT_ITS_DATE] = { CURLE_PEER_FAILED_VERIFICATION, -EKEYEXPIRED, GB_BLAME_HOST,
                             "is not trusted" },
    [TLS_FAULT_NO_CERT] = { CURLE_SSL_CERTPROBLEM, -ENOKEY, GB_BLAME_HOST,
                            "wants a certificate of ours, and there is none" },
    [TLS_FAULT_OUR_DATE] = { CURLE_SSL_CERTPROBLEM, -EKEYEXPIRED, GB_BLAME_HOST,
                             "does not accept our certificate, which is not valid today" },
    [TLS_FAULT_REFUSED] = { CURLE_SSL_CERTPROBLEM, -ENOKEY, GB_BLAME_HOST,
                            "does not accept our certificate" },
};

static const struct cause *cause_of(const struct way *way, const struct http_request *request,
                                    CURLcode curl)
{
    enum tls_fault fault = tls_fault_of(curl, way->said, request->cert_file);
    const struct cause *cause = causes;

    if (curl == CURLE_SEND_ERROR && fault == TLS_FAULT_NONE && way_is_tls(way) &&
        alert_ends_it(request))
        fault = tls_fault_of_ours(request->cert_file);
    if (fault != TLS_FAULT_NONE)
        return &tls_causes[fault];
    while (cause->curl != curl && cause->curl != CURLE_OK)
        cause++;
    return cause;
}

/* What the table cannot say; NULL: nothing.  curl's own words are repeated only about certificates,
 * of which they may hold parts: others could quote the URL. */
static const char *detail(struct way *way, const struct http_request *request,
                          const struct cause *cause, CURLcode curl, int number)
{
    switch (cause->curl) {
    case CURLE_COULDNT_CONNECT:
        return number > 0 ? strerrordesc_np(number) : NULL;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CONNECT_ERROR:
        for (char *c = way->said; *c; c++)
            if (*c < ' ' || *c > '~')
                *c = '?';
        return way->said[0] ? way->said : NULL;
    case CURLE_SSL_CERTPROBLEM:
        return request->cert_file;
    case CURLE_SSL_CACERT_BADFILE:
        return request->ca_file ? request->ca_file : "apt-get install ca-certificates";
    case CURLE_OK:
        return curl_fn.easy_strerror(curl);
    default:
        return NULL;
    }
}

int way_failure(struct way *way, CURL *easy, const struct http_request *request, CURLcode curl,
                struct gb_err *err)
{
    const struct cause *cause = cause_of(way, request, curl);
    const char *more;
    long number = 0;
    int code;

    (void)curl_fn.easy_getinfo(easy, CURLINFO_OS_ERRNO, &number);
    code = curl == CURLE_COULDNT_CONNECT && number > 0 ? -(int)number : cause->code;
    more = detail(way, request, cause, curl, (int)number);
    return gb_fail(err, code, cause->blame, "%s %s%s%s", way->host, cause->what, more ? ": " : "",
                   more ? more : "");
}
