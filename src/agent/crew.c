/* SPDX-License-Identifier: Apache-2.0 */
/* agent/crew.c - n jobs on a few threads. */
#include "agent/crew.h"

#include <pthread.h>
#include <stdatomic.h>

struct crew {
    atomic_size_t next;
    size_t n;
    void (*job)(void *user, size_t i);
    void *user;
};

static void *work(void *arg)
{
    struct crew *crew = arg;
    size_t i;

    while ((i = atomic_fetch_add(&crew->next, 1)) < crew->n)
        crew->job(crew->user, i);
    return NULL;
}

void crew_do(size_t n, unsigned hands, void (*job)(void *user, size_t i), void *user)
{
    struct crew crew = { .n = n, .job = job, .user = user };
    pthread_t threads[CREW_MAX];
    size_t n_threads = 0;

    while (n_threads + 1 < hands && n_threads + 1 < n && n_threads < CREW_MAX &&
           pthread_create(&threads[n_threads], NULL, work, &crew) == 0)
        n_threads++;
    (void)work(&crew);
    for (size_t i = 0; i < n_threads; i++)
        (void)pthread_join(threads[i], NULL);
}
