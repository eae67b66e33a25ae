/* SPDX-License-Identifier: Apache-2.0 */
/* net/tls_fault.c - what curl's words say of certificates that were not accepted. */
#include "net/tls_fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/dl.h"

/* ---- our own certificate -------------------------------------------------------------------- */

static struct {
    void *(*bio_new_file)(const char *path, const char *mode);
    int (*bio_free)(void *bio);
    void *(*pem_read_bio_x509)(void *bio, void **x, void *password, void *user);
    const void *(*get_not_before)(const void *x509);
    const void *(*get_not_after)(const void *x509);
    int (*cmp_current_time)(const void *time); /* -1: it is over, 1: it is to come, 0: an error */
    void (*x509_free)(void *x509);
} fn;

static const struct dl_symbol symbols[] = {
    DL_SYMBOL(fn.bio_new_file, "BIO_new_file"),
    DL_SYMBOL(fn.bio_free, "BIO_free"),
    DL_SYMBOL(fn.pem_read_bio_x509, "PEM_read_bio_X509"),
    DL_SYMBOL(fn.get_not_before, "X509_get0_notBefore"),
    DL_SYMBOL(fn.get_not_after, "X509_get0_notAfter"),
    DL_SYMBOL(fn.cmp_current_time, "X509_cmp_current_time"),
    DL_SYMBOL(fn.x509_free, "X509_free"),
    { 0 },
};

static struct dl library = DL_INIT("libcrypto.so.3", "libssl3", symbols);

/* Many servers say only that ours is bad.  False also when it cannot be told. */
static bool is_out_of_date(const char *file)
{
    bool is_out = false;
    void *x509 = NULL;
    void *bio;

    if (dl_open(&library, NULL) < 0)
        return false;
    bio = fn.bio_new_file(file, "r");
    if (bio) {
        x509 = fn.pem_read_bio_x509(bio, NULL, NULL, NULL);
        (void)fn.bio_free(bio);
    }
    if (x509) {
        is_out = fn.cmp_current_time(fn.get_not_after(x509)) < 0 ||
                 fn.cmp_current_time(fn.get_not_before(x509)) > 0;
        fn.x509_free(x509);
    }
    return is_out;
}

/* ---- words ---------------------------------------------------------------------------------- */

/* Did the server end it because of our certificate, or for want of one?  Without one, older
 * versions of TLS call it a failed handshake. */
static bool is_about_ours(const char *said, const char *our_cert)
{
    const char *alert = strstr(said, " alert ");

    return alert && (strstr(alert, "certificate") || strstr(alert, "unknown ca") ||
                     (!our_cert && strstr(alert, "handshake failure")));
}

enum tls_fault tls_fault_of_ours(const char *our_cert)
{
    if (!our_cert)
        return TLS_FAULT_NO_CERT;
    return is_out_of_date(our_cert) ? TLS_FAULT_OUR_DATE : TLS_FAULT_REFUSED;
}

enum tls_fault tls_fault_of(CURLcode curl, const char *said, const char *our_cert)
{
    switch (curl) {
    case CURLE_PEER_FAILED_VERIFICATION:
        return strstr(said, "has expired") || strstr(said, "not yet valid") ? TLS_FAULT_ITS_DATE
                                                                            : TLS_FAULT_NONE;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
        if (!is_about_ours(said, our_cert))
            return TLS_FAULT_NONE;
        if (our_cert && strstr(said, "expired"))
            return TLS_FAULT_OUR_DATE;
        return tls_fault_of_ours(our_cert);
    default:
        return TLS_FAULT_NONE;
    }
}
