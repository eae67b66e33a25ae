/* SPDX-License-Identifier: Apache-2.0 */
/* store/task.c - the rows of tasks. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/err.h"
#include "base/id.h"
#include "store/db.h"
#include "store/inside.h"
#include "store/store.h"

/* As they stand in the file, which people look into. */
static const char *const states[] = {
    [TASK_RUNNING] = "running",
    [TASK_WAITING] = "waiting",
    [TASK_DONE] = "done",
};

static int check(const struct store_task *task, struct gb_err *err)
{
    int r = store_check_id(task->id, err);

    if (r == 0 && (!task->objective || !task->options))
        r = gb_fail(err, -EINVAL, GB_BLAME_BUG, "a task needs an objective and options");
    if (r == 0 && task->parent)
        r = store_check_id(task->parent, err);
    if (r == 0)
        r = store_check_text("objective", task->objective, STORE_TEXT_MAX, err);
    if (r == 0)
        r = store_check_text("options", task->options, STORE_TEXT_MAX, err);
    if (r == 0)
        r = store_check_text("folder's path", task->folder, PATH_MAX, err);
    if (r == 0)
        r = store_check_text("outcome", task->outcome, STORE_TEXT_MAX, err);
    return r;
}

int store_task_new(struct store *store, const struct store_task *task, struct gb_err *err)
{
    uint64_t now = store_now_ms();
    int r = check(task, err);

    if (r < 0)
        return r;
    r = db_change(store->db, QUERY_TASK_NEW,
                  (const struct db_arg[]){
                      db_text(task->id),
                      db_text(task->objective),
                      db_text(task->options),
                      db_text(task->folder),
                      db_text(task->parent),
                      db_text(states[task->state]),
                      db_text(task->outcome),
                      db_int(now),
                      db_int(now),
                      { DB_END },
                  },
                  err);
    if (r == -ENOENT)
        return gb_fail(err, r, GB_BLAME_CALLER, "there is no task '%s' to continue", task->parent);
    return r < 0 ? gb_wrap(err, r, "a new task") : 0;
}

static int state_of(const char *name, enum task_state *ret)
{
    for (size_t i = 0; name && i < N_ELEMENTS(states); i++)
        if (strcmp(states[i], name) == 0) {
            *ret = (enum task_state)i;
            return 0;
        }
    return -EINVAL;
}

/* The row that stands at query; in the order of its columns. */
static int read_row(struct store *store, unsigned query, struct store_task *ret, struct gb_err *err)
{
    cleanup_free char *state = NULL;
    char **const texts[] = {
        &ret->id, &ret->objective, &ret->options, &ret->folder, &ret->parent, &state, &ret->outcome,
    };
    int r = 0;

    for (size_t i = 0; i < N_ELEMENTS(texts) && r == 0; i++)
        r = db_column_copy(store->db, query, (int)i, texts[i], NULL, err);
    if (r < 0)
        return r;
    ret->created_ms = db_column_int(store->db, query, N_ELEMENTS(texts));
    ret->changed_ms = db_column_int(store->db, query, N_ELEMENTS(texts) + 1);
    if (!ret->id || !id_is_valid('t', ret->id) || !ret->objective || !ret->options ||
        (ret->parent && !id_is_valid('t', ret->parent)) || state_of(state, &ret->state) < 0)
        return db_damaged(store->db, "a task makes no sense", err);
    return 0;
}

static int get_one(struct store *store, const char *prefix, struct store_task *ret,
                   struct gb_err *err)
{
    int r = db_begin(store->db, QUERY_TASK_GET,
                     (const struct db_arg[]){ db_text(prefix), { DB_END } }, err);

    if (r == 0)
        r = db_step(store->db, QUERY_TASK_GET, err);
    if (r < 0)
        return r;
    if (r == 0)
        return gb_fail(err, -ENOENT, GB_BLAME_CALLER,
                       "there is no task '%s'" GB_REMEDY "glovebox runs list", prefix);
    r = read_row(store, QUERY_TASK_GET, ret, err);
    if (r == 0)
        r = db_step(store->db, QUERY_TASK_GET, err);
    if (r == 1)
        return gb_fail(err, -ENOTUNIQ, GB_BLAME_CALLER,
                       "more than one task begins with '%s': give more of its id", prefix);
    return r;
}

int store_task_get(struct store *store, const char *prefix, struct store_task *ret,
                   struct gb_err *err)
{
    struct store_task task = { 0 };
    int r;

