/* SPDX-License-Identifier: Apache-2.0 */
/* box/receipt.h - which walls were really in force around a run. */
#pragma once

#include "box/limits.h"
#include "box/walls.h"

struct receipt {
    const char *backend; /* "native" */
    wall_set walls;      /* in force */
    const char *net;     /* "none"; with rules "transparent", or "proxy" for programs that ask it */
    const char *seccomp; /* name of the filter, "default" */
    unsigned landlock;   /* ABI in force */
    const char *groups;  /* "v1" or "v2": where memory, CPU and processes are limited */
    const char *accounting; /* "run": the run had groups of its own; "box": counted with its box */
    struct limits limits;
};
