/* SPDX-License-Identifier: Apache-2.0 */
/* conf/layers.c - reads the layers of configuration, the weakest first.
 *
 * A YAML file is flattened (conf/yaml.h) and each entry looked up in keys.def, or in the short list
 * of `tools.code_execution` keys that other programs write.  The file config/config.yaml is such a
 * program's: of it only that section is read.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "conf/dirs.h"
#include "conf/dotenv.h"
#include "conf/environment.h"
#include "conf/file.h"
#include "conf/nearest.h"
#include "conf/settings.h"
#include "conf/trust.h"
#include "conf/yaml.h"

#define ENV_PREFIX     "GLOVEBOX_"
#define FOREIGN        "config/config.yaml"
#define FOREIGN_KEYS   "tools.code_execution"
#define FOREIGN_SWITCH FOREIGN_KEYS ".enabled"

struct layers {
    struct settings *settings;
    const struct settings_input *input;
    const char *home;
    size_t n_files;
    struct gb_err *err;
};

/* A key of ours under the name and with the words of another layout. */
struct alias {
    const char *name;
    enum key_id key;
    const char *const (*words)[2]; /* theirs, ours; NULL: the same */
};

static const char *const sandbox_words[][2] = {
    { "native", "native" }, { "restricted", "native" },
    { "docker", "docker" }, { "disabled", "disabled" },
    { NULL, NULL },
};
static const char *const enabled_words[][2] = {
    { "true", "" }, { "false", "disabled" }, { "yes", "" },  { "no", "disabled" },
    { "on", "" },   { "off", "disabled" },   { NULL, NULL },
};
static const struct alias aliases[] = {
    { FOREIGN_KEYS ".timeout", KEY_TIMEOUT, NULL },
    { FOREIGN_KEYS ".memory_limit", KEY_MEMORY, NULL },
    { FOREIGN_KEYS ".sandbox", KEY_BACKEND, sandbox_words },
    { FOREIGN_SWITCH, KEY_BACKEND, enabled_words },
};
#define N_NAMES (N_KEYS + N_ELEMENTS(aliases))

/* A name of the n-th key or alias, in one row. */
static const char *name_at(size_t n)
{
    return n < N_KEYS ? key_at((enum key_id)n)->name : aliases[n - N_KEYS].name;
}

/* ---- one value ---------------------------------------------------------------------------- */

static int put_text(struct layers *layers, const struct key *key, const char *text,
                    const struct origin *origin)
{
    struct value value = { 0 };
    char allowed[KEY_ALLOWED_MAX];
    int r = value_parse(key->kind, text, layers->home, &value, layers->err);

    if ((r == -EINVAL || r == -ERANGE) && key->kind != VALUE_WALLS)
        return gb_fail(layers->err, r, GB_BLAME_CALLER, "'%.40s' %s: allowed is %s", text,
                       r == -ERANGE ? "is out of range" : "cannot be used",
                       key_allowed(key, allowed));
    if (r == 0)
        r = settings_apply(layers->settings, key, &value, origin, layers->err);
    value_clear(&value);
    return r;
}

static int put_defaults(struct layers *layers)
{
    const struct origin origin = { .kind = ORIGIN_DEFAULT };
    cleanup_free char *state = dirs_state(layers->input->env, layers->input->uid);
    cleanup_free char *run = dirs_run(layers->input->env, layers->input->uid);
    cleanup_free char *cache = dirs_cache(layers->input->env, layers->input->uid);
    int r = 0;

    for (enum key_id id = 0; r == 0 && id < N_KEYS; id++) {
        const struct key *key = key_at(id);
        const char *text = id == KEY_STATE_DIR   ? state
                           : id == KEY_RUN_DIR   ? run
                           : id == KEY_CACHE_DIR ? cache
                                                 : key->value;

        if (text && *text)
            r = put_text(layers, key, text, &origin);
        if (r < 0)
            return gb_wrap(layers->err, r, "%s", key->name);
    }
    return r;
}

