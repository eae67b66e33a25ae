/* SPDX-License-Identifier: Apache-2.0 */
/* conf/sha256.h - SHA-256 (FIPS 180-4) of a text in memory.
 *
 * Of our own because the command links no cryptographic library (it opens one when it needs TLS),
 * and a few lines suffice to recognise a file that was trusted.
 */
#pragma once

#include <stddef.h>

#define SHA256_TEXT_SIZE 65 /* 64 hexadecimal digits and a NUL */

void sha256_text(const void *data, size_t len, char text[static SHA256_TEXT_SIZE]);
