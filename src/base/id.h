/* SPDX-License-Identifier: Apache-2.0 */
/* base/id.h - names of boxes, runs and tasks: a letter, an underscore and 128 random bits.
 *
 * "b_" + 26 characters of Crockford's base 32 in lower case.  An id is a name, never a proof of the
 * right to use what it names.
 */
#pragma once

#include <stdbool.h>

#define ID_SIZE 29 /* letter, underscore, 26 characters, NUL */

/* -errno when the kernel gives no randomness. */
int id_make(char letter, char id[static ID_SIZE]);

/* Is text a whole id with that letter? */
bool id_is_valid(char letter, const char *text);
