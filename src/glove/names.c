/* SPDX-License-Identifier: Apache-2.0 */
/* glove/names.c - addresses that stand for names. */
#include "glove/names.h"

#include <arpa/inet.h>
#include <string.h>

#define FIRST UINT32_C(0xc6120001) /* 198.18.0.1 */

uint32_t names_give(struct names *names, const char *name)
{
    size_t i = 0;

    while (i < names->n && strcmp(names->all[i], name) != 0)
        i++;
    if (i == NAMES_MAX || strlen(name) > DNS_NAME_MAX)
        return 0;
    if (i == names->n)
        memcpy(names->all[names->n++], name, strlen(name) + 1);
    return htonl(FIRST + (uint32_t)i);
}

const char *names_find(const struct names *names, uint32_t address)
{
    uint32_t i = ntohl(address) - FIRST;

    return i < names->n ? names->all[i] : NULL;
}
