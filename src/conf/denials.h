/* SPDX-License-Identifier: Apache-2.0 */
/* conf/denials.h - net.deny as the operator's files say it now, for a process that lives for long.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Where the settings were read from; settings_load() fills it.  Copied, it is somebody's own. */
struct denials {
    char *const *env; /* as it was: a variable beats the files */
    uid_t uid;
    bool is_without_files;
    uint64_t seen; /* of the files as they were when they were read last; 0: not yet */
};

/* For struct denied_source; user is a struct denials.  Two files are looked at, and read when one
 * is not what it was.  The first time they are always read, and what cannot be read is tried again
 * each time. */
int denials_changed(void *user, char **ret_rules);
