/* SPDX-License-Identifier: Apache-2.0 */
/* net/tls_fault.h - what curl's words say of certificates that were not accepted; for net/ alone.
 */
#pragma once

#include "net/curl_lib.h"

enum tls_fault {
    TLS_FAULT_NONE,
    TLS_FAULT_ITS_DATE, /* the server's certificate is not valid today */
    TLS_FAULT_NO_CERT,  /* the server wants ours, and there is none */
    TLS_FAULT_OUR_DATE, /* ours is not valid today */
    TLS_FAULT_REFUSED,  /* ours is not accepted, for another reason */
};

/* said is curl's error text, our_cert the file of our certificate or NULL.  With TLS 1.3 a server
 * refuses after the handshake is over for us, so that curl tells of a broken answer. */
enum tls_fault tls_fault_of(CURLcode curl, const char *said, const char *our_cert);

/* What is wrong with ours, when that is why the server hung up. */
enum tls_fault tls_fault_of_ours(const char *our_cert);