/* ---- YAML files --------------------------------------------------------------------------- */

static struct origin origin_at(const struct origin *file, unsigned line)
{
    struct origin origin = *file;

    origin.line = line;
    return origin;
}

/* The path lives as long as the settings. */
static const char *keep_path(struct layers *layers, const char *path)
{
    char *kept = layers->n_files < SETTINGS_FILES_MAX ? strdup(path) : NULL;

    if (!kept)
        (void)gb_no_memory(layers->err);
    else
        layers->settings->files[layers->n_files++] = kept;
    return kept;
}

/* "timeout" is looked for at the end of the known names too: a forgotten section is the commonest
 * mistake. */
static const char *suggest(const char *name)
{
    struct nearest near = { .text = name };

    for (size_t i = 0; i < N_NAMES; i++) {
        const char *dot = strrchr(name_at(i), '.');

        if (dot && strcmp(dot + 1, name) == 0)
            return name_at(i);
        nearest_offer(&near, name_at(i));
    }
    return nearest_best(&near);
}

static bool is_section(const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < N_NAMES; i++)
        if (strncmp(name_at(i), name, len) == 0 && name_at(i)[len] == '.')
            return true;
    return false;
}

static int fail_unknown(struct layers *layers, const char *name)
{
    const char *meant = suggest(name);

    return gb_fail(layers->err, -EINVAL, GB_BLAME_CALLER, "unknown key '%.40s'%s%s%s", name,
                   meant ? ", did you mean '" : "", meant ? meant : "", meant ? "'?" : "");
}

/* Each item is a value by itself: what is wrong is told of the one with which it is. */
static int items_text(struct layers *layers, const struct key *key, char *const *items,
                      struct buf *ret)
{
    for (size_t i = 0; items[i]; i++) {
        struct value item = { 0 };
        int r = value_parse(key->kind, items[i], layers->home, &item, layers->err);

        value_clear(&item);
        if (r < 0)
            return r;
        if (i)
            buf_putc(ret, value_separator(key->kind));
        buf_puts(ret, items[i]);
    }
    return buf_error(ret);
}

/* The entry's value as one text. */
static int entry_text(struct layers *layers, const struct key *key, const struct yaml_entry *entry,
                      struct buf *ret)
{
    char allowed[KEY_ALLOWED_MAX];

    if (entry->is_empty)
        return gb_fail(layers->err, -EINVAL, GB_BLAME_CALLER, "has no value: allowed is %s",
                       key_allowed(key, allowed));
    if (entry->text)
        return buf_puts(ret, entry->text);
    if (!value_separator(key->kind))
        return gb_fail(layers->err, -EINVAL, GB_BLAME_CALLER, "takes no list: allowed is %s",
                       key_allowed(key, allowed));
    return items_text(layers, key, entry->items, ret);
}

static int alias_text(struct layers *layers, const struct alias *alias, struct buf *text)
{
    cleanup_buf struct buf allowed = BUF_INIT(256);
    const char *const(*words)[2] = alias->words;

    for (; words && (*words)[0]; words++) {
        if (strcmp((*words)[0], text->data) == 0) {
            buf_reset(text);
            return buf_puts(text, (*words)[1]);
        }
        buf_printf(&allowed, "%s%s", allowed.len ? ", " : "", (*words)[0]);
    }
    if (!words)
        return 0;
    return gb_fail(layers->err, -EINVAL, GB_BLAME_CALLER, "'%.40s' cannot be used: allowed is %s",
                   text->data, allowed.data);
}

