/* SPDX-License-Identifier: Apache-2.0 */
/* model/providers.c - the rows of providers.def, choosing one, and its base URL. */
#include "model/providers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"

/* Flags stand in the table without their prefix. */
enum {
    TEMPERATURE = PROVIDER_TEMPERATURE,
    SEED = PROVIDER_SEED,
    NEW_MAX = PROVIDER_NEW_MAX,
    SCHEMA = PROVIDER_SCHEMA,
    USAGE_OPTION = PROVIDER_USAGE_OPTION,
    PREFILL = PROVIDER_PREFILL,
    THINK_TAGS = PROVIDER_THINK_TAGS,
    KEYLESS = PROVIDER_KEYLESS,
    LOCAL = PROVIDER_LOCAL,
    TELLS = PROVIDER_TELLS,
};

static const struct provider providers[] = {
#define KEYS(...)   \
    {               \
        __VA_ARGS__ \
    }
#define PROVIDER(name, WIRE, flags, keys, base_env, base, model, context, remedy) \
    { name, PROVIDER_##WIRE, flags, keys, base_env, base, model, context, remedy },
#include "model/providers.def"
#undef PROVIDER
#undef KEYS
};

const struct provider *provider_by_name(const char *name)
{
    for (size_t i = 0; i < N_ELEMENTS(providers); i++)
        if (strcmp(providers[i].name, name) == 0)
            return &providers[i];
    return NULL;
}

const struct provider *provider_at(size_t n)
{
    return n < N_ELEMENTS(providers) ? &providers[n] : NULL;
}

const struct provider_header *provider_header_at(const struct provider *provider, size_t n)
{
    static const struct {
        const char *provider;
        struct provider_header header;
    } rows[] = {
        { "openai", { "OPENAI_ORG_ID", "OpenAI-Organization" } },
        { "openai", { "OPENAI_PROJECT_ID", "OpenAI-Project" } },
    };

    for (size_t i = 0; i < N_ELEMENTS(rows); i++)
        if (strcmp(rows[i].provider, provider->name) == 0 && n-- == 0)
            return &rows[i].header;
    return NULL;
}

/* ---- choosing ------------------------------------------------------------------------------- */

static const char *value_of(provider_lookup lookup, void *user, const char *name)
{
    const char *value = name ? lookup(user, name) : NULL;

    return value && value[0] ? value : NULL;
}

bool provider_gather(const struct provider *provider, provider_lookup lookup, void *user,
                     struct provider_choice *ret)
{
    *ret = (struct provider_choice){ .provider = provider };
    for (size_t i = 0; i < PROVIDER_KEYS_MAX && !ret->key; i++) {
        ret->key = value_of(lookup, user, provider->key_env[i]);
        if (!ret->key)
            continue;
        ret->key_env = provider->key_env[i];
        ret->key_is_token = provider->wire == PROVIDER_ANTHROPIC && i > 0;
    }
    ret->base_url = value_of(lookup, user, provider->base_env);
    /* Ollama's own key is for its cloud; it does not say that a server is meant to be here. */
    return ret->base_url || (ret->key && provider->base_url && !(provider->flags & PROVIDER_LOCAL));
}

bool provider_choose(provider_lookup lookup, void *user, struct provider_choice *ret)
{
    for (size_t i = 0; i < N_ELEMENTS(providers); i++)
        if (provider_gather(&providers[i], lookup, user, ret))
            return true;
    *ret = (struct provider_choice){ 0 };
    return false;
}

const struct provider *provider_split(const char *text, const char **ret_model,
                                      bool *ret_is_scripted)
{
    static const char scripted[] = "scripted/";
    size_t len = strcspn(text, "/");
    bool is_scripted = strncmp(text, scripted, strlen(scripted)) == 0;

    if (ret_is_scripted)
        *ret_is_scripted = is_scripted;
    *ret_model = is_scripted ? text + strlen(scripted) : text;
    for (size_t i = 0; text[len] && i < N_ELEMENTS(providers); i++)
        if (strlen(providers[i].name) == len && memcmp(providers[i].name, text, len) == 0) {
            *ret_model = text + len + 1;
            return &providers[i];
        }
    return NULL;
}

/* ---- base URLs ------------------------------------------------------------------------------ */

static int bad_url(const struct provider *provider, const char *why, struct gb_err *err)
{
    return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "the base URL of %s %s", provider->name, why);
}

