/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_store.c - tasks and effects: what is put is found, once, by one process or by many.
 *
 * What happens to it when processes die, disks fill and files rot: test_store_harm.c. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "base/err.h"
#include "base/id.h"
#include "killed.h"
#include "place.h"
#include "store/digest.h"
#include "store/store.h"

#include <cmocka.h>

#define TASK_A "t_00000000000000000000000000"
#define TASK_B "t_00000000000000000000000001"
#define TASK_C "t_10000000000000000000000000"
#define NOBODY "t_zzzzzzzzzzzzzzzzzzzzzzzzzz"

static struct store *open_store(struct place *place)
{
    struct gb_err err = { 0 };
    struct store *store = NULL;

    if (store_open(place_path(place, "state"), &store, &err) < 0)
        fail_msg("%s", err.msg);
    return store;
}

static char *heap(const char *text)
{
    char *copy = text ? strdup(text) : NULL;

    assert_true(copy || !text);
    return copy;
}

static int put_task(struct store *store, const char *id, const char *parent, struct gb_err *err)
{
    struct store_task task = {
        .id = heap(id),
        .objective = heap("do"),
        .options = heap("{}"),
        .parent = heap(parent),
    };
    int r = store_task_new(store, &task, err);

    store_task_clear(&task);
    return r;
}

static int put_effect(struct store *store, const char *task, const char *name, const char *bytes,
                      size_t len, struct gb_err *err)
{
    struct store_effect effect = { .name = heap(name), .digest = heap(""), .output_len = len };
    int r;

    free(effect.digest);
    effect.digest = calloc(1, DIGEST_SIZE);
    assert_non_null(effect.digest);
    assert_int_equal(digest_of(name, strlen(name), effect.digest, NULL), 0);
    effect.output = malloc(len + 1);
    assert_non_null(effect.output);
    memcpy(effect.output, bytes, len);
    r = store_effect_put(store, task, &effect, err);
    store_effect_clear(&effect);
    return r;
}

/* ---- tasks ---------------------------------------------------------------------------------- */

static void files_are_their_owners_whatever_the_umask(void **state)
{
    static const mode_t umasks[] = { 0, 022, 0777 };
    struct place *place = *state;

    for (size_t i = 0; i < N_ELEMENTS(umasks); i++) {
        mode_t before = umask(umasks[i]);
        cleanup_store struct store *store = open_store(place);
        int lock = -1;

        assert_int_equal(put_task(store, TASK_A, NULL, NULL), 0);
        assert_int_equal(store_task_lock(store, TASK_A, &lock, NULL), 0);
        (void)umask(before);
        assert_int_equal(place_mode(place, "state"), 0700);
        assert_int_equal(place_mode(place, "state/tasks.db"), 0600);
        assert_int_equal(place_mode(place, "state/tasks.db-wal"), 0600);
        assert_int_equal(place_mode(place, "state/tasks.db-shm"), 0600);
        assert_int_equal(place_mode(place, "state/locks"), 0700);
        assert_int_equal(place_mode(place, "state/locks/" TASK_A) & 077, 0);
        store_task_unlock(store, TASK_A, &lock);
        store_close(&store);
        assert_false(place_has(place, "state/tasks.db-wal"));
        place_empty(place);
    }
}

static void directories_on_the_way_are_made_and_a_link_for_a_file_is_refused(void **state)
{
    struct place *place = *state;
    struct gb_err err = { 0 };
    struct store *store = NULL;

    assert_int_equal(store_open(place_path(place, "a/b/c"), &store, &err), 0);
    store_close(&store);
    assert_int_equal(place_mode(place, "a/b/c"), 0700);
    assert_int_equal(mkdirat(place->fd, "d", 0700), 0);
    assert_int_equal(symlinkat("../a/b/c/tasks.db", place->fd, "d/tasks.db"), 0);
    assert_int_equal(store_open(place_path(place, "d"), &store, &err), -EINVAL);
    assert_non_null(strstr(err.msg, "d/tasks.db' is not a file"));
    assert_null(store);
}

