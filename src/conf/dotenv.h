/* SPDX-License-Identifier: Apache-2.0 */
/* conf/dotenv.h - reading a .env file.
 *
 *    # comment
 *    NAME=value            blanks around it and a " # comment" behind it are dropped
 *    export NAME=value
 *    NAME='as it is'       may go over several lines
 *    NAME="with \n \t \" \\ \$ and ${VAR}"
 *    NAME=${VAR}/x  NAME=${VAR:-otherwise}
 *
 * ${VAR} is the environment's, else an earlier line's, else empty; in a project's file that nobody
 * trusts only an earlier line's (conf/layers.c).  A name without '=' is passed
 * over, as other readers do.  Nothing is run and nothing is exported: the result is a list.
 *
 * The file belongs to other programs, which may read it otherwise: a line that makes no sense here
 * is passed over.  Only one that sets a name of ours, DOTENV_PREFIX and more, must be right.
 */
#pragma once

#include <stddef.h>

struct gb_err;

#define DOTENV_PREFIX    "GLOVEBOX_"
#define DOTENV_LINES_MAX 4096 /* what others have beyond that is passed over too */
#define DOTENV_FILE_MAX  (16 << 20)

struct dotenv_line {
    char *name;
    char *value;
    unsigned line;
};

struct dotenv {
    struct dotenv_line *lines; /* in the order of the file */
    size_t n_lines;
    size_t expanded; /* what ${VAR} has cost so far; bounded, or a file could double itself */
};

/* Reads text (len bytes); env is a NULL-terminated environment.  An error is about a line of ours
 * and tells "PATH:LINE: …".
 * The caller owes a dotenv_clear(), also after a failure. */
int dotenv_parse(struct dotenv *dotenv, const char *path, const char *text, size_t len,
                 char *const *env, struct gb_err *err);
void dotenv_clear(struct dotenv *dotenv);