static int put_entry(struct layers *layers, const struct origin *source,
                     const struct yaml_entry *entry, size_t name)
{
    const struct alias *alias = name < N_KEYS ? NULL : &aliases[name - N_KEYS];
    const struct key *key = key_at(alias ? alias->key : (enum key_id)name);
    const struct origin origin = origin_at(source, entry->line);
    cleanup_buf struct buf text = BUF_INIT(65536);
    int r = entry_text(layers, key, entry, &text);

    if (r == 0)
        r = buf_puts(&text, "");
    if (r == 0 && alias)
        r = alias_text(layers, alias, &text);
    if (r == -EMSGSIZE || r == -ENOMEM)
        r = gb_fail(layers->err, r, GB_BLAME_CALLER, "the value is too long");
    /* An empty list says "none"; an alias that comes to nothing says nothing. */
    if (r == 0 && text.len == 0 && !alias && entry->items && key->kind != VALUE_WALLS) {
        struct value none = { 0 };

        r = settings_apply(layers->settings, key, &none, &origin, layers->err);
    } else if (r == 0 && (text.len || !alias || !alias->words)) {
        r = put_text(layers, key, text.len || !entry->items ? text.data : "none", &origin);
    }
    return r;
}

/* Which name the entry has; N_NAMES when it is a section that was left empty. */
static int find_name(struct layers *layers, const struct yaml_entry *entry, size_t *ret)
{
    for (size_t i = 0; i < N_NAMES; i++) {
        if (strcmp(name_at(i), entry->key) == 0) {
            *ret = i;
            return 0;
        }
    }
    *ret = N_NAMES;
    if (!is_section(entry->key))
        return fail_unknown(layers, entry->key);
    if (entry->is_empty)
        return 0;
    return gb_fail(layers->err, -EINVAL, GB_BLAME_CALLER,
                   "is a section: keys belong below it, each on a line of its own");
}

static int apply_entries(struct layers *layers, const struct origin *source,
                         const struct conf_yaml *yaml, bool is_switch)
{
    unsigned lines[N_NAMES] = { 0 };

    for (size_t i = 0; i < yaml->n_entries; i++) {
        const struct yaml_entry *entry = &yaml->entries[i];
        size_t name = N_NAMES;
        int r = find_name(layers, entry, &name);

        if (r == 0 && name < N_NAMES && lines[name])
            r = gb_fail(layers->err, -EINVAL, GB_BLAME_CALLER, "was set in line %u already",
                        lines[name]);
        if (r == 0 && name < N_NAMES) {
            lines[name] = entry->line;
            if ((strcmp(entry->key, FOREIGN_SWITCH) == 0) == is_switch)
                r = put_entry(layers, source, entry, name);
        }
        if (r < 0)
            return gb_wrap(layers->err, r, "%s:%u: %.40s", source->path, entry->line, entry->key);
    }
    return 0;
}

static int apply_yaml(struct layers *layers, const struct origin *source, const struct buf *text,
                      const char *section)
{
    struct conf_yaml yaml = { 0 };
    int r = conf_yaml_parse(&yaml, source->path, text->data, text->len, section, layers->err);

    if (r == 0)
        r = apply_entries(layers, source, &yaml, false);
    /* Last, so that `enabled: false` holds whatever `sandbox` says above or below it. */
    if (r == 0)
        r = apply_entries(layers, source, &yaml, true);
    conf_yaml_clear(&yaml);
    return r;
}

static int load_operators(struct layers *layers, enum origin_kind kind, const char *path)
{
    cleanup_buf struct buf text = BUF_INIT(CONF_FILE_MAX);
    struct origin source = { .kind = kind };
    int r = path ? conf_file_read(path, true, &text, layers->err) : 0;

    if (r <= 0)
        return r;
    source.path = keep_path(layers, path);
    return source.path ? apply_yaml(layers, &source, &text, NULL) : -ENOMEM;
}

/* ---- files of the project ----------------------------------------------------------------- */

static char *project_path(const struct layers *layers, const char *name)
{
    char *path = NULL;

    if (!layers->input->dir)
        return strdup(name);
    return asprintf(&path, "%s/%s", layers->input->dir, name) < 0 ? NULL : path;
}

