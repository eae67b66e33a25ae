/* SPDX-License-Identifier: Apache-2.0 */
/* base/host_name.h - names of hosts: the one reading that there is.
 *
 * Small letters, digits, '-' and '_', in labels of 1 to 63 bytes with dots between them.  What
 * others could read otherwise (a NUL inside, a percent sign, an '@', bytes beyond ASCII) is no
 * name, so that who decides and who looks up never mean two different hosts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define HOST_NAME_LEN_MAX   253
#define HOST_NAME_LABEL_MAX 63

/* The byte as a name has it, a small letter for a large one; NUL: no name has it.  A dot is none.
 */
char host_name_byte(char byte);

/* A name as rules have it, without the dot at its end.  false: it is none. */
bool host_name_clean(const char *name, size_t len, char ret[static HOST_NAME_LEN_MAX + 1]);
