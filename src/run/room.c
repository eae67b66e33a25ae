/* SPDX-License-Identifier: Apache-2.0 */
/* run/room.c - do the files of a request fit into its box? */
#include "run/room.h"

#include <errno.h>

#include "base/err.h"
#include "box/limits.h"

#define PAGE UINT64_C(4096)

uint64_t room_of(uint64_t size)
{
    return size > UINT64_MAX - PAGE ? UINT64_MAX - PAGE : (size + PAGE - 1) / PAGE * PAGE;
}

static int no_room(const struct limits *limits, enum limit limit, uint64_t bytes, const char *why,
                   struct gb_err *err)
{
    char have[NUM_TEXT_MAX];
    char need[NUM_TEXT_MAX];

    return gb_fail(err, -EFBIG, GB_BLAME_CALLER,
                   "the files do not fit into the box: they need %s%s, and %s is %s\n"
                   "remedy: raise %s above %s",
                   num_size_text(bytes, need), why, limit_flag(limit),
                   limit_text(limits, limit, have), limit_flag(limit), need);
}

int room_check(const struct limits *limits, uint64_t bytes, uint64_t shared, struct gb_err *err)
{
    if (bytes > limits->memory_bytes)
        return no_room(limits, LIMIT_MEMORY, bytes, " of memory", err);
    if (bytes - shared > limits->disk_bytes)
        return no_room(limits, LIMIT_DISK, bytes - shared, "", err);
    return 0;
}
