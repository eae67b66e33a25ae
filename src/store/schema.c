/* SPDX-License-Identifier: Apache-2.0 */
/* store/schema.c - the tables of the store, their versions, and every statement on them.
 *
 * A version is a row of `versions`: what makes it of the one before.  PRAGMA user_version says how
 * far a file has come; it changes in the same transaction as the tables. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "store/db.h"
#include "store/inside.h"

#define STORE_APPLICATION 1198288758 /* "Glov": tells our files from other people's */

/* A rowid never shrinks while later rows exist: it is the order of things put. */
static const char *const versions[] = {
    "CREATE TABLE task ("
    "  seq INTEGER PRIMARY KEY,"
    "  id TEXT NOT NULL UNIQUE,"
    "  objective TEXT NOT NULL,"
    "  options TEXT NOT NULL,"
    "  folder TEXT,"
    "  parent TEXT REFERENCES task (id) ON DELETE SET NULL,"
    "  state TEXT NOT NULL CHECK (state IN ('running', 'waiting', 'done')),"
    "  outcome TEXT,"
    "  created_ms INTEGER NOT NULL,"
    "  changed_ms INTEGER NOT NULL"
    ") STRICT;"
    "CREATE INDEX task_parent ON task (parent);"
    "CREATE TABLE effect ("
    "  seq INTEGER PRIMARY KEY,"
    "  task TEXT NOT NULL REFERENCES task (id) ON DELETE CASCADE,"
    "  name TEXT NOT NULL,"
    "  digest TEXT NOT NULL,"
    "  output BLOB NOT NULL,"
    "  at_ms INTEGER NOT NULL,"
    "  UNIQUE (task, name)"
    ") STRICT;"
    "CREATE INDEX effect_task ON effect (task);"
    "PRAGMA application_id = 1198288758;",
};

#define TASK_COLUMNS \
    "id, objective, options, folder, parent, state, outcome, created_ms, changed_ms"
/* A task that works changes with each effect; nothing is written twice for that. */
#define TASK_READ                                                                            \
    "id, objective, options, folder, parent, state, outcome, created_ms, "                   \
    "max(changed_ms, coalesce((SELECT effect.at_ms FROM effect WHERE effect.task = task.id " \
    "ORDER BY effect.seq DESC LIMIT 1), 0))"
#define EFFECT_COLUMNS "seq, name, digest, output, at_ms"

const char *const store_queries[N_QUERIES] = {
    [QUERY_TASK_NEW] =
        "INSERT INTO task (" TASK_COLUMNS ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    /* No character of an id comes after '~'. */
    [QUERY_TASK_GET] = "SELECT " TASK_READ " FROM task WHERE id BETWEEN ?1 AND ?1 || '~' "
                       "ORDER BY id LIMIT 2",
    [QUERY_TASK_LIST] = "SELECT " TASK_READ " FROM task ORDER BY seq DESC LIMIT ?1",
    [QUERY_TASK_STATE] = "UPDATE task SET state = ?2, outcome = ?3, changed_ms = ?4 WHERE id = ?1",
    [QUERY_TASK_REOPEN] = "UPDATE task SET state = 'running', outcome = NULL, options = ?2, "
                          "changed_ms = ?3 WHERE id = ?1",
    [QUERY_TASK_REMOVE] = "DELETE FROM task WHERE id = ?1",
    [QUERY_EFFECT_PUT] =
        "INSERT INTO effect (task, name, digest, output, at_ms) VALUES (?1, ?2, ?3, ?4, ?5)",
    [QUERY_EFFECT_GET] = "SELECT " EFFECT_COLUMNS " FROM effect WHERE task = ?1 AND name = ?2",
    [QUERY_EFFECT_NEXT] = "SELECT " EFFECT_COLUMNS " FROM effect WHERE task = ?1 AND seq > ?2 "
                          "ORDER BY seq LIMIT 1",
    [QUERY_EFFECT_LAST] = "SELECT coalesce(max(seq), 0) FROM effect WHERE task = ?1",
    [QUERY_EFFECT_CUT] = "DELETE FROM effect WHERE task = ?1 AND seq > ?2",
};

