/* SPDX-License-Identifier: Apache-2.0 */
/* cli/main.c - finds the command and runs it.
 *
 * Nothing is read or prepared before a command asks for it: `glovebox version` must start as fast
 * as a program that does nothing.  Called as `adde` it is `glovebox tool`.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/path.h"
#include "cli/command.h"
#include "cli/help.h"
#include "cli/term.h"

#define TEXT_MAX 262144
#define ADDE     "adde"

/* A file that is opened must never become stdin, stdout or stderr because the caller had closed
 * it. */
static int open_standard_fds(bool *ret_has_stdout, struct gb_err *err)
{
    *ret_has_stdout = fcntl(STDOUT_FILENO, F_GETFD) >= 0;
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_WRONLY : O_RDONLY) != fd)
            return gb_fail_sys(err, "/dev/null");
    return 0;
}

static int print(void (*write)(struct buf *ret), struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);

    write(&text);
    return command_print(&text, err);
}

static bool is_help(const char *word)
{
    return word && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0);
}

/* `glovebox help [COMMAND]` and what may stand in place of a command; -ENOENT when it is none. */
static int run_option(char *const *argv, struct gb_err *err)
{
    if (is_help(argv[0]) || (strcmp(argv[0], "help") == 0 && !argv[1]))
        return print(help_all, err);
    if (strcmp(argv[0], "--dump-options") == 0)
        return print(help_dump, err);
    return -ENOENT;
}

/* `glovebox help config`, `glovebox config --help`; -ENOENT when it is no such call. */
static int run_group_help(char *const *argv, bool wants_help, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);

    if (!(wants_help && argv[0] && !argv[1]) && !(argv[0] && is_help(argv[1])))
        return -ENOENT;
    return help_group(argv[0], &text) ? command_print(&text, err) : -ENOENT;
}

/* call has all but the command. */
static int run_command(struct call *call, char *const *argv, struct gb_err *err)
{
    static char help[] = "--help";
    char *const only_help[] = { help, NULL };
    bool wants_help = strcmp(argv[0], "help") == 0;
    size_t n = 0;
    int r;

    if (wants_help)
        argv++;
    r = run_group_help(argv, wants_help, err);
    if (r != -ENOENT)
        return r;
    call->cmd = command_find(argv, &n, err);
    if (!call->cmd)
        return -EINVAL;
    call->argv = wants_help ? only_help : argv + n;
    return call->cmd->run(call, err);
}

static int run(char *const *argv, char *const *env, enum color_mode *ret_color, struct gb_err *err)
{
    static char version[] = "version";
    char *const only_version[] = { version, NULL };
    struct call call = { .program = "glovebox", .env = env };
    int r = open_standard_fds(&call.has_stdout, err);

    call.ret_color = ret_color;
    if (r < 0)
        return r;
    if (!argv[0])
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "which command? 'glovebox --help' lists them");
    if (strcmp(argv[0], "--version") == 0 && !argv[1])
        return run_command(&call, only_version, err);
    r = run_option(argv, err);
    return r == -ENOENT ? run_command(&call, argv, err) : r;
}

/* Every word is the tool's, options too. */
static int run_adde(char *const *argv, char *const *env, enum color_mode *ret_color,
                    struct gb_err *err)
{
    struct call call = { .cmd = &cmd_tool, .program = ADDE, .argv = argv, .env = env };
    int r = open_standard_fds(&call.has_stdout, err);

    call.ret_color = ret_color;
    return r < 0 ? r : cmd_tool.run(&call, err);
}

int main(int argc, char **argv, char **env)
{
    enum color_mode color = COLOR_AUTO;
    struct gb_err err = { 0 };
    bool is_adde = argc > 0 && strcmp(path_base(argv[0]), ADDE) == 0;
    char *const *words = argc > 0 ? argv + 1 : argv;
    int r;

    /* A file that may not grow is an error to be told, not the end of us.  Boxes have it anew. */
    (void)signal(SIGXFSZ, SIG_IGN);
    r = is_adde ? run_adde(words, env, &color, &err) : run(words, env, &color, &err);
    if (r >= 0)
        return r;
    term_error(&err, color, env);
    return term_exit_code(&err);
}
