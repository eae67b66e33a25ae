/* SPDX-License-Identifier: Apache-2.0 */
/* agent/journal.c - effects, each done once.
 *
 * One mutex guards the journal and the store beneath it; an effect itself runs outside of it. While
 * it runs its name stands in `running`, so that no other thread does the same. */
#include "agent/journal.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "agent/recording.h"
#include "base/err.h"
#include "base/id.h"
#include "store/digest.h"
#include "store/store.h"

/* Threads that may do effects at a time. */
#define RUNNING_MAX 256

struct journal {
    pthread_mutex_t lock;
    struct store *store; /* NULL: a replay */
    struct store_task task;
    struct recording recording;
    bool has_done;         /* an effect was begun that was not there */
    uint64_t place;        /* the highest seq that was asked for */
    uint64_t place_before; /* what that was before the last effect */
    bool *is_used;         /* of the recording's effects: asked for */
    struct gb_err divergence;
    struct recorder recorder;
    const char *running[RUNNING_MAX];
    size_t n_running;
};

#define cleanup_journal cleanup_with(journal_close)

static struct journal *journal_new(void)
{
    struct journal *journal = calloc(1, sizeof(*journal));

    if (!journal)
        return NULL;
    if (pthread_mutex_init(&journal->lock, NULL) != 0) {
        free(journal);
        return NULL;
    }
    journal->recorder.fd = -1;
    return journal;
}

int journal_open(struct store *store, const char *task, struct journal **ret, struct gb_err *err)
{
    cleanup_journal struct journal *journal = NULL;
    int r;

    if (!id_is_valid('t', task))
        return gb_fail(err, -EINVAL, GB_BLAME_BUG, "a journal needs the whole id of a task");
    journal = journal_new();
    if (!journal)
        return gb_no_memory(err);
    journal->store = store;
    r = store_task_get(store, task, &journal->task, err);
    if (r == 0)
        *ret = take_ptr(journal);
    return r;
}

static int begin_replay(struct journal **journal, struct journal **ret, struct gb_err *err)
{
    (*journal)->is_used = calloc((*journal)->recording.n + 1, sizeof(bool));
    if (!(*journal)->is_used)
        return gb_no_memory(err);
    *ret = take_ptr(*journal);
    return 0;
}

int journal_replay(const char *path, struct journal **ret, struct gb_err *err)
{
    cleanup_journal struct journal *journal = journal_new();
    int r;

    if (!journal)
        return gb_no_memory(err);
    r = recording_read(path, &journal->recording, err);
    return r < 0 ? r : begin_replay(&journal, ret, err);
}

int journal_replay_stored(struct store *store, const char *task, struct journal **ret,
                          struct gb_err *err)
{
    cleanup_journal struct journal *journal = journal_new();
    int r;

    if (!journal)
        return gb_no_memory(err);
    r = recording_of_store(store, task, &journal->recording, err);
    return r < 0 ? r : begin_replay(&journal, ret, err);
}

void journal_close(struct journal **journal)
{
    if (!*journal)
        return;
    assert((*journal)->n_running == 0);
    recorder_close(&(*journal)->recorder);
    recording_clear(&(*journal)->recording);
    store_task_clear(&(*journal)->task);
    (void)pthread_mutex_destroy(&(*journal)->lock);
    free((*journal)->is_used);
    free(*journal);
    *journal = NULL;
}

/* ---- recording ------------------------------------------------------------------------------ */

struct copying {
    struct recorder_draft *draft;
    struct gb_err *err;
};

static int copy_effect(void *user, const struct store_effect *effect)
{
    const struct copying *copying = user;

    return recorder_draft_add(copying->draft, effect, copying->err);
}

static int record(struct journal *journal, const char *path, struct gb_err *err)
{
    cleanup_draft struct recorder_draft *draft = NULL;
    struct recorder recorder = { .fd = -1 };
    struct copying copying;
    int r = recorder_begin(path, journal->task.objective, &draft, err);

    copying = (struct copying){ .draft = draft, .err = err };
    if (r == 0)
        r = store_effect_each(journal->store, journal->task.id, copy_effect, &copying, err);
    if (r == 0)
        r = recorder_commit(&draft, &recorder, err);
    if (r < 0)
        return r;
    recorder_close(&journal->recorder);
    journal->recorder = recorder;
    return 0;
}

int journal_record(struct journal *journal, const char *path, struct gb_err *err)
{
    int r;

    if (!journal->store)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "a replay cannot be recorded");
    (void)pthread_mutex_lock(&journal->lock);
    r = record(journal, path, err);
    (void)pthread_mutex_unlock(&journal->lock);
    return r;
}

