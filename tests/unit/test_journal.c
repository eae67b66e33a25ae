/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_journal.c - effects: done once, remembered, recorded, replayed. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "agent/journal.h"
#include "agent/recording.h"
#include "base/err.h"
#include "killed.h"
#include "place.h"
#include "store/digest.h"
#include "store/store.h"

#include <cmocka.h>

#define TASK "t_00000000000000000000000000"

static char objective[] = "say \"hällo\"\n";
static const struct store_task task_row = { .id = (char[]){ TASK },
                                            .objective = objective,
                                            .options = (char[]){ "{}" } };

struct world {
    struct place *place;
    struct store *store;
    struct journal *journal;
    struct gb_err err;
};

static int world_make(void **state)
{
    struct world *world = calloc(1, sizeof(*world));

    assert_non_null(world);
    assert_int_equal(place_make_quick((void **)&world->place), 0);
    assert_int_equal(store_open(place_path(world->place, "state"), &world->store, NULL), 0);
    assert_int_equal(store_task_new(world->store, &task_row, NULL), 0);
    assert_int_equal(journal_open(world->store, TASK, &world->journal, NULL), 0);
    *state = world;
    return 0;
}

static int world_remove(void **state)
{
    struct world *world = *state;

    journal_close(&world->journal);
    store_close(&world->store);
    assert_int_equal(place_remove((void **)&world->place), 0);
    free(world);
    return 0;
}

/* ---- effects to do -------------------------------------------------------------------------- */

struct deed {
    const char *output;
    size_t len;
    int answer;
    unsigned calls;
};

static int do_deed(void *user, struct buf *ret, struct gb_err *err)
{
    struct deed *deed = user;

    deed->calls++;
    if (deed->answer < 0)
        return gb_fail(err, deed->answer, GB_BLAME_PEER, "it failed");
    return buf_add(ret, deed->output, deed->len);
}

static int do_text(struct world *world, const char *name, const char *input, const char *output,
                   unsigned *calls)
{
    cleanup_buf struct buf ret = BUF_INIT(1 << 20);
    struct deed deed = { .output = output, .len = strlen(output) };
    int r =
        journal_do(world->journal, name, input, strlen(input), do_deed, &deed, &ret, &world->err);

    if (calls)
        *calls += deed.calls;
    if (r == 0)
        assert_string_equal(ret.data, output);
    return r;
}

static void expect_output(struct world *world, const char *name, const char *input,
                          const char *output, size_t len)
{
    cleanup_buf struct buf ret = BUF_INIT(1 << 20);
    struct deed deed = { .answer = -EDOM };

    assert_int_equal(
        journal_do(world->journal, name, input, strlen(input), do_deed, &deed, &ret, &world->err),
        1);
    assert_int_equal(deed.calls, 0);
    assert_int_equal(ret.len, len);
    assert_memory_equal(ret.data, output, len);
}

/* ---- once ----------------------------------------------------------------------------------- */

static void an_effect_is_done_once(void **state)
{
    struct world *world = *state;
    unsigned calls = 0;

    assert_false(journal_has(world->journal, "a"));
    assert_int_equal(do_text(world, "a", "in", "out", &calls), 0);
    assert_true(journal_has(world->journal, "a"));
    assert_int_equal(calls, 1);
    expect_output(world, "a", "in", "out", 3);
    /* Also by the next process. */
    journal_close(&world->journal);
    assert_int_equal(journal_open(world->store, TASK, &world->journal, NULL), 0);
    expect_output(world, "a", "in", "out", 3);
    assert_int_equal(do_text(world, "b", "in", "", &calls), 0);
    expect_output(world, "b", "in", "", 0);
    assert_int_equal(calls, 2);
}

