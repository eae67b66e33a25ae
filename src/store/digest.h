/* SPDX-License-Identifier: Apache-2.0 */
/* store/digest.h - what an effect depended on, as one short name: its SHA-256 in hex.
 *
 * The only user of libcrypto, which is opened on first use.  Thread-safe.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct gb_err;

#define DIGEST_SIZE 65 /* 64 hex digits, NUL */

int digest_of(const void *bytes, size_t len, char ret[static DIGEST_SIZE], struct gb_err *err);

/* 64 hex digits in lower case? */
bool digest_is_valid(const char *text);