/* ---- what is remembered --------------------------------------------------------------------- */

static void pass(struct journal *journal, uint64_t seq)
{
    journal->place_before = journal->place;
    if (seq > journal->place)
        journal->place = seq;
}

/* Enough of a digest to tell two apart. */
#define DIGEST_SHOWN 12

static int other_input(const char *name, const char *then, const char *now, struct gb_err *err)
{
    return gb_fail(err, -ESTALE, GB_BLAME_CALLER,
                   "effect '%s' was done for another input (%.*s…, now %.*s…): this is not the "
                   "task that was begun, or it was begun with another version of glovebox",
                   name, DIGEST_SHOWN, then, DIGEST_SHOWN, now);
}

static int add_output(const char *name, const void *output, size_t len, struct buf *ret,
                      struct gb_err *err)
{
    int r = buf_add(ret, output, len);

    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "the output of effect '%s' (%zu bytes): %s", name,
                       len, strerror(-r));
    return 1;
}

static int recall_from_store(struct journal *journal, const char *name, const char *digest,
                             struct buf *ret, struct gb_err *err)
{
    struct store_effect effect = { 0 };
    int r = store_effect_get(journal->store, journal->task.id, name, &effect, err);

    if (r == 1 && strcmp(effect.digest, digest) != 0)
        r = other_input(name, effect.digest, digest, err);
    if (r == 1)
        pass(journal, effect.seq);
    if (r == 1)
        r = add_output(name, effect.output, effect.output_len, ret, err);
    store_effect_clear(&effect);
    return r;
}

/* The first that nobody asked for; NULL. */
static const char *next_in_recording(const struct journal *journal)
{
    for (size_t i = 0; i < journal->recording.n; i++)
        if (!journal->is_used[i])
            return journal->recording.effects[i].name;
    return NULL;
}

static int diverge(struct journal *journal, const char *name, const char *digest, size_t place)
{
    struct gb_err *first = &journal->divergence;
    const char *next = next_in_recording(journal);

    if (place == journal->recording.n && !next)
        return gb_fail(first, -ESTALE, GB_BLAME_CALLER,
                       "the recording ends too early, before '%s': was it interrupted?" GB_REMEDY
                       "glovebox run --resume ID --record FILE records a task whole",
                       name);
    if (place == journal->recording.n)
        return gb_fail(first, -ESTALE, GB_BLAME_CALLER,
                       "the replay diverges from its recording: the task wants effect '%s', the "
                       "recording goes on with '%s'",
                       name, next);
    return gb_fail(first, -ESTALE, GB_BLAME_CALLER,
                   "the replay diverges from its recording: effect '%s' has another input (%.*s…) "
                   "than '%s' in the recording (%.*s…)",
                   name, DIGEST_SHOWN, digest, journal->recording.effects[place].name, DIGEST_SHOWN,
                   journal->recording.effects[place].digest);
}

/* Once it has diverged it is another task: whoever asks next hears of the first divergence. */
static int recall_from_recording(struct journal *journal, const char *name, const char *digest,
                                 struct buf *ret, struct gb_err *err)
{
    size_t place = recording_find(&journal->recording, name);
    const struct store_effect *effect = &journal->recording.effects[place];

    if (journal->divergence.code == 0 &&
        (place == journal->recording.n || strcmp(effect->digest, digest) != 0))
        (void)diverge(journal, name, digest, place);
    if (journal->divergence.code != 0) {
        if (err)
            *err = journal->divergence;
        return journal->divergence.code;
    }
    journal->is_used[place] = true;
    return add_output(name, effect->output, effect->output_len, ret, err);
}

static size_t running_place(const struct journal *journal, const char *name)
{
    size_t i = 0;

    while (i < journal->n_running && strcmp(journal->running[i], name) != 0)
        i++;
    return i;
}

/* 1: remembered.  0: it is the caller's to do, and nobody else's until it is forgotten. */
static int recall_or_begin(struct journal *journal, const char *name, const char *digest,
                           struct buf *ret, struct gb_err *err)
{
    int r;

    if (running_place(journal, name) < journal->n_running)
        return gb_fail(err, -EEXIST, GB_BLAME_BUG, "effect '%s' is being done already", name);
    r = journal->store ? recall_from_store(journal, name, digest, ret, err)
                       : recall_from_recording(journal, name, digest, ret, err);
    if (r != 0)
        return r;
    if (journal->n_running == RUNNING_MAX)
        return gb_fail(err, -EAGAIN, GB_BLAME_BUG, "more than %d effects at a time", RUNNING_MAX);
    journal->running[journal->n_running++] = name;
    return 0;
}