static void a_task_comes_back_as_it_was_put(void **state)
{
    cleanup_store struct store *store = open_store(*state);
    struct store_task task = {
        .id = heap(TASK_B),
        .objective = heap("ein Täßchen; DROP TABLE task;--\n\t\x01"),
        .options = heap("{\"a\":[1,2]}"),
        .folder = heap("/somewhere/runs/run_1"),
        .parent = heap(TASK_A),
        .state = TASK_WAITING,
        .outcome = heap("{\"passed\":true}"),
    };
    struct store_task got = { 0 };

    assert_int_equal(put_task(store, TASK_A, NULL, NULL), 0);
    assert_int_equal(store_task_new(store, &task, NULL), 0);
    assert_int_equal(store_task_get(store, TASK_B, &got, NULL), 0);
    assert_string_equal(got.id, task.id);
    assert_string_equal(got.objective, task.objective);
    assert_string_equal(got.options, task.options);
    assert_string_equal(got.folder, task.folder);
    assert_string_equal(got.parent, task.parent);
    assert_string_equal(got.outcome, task.outcome);
    assert_int_equal(got.state, TASK_WAITING);
    assert_true(got.created_ms > 1000000000000 && got.changed_ms == got.created_ms);
    store_task_clear(&got);
    assert_int_equal(store_task_get(store, TASK_A, &got, NULL), 0);
    assert_null(got.folder);
    assert_null(got.parent);
    assert_null(got.outcome);
    store_task_clear(&got);
    store_task_clear(&task);
}

static void a_beginning_finds_its_task_when_only_one_has_it(void **state)
{
    static const struct {
        const char *prefix;
        int code;
        const char *id;
    } rows[] = {
        { TASK_A, 0, TASK_A },
        { TASK_B, 0, TASK_B },
        { "t_1", 0, TASK_C },
        { "t_0", -ENOTUNIQ, NULL },
        { "t_0000000000000000000000000", -ENOTUNIQ, NULL },
        { "t_2", -ENOENT, NULL },
        { "t_", -ENOENT, NULL },
        { "", -ENOENT, NULL },
        { "%", -ENOENT, NULL },
        { "t_%", -ENOENT, NULL },
        { "t_1' OR 1", -ENOENT, NULL },
        { TASK_C "0", -ENOENT, NULL },
    };
    cleanup_store struct store *store = open_store(*state);

    assert_int_equal(put_task(store, TASK_A, NULL, NULL), 0);
    assert_int_equal(put_task(store, TASK_B, NULL, NULL), 0);
    assert_int_equal(put_task(store, TASK_C, NULL, NULL), 0);
    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        struct store_task got = { 0 };
        struct gb_err err = { 0 };

        assert_int_equal(store_task_get(store, rows[i].prefix, &got, &err), rows[i].code);
        assert_int_equal(err.code, rows[i].code);
        if (rows[i].id)
            assert_string_equal(got.id, rows[i].id);
        else
            assert_true(err.blame == GB_BLAME_CALLER && !got.id);
        store_task_clear(&got);
    }
}

static void the_newest_tasks_come_first(void **state)
{
    static const char *const newest[] = { TASK_A, TASK_C, TASK_B };
    cleanup_store struct store *store = open_store(*state);
    struct store_task *tasks = NULL;
    size_t n = 9;

    assert_int_equal(store_task_list(store, 10, &tasks, &n, NULL), 0);
    assert_int_equal(n, 0);
    store_tasks_free(tasks, n);
    for (size_t i = N_ELEMENTS(newest); i-- > 0;)
        assert_int_equal(put_task(store, newest[i], NULL, NULL), 0);
    for (size_t most = 0; most < 5; most++) {
        size_t wanted = most < N_ELEMENTS(newest) ? most : N_ELEMENTS(newest);

        assert_int_equal(store_task_list(store, most, &tasks, &n, NULL), 0);
        assert_int_equal(n, wanted);
        for (size_t i = 0; i < n; i++)
            assert_string_equal(tasks[i].id, newest[i]);
        store_tasks_free(tasks, n);
    }
}

