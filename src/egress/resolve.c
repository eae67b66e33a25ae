/* SPDX-License-Identifier: Apache-2.0 */
/* egress/resolve.c - names looked up by this machine's own resolver, without waiting for it. */
#include "egress/resolve.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"

#define STACK_SIZE (256 << 10)

/* Threads that are at it: of the whole process, as a fork is.  One that has left the count still
 * has its own end before it, with locks of the C library and of sanitizers; so each waits for the
 * one before it, and somebody has to wait for the last. */
static struct {
    pthread_mutex_t lock; /* guards all of it */
    pthread_cond_t ended;
    unsigned n;
    pthread_t last;
    pid_t last_of; /* the process that it is a thread of; 0: nobody has to wait */
} threads = { .lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER };

static void add_thread(void)
{
    (void)pthread_mutex_lock(&threads.lock);
    threads.n++;
    (void)pthread_mutex_unlock(&threads.lock);
}

/* The lock is held. */
static void drop_thread(void)
{
    if (--threads.n == 0)
        (void)pthread_cond_broadcast(&threads.ended);
}

/* One that could not be had. */
static void take_back(void)
{
    (void)pthread_mutex_lock(&threads.lock);
    drop_thread();
    (void)pthread_mutex_unlock(&threads.lock);
}

/* The lock is held.  False: there is none, or it was left behind by a fork. */
static bool take_last(pthread_t *ret)
{
    bool has_one = threads.last_of == getpid();

    *ret = threads.last;
    threads.last_of = 0;
    return has_one;
}

/* Of a thread, as the last that it does. */
static void leave(void)
{
    pthread_t before;
    bool has_one;

    (void)pthread_mutex_lock(&threads.lock);
    has_one = take_last(&before);
    threads.last = pthread_self();
    threads.last_of = getpid();
    drop_thread();
    (void)pthread_mutex_unlock(&threads.lock);
    if (has_one)
        (void)pthread_join(before, NULL);
}

static void join_last(void)
{
    pthread_t last;
    bool has_one;

    (void)pthread_mutex_lock(&threads.lock);
    has_one = take_last(&last);
    (void)pthread_mutex_unlock(&threads.lock);
    if (has_one)
        (void)pthread_join(last, NULL);
}

/* In a child of somebody's fork() the lock may be held for ever. */
static __attribute__((destructor)) void at_exit(void)
{
    if (pthread_mutex_trylock(&threads.lock) != 0)
        return;
    (void)pthread_mutex_unlock(&threads.lock);
    join_last();
}

int resolve_quiet(uint64_t deadline_ns)
{
    const struct timespec until = {
        .tv_sec = (time_t)(deadline_ns / NS_PER_S),
        .tv_nsec = (long)(deadline_ns % NS_PER_S),
    };
    int r = 0;

    (void)pthread_mutex_lock(&threads.lock);
    while (threads.n > 0 && r == 0)
        r = pthread_cond_clockwait(&threads.ended, &threads.lock, CLOCK_MONOTONIC, &until);
    (void)pthread_mutex_unlock(&threads.lock);
    if (r == 0)
        join_last();
    return -r;
}

/* Belongs to the caller and to the thread; whoever lets go last frees it. */
struct resolve {
    atomic_int n_owners;
    int done_fd;
    int code;
    size_t n;
    struct net_address addresses[RESOLVE_ADDRESSES_MAX];
    char name[NET_NAME_MAX + 1];
};

void resolve_free(struct resolve *resolve)
{
    if (!resolve || atomic_fetch_sub(&resolve->n_owners, 1) != 1)
        return;
    close(resolve->done_fd);
    free(resolve);
}

void resolve_name_of(const struct net_address *v4, char ret[static NET_NAME_MAX + 1])
{
    const uint8_t *bytes = v4->bytes + 12;

    (void)snprintf(ret, NET_NAME_MAX + 1, "%u-%u-%u-%u" RESOLVE_ADDRESS_NAMES, bytes[0], bytes[1],
                   bytes[2], bytes[3]);
}