uint64_t store_now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return clock_ns_of(now) / NS_PER_MS;
}

/* Two processes that find the same empty file both hold it while they ask for more; SQLite then
 * tells one of them at once to go away, without the usual wait. */
static int use_log(struct db *db, const char *path, struct gb_err *err)
{
    const struct timespec pause = { .tv_nsec = 5 * NS_PER_MS };
    uint64_t deadline = clock_after_ms(DB_WAIT_MS);
    char mode[16];
    int r;

    while ((r = db_word(db, "PRAGMA journal_mode = WAL", mode, sizeof(mode), err)) == -EBUSY &&
           clock_now_ns() < deadline)
        (void)nanosleep(&pause, NULL);
    if (r == 0 && strcmp(mode, "wal") != 0)
        r = gb_fail(err, -EOPNOTSUPP, GB_BLAME_HOST,
                    "'%s': its file system gives no shared memory; name another state directory",
                    path);
    return r;
}

/* Inside a transaction, in which nobody else changes the version. */
static int bring_up(struct db *db, struct gb_err *err)
{
    char sql[64];
    int64_t version;
    int r = db_number(db, "PRAGMA user_version", &version, err);

    if (r < 0 || version >= (int64_t)N_ELEMENTS(versions))
        return r; /* another process was faster */
    for (; r == 0 && version < (int64_t)N_ELEMENTS(versions); version++)
        r = db_exec(db, versions[version], err);
    if (r < 0)
        return r;
    (void)snprintf(sql, sizeof(sql), "PRAGMA user_version = %zu", N_ELEMENTS(versions));
    return db_exec(db, sql, err);
}

/* The first failure is the one to tell: that of a ROLLBACK only says that there is nothing left to
 * roll back. */
static int in_transaction(struct db *db, const char *begin,
                          int (*work)(struct db *, struct gb_err *), struct gb_err *err)
{
    int r = db_exec(db, begin, err);

    if (r < 0)
        return r;
    r = work(db, err);
    if (r == 0)
        r = db_exec(db, "COMMIT", err);
    if (r < 0)
        (void)db_exec(db, "ROLLBACK", NULL);
    return r;
}

/* What it says of itself must fit together: all of one moment. */
static int is_store(struct db *db, struct gb_err *err)
{
    int64_t version = 0;
    int64_t application = 0;
    int64_t tables = 0;
    int r = db_number(db, "PRAGMA user_version", &version, err);

    if (r == 0)
        r = db_number(db, "PRAGMA application_id", &application, err);
    if (r == 0)
        r = db_number(db, "SELECT count(*) FROM sqlite_schema", &tables, err);
    if (r < 0)
        return r;
    if (application != (tables > 0 ? STORE_APPLICATION : 0) || (tables > 0) != (version > 0))
        return db_damaged(db, "it is not a task store of glovebox", err);
    return 0;
}

static int get_version(struct db *db, const char *path, int64_t *ret, struct gb_err *err)
{
    int r = db_number(db, "PRAGMA user_version", ret, err);

    if (r == 0 && *ret > (int64_t)N_ELEMENTS(versions))
        r = gb_fail(err, -EPROTONOSUPPORT, GB_BLAME_HOST,
                    "'%s' was made by a newer glovebox (its version is %lld, this one knows up to "
                    "%zu): use that glovebox, or another state directory",
                    path, (long long)*ret, N_ELEMENTS(versions));
    return r;
}

int schema_ready(struct db *db, const char *path, struct gb_err *err)
{
    int64_t version;
    int r = in_transaction(db, "BEGIN", is_store, err);

    if (r == 0)
        r = get_version(db, path, &version, err);
    if (r == 0)
        r = db_exec(db,
                    "PRAGMA foreign_keys = ON;"
                    "PRAGMA synchronous = NORMAL;"
                    "PRAGMA temp_store = MEMORY;"
                    "PRAGMA cell_size_check = ON;"
                    "PRAGMA journal_size_limit = 16777216;",
                    err);
    if (r == 0)
        r = use_log(db, path, err);
    if (r == 0 && version < (int64_t)N_ELEMENTS(versions))
        r = in_transaction(db, "BEGIN IMMEDIATE", bring_up, err);
    return r;
}
