/* SPDX-License-Identifier: Apache-2.0 */
/* conf/keys.h - the table of settings that keys.def is. */
#pragma once

#include "conf/value.h"

enum key_id {
#define KEY(ID, name, KIND, value, flag, env, arg, RULE, help) KEY_##ID,
#include "conf/keys.def"
#undef KEY
    N_KEYS,
};

/* What a project file may do to a setting.  Such files come with cloned repositories, so they may
 * make a box tighter and nothing else. */
enum key_rule {
    KEY_RULE_MIN,      /* lower the number */
    KEY_RULE_CLOSED,   /* name a backend that is at least as closed */
    KEY_RULE_UNION,    /* add walls */
    KEY_RULE_FREE,     /* set it: no protection depends on it */
    KEY_RULE_ENDPOINT, /* set it for keys of the same file, or on this machine (conf/models.h) */
    KEY_RULE_OPERATOR, /* nothing: naming it is an error */
};

struct key {
    enum key_id id;
    const char *name; /* as in YAML, sections joined by dots */
    enum value_kind kind;
    const char *value; /* the default as one would write it; "" is worked out */
    const char *flag;  /* without the dashes; NULL */
    const char *env;
    const char *arg; /* name of the argument in help */
    enum key_rule rule;
    const char *help;
};

/* Of all N_KEYS. */
const struct key *key_at(enum key_id id);

/* What may be written as the key's value: "1 MiB to 64 TiB, such as 512m or 1.5g". */
#define KEY_ALLOWED_MAX 256
const char *key_allowed(const struct key *key, char text[static KEY_ALLOWED_MAX]);

/* NULL when there is none. */
const struct key *key_by_name(const char *name);
const struct key *key_by_env(const char *env);

/* The rule in a word or two for the manual: "tighten", "add", "set", "own key" or "never". */
const char *key_rule_word(enum key_rule rule);
