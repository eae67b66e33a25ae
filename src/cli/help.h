/* SPDX-License-Identifier: Apache-2.0 */
/* cli/help.h - the help texts, made from the tables of commands, options and keys.
 *
 * Failures stay in the buf.
 */
#pragma once

#include <stdbool.h>

struct buf;
struct cmd;

/* `glovebox --help`: all commands. */
void help_all(struct buf *ret);

/* `glovebox GROUP --help`: the commands whose name begins with that word; false when there are
 * none. */
bool help_group(const char *word, struct buf *ret);

/* `glovebox COMMAND --help`. */
void help_command(const struct cmd *cmd, struct buf *ret);

/* `glovebox --dump-options`: the tables as lines of fields separated by tabs, "-" for an empty
 * one.  The build makes the lists of the man pages from it (man/fill), so that they cannot
 * disagree with the program.
 *
 *    command  NAME  HELP
 *    usage    COMMAND  TEXT
 *    option   COMMAND  LETTER  NAME  ARGUMENT  DEFAULT  HELP
 *    key      NAME  KIND  ALLOWED  DEFAULT  FLAG  ENVIRONMENT  PROJECT  HELP
 *    wall     NAME  KEEPS
 *    language NAME  ALIASES  ENDINGS  PACKAGE
 */
void help_dump(struct buf *ret);
