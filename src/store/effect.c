/* SPDX-License-Identifier: Apache-2.0 */
/* store/effect.c - the rows of effects. */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "store/db.h"
#include "store/digest.h"
#include "store/inside.h"
#include "store/store.h"

/* The columns of an effect. */
enum {
    COLUMN_SEQ,
    COLUMN_NAME,
    COLUMN_DIGEST,
    COLUMN_OUTPUT,
    COLUMN_AT_MS,
};

bool store_effect_name_is_valid(const char *name)
{
    size_t len = 0;

    for (; name[len]; len++)
        if (len == STORE_NAME_MAX || name[len] <= ' ' || name[len] >= 0x7f)
            return false;
    return len > 0;
}

static int read_row(struct store *store, unsigned query, struct store_effect *ret,
                    struct gb_err *err)
{
    struct db *db = store->db;
    int r = db_column_copy(db, query, COLUMN_NAME, &ret->name, NULL, err);

    if (r == 0)
        r = db_column_copy(db, query, COLUMN_DIGEST, &ret->digest, NULL, err);
    if (r == 0)
        r = db_column_copy(db, query, COLUMN_OUTPUT, &ret->output, &ret->output_len, err);
    if (r < 0)
        return r;
    ret->at_ms = db_column_int(db, query, COLUMN_AT_MS);
    ret->seq = db_column_int(db, query, COLUMN_SEQ);
    if (!ret->name || !store_effect_name_is_valid(ret->name) || !ret->digest ||
        !digest_is_valid(ret->digest) || !ret->output || ret->output_len > STORE_OUTPUT_MAX)
        return db_damaged(db, "an effect makes no sense", err);
    return 0;
}

/* One row of a query, if there is one: 1. */
static int read_one(struct store *store, unsigned query, const struct db_arg *args,
                    struct store_effect *ret, struct gb_err *err)
{
    int r = db_begin(store->db, query, args, err);

    if (r == 0)
        r = db_step(store->db, query, err);
    if (r == 1) {
        int failed = read_row(store, query, ret, err);

        if (failed < 0) {
            store_effect_clear(ret);
            r = failed;
        }
    }
    db_end(store->db, query);
    return r;
}

int store_effect_get(struct store *store, const char *task, const char *name,
                     struct store_effect *ret, struct gb_err *err)
{
    struct store_effect effect = { 0 };
    int r = store_check_id(task, err);

    if (r == 0)
        r = read_one(store, QUERY_EFFECT_GET,
                     (const struct db_arg[]){ db_text(task), db_text(name), { DB_END } }, &effect,
                     err);
    if (r == 1)
        *ret = effect;
    return r < 0 ? gb_wrap(err, r, "effect '%s'", name) : r;
}

static int check(const struct store_effect *effect, struct gb_err *err)
{
    if (!store_effect_name_is_valid(effect->name))
        return gb_fail(err, -EINVAL, GB_BLAME_BUG, "'%.40s' is no name for an effect",
                       effect->name);
    if (!digest_is_valid(effect->digest))
        return gb_fail(err, -EINVAL, GB_BLAME_BUG, "effect '%s' has no digest", effect->name);
    if (effect->output_len > STORE_OUTPUT_MAX)
        return gb_fail(err, -EMSGSIZE, GB_BLAME_PEER, "effect '%s' has more than %u bytes",
                       effect->name, (unsigned)STORE_OUTPUT_MAX);
    return 0;
}

int store_effect_put(struct store *store, const char *task, const struct store_effect *effect,
                     struct gb_err *err)
{
    int r = store_check_id(task, err);

    if (r == 0)
        r = check(effect, err);
    if (r < 0)
        return r;
    r = db_change(store->db, QUERY_EFFECT_PUT,
                  (const struct db_arg[]){
                      db_text(task),
                      db_text(effect->name),
                      db_text(effect->digest),
                      db_blob(effect->output, effect->output_len),
                      db_int(store_now_ms()),
                      { DB_END },
                  },
                  err);
    if (r == -EEXIST)
        return gb_fail(err, r, GB_BLAME_BUG, "effect '%s' was done before", effect->name);
    if (r == -ENOENT)
        return gb_fail(err, r, GB_BLAME_CALLER, "there is no task '%s'", task);
    return r < 0 ? gb_wrap(err, r, "effect '%s'", effect->name) : 0;
}

void store_effect_clear(struct store_effect *effect)
{
    free(effect->name);
    free(effect->digest);
    free(effect->output);
    *effect = (struct store_effect){ 0 };
}

int store_effect_each(struct store *store, const char *task,
                      int (*each)(void *user, const struct store_effect *effect), void *user,
                      struct gb_err *err)
{
    uint64_t seq = 0;
    int r = store_check_id(task, err);

    while (r == 0) {
        struct store_effect effect = { 0 };

        r = read_one(store, QUERY_EFFECT_NEXT,
                     (const struct db_arg[]){ db_text(task), db_int(seq), { DB_END } }, &effect,
                     err);
        if (r <= 0)
            return r;
        seq = effect.seq;
        r = each(user, &effect);
        store_effect_clear(&effect);
    }
    return r;
}

int store_effect_last(struct store *store, const char *task, uint64_t *ret, struct gb_err *err)
{
    int r = store_check_id(task, err);

    if (r == 0)
        r = db_begin(store->db, QUERY_EFFECT_LAST,
                     (const struct db_arg[]){ db_text(task), { DB_END } }, err);
    if (r < 0)
        return r;
    r = db_step(store->db, QUERY_EFFECT_LAST, err);
    if (r == 1)
        *ret = db_column_int(store->db, QUERY_EFFECT_LAST, 0);
    db_end(store->db, QUERY_EFFECT_LAST);
    return r < 0 ? gb_wrap(err, r, "the effects of task '%s'", task) : 0;
}
