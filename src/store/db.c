/* SPDX-License-Identifier: Apache-2.0 */
/* store/db.c - one SQLite connection.
 *
 * Nothing here opens the database's file beside SQLite: closing any descriptor of it would drop the
 * locks that this process holds on it (fcntl(2)). */
#include "store/db.h"

#include <assert.h>
#include <errno.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/dl.h"
#include "base/err.h"

static struct {
    int (*open_v2)(const char *, sqlite3 **, int, const char *);
    int (*close_v2)(sqlite3 *);
    int (*busy_timeout)(sqlite3 *, int);
    int (*extended_result_codes)(sqlite3 *, int);
    int (*db_config)(sqlite3 *, int, ...);
    int (*db_readonly)(sqlite3 *, const char *);
    int (*limit)(sqlite3 *, int, int);
    int (*exec)(sqlite3 *, const char *, int (*)(void *, int, char **, char **), void *, char **);
    int (*prepare_v3)(sqlite3 *, const char *, int, unsigned, sqlite3_stmt **, const char **);
    int (*finalize)(sqlite3_stmt *);
    int (*step)(sqlite3_stmt *);
    int (*reset)(sqlite3_stmt *);
    int (*clear_bindings)(sqlite3_stmt *);
    int (*bind_null)(sqlite3_stmt *, int);
    int (*bind_int64)(sqlite3_stmt *, int, sqlite3_int64);
    int (*bind_text)(sqlite3_stmt *, int, const char *, int, void (*)(void *));
    int (*bind_blob)(sqlite3_stmt *, int, const void *, int, void (*)(void *));
    sqlite3_int64 (*column_int64)(sqlite3_stmt *, int);
    const void *(*column_blob)(sqlite3_stmt *, int);
    int (*column_bytes)(sqlite3_stmt *, int);
    int (*column_type)(sqlite3_stmt *, int);
    int (*changes)(sqlite3 *);
    const char *(*errmsg)(sqlite3 *);
    const char *(*errstr)(int);
    int (*system_errno)(sqlite3 *);
} fn;

static const struct dl_symbol symbols[] = {
    DL_SYMBOL(fn.open_v2, "sqlite3_open_v2"),
    DL_SYMBOL(fn.close_v2, "sqlite3_close_v2"),
    DL_SYMBOL(fn.busy_timeout, "sqlite3_busy_timeout"),
    DL_SYMBOL(fn.extended_result_codes, "sqlite3_extended_result_codes"),
    DL_SYMBOL(fn.db_config, "sqlite3_db_config"),
    DL_SYMBOL(fn.db_readonly, "sqlite3_db_readonly"),
    DL_SYMBOL(fn.limit, "sqlite3_limit"),
    DL_SYMBOL(fn.exec, "sqlite3_exec"),
    DL_SYMBOL(fn.prepare_v3, "sqlite3_prepare_v3"),
    DL_SYMBOL(fn.finalize, "sqlite3_finalize"),
    DL_SYMBOL(fn.step, "sqlite3_step"),
    DL_SYMBOL(fn.reset, "sqlite3_reset"),
    DL_SYMBOL(fn.clear_bindings, "sqlite3_clear_bindings"),
    DL_SYMBOL(fn.bind_null, "sqlite3_bind_null"),
    DL_SYMBOL(fn.bind_int64, "sqlite3_bind_int64"),
    DL_SYMBOL(fn.bind_text, "sqlite3_bind_text"),
    DL_SYMBOL(fn.bind_blob, "sqlite3_bind_blob"),
    DL_SYMBOL(fn.column_int64, "sqlite3_column_int64"),
    DL_SYMBOL(fn.column_blob, "sqlite3_column_blob"),
    DL_SYMBOL(fn.column_bytes, "sqlite3_column_bytes"),
    DL_SYMBOL(fn.column_type, "sqlite3_column_type"),
    DL_SYMBOL(fn.changes, "sqlite3_changes"),
    DL_SYMBOL(fn.errmsg, "sqlite3_errmsg"),
    DL_SYMBOL(fn.errstr, "sqlite3_errstr"),
    DL_SYMBOL(fn.system_errno, "sqlite3_system_errno"),
    { 0 },
};

static struct dl library = DL_INIT("libsqlite3.so.0", "libsqlite3-0", symbols);

struct db {
    char *path;
    sqlite3 *connection;
    sqlite3_stmt **statements;
    size_t n_statements;
};

/* ---- failures ------------------------------------------------------------------------------- */

/* A row for the extended code is looked for first, then one for the code proper.  The statements
 * are fixed: one that makes no sense (SQLITE_ERROR) has met another schema than it was written for.
 */
