/* SPDX-License-Identifier: Apache-2.0 */
/* conf/endpoint.h - what stands between the user and a server.
 *
 * Proxies and certificates are the user's environment's alone: a project's .env could otherwise put
 * somebody between the user and a server.
 */
#pragma once

/* The proxy for the URL by HTTPS_PROXY, http_proxy, ALL_PROXY and NO_PROXY, in both spellings;
 * HTTP_PROXY in capitals is not read, as curl does not read it.  NULL: none. */
const char *endpoint_proxy(char *const *env, const char *url);

/* The file of certificates that SSL_CERT_FILE or CURL_CA_BUNDLE names.  NULL: the system's. */
const char *endpoint_ca_file(char *const *env);
