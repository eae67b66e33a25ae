/* SPDX-License-Identifier: Apache-2.0 */
/* spawner/failure.h - why there is no box: which step, which wall, and the kernel's word for it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "wire/msg.h"

struct failure {
    uint32_t step;
    uint32_t where; /* enum spawn_where */
    uint32_t wall;
    uint32_t error;
    char detail[112];
};

/* code: a negative errno.  Returns -1, for whoever ends with it. */
int failure_note(struct failure *ret, size_t step, enum spawn_where where, uint32_t wall, int code,
                 const char *detail);

/* Tells the host why there will be no box. */
void failure_send(int control_fd, const struct failure *failure);
