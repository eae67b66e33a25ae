/* SPDX-License-Identifier: Apache-2.0 */
/* store/db.h - one SQLite connection: its statements, and its failures in words for people.
 *
 * The only user of libsqlite3, which is opened on first use.  Statements are a table of the
 * caller's, prepared once and named by their row.  One that was begun is ended with db_end(), also
 * after a failure; its columns are valid until the next step.
 *
 * Failures: -EUCLEAN a damaged file (it is closed as it was found), -EBUSY held by another process
 * for longer than DB_WAIT_MS, -ENOSPC, -EEXIST a second row of the same name, -ENOENT a row that
 * another one needs, -EMSGSIZE a value over DB_VALUE_MAX.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct db;
struct gb_err;

#define DB_WAIT_MS   15000
#define DB_VALUE_MAX ((64 << 20) + 65536)

/* The file must be there; an empty one is an empty database. */
int db_open(const char *path, struct db **ret, struct gb_err *err);
void db_close(struct db **db);

#define cleanup_db cleanup_with(db_close)

/* One or more statements without arguments; what they answer is dropped. */
int db_exec(struct db *db, const char *sql, struct gb_err *err);

/* The number, or the text (cut to size), that a statement without arguments answers. */
int db_number(struct db *db, const char *sql, int64_t *ret, struct gb_err *err);
int db_word(struct db *db, const char *sql, char *ret, size_t size, struct gb_err *err);

/* The error of a file whose contents cannot be right. */
int db_damaged(struct db *db, const char *what, struct gb_err *err);

enum db_kind {
    DB_END, /* of the arguments */
    DB_NULL,
    DB_INT,
    DB_TEXT,
    DB_BLOB,
};

struct db_arg {
    enum db_kind kind;
    int64_t number;
    const void *bytes; /* live until db_end() */
    size_t len;
};

/* NULL makes NULL. */
struct db_arg db_text(const char *text);
struct db_arg db_blob(const void *bytes, size_t len);
struct db_arg db_int(uint64_t number); /* saturates where SQLite's integers end */

/* Prepares the table; its rows are the queries of the calls below. */
int db_prepare(struct db *db, const char *const *sql, size_t n, struct gb_err *err);

/* args end with { DB_END }. */
int db_begin(struct db *db, unsigned query, const struct db_arg *args, struct gb_err *err);
int db_step(struct db *db, unsigned query, struct gb_err *err); /* 1: a row; 0: no more */
void db_end(struct db *db, unsigned query);

/* One that answers nothing, from beginning to end; the number of rows that it changed. */
int db_change(struct db *db, unsigned query, const struct db_arg *args, struct gb_err *err);

/* Columns of the row: negative numbers count as 0; a copy is NUL-terminated, NULL stays NULL. */
uint64_t db_column_int(struct db *db, unsigned query, int column);
int db_column_copy(struct db *db, unsigned query, int column, char **ret, size_t *ret_len,
                   struct gb_err *err);