static void the_output_comes_behind_what_is_there(void **state)
{
    struct world *world = *state;
    cleanup_buf struct buf ret = BUF_INIT(8);
    struct deed deed = { .output = "12345", .len = 5 };

    assert_int_equal(buf_puts(&ret, "ab"), 0);
    assert_int_equal(journal_do(world->journal, "a", "", 0, do_deed, &deed, &ret, NULL), 0);
    assert_string_equal(ret.data, "ab12345");
    /* No room: an error, and still remembered. */
    assert_int_equal(journal_do(world->journal, "a", "", 0, do_deed, &deed, &ret, &world->err),
                     -EMSGSIZE);
    assert_int_equal(journal_do(world->journal, "b", "", 0, do_deed, &deed, &ret, &world->err),
                     -EMSGSIZE);
    assert_int_equal(deed.calls, 2);
    expect_output(world, "b", "", "12345", 5);
}

static void what_failed_is_not_remembered(void **state)
{
    struct world *world = *state;
    cleanup_buf struct buf ret = BUF_INIT(100);
    struct deed deed = { .answer = -ETIMEDOUT };

    assert_int_equal(journal_do(world->journal, "a", "", 0, do_deed, &deed, &ret, &world->err),
                     -ETIMEDOUT);
    assert_string_equal(world->err.msg, "it failed");
    assert_false(journal_has(world->journal, "a"));
    assert_int_equal(do_text(world, "a", "", "now", NULL), 0);
}

static int do_too_much(void *user, struct buf *ret, struct gb_err *err)
{
    (void)user;
    (void)err;
    (void)buf_add(ret, "x", 1);
    (void)buf_reserve(ret, STORE_OUTPUT_MAX);
    return 0;
}

static void an_output_over_the_limit_is_a_failure(void **state)
{
    struct world *world = *state;
    cleanup_buf struct buf ret = BUF_INIT(100);

    assert_int_equal(journal_do(world->journal, "a", "", 0, do_too_much, NULL, &ret, &world->err),
                     -EMSGSIZE);
    assert_int_equal(world->err.code, -EMSGSIZE);
    assert_false(journal_has(world->journal, "a"));
    assert_int_equal(ret.len, 0);
}

static void another_input_is_another_task(void **state)
{
    struct world *world = *state;

    assert_int_equal(do_text(world, "plan", "one", "out", NULL), 0);
    assert_int_equal(do_text(world, "plan", "two", "out", NULL), -ESTALE);
    assert_non_null(strstr(world->err.msg, "'plan'"));
    assert_non_null(strstr(world->err.msg, "7692c3ad3540")); /* sha256 of "one" */
    assert_non_null(strstr(world->err.msg, "3fc4ccfe7458")); /* and of "two" */
    expect_output(world, "plan", "one", "out", 3);
}

static void names_and_tasks_are_checked(void **state)
{
    struct world *world = *state;
    struct journal *journal = NULL;

    assert_int_equal(do_text(world, "", "", "", NULL), -EINVAL);
    assert_int_equal(do_text(world, "a b", "", "", NULL), -EINVAL);
    assert_int_equal(journal_open(world->store, "t_0", &journal, NULL), -EINVAL);
    assert_int_equal(journal_open(world->store, "t_00000000000000000000000001", &journal, NULL),
                     -ENOENT);
    assert_null(journal);
}

static int do_inner(void *user, struct buf *ret, struct gb_err *err)
{
    struct world *world = user;

    (void)err;
    assert_int_equal(do_text(world, "inner", "", "i", NULL), 0);
    /* It is not done yet, and may not be begun again. */
    assert_int_equal(do_text(world, "outer", "", "", NULL), -EEXIST);
    return buf_puts(ret, "o");
}

static void an_effect_may_do_others(void **state)
{
    struct world *world = *state;
    cleanup_buf struct buf ret = BUF_INIT(100);

    assert_int_equal(journal_do(world->journal, "outer", "", 0, do_inner, world, &ret, NULL), 0);
    expect_output(world, "inner", "", "i", 1);
    expect_output(world, "outer", "", "o", 1);
}

