/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_store_harm.c - the store when processes die, files rot, disks fill and doors are shut.
 */
#include <errno.h>
#include <sys/mount.h>

#include "base/err.h"
#include "killed.h"
#include "place.h"
#include "store/db.h"
#include "store/digest.h"
#include "store/store.h"

#include <cmocka.h>

#define TASK "t_00000000000000000000000000"

#define N_EFFECTS 4

static char objective[] = "objective";
static char digest[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
static const struct store_task task_row = { .id = (char[]){ TASK },
                                            .objective = objective,
                                            .options = objective };

/* The n-th output, over more than one page. */
static void fill_output(char *output, size_t size, unsigned n)
{
    memset(output, (int)('a' + n % 26), size - 1);
    output[size - 1] = '\0';
}

static int put_nth(struct store *store, unsigned n)
{
    char output[9000];
    char name[32];
    struct store_effect effect = { .name = name, .digest = digest, .output = output };

    (void)snprintf(name, sizeof(name), "step-%u", n);
    fill_output(output, sizeof(output), n);
    effect.output_len = sizeof(output) - 1;
    return store_effect_put(store, TASK, &effect, NULL);
}

static int check_nth(void *user, const struct store_effect *effect)
{
    unsigned *n = user;
    char output[9000];
    char name[32];

    (void)snprintf(name, sizeof(name), "step-%u", *n);
    fill_output(output, sizeof(output), *n);
    assert_string_equal(effect->name, name);
    assert_string_equal(effect->digest, digest);
    assert_string_equal(effect->output, output);
    ++*n;
    return 0;
}

static struct store *open_store(struct place *place)
{
    struct gb_err err = { 0 };
    struct store *store = NULL;

    if (store_open(place_path(place, "state"), &store, &err) < 0)
        fail_msg("%s", err.msg);
    return store;
}

/* A store with a task and its effects, closed; its file into ret, if that is not NULL. */
static void make_store(struct place *place, struct buf *ret)
{
    struct store *store = open_store(place);

    assert_int_equal(store_task_new(store, &task_row, NULL), 0);
    for (unsigned n = 0; n < N_EFFECTS; n++)
        assert_int_equal(put_nth(store, n), 0);
    store_close(&store);
    if (ret)
        place_read(place, "state/tasks.db", ret);
}

/* ---- death ---------------------------------------------------------------------------------- */

struct life {
    struct place *place;
    int told; /* a byte for every commit */
};

static void tell(const struct life *life, char what)
{
    CHILD_MUST(write(life->told, &what, 1) == 1);
}

static void live(void *user)
{
    const struct life *life = user;
    struct store *store = NULL;
    int lock = -1;

    CHILD_MUST(store_open(place_path(life->place, "state"), &store, NULL) == 0);
    CHILD_MUST(store_task_lock(store, TASK, &lock, NULL) == 0);
    CHILD_MUST(store_task_new(store, &task_row, NULL) == 0);
    tell(life, 't');
    for (unsigned n = 0; n < N_EFFECTS; n++) {
        CHILD_MUST(put_nth(store, n) == 0);
        tell(life, 'e');
    }
    CHILD_MUST(store_task_state(store, TASK, TASK_DONE, "{}", NULL) == 0);
    tell(life, 'd');
    store_task_unlock(store, TASK, &lock);
    store_close(&store);
}

static size_t heard(int fd, char *told, size_t size)
{
    ssize_t n = fd_read_full(fd, told, size - 1);

    assert_true(n >= 0);
    told[n] = '\0';
    return (size_t)n;
}

/* What was told is there; one more may be; nothing is half there. */
static void check_life(struct place *place, size_t told)
{
    struct store *store = open_store(place);
    struct store_task task = { 0 };
    unsigned effects = 0;
    size_t found = 0;
    int lock = -1;
    int r = store_task_get(store, TASK, &task, NULL);

    if (r == 0) {
        assert_string_equal(task.objective, objective);
        assert_int_equal(store_effect_each(store, TASK, check_nth, &effects, NULL), 0);
        found = 1 + effects + (task.state == TASK_DONE);
        assert_true(task.state != TASK_DONE || (effects == N_EFFECTS && task.outcome));
        store_task_clear(&task);
    }
    assert_true(r == 0 || r == -ENOENT);
    assert_in_range(found, told, told + 1);
    /* The dead hold nothing, and their task goes on. */
    assert_int_equal(store_task_lock(store, TASK, &lock, NULL), 0);
    if (r == 0 && effects < N_EFFECTS)
        assert_int_equal(put_nth(store, effects), 0);
    store_task_unlock(store, TASK, &lock);
    store_close(&store);
}

static void killed_at_any_moment_it_has_all_that_was_done(void **state)
{
    struct place *place = *state;
    unsigned deaths = 0;
    int r = 1;

    /* What is loaded and asked once is not asked again by each child. */
    make_store(place, NULL);
    for (unsigned n = 1; r == 1; n++) {
        int fds[2];
        struct life life = { .place = place };
        char told[64];

        place_empty(place);
        assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
        life.told = fds[1];
        r = killed_at(n, live, &life);
        assert_true(r >= 0);
        close(fds[1]);
        check_life(place, heard(fds[0], told, sizeof(told)));
        close(fds[0]);
        deaths += r == 1;
    }
    assert_true(deaths > 100);
}

/* ---- rot ------------------------------------------------------------------------------------ */

static void expect_refused(struct place *place, const struct buf *file, int code, const char *text)
{
    cleanup_buf struct buf after = BUF_INIT(SIZE_MAX);
    struct gb_err err = { 0 };
    struct store *store = NULL;

    assert_int_equal(store_open(place_path(place, "state"), &store, &err), code);
    assert_null(store);
    assert_non_null(strstr(err.msg, "state/tasks.db'"));
    assert_non_null(strstr(err.msg, text));
    assert_int_equal(err.blame, GB_BLAME_HOST);
    place_read(place, "state/tasks.db", &after);
    assert_int_equal(after.len, file->len);
    assert_memory_equal(after.data, file->data, file->len);
}

static uint32_t draw(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* SQLite takes a file of one byte for an empty one. */
static void random_bytes_are_damage(void **state)
{
    static const size_t sizes[] = { 2, 15, 16, 99, 100, 512, 4095, 4096, 10000 };
    cleanup_buf struct buf file = BUF_INIT(1 << 20);
    struct place *place = *state;
    uint32_t seed = 1;

    assert_int_equal(mkdirat(place->fd, "state", 0700), 0);
    for (size_t i = 0; i < N_ELEMENTS(sizes); i++) {
        buf_reset(&file);
        while (file.len < sizes[i])
            assert_int_equal(buf_putc(&file, (char)draw(&seed)), 0);
        place_write(place, "state/tasks.db", file.data, file.len);
        expect_refused(place, &file, -EUCLEAN, "move it away");
    }
}

static void a_file_that_lost_its_end_is_damaged(void **state)
{
    cleanup_buf struct buf file = BUF_INIT(1 << 20);
    struct place *place = *state;
    size_t whole;

    make_store(place, &file);
    whole = file.len;
    assert_true(whole > 8 * 4096);
    for (size_t len = 2; len < whole; len = len < 3500 ? len + 517 : (len / 4096 + 1) * 4096) {
        file.len = len;
        place_write(place, "state/tasks.db", file.data, len);
        expect_refused(place, &file, -EUCLEAN, "is damaged");
    }
}

static int drop_effect(void *user, const struct store_effect *effect)
{
    (void)user;
    (void)effect;
    return 0;
}

/* Bytes of another value, anywhere: an error or not, but never more than that. */
static void flipped_bytes_do_no_harm(void **state)
{
    cleanup_buf struct buf file = BUF_INIT(1 << 20);
    struct place *place = *state;
    uint32_t seed = 7;
    unsigned found = 0;

    make_store(place, &file);
    for (unsigned round = 0; round < 400; round++) {
        cleanup_free char *bytes = malloc(file.len);
        struct store *store = NULL;
        struct store_task *tasks = NULL;
        struct gb_err err = { 0 };
        size_t n = 0;
        int r;

        assert_non_null(bytes);
        memcpy(bytes, file.data, file.len);
        for (unsigned i = 0; i <= round % 8; i++)
            bytes[draw(&seed) % (round % 2 ? 4096 : file.len)] = (char)draw(&seed);
        place_write(place, "state/tasks.db", bytes, file.len);
        r = store_open(place_path(place, "state"), &store, &err);
        if (r == 0)
            r = store_task_list(store, 10, &tasks, &n, &err);
        if (r == 0)
            r = store_effect_each(store, TASK, drop_effect, NULL, &err);
        assert_int_equal(err.code, r);
        found += r == -EUCLEAN;
        store_tasks_free(tasks, n);
        store_close(&store);
        (void)unlinkat(place->fd, "state/tasks.db-wal", 0);
        (void)unlinkat(place->fd, "state/tasks.db-shm", 0);
    }
    assert_true(found > 50);
}

static void put_one_and_die(void *user)
{
    struct store *store = NULL;

    CHILD_MUST(store_open(place_path(user, "state"), &store, NULL) == 0);
    CHILD_MUST(put_nth(store, N_EFFECTS) == 0);
    (void)kill(getpid(), SIGKILL);
}

/* Closing would carry the log over into the file, on top of what is wrong there. */
static void damage_that_is_met_late_is_left_alone_too(void **state)
{
    cleanup_buf struct buf file = BUF_INIT(1 << 20);
    cleanup_buf struct buf log = BUF_INIT(1 << 20);
    cleanup_buf struct buf after = BUF_INIT(1 << 20);
    struct place *place = *state;
    struct gb_err err = { 0 };
    struct store_task got = { 0 };
    struct store *store;

    make_store(place, NULL);
    assert_int_equal(work_status(work_begin(put_one_and_die, place)), -1);
    place_read(place, "state/tasks.db", &file);
    place_read(place, "state/tasks.db-wal", &log);
    assert_true(log.len > 0);
    memset(file.data + 4096, 0, 4096); /* the tasks themselves */
    place_write(place, "state/tasks.db", file.data, file.len);
    store = open_store(place);
    assert_int_equal(store_task_get(store, TASK, &got, &err), -EUCLEAN);
    assert_non_null(strstr(err.msg, "state/tasks.db' is damaged"));
    store_close(&store);
    place_read(place, "state/tasks.db", &after);
    assert_memory_equal(after.data, file.data, file.len);
    place_read(place, "state/tasks.db-wal", &after);
    assert_int_equal(after.len, log.len);
    assert_memory_equal(after.data, log.data, log.len);
}

static void with_sql(struct place *place, const char *sql)
{
    cleanup_db struct db *db = NULL;

    assert_int_equal(db_open(place_path(place, "state/tasks.db"), &db, NULL), 0);
    assert_int_equal(db_exec(db, sql, NULL), 0);
}

static void a_newer_store_is_left_alone(void **state)
{
    cleanup_buf struct buf file = BUF_INIT(1 << 20);
    struct place *place = *state;

    make_store(place, NULL);
    with_sql(place, "PRAGMA user_version = 77");
    place_read(place, "state/tasks.db", &file);
    expect_refused(place, &file, -EPROTONOSUPPORT, "newer glovebox (its version is 77");
}

static void anybody_elses_database_is_not_a_store(void **state)
{
    static const char *const rows[] = {
        "CREATE TABLE task (id)",
        "CREATE TABLE task (id); PRAGMA user_version = 1",
        "PRAGMA user_version = 1",
        "PRAGMA application_id = 1198288758",
        "PRAGMA application_id = 1198288758; PRAGMA user_version = 1",
        /* Says that it is one, and has not the tables. */
        "CREATE TABLE x (y); PRAGMA application_id = 1198288758; PRAGMA user_version = 1",
    };
    cleanup_buf struct buf file = BUF_INIT(1 << 20);
    struct place *place = *state;

    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        place_empty(place);
        assert_int_equal(mkdirat(place->fd, "state", 0700), 0);
        place_write(place, "state/tasks.db", "", 0);
        with_sql(place, "PRAGMA journal_mode = WAL");
        with_sql(place, rows[i]);
        place_read(place, "state/tasks.db", &file);
        expect_refused(place, &file, -EUCLEAN, "move it away");
    }
}

/* Rows that only another hand can have written. */
static void rows_that_make_no_sense_are_damage(void **state)
{
    static const char *const rows[] = {
        "UPDATE task SET id = 'x'",
        "UPDATE task SET parent = 'x'",
        "UPDATE effect SET name = 'a b'",
        "UPDATE effect SET digest = 'x'",
    };
    struct place *place = *state;

    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        struct gb_err err = { 0 };
        struct store_task *tasks = NULL;
        struct store *store;
        size_t n = 0;
        int r;

        place_empty(place);
        make_store(place, NULL);
        with_sql(place, "DELETE FROM effect WHERE seq > 1");
        with_sql(place, rows[i]);
        store = open_store(place);
        r = store_task_list(store, 10, &tasks, &n, &err);
        if (r == 0)
            r = store_effect_each(store, TASK, drop_effect, NULL, &err);
        assert_int_equal(r, -EUCLEAN);
        assert_non_null(strstr(err.msg, "makes no sense"));
        store_tasks_free(tasks, n);
        store_close(&store);
    }
}

