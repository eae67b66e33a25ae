/* SPDX-License-Identifier: Apache-2.0 */
/* glove/run.h - starting programs and sending them signals. */
#pragma once

struct glove;

/* Handlers of RUN and SIGNAL; msg is the decoded message. */
int run_start(struct glove *glove, const void *msg);
int run_signal(struct glove *glove, const void *msg);
