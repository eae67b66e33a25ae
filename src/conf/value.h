/* SPDX-License-Identifier: Apache-2.0 */
/* conf/value.h - the value of a setting, from the text that people write and back.
 *
 * A value is embedded by its owner, starts as `= { 0 }` and owes a value_clear().  Which member is
 * in use depends on the kind.  What value_format() writes, value_parse() reads.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct gb_err;

enum value_kind {
    VALUE_BOOL,     /* number: 0 or 1 */
    VALUE_COUNT,    /* number */
    VALUE_SIZE,     /* number: bytes */
    VALUE_DURATION, /* number: milliseconds */
    VALUE_MILLI,    /* number: thousandths */
    VALUE_UID,      /* number */
    VALUE_TOKENS,   /* number */
    VALUE_WALLS,    /* number: wall_set */
    VALUE_BACKEND,  /* number: enum backend_choice */
    VALUE_COLOR,    /* number: enum color_mode */
    VALUE_TEXT,     /* text */
    VALUE_PATH,     /* text: absolute and clean */
    VALUE_PATHS,    /* items: such paths */
    VALUE_IMAGES,   /* items: names of images, or registry/path/ and a star */
    VALUE_FOLDER,   /* text: such a path, or one below the working directory */
    VALUE_DOLLARS,  /* number: millionths of a dollar */
    VALUE_EFFORT,   /* number: enum effort */
    VALUE_ASK,      /* number: enum asking */
    VALUE_SEARCH,   /* number: enum search_choice */
    VALUE_MODEL,    /* text: a model, with or without its provider */
    VALUE_URL,      /* text: http:// or https:// */
    VALUE_RULES,    /* text: rules of a network (egress/policy.h) */
    N_VALUE_KINDS,
};

/* In the order of how much they let out: a project file may go up, never down. */
enum backend_choice {
    BACKEND_NATIVE,
    BACKEND_DOCKER,
    BACKEND_DISABLED,
};

enum color_mode {
    COLOR_AUTO,
    COLOR_ALWAYS,
    COLOR_NEVER,
};

enum effort {
    EFFORT_AUTO, /* the server's own */
    EFFORT_LOW,
    EFFORT_MEDIUM,
    EFFORT_HIGH,
};

/* When a task asks a person; in the order of agent/task.h. */
enum asking {
    ASKING_NEVER,
    ASKING_BLOCKED, /* only when it cannot go on without */
    ASKING_ALWAYS,
};

enum search_choice {
    SEARCH_AUTO, /* whichever is set up */
    SEARCH_TAVILY,
    SEARCH_SEARXNG,
    SEARCH_NONE,
};

struct value {
    uint64_t number;
    char *text;
    char **items; /* NULL-terminated; NULL for none */
};

void value_clear(struct value *value);

/* home replaces a leading "~/" of paths; NULL leaves none.  A list takes several, separated by
 * colons, behind those it has.  Blames the caller; *ret is unchanged on failure. */
int value_parse(enum value_kind kind, const char *text, const char *home, struct value *ret,
                struct gb_err *err);

/* Puts the items of `more` before those of value, and leaves `more` empty. */
int value_prepend(struct value *value, struct value *more, struct gb_err *err);

/* As one would write it on one line; lists with colons. */
int value_format(enum value_kind kind, const struct value *value, struct buf *ret);

bool value_is_list(enum value_kind kind);

/* What stands between the parts of a value that a file may write as a list, too; 0: it may not. */
char value_separator(enum value_kind kind);

/* "size", "time", …; what may be written; and ", such as 512m", or "". */
const char *value_kind_name(enum value_kind kind);
const char *value_kind_allowed(enum value_kind kind);
const char *value_kind_example(enum value_kind kind);

/* How closed a backend is; a greater number is more closed, docker and native are alike. */
unsigned backend_closedness(enum backend_choice backend);
const char *backend_choice_name(enum backend_choice backend);

/* "low", "medium", "high"; NULL for auto. */
const char *effort_name(enum effort effort);
