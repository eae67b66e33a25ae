/* SPDX-License-Identifier: Apache-2.0 */
/* conf/models.c - choosing models, their addresses and their keys. */
#include "conf/models.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "conf/endpoint.h"
#include "conf/file.h"
#include "conf/nearest.h"
#include "conf/secrets.h"
#include "conf/settings.h"
#include "model/prices.h"
#include "net/url.h"

#define REMEDY_TRUST "\nremedy: read it, and if you trust it: glovebox config trust ."
#define COMPATIBLE   "openai-compatible"

static const struct {
    const char *name;
    enum key_id key;
    enum key_id context;
} roles[N_MODELS_ROLES] = {
    [MODELS_ORCHESTRATOR] = { "orchestrator", KEY_MODEL_ORCHESTRATOR, KEY_CONTEXT_ORCHESTRATOR },
    [MODELS_CODER] = { "coder", KEY_MODEL_CODER, KEY_CONTEXT_CODER },
    [MODELS_TESTER] = { "tester", KEY_MODEL_TESTER, KEY_CONTEXT_TESTER },
};

/* What is worked out once for all roles. */
struct chooser {
    const struct models_input *input;
    struct models *models;
    const struct provider *base_provider; /* whom base_url is meant for; NULL: there is none */
    const struct provider *usual;         /* of models without a provider; NULL: not yet known */
    char usual_why[MODELS_TEXT_MAX];
    struct gb_err *err;
};

const char *models_role_name(enum models_role role)
{
    return roles[role].name;
}

static const struct setting *setting_of(const struct chooser *c, enum key_id id)
{
    return &c->input->settings->set[id];
}

static void put_origin(const struct chooser *c, enum key_id id, char text[static MODELS_TEXT_MAX])
{
    cleanup_buf struct buf origin = BUF_INIT(65536);

    (void)origin_text(&setting_of(c, id)->origin, key_at(id), &origin);
    (void)snprintf(text, MODELS_TEXT_MAX, "%s", origin.data ? origin.data : key_at(id)->name);
}

static void put_source(const struct variable *variable, char text[static MODELS_TEXT_MAX])
{
    cleanup_buf struct buf source = BUF_INIT(65536);

    (void)variable_source(variable, &source);
    (void)snprintf(text, MODELS_TEXT_MAX, "%s", source.data ? source.data : variable->name);
}

/* ---- address and key ------------------------------------------------------------------------ */

/* Where an address comes from; all 0: it is the provider's own. */
struct address {
    const char *text;
    const char *name; /* of the variable or the setting */
    struct origin origin;
};

static struct address find_address(const struct chooser *c, const struct provider *provider,
                                   struct model_choice *choice)
{
    const struct setting *base = setting_of(c, KEY_BASE_URL);
    const struct variable *variable = secrets_get(c->input->secrets, provider->base_env);

    if (base->value.text && provider == c->base_provider) {
        put_origin(c, KEY_BASE_URL, choice->url_from);
        return (struct address){ base->value.text, key_at(KEY_BASE_URL)->name, base->origin };
    }
    if (!variable)
        return (struct address){ 0 };
    put_source(variable, choice->url_from);
    return (struct address){ variable->value, variable->name, variable->origin };
}

/* An address that a project's file names is asked with that file's own key or with none. */
static const struct variable *get_for(const struct chooser *c, const struct address *address,
                                      const char *name)
{
    if (!address->origin.is_untrusted)
        return secrets_get(c->input->secrets, name);
    return address->origin.kind == ORIGIN_DOTENV ? secrets_get_dotenv(c->input->secrets, name)
                                                 : NULL;
}

static const struct variable *find_key(const struct chooser *c, const struct provider *provider,
                                       const struct address *address, struct model_choice *choice)
{
    for (size_t i = 0; i < PROVIDER_KEYS_MAX && provider->key_env[i]; i++) {
        const char *name = provider->key_env[i];
        const struct variable *key = get_for(c, address, name);

        if (!key)
            continue;
        put_source(key, choice->key_from);
        choice->spec.key = key->value;
        choice->spec.key_is_token = provider->wire == PROVIDER_ANTHROPIC && i > 0;
        return key;
    }
    return NULL;
}

