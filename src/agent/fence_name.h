/* SPDX-License-Identifier: Apache-2.0 */
/* agent/fence_name.h - which file a line of a model's answer names, if any.
 *
 * These say what looks like a path, not whether it is a good one: "/etc/passwd" and "..\x.py" do,
 * so that agent_path_check() can refuse them instead of nobody noticing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Longer lines name nothing. */
#define FENCE_NAME_SIZE 4096

/* The line before a fence: "### `src/a.py` (new)". */
bool fence_name_of_line(const char *line, size_t len, char path[static FENCE_NAME_SIZE]);

/* What stands behind the backticks: "python src/a.py". */
bool fence_name_of_info(const char *info, size_t len, char path[static FENCE_NAME_SIZE]);

/* The first line inside: "# filename: a.py". */
bool fence_name_of_comment(const char *line, size_t len, char path[static FENCE_NAME_SIZE]);
