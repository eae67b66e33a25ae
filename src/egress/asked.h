/* SPDX-License-Identifier: Apache-2.0 */
/* egress/asked.h - the different names that a box had looked up: each one is a message to whoever
 * serves the names below it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Starts as `= { 0 }`, owes an asked_clear(). */
struct asked {
    void *names;
    uint64_t n;
};

/* Is this name one of the first max that were asked for?  Also false where there is no memory to
 * remember it. */
bool asked_take(struct asked *asked, const char *name, uint64_t max);
void asked_clear(struct asked *asked);