static int check_url(const struct provider *provider, const char *url, struct gb_err *err)
{
    if (strlen(url) > PROVIDER_URL_MAX / 2)
        return bad_url(provider, "is too long", err);
    for (const char *at = url; *at; at++)
        if ((unsigned char)*at <= ' ' || (unsigned char)*at >= 0x7f || strchr("\\\"<>^`{|}", *at))
            return bad_url(provider, "holds a character that no URL has", err);
    if (strchr(url, '@'))
        return bad_url(provider, "holds a user name; a key goes into its own setting", err);
    if (strpbrk(url, "?#"))
        return bad_url(provider, "holds a query", err);
    return 0;
}

/* Where the port of an authority begins, with its colon; its end when there is none. */
static size_t port_at(const char *authority, size_t len)
{
    size_t i = len;

    while (i > 0 && authority[i - 1] >= '0' && authority[i - 1] <= '9')
        i--;
    return i > 0 && authority[i - 1] == ':' ? i - 1 : len;
}

/* "host", ":port", "host:port" in Ollama's way, as "host:port"; the port missing is that of the
 * provider's own base URL.  0.0.0.0 is an address to listen on, not one to call. */
static void put_short_authority(const struct provider *provider, const char *text, size_t len,
                                char url[static PROVIDER_URL_MAX])
{
    const char *own = provider->base_url ? provider->base_url : "http://127.0.0.1:80";
    const char *own_port = strrchr(own, ':');
    size_t host = port_at(text, len);
    bool is_any = host == 0 || (host == 7 && memcmp(text, "0.0.0.0", 7) == 0);

    (void)snprintf(url, PROVIDER_URL_MAX, "http://%.*s%.*s", is_any ? 9 : (int)host,
                   is_any ? "127.0.0.1" : text,
                   host < len ? (int)(len - host) : (int)strcspn(own_port, "/"),
                   host < len ? text + host : own_port);
}

/* What of a path is the API's: OpenAI's wire has its /v1 in the base URL, the others have not. */
static void settle_path(const struct provider *provider, bool has_path,
                        char url[static PROVIDER_URL_MAX])
{
    size_t len = strlen(url);

    while (len > 0 && url[len - 1] == '/')
        url[--len] = '\0';
    if (provider->wire != PROVIDER_OPENAI && len > 3 && strcmp(url + len - 3, "/v1") == 0)
        url[len - 3] = '\0';
    else if (provider->wire == PROVIDER_OPENAI && provider->flags & PROVIDER_LOCAL && !has_path)
        (void)snprintf(url + len, PROVIDER_URL_MAX - len, "/v1");
}

int provider_base_url(const struct provider *provider, const char *given,
                      char url[static PROVIDER_URL_MAX], struct gb_err *err)
{
    const char *text = given && given[0] ? given : provider->base_url;
    const char *authority;
    size_t len;
    int r;

    if (!text)
        return bad_url(provider, "is missing: there is no usual one", err);
    r = check_url(provider, text, err);
    if (r < 0)
        return r;
    authority = strstr(text, "://");
    if (authority && strncmp(text, "http://", 7) != 0 && strncmp(text, "https://", 8) != 0)
        return bad_url(provider, "must begin with http:// or https://", err);
    if (!authority && !(provider->flags & PROVIDER_LOCAL))
        return bad_url(provider, "must begin with https:// or http://", err);
    authority = authority ? authority + 3 : text;
    len = strcspn(authority, "/");
    if (authority != text && len == 0)
        return bad_url(provider, "has no host", err);
    if (authority == text)
        put_short_authority(provider, text, len, url);
    else
        (void)snprintf(url, PROVIDER_URL_MAX, "%.*s", (int)(authority - text + (ptrdiff_t)len),
                       text);
    (void)snprintf(url + strlen(url), PROVIDER_URL_MAX - strlen(url), "%s", authority + len);
    settle_path(provider, strspn(authority + len, "/") < strlen(authority + len), url);
    return 0;
}