/* ---- doors and disks ------------------------------------------------------------------------ */

static void be_nobody(void)
{
    CHILD_MUST(geteuid() != 0 ||
               (setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0));
}

static void open_refused(void *user)
{
    struct place *place = user;
    struct gb_err err = { 0 };
    struct store *store = NULL;

    be_nobody();
    CHILD_MUST(store_open(place_path(place, "shut/state"), &store, &err) == -EACCES);
    CHILD_MUST(strstr(err.msg, "shut/state'"));
    CHILD_MUST(store_open(place_path(place, "dir"), &store, &err) == -EACCES);
    CHILD_MUST(strstr(err.msg, "dir/tasks.db'"));
    CHILD_MUST(store_open(place_path(place, "fixed"), &store, &err) == -EACCES);
    CHILD_MUST(strstr(err.msg, "fixed/tasks.db'"));
    CHILD_MUST(store_open(place_path(place, "file"), &store, &err) == -ENOTDIR);
    CHILD_MUST(store_open(place_path(place, "file/x"), &store, &err) == -ENOTDIR);
}

static void a_place_that_may_not_be_written_is_named(void **state)
{
    struct place *place = *state;

    assert_int_equal(chmod(place->root, 0755), 0);
    assert_int_equal(mkdirat(place->fd, "shut", 0500), 0);
    assert_int_equal(mkdirat(place->fd, "dir", 0755), 0);
    assert_int_equal(fchmodat(place->fd, "dir", 0555, 0), 0);
    assert_int_equal(mkdirat(place->fd, "fixed", 0755), 0);
    place_write(place, "fixed/tasks.db", "", 0);
    assert_int_equal(fchmodat(place->fd, "fixed/tasks.db", 0444, 0), 0);
    place_write(place, "file", "", 0);
    assert_true(work_is_done(work_begin(open_refused, place)));
}

