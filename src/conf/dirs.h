/* SPDX-License-Identifier: Apache-2.0 */
/* conf/dirs.h - where glovebox's files lie: the XDG directories of a user, the usual ones of root,
 * and those that systemd hands to a service.
 *
 * Each function returns a heap string, or NULL when the environment names no place (or memory is
 * short).  A variable that is not an absolute path counts as not set, as XDG demands.
 */
#pragma once

#include <sys/types.h>

char *dirs_system_config(char *const *env); /* a file: …/config.yaml */
char *dirs_user_config(char *const *env);   /* a file: …/config.yaml */
char *dirs_state(char *const *env, uid_t uid);
char *dirs_cache(char *const *env, uid_t uid);
char *dirs_run(char *const *env, uid_t uid);
