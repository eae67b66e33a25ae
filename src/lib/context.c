/* SPDX-License-Identifier: Apache-2.0 */
/* lib/context.c - a context: settings that were said in the program, and files where it asks.
 *
 * Whatever is said, the settings are worked out anew from everything that was said so far, by the
 * code that the command has for its flags; so the two cannot mean different things.
 */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "conf/keys.h"
#include "lib/inside.h"

#define WORDS_MAX    256
#define USER_RECORD  16384
#define RUNTIME_DIRS "/run/user"

/* What has to do with boxes. */
static const enum key_id keys[] = {
    KEY_TIMEOUT,
    KEY_CPU_TIME,
    KEY_MEMORY,
    KEY_CPUS,
    KEY_PIDS,
    KEY_DISK,
    KEY_INODES,
    KEY_OUTPUT_MAX,
    KEY_OUTPUT_KEEP,
    KEY_BACKEND,
    KEY_IMAGE,
    KEY_REQUIRE,
    KEY_DOCKER_HOST,
    KEY_DOCKER_RUNTIME,
    KEY_ALLOW_MISSING,
    KEY_TOOLCHAINS,
    KEY_UID_BASE,
    KEY_RUN_DIR,
    KEY_STATE_DIR,
    KEY_CACHE_DIR,
    KEY_NET_CONNECTIONS,
    KEY_NET_BYTES,
    KEY_NET_NAMES,
    KEY_PACKAGES_TIMEOUT,
    KEY_PACKAGES_MEMORY,
    KEY_PACKAGES_DISK,
    KEY_PACKAGES_CACHE,
    KEY_PACKAGES_HOSTS,
};

/* ---- without an environment ----------------------------------------------------------------- */

/* The directory that a session of the user has, where the system makes one. */
static int add_runtime_dir(struct texts *env, struct gb_err *err)
{
    char line[64];
    const char *path = line + strlen("XDG_RUNTIME_DIR=");
    struct stat st;

    (void)snprintf(line, sizeof(line), "XDG_RUNTIME_DIR=" RUNTIME_DIRS "/%u", geteuid());
    if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
        return 0;
    return texts_add(env, strdup(line), err);
}

/* What the command finds in a plain session, from the user database. */
static int plain_env(struct texts *env, struct gb_err *err)
{
    cleanup_free char *record = malloc(USER_RECORD);
    struct passwd entry;
    struct passwd *found = NULL;
    char *line = NULL;

    if (!record)
        return gb_no_memory(err);
    if (getpwuid_r(geteuid(), &entry, record, USER_RECORD, &found) != 0 || !found)
        return 0; /* whoever has no home names the directories */
    if (asprintf(&line, "HOME=%s", entry.pw_dir) < 0 || texts_add(env, line, err) < 0)
        return gb_no_memory(err);
    return add_runtime_dir(env, err);
}

/* ---- working it out ------------------------------------------------------------------------- */

char *const *lib_env(const struct glovebox_context *context)
{
    static char *const none[] = { NULL };

    return context->env.items ? context->env.items : none;
}

static int load(struct glovebox_context *context, struct settings *ret, struct gb_err *err)
{
    const struct settings_input input = {
        .dir = context->project_dir,
        .is_without_project = !context->project_dir,
        .is_without_files = !context->reads_files,
        .env = lib_env(context),
        .uid = geteuid(),
        .flags = context->words,
        .n_flags = context->n_words,
    };
    int r = settings_load(ret, &input, err);

    if (r < 0)
        settings_clear(ret);
    return r;
}

static int renew(struct glovebox_context *context, struct gb_err *err)
{
    struct settings fresh = { 0 };
    int r = load(context, &fresh, err);

    if (r < 0)
        return r;
    settings_clear(&context->settings);
    context->settings = fresh;
    return 0;
}

/* The text is ours, whoever else has only read such structs. */
static void word_clear(struct flag_text *word)
{
    free((void *)(uintptr_t)word->text);
    word->text = NULL;
}

/* ---- life ----------------------------------------------------------------------------------- */

int glovebox_context_new(struct glovebox_context **ret, struct glovebox_error *error)
{
    struct glovebox_context *context = calloc(1, sizeof(*context));
    struct gb_err err = { 0 };
    int r;

    if (!context)
        return lib_told(gb_no_memory(&err), &err, error);
    r = plain_env(&context->env, &err);
    if (r == 0)
        r = renew(context, &err);
    if (r == 0)
        *ret = take_ptr(context);
    glovebox_context_free(context);
    return lib_told(r, &err, error);
}

void glovebox_context_free(struct glovebox_context *context)
{
    if (!context)
        return;
    settings_clear(&context->settings);
    for (size_t i = 0; i < context->n_words; i++)
        word_clear(&context->words[i]);
    free(context->words);
    free(context->project_dir);
    texts_clear(&context->env);
    free(context);
}

/* ---- saying --------------------------------------------------------------------------------- */

static int configure(struct glovebox_context *context, char *const *env, const char *project_dir,
                     struct gb_err *err)
{
    struct glovebox_context next = *context;
    int r;

    next.env = (struct texts){ 0 };
    next.settings = (struct settings){ 0 };
    next.reads_files = true;
    next.project_dir = project_dir ? strdup(project_dir) : NULL;
    r = project_dir && !next.project_dir ? gb_no_memory(err)
                                         : texts_copy(&next.env, (const char *const *)env, err);
    if (r == 0)
        r = load(&next, &next.settings, err);
    if (r < 0) {
        texts_clear(&next.env);
        free(next.project_dir);
        return r;
    }
    settings_clear(&context->settings);
    texts_clear(&context->env);
    free(context->project_dir);
    *context = next;
    return 0;
}

int glovebox_context_configure(struct glovebox_context *context, char *const *env,
                               const char *project_dir, struct glovebox_error *error)
{
    struct gb_err err = { 0 };

    return lib_told(configure(context, env, project_dir, &err), &err, error);
}

static const struct key *find_key(const char *name)
{
    const struct key *key = key_by_name(name);

    for (size_t i = 0; key && i < N_ELEMENTS(keys); i++)
        if (keys[i] == key->id)
            return key;
    return NULL;
}

static int add_word(struct glovebox_context *context, const struct key *key, const char *value,
                    struct gb_err *err)
{
    char *text = strdup(value);
    struct flag_text *grown =
        text ? reallocarray(context->words, context->n_words + 1, sizeof(*grown)) : NULL;

    if (!grown) {
        free(text);
        return gb_no_memory(err);
    }
    context->words = grown;
    grown[context->n_words++] = (struct flag_text){ .key = key->id, .text = text };
    return 0;
}

static int set(struct glovebox_context *context, const char *name, const char *value,
               struct gb_err *err)
{
    const struct key *key = find_key(name);
    int r;

    if (!key)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "'%.80s' is no setting of boxes" GB_REMEDY "glovebox(5) lists them", name);
    if (context->n_words == WORDS_MAX)
        return gb_fail(err, -E2BIG, GB_BLAME_CALLER, "more than %d settings", WORDS_MAX);
    r = add_word(context, key, value, err);
    if (r < 0)
        return r;
    r = renew(context, err);
    if (r < 0)
        word_clear(&context->words[--context->n_words]);
    return r;
}

int glovebox_context_set(struct glovebox_context *context, const char *name, const char *value,
                         struct glovebox_error *error)
{
    struct gb_err err = { 0 };

    return lib_told(set(context, name, value, &err), &err, error);
}
