/* SPDX-License-Identifier: Apache-2.0 */
/* glove/run.h - starting programs, sending them signals, their terminals. */
#pragma once

struct glove;

/* Handlers of RUN, SIGNAL and RESIZE; msg is the decoded message. */
int run_start(struct glove *glove, const void *msg);
int run_signal(struct glove *glove, const void *msg);
int run_resize(struct glove *glove, const void *msg);
