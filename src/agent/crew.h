/* SPDX-License-Identifier: Apache-2.0 */
/* agent/crew.h - n jobs on a few threads. */
#pragma once

#include <stddef.h>

#define CREW_MAX 64

/* Calls job(user, 0) … job(user, n - 1), at most `hands` at a time, in order of their numbers, and
 * returns when all have returned.  Where no thread can be made the caller does it all. */
void crew_do(size_t n, unsigned hands, void (*job)(void *user, size_t i), void *user);
