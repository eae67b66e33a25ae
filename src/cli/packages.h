/* SPDX-License-Identifier: Apache-2.0 */
/* cli/packages.h - what a command shows while packages are installed for its box.
 *
 * On stderr: on a terminal two lines that are drawn over and over, elsewhere one line.  Or events
 * of
 * --jsonl: "waiting" and "installing" with names, "installer" with a line of the installer.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/live.h"
#include "package/provide.h"

struct exec_lines;
struct run_packages;

/* Stays where it is: the watch points to it. */
struct packages_show {
    struct packages_watch watch; /* for packages_open() */
    const struct package_set *set;
    const char *word; /* what is done about it */
    bool is_tty;
    struct live live;
    uint64_t begun_ns;
    uint64_t drawn_ns;
};

void packages_show_init(struct packages_show *show);

/* As events; NULL: a watch for nobody. */
struct packages_watch packages_watch_lines(struct exec_lines *lines);

/* The last lines of an installer that failed. */
void packages_print_log(const struct run_packages *told);
