/* SPDX-License-Identifier: Apache-2.0 */
/* cli/help.c - the help texts, made from the tables of commands, options and keys. */
#include "cli/help.h"

#include <string.h>

#include "base/buf.h"
#include "box/walls.h"
#include "cli/command.h"
#include "cli/option.h"
#include "conf/keys.h"
#include "run/language.h"

#define LEFT_WIDTH 28

/* "  -l, --language LANG", padded to LEFT_WIDTH. */
static void put_left(const struct opt *opt, struct buf *ret)
{
    size_t start = ret->len;

    if (opt->letter)
        buf_printf(ret, "  -%c, --%s", opt->letter, opt_name(opt));
    else
        buf_printf(ret, "      --%s", opt_name(opt));
    if (opt_arg(opt))
        buf_printf(ret, " %s", opt_arg(opt));
    do
        buf_putc(ret, ' ');
    while (!buf_error(ret) && ret->len - start < LEFT_WIDTH);
}

void help_command(const struct cmd *cmd, struct buf *ret)
{
    for (size_t i = 0; i < CMD_USAGES_MAX && cmd->usages[i]; i++)
        buf_printf(ret, "%s glovebox %s %s\n", i ? "      " : "Usage:", cmd->name, cmd->usages[i]);
    buf_printf(ret, "%s.\n\n", cmd->help);
    for (const struct opt *opt = cmd->options; opt->type; opt++) {
        put_left(opt, ret);
        buf_puts(ret, opt_help(opt));
        if (opt_default(opt))
            buf_printf(ret, " [%s]", opt_default(opt));
        buf_putc(ret, '\n');
    }
}

static bool is_in_group(const struct cmd *cmd, const char *word)
{
    size_t len = strlen(word);

    return len > 0 && strncmp(cmd->name, word, len) == 0 && cmd->name[len] == ' ';
}

bool help_group(const char *word, struct buf *ret)
{
    size_t n = 0;

    for (size_t i = 0; command_at(i); i++) {
        if (!is_in_group(command_at(i), word))
            continue;
        if (n++ == 0)
            buf_printf(ret, "Usage: glovebox %s COMMAND [OPTIONS]\n\n", word);
        buf_printf(ret, "  %-14s %s\n", command_at(i)->name, command_at(i)->help);
    }
    if (n)
        buf_printf(ret, "\n'glovebox %s COMMAND --help' lists the options of a command.\n", word);
    return n > 0;
}

void help_all(struct buf *ret)
{
    buf_puts(ret, "Usage: glovebox COMMAND [OPTIONS]\n"
                  "Runs code that nobody has read inside a sealed box.\n\n");
    for (size_t i = 0; command_at(i); i++)
        buf_printf(ret, "  %-14s %s\n", command_at(i)->name, command_at(i)->help);
    buf_puts(ret, "\n'glovebox COMMAND --help' lists the options of a command.\n"
                  "Manual: man glovebox; settings: man 5 glovebox\n");
}

static const char *or_dash(const char *text)
{
    return text && *text ? text : "-";
}

static void dump_command(const struct cmd *cmd, struct buf *ret)
{
    buf_printf(ret, "command\t%s\t%s\n", cmd->name, cmd->help);
    for (size_t i = 0; i < CMD_USAGES_MAX && cmd->usages[i]; i++)
        buf_printf(ret, "usage\t%s\t%s\n", cmd->name, cmd->usages[i]);
    for (const struct opt *opt = cmd->options; opt->type; opt++) {
        const char letter[2] = { opt->letter, '\0' };

        buf_printf(ret, "option\t%s\t%s\t%s\t%s\t%s\t%s\n", cmd->name, or_dash(letter),
                   opt_name(opt), or_dash(opt_arg(opt)), or_dash(opt_default(opt)), opt_help(opt));
    }
}

static void dump_language(const struct language *language, struct buf *ret)
{
    buf_printf(ret, "language\t%s\t", language->name);
    for (size_t i = 0; language->aliases[i]; i++)
        buf_printf(ret, "%s%s", i ? " " : "", language->aliases[i]);
    buf_puts(ret, language->aliases[0] ? "\t" : "-\t");
    for (size_t i = 0; language->endings[i]; i++)
        buf_printf(ret, "%s.%s", i ? " " : "", language->endings[i]);
    buf_printf(ret, "\t%s\n", language->package);
}

void help_dump(struct buf *ret)
{
    for (size_t i = 0; command_at(i); i++)
        dump_command(command_at(i), ret);
    for (enum key_id id = 0; id < N_KEYS; id++) {
        const struct key *key = key_at(id);
        char allowed[KEY_ALLOWED_MAX];

        buf_printf(ret, "key\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", key->name,
                   value_kind_name(key->kind), key_allowed(key, allowed), or_dash(key->value),
                   or_dash(key->flag), key->env, key_rule_word(key->rule), key->help);
    }
    for (enum wall wall = 0; wall < N_WALLS; wall++)
        buf_printf(ret, "wall\t%s\t%s\n", wall_name(wall), wall_keeps(wall));
    for (size_t i = 0; language_at(i); i++)
        dump_language(language_at(i), ret);
}
