/* SPDX-License-Identifier: Apache-2.0 */
/* glove/reap.h - the children of the glove: their table, their reports, their ends.
 *
 *    RUN           report or exec ──► OK or ERROR;  reaped ──► EXIT (only after OK)
 *    PUT, REMOVE   reaped ──► OK or ERROR
 *    GET, LIST     reaped and FIN sent ──► OK or ERROR
 *
 * PID 1 is also the parent of every orphan of the box; those are reaped and forgotten.
 */
#pragma once

#include "glove/glove.h"

/* A free entry with a fresh report pipe, or NULL.  The child's end is the caller's to close. */
struct child *child_add(struct glove *glove, enum child_kind kind, uint32_t seq,
                        int *ret_report_fd);
void child_remove(struct child *child);
struct child *child_find(struct glove *glove, enum child_kind kind, uint32_t seq);

/* The report pipe of a child is ready. */
int reap_report(struct glove *glove, struct child *child);

/* The program of a run has this pid. */
void reap_note_main(struct glove *glove, struct child *child, pid_t pid);

/* The pid of a run's program, 0 while it is not known. */
pid_t reap_main_pid(struct glove *glove, struct child *child);

/* Waits for what has ended, without blocking and so many at a time that a flood of orphans, or a
 * program that makes the glove its tracer again and again, does not keep it from its link. */
int reap_some(struct glove *glove);

/* Answers what was waiting for a FIN. */
int reap_settle(struct glove *glove);

/* A new process has this number: no session that ended means it any more. */
void reap_forget_session(struct glove *glove, pid_t pid);

/* Handler of KILL. */
int reap_kill(struct glove *glove, const void *msg);
