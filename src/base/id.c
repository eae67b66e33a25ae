/* SPDX-License-Identifier: Apache-2.0 */
/* base/id.c - names of boxes, runs and tasks. */
#include "base/id.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/random.h>

static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";

int id_make(char letter, char id[static ID_SIZE])
{
    unsigned char random[16];
    unsigned bits = 0;
    unsigned held = 0;
    size_t at = 0;

    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return errno ? -errno : -EIO;
    id[0] = letter;
    id[1] = '_';
    for (size_t i = 2; i < ID_SIZE - 1; i++) {
        if (held < 5) {
            bits = bits << 8 | (at < sizeof(random) ? random[at++] : 0);
            held += 8;
        }
        held -= 5;
        id[i] = digits[bits >> held & 31];
    }
    id[ID_SIZE - 1] = '\0';
    return 0;
}

bool id_is_valid(char letter, const char *text)
{
    if (strlen(text) != ID_SIZE - 1 || text[0] != letter || text[1] != '_')
        return false;
    return strspn(text + 2, digits) == ID_SIZE - 3;
}
