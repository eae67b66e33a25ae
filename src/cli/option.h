/* SPDX-License-Identifier: Apache-2.0 */
/* cli/option.h - command line options as rows of a table.
 *
 *    static const struct opt options[] = {
 *        { OPT_KEY, .key = KEY_TIMEOUT },
 *        { OPT_TEXT, "workdir", 'w', offsetof(struct args, workdir), "DIR", "where it runs" },
 *        { 0 },
 *    };
 *
 * The same rows make the parser, --help and the man page's list.  A row that is a key takes name,
 * argument and help from conf/keys.def, and its text goes to the settings as a layer.
 *
 * --name=value, --name value, -lvalue, -l value, -ab for flags; options and operands in any order;
 * "--" ends them and "-" is an operand.  An option that is given twice holds what was said last,
 * lists hold all.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "conf/keys.h"
#include "conf/settings.h"

struct gb_err;

enum opt_type {
    OPT_END,
    OPT_FLAG, /* bool at offset */
    OPT_TEXT, /* const char * at offset */
    OPT_LIST, /* struct text_list at offset */
    OPT_KEY,  /* to the settings */
    OPT_HELP, /* the command's help is wanted */
};

struct opt {
    enum opt_type type;
    const char *name; /* without dashes */
    char letter;      /* 0: none */
    size_t offset;    /* in the command's struct of arguments */
    const char *arg;  /* name of the argument in help; NULL: it takes none */
    const char *help;
    enum key_id key;   /* of OPT_KEY */
    const char *usual; /* of OPT_KEY: what holds in place of the key's default; NULL: that */
};

/* What every command ends its table with. */
#define OPT_HELP_ROW                                    \
    {                                                   \
        OPT_HELP, "help", 'h', .help = "show this help" \
    }

/* The limits of a box and of its runs, for those who make one. */
/* clang-format off */
#define LIMIT_OPTIONS                                                                          \
    { OPT_KEY, .key = KEY_TIMEOUT },                                                           \
    { OPT_KEY, .key = KEY_CPU_TIME },                                                          \
    { OPT_KEY, .key = KEY_MEMORY },                                                            \
    { OPT_KEY, .key = KEY_CPUS },                                                              \
    { OPT_KEY, .key = KEY_PIDS },                                                              \
    { OPT_KEY, .key = KEY_DISK }
/* clang-format on */

/* Texts are argv's own. */
struct text_list {
    const char **items;
    size_t n;
};

struct parsed {
    struct flag_text *flags; /* of OPT_KEY rows, in order */
    size_t n_flags;
    const char **operands; /* before "--" */
    size_t n_operands;
    char *const *rest; /* behind "--" */
    size_t n_rest;
    bool has_rest; /* there was a "--" */
    bool wants_help;
};

const char *opt_name(const struct opt *opt);
const char *opt_arg(const struct opt *opt);
const char *opt_help(const struct opt *opt);

/* The default of a key as text; NULL where there is none to show. */
const char *opt_default(const struct opt *opt);

/* argv is NULL-terminated and begins behind the command's name.  The caller owes a parsed_clear()
 * and frees the items of its lists, also after a failure.  Blames the caller; -ENOENT: there is
 * no such option. */
int options_parse(const struct opt *table, char *const *argv, void *target, struct parsed *ret,
                  struct gb_err *err);
void parsed_clear(struct parsed *parsed);