/* The list of trusted files lies where the user, not the project, says. */
static int is_trusted(const struct layers *layers, const char *name, const struct buf *text)
{
    const char *said = environment_get(layers->input->env, key_at(KEY_STATE_DIR)->env);
    const char *state = layers->settings->set[KEY_STATE_DIR].value.text;
    const char *dir = layers->input->dir ? layers->input->dir : ".";

    if (said && *said == '/')
        state = said;
    return state ? trust_has(state, dir, name, text->data, text->len, layers->err) : 0;
}

/* 1 with text and source filled when the project has that file. */
static int open_project(struct layers *layers, enum origin_kind kind, const char *name,
                        struct buf *text, struct origin *ret)
{
    cleanup_free char *path = project_path(layers, name);
    int r;

    if (!path)
        return gb_no_memory(layers->err);
    r = conf_file_read_project(layers->input->dir, name, text, layers->err);
    if (r <= 0)
        return r;
    r = is_trusted(layers, name, text);
    if (r < 0)
        return r;
    *ret = (struct origin){
        .kind = kind,
        .path = keep_path(layers, path),
        .is_untrusted = r == 0,
    };
    return ret->path ? 1 : -ENOMEM;
}

static int load_project(struct layers *layers)
{
    cleanup_buf struct buf text = BUF_INIT(CONF_FILE_MAX);
    const char *section = NULL;
    struct origin source = { 0 };
    int r = open_project(layers, ORIGIN_PROJECT, "glovebox.yaml", &text, &source);

    if (r == 0) {
        section = FOREIGN_KEYS;
        r = open_project(layers, ORIGIN_PROJECT, FOREIGN, &text, &source);
    }
    return r <= 0 ? r : apply_yaml(layers, &source, &text, section);
}

/* A misspelt variable of ours is an error; others may use the prefix for things of their own. */
static int check_variable(struct layers *layers, const char *name)
{
    struct nearest near = { .text = name };

    if (strncmp(name, ENV_PREFIX, strlen(ENV_PREFIX)) != 0 || key_by_env(name))
        return 0;
    for (enum key_id id = 0; id < N_KEYS; id++)
        nearest_offer(&near, key_at(id)->env);
    if (!near.best || near.distance > 1 + (strlen(name) >= strlen(ENV_PREFIX) + 6))
        return 0;
    return gb_fail(layers->err, -EINVAL, GB_BLAME_CALLER, "unknown variable, did you mean %s?",
                   near.best);
}

static int apply_dotenv(struct layers *layers)
{
    const struct dotenv *dotenv = &layers->settings->dotenv;
    const struct origin *source = &layers->settings->dotenv_origin;

    for (size_t i = 0; i < dotenv->n_lines; i++) {
        const struct dotenv_line *line = &dotenv->lines[i];
        const struct key *key = key_by_env(line->name);
        const struct origin origin = origin_at(source, line->line);
        int r = check_variable(layers, line->name);

        if (r == 0 && key && *line->value && !environment_get(layers->input->env, line->name))
            r = put_text(layers, key, line->value, &origin);
        if (r < 0)
            return gb_wrap(layers->err, r, "%s:%u: %s", source->path, line->line, line->name);
    }
    return 0;
}

/* What a stranger's file makes of ${VAR} may go to a server that it names: of the environment it
 * sees nothing. */
static int load_dotenv(struct layers *layers)
{
    cleanup_buf struct buf text = BUF_INIT(DOTENV_FILE_MAX);
    struct origin *source = &layers->settings->dotenv_origin;
    int r = open_project(layers, ORIGIN_DOTENV, ".env", &text, source);

    if (r <= 0)
        return r;
    r = dotenv_parse(&layers->settings->dotenv, source->path, text.data, text.len,
                     source->is_untrusted ? NULL : layers->input->env, layers->err);
    return r < 0 ? r : apply_dotenv(layers);
}

/* ---- environment and flags ---------------------------------------------------------------- */