    /* A beginning that no id has; "t_" alone is every task's. */
    if (strlen(prefix) < 3 || strlen(prefix) >= ID_SIZE || strncmp(prefix, "t_", 2) != 0)
        return gb_fail(err, -ENOENT, GB_BLAME_CALLER,
                       "there is no task '%.40s'" GB_REMEDY "glovebox runs list", prefix);
    r = get_one(store, prefix, &task, err);
    db_end(store->db, QUERY_TASK_GET);
    if (r < 0) {
        store_task_clear(&task);
        return r;
    }
    *ret = task;
    return 0;
}

void store_task_clear(struct store_task *task)
{
    free(task->id);
    free(task->objective);
    free(task->options);
    free(task->folder);
    free(task->parent);
    free(task->outcome);
    *task = (struct store_task){ 0 };
}

struct task_list {
    struct store_task *items;
    size_t n;
    size_t room;
};

static int add_row(struct store *store, struct task_list *list, struct gb_err *err)
{
    if (list->n == list->room) {
        size_t room = list->room > 0 ? list->room * 2 : 16;
        struct store_task *items = reallocarray(list->items, room, sizeof(*items));

        if (!items)
            return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for the list of tasks");
        list->items = items;
        list->room = room;
    }
    list->items[list->n] = (struct store_task){ 0 };
    list->n++; /* also when it is half read: it is freed with the others */
    return read_row(store, QUERY_TASK_LIST, &list->items[list->n - 1], err);
}

int store_task_list(struct store *store, size_t most, struct store_task **ret, size_t *ret_n,
                    struct gb_err *err)
{
    struct task_list list = { 0 };
    size_t limit = most < STORE_LIST_MAX ? most : STORE_LIST_MAX;
    int r = db_begin(store->db, QUERY_TASK_LIST,
                     (const struct db_arg[]){ db_int(limit), { DB_END } }, err);

    while (r == 0 && (r = db_step(store->db, QUERY_TASK_LIST, err)) == 1)
        r = add_row(store, &list, err);
    db_end(store->db, QUERY_TASK_LIST);
    if (r < 0) {
        store_tasks_free(list.items, list.n);
        return r;
    }
    *ret = list.items;
    *ret_n = list.n;
    return 0;
}

void store_tasks_free(struct store_task *tasks, size_t n)
{
    for (size_t i = 0; i < n; i++)
        store_task_clear(&tasks[i]);
    free(tasks);
}

/* Of a change to one task: the number of rows, which is 0 or 1. */
static int must_be_one(int r, const char *id, struct gb_err *err)
{
    if (r == 0)
        return gb_fail(err, -ENOENT, GB_BLAME_CALLER, "there is no task '%s'", id);
    return r < 0 ? gb_wrap(err, r, "task '%s'", id) : 0;
}

int store_task_state(struct store *store, const char *id, enum task_state state,
                     const char *outcome, struct gb_err *err)
{
    int r = store_check_id(id, err);

    if (r == 0)
        r = store_check_text("outcome", outcome, STORE_TEXT_MAX, err);
    if (r < 0)
        return r;
    r = db_change(store->db, QUERY_TASK_STATE,
                  (const struct db_arg[]){
                      db_text(id),
                      db_text(states[state]),
                      db_text(outcome),
                      db_int(store_now_ms()),
                      { DB_END },
                  },
                  err);
    return must_be_one(r, id, err);
}

static int reopen(struct store *store, const char *id, const char *options, uint64_t seq,
                  struct gb_err *err)
{
    int r = db_change(store->db, QUERY_EFFECT_CUT,
                      (const struct db_arg[]){ db_text(id), db_int(seq), { DB_END } }, err);

    if (r < 0)
        return gb_wrap(err, r, "task '%s'", id);
    r = db_change(store->db, QUERY_TASK_REOPEN,
                  (const struct db_arg[]){
                      db_text(id),
                      db_text(options),
                      db_int(store_now_ms()),
                      { DB_END },
                  },
                  err);
    return must_be_one(r, id, err);
}

int store_task_reopen(struct store *store, const char *id, const char *options, uint64_t seq,
                      struct gb_err *err)
{
    int r = store_check_id(id, err);

    if (r == 0)
        r = store_check_text("options", options, STORE_TEXT_MAX, err);
    if (r == 0)
        r = db_exec(store->db, "BEGIN IMMEDIATE", err);
    if (r < 0)
        return r;
    r = reopen(store, id, options, seq, err);
    if (r == 0)
        r = db_exec(store->db, "COMMIT", err);
    /* The first failure is the one to tell. */
    if (r < 0)
        (void)db_exec(store->db, "ROLLBACK", NULL);
    return r;
}

int store_task_forget(struct store *store, const char *id, struct gb_err *err)
{
    int r = store_check_id(id, err);

    if (r < 0)
        return r;
    r = db_change(store->db, QUERY_TASK_REMOVE, (const struct db_arg[]){ db_text(id), { DB_END } },
                  err);
    return must_be_one(r, id, err);
}