bool resolve_address_of(const char *name, struct net_address *ret)
{
    size_t len = strlen(name);
    size_t tail = strlen(RESOLVE_ADDRESS_NAMES);
    char text[NET_ADDRESS_TEXT_MAX];

    if (len <= tail || len - tail >= sizeof(text) ||
        strcmp(name + len - tail, RESOLVE_ADDRESS_NAMES) != 0)
        return false;
    memcpy(text, name, len - tail);
    text[len - tail] = '\0';
    if (strchr(text, '.'))
        return false;
    for (char *dash = strchr(text, '-'); dash; dash = strchr(dash, '-'))
        *dash = '.';
    return net_address_parse(text, ret) && net_address_is_v4(ret);
}

static void add_address(struct resolve *resolve, const struct addrinfo *info)
{
    struct net_address *at = &resolve->addresses[resolve->n];

    if (resolve->n == RESOLVE_ADDRESSES_MAX)
        return;
    if (info->ai_family == AF_INET) {
        const struct sockaddr_in *in = (const void *)info->ai_addr;

        net_address_of_v4(ntohl(in->sin_addr.s_addr), at);
    } else if (info->ai_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const void *)info->ai_addr;

        memcpy(at->bytes, &in6->sin6_addr, sizeof(at->bytes));
    } else {
        return;
    }
    resolve->n++;
}

static int code_of(int failure)
{
    return failure == 0 ? 0 : failure == EAI_NONAME || failure == EAI_NODATA ? -ENOENT : -EAGAIN;
}

static void *look_up(void *user)
{
    struct resolve *resolve = user;
    const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
    struct addrinfo *list = NULL;
    uint64_t one = 1;

    if (resolve_address_of(resolve->name, &resolve->addresses[0]))
        resolve->n = 1;
    else
        resolve->code = code_of(getaddrinfo(resolve->name, NULL, &hints, &list));
    for (const struct addrinfo *info = list; info; info = info->ai_next)
        add_address(resolve, info);
    if (list)
        freeaddrinfo(list);
    if (resolve->code == 0 && resolve->n == 0)
        resolve->code = -ENOENT;
    (void)fd_write_full(resolve->done_fd, &one, sizeof(one));
    resolve_free(resolve);
    leave();
    return NULL;
}

/* Signals are the main thread's. */
static int start_thread(struct resolve *resolve)
{
    pthread_attr_t attr;
    pthread_t thread;
    sigset_t all;
    sigset_t before;
    int r = pthread_attr_init(&attr);

    if (r != 0)
        return -r;
    (void)pthread_attr_setstacksize(&attr, STACK_SIZE);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    add_thread();
    r = pthread_create(&thread, &attr, look_up, resolve);
    if (r != 0)
        take_back();
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attr);
    return r == 0 ? 0 : -EAGAIN;
}

int resolve_begin(const char *name, struct resolve **ret)
{
    cleanup_free struct resolve *resolve = calloc(1, sizeof(*resolve));
    int r;

    if (!resolve || strlen(name) > NET_NAME_MAX)
        return resolve ? -EINVAL : -ENOMEM;
    memcpy(resolve->name, name, strlen(name) + 1);
    atomic_store(&resolve->n_owners, 2);
    resolve->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (resolve->done_fd < 0)
        return -errno;
    r = start_thread(resolve);
    if (r < 0) {
        close(resolve->done_fd);
        return r;
    }
    *ret = take_ptr(resolve);
    return 0;
}

int resolve_fd(const struct resolve *resolve)
{
    return resolve->done_fd;
}

int resolve_take(struct resolve *resolve, struct net_address *ret, size_t *ret_n)
{
    uint64_t count;

    *ret_n = 0;
    if (read(resolve->done_fd, &count, sizeof(count)) != (ssize_t)sizeof(count))
        return -EAGAIN;
    memcpy(ret, resolve->addresses, resolve->n * sizeof(*ret));
    *ret_n = resolve->n;
    return resolve->code;
}

const char *resolve_error_text(int error)
{
    if (error == ENOENT)
        return "no such name";
    return error == EAGAIN ? "the name could not be looked up" : strerror(error);
}