/* ---- threads -------------------------------------------------------------------------------- */

#define N_THREADS 4
#define N_EACH    50

struct racer {
    struct world *world;
    unsigned number;
    atomic_uint *shared_calls;
    int failure;
};

static int do_shared(void *user, struct buf *ret, struct gb_err *err)
{
    (void)err;
    atomic_fetch_add((atomic_uint *)user, 1);
    return buf_puts(ret, "shared");
}

static void *race(void *user)
{
    struct racer *racer = user;
    struct journal *journal = racer->world->journal;

    for (unsigned i = 0; i < N_EACH; i++) {
        cleanup_buf struct buf ret = BUF_INIT(100);
        char name[32];
        struct deed deed = { .output = name };
        int r;

        deed.len = (size_t)snprintf(name, sizeof(name), "own-%u/%u", racer->number, i);
        r = journal_do(journal, name, name, deed.len, do_deed, &deed, &ret, NULL);
        if (r != 0 || strcmp(ret.data, name) != 0)
            racer->failure = 1;
        buf_reset(&ret);
        (void)snprintf(name, sizeof(name), "shared/%u", i);
        r = journal_do(journal, name, "", 0, do_shared, racer->shared_calls, &ret, NULL);
        if (r == -EEXIST) /* another is at it */
            continue;
        if (r < 0 || strcmp(ret.data, "shared") != 0)
            racer->failure = 2;
    }
    return NULL;
}

static int count(void *user, const struct store_effect *effect)
{
    (void)effect;
    ++*(unsigned *)user;
    return 0;
}

static void threads_work_side_by_side(void **state)
{
    struct world *world = *state;
    pthread_t threads[N_THREADS];
    struct racer racers[N_THREADS];
    atomic_uint shared_calls = 0;
    unsigned n = 0;

    assert_int_equal(journal_record(world->journal, place_path(world->place, "rec"), NULL), 0);
    for (unsigned i = 0; i < N_THREADS; i++) {
        racers[i] = (struct racer){ world, i, &shared_calls, 0 };
        assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
    }
    for (unsigned i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(racers[i].failure, 0);
    }
    assert_int_equal(atomic_load(&shared_calls), N_EACH); /* each of them once */
    assert_int_equal(store_effect_each(world->store, TASK, count, &n, NULL), 0);
    assert_int_equal(n, (N_THREADS + 1) * N_EACH);
    /* The recording has the same, and serves as many threads. */
    journal_close(&world->journal);
    assert_int_equal(journal_replay(place_path(world->place, "rec"), &world->journal, NULL), 0);
    for (unsigned i = 0; i < N_EACH; i++) {
        char name[32];

        (void)snprintf(name, sizeof(name), "shared/%u", i);
        expect_output(world, name, "", "shared", 6);
    }
}

/* ---- recording and replay ------------------------------------------------------------------- */

