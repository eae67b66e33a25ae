/* SPDX-License-Identifier: Apache-2.0 */
/* net/url.h - whose address a URL is, by its text alone. */
#pragma once

#include <stdbool.h>

#define URL_HOST_MAX 256

/* The host of an http or https URL, without brackets and port; false when it has none that could be
 * told. */
bool url_host(const char *url, char host[static URL_HOST_MAX]);

/* Is that host this machine: localhost, 127.0.0.0/8 in four numbers, or [::1]? */
bool url_is_here(const char *url);
