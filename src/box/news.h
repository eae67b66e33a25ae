/* SPDX-License-Identifier: Apache-2.0 */
/* box/news.h - waiting for what is written beside a box that lives on, its runs above all:
 * something was written, or somebody let go. */
#pragma once

/* A writer that is killed tells nothing: nobody waits longer than this without looking. */
#define BOX_NEWS_MS 500u

/* Watches a directory; -1 where that cannot be: box_news_await() then looks now and then. */
int box_news_open(int dir_fd);

/* Until something has happened there, and so long at most, which is never above BOX_NEWS_MS. */
void box_news_await(int news_fd, unsigned most_ms);