static void a_recording_gives_back_every_byte(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
    } rows[] = {
        { "", 0 },
        { "plain", 5 },
        { "{\"a\":\"\\u00e4\\n\"}\n", 17 },
        { "ä ☃ 😀 \xe2\x80\xa8 \x7f \xc2\x85 \x01\x1b[0m", 27 },
        { "a\0b", 3 },
        { "\0", 1 },
        { "\xff\xfe", 2 },
        { "\xed\xa0\x80 surrogate", 13 },
        { "\xef\xbf\xbd \xef\xbf\xbe", 7 },
        { "1\xff", 2 },
        { "12\xff", 3 },
        { "123\xff", 4 },
    };
    struct world *world = *state;
    char name[16];

    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        cleanup_buf struct buf ret = BUF_INIT(100);
        struct deed deed = { .output = rows[i].bytes, .len = rows[i].len };

        if (i == 4) /* in the middle: what was done before comes along */
            assert_int_equal(journal_record(world->journal, place_path(world->place, "rec"), NULL),
                             0);
        (void)snprintf(name, sizeof(name), "e%zu", i);
        assert_int_equal(journal_do(world->journal, name, name, 2, do_deed, &deed, &ret, NULL), 0);
    }
    journal_close(&world->journal);
    assert_int_equal(journal_replay(place_path(world->place, "rec"), &world->journal, NULL), 0);
    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        cleanup_buf struct buf ret = BUF_INIT(100);
        struct deed deed = { .answer = -EDOM };

        (void)snprintf(name, sizeof(name), "e%zu", i);
        assert_true(journal_has(world->journal, name));
        assert_int_equal(journal_do(world->journal, name, name, 2, do_deed, &deed, &ret, NULL), 1);
        assert_int_equal(ret.len, rows[i].len);
        assert_memory_equal(ret.data, rows[i].bytes, rows[i].len);
    }
    assert_false(journal_has(world->journal, "e"));
    assert_int_equal(journal_record(world->journal, place_path(world->place, "r2"), NULL), -EINVAL);
}

static void a_recording_is_lines_of_json(void **state)
{
    struct world *world = *state;
    cleanup_buf struct buf text = BUF_INIT(1 << 20);

    assert_int_equal(do_text(world, "a", "one", "x\n", NULL), 0);
    assert_int_equal(journal_record(world->journal, place_path(world->place, "rec"), NULL), 0);
    assert_int_equal(do_text(world, "b", "two", "", NULL), 0);
    place_read(world->place, "rec", &text);
    assert_string_equal(text.data,
                        "{\"glovebox-recording\":1,\"objective\":\"say \\\"hällo\\\"\\n\"}\n"
                        "{\"name\":\"a\",\"digest\":"
                        "\"7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed\","
                        "\"output\":\"x\\n\"}\n"
                        "{\"name\":\"b\",\"digest\":"
                        "\"3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3\","
                        "\"output\":\"\"}\n");
    /* A second one takes its place, whole. */
    assert_int_equal(journal_record(world->journal, place_path(world->place, "rec"), NULL), 0);
    buf_reset(&text);
    place_read(world->place, "rec", &text);
    assert_non_null(strstr(text.data, "{\"name\":\"b\""));
}

static void a_recording_takes_the_place_of_a_file_only(void **state)
{
    struct world *world = *state;

    assert_int_equal(symlinkat("/dev/null", world->place->fd, "link"), 0);
    assert_int_equal(mkfifoat(world->place->fd, "fifo", 0600), 0);
    assert_int_equal(journal_record(world->journal, place_path(world->place, "link"), &world->err),
                     -EINVAL);
    assert_non_null(strstr(world->err.msg, "link' is there and is not a file"));
    assert_int_equal(journal_record(world->journal, place_path(world->place, "fifo"), &world->err),
                     -EINVAL);
    assert_int_equal(
        journal_record(world->journal, place_path(world->place, "no/rec"), &world->err), -ENOENT);
    /* The task goes on without. */
    assert_int_equal(do_text(world, "a", "", "x", NULL), 0);
}

/* Effects a, b and c, each with its name as input and output. */
static void record_abc(struct world *world)
{
    assert_int_equal(journal_record(world->journal, place_path(world->place, "rec"), NULL), 0);
    assert_int_equal(do_text(world, "a", "a", "a", NULL), 0);
    assert_int_equal(do_text(world, "b", "b", "b", NULL), 0);
    assert_int_equal(do_text(world, "c", "c", "c", NULL), 0);
    journal_close(&world->journal);
}

