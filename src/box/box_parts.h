/* SPDX-License-Identifier: Apache-2.0 */
/* box/box_parts.h - a box from inside, for box/box.c and box/box_kept.c alone. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "box/box.h"

struct carry;
struct link;

struct box {
    const struct box_ops *ops;
    const struct box_spec *spec; /* until it is settled */
    int settled;                 /* 0: not yet, 1: it stands, negative: it does not */
    bool is_attached; /* it was here before this process, and has what others left in it */
    wall_set without;
    uint64_t ready_ns;
    uint32_t setup_seq;
    uint32_t limits_seq;
    uint32_t run_seq;
    struct box_held held;
    struct link *link;
    struct carry *carry; /* NULL: no network */
    struct receipt receipt;
    char *path;
    char *python_path;
    char *variables;
    max_align_t state[];
};
