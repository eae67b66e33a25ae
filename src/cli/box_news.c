/* SPDX-License-Identifier: Apache-2.0 */
/* cli/box_news.c - waiting for the runs of a box. */
#include "cli/box_news.h"

#include <poll.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <unistd.h>

#define LOOK_MS 500

int box_news_open(int runs_fd)
{
    char path[64];
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d/.", runs_fd);
    if (fd >= 0)
        (void)inotify_add_watch(fd, path, IN_MODIFY | IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_TO);
    return fd;
}

void box_news_await(int news_fd)
{
    _Alignas(8) char events[4096];
    struct pollfd news = { .fd = news_fd, .events = POLLIN };

    if (poll(&news, 1, LOOK_MS) > 0)
        (void)!read(news_fd, events, sizeof(events));
}
