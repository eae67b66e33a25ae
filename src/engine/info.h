/* SPDX-License-Identifier: Apache-2.0 */
/* engine/info.h - what the engine says of itself and its machine. */
#pragma once

#include <stdbool.h>

#include "base/cleanup.h"

struct engine;
struct gb_err;

/* What it does not say is "", false or an empty list. */
struct engine_info {
    char version[64];
    char os[32];
    char cgroup_version[8]; /* "1", "2" */
    char **runtimes;        /* their names */
    bool has_memory_limit;  /* its kernel can */
    bool has_swap_limit;
    bool has_pids_limit;
    bool has_cpu_limit;
};

int engine_info_get(struct engine *engine, struct engine_info *ret, struct gb_err *err);
void engine_info_clear(struct engine_info *info);

#define cleanup_engine_info cleanup_with(engine_info_clear)

/* May containers name this runtime? */
bool engine_info_has_runtime(const struct engine_info *info, const char *name);