static int count(void *user, const struct store_effect *effect)
{
    (void)effect;
    ++*(unsigned *)user;
    return 0;
}

static void fill_the_disk(void *user)
{
    struct place *place = user;
    struct store *store = NULL;
    unsigned found = 0;
    unsigned n = 0;
    int r;

    work_on_small_disk(place->root, "size=512k");
    CHILD_MUST(store_open(place_path(place, "state"), &store, NULL) == 0);
    CHILD_MUST(store_task_new(store, &task_row, NULL) == 0);
    while ((r = put_nth(store, n)) == 0)
        n++;
    CHILD_MUST(r == -ENOSPC && n > 5);
    /* What was put is there, nothing of what was not, now and later. */
    CHILD_MUST(store_effect_each(store, TASK, count, &found, NULL) == 0 && found == n);
    store_close(&store);
    CHILD_MUST(store_open(place_path(place, "state"), &store, NULL) == 0);
    found = 0;
    CHILD_MUST(store_effect_each(store, TASK, count, &found, NULL) == 0 && found == n);
    /* And there is a way on. */
    CHILD_MUST(mount("none", place->root, "tmpfs", MS_REMOUNT, "size=4m") == 0);
    CHILD_MUST(put_nth(store, n) == 0);
    store_close(&store);
}

static void a_full_disk_costs_nothing_that_was_done(void **state)
{
    int status = work_status(work_begin(fill_the_disk, *state));

    if (status == WORK_CANNOT)
        skip();
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_QUICK_PLACE(killed_at_any_moment_it_has_all_that_was_done),
        IN_PLACE(random_bytes_are_damage),
        IN_PLACE(a_file_that_lost_its_end_is_damaged),
        IN_QUICK_PLACE(flipped_bytes_do_no_harm),
        IN_PLACE(damage_that_is_met_late_is_left_alone_too),
        IN_PLACE(a_newer_store_is_left_alone),
        IN_PLACE(anybody_elses_database_is_not_a_store),
        IN_PLACE(rows_that_make_no_sense_are_damage),
        IN_PLACE(a_place_that_may_not_be_written_is_named),
        IN_PLACE(a_full_disk_costs_nothing_that_was_done),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
