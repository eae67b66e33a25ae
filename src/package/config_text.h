/* SPDX-License-Identifier: Apache-2.0 */
/* package/config_text.h - the text of a pip.conf or an .npmrc, as rows of key and value.
 *
 * Pure.  What is not understood is passed over, as pip and npm do with what is none of theirs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define CONFIG_TEXT_MAX  (256u << 10)
#define CONFIG_VALUE_MAX 8192

/* section: "global", "install", …; "" in an .npmrc.  key: of pip in small letters with '-' for '_'.
 * value: without quotes and blanks around it; lines of a value are separated by newlines.  Texts
 * live during the call only.  Negative: no more rows are wanted, and it is returned. */
typedef int config_row(void *user, const char *section, const char *key, const char *value);

int config_text_pip(const char *text, size_t len, config_row *row, void *user);
int config_text_npm(const char *text, size_t len, config_row *row, void *user);