static void a_state_and_its_outcome_change_together(void **state)
{
    cleanup_store struct store *store = open_store(*state);
    struct store_task got = { 0 };

    assert_int_equal(put_task(store, TASK_A, NULL, NULL), 0);
    assert_int_equal(store_task_state(store, TASK_A, TASK_DONE, "{}", NULL), 0);
    assert_int_equal(store_task_get(store, TASK_A, &got, NULL), 0);
    assert_int_equal(got.state, TASK_DONE);
    assert_string_equal(got.outcome, "{}");
    assert_true(got.changed_ms >= got.created_ms);
    store_task_clear(&got);
    assert_int_equal(store_task_state(store, TASK_A, TASK_RUNNING, NULL, NULL), 0);
    assert_int_equal(store_task_get(store, TASK_A, &got, NULL), 0);
    assert_int_equal(got.state, TASK_RUNNING);
    assert_null(got.outcome);
    store_task_clear(&got);
    assert_int_equal(store_task_state(store, NOBODY, TASK_DONE, NULL, NULL), -ENOENT);
}

static void what_is_no_task_is_refused(void **state)
{
    static const char *const ids[] = { "", "t_", "../x", "b_00000000000000000000000000", "t_0" };
    cleanup_store struct store *store = open_store(*state);
    cleanup_free char *big = calloc(1, STORE_TEXT_MAX + 2);
    struct store_task task = { .options = heap("{}") };
    int fd = -1;

    assert_non_null(big);
    memset(big, 'x', STORE_TEXT_MAX + 1);
    for (size_t i = 0; i < N_ELEMENTS(ids); i++) {
        assert_int_equal(put_task(store, ids[i], NULL, NULL), -EINVAL);
        assert_int_equal(put_task(store, TASK_A, ids[i], NULL), -EINVAL);
        assert_int_equal(store_task_state(store, ids[i], TASK_DONE, NULL, NULL), -EINVAL);
        assert_int_equal(store_task_forget(store, ids[i], NULL), -EINVAL);
        assert_int_equal(store_task_lock(store, ids[i], &fd, NULL), -EINVAL);
        assert_int_equal(put_effect(store, ids[i], "x", "", 0, NULL), -EINVAL);
    }
    assert_int_equal(put_task(store, TASK_A, NOBODY, NULL), -ENOENT);
    task.id = heap(TASK_A);
    task.objective = big;
    assert_int_equal(store_task_new(store, &task, NULL), -EMSGSIZE);
    big[STORE_TEXT_MAX] = '\0';
    assert_int_equal(store_task_new(store, &task, NULL), 0);
    assert_int_equal(store_task_new(store, &task, NULL), -EEXIST);
    task.objective = NULL;
    store_task_clear(&task);
}

static void a_removed_task_takes_its_effects_along(void **state)
{
    cleanup_store struct store *store = open_store(*state);
    struct store_effect effect = { 0 };
    struct store_task got = { 0 };

    assert_int_equal(put_task(store, TASK_A, NULL, NULL), 0);
    assert_int_equal(put_task(store, TASK_B, TASK_A, NULL), 0);
    assert_int_equal(put_effect(store, TASK_A, "x", "1", 1, NULL), 0);
    assert_int_equal(put_effect(store, TASK_B, "x", "2", 1, NULL), 0);
    assert_int_equal(store_task_forget(store, TASK_A, NULL), 0);
    assert_int_equal(store_task_forget(store, TASK_A, NULL), -ENOENT);
    assert_int_equal(store_task_get(store, TASK_A, &got, NULL), -ENOENT);
    assert_int_equal(store_effect_get(store, TASK_A, "x", &effect, NULL), 0);
    assert_int_equal(store_effect_get(store, TASK_B, "x", &effect, NULL), 1);
    store_effect_clear(&effect);
    assert_int_equal(store_task_get(store, TASK_B, &got, NULL), 0);
    assert_null(got.parent);
    store_task_clear(&got);
}

/* ---- effects -------------------------------------------------------------------------------- */

struct seen {
    struct store *store;
    unsigned n;
    int answer; /* at the third */
};

static int see(void *user, const struct store_effect *effect)
{
    struct seen *seen = user;
    char name[32];

    (void)snprintf(name, sizeof(name), "step-%u", seen->n);
    assert_string_equal(effect->name, name);
    assert_int_equal(effect->output_len, seen->n);
    assert_true(effect->at_ms > 0);
    /* What is put on the way comes too. */
    if (seen->n == 2 && seen->store)
        assert_int_equal(put_effect(seen->store, TASK_A, "step-5", "01234", 5, NULL), 0);
    return seen->n++ == 2 ? seen->answer : 0;
}

