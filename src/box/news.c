/* SPDX-License-Identifier: Apache-2.0 */
/* box/news.c - waiting for what is written beside a box. */
#include "box/news.h"

#include <poll.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <unistd.h>

int box_news_open(int dir_fd)
{
    char path[64];
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d/.", dir_fd);
    if (fd >= 0)
        (void)inotify_add_watch(fd, path, IN_MODIFY | IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_TO);
    return fd;
}

void box_news_await(int news_fd, unsigned most_ms)
{
    _Alignas(8) char events[4096];
    struct pollfd news = { .fd = news_fd, .events = POLLIN };

    if (poll(&news, 1, (int)(most_ms < BOX_NEWS_MS ? most_ms : BOX_NEWS_MS)) > 0)
        (void)!read(news_fd, events, sizeof(events));
}
