/* SPDX-License-Identifier: Apache-2.0 */
/* cli/command.h - the commands of glovebox as a table.
 *
 * A command is one file with its struct cmd, and one row in command.c.  A name of two words
 * ("config show") is a command of its own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli/option.h"

struct buf;
struct gb_err;
struct settings;

#define CMD_USAGES_MAX 3

/* One call of a command. */
struct call {
    const struct cmd *cmd;
    const char *program; /* as it was called: "glovebox", "adde" */
    char *const *argv;   /* behind the command's name; NULL-terminated */
    char *const *env;
    bool has_stdout;            /* false: whoever calls has closed it, /dev/null stands there */
    enum color_mode *ret_color; /* how an error of this call is to be printed */
};

struct cmd {
    const char *name;
    const char *help;                   /* one line */
    const char *usages[CMD_USAGES_MAX]; /* what follows the name; NULL behind the last */
    const struct opt *options;          /* ended by { 0 } */

    /* The exit code, or a negative errno with err set. */
    int (*run)(const struct call *call, struct gb_err *err);
};

extern const struct cmd cmd_box_create;
extern const struct cmd cmd_box_get;
extern const struct cmd cmd_box_kill;
extern const struct cmd cmd_box_list;
extern const struct cmd cmd_box_logs;
extern const struct cmd cmd_box_ls;
extern const struct cmd cmd_box_prune;
extern const struct cmd cmd_box_put;
extern const struct cmd cmd_box_rm;
extern const struct cmd cmd_box_rmfile;
extern const struct cmd cmd_box_run;
extern const struct cmd cmd_box_runs;
extern const struct cmd cmd_box_stat;
extern const struct cmd cmd_box_net;
extern const struct cmd cmd_box_ports;
extern const struct cmd cmd_box_stats;
extern const struct cmd cmd_box_wait;
extern const struct cmd cmd_cache_list;
extern const struct cmd cmd_cache_prune;
extern const struct cmd cmd_cache_rm;
extern const struct cmd cmd_config_show;
extern const struct cmd cmd_config_trust;
extern const struct cmd cmd_doctor;
extern const struct cmd cmd_exec;
extern const struct cmd cmd_image_build;
extern const struct cmd cmd_image_list;
extern const struct cmd cmd_image_prune;
extern const struct cmd cmd_image_pull;
extern const struct cmd cmd_image_rm;
extern const struct cmd cmd_models;
extern const struct cmd cmd_run;
extern const struct cmd cmd_runs_answer;
extern const struct cmd cmd_runs_replay;
extern const struct cmd cmd_runs_list;
extern const struct cmd cmd_runs_rm;
extern const struct cmd cmd_runs_show;
extern const struct cmd cmd_tool;
extern const struct cmd cmd_version;

/* The n-th command, NULL behind the last. */
const struct cmd *command_at(size_t n);

/* The command that argv begins with, and in *ret_n how many words its name takes.  NULL with err
 * set when there is none. */
const struct cmd *command_find(char *const *argv, size_t *ret_n, struct gb_err *err);

/* Parses the call's options.  1 when help was wanted and has been printed: the command is done. */
int command_parse(const struct call *call, void *target, struct parsed *ret, struct gb_err *err);

/* Does that flag stand among the words of the call?  Also of one whose options could not be
 * understood: what it was told with --json is refused with a document. */
bool command_wants(const struct call *call, const char *flag);

/* Loads the settings with the call's flags on top.  The caller owes a settings_clear(). */
int command_settings(const struct call *call, const struct parsed *parsed, struct settings *ret,
                     struct gb_err *err);

/* Fails when there are operands or a "--": the command takes none. */
int command_no_operands(const struct parsed *parsed, struct gb_err *err);

/* Fails when stdout was closed: for what makes something whose id nobody would learn then. */
int command_check_stdout(const struct call *call, struct gb_err *err);

/* Writes the text to stdout and returns 0; a buf that ran over is an error too. */
int command_print(const struct buf *text, struct gb_err *err);

/* What failed, to stdout: {"schema":1,"error":{"message","remedy"}}, or as the last event of lines.
 */
void command_print_error(bool is_lines, const struct gb_err *why);
