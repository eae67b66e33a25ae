/* SPDX-License-Identifier: Apache-2.0 */
/* conf/secrets.c - finding the variables of servers in the environment, in files and in .env. */
#include "conf/secrets.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "conf/environment.h"
#include "conf/file.h"
#include "model/providers.h"
#include "net/search.h"

/* Each name may be found outside and in .env. */
#define NAMES_MAX     64
#define VARIABLES_MAX ((size_t)2 * NAMES_MAX)
#define NAME_LEN_MAX  64

struct secrets {
    struct variable variables[VARIABLES_MAX];
    size_t n_variables;
    char *contents[NAMES_MAX]; /* of files */
    size_t n_contents;
    const char *values[VARIABLES_MAX + 1];
    size_t n_values;
};

struct finder {
    struct secrets *secrets;
    const struct settings *settings;
    char *const *env;
    struct gb_err *err;
};

int variable_source(const struct variable *variable, struct buf *ret)
{
    if (variable->origin.kind == ORIGIN_DOTENV)
        return buf_printf(ret, "%s:%u", variable->origin.path, variable->origin.line);
    return buf_printf(ret, "%s%s", variable->name, variable->file ? "_FILE" : "");
}

static int fail_at(const struct finder *f, const struct variable *variable, int code,
                   const char *what)
{
    cleanup_buf struct buf source = BUF_INIT(65536);

    (void)variable_source(variable, &source);
    if (variable->origin.kind == ORIGIN_DOTENV)
        (void)buf_printf(&source, ": %s", variable->name);
    return gb_fail(f->err, code, GB_BLAME_CALLER, "%s: %s",
                   source.data ? source.data : variable->name, what);
}

/* A key goes into a header as it is. */
static int check_key(const struct finder *f, const struct variable *variable)
{
    if (strlen(variable->value) > SECRET_MAX)
        return fail_at(f, variable, -EINVAL, "is too long to be a key");
    for (const char *at = variable->value; *at; at++)
        if ((unsigned char)*at <= ' ' || (unsigned char)*at >= 0x7f)
            return fail_at(f, variable, -EINVAL,
                           "holds a blank, a line break or another character that no key has");
    return 0;
}

static int add(const struct finder *f, const struct variable *variable)
{
    struct secrets *secrets = f->secrets;
    int r = variable->is_key ? check_key(f, variable) : 0;

    if (r < 0)
        return r;
    secrets->variables[secrets->n_variables++] = *variable;
    if (variable->is_key && strlen(variable->value) >= SECRET_MIN)
        secrets->values[secrets->n_values++] = variable->value;
    return 0;
}

/* ---- files ---------------------------------------------------------------------------------- */

/* The whole file without the line break that editors and echo leave at its end. */
static int read_secret(const struct finder *f, struct variable *variable)
{
    cleanup_buf struct buf text = BUF_INIT(CONF_FILE_MAX);
    int r = conf_file_read(variable->file, false, &text, f->err);
    char *contents;

    if (r == 0)
        r = gb_fail(f->err, -ENOENT, GB_BLAME_CALLER, "%.200s: there is no such file",
                    variable->file);
    if (r < 0)
        return gb_wrap(f->err, r, "%s_FILE", variable->name);
    while (text.len && (text.data[text.len - 1] == '\n' || text.data[text.len - 1] == '\r'))
        text.data[--text.len] = '\0';
    if (text.len == 0)
        return fail_at(f, variable, -EINVAL, "the file is empty");
    if (memchr(text.data, '\0', text.len))
        return fail_at(f, variable, -EINVAL, "the file holds a NUL byte");
    contents = strdup(text.data);
    if (!contents)
        return gb_no_memory(f->err);
    f->secrets->contents[f->secrets->n_contents++] = contents;
    variable->value = contents;
    return 0;
}

/* ---- one name ------------------------------------------------------------------------------- */

