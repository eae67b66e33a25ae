/* SPDX-License-Identifier: Apache-2.0 */
/* package/wish.h - packages that somebody wants for a box, of every kind.
 *
 *    names and files   package_set_add(), package_set_read() on wishes.sets[KIND]
 *    a list of both    package_wishes_add()
 *    a program's text  package_wishes_add_code()
 *    then              packages_open() (package/provide.h)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "package/set.h"

struct buf;
struct gb_err;
struct json_value;
struct json_writer;
struct language;

/* By kind; empty ones want nothing.  The owner begins with package_wishes_init() and owes a
 * package_wishes_clear(). */
struct package_wishes {
    struct package_set sets[N_PACKAGE_KINDS];
};

void package_wishes_init(struct package_wishes *wishes);
void package_wishes_clear(struct package_wishes *wishes);
bool package_wishes_are_empty(const struct package_wishes *wishes);

/* What others want and these do not, by name. */
int package_wishes_add_others(struct package_wishes *wishes, const struct package_wishes *others,
                              struct gb_err *err);

/* As text, the same for the same wishes; "" for none. */
int package_wishes_text(const struct package_wishes *wishes, struct buf *ret);

/* As members of an object, by kind ("python": a requirements file, "node": a package.json), and
 * back: what is no such member is not looked at. */
int package_wishes_put(const struct package_wishes *wishes, struct json_writer *w);
int package_wishes_get(const struct json_value *object, struct package_wishes *ret,
                       struct gb_err *err);

/* A name without a kind: of npm's with '@' in it (@scope/name, name@range) or behind "npm:", else
 * of Python's.  Errors blame the caller, in one line. */
int package_wishes_add(struct package_wishes *wishes, const char *text, struct gb_err *err);

/* The kind that programs of a language use; -ENOENT: they use none. */
int package_kind_of(const struct language *language, enum package_kind *ret);

/* A program's text, and what is known of the place in which it will run. */
struct package_code {
    const struct language *language; /* NULL: none, and nothing is found */
    const char *text;
    size_t len;
    const char *name;              /* its path below the working directory; NULL: not known */
    const char *const *files;      /* paths of others that come with it, NULL-terminated; NULL */
    const char *dir;               /* of the host, whose files come with it; NULL: none */
    bool is_commands_only;         /* what it would have pip install, and no imports */
    bool is_image;                 /* the box does not show this machine: nothing is there */
    const char *const *toolchains; /* as in the box's spec; NULL: none */
};

/* Adds what the program asks for and boxes lack (package/imports.h).  What is wanted already stays
 * as it is, with its versions.  A name that a file beside the program has is that file's, whatever
 * an index offers under it: the files given, and in dir the directories in which Python would look
 * and those where projects keep their modules. */
int package_wishes_add_code(struct package_wishes *wishes, const struct package_code *code,
                            struct gb_err *err);
