/* SPDX-License-Identifier: Apache-2.0 */
/* cli/strings.h - lists of strings that end with NULL; NULL is an empty one. */
#pragma once

#include <stddef.h>

/* Adds a copy; -ENOMEM leaves the list as it was. */
int strings_add(char ***list, const char *text);
size_t strings_count(char *const *list);
void strings_free(char **list);
