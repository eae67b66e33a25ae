/* SPDX-License-Identifier: Apache-2.0 */
/* base/cleanup.h - release at the end of a scope.
 *
 * Declare initialised, at first use; hand ownership over with take_ptr() or take_fd() in the
 * return statement.  Every cleanup function accepts the empty value and keeps errno.
 */
#pragma once

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define cleanup_with(fn) __attribute__((__cleanup__(fn)))

/* Makes fn##p for a pointer type whose free function is fn. */
#define DEFINE_CLEANUP(type, fn)      \
    static inline void fn##p(type *p) \
    {                                 \
        if (*p)                       \
            fn(*p);                   \
    }

static inline void cleanup_free_ptr(void *p)
{
    free(*(void **)p);
}

static inline void cleanup_close_fd(const int *fd)
{
    int saved = errno;

    if (*fd >= 0)
        close(*fd);
    errno = saved;
}

/* Closes it if it is open, and forgets it. */
static inline void drop_fd(int *fd)
{
    cleanup_close_fd(fd);
    *fd = -1;
}

#define cleanup_free  cleanup_with(cleanup_free_ptr)
#define cleanup_close cleanup_with(cleanup_close_fd)

#define take_ptr(p)                 \
    ({                              \
        __typeof__(p) taken_ = (p); \
        (p) = NULL;                 \
        taken_;                     \
    })

static inline int take_fd(int *fd)
{
    int taken = *fd;

    *fd = -1;
    return taken;
}

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))
