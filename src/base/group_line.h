/* SPDX-License-Identifier: Apache-2.0 */
/* base/group_line.h - /proc/PID/cgroup: in which control groups a process is.
 *
 * Lines are "id:controllers:path", controllers separated by commas; that of the v2 tree has none.
 * What is found points into the text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct group_line {
    const char *controllers;
    size_t n_controllers; /* bytes */
    const char *path;
    size_t n_path; /* bytes */
};

/* The text of a process, 0 of whom is the caller itself; a negative errno. */
int group_lines_read(pid_t pid, char *text, size_t size);

/* The line at *at, which goes to the next; false at the end.  What is no line is passed over. */
bool group_line_next(const char **at, struct group_line *ret);

/* The line of a controller; "" is the v2 tree's. */
bool group_line_find(const char *text, const char *controller, struct group_line *ret);

/* Does the path end with these bytes, and have more before them or begin with them? */
bool group_line_ends(const struct group_line *line, const char *suffix);

/* Is that a whole component of the path?  Group 1 is not group 12. */
bool group_line_has(const struct group_line *line, const char *name);