static void a_replay_tells_where_it_diverges(void **state)
{
    struct world *world = *state;
    const char *path;

    record_abc(world);
    path = place_path(world->place, "rec");
    assert_int_equal(journal_replay(path, &world->journal, NULL), 0);
    expect_output(world, "a", "a", "a", 1);
    assert_int_equal(do_text(world, "x", "b", "", NULL), -ESTALE);
    assert_non_null(strstr(world->err.msg, "wants effect 'x'"));
    assert_non_null(strstr(world->err.msg, "goes on with 'b'"));
    /* The first divergence is the one that counts, whoever asks for what then. */
    assert_int_equal(do_text(world, "c", "c", "", NULL), -ESTALE);
    assert_non_null(strstr(world->err.msg, "wants effect 'x'"));
    assert_int_equal(do_text(world, "y", "c", "", NULL), -ESTALE);
    assert_non_null(strstr(world->err.msg, "wants effect 'x'"));
    journal_close(&world->journal);

    assert_int_equal(journal_replay(path, &world->journal, NULL), 0);
    expect_output(world, "b", "b", "b", 1); /* the order is free */
    expect_output(world, "a", "a", "a", 1);
    assert_int_equal(do_text(world, "c", "other", "", NULL), -ESTALE);
    assert_non_null(strstr(world->err.msg, "effect 'c' has another input"));
    assert_non_null(strstr(world->err.msg, "2e7d2c03a950")); /* sha256 of "c" */
    assert_non_null(strstr(world->err.msg, "d9298a10d1b0")); /* and of "other" */
    journal_close(&world->journal);

    assert_int_equal(journal_replay(path, &world->journal, NULL), 0);
    expect_output(world, "c", "c", "c", 1);
    expect_output(world, "b", "b", "b", 1);
    assert_false(journal_is_at_end(world->journal));
    expect_output(world, "a", "a", "a", 1);
    assert_true(journal_is_at_end(world->journal));
    expect_output(world, "a", "a", "a", 1); /* asked again, told again */
    assert_int_equal(do_text(world, "d", "d", "", NULL), -ESTALE);
    assert_non_null(strstr(world->err.msg, "the recording ends too early"));
}

static void a_cut_recording_has_its_whole_lines(void **state)
{
    struct world *world = *state;
    cleanup_buf struct buf text = BUF_INIT(1 << 20);

    record_abc(world);
    place_read(world->place, "rec", &text);
    for (size_t len = 0; len <= text.len; len++) {
        struct recording recording = { 0 };
        size_t lines = 0;
        int r;

        for (size_t i = 0; i < len; i++)
            lines += text.data[i] == '\n';
        place_write(world->place, "cut", text.data, len);
        r = recording_read(place_path(world->place, "cut"), &recording, &world->err);
        assert_int_equal(r, lines > 0 ? 0 : -EINVAL);
        if (r == 0) {
            assert_int_equal(recording.n, lines - 1);
            assert_string_equal(recording.objective, objective);
            assert_true((recording_find(&recording, "c") < recording.n) == (lines == 4));
        }
        recording_clear(&recording);
    }
}

#define HEAD "{\"glovebox-recording\":1,\"objective\":\"o\"}\n"
#define HEX  "\"digest\":\"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\""

