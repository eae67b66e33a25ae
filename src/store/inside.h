/* SPDX-License-Identifier: Apache-2.0 */
/* store/inside.h - what the files of store/ share: the store itself, its statements, its schema. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct db;
struct gb_err;

struct store {
    struct db *db;
    int dir_fd; /* of the state directory */
    char *dir;  /* as it was given, for errors */
};

enum store_query {
    QUERY_TASK_NEW,
    QUERY_TASK_GET,
    QUERY_TASK_LIST,
    QUERY_TASK_STATE,
    QUERY_TASK_REOPEN,
    QUERY_TASK_REMOVE,
    QUERY_EFFECT_PUT,
    QUERY_EFFECT_GET,
    QUERY_EFFECT_NEXT,
    QUERY_EFFECT_LAST,
    QUERY_EFFECT_CUT,
    N_QUERIES,
};

extern const char *const store_queries[N_QUERIES];

/* Sees to it that the database is one of this version: makes the tables of an empty one, brings an
 * older one up to date, refuses one that is newer (-EPROTONOSUPPORT) or not a store (-EUCLEAN).
 * Other processes may do the same meanwhile. */
int schema_ready(struct db *db, const char *path, struct gb_err *err);

/* Milliseconds since the epoch. */
uint64_t store_now_ms(void);

/* -EINVAL unless it is the id of a task. */
int store_check_id(const char *id, struct gb_err *err);

/* -EMSGSIZE when the text has more than max bytes. */
int store_check_text(const char *what, const char *text, size_t max, struct gb_err *err);
