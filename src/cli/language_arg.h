/* SPDX-License-Identifier: Apache-2.0 */
/* cli/language_arg.h - a language on a command line: -l LANG. */
#pragma once

struct buf;
struct gb_err;
struct language;

/* By its name or one that people have for it.  The failure says which there are, and which was
 * perhaps meant. */
int language_arg_find(const char *name, const struct language **ret, struct gb_err *err);

/* "python, javascript, …"; the text is the buf's. */
const char *language_arg_names(struct buf *names);