static const struct {
    int result;
    int code;
} codes[] = {
    { SQLITE_CONSTRAINT_UNIQUE, -EEXIST },
    { SQLITE_CONSTRAINT_PRIMARYKEY, -EEXIST },
    { SQLITE_CONSTRAINT_FOREIGNKEY, -ENOENT },
    { SQLITE_CORRUPT, -EUCLEAN },
    { SQLITE_NOTADB, -EUCLEAN },
    { SQLITE_ERROR, -EUCLEAN },
    { SQLITE_CONSTRAINT, -EINVAL },
    { SQLITE_BUSY, -EBUSY },
    { SQLITE_LOCKED, -EBUSY },
    { SQLITE_PROTOCOL, -EBUSY },
    { SQLITE_FULL, -ENOSPC },
    { SQLITE_READONLY, -EROFS },
    { SQLITE_PERM, -EACCES },
    { SQLITE_NOMEM, -ENOMEM },
    { SQLITE_TOOBIG, -EMSGSIZE },
};

static int code_of(int result)
{
    for (unsigned mask = ~0u;; mask = 0xff) {
        for (size_t i = 0; i < N_ELEMENTS(codes); i++)
            if (codes[i].result == (int)((unsigned)result & mask))
                return codes[i].code;
        if (mask == 0xff)
            return 0;
    }
}

