/* SPDX-License-Identifier: Apache-2.0 */
/* cli/option.c - command line options as rows of a table. */
#include "cli/option.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "conf/nearest.h"

const char *opt_name(const struct opt *opt)
{
    return opt->type == OPT_KEY ? key_at(opt->key)->flag : opt->name;
}

const char *opt_arg(const struct opt *opt)
{
    return opt->type == OPT_KEY ? key_at(opt->key)->arg : opt->arg;
}

const char *opt_help(const struct opt *opt)
{
    return opt->type == OPT_KEY ? key_at(opt->key)->help : opt->help;
}

const char *opt_default(const struct opt *opt)
{
    const char *value = opt->type == OPT_KEY ? key_at(opt->key)->value : "";

    if (opt->usual)
        return opt->usual;
    return *value ? value : NULL;
}

/* --objective_file may be written --objective-file. */
static bool is_name(const char *own, const char *name, size_t len)
{
    size_t i = 0;

    while (i < len && own[i] && (own[i] == name[i] || (own[i] == '_' && name[i] == '-')))
        i++;
    return i == len && !own[i];
}

static const struct opt *find_long(const struct opt *table, const char *name, size_t len)
{
    for (; table->type; table++)
        if (is_name(opt_name(table), name, len))
            return table;
    return NULL;
}

static const struct opt *find_letter(const struct opt *table, char letter)
{
    for (; table->type; table++)
        if (table->letter && table->letter == letter)
            return table;
    return NULL;
}

struct parser {
    const struct opt *table;
    char *const *argv; /* the argument that is read next */
    void *target;
    struct parsed *parsed;
    struct gb_err *err;
};

static int fail_unknown(const struct parser *p, const char *name, size_t len)
{
    char typed[64];
    struct nearest near = { .text = typed };

    if (len >= sizeof(typed))
        len = sizeof(typed) - 1;
    memcpy(typed, name, len);
    typed[len] = '\0';
    for (const struct opt *row = p->table; row->type; row++)
        nearest_offer(&near, opt_name(row));
    if (nearest_best(&near))
        return gb_fail(p->err, -ENOENT, GB_BLAME_CALLER,
                       "unknown option '--%s', did you mean '--%s'?", typed, nearest_best(&near));
    return gb_fail(p->err, -ENOENT, GB_BLAME_CALLER, "unknown option '--%s'; --help lists them",
                   typed);
}

static int add_text(struct text_list *list, const char *text)
{
    const char **items = reallocarray(list->items, list->n + 1, sizeof(*items));

    if (!items)
        return -ENOMEM;
    items[list->n++] = text;
    list->items = items;
    return 0;
}

/* text is NULL exactly for the types that take none. */
static int store(const struct parser *p, const struct opt *opt, const char *text)
{
    void *field = (char *)p->target + opt->offset;
    int r = 0;

    switch (opt->type) {
    case OPT_FLAG:
        *(bool *)field = true;
        break;
    case OPT_TEXT:
        *(const char **)field = text;
        break;
    case OPT_LIST:
        r = add_text(field, text);
        break;
    case OPT_KEY:
        p->parsed->flags[p->parsed->n_flags++] = (struct flag_text){ opt->key, text };
        break;
    case OPT_HELP:
        p->parsed->wants_help = true;
        break;
    case OPT_END:
        break;
    }
    return r < 0 ? gb_fail(p->err, r, GB_BLAME_HOST, "out of memory") : 0;
}

/* The argument of an option that wants one and has none attached. */
static int take_argument(struct parser *p, const struct opt *opt)
{
    if (!*p->argv)
        return gb_fail(p->err, -EINVAL, GB_BLAME_CALLER, "--%s needs an argument: --%s %s",
                       opt_name(opt), opt_name(opt), opt_arg(opt));
    return store(p, opt, *p->argv++);
}

static int take_long(struct parser *p, const char *word)
{
    size_t len = strcspn(word, "=");
    const struct opt *opt = find_long(p->table, word, len);

    if (!opt)
        return fail_unknown(p, word, len);
    if (!opt_arg(opt) && word[len])
        return gb_fail(p->err, -EINVAL, GB_BLAME_CALLER, "--%s takes no argument", opt_name(opt));
    if (!opt_arg(opt))
        return store(p, opt, NULL);
    return word[len] ? store(p, opt, word + len + 1) : take_argument(p, opt);
}

static int take_letters(struct parser *p, const char *letters)
{
    for (; *letters; letters++) {
        const struct opt *opt = find_letter(p->table, *letters);
        int r;

        if (!opt)
            return gb_fail(p->err, -ENOENT, GB_BLAME_CALLER,
                           "unknown option '-%c'; --help lists them", *letters);
        if (opt_arg(opt))
            return letters[1] ? store(p, opt, letters + 1) : take_argument(p, opt);
        r = store(p, opt, NULL);
        if (r < 0)
            return r;
    }
    return 0;
}

static int take_word(struct parser *p)
{
    const char *word = *p->argv++;

    if (word[0] == '-' && word[1] == '-')
        return take_long(p, word + 2);
    if (word[0] == '-' && word[1])
        return take_letters(p, word + 1);
    p->parsed->operands[p->parsed->n_operands++] = word;
    return 0;
}

static size_t count(char *const *argv)
{
    size_t n = 0;

    while (argv[n])
        n++;
    return n;
}

int options_parse(const struct opt *table, char *const *argv, void *target, struct parsed *ret,
                  struct gb_err *err)
{
    struct parser p = { table, argv, target, ret, err };
    size_t n = count(argv);
    int r = 0;

    *ret = (struct parsed){
        .flags = calloc(n + 1, sizeof(*ret->flags)),
        .operands = calloc(n + 1, sizeof(*ret->operands)),
    };
    if (!ret->flags || !ret->operands)
        return gb_no_memory(err);
    while (r == 0 && *p.argv && !ret->has_rest) {
        if (strcmp(*p.argv, "--") == 0) {
            ret->has_rest = true;
            ret->rest = p.argv + 1;
            ret->n_rest = count(ret->rest);
        } else {
            r = take_word(&p);
        }
    }
    return r;
}

void parsed_clear(struct parsed *parsed)
{
    free(parsed->flags);
    free(parsed->operands);
    *parsed = (struct parsed){ 0 };
}
