/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run_people.h - whom a task asks besides its models: the person at the terminal, the web. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "net/search.h"

struct buf;
struct gb_err;
struct view;

struct run_people {
    const char *answer; /* to the first question, given beforehand; NULL: none */
    bool has_terminal;  /* questions can be read */
    struct view *view;  /* steps aside while somebody types; NULL */
    bool has_search;    /* there is a server: */
    struct search_spec search;
    int cancel_fd;
};

/* An agent_spec's human() and search(); user is a struct run_people.  Without a terminal there is
 * no answer now: -EAGAIN. */
int run_people_ask(void *user, const char *question, struct buf *ret, struct gb_err *err);
int run_people_search(void *user, const char *query, uint64_t deadline_ns, struct buf *ret,
                      struct gb_err *err);
