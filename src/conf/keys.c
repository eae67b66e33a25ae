/* SPDX-License-Identifier: Apache-2.0 */
/* conf/keys.c - the rows of keys.def, and finding one. */
#include "conf/keys.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

static const struct key keys[N_KEYS] = {
#define KEY(ID, name, KIND, value, flag, env, arg, RULE, help)                      \
    [KEY_##ID] = {                                                                  \
        KEY_##ID, name, VALUE_##KIND, value, flag, env, arg, KEY_RULE_##RULE, help, \
    },
#include "conf/keys.def"
#undef KEY
};

const struct key *key_at(enum key_id id)
{
    assert(id < N_KEYS);
    return &keys[id];
}

const struct key *key_by_name(const char *name)
{
    for (size_t i = 0; i < N_KEYS; i++)
        if (strcmp(keys[i].name, name) == 0)
            return &keys[i];
    return NULL;
}

const struct key *key_by_env(const char *env)
{
    for (size_t i = 0; i < N_KEYS; i++)
        if (strcmp(keys[i].env, env) == 0)
            return &keys[i];
    return NULL;
}

const char *key_rule_word(enum key_rule rule)
{
    static const char *const words[] = {
        [KEY_RULE_MIN] = "tighten", [KEY_RULE_CLOSED] = "tighten",   [KEY_RULE_UNION] = "add",
        [KEY_RULE_FREE] = "set",    [KEY_RULE_ENDPOINT] = "own key", [KEY_RULE_OPERATOR] = "never",
    };

    return words[rule];
}