static int load_environment(struct layers *layers)
{
    const struct origin origin = { .kind = ORIGIN_ENVIRONMENT };

    for (char *const *line = layers->input->env; line && *line; line++) {
        cleanup_free char *name = strndup(*line, strcspn(*line, "="));
        const struct key *key = name ? key_by_env(name) : NULL;
        const char *text = key ? environment_get(layers->input->env, name) : NULL;
        int r = name ? check_variable(layers, name) : 0;

        if (r == 0 && text && *text)
            r = put_text(layers, key, text, &origin);
        if (r < 0)
            return gb_wrap(layers->err, r, "%s", name);
    }
    return 0;
}

/* From the last to the first, because a list puts what comes later in front. */
static int load_flags(struct layers *layers)
{
    const struct origin origin = { .kind = ORIGIN_FLAG };
    bool seen[N_KEYS] = { false };

    for (size_t i = layers->input->n_flags; i-- > 0;) {
        const struct flag_text *flag = &layers->input->flags[i];
        const struct key *key = key_at(flag->key);
        int r = 0;

        if (!seen[flag->key] || value_is_list(key->kind))
            r = put_text(layers, key, flag->text, &origin);
        seen[flag->key] = true;
        if (r < 0)
            return gb_wrap(layers->err, r, "%s%s", key->flag ? "--" : "",
                           key->flag ? key->flag : key->name);
    }
    return 0;
}

/* Docker's own variables, and where its files are. */
static int find_engine(struct settings *settings, const struct settings_input *input,
                       struct gb_err *err)
{
    const char *home = environment_get(input->env, "HOME");
    const char *config = environment_get(input->env, "DOCKER_CONFIG");
    const char *platform = environment_get(input->env, "DOCKER_DEFAULT_PLATFORM");

    if (!config && home) {
        if (asprintf(&settings->docker_config, "%s/.docker", home) < 0) {
            settings->docker_config = NULL;
            return gb_no_memory(err);
        }
        config = settings->docker_config;
    }
    settings->engine = (struct box_engine){
        .hints = { .host = settings->set[KEY_DOCKER_HOST].value.text,
                   .docker_host = environment_get(input->env, "DOCKER_HOST"),
                   .context = environment_get(input->env, "DOCKER_CONTEXT"),
                   .config_dir = config,
                   .tls_verify = environment_get(input->env, "DOCKER_TLS_VERIFY"),
                   .cert_path = environment_get(input->env, "DOCKER_CERT_PATH"),
                   .home = home,
                   .runtime_dir = environment_get(input->env, "XDG_RUNTIME_DIR") },
        .api_version = environment_get(input->env, "DOCKER_API_VERSION"),
        .runtime = settings->set[KEY_DOCKER_RUNTIME].value.text,
        .platform = platform && *platform ? platform : NULL,
    };
    return 0;
}

int settings_load(struct settings *settings, const struct settings_input *input, struct gb_err *err)
{
    struct layers layers = {
        .settings = settings,
        .input = input,
        .home = environment_get(input->env, "HOME"),
        .err = err,
    };
    cleanup_free char *system = dirs_system_config(input->env);
    cleanup_free char *user = dirs_user_config(input->env);
    int r = put_defaults(&layers);

    settings->denials = (struct denials){ .env = input->env,
                                          .uid = input->uid,
                                          .is_without_files = input->is_without_files };
    if (r == 0 && !input->is_without_files)
        r = load_operators(&layers, ORIGIN_SYSTEM, system);
    if (r == 0 && !input->is_without_files)
        r = load_operators(&layers, ORIGIN_USER, user);
    if (r == 0 && !input->is_without_project)
        r = load_project(&layers);
    if (r == 0 && !input->is_without_project)
        r = load_dotenv(&layers);
    if (r == 0)
        r = load_environment(&layers);
    if (r == 0)
        r = load_flags(&layers);
    if (r == 0)
        r = settings_finish(settings, err);
    return r < 0 ? r : find_engine(settings, input, err);
}
