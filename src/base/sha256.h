/* SPDX-License-Identifier: Apache-2.0 */
/* base/sha256.h - the SHA-256 of a text (FIPS 180-4), in hex.
 *
 * For names of moderate texts on the way to every box: opening libcrypto for that (store/digest.h)
 * takes longer than all the rest of finding a layer.
 */
#pragma once

#include <stddef.h>

#define SHA256_HEX_SIZE 65 /* 64 hex digits in lower case, NUL */

void sha256_hex(const void *bytes, size_t len, char ret[static SHA256_HEX_SIZE]);
