/* SPDX-License-Identifier: Apache-2.0 */
/* spawner/plan.c - collecting the frames of a plan. */
#include "spawner/plan.h"

#include <errno.h>
#include <string.h>

static int plan_begin(struct plan *plan, const int *fds, size_t n_fds)
{
    int r = plan_decode(plan, 0, &plan->head);

    if (r < 0)
        return r;
    if (n_fds != 2 || plan->head.n_slots == 0)
        return -EPROTO;
    plan->link_fd = fds[0];
    plan->slots_fd = fds[1];
    return 0;
}

int plan_add(struct plan *plan, uint8_t type, const uint8_t *payload, size_t size, const int *fds,
             size_t n_fds)
{
    struct plan_step *step = &plan->steps[plan->n_steps];

    if (plan->n_steps == PLAN_STEPS_MAX || size > PLAN_BYTES_MAX - plan->used)
        return -EMSGSIZE;
    if ((plan->n_steps == 0) != (type == MSG_PLAN))
        return -EPROTO;
    *step = (struct plan_step){
        .type = type,
        .offset = (uint32_t)plan->used,
        .size = (uint32_t)size,
        .tree = -1,
    };
    memcpy(plan->bytes + plan->used, payload, size);
    plan->used += size;
    plan->n_steps++;
    return type == MSG_PLAN ? plan_begin(plan, fds, n_fds) : 0;
}

int plan_decode(const struct plan *plan, size_t i, void *ret)
{
    const struct plan_step *step = &plan->steps[i];

    return msg_decode(step->type, plan->bytes + step->offset, step->size, ret);
}
