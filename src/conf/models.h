/* SPDX-License-Identifier: Apache-2.0 */
/* conf/models.h - which model each role of a task is given, where it is asked, and with which key.
 *
 *    --model  >  GLOVEBOX_MODEL  >  files  >  the first provider that has a key or an address
 *             >  a server on this machine that answers
 *
 * A role's own key (models.coder …) counts unless `model` was said in a stronger layer: --model on
 * the command line is meant for all.  A model without a provider is the provider's of `model`,
 * else the one that would be chosen.  base_url is the address of the provider that `model` names
 * (without one: openai-compatible) and of no other.
 *
 * Invariants, while a project's file is not trusted
 *  1. An address that it names is asked with a key of the same file, else without any key and only
 *     on this machine.  A key of the user's never goes there.
 *  2. A provider that it names gets no address that the user meant for another.
 */
#pragma once

#include <stddef.h>

#include "model/model.h"
#include "model/probe.h"
#include "model/providers.h"

struct gb_err;
struct price_table;
struct secrets;
struct settings;

/* In the order of agent/task.h. */
enum models_role {
    MODELS_ORCHESTRATOR,
    MODELS_CODER,
    MODELS_TESTER,
    N_MODELS_ROLES,
};

const char *models_role_name(enum models_role role);

#define MODELS_TEXT_MAX 256

struct model_choice {
    struct model_spec spec; /* strings are of the settings, the secrets, or of this struct */
    char base_url[PROVIDER_URL_MAX]; /* "" for "scripted" */
    char why[MODELS_TEXT_MAX];       /* "--model", "GROQ_API_KEY is set", … */
    char key_from[MODELS_TEXT_MAX];  /* "GROQ_API_KEY", ".env:3"; "": no key */
    char url_from[MODELS_TEXT_MAX];  /* the same; "": it is the provider's own */
};

struct models {
    struct model_choice roles[N_MODELS_ROLES];
    struct model_local local;   /* what was found on this machine, if it was looked for */
    struct price_table *prices; /* of the user's file; NULL: none */
};

struct models_input {
    const struct settings *settings;
    const struct secrets *secrets;
    char *const *env;
    /* model_probe_local(), or what a test has in its place. */
    int (*probe)(provider_lookup lookup, void *user, struct model_local *ret, struct gb_err *err);
};

/* Chooses for all roles.  The input must outlive what comes of it.  Errors say what to do: nothing
 * is set up (-ENOENT), no key (-ENOKEY), a project's file that may not say that (-EPERM).  The
 * caller owes a models_clear() in any case; models starts as { 0 }. */
int models_choose(const struct models_input *input, struct models *models, struct gb_err *err);
void models_clear(struct models *models);

/* One provider, as it would be asked: 1 when it is set up, 0 when not (ret has its own address all
 * the same), negative when a project's file may not say what it says. */
int models_provider(const struct models_input *input, const struct provider *provider,
                    struct model_choice *ret, struct gb_err *err);
