/* SPDX-License-Identifier: Apache-2.0 */
/* spawner/plan.h - the plan of a box as it came over the control socket.
 *
 * A plan is the frames between PLAN and GO, kept as they arrived in one fixed buffer; a step is a
 * frame.  The host compiled it and is trusted, but nothing here relies on that: what does not fit
 * or decode ends the spawner before anything was made.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/msg.h"

#define PLAN_BYTES_MAX (768 << 10)
#define PLAN_STEPS_MAX 512

struct plan_step {
    uint8_t type;
    uint32_t offset; /* of the payload */
    uint32_t size;
    int tree; /* opened for a BIND, else -1 */
};

struct plan {
    struct msg_plan head;
    int link_fd;
    int slots_fd;
    size_t n_steps;
    struct plan_step steps[PLAN_STEPS_MAX];
    size_t used;
    uint8_t bytes[PLAN_BYTES_MAX];
};

/* Adds a frame; the first must be PLAN and takes its descriptors over.  -EMSGSIZE, -EPROTO. */
int plan_add(struct plan *plan, uint8_t type, const uint8_t *payload, size_t size, const int *fds,
             size_t n_fds);

/* Decodes step i into a struct msg_* of its type (MSG_STRUCT_MAX bytes are enough). */
int plan_decode(const struct plan *plan, size_t i, void *ret);