static int find_outside(const struct finder *f, const char *name, bool is_key, bool *ret_is_named)
{
    char file_name[NAME_LEN_MAX + 8];
    const char *value = environment_get(f->env, name);
    struct variable variable = {
        .name = name,
        .value = value,
        .origin.kind = ORIGIN_ENVIRONMENT,
        .is_key = is_key,
    };
    int r = 0;

    (void)snprintf(file_name, sizeof(file_name), "%s_FILE", name);
    variable.file = environment_get(f->env, file_name);
    *ret_is_named = value || variable.file;
    if (value && *value)
        variable.file = NULL;
    else if (variable.file && *variable.file)
        r = read_secret(f, &variable);
    else
        return 0;
    return r == 0 && variable.value ? add(f, &variable) : r;
}

static int find_in_dotenv(const struct finder *f, const char *name, bool is_key, bool is_hidden)
{
    const struct dotenv *dotenv = &f->settings->dotenv;
    struct variable variable = {
        .name = name,
        .origin = f->settings->dotenv_origin,
        .is_key = is_key,
        .is_hidden = is_hidden,
    };

    for (size_t i = 0; i < dotenv->n_lines; i++)
        if (strcmp(dotenv->lines[i].name, name) == 0 && *dotenv->lines[i].value) {
            variable.value = dotenv->lines[i].value;
            variable.origin.line = dotenv->lines[i].line;
        }
    return variable.value ? add(f, &variable) : 0;
}

static int find(const struct finder *f, const char *name, bool is_key)
{
    bool is_named = false;
    int r;

    if (!name)
        return 0;
    if (strlen(name) > NAME_LEN_MAX || f->secrets->n_variables + 2 > VARIABLES_MAX ||
        f->secrets->n_contents == NAMES_MAX)
        return gb_fail(f->err, -EOVERFLOW, GB_BLAME_BUG, "too many variables of servers");
    r = find_outside(f, name, is_key, &is_named);
    return r < 0 ? r : find_in_dotenv(f, name, is_key, is_named);
}

static int find_provider(const struct finder *f, const struct provider *provider)
{
    const struct provider_header *header;
    int r = find(f, provider->base_env, false);

    for (size_t k = 0; r == 0 && k < PROVIDER_KEYS_MAX; k++)
        r = find(f, provider->key_env[k], true);
    for (size_t k = 0; r == 0 && (header = provider_header_at(provider, k)); k++)
        r = find(f, header->env, true);
    return r;
}

int secrets_load(const struct settings *settings, char *const *env, struct secrets **ret,
                 struct gb_err *err)
{
    cleanup_secrets struct secrets *secrets = calloc(1, sizeof(*secrets));
    const struct finder f = { secrets, settings, env, err };
    int r = 0;

    if (!secrets)
        return gb_no_memory(err);
    for (size_t i = 0; r == 0 && provider_at(i); i++)
        r = find_provider(&f, provider_at(i));
    for (size_t i = 0; r == 0 && search_server_at(i); i++) {
        r = find(&f, search_server_at(i)->key_env, true);
        if (r == 0)
            r = find(&f, search_server_at(i)->base_env, false);
    }
    if (r < 0)
        return r;
    *ret = take_ptr(secrets);
    return 0;
}

void secrets_free(struct secrets **secrets)
{
    if (!*secrets)
        return;
    for (size_t i = 0; i < (*secrets)->n_contents; i++)
        free((*secrets)->contents[i]);
    free(*secrets);
    *secrets = NULL;
}

/* ---- looking up ----------------------------------------------------------------------------- */

const struct variable *secrets_get(const struct secrets *secrets, const char *name)
{
    for (size_t i = 0; i < secrets->n_variables; i++)
        if (!secrets->variables[i].is_hidden && strcmp(secrets->variables[i].name, name) == 0)
            return &secrets->variables[i];
    return NULL;
}

const struct variable *secrets_get_dotenv(const struct secrets *secrets, const char *name)
{
    for (size_t i = 0; i < secrets->n_variables; i++)
        if (secrets->variables[i].origin.kind == ORIGIN_DOTENV &&
            strcmp(secrets->variables[i].name, name) == 0)
            return &secrets->variables[i];
    return NULL;
}

const char *const *secrets_values(const struct secrets *secrets)
{
    return secrets->values;
}