/* Who pays: as little as the key does it go where a project's file says, and a project's file does
 * not say it of the user's key. */
static void find_extra(const struct chooser *c, const struct provider *provider,
                       const struct address *address, const struct variable *key,
                       struct model_choice *choice)
{
    const struct provider_header *header;

    for (size_t i = 0; (header = provider_header_at(provider, i)); i++) {
        const struct variable *value = get_for(c, address, header->env);

        bool is_of_key = value && key && value->origin.is_untrusted == key->origin.is_untrusted;

        choice->spec.extra[i] = is_of_key ? value->value : NULL;
    }
}

static int refuse_address(const struct chooser *c, const struct address *address,
                          const struct model_choice *choice)
{
    return gb_fail(c->err, -EPERM, GB_BLAME_CALLER,
                   "%.150s: %s: a project's file may send models to %.100s only with a key of the "
                   "same file; yours do not go there" REMEDY_TRUST,
                   choice->url_from, address->name, choice->base_url);
}

/* Fills address and key; 1 when the provider is set up. */
static int settle(const struct chooser *c, const struct provider *provider,
                  struct model_choice *choice)
{
    const struct address address = find_address(c, provider, choice);
    const struct variable *key;
    int r;

    choice->spec.provider = provider->name;
    if (!address.text && !provider->base_url)
        return 0;
    r = provider_base_url(provider, address.text, choice->base_url, c->err);
    if (r < 0)
        return gb_wrap(c->err, r, "%.150s", choice->url_from);
    key = find_key(c, provider, &address, choice);
    find_extra(c, provider, &address, key, choice);
    if (address.origin.is_untrusted && !key && !url_is_here(choice->base_url))
        return refuse_address(c, &address, choice);
    if (address.text)
        choice->spec.base_url = choice->base_url;
    choice->spec.proxy = endpoint_proxy(c->input->env, choice->base_url);
    choice->spec.ca_file = endpoint_ca_file(c->input->env);
    return address.text || (key && !(provider->flags & PROVIDER_LOCAL));
}

/* ---- which provider ------------------------------------------------------------------------- */

static const char *look_up(void *user, const char *name)
{
    const struct chooser *c = user;
    const struct variable *variable = secrets_get(c->input->secrets, name);

    return variable ? variable->value : NULL;
}

/* Whose address base_url is.  A provider's name that came with a project must not lead a key to an
 * address that the user gave for something else. */
static int find_base_provider(struct chooser *c)
{
    const struct setting *base = setting_of(c, KEY_BASE_URL);
    const struct setting *model = setting_of(c, KEY_MODEL);
    const struct provider *named = NULL;
    const char *unused;

    if (model->value.text)
        named = provider_split(model->value.text, &unused, NULL);
    put_origin(c, named ? KEY_MODEL : KEY_BASE_URL, c->usual_why);
    if (base->value.text && named && model->origin.is_untrusted && !base->origin.is_untrusted)
        return gb_fail(c->err, -EPERM, GB_BLAME_CALLER,
                       "%.150s: a project's file names the provider %s, and your base_url was not "
                       "meant for it\nremedy: say which you mean: --model %.100s",
                       c->usual_why, named->name, model->value.text);
    if (base->value.text)
        c->base_provider = named ? named : provider_by_name(COMPATIBLE);
    c->usual = base->value.text ? c->base_provider : named;
    return 0;
}

static int fail_nothing(const struct chooser *c)
{
    cleanup_buf struct buf names = BUF_INIT(512);

    for (size_t i = 0; provider_at(i); i++)
        if (!(provider_at(i)->flags & PROVIDER_LOCAL) && provider_at(i)->key_env[0])
            (void)buf_printf(&names, "%s%s", names.len ? ", " : "", provider_at(i)->key_env[0]);
    return gb_fail(c->err, -ENOENT, GB_BLAME_CALLER,
                   "no model is set up, and no server on this machine has one\n"
                   "remedy: set one of %s, here or in .env; or start ollama or llama-server; or "
                   "say --base-url URL",
                   names.data ? names.data : "the keys");
}