static void effects_come_in_the_order_in_which_they_were_put(void **state)
{
    cleanup_store struct store *store = open_store(*state);
    struct seen seen = { .store = store };
    char name[32];

    assert_int_equal(put_task(store, TASK_A, NULL, NULL), 0);
    assert_int_equal(put_task(store, TASK_B, NULL, NULL), 0);
    for (unsigned i = 0; i < 5; i++) {
        (void)snprintf(name, sizeof(name), "step-%u", i);
        assert_int_equal(put_effect(store, TASK_A, name, "01234", i, NULL), 0);
        assert_int_equal(put_effect(store, TASK_B, "other", "x", 1, NULL), i == 0 ? 0 : -EEXIST);
    }
    assert_int_equal(store_effect_each(store, TASK_A, see, &seen, NULL), 0);
    assert_int_equal(seen.n, 6);
    seen = (struct seen){ .answer = -ECANCELED };
    assert_int_equal(store_effect_each(store, TASK_A, see, &seen, NULL), -ECANCELED);
    assert_int_equal(seen.n, 3);
}

static void a_reopened_task_runs_again_from_where_it_is_cut(void **state)
{
    cleanup_store struct store *store = open_store(*state);
    struct store_effect effect = { 0 };
    struct store_task got = { 0 };
    uint64_t second = 0;
    uint64_t last = 7;

    assert_int_equal(put_task(store, TASK_A, NULL, NULL), 0);
    assert_int_equal(put_task(store, TASK_B, NULL, NULL), 0);
    assert_int_equal(store_effect_last(store, TASK_A, &last, NULL), 0);
    assert_int_equal(last, 0);
    assert_int_equal(put_effect(store, TASK_A, "one", "1", 1, NULL), 0);
    assert_int_equal(put_effect(store, TASK_A, "two", "2", 1, NULL), 0);
    assert_int_equal(store_effect_last(store, TASK_A, &second, NULL), 0);
    assert_int_equal(put_effect(store, TASK_B, "one", "b", 1, NULL), 0);
    assert_int_equal(put_effect(store, TASK_A, "three", "3", 1, NULL), 0);
    assert_int_equal(store_task_state(store, TASK_A, TASK_DONE, "{\"x\":1}", NULL), 0);

    /* What is refused changes nothing. */
    assert_int_equal(store_task_reopen(store, "t_11111111111111111111111111", "{}", 0, NULL),
                     -ENOENT);
    assert_int_equal(store_task_reopen(store, TASK_A, "{\"more\":1}", second, NULL), 0);
    assert_int_equal(store_task_get(store, TASK_A, &got, NULL), 0);
    assert_int_equal(got.state, TASK_RUNNING);
    assert_null(got.outcome);
    assert_string_equal(got.options, "{\"more\":1}");
    store_task_clear(&got);
    assert_int_equal(store_effect_last(store, TASK_A, &last, NULL), 0);
    assert_true(last == second);
    assert_int_equal(store_effect_get(store, TASK_A, "three", &effect, NULL), 0);
    assert_int_equal(store_effect_get(store, TASK_A, "two", &effect, NULL), 1);
    assert_true(effect.seq == second);
    store_effect_clear(&effect);
    assert_int_equal(store_effect_get(store, TASK_B, "one", &effect, NULL), 1);
    store_effect_clear(&effect);

    /* What was cut off can be done once more, and behind the end nothing is. */
    assert_int_equal(put_effect(store, TASK_A, "three", "3", 1, NULL), 0);
    assert_int_equal(store_task_reopen(store, TASK_A, "{}", UINT64_MAX, NULL), 0);
    assert_int_equal(store_effect_get(store, TASK_A, "three", &effect, NULL), 1);
    assert_true(effect.seq > second);
    store_effect_clear(&effect);
}

