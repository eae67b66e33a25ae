/* SPDX-License-Identifier: Apache-2.0 */
/* conf/secrets.h - keys of servers, and variables that say where such servers are.
 *
 *    NAME in the environment  >  the file that NAME_FILE in the environment names  >  NAME in .env
 *
 * Which names: those of model/providers.def and net/search.h.  Every value is kept with its source,
 * because a key may not go wherever a project's file says (conf/models.h).  A NAME_FILE in .env is
 * not read: it could name any file of the user's.
 *
 * Invariants
 *  1. No key ever stands in an error, and a key has no byte that could end a header.
 *  2. What is returned lives until secrets_free().
 */
#pragma once

#include <stdbool.h>

#include "base/cleanup.h"
#include "conf/settings.h"

struct buf;
struct gb_err;
struct secrets;

#define SECRET_MAX 16384

/* Shorter ones are no secrets: taking them out of a text would take words out of it. */
#define SECRET_MIN 8

struct variable {
    const char *name;
    const char *value;    /* never empty */
    const char *file;     /* that NAME_FILE names; NULL */
    struct origin origin; /* ORIGIN_ENVIRONMENT or ORIGIN_DOTENV */
    bool is_key;
    bool is_hidden; /* the environment speaks of that name too */
};

/* The settings lend their .env and must outlive it.  A file that cannot be read and a key with
 * blanks or control characters are errors that name the variable. */
int secrets_load(const struct settings *settings, char *const *env, struct secrets **ret,
                 struct gb_err *err);
void secrets_free(struct secrets **secrets);

#define cleanup_secrets cleanup_with(secrets_free)

/* What counts; NULL when it is not set. */
const struct variable *secrets_get(const struct secrets *secrets, const char *name);

/* What .env says of it, whatever the environment says. */
const struct variable *secrets_get_dotenv(const struct secrets *secrets, const char *name);

/* "OPENAI_API_KEY", "OPENAI_API_KEY_FILE", ".env:3". */
int variable_source(const struct variable *variable, struct buf *ret);

/* All keys that were found, hidden ones too, of at least SECRET_MIN bytes; NULL-terminated. */
const char *const *secrets_values(const struct secrets *secrets);
