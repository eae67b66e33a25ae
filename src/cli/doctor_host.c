/* SPDX-License-Identifier: Apache-2.0 */
/* cli/doctor_host.c - what `doctor` tells of this machine besides the walls. */
#include "cli/doctor_host.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "box/box.h"
#include "box/native/toolchain.h"
#include "conf/environment.h"
#include "run/language.h"

/* ---- toolchains ----------------------------------------------------------------------------- */

/* Managers of versions put small stand-ins on PATH; the program itself lies elsewhere in the same
 * home. */
static const struct {
    const char *stand_in; /* part of the path on PATH */
    const char *real;     /* pattern of where it stands for, behind the same home */
} managers[] = {
    { "/.pyenv/shims/", "/.pyenv/versions/*/bin/" },
    { "/.rbenv/shims/", "/.rbenv/versions/*/bin/" },
    { "/.nodenv/shims/", "/.nodenv/versions/*/bin/" },
    { "/.cargo/bin/", "/.rustup/toolchains/*/bin/" },
    { "/.asdf/shims/", "/.asdf/installs/*/*/bin/" },
    { "/.local/share/mise/shims/", "/.local/share/mise/installs/*/*/bin/" },
};

/* The greatest version among paths. */
static const char *newest(const glob_t *paths)
{
    const char *best = "";

    for (size_t i = 0; i < paths->gl_pathc; i++)
        if (strverscmp(paths->gl_pathv[i], best) > 0)
            best = paths->gl_pathv[i];
    return best;
}

/* The newest of what a stand-in stands for; false when it is none. */
static bool behind_stand_in(const char *program, char found[static PATH_MAX])
{
    for (size_t i = 0; i < N_ELEMENTS(managers); i++) {
        const char *at = strstr(program, managers[i].stand_in);
        char pattern[PATH_MAX];
        glob_t paths;

        if (!at)
            continue;
        (void)snprintf(pattern, sizeof(pattern), "%.*s%s%s", (int)(at - program), program,
                       managers[i].real, at + strlen(managers[i].stand_in));
        if (glob(pattern, 0, NULL, &paths) != 0)
            return false;
        (void)snprintf(found, PATH_MAX, "%s", newest(&paths));
        globfree(&paths);
        return found[0] != '\0';
    }
    return false;
}

/* The tree that a program belongs to: the directory above its bin. */
static bool tree_of(const char *program, char tree[static PATH_MAX])
{
    char behind[PATH_MAX];
    cleanup_free char *real = realpath(behind_stand_in(program, behind) ? behind : program, NULL);
    char *slash = real ? strrchr(real, '/') : NULL;

    if (!slash || slash == real)
        return false;
    *slash = '\0';
    slash = strrchr(real, '/');
    if (slash && slash != real && strcmp(slash, "/bin") == 0)
        *slash = '\0';
    return snprintf(tree, PATH_MAX, "%s", real) < PATH_MAX;
}

static void suggest(struct doctor_program *program, const struct language *language)
{
    char tree[PATH_MAX];

    if (program->on_path[0] && strcmp(program->on_path, program->in_box) != 0 &&
        tree_of(program->on_path, tree) && !path_is_in(tree, "/usr"))
        (void)snprintf(program->remedy, sizeof(program->remedy), "to use it: --toolchain %s", tree);
    else if (!program->in_box[0])
        (void)snprintf(program->remedy, sizeof(program->remedy), "to have one: apt install %s",
                       language->package);
}

/* A language may share its program with another one; it is told once. */
static bool is_told(const struct doctor_host *host, const char *name)
{
    for (size_t i = 0; i < host->n_programs; i++)
        if (strcmp(host->programs[i].name, name) == 0)
            return true;
    return false;
}

static void look_for_programs(struct doctor_host *host, const char *const *toolchains,
                              const char *user_path)
{
    cleanup_free char *box_path = toolchains_path(toolchains);
    const struct language *language;

    for (size_t i = 0; box_path && (language = language_at(i)) != NULL; i++) {
        struct doctor_program *program = &host->programs[host->n_programs];

        if (host->n_programs == DOCTOR_PROGRAMS_MAX || is_told(host, language->program))
            continue;
        program->language = language->name;
        program->name = language->program;
        if (!box_path_has(box_path, language->program, program->in_box))
            program->in_box[0] = '\0';
        if (!user_path || !box_path_has(user_path, language->program, program->on_path))
            program->on_path[0] = '\0';
        suggest(program, language);
        host->n_programs++;
    }
}

void doctor_host_look(struct doctor_host *host, const char *const *toolchains, char *const *env)
{
    look_for_programs(host, toolchains, environment_get(env, "PATH"));
    doctor_kernel_look(host, "/proc/sys");
}