/* The provider of a model that names none. */
static int find_usual(struct chooser *c)
{
    struct models *models = c->models;
    struct provider_choice found;
    int r;

    if (c->usual)
        return 0;
    if (provider_choose(look_up, c, &found)) {
        c->usual = found.provider;
        (void)snprintf(c->usual_why, sizeof(c->usual_why), "%s is set",
                       found.key_env ? found.key_env : found.provider->base_env);
        return 0;
    }
    r = c->input->probe(look_up, c, &models->local, c->err);
    if (r < 0)
        return r;
    if (r == 0)
        return fail_nothing(c);
    c->usual = models->local.provider;
    (void)snprintf(c->usual_why, sizeof(c->usual_why), "it answers at %.200s",
                   models->local.base_url);
    return 0;
}

/* ---- one role ------------------------------------------------------------------------------- */

static int fail_unknown_provider(const struct chooser *c, const char *name, const char *meant)
{
    cleanup_buf struct buf names = BUF_INIT(512);

    for (size_t i = 0; provider_at(i); i++)
        (void)buf_printf(&names, "%s%s", i ? ", " : "", provider_at(i)->name);
    if (meant)
        return gb_fail(c->err, -EINVAL, GB_BLAME_CALLER,
                       "no provider is named '%.60s', did you mean '%s'?", name, meant);
    return gb_fail(c->err, -EINVAL, GB_BLAME_CALLER,
                   "no provider is named '%.60s'\nremedy: name one of %s before the model", name,
                   names.data ? names.data : "them");
}

/* "qwen/qwen3" is the name of a model where models have such names; elsewhere a slip. */
static int check_bare_name(const struct chooser *c, const char *text)
{
    cleanup_free char *before = strndup(text, strcspn(text, "/"));
    struct nearest near = { .text = before };

    if (!strchr(text, '/') || !before)
        return 0;
    for (size_t i = 0; provider_at(i); i++)
        nearest_offer(&near, provider_at(i)->name);
    if (!nearest_best(&near) && (!c->usual->model || strchr(c->usual->model, '/')))
        return 0;
    return fail_unknown_provider(c, before, nearest_best(&near));
}

static int check_key(const struct chooser *c, const struct provider *provider,
                     const struct model_choice *choice)
{
    if (choice->spec.key || choice->spec.base_url || provider->flags & PROVIDER_LOCAL)
        return 0;
    return gb_fail(c->err, -ENOKEY, GB_BLAME_CALLER,
                   "%.100s: there is no key for %s\nremedy: set %s, here or in .env, or %s_FILE",
                   choice->why, provider->name, provider->key_env[0], provider->key_env[0]);
}

static int settle_role(const struct chooser *c, const struct provider *provider,
                       struct model_choice *choice)
{
    const struct model_local *local = &c->models->local;
    int r = settle(c, provider, choice);

    if (r < 0)
        return r;
    if (!choice->base_url[0])
        return gb_fail(c->err, -EINVAL, GB_BLAME_CALLER,
                       "%.100s: where is %s to be asked?\nremedy: say --base-url URL or set %s",
                       choice->why, provider->name, provider->base_env);
    if (local->provider == provider && strcmp(local->base_url, choice->base_url) == 0)
        choice->spec.name = choice->spec.name ? choice->spec.name : local->model;
    return check_key(c, provider, choice);
}

static int choose_scripted(const struct chooser *c, enum key_id id, const char *path,
                           struct model_choice *choice)
{
    if (setting_of(c, id)->origin.is_untrusted)
        return gb_fail(c->err, -EPERM, GB_BLAME_CALLER,
                       "%.150s: a project's file may not name a script" REMEDY_TRUST, choice->why);
    choice->spec.provider = "scripted";
    choice->spec.name = path;
    return 0;
}

