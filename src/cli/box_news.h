/* SPDX-License-Identifier: Apache-2.0 */
/* cli/box_news.h - waiting for the runs of a box: something was written, or somebody let go. */
#pragma once

/* Watches a directory of runs; -1 where that cannot be: box_news_await() then looks now and then.
 */
int box_news_open(int runs_fd);

/* Until something has happened there, and half a second at most: a writer that is killed tells
 * nothing. */
void box_news_await(int news_fd);
