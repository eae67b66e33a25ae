/* SPDX-License-Identifier: Apache-2.0 */
/* run/signals.h - being told to end, as a descriptor. */
#pragma once

struct gb_err;

/* Readable once SIGINT, SIGTERM or SIGHUP has come: whoever waits for a model, an engine or a box
 * waits for them like for anything else.  From then on they do nothing by themselves, and SIGPIPE
 * is a failed write.  The descriptor is the caller's. */
int signals_open(struct gb_err *err);
