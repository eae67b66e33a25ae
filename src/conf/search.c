/* SPDX-License-Identifier: Apache-2.0 */
/* conf/search.c - which search server a task may ask, and with which key. */
#include "conf/search.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "conf/endpoint.h"
#include "conf/secrets.h"
#include "conf/settings.h"
#include "net/url.h"

static const char *const names[] = { [SEARCH_TAVILY] = "tavily", [SEARCH_SEARXNG] = "searxng" };

static int refuse(const struct variable *address, struct gb_err *err)
{
    cleanup_buf struct buf source = BUF_INIT(65536);

    (void)variable_source(address, &source);
    return gb_fail(err, -EPERM, GB_BLAME_CALLER,
                   "%.150s: %s: a project's file may send searches elsewhere only with a key of "
                   "the same file; yours do not go there\n"
                   "remedy: read it, and if you trust it: glovebox config trust .",
                   source.data ? source.data : "", address->name);
}

static const struct variable *key_for(const struct secrets *secrets,
                                      const struct search_server *server, bool is_strangers)
{
    if (!server->key_env)
        return NULL;
    return is_strangers ? secrets_get_dotenv(secrets, server->key_env)
                        : secrets_get(secrets, server->key_env);
}

/* 1 when the server is set up. */
static int settle(const struct settings *settings, const struct secrets *secrets,
                  const struct search_server *server, struct search_spec *ret, struct gb_err *err)
{
    const struct variable *address = secrets_get(secrets, server->base_env);
    bool is_strangers = address && address->origin.is_untrusted;
    const struct variable *key;

    *ret = (struct search_spec){ .server = server };
    /* The setting is for a server that has no address of its own. */
    if (!server->base_url && settings->set[KEY_SEARCH_URL].value.text) {
        ret->base_url = settings->set[KEY_SEARCH_URL].value.text;
        is_strangers = false;
    } else if (address) {
        ret->base_url = address->value;
    }
    key = key_for(secrets, server, is_strangers);
    if (is_strangers && !key && !url_is_here(address->value))
        return refuse(address, err);
    ret->key = key ? key->value : NULL;
    return server->key_env ? key != NULL : ret->base_url != NULL;
}

static int fail_missing(const struct search_server *server, struct gb_err *err)
{
    return gb_fail(err, -ENOKEY, GB_BLAME_CALLER,
                   "search with %s is asked for, and it is not set up\nremedy: set %s",
                   server->name, server->key_env ? server->key_env : server->base_env);
}

int search_choose(const struct settings *settings, const struct secrets *secrets, char *const *env,
                  struct search_spec *ret, struct gb_err *err)
{
    enum search_choice choice = (enum search_choice)settings->set[KEY_SEARCH].value.number;
    int r = 0;

    if (choice == SEARCH_NONE)
        return 0;
    for (size_t i = 0; r == 0 && search_server_at(i); i++) {
        const struct search_server *server = search_server_at(i);

        if (choice != SEARCH_AUTO && strcmp(names[choice], server->name) != 0)
            continue;
        r = settle(settings, secrets, server, ret, err);
        if (r == 0 && choice != SEARCH_AUTO)
            return fail_missing(server, err);
    }
    if (r == 1) {
        const char *url = ret->base_url ? ret->base_url : ret->server->base_url;

        ret->proxy = endpoint_proxy(env, url);
        ret->ca_file = endpoint_ca_file(env);
    }
    return r;
}
