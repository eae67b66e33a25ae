/* SPDX-License-Identifier: Apache-2.0 */
/* agent/trial_pool.h - boxes that wait for the next trial of the same program.
 *
 * A run in a box that stands costs a third of a box.  A box in which the program was only read
 * serves one trial more.  One in which it has run serves again only where the pool is watched, and
 * when the glove vouches that nothing was left in it (glove/remains.h): no trial sees what another
 * one did.  A program that leaves something behind more often than not has a new box each time.
 *
 *    pool_take() ──► run ──► pool_give(), pool_drop()
 *
 * Calls may come from any thread; a box belongs to whoever took it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "box/box.h"

struct gb_err;
struct trial_pool;

/* A box with what it was asked for, which must live as long. */
struct standing {
    struct box *box;
    struct box_spec spec;
    uint64_t until_ns; /* no run begins in it after that */
    bool was_used;
    struct standing *next;
};

/* wall_ms: the most that a run may take. */
struct trial_pool *trial_pool_new(uint64_t wall_ms); /* NULL: no memory */
/* From now on boxes in which the program has run may serve again.  pool may be NULL. */
void trial_pool_watch(struct trial_pool *pool);
void trial_pool_free(struct trial_pool *pool);
DEFINE_CLEANUP(struct trial_pool *, trial_pool_free)

/* Closes the boxes that wait. */
void trial_pool_rest(struct trial_pool *pool);

/* One that waits; NULL: none does. */
struct standing *pool_take(struct trial_pool *pool);
/* A new one; NULL and *err. */
struct standing *pool_begin(struct trial_pool *pool, const struct box_spec *spec,
                            struct gb_err *err);

bool pool_is_watched(const struct trial_pool *pool);
/* Is it worth while to have a box serve again in which the program runs? */
bool pool_is_open(struct trial_pool *pool);

void pool_give(struct trial_pool *pool, struct standing *standing);
/* is_stale: something was left in it. */
void pool_drop(struct trial_pool *pool, struct standing *standing, bool is_stale);