static void what_is_no_recording_is_refused(void **state)
{
    static const struct {
        const char *text;
        int code;
        const char *why;
    } rows[] = {
        { "\n", -EINVAL, "line 1" },
        { "{}\n", -EINVAL, "glovebox-recording" },
        { "[]\n", -EINVAL, "line 1" },
        { "{\"glovebox-recording\":1}\n", -EINVAL, "objective" },
        { "{\"glovebox-recording\":\"1\",\"objective\":\"\"}\n", -EINVAL, "line 1" },
        { "{\"glovebox-recording\":2,\"else\":[]}\n", -EPROTONOSUPPORT, "version 2" },
        { HEAD "\n", -EINVAL, "line 2" },
        { HEAD HEAD, -EINVAL, "line 2" },
        { HEAD "x\n", -EINVAL, "line 2" },
        { HEAD "{\"name\":\"a\"," HEX "}\n", -EINVAL, "one output" },
        { HEAD "{\"name\":\"a\"," HEX ",\"output\":\"\",\"output_base64\":\"\"}\n", -EINVAL,
          "one output" },
        { HEAD "{\"name\":\"a\"," HEX ",\"output\":7}\n", -EINVAL, "output" },
        { HEAD "{\"name\":\"a b\"," HEX ",\"output\":\"\"}\n", -EINVAL, "no name" },
        { HEAD "{\"name\":\"\"," HEX ",\"output\":\"\"}\n", -EINVAL, "no name" },
        { HEAD "{\"name\":\"a\",\"digest\":\"00\",\"output\":\"\"}\n", -EINVAL, "no digest" },
        { HEAD "{\"name\":\"a\"," HEX ",\"output\":\"\",\"more\":1}\n", -EINVAL, "more" },
        { HEAD "{\"name\":\"a\"," HEX ",\"output\":\"\\u0000\"}\n", -EINVAL, "line 2" },
        { HEAD "{\"name\":\"a\"," HEX ",\"output\":\"\xff\"}\n", -EINVAL, "line 2" },
        { HEAD "{\"name\":\"a\"," HEX ",\"output_base64\":\"AAA\"}\n", -EINVAL, "base64" },
        { HEAD "{\"name\":\"a\"," HEX ",\"output_base64\":\"AA=A\"}\n", -EINVAL, "base64" },
        { HEAD "{\"name\":\"a\"," HEX ",\"output_base64\":\"A===\"}\n", -EINVAL, "base64" },
        { HEAD "{\"name\":\"a\"," HEX ",\"output_base64\":\"AB==\"}\n", -EINVAL, "base64" },
        { HEAD "{\"name\":\"a\"," HEX ",\"output_base64\":\"AA!A\"}\n", -EINVAL, "base64" },
        { HEAD "{\"name\":\"a\"," HEX ",\"output\":\"\"}\n{\"name\":\"b\"," HEX
               ",\"output\":\"\"}\n{\"name\":\"a\"," HEX ",\"output\":\"\"}\n",
          -EINVAL, "'a' is in it twice" },
    };
    struct world *world = *state;
    struct journal *journal = NULL;

    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        place_write(world->place, "bad", rows[i].text, strlen(rows[i].text));
        assert_int_equal(journal_replay(place_path(world->place, "bad"), &journal, &world->err),
                         rows[i].code);
        if (!strstr(world->err.msg, rows[i].why) || !strstr(world->err.msg, "/bad'"))
            fail_msg("row %zu: %s", i, world->err.msg);
        assert_null(journal);
    }
}

static void what_is_no_file_is_refused(void **state)
{
    struct world *world = *state;
    struct journal *journal = NULL;
    cleanup_close int fd = -1;

    assert_int_equal(mkfifoat(world->place->fd, "fifo", 0600), 0);
    assert_int_equal(journal_replay(place_path(world->place, "fifo"), &journal, NULL), -EINVAL);
    assert_int_equal(journal_replay(place_path(world->place, "state"), &journal, NULL), -EINVAL);
    assert_int_equal(journal_replay(place_path(world->place, "none"), &journal, NULL), -ENOENT);
    place_write(world->place, "huge", "", 0);
    fd = openat(world->place->fd, "huge", O_WRONLY | O_CLOEXEC);
    assert_int_equal(ftruncate(fd, (off_t)RECORDING_MAX + 1), 0);
    assert_int_equal(journal_replay(place_path(world->place, "huge"), &journal, NULL), -EFBIG);
}

/* ---- death ---------------------------------------------------------------------------------- */

#define N_STEPS 4

/* A small task: each step does something to the world, and depends on the one before. */
struct step {
    const struct place *place;
    unsigned number;
    const char *before;
};