static void an_output_may_be_any_bytes(void **state)
{
    cleanup_store struct store *store = open_store(*state);
    struct store_effect got = { 0 };
    char bytes[256];

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)i;
    assert_int_equal(put_task(store, TASK_A, NULL, NULL), 0);
    assert_int_equal(put_effect(store, TASK_A, "all", bytes, sizeof(bytes), NULL), 0);
    assert_int_equal(put_effect(store, TASK_A, "none", "", 0, NULL), 0);
    assert_int_equal(store_effect_get(store, TASK_A, "all", &got, NULL), 1);
    assert_int_equal(got.output_len, sizeof(bytes));
    assert_memory_equal(got.output, bytes, sizeof(bytes));
    assert_int_equal(got.output[got.output_len], '\0');
    store_effect_clear(&got);
    assert_int_equal(store_effect_get(store, TASK_A, "none", &got, NULL), 1);
    assert_int_equal(got.output_len, 0);
    assert_string_equal(got.output, "");
    store_effect_clear(&got);
    assert_int_equal(store_effect_get(store, TASK_A, "al", &got, NULL), 0);
    assert_null(got.name);
}

static void an_effect_is_put_once_and_for_a_task(void **state)
{
    cleanup_store struct store *store = open_store(*state);
    struct store_effect got = { 0 };
    struct gb_err err = { 0 };
    char name[STORE_NAME_MAX + 2];

    memset(name, 'n', sizeof(name));
    name[STORE_NAME_MAX + 1] = '\0';
    assert_int_equal(put_task(store, TASK_A, NULL, NULL), 0);
    assert_int_equal(put_effect(store, TASK_A, "x", "first", 5, NULL), 0);
    assert_int_equal(put_effect(store, TASK_A, "x", "second", 6, &err), -EEXIST);
    assert_non_null(strstr(err.msg, "'x' was done before"));
    assert_int_equal(store_effect_get(store, TASK_A, "x", &got, NULL), 1);
    assert_string_equal(got.output, "first");
    store_effect_clear(&got);
    assert_int_equal(put_effect(store, NOBODY, "x", "", 0, &err), -ENOENT);
    assert_int_equal(put_effect(store, TASK_A, "", "", 0, NULL), -EINVAL);
    assert_int_equal(put_effect(store, TASK_A, "a b", "", 0, NULL), -EINVAL);
    assert_int_equal(put_effect(store, TASK_A, "a\n", "", 0, NULL), -EINVAL);
    assert_int_equal(put_effect(store, TASK_A, "\xc3\xa4", "", 0, NULL), -EINVAL);
    assert_int_equal(put_effect(store, TASK_A, name, "", 0, NULL), -EINVAL);
    name[STORE_NAME_MAX] = '\0';
    assert_int_equal(put_effect(store, TASK_A, name, "", 0, NULL), 0);
    got = (struct store_effect){ .name = name, .digest = name, .output = name };
    assert_int_equal(store_effect_put(store, TASK_A, &got, NULL), -EINVAL);
}

static void the_largest_output_fits_and_no_larger_one(void **state)
{
    cleanup_store struct store *store = open_store(*state);
    cleanup_free char *big = calloc(1, STORE_OUTPUT_MAX + 1);
    struct store_effect got = { 0 };

    assert_non_null(big);
    big[STORE_OUTPUT_MAX - 1] = 'e';
    assert_int_equal(put_task(store, TASK_A, NULL, NULL), 0);
    assert_int_equal(put_effect(store, TASK_A, "x", big, STORE_OUTPUT_MAX + 1, NULL), -EMSGSIZE);
    assert_int_equal(put_effect(store, TASK_A, "x", big, STORE_OUTPUT_MAX, NULL), 0);
    assert_int_equal(store_effect_get(store, TASK_A, "x", &got, NULL), 1);
    assert_int_equal(got.output_len, STORE_OUTPUT_MAX);
    assert_memory_equal(got.output, big, STORE_OUTPUT_MAX);
    store_effect_clear(&got);
}

