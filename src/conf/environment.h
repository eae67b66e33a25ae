/* SPDX-License-Identifier: Apache-2.0 */
/* conf/environment.h - an environment as a value, so that what reads it can be tested with any. */
#pragma once

/* The value of name in a NULL-terminated list of "NAME=value"; NULL when it is not there. */
const char *environment_get(char *const *env, const char *name);
