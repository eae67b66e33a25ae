/* SPDX-License-Identifier: Apache-2.0 */
/* conf/certificates.h - the certificate authorities that the operator's programs trust, for boxes
 * that have a network.
 *
 * Many a company signs what leaves its network with an authority of its own.  Variables of the
 * operator's environment (SSL_CERT_FILE, NODE_EXTRA_CA_CERTS, …) name the file; a box that shows
 * this machine's programs shows the file too, and its programs find the same variables.  A file
 * counts when everybody on this machine may read it, and when it holds certificates and no private
 * key.
 */
#pragma once

#include <stddef.h>

struct box_certificate;
struct box_spec;
struct gb_err;

struct certificates {
    struct box_certificate *list; /* for struct box_spec; ends with an empty one */
    const char **env;             /* "K=V" for programs in the box, NULL-terminated */
    size_t n;                     /* of both, what was found: in env these come first */
};

/* caller is what programs are given besides, behind the rest of env; it may be NULL and must live
 * as long.  -ENOMEM leaves nothing behind. */
int certificates_find(char *const *env, const char *const *caller, struct certificates *ret);

/* The same for a box: none where its programs are not this machine's. */
int certificates_for(const struct box_spec *box, char *const *env, const char *const *caller,
                     struct certificates *ret, struct gb_err *err);

void certificates_clear(struct certificates *certificates);

/* The variables alone, a line each, for a box that lives on.  The caller frees it. */
int certificates_text(const struct certificates *certificates, char **ret);
