/* SPDX-License-Identifier: Apache-2.0 */
/* agent/trial_pool.c - boxes that wait for the next trial of the same program. */
#include "agent/trial_pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"

/* How long a box serves; and how much longer than its last run it lives when nobody ends it. */
#define SERVICE_MS   60000
#define TTL_SLACK_MS 10000

struct trial_pool {
    uint64_t wall_ms;
    bool is_watched;      /* set before there are threads */
    pthread_mutex_t lock; /* of all below */
    struct standing *waiting;
    unsigned n_again; /* runs in a box that had served before, */
    unsigned n_stale; /* and boxes that could not */
};

struct trial_pool *trial_pool_new(uint64_t wall_ms)
{
    struct trial_pool *pool = calloc(1, sizeof(*pool));

    if (!pool)
        return NULL;
    pool->wall_ms = wall_ms;
    (void)pthread_mutex_init(&pool->lock, NULL);
    return pool;
}

void trial_pool_watch(struct trial_pool *pool)
{
    if (pool)
        pool->is_watched = true;
}

bool pool_is_watched(const struct trial_pool *pool)
{
    return pool->is_watched;
}

static void standing_close(struct standing *standing)
{
    (void)box_close(standing->box);
    free(standing);
}

/* Takes the first of those that wait out of the list; NULL: none does. */
static struct standing *pop(struct trial_pool *pool)
{
    struct standing *standing;

    (void)pthread_mutex_lock(&pool->lock);
    standing = pool->waiting;
    if (standing)
        pool->waiting = standing->next;
    (void)pthread_mutex_unlock(&pool->lock);
    return standing;
}

void trial_pool_rest(struct trial_pool *pool)
{
    struct standing *standing;

    while (pool && (standing = pop(pool)) != NULL)
        standing_close(standing);
}

void trial_pool_free(struct trial_pool *pool)
{
    if (!pool)
        return;
    trial_pool_rest(pool);
    (void)pthread_mutex_destroy(&pool->lock);
    free(pool);
}

struct standing *pool_take(struct trial_pool *pool)
{
    struct standing *standing;

    while ((standing = pop(pool)) != NULL && clock_now_ns() >= standing->until_ns)
        standing_close(standing);
    return standing;
}

struct standing *pool_begin(struct trial_pool *pool, const struct box_spec *spec,
                            struct gb_err *err)
{
    struct standing *standing = calloc(1, sizeof(*standing));

    if (!standing) {
        (void)gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for a box");
        return NULL;
    }
    standing->spec = *spec;
    standing->spec.ttl_ms = SERVICE_MS + pool->wall_ms + TTL_SLACK_MS;
    standing->until_ns = clock_after_ms(SERVICE_MS);
    if (box_begin(&standing->spec, &standing->box, err) < 0) {
        free(standing);
        return NULL;
    }
    return standing;
}

bool pool_is_open(struct trial_pool *pool)
{
    bool is_open;

    if (!pool->is_watched)
        return false;
    (void)pthread_mutex_lock(&pool->lock);
    is_open = pool->n_stale <= pool->n_again;
    (void)pthread_mutex_unlock(&pool->lock);
    return is_open;
}

void pool_give(struct trial_pool *pool, struct standing *standing)
{
    (void)pthread_mutex_lock(&pool->lock);
    pool->n_again += standing->was_used;
    standing->was_used = true;
    standing->next = pool->waiting;
    pool->waiting = standing;
    (void)pthread_mutex_unlock(&pool->lock);
}

void pool_drop(struct trial_pool *pool, struct standing *standing, bool is_stale)
{
    (void)pthread_mutex_lock(&pool->lock);
    pool->n_stale += is_stale;
    (void)pthread_mutex_unlock(&pool->lock);
    standing_close(standing);
}
