/* SPDX-License-Identifier: Apache-2.0 */
/* package/pip_command.h - which packages a command would have pip install.
 *
 *    pip install -q 'numpy>=1.26' rich        python3 -m pip install -t lib rich
 *
 * Pure.  Word by word, or as a line that a shell would read: with quotes, and with several commands
 * in it.  Options are passed over with the words that belong to them (pip_options.def).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "package/imports.h"

/* Starts as `= { .found = …, .user = … }`. */
struct pip_command {
    imports_found *found;
    void *user;
    enum {
        PIP_BEGIN,     /* nothing of it has been seen */
        PIP_MODULE,    /* … -m */
        PIP_NAMED,     /* pip */
        PIP_INSTALL,   /* pip install */
        PIP_VALUE,     /* pip install … --option */
        PIP_SOMETHING, /* it is another command */
    } state;
};

/* The next word; NULL: there is one, and nobody knows which. */
int pip_command_word(struct pip_command *command, const char *word, size_t len);

/* All commands of a line. */
int pip_command_line(const char *text, size_t len, imports_found *found, void *user);
