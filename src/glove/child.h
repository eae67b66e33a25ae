/* SPDX-License-Identifier: Apache-2.0 */
/* glove/child.h - a child of the glove from its fork to its exec.
 *
 * No allocation, no lock.  A failure travels up the report pipe as one struct report; the kernel
 * closes that pipe at exec, so its end without a report means that the program runs.
 *
 * The child is never dumpable before exec: until then it has neither the run's filter nor its
 * Landlock rules, and a process of the same user could otherwise take it over.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/msg.h"

struct glove;

/* What the glove has prepared for a run. */
struct child_plan {
    const struct glove *glove;
    const char *cwd;
    const char *const *argv;
    const char *const *env;
    const int *group_fds; /* v1 `tasks` files */
    size_t n_group_fds;
    const struct wire_strs *hidden; /* apart: paths that show nothing */
    int stdio[3];
    bool has_tty; /* they are a terminal, which becomes the session's */
    int report_fd;
    int status_fd; /* apart, minded: where it is told how the program ended; else -1 */
};

/* fork(2), into the v2 group of a directory descriptor unless that is -1; clone_flags are further
 * SYS_CLONE_NEW*.  The pid, 0 in the child, or -errno. */
pid_t child_fork(int group_fd, uint64_t clone_flags);

/* What wait4(2) said of a process: was it its end?  A process can make its parent its tracer
 * without asking (PTRACE_TRACEME, and CLONE_PTRACE passes that on), and then its stops are told
 * like ends. One that has stopped goes on here as if nobody traced it, and nobody does any more. */
bool child_has_ended(pid_t pid, int status);

/* Writes a report and ends the process. */
void child_report(int report_fd, enum glove_step step, int error, uint64_t value)
    __attribute__((noreturn));

/* Becomes the run user without any privilege, under the limits; also for children that do not
 * exec.  0, or a negative errno and the step. */
int child_become_user(const struct glove *glove, enum glove_step *ret_step);

/* First thing in the child: its groups, a session of its own. */
void child_begin(const struct child_plan *plan);

/* Becomes the program. */
void child_exec(const struct child_plan *plan) __attribute__((noreturn));