/* There is nobody who could know a model of this name. */
static int fail_bare_name(const struct chooser *c, const char *text)
{
    cleanup_free char *before = strndup(text, strcspn(text, "/"));
    struct nearest near = { .text = before };

    if (!before)
        return gb_fail(c->err, -ENOMEM, GB_BLAME_HOST, "no memory for the name of a model");
    if (!strchr(text, '/'))
        return gb_fail(c->err, -ENOENT, GB_BLAME_CALLER,
                       "'%.60s' names no provider, and none is set up\n"
                       "remedy: say PROVIDER/%.60s; 'glovebox models' lists the providers",
                       text, text);
    for (size_t i = 0; provider_at(i); i++)
        nearest_offer(&near, provider_at(i)->name);
    return fail_unknown_provider(c, before, nearest_best(&near));
}

/* A model that names no provider, or none at all (text is NULL). */
static int choose_usual(struct chooser *c, const char *text, struct model_choice *choice)
{
    int r = find_usual(c);

    if (r == -ENOENT && text)
        r = fail_bare_name(c, text);
    if (r == 0 && text)
        r = check_bare_name(c, text);
    if (r < 0)
        return text ? gb_wrap(c->err, r, "%.100s", choice->why) : r;
    if (!text)
        (void)snprintf(choice->why, sizeof(choice->why), "%s", c->usual_why);
    return settle_role(c, c->usual, choice);
}

/* id is the setting that counts for the role; it may say nothing. */
static int choose_role(struct chooser *c, enum key_id id, struct model_choice *choice)
{
    const char *text = setting_of(c, id)->value.text;
    const struct provider *provider = NULL;
    bool is_scripted = false;

    if (text) {
        provider = provider_split(text, &choice->spec.name, &is_scripted);
        put_origin(c, id, choice->why);
    }
    if (is_scripted)
        return choose_scripted(c, id, choice->spec.name, choice);
    return provider ? settle_role(c, provider, choice) : choose_usual(c, text, choice);
}

/* What was said in a stronger layer counts; in the same one, what was said of the role. */
static enum key_id stronger(const struct chooser *c, enum key_id own_key, enum key_id all_key)
{
    const struct setting *own = setting_of(c, own_key);
    const struct setting *all = setting_of(c, all_key);
    bool has_own = own->value.text || own->value.number;
    bool has_all = all->value.text || all->value.number;

    return !has_own || (has_all && all->origin.kind > own->origin.kind) ? all_key : own_key;
}

/* A table that is named and cannot be read is an error: a limit of money would not hold. */
static int read_prices(const struct chooser *c)
{
    const char *path = setting_of(c, KEY_PRICES)->value.text;
    cleanup_buf struct buf text = BUF_INIT(PRICE_TABLE_MAX);
    int r;

    if (!path)
        return 0;
    r = conf_file_read(path, false, &text, c->err);
    if (r == 0)
        return gb_fail(c->err, -ENOENT, GB_BLAME_CALLER, "prices: there is no %.300s", path);
    if (r > 0)
        r = price_table_parse(text.data, text.len, &c->models->prices, c->err);
    return r < 0 ? gb_wrap(c->err, r, "prices: %.300s", path) : 0;
}

int models_choose(const struct models_input *input, struct models *models, struct gb_err *err)
{
    struct chooser c = { .input = input, .models = models, .err = err };
    int r = find_base_provider(&c);

    if (r == 0)
        r = read_prices(&c);
    for (enum models_role role = 0; r == 0 && role < N_MODELS_ROLES; role++) {
        struct model_spec *spec = &models->roles[role].spec;
        enum key_id context = stronger(&c, roles[role].context, KEY_CONTEXT);

        r = choose_role(&c, stronger(&c, roles[role].key, KEY_MODEL), &models->roles[role]);
        spec->context = setting_of(&c, context)->value.number;
        spec->prices = models->prices;
    }
    return r;
}

void models_clear(struct models *models)
{
    model_local_clear(&models->local);
    price_table_free(&models->prices);
    *models = (struct models){ 0 };
}

int models_provider(const struct models_input *input, const struct provider *provider,
                    struct model_choice *ret, struct gb_err *err)
{
    struct chooser c = { .input = input, .err = err };
    int r = find_base_provider(&c);

    *ret = (struct model_choice){ 0 };
    return r < 0 ? r : settle(&c, provider, ret);
}
