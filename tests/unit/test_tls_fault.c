/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_tls_fault.c - what curl says of certificates that were not accepted. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "net/tls_fault.h"

#include <cmocka.h>

/* Its last day was over before it was made. */
static const char old_certificate[] =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBdDCCARqgAwIBAgIUEmIXTnEPSvRtVDsSMDgJ+Td0L0owCgYIKoZIzj0EAwIw\n"
    "DTELMAkGA1UEAwwCY2EwHhcNMjYxMTE2MTgwMzU1WhcNMjYxMTE1MTgwMzU1WjAO\n"
    "MQwwCgYDVQQDDANvbGQwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQJLMSfSdfb\n"
    "vawXv5FcCfUqkMK9/yQGhPwJ7UTzQDj2pr/lfeA847oWf06YZsQ08xJutPSLVx6p\n"
    "8J2tqFt5Z4vwo1cwVTATBgNVHSUEDDAKBggrBgEFBQcDAjAdBgNVHQ4EFgQUzAHb\n"
    "mKHGjwG8Nt6eDgLXfVGdZqAwHwYDVR0jBBgwFoAUVs5D6TZ8llt4W1JhmNHIla8l\n"
    "OuowCgYIKoZIzj0EAwIDSAAwRQIgAqjdYKZV+j4YVS6LnK4JMu/Bly0aeMixBJ8c\n"
    "FN8N9pQCIQCisuhozL4Cb1gd3RyFxlOjLyPegWmZKRYMzkxqEymvcg==\n"
    "-----END CERTIFICATE-----\n";

static void test_words_of_curl_are_told_apart(void **state)
{
    static const struct {
        CURLcode curl;
        const char *said;
        const char *our_cert;
        enum tls_fault wanted;
    } table[] = {
        { CURLE_PEER_FAILED_VERIFICATION, "SSL certificate problem: certificate has expired", NULL,
          TLS_FAULT_ITS_DATE },
        { CURLE_PEER_FAILED_VERIFICATION, "SSL certificate problem: certificate is not yet valid",
          NULL, TLS_FAULT_ITS_DATE },
        { CURLE_PEER_FAILED_VERIFICATION, "SSL certificate problem: self-signed certificate", NULL,
          TLS_FAULT_NONE },
        { CURLE_RECV_ERROR, "SSL_read: error:0A00045C: tlsv13 alert certificate required", NULL,
          TLS_FAULT_NO_CERT },
        { CURLE_RECV_ERROR, "SSL_read: error:0A000412: sslv3 alert bad certificate", NULL,
          TLS_FAULT_NO_CERT },
        { CURLE_SSL_CONNECT_ERROR, "error:0A000410: sslv3 alert handshake failure", NULL,
          TLS_FAULT_NO_CERT },
        { CURLE_SSL_CONNECT_ERROR, "error:0A000410: sslv3 alert handshake failure", "/no/such",
          TLS_FAULT_NONE },
        { CURLE_SEND_ERROR, "SSL_write: error:0A000412: sslv3 alert bad certificate", "/no/such",
          TLS_FAULT_REFUSED },
        { CURLE_RECV_ERROR, "SSL_read: error:0A000418: tlsv1 alert unknown ca", "/no/such",
          TLS_FAULT_REFUSED },
        { CURLE_RECV_ERROR, "SSL_read: error:0A000415: sslv3 alert certificate expired", "/no/such",
          TLS_FAULT_OUR_DATE },
        { CURLE_RECV_ERROR, "Recv failure: Connection reset by peer", NULL, TLS_FAULT_NONE },
        { CURLE_GOT_NOTHING, "tlsv13 alert certificate required", NULL, TLS_FAULT_NONE },
        { CURLE_SSL_CONNECT_ERROR, "", NULL, TLS_FAULT_NONE },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(table); i++) {
        enum tls_fault fault = tls_fault_of(table[i].curl, table[i].said, table[i].our_cert);

        if (fault != table[i].wanted)
            fail_msg("row %zu ('%s'): %d", i, table[i].said, (int)fault);
    }
}

static enum tls_fault fault_with(const char *certificate)
{
    char path[] = "/tmp/test-tls-fault-XXXXXX";
    cleanup_close int fd = mkostemp(path, O_CLOEXEC);
    enum tls_fault fault;

    assert_true(fd >= 0);
    assert_int_equal(fd_write_full(fd, certificate, strlen(certificate)), 0);
    fault = tls_fault_of(CURLE_RECV_ERROR, "sslv3 alert bad certificate", path);
    (void)unlink(path);
    return fault;
}

static void test_ours_is_looked_at_where_the_server_only_calls_it_bad(void **state)
{
    (void)state;
    assert_int_equal(fault_with(old_certificate), TLS_FAULT_OUR_DATE);
    assert_int_equal(fault_with("no certificate at all"), TLS_FAULT_REFUSED);
    assert_int_equal(fault_with(""), TLS_FAULT_REFUSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words_of_curl_are_told_apart),
        cmocka_unit_test(test_ours_is_looked_at_where_the_server_only_calls_it_bad),
    };

    return cmocka_run_group_tests_name("tls_fault", tests, NULL, NULL);
}
