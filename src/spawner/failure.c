/* SPDX-License-Identifier: Apache-2.0 */
/* spawner/failure.c - why there is no box. */
#include "spawner/failure.h"

#include <errno.h>
#include <stdio.h>

#include "base/fd.h"

int failure_note(struct failure *ret, size_t step, enum spawn_where where, uint32_t wall, int code,
                 const char *detail)
{
    ret->step = (uint32_t)step;
    ret->where = where;
    ret->wall = wall;
    ret->error = (uint32_t)(code ? -code : EIO);
    (void)snprintf(ret->detail, sizeof(ret->detail), "%s", detail);
    return -1;
}

void failure_send(int control_fd, const struct failure *failure)
{
    struct msg_failed failed = {
        .step = failure->step,
        .wall = failure->wall,
        .where = failure->where,
        .error = failure->error,
        .detail = failure->detail,
    };
    uint8_t frame[sizeof(failure->detail) + 64];
    int n = msg_encode(MSG_FAILED, 0, 0, &failed, frame, sizeof(frame));

    if (n > 0)
        (void)fd_send(control_fd, frame, (size_t)n, NULL, 0, 0);
}