static int do_step(void *user, struct buf *ret, struct gb_err *err)
{
    const struct step *step = user;
    cleanup_close int fd =
        openat(step->place->fd, "done", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    char digit = (char)('0' + step->number);

    (void)err;
    if (fd < 0 || write(fd, &digit, 1) != 1)
        return -EIO;
    return buf_printf(ret, "%s%u", step->before, step->number);
}

static int small_task(struct place *place, char *result, size_t size)
{
    struct store *store = NULL;
    struct journal *journal = NULL;
    int r = store_open(place_path(place, "state"), &store, NULL);

    if (r == 0)
        r = store_task_new(store, &task_row, NULL);
    if (r == 0 || r == -EEXIST)
        r = journal_open(store, TASK, &journal, NULL);
    if (r == 0)
        r = journal_record(journal, place_path(place, "rec"), NULL);
    result[0] = '\0';
    for (unsigned i = 0; i < N_STEPS && r >= 0; i++) {
        cleanup_buf struct buf ret = BUF_INIT(100);
        struct step step = { .place = place, .number = i, .before = result };
        char name[16];

        (void)snprintf(name, sizeof(name), "step-%u", i);
        r = journal_do(journal, name, result, strlen(result), do_step, &step, &ret, NULL);
        (void)snprintf(result, size, "%s", r >= 0 ? ret.data : "");
    }
    journal_close(&journal);
    store_close(&store);
    return r < 0 ? r : 0;
}

static void run_small_task(void *user)
{
    char result[32];

    CHILD_MUST(small_task(user, result, sizeof(result)) == 0);
    CHILD_MUST(strcmp(result, "0123") == 0);
}

/* The file that a dead recorder left has whole effects, or is not there. */
static size_t recorded(struct place *place)
{
    struct recording recording = { 0 };
    size_t n = 0;

    if (!place_has(place, "rec"))
        return 0;
    assert_int_equal(recording_read(place_path(place, "rec"), &recording, NULL), 0);
    n = recording.n;
    recording_clear(&recording);
    return n;
}

static void killed_at_any_moment_a_task_goes_on(void **state)
{
    cleanup_buf struct buf done = BUF_INIT(100);
    struct place *place = *state;
    unsigned deaths = 0;
    unsigned twice = 0;
    char result[32];
    int r = 1;

    assert_int_equal(small_task(place, result, sizeof(result)), 0);
    for (unsigned n = 1; r == 1; n++) {
        size_t before;

        place_empty(place);
        r = killed_at(n, run_small_task, place);
        assert_true(r >= 0);
        before = recorded(place);
        assert_int_equal(small_task(place, result, sizeof(result)), 0);
        assert_string_equal(result, "0123");
        assert_int_equal(recorded(place), N_STEPS);
        /* Only a step whose end was not committed can have been done again. */
        place_read(place, "done", &done);
        assert_in_range(done.len, N_STEPS, N_STEPS + 1);
        twice += done.len > N_STEPS;
        assert_true(r == 1 || before == N_STEPS);
        deaths += r == 1;
    }
    assert_true(deaths > 100 && twice > 0 && twice < deaths);
}

static void a_journal_knows_how_far_it_has_come(void **state)
{
    struct world *world = *state;
    uint64_t one;

    assert_true(journal_place(world->journal) == 0 && journal_is_in_front(world->journal));
    assert_int_equal(do_text(world, "one", "", "1", NULL), 0);
    one = journal_place(world->journal);
    assert_int_equal(do_text(world, "two", "", "2", NULL), 0);
    assert_true(one > 0 && journal_place(world->journal) > one);
    assert_true(journal_place_before(world->journal) == one);
    assert_true(journal_is_in_front(world->journal));

    /* In the next life what was done lies before it until it is asked for. */
    journal_close(&world->journal);
    assert_int_equal(journal_open(world->store, TASK, &world->journal, NULL), 0);
    assert_false(journal_is_in_front(world->journal));
    assert_int_equal(do_text(world, "one", "", "1", NULL), 1);
    assert_true(journal_place(world->journal) == one && !journal_is_in_front(world->journal));
    assert_int_equal(do_text(world, "two", "", "2", NULL), 1);
    assert_true(journal_place_before(world->journal) == one);
    assert_true(journal_is_in_front(world->journal));
}

static bool ends_with_newline(const char *path)
{
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
    char last = 0;

    return fd >= 0 && lseek(fd, -1, SEEK_END) > 0 && read(fd, &last, 1) == 1 && last == '\n';
}

static void fill_the_recording(void *user)
{
    struct world world = { .place = user };
    struct recording recording = { 0 };
    char output[3000];
    char name[16];
    unsigned n = 0;
    int r;

    CHILD_MUST(mkdirat(world.place->fd, "small", 0700) == 0);
    work_on_small_disk(place_path(world.place, "small"), "size=64k");
    memset(output, 'x', sizeof(output) - 1);
    output[sizeof(output) - 1] = '\0';
    CHILD_MUST(store_open(place_path(world.place, "state"), &world.store, NULL) == 0);
    CHILD_MUST(store_task_new(world.store, &task_row, NULL) == 0);
    CHILD_MUST(journal_open(world.store, TASK, &world.journal, NULL) == 0);
    CHILD_MUST(journal_record(world.journal, place_path(world.place, "small/rec"), NULL) == 0);
    do {
        cleanup_buf struct buf ret = BUF_INIT(1 << 20);
        struct deed deed = { .output = output, .len = sizeof(output) - 1 };

        (void)snprintf(name, sizeof(name), "e%u", n);
        r = journal_do(world.journal, name, "", 0, do_deed, &deed, &ret, NULL);
    } while (r == 0 && ++n < 100);
    CHILD_MUST(r == -ENOSPC && n > 5);
    /* The effect is remembered, the recording has what it had. */
    CHILD_MUST(journal_has(world.journal, name));
    CHILD_MUST(recording_read(place_path(world.place, "small/rec"), &recording, NULL) == 0);
    CHILD_MUST(recording.n == n && ends_with_newline(place_path(world.place, "small/rec")));
    recording_clear(&recording);
    /* And goes on behind its last whole line. */
    CHILD_MUST(do_text(&world, "short", "", "x", NULL) == 0);
    CHILD_MUST(recording_read(place_path(world.place, "small/rec"), &recording, NULL) == 0);
    CHILD_MUST(recording.n == n + 1 && recording_find(&recording, "short") == n);
    recording_clear(&recording);
    journal_close(&world.journal);
    store_close(&world.store);
}

static void a_full_disk_leaves_whole_lines(void **state)
{
    int status = work_status(work_begin(fill_the_recording, *state));

    if (status == WORK_CANNOT)
        skip();
    assert_int_equal(status, 0);
}

#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, world_make, world_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_WORLD(an_effect_is_done_once),
        IN_WORLD(the_output_comes_behind_what_is_there),
        IN_WORLD(what_failed_is_not_remembered),
        IN_WORLD(an_output_over_the_limit_is_a_failure),
        IN_WORLD(another_input_is_another_task),
        IN_WORLD(names_and_tasks_are_checked),
        IN_WORLD(an_effect_may_do_others),
        IN_WORLD(threads_work_side_by_side),
        IN_WORLD(a_journal_knows_how_far_it_has_come),
        IN_WORLD(a_recording_gives_back_every_byte),
        IN_WORLD(a_recording_is_lines_of_json),
        IN_WORLD(a_recording_takes_the_place_of_a_file_only),
        IN_WORLD(a_replay_tells_where_it_diverges),
        IN_WORLD(a_cut_recording_has_its_whole_lines),
        IN_WORLD(what_is_no_recording_is_refused),
        IN_WORLD(what_is_no_file_is_refused),
        IN_QUICK_PLACE(killed_at_any_moment_a_task_goes_on),
        IN_QUICK_PLACE(a_full_disk_leaves_whole_lines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
