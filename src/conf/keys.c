/* SPDX-License-Identifier: Apache-2.0 */
/* conf/keys.c - the rows of keys.def, and finding one. */
#include "conf/keys.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "box/limits.h"

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

/* keys.def begins with the limits. */
static const enum limit limits[] = {
    [KEY_TIMEOUT] = LIMIT_WALL,
    [KEY_CPU_TIME] = LIMIT_CPU_TIME,
    [KEY_MEMORY] = LIMIT_MEMORY,
    [KEY_CPUS] = LIMIT_CPUS,
    [KEY_PIDS] = LIMIT_PIDS,
    [KEY_DISK] = LIMIT_DISK,
    [KEY_INODES] = LIMIT_INODES,
    [KEY_OUTPUT_MAX] = LIMIT_OUTPUT_MAX,
    [KEY_OUTPUT_KEEP] = LIMIT_OUTPUT_KEEP,
};

const char *key_allowed(const struct key *key, char text[static KEY_ALLOWED_MAX])
{
    char range[LIMIT_RANGE_MAX];
    bool is_limit = key->id < sizeof(limits) / sizeof(limits[0]);

    (void)snprintf(text, KEY_ALLOWED_MAX, "%s%s%s",
                   is_limit && key->kind == VALUE_COUNT ? "a whole number, " : "",
                   is_limit ? limit_range(limits[key->id], range) : value_kind_allowed(key->kind),
                   value_kind_example(key->kind));
    return text;
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
