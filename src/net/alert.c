/* SPDX-License-Identifier: Apache-2.0 */
/* net/alert.c - does a server of TLS hang up because of our certificate? */
#include "net/alert.h"

#include <poll.h>
#include <stdint.h>

#include "base/clock.h"
#include "net/curl_lib.h"
#include "net/http.h"
#include "net/way.h"

#define PATIENCE_MS 1000

static bool connects(CURL *easy, struct way *way, const struct http_request *request)
{
    CURLcode code = way_init(way, request, NULL) < 0 ? CURLE_OUT_OF_MEMORY : CURLE_OK;

    if (code == CURLE_OK)
        code = way_set(way, easy, request);
    CURL_SET(CURLOPT_CONNECT_ONLY, 1L);
    CURL_SET(CURLOPT_TIMEOUT_MS, (long)PATIENCE_MS);
    if (code == CURLE_OK)
        code = curl_fn.easy_perform(easy);
    curl_lib_seal();
    return code == CURLE_OK;
}

/* curl itself has noticed when it has no socket to tell of.  What follows the handshake of a server
 * that is content, such as a ticket, ends nothing. */
static bool is_ended(CURL *easy)
{
    uint64_t end_ns = clock_after_ms(PATIENCE_MS);
    curl_socket_t fd = CURL_SOCKET_BAD;
    CURLcode code = CURLE_AGAIN;
    struct pollfd wait = { .events = POLLIN };
    char bytes[256];
    size_t n = 0;

    if (curl_fn.easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &fd) != CURLE_OK)
        return false;
    if (fd == CURL_SOCKET_BAD)
        return true;
    wait.fd = fd;
    while (code == CURLE_AGAIN && poll(&wait, 1, clock_poll_ms(end_ns)) > 0)
        code = curl_fn.easy_recv(easy, bytes, sizeof(bytes), &n);
    return code != CURLE_AGAIN && n == 0;
}

bool alert_ends_it(const struct http_request *request)
{
    CURL *easy = curl_fn.easy_init();
    struct way way = { 0 };
    bool is_so = easy && connects(easy, &way, request) && is_ended(easy);

    if (easy)
        curl_fn.easy_cleanup(easy);
    way_clear(&way);
    return is_so;
}
