/* SPDX-License-Identifier: Apache-2.0 */
/* cli/command.c - the table of commands, and what all of them do first. */
#include "cli/command.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fd.h"
#include "cli/help.h"
#include "conf/nearest.h"
#include "conf/settings.h"
#include "json/writer.h"

#define HELP_MAX  65536
#define ERROR_MAX 65536

static const struct cmd *const commands[] = {
    &cmd_run,          &cmd_runs_list,   &cmd_runs_show,
    &cmd_runs_answer,  &cmd_runs_replay, &cmd_runs_rm,
    &cmd_exec,         &cmd_box_create,  &cmd_box_run,
    &cmd_box_runs,     &cmd_box_logs,    &cmd_box_wait,
    &cmd_box_kill,     &cmd_box_stats,   &cmd_box_net,
    &cmd_box_ports,    &cmd_box_put,     &cmd_box_get,
    &cmd_box_ls,       &cmd_box_stat,    &cmd_box_rmfile,
    &cmd_box_list,     &cmd_box_rm,      &cmd_box_prune,
    &cmd_tool,         &cmd_image_pull,  &cmd_image_build,
    &cmd_image_list,   &cmd_image_rm,    &cmd_image_prune,
    &cmd_cache_list,   &cmd_cache_prune, &cmd_cache_rm,
    &cmd_doctor,       &cmd_models,      &cmd_config_show,
    &cmd_config_trust, &cmd_version,     NULL,
};

const struct cmd *command_at(size_t n)
{
    return n < N_ELEMENTS(commands) ? commands[n] : NULL;
}

/* The number of words of name that argv begins with, all of them; else 0. */
static size_t match(const char *name, char *const *argv)
{
    size_t n = 0;

    while (argv[n]) {
        size_t len = strcspn(name, " ");

        if (strlen(argv[n]) != len || strncmp(argv[n], name, len) != 0)
            return 0;
        n++;
        if (!name[len])
            return n;
        name += len + 1;
    }
    return 0;
}

/* "config" alone, or with a second word that is none of its own; 0 when there is no such group. */
static int fail_group(char *const *argv, struct gb_err *err)
{
    cleanup_buf struct buf names = BUF_INIT(1024);
    struct nearest near = { .text = argv[1] ? argv[1] : "" };
    size_t len = strlen(argv[0]);
    const char *best;

    for (const struct cmd *const *cmd = commands; *cmd; cmd++) {
        if (strncmp((*cmd)->name, argv[0], len) != 0 || (*cmd)->name[len] != ' ')
            continue;
        buf_printf(&names, "%s%s", names.len ? ", " : "", (*cmd)->name + len + 1);
        nearest_offer(&near, (*cmd)->name + len + 1);
    }
    if (!names.len)
        return 0;
    best = nearest_best(&near);
    if (best)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "unknown command '%s %.100s', did you mean '%s %s'?", argv[0], argv[1],
                       argv[0], best);
    return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                   "%s%.100s%s: one of %s must follow '%s'; 'glovebox %s --help' explains them",
                   argv[1] ? "unknown command '" : "", argv[1] ? argv[1] : argv[0],
                   argv[1] ? "'" : "", names.data, argv[0], argv[0]);
}

static void fail_unknown(const char *word, struct gb_err *err)
{
    struct nearest near = { .text = word };
    const char *best;

    for (const struct cmd *const *cmd = commands; *cmd; cmd++)
        nearest_offer(&near, (*cmd)->name);
    best = nearest_best(&near);
    (void)gb_fail(err, -EINVAL, GB_BLAME_CALLER, "unknown %s '%.100s'%s%s%s",
                  *word == '-' ? "option" : "command", word, best ? ", did you mean '" : "",
                  best ? best : "; 'glovebox --help' lists them", best ? "'?" : "");
}

const struct cmd *command_find(char *const *argv, size_t *ret_n, struct gb_err *err)
{
    for (const struct cmd *const *cmd = commands; *cmd; cmd++) {
        size_t n = match((*cmd)->name, argv);

        if (n) {
            *ret_n = n;
            return *cmd;
        }
    }
    if (fail_group(argv, err) == 0)
        fail_unknown(argv[0], err);
    return NULL;
}

int command_check_stdout(const struct call *call, struct gb_err *err)
{
    if (call->has_stdout)
        return 0;
    return gb_fail(err, -EBADF, GB_BLAME_CALLER,
                   "stdout is closed, and nobody would learn the id" GB_REMEDY
                   "read it, or throw it away with >/dev/null");
}

int command_print(const struct buf *text, struct gb_err *err)
{
    int r = buf_error(text);

    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "out of memory");
    r = fd_write_full(STDOUT_FILENO, text->data, text->len);
    return r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "writing to stdout: %s", strerror(-r)) : 0;
}

void command_print_error(bool is_lines, const struct gb_err *why)
{
    cleanup_buf struct buf text = BUF_INIT(ERROR_MAX);
    struct json_writer w;

    json_writer_init(&w, &text, false);
    json_object_begin(&w, NULL);
    if (is_lines)
        json_put_str(&w, "event", "error");
    else
        json_put_u64(&w, "schema", 1);
    json_object_begin(&w, "error");
    json_put_bytes(&w, "message", why->msg, gb_err_len(why));
    json_put_str(&w, "remedy", gb_err_remedy(why));
    json_object_end(&w);
    json_object_end(&w);
    (void)json_writer_end(&w);
    (void)buf_putc(&text, '\n');
    (void)command_print(&text, NULL);
}

int command_parse(const struct call *call, void *target, struct parsed *ret, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(HELP_MAX);
    int r = options_parse(call->cmd->options, call->argv, target, ret, err);

    if (r < 0)
        return gb_wrap(err, r, "%s", call->cmd->name);
    if (!ret->wants_help)
        return 0;
    help_command(call->cmd, &text);
    r = command_print(&text, err);
    return r < 0 ? r : 1;
}

bool command_wants(const struct call *call, const char *flag)
{
    for (char *const *word = call->argv; *word && strcmp(*word, "--") != 0; word++)
        if (strcmp(*word, flag) == 0)
            return true;
    return false;
}

int command_settings(const struct call *call, const struct parsed *parsed, struct settings *ret,
                     struct gb_err *err)
{
    const struct settings_input input = {
        .env = call->env,
        .uid = geteuid(),
        .flags = parsed->flags,
        .n_flags = parsed->n_flags,
    };
    int r = settings_load(ret, &input, err);

    if (r == 0)
        *call->ret_color = ret->color;
    return r;
}

int command_no_operands(const struct parsed *parsed, struct gb_err *err)
{
    if (parsed->n_operands || parsed->has_rest)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "unexpected argument '%.100s'",
                       parsed->n_operands ? parsed->operands[0] : "--");
    return 0;
}
