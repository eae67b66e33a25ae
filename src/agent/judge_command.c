/* SPDX-License-Identifier: Apache-2.0 */
/* agent/judge_command.c - how a program is built and started: commands, of which none is run. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/contract.h"
#include "agent/judge_inside.h"
#include "base/err.h"

/* Compilers that must be told of every file of a program. */
static bool wants_all_files(const struct language *language)
{
    static const char *const names[] = { "c", "cpp", "go" };

    for (size_t i = 0; i < N_ELEMENTS(names); i++)
        if (strcmp(language->name, names[i]) == 0)
            return true;
    return false;
}

/* The command of the step, and the other sources behind the first. */
static const char **build_argv(const struct judge_spec *spec, const struct language *language,
                               const struct language_step *step)
{
    const struct agent_files *code = spec->code;
    const char **argv = calloc(LANGUAGE_ARGS_MAX + code->n + 1, sizeof(*argv));
    size_t n = 0;

    for (size_t i = 0; argv && step->argv[i]; i++)
        argv[n++] = step->argv[i];
    for (size_t i = 0; argv && wants_all_files(language) && i < code->n; i++)
        if (language_by_path(code->items[i].path) == language &&
            strcmp(code->items[i].path, spec->contract->files[0]) != 0)
            argv[n++] = code->items[i].path;
    return argv;
}

/* Debian has no `python`, and models do not know that. */
static const char *program_name(const char *word)
{
    return strcmp(word, "python") == 0 ? "python3" : word;
}

/* A command that names a file which is not among the code's: the name that the build has. */
static const char *name_of_build(const struct judge_spec *spec, const char *word)
{
    const char *path = word && strncmp(word, "./", 2) == 0 ? word + 2 : word;
    bool is_one = word && strchr(word, '/') && word[0] != '/' &&
                  agent_path_check(path, NULL) == 0 && !agent_files_find(spec->code, path);

    return is_one ? path : NULL;
}

/* The contract's command, unless the program is compiled and the command builds it anew. */
static int choose_argv(const struct judge_spec *spec, struct program *program)
{
    char *const *command = spec->contract->command;
    const struct language_step *last = &program->steps[program->n_steps - 1];
    bool is_compiled = program->n_steps > 1;
    bool is_command;
    size_t n = 0;

    program->name = is_compiled ? name_of_build(spec, command[0]) : NULL;
    is_command = command[0] && (!is_compiled || program->name);
    program->argv = calloc(CONTRACT_LIST_MAX + LANGUAGE_ARGS_MAX + 1, sizeof(*program->argv));
    if (!program->argv)
        return -ENOMEM;
    for (; is_command && n < CONTRACT_LIST_MAX && command[n]; n++)
        program->argv[n] = n == 0 ? program_name(command[n]) : command[n];
    for (; !is_command && last->argv[n]; n++)
        program->argv[n] = last->argv[n];
    return 0;
}

int program_commands(const struct judge_spec *spec, const struct agent_file *first,
                     struct program *ret, struct gb_err *err)
{
    const struct language *language = language_by_name(spec->contract->language);
    char path[AGENT_PATH_MAX + sizeof(BOX_WORKSPACE "/")];
    struct language_source source = {
        .path = path, .out = BOX_WORKSPACE "/" BUILD_FILE, .code = first->text, .len = first->len
    };
    int r;

    if (!language)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "a contract without language");
    (void)snprintf(path, sizeof(path), BOX_WORKSPACE "/%s", first->path);
    ret->box = *spec->box;
    ret->box.shows_groups = spec->box->shows_groups || language->wants_groups;
    r = language_steps(language, &source, &spec->box->limits, ret->steps, &ret->n_steps, err);
    if (r < 0)
        return r;
    ret->language = language;
    ret->env = ret->steps[0].env;
    if (ret->n_steps > 1) {
        ret->build = build_argv(spec, language, &ret->steps[0]);
        if (!ret->build)
            return gb_no_memory(err);
    }
    return choose_argv(spec, ret) < 0 ? gb_no_memory(err) : 0;
}