static int end(struct journal *journal, const struct store_effect *done, int r, struct gb_err *err)
{
    uint64_t seq = 0;

    journal->running[running_place(journal, done->name)] = journal->running[--journal->n_running];
    if (r == 0)
        r = store_effect_put(journal->store, journal->task.id, done, err);
    if (r == 0)
        r = store_effect_last(journal->store, journal->task.id, &seq, err);
    if (r == 0)
        pass(journal, seq);
    if (r == 0 && journal->recorder.path)
        r = recorder_add(&journal->recorder, done, err);
    return r;
}

static int do_it(struct journal *journal, const char *name, const char *digest,
                 journal_effect effect, void *user, struct buf *ret, struct gb_err *err)
{
    cleanup_buf struct buf output = BUF_INIT(STORE_OUTPUT_MAX);
    char own_name[STORE_NAME_MAX + 1];
    char own_digest[DIGEST_SIZE];
    struct store_effect done = { .name = own_name, .digest = own_digest };
    int r = effect(user, &output, err);

    if (r >= 0 && (r = buf_error(&output)) < 0)
        (void)gb_fail(err, r, GB_BLAME_HOST, "the output of effect '%s': %s", name, strerror(-r));
    (void)snprintf(own_name, sizeof(own_name), "%s", name);
    (void)snprintf(own_digest, sizeof(own_digest), "%s", digest);
    done.output = output.data;
    done.output_len = output.len;
    (void)pthread_mutex_lock(&journal->lock);
    r = end(journal, &done, r < 0 ? r : 0, err);
    (void)pthread_mutex_unlock(&journal->lock);
    if (r == 0)
        r = add_output(name, output.data, output.len, ret, err);
    return r < 0 ? r : 0;
}

int journal_do(struct journal *journal, const char *name, const void *input, size_t input_len,
               journal_effect effect, void *user, struct buf *ret, struct gb_err *err)
{
    char digest[DIGEST_SIZE];
    int r;

    if (!store_effect_name_is_valid(name))
        return gb_fail(err, -EINVAL, GB_BLAME_BUG, "'%.40s' is no name for an effect", name);
    r = digest_of(input, input_len, digest, err);
    if (r < 0)
        return r;
    (void)pthread_mutex_lock(&journal->lock);
    r = recall_or_begin(journal, name, digest, ret, err);
    journal->has_done = journal->has_done || r == 0;
    (void)pthread_mutex_unlock(&journal->lock);
    if (r != 0)
        return r;
    return do_it(journal, name, digest, effect, user, ret, err);
}

bool journal_is_at_end(struct journal *journal)
{
    bool is_at_end = !journal->store;

    (void)pthread_mutex_lock(&journal->lock);
    for (size_t i = 0; is_at_end && i < journal->recording.n; i++)
        is_at_end = journal->is_used[i];
    (void)pthread_mutex_unlock(&journal->lock);
    return is_at_end;
}

bool journal_only_recalled(struct journal *journal)
{
    bool has_done;

    (void)pthread_mutex_lock(&journal->lock);
    has_done = journal->has_done;
    (void)pthread_mutex_unlock(&journal->lock);
    return !has_done;
}

uint64_t journal_place(struct journal *journal)
{
    uint64_t place;

    (void)pthread_mutex_lock(&journal->lock);
    place = journal->place;
    (void)pthread_mutex_unlock(&journal->lock);
    return place;
}

uint64_t journal_place_before(struct journal *journal)
{
    uint64_t place;

    (void)pthread_mutex_lock(&journal->lock);
    place = journal->place_before;
    (void)pthread_mutex_unlock(&journal->lock);
    return place;
}

bool journal_is_in_front(struct journal *journal)
{
    uint64_t last = 0;
    bool is_in_front;

    if (!journal->store)
        return false;
    (void)pthread_mutex_lock(&journal->lock);
    is_in_front = store_effect_last(journal->store, journal->task.id, &last, NULL) == 0 &&
                  last == journal->place;
    (void)pthread_mutex_unlock(&journal->lock);
    return is_in_front;
}

bool journal_has(struct journal *journal, const char *name)
{
    struct store_effect effect = { 0 };
    bool has;

    if (!journal->store)
        return recording_find(&journal->recording, name) < journal->recording.n;
    (void)pthread_mutex_lock(&journal->lock);
    has = store_effect_get(journal->store, journal->task.id, name, &effect, NULL) == 1;
    (void)pthread_mutex_unlock(&journal->lock);
    store_effect_clear(&effect);
    return has;
}
