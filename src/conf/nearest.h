/* SPDX-License-Identifier: Apache-2.0 */
/* conf/nearest.h - the known word that a misspelt one probably meant.
 *
 *    struct nearest near = { .text = typed };
 *    for each known name: nearest_offer(&near, name);
 *    nearest_best(&near)
 */
#pragma once

struct nearest {
    const char *text; /* borrowed, as are the words offered */
    const char *best;
    unsigned distance;
};

void nearest_offer(struct nearest *near, const char *word);

/* NULL when no word was near enough: more than a third of the letters are wrong, or nothing was
 * typed. */
const char *nearest_best(const struct nearest *near);