static void digests_are_those_of_sha256(void **state)
{
    char digest[DIGEST_SIZE];

    (void)state;
    assert_int_equal(digest_of("abc", 3, digest, NULL), 0);
    assert_string_equal(digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_true(digest_is_valid(digest));
    assert_int_equal(digest_of(NULL, 0, digest, NULL), 0);
    assert_string_equal(digest, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    digest[0] = 'E';
    assert_false(digest_is_valid(digest));
    digest[63] = '\0';
    assert_false(digest_is_valid(digest));
}

/* ---- processes ------------------------------------------------------------------------------ */

/* What test and children share, besides the store. */
struct shared {
    struct place *place;
    atomic_int ready; /* stand at the line */
    atomic_int inside;
    atomic_int overlaps;
    unsigned number;
};

static struct shared *share(struct place *place)
{
    struct shared *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_true(shared != MAP_FAILED);
    shared->place = place;
    return shared;
}

#define CROWD 4

static void run_crowd(struct shared *shared, void (*work)(void *))
{
    pid_t pids[CROWD];

    for (unsigned i = 0; i < CROWD; i++) {
        shared->number = i; /* each takes it before it says that it is ready */
        pids[i] = work_begin(work, shared);
        while (atomic_load(&shared->ready) <= (int)i)
            (void)usleep(100);
    }
    for (unsigned i = 0; i < CROWD; i++)
        assert_true(work_is_done(pids[i]));
}

static unsigned stand_ready(struct shared *shared)
{
    unsigned number = shared->number;

    atomic_fetch_add(&shared->ready, 1);
    while (atomic_load(&shared->ready) < CROWD)
        (void)sched_yield(); /* so that they start as close together as can be */
    return number;
}

#define CROWD_EFFECTS 100

static void write_many(void *user)
{
    struct shared *shared = user;
    unsigned number = stand_ready(shared);
    struct store *store = NULL;
    char name[32];
    char digest[DIGEST_SIZE];

    CHILD_MUST(digest_of("", 0, digest, NULL) == 0);
    CHILD_MUST(store_open(place_path(shared->place, "state"), &store, NULL) == 0);
    for (unsigned i = 0; i < CROWD_EFFECTS; i++) {
        struct store_effect effect = { .name = name, .digest = digest, .output = name };
        int r;

        effect.output_len = (size_t)snprintf(name, sizeof(name), "%u/%u", number, i);
        CHILD_MUST(store_effect_put(store, TASK_A, &effect, NULL) == 0);
        /* All want this one; one gets it. */
        (void)snprintf(name, sizeof(name), "all/%u", i);
        r = store_effect_put(store, TASK_A, &effect, NULL);
        CHILD_MUST(r == 0 || r == -EEXIST);
    }
    store_close(&store);
}

static int count(void *user, const struct store_effect *effect)
{
    (void)effect;
    ++*(unsigned *)user;
    return 0;
}

static void processes_write_side_by_side(void **state)
{
    struct shared *shared = share(*state);
    struct store *store = open_store(*state);
    unsigned n = 0;

    assert_int_equal(put_task(store, TASK_A, NULL, NULL), 0);
    store_close(&store); /* a store does not survive fork() */
    run_crowd(shared, write_many);
    store = open_store(*state);
    assert_int_equal(store_effect_each(store, TASK_A, count, &n, NULL), 0);
    assert_int_equal(n, (CROWD + 1) * CROWD_EFFECTS);
    store_close(&store);
    (void)munmap(shared, sizeof(*shared));
}

static void open_first(void *user)
{
    struct shared *shared = user;
    char id[ID_SIZE];
    char text[] = "{}";
    struct store_task task = { .id = id, .objective = text, .options = text };
    struct store *store = NULL;

    CHILD_MUST(id_make('t', id) == 0);
    (void)stand_ready(shared);
    CHILD_MUST(store_open(place_path(shared->place, "state"), &store, NULL) == 0);
    CHILD_MUST(store_task_new(store, &task, NULL) == 0);
    store_close(&store);
}

static void a_store_that_many_make_at_once_is_one(void **state)
{
    struct shared *shared = share(*state);

    for (unsigned round = 0; round < 60; round++) {
        struct store *store;
        struct store_task *tasks = NULL;
        size_t n = 0;

        atomic_store(&shared->ready, 0);
        run_crowd(shared, open_first);
        store = open_store(*state);
        assert_int_equal(store_task_list(store, 99, &tasks, &n, NULL), 0);
        assert_int_equal(n, CROWD);
        store_tasks_free(tasks, n);
        store_close(&store);
        place_empty(*state);
    }
    (void)munmap(shared, sizeof(*shared));
}

/* ---- locks ---------------------------------------------------------------------------------- */

static void lock_and_wait(void *user)
{
    struct shared *shared = user;
    struct store *store = NULL;
    int fd = -1;

    CHILD_MUST(store_open(place_path(shared->place, "state"), &store, NULL) == 0);
    CHILD_MUST(store_task_lock(store, TASK_A, &fd, NULL) == 0);
    atomic_store(&shared->ready, 1);
    for (;;)
        (void)pause();
}

static void a_lock_goes_with_its_process(void **state)
{
    struct place *place = *state;
    struct shared *shared = share(place);
    struct store *store = open_store(place);
    struct gb_err err = { 0 };
    pid_t pid;
    int fd = -1;

    assert_int_equal(put_task(store, TASK_A, NULL, NULL), 0);
    store_close(&store);
    pid = work_begin(lock_and_wait, shared);
    while (!atomic_load(&shared->ready))
        (void)usleep(1000);
    store = open_store(place);
    assert_int_equal(store_task_lock(store, TASK_A, &fd, &err), -EBUSY);
    assert_non_null(strstr(err.msg, TASK_A));
    assert_true(store_task_is_locked(store, TASK_A));
    assert_false(store_task_is_locked(store, TASK_B));
    assert_int_equal(store_task_lock(store, TASK_B, &fd, NULL), 0);
    assert_true(store_task_is_locked(store, TASK_B));
    store_task_unlock(store, TASK_B, &fd);
    assert_false(store_task_is_locked(store, TASK_B));
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(place_has(place, "state/locks/" TASK_A));
    assert_false(store_task_is_locked(store, TASK_A));
    assert_int_equal(store_task_lock(store, TASK_A, &fd, NULL), 0);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    store_task_unlock(store, TASK_A, &fd);
    assert_int_equal(fd, -1);
    assert_false(place_has(place, "state/locks/" TASK_A));
    assert_int_equal(store_task_forget(store, TASK_A, NULL), 0);
    store_close(&store);
    (void)munmap(shared, sizeof(*shared));
}

static void lock_often(void *user)
{
    struct shared *shared = user;
    struct store *store = NULL;

    CHILD_MUST(store_open(place_path(shared->place, "state"), &store, NULL) == 0);
    (void)stand_ready(shared);
    for (unsigned taken = 0; taken < 100;) {
        int fd = -1;
        int r = store_task_lock(store, TASK_A, &fd, NULL);

        CHILD_MUST(r == 0 || r == -EBUSY);
        if (r < 0) {
            (void)sched_yield();
            continue;
        }
        if (atomic_fetch_add(&shared->inside, 1) != 0)
            atomic_fetch_add(&shared->overlaps, 1);
        (void)sched_yield();
        atomic_fetch_sub(&shared->inside, 1);
        store_task_unlock(store, TASK_A, &fd);
        taken++;
    }
    store_close(&store);
}

/* The file is removed while others open it: the moment in which two could hold "the" lock. */
static void never_do_two_hold_a_lock(void **state)
{
    struct shared *shared = share(*state);

    run_crowd(shared, lock_often);
    assert_int_equal(atomic_load(&shared->overlaps), 0);
    (void)munmap(shared, sizeof(*shared));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_PLACE(files_are_their_owners_whatever_the_umask),
        IN_PLACE(directories_on_the_way_are_made_and_a_link_for_a_file_is_refused),
        IN_PLACE(a_task_comes_back_as_it_was_put),
        IN_PLACE(a_beginning_finds_its_task_when_only_one_has_it),
        IN_PLACE(the_newest_tasks_come_first),
        IN_PLACE(a_state_and_its_outcome_change_together),
        IN_PLACE(what_is_no_task_is_refused),
        IN_PLACE(a_removed_task_takes_its_effects_along),
        IN_PLACE(effects_come_in_the_order_in_which_they_were_put),
        IN_PLACE(a_reopened_task_runs_again_from_where_it_is_cut),
        IN_PLACE(an_output_may_be_any_bytes),
        IN_PLACE(an_effect_is_put_once_and_for_a_task),
        IN_PLACE(the_largest_output_fits_and_no_larger_one),
        cmocka_unit_test(digests_are_those_of_sha256),
        IN_PLACE(processes_write_side_by_side),
        IN_QUICK_PLACE(a_store_that_many_make_at_once_is_one),
        IN_PLACE(a_lock_goes_with_its_process),
        IN_QUICK_PLACE(never_do_two_hold_a_lock),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
