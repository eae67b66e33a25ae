/* SPDX-License-Identifier: Apache-2.0 */
/* model/providers.h - who offers chat models, and which of them this user has set up.
 *
 * Rows of providers.def; everything here is pure.  Variables are read through a callback, because
 * only conf/ knows the environment, .env files and secrets kept in files.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gb_err;

enum provider_wire {
    PROVIDER_OPENAI,
    PROVIDER_ANTHROPIC,
    PROVIDER_OLLAMA,
};

enum provider_flags {
    PROVIDER_TEMPERATURE = 1 << 0,  /* takes a temperature */
    PROVIDER_SEED = 1 << 1,         /* takes a seed */
    PROVIDER_NEW_MAX = 1 << 2,      /* max_completion_tokens; else max_tokens */
    PROVIDER_SCHEMA = 1 << 3,       /* makes JSON of a schema by its own means */
    PROVIDER_USAGE_OPTION = 1 << 4, /* tells the usage of a stream when asked to */
    PROVIDER_PREFILL = 1 << 5,      /* goes on from an assistant's message at the end */
    PROVIDER_THINK_TAGS = 1 << 6,   /* reasoning may stand in <think> before the text */
    PROVIDER_KEYLESS = 1 << 7,      /* works without a key */
    PROVIDER_LOCAL = 1 << 8, /* on this machine as a rule; costs nothing; names are its own */
    PROVIDER_TELLS = 1 << 9, /* says how many tokens a model takes in (model/window.h) */
};

#define PROVIDER_KEYS_MAX    2
#define PROVIDER_HEADERS_MAX 2

/* What goes out with the key: the account that is to pay, and the like. */
struct provider_header {
    const char *env;
    const char *name; /* of the header */
};

struct provider {
    const char *name;
    enum provider_wire wire;
    unsigned flags;
    const char *key_env[PROVIDER_KEYS_MAX]; /* in order; the second may be NULL */
    const char *base_env;
    const char *base_url; /* NULL: must be given */
    const char *model;    /* unless named; NULL: the first that the server lists */
    uint64_t context;     /* tokens, of a model of which nothing is known */
    const char *remedy;   /* for an error: it cannot be reached */
};

const struct provider *provider_by_name(const char *name); /* NULL */
const struct provider *provider_at(size_t n);              /* NULL behind the last */

/* NULL behind the last; there are at most PROVIDER_HEADERS_MAX. */
const struct provider_header *provider_header_at(const struct provider *provider, size_t n);

/* The value of a variable; NULL or "" when it is not set. */
typedef const char *(*provider_lookup)(void *user, const char *name);

/* What the user's variables say; strings are the callback's or the table's. */
struct provider_choice {
    const struct provider *provider;
    const char *key;      /* NULL: none */
    const char *key_env;  /* where it came from; NULL: nowhere */
    bool key_is_token;    /* a bearer token where others send an API key (Anthropic) */
    const char *base_url; /* as given; NULL: the provider's */
};

/* The first provider that has a key, or whose base URL is given.  False: none; a local server may
 * still be found (model_probe_local()). */
bool provider_choose(provider_lookup lookup, void *user, struct provider_choice *ret);

/* The same for one provider; is it set up? */
bool provider_gather(const struct provider *provider, provider_lookup lookup, void *user,
                     struct provider_choice *ret);

/* "groq/openai/gpt-oss-120b": the provider, and what follows the slash in *ret_model.  Without the
 * name of a provider (or "scripted") before the first slash: NULL, and *ret_model is the text.
 * *ret_is_scripted may be NULL. */
const struct provider *provider_split(const char *text, const char **ret_model,
                                      bool *ret_is_scripted);

/* The base URL without a slash at its end.  given NULL or "": the provider's own.  Local ones may
 * be written as Ollama's variable allows: "host", ":port", "host:port".  -EINVAL for anything but
 * http and https, for user names, queries and blanks: the error says which. */
#define PROVIDER_URL_MAX 512
int provider_base_url(const struct provider *provider, const char *given,
                      char url[static PROVIDER_URL_MAX], struct gb_err *err);