int db_damaged(struct db *db, const char *what, struct gb_err *err)
{
    /* Else the last one to close it would carry the log over into the file. */
    (void)fn.db_config(db->connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    return gb_fail(err, -EUCLEAN, GB_BLAME_HOST,
                   "'%s' is damaged (%s) and was left as it is: put a copy of it back, or move it "
                   "away with its -wal and -shm to begin anew; 'sqlite3 FILE .recover' may save "
                   "what is in it",
                   db->path, what);
}

static int fail(struct db *db, int result, struct gb_err *err)
{
    const char *what = fn.errmsg(db->connection);
    int code = code_of(result);
    int cause = fn.system_errno(db->connection);

    if (code == -EUCLEAN)
        return db_damaged(db, what, err);
    if (code != 0)
        return gb_fail(err, code, code == -EINVAL ? GB_BLAME_BUG : GB_BLAME_HOST, "'%s': %s",
                       db->path, what);
    /* CANTOPEN, IOERR: the system knows why. */
    if (cause != 0)
        return gb_fail(err, -cause, GB_BLAME_HOST, "'%s': %s: %s", db->path, what, strerror(cause));
    return gb_fail(err, -EIO, GB_BLAME_HOST, "'%s': %s", db->path, what);
}

/* ---- the connection ------------------------------------------------------------------------- */

/* The file may be anybody's work: nothing in its schema may call what is not plain SQL. */
static void set_up(struct db *db)
{
    (void)fn.extended_result_codes(db->connection, 1);
    (void)fn.busy_timeout(db->connection, DB_WAIT_MS);
    (void)fn.limit(db->connection, SQLITE_LIMIT_LENGTH, DB_VALUE_MAX);
    (void)fn.limit(db->connection, SQLITE_LIMIT_ATTACHED, 0);
    (void)fn.db_config(db->connection, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    (void)fn.db_config(db->connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    (void)fn.db_config(db->connection, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    (void)fn.db_config(db->connection, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
}

int db_open(const char *path, struct db **ret, struct gb_err *err)
{
    cleanup_db struct db *db = NULL;
    int r = dl_open(&library, err);

    if (r < 0)
        return r;
    db = calloc(1, sizeof(*db));
    if (!db || !(db->path = strdup(path)))
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for '%s'", path);
    /* Its user sees to it that one thread at a time is in it. */
    r = fn.open_v2(path, &db->connection, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (!db->connection)
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "'%s': %s", path, fn.errstr(r));
    if (r != SQLITE_OK)
        return fail(db, r, err);
    if (fn.db_readonly(db->connection, "main") == 1)
        return gb_fail(err, -EACCES, GB_BLAME_HOST, "'%s' may not be written", path);
    set_up(db);
    *ret = take_ptr(db);
    return 0;
}

void db_close(struct db **db)
{
    if (!*db)
        return;
    for (size_t i = 0; i < (*db)->n_statements; i++)
        (void)fn.finalize((*db)->statements[i]);
    if ((*db)->connection)
        (void)fn.close_v2((*db)->connection);
    free((*db)->statements);
    free((*db)->path);
    free(*db);
    *db = NULL;
}

int db_exec(struct db *db, const char *sql, struct gb_err *err)
{
    int result = fn.exec(db->connection, sql, NULL, NULL, NULL);

    return result == SQLITE_OK ? 0 : fail(db, result, err);
}

/* ---- statements ----------------------------------------------------------------------------- */

static int prepare(struct db *db, const char *sql, sqlite3_stmt **ret, struct gb_err *err)
{
    int result = fn.prepare_v3(db->connection, sql, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL);

    return result == SQLITE_OK ? 0 : fail(db, result, err);
}

static int step(struct db *db, sqlite3_stmt *statement, struct gb_err *err)
{
    int result = fn.step(statement);

    if (result == SQLITE_ROW)
        return 1;
    return result == SQLITE_DONE ? 0 : fail(db, result, err);
}

static void finalize(sqlite3_stmt **statement)
{
    if (*statement)
        (void)fn.finalize(*statement);
}

#define cleanup_statement cleanup_with(finalize)

int db_number(struct db *db, const char *sql, int64_t *ret, struct gb_err *err)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    int r = prepare(db, sql, &statement, err);

    if (r == 0)
        r = step(db, statement, err);
    if (r < 0)
        return r;
    *ret = r == 1 ? fn.column_int64(statement, 0) : 0;
    return 0;
}

int db_word(struct db *db, const char *sql, char *ret, size_t size, struct gb_err *err)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    int r = prepare(db, sql, &statement, err);

    if (r == 0)
        r = step(db, statement, err);
    if (r < 0)
        return r;
    ret[0] = '\0';
    if (r == 1 && fn.column_blob(statement, 0))
        (void)snprintf(ret, size, "%.*s", fn.column_bytes(statement, 0),
                       (const char *)fn.column_blob(statement, 0));
    return 0;
}

int db_prepare(struct db *db, const char *const *sql, size_t n, struct gb_err *err)
{
    assert(!db->statements);
    db->statements = calloc(n, sizeof(sqlite3_stmt *));
    if (!db->statements)
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for '%s'", db->path);
    for (; db->n_statements < n; db->n_statements++) {
        int r = prepare(db, sql[db->n_statements], &db->statements[db->n_statements], err);

        if (r < 0)
            return r;
    }
    return 0;
}

struct db_arg db_text(const char *text)
{
    if (!text)
        return (struct db_arg){ .kind = DB_NULL };
    return (struct db_arg){ .kind = DB_TEXT, .bytes = text, .len = strlen(text) };
}

struct db_arg db_blob(const void *bytes, size_t len)
{
    /* A NULL pointer would make NULL of nothing. */
    return (struct db_arg){ .kind = DB_BLOB, .bytes = len > 0 ? bytes : "", .len = len };
}

struct db_arg db_int(uint64_t number)
{
    return (struct db_arg){ .kind = DB_INT,
                            .number = number > INT64_MAX ? INT64_MAX : (int64_t)number };
}

static int bind(sqlite3_stmt *statement, int at, const struct db_arg *arg)
{
    int len = (int)arg->len;

    switch (arg->kind) {
    case DB_INT:
        return fn.bind_int64(statement, at, arg->number);
    case DB_TEXT:
        return fn.bind_text(statement, at, arg->bytes, len, SQLITE_STATIC);
    case DB_BLOB:
        return fn.bind_blob(statement, at, arg->bytes, len, SQLITE_STATIC);
    case DB_NULL:
    case DB_END:
        break;
    }
    return fn.bind_null(statement, at);
}

int db_begin(struct db *db, unsigned query, const struct db_arg *args, struct gb_err *err)
{
    assert(query < db->n_statements);
    for (int i = 0; args[i].kind != DB_END; i++) {
        int result = args[i].len > DB_VALUE_MAX ? SQLITE_TOOBIG
                                                : bind(db->statements[query], i + 1, &args[i]);

        if (result == SQLITE_TOOBIG)
            return gb_fail(err, -EMSGSIZE, GB_BLAME_CALLER, "'%s': a value is over %d MiB",
                           db->path, DB_VALUE_MAX >> 20);
        if (result != SQLITE_OK)
            return fail(db, result, err);
    }
    return 0;
}

int db_step(struct db *db, unsigned query, struct gb_err *err)
{
    return step(db, db->statements[query], err);
}

void db_end(struct db *db, unsigned query)
{
    /* It repeats the failure of the last step, which was told. */
    (void)fn.reset(db->statements[query]);
    (void)fn.clear_bindings(db->statements[query]);
}

int db_change(struct db *db, unsigned query, const struct db_arg *args, struct gb_err *err)
{
    int r = db_begin(db, query, args, err);

    if (r == 0)
        r = db_step(db, query, err);
    db_end(db, query);
    return r < 0 ? r : fn.changes(db->connection);
}

uint64_t db_column_int(struct db *db, unsigned query, int column)
{
    sqlite3_int64 number = fn.column_int64(db->statements[query], column);

    return number < 0 ? 0 : (uint64_t)number;
}

int db_column_copy(struct db *db, unsigned query, int column, char **ret, size_t *ret_len,
                   struct gb_err *err)
{
    sqlite3_stmt *statement = db->statements[query];
    const void *bytes = fn.column_blob(statement, column);
    size_t len = (size_t)fn.column_bytes(statement, column);
    char *copy;

    if (fn.column_type(statement, column) == SQLITE_NULL) {
        *ret = NULL;
        return 0;
    }
    copy = malloc(len + 1);
    if (!copy || (!bytes && len > 0)) {
        free(copy);
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for what '%s' holds", db->path);
    }
    if (len > 0)
        memcpy(copy, bytes, len);
    copy[len] = '\0';
    *ret = copy;
    if (ret_len)
        *ret_len = len;
    return 0;
}
