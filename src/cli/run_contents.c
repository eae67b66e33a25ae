/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run_contents.c - the order of a task and the contents of its files, as effects. */
#include "cli/run_contents.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "agent/checkpoint.h"
#include "agent/folder.h"
#include "agent/journal.h"
#include "agent/task.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "cli/run_args.h"
#include "cli/run_end.h"
#include "cli/run_order.h"
#include "cli/strings.h"
#include "store/digest.h"
#include "store/store.h"

#define ORDER_MAX STORE_TEXT_MAX

int run_read_file(const char *path, struct buf *ret, struct gb_err *err)
{
    cleanup_close int fd = file_open(AT_FDCWD, path);
    int r = fd < 0 ? -errno : file_read(fd, ret);

    if (fd >= 0 && r == -EFBIG)
        return gb_fail(err, r, GB_BLAME_CALLER, "%.200s: files of a task may have %d MiB", path,
                       RUN_FILE_MAX >> 20);
    return r < 0 ? gb_fail(err, r, GB_BLAME_CALLER, "%.200s: %s", path, file_trouble(r)) : 0;
}

/* ---- where contents come from --------------------------------------------------------------- */

struct fetch {
    const struct run_source *source;
    size_t i;
};

static int fetch_order(void *user, struct buf *ret, struct gb_err *err)
{
    const struct fetch *fetch = user;
    int r = run_order_text(&fetch->source->options->order, ret);

    return r < 0 ? gb_no_memory(err) : 0;
}

static int fetch_objective(void *user, struct buf *ret, struct gb_err *err)
{
    const struct fetch *fetch = user;

    return buf_puts(ret, fetch->source->objective) < 0 ? gb_no_memory(err) : 0;
}

/* As the task that is continued remembers it. */
static int fetch_parents_file(const struct fetch *fetch, struct buf *ret, struct gb_err *err)
{
    const struct run_source *source = fetch->source;
    struct store_effect effect = { 0 };
    char name[48];
    int r;

    (void)snprintf(name, sizeof(name), "command/file-%zu", fetch->i + 1);
    r = store_effect_get(source->store, source->parent, name, &effect, err);
    if (r == 0)
        r = gb_fail(err, -ENOENT, GB_BLAME_CALLER,
                    "%s has lost its file %zu" GB_REMEDY "name it with --file", source->parent,
                    fetch->i + 1);
    else if (r == 1)
        r = buf_add(ret, effect.output, effect.output_len) < 0 ? gb_no_memory(err) : 0;
    store_effect_clear(&effect);
    return r;
}

static int fetch_file(void *user, struct buf *ret, struct gb_err *err)
{
    const struct fetch *fetch = user;
    char *const *pair = &fetch->source->options->host.sources[2 * fetch->i];
    char digest[DIGEST_SIZE];
    int r;

    if (fetch->source->options->host.has_parents_files)
        return fetch_parents_file(fetch, ret, err);
    r = run_read_file(pair[0], ret, err);
    if (r == 0)
        r = digest_of(ret->data, ret->len, digest, err);
    if (r == 0 && strcmp(digest, pair[1]) != 0)
        r = gb_fail(err, -ESTALE, GB_BLAME_CALLER,
                    "--file: %.200s has changed since the task was begun", pair[0]);
    return r;
}

static int fetch_from_folder(const char *path, const char *name, struct buf *ret,
                             struct gb_err *err)
{
    cleanup_folder struct folder *folder = NULL;
    cleanup_checkpoint struct checkpoint checkpoint = { 0 };
    const struct agent_file *file = NULL;
    int r = folder_open(path, &folder, err);

    if (r == 0)
        r = folder_get_checkpoint(folder, &checkpoint, err);
    if (r < 0)
        return r;
    file = agent_files_find(&checkpoint.latest_code, name);
    if (!file)
        return gb_fail(err, -ESTALE, GB_BLAME_CALLER, "%.200s has changed since the task was begun",
                       path);
    return buf_add(ret, file->text, file->len) < 0 ? gb_no_memory(err) : 0;
}

static int fetch_before(void *user, struct buf *ret, struct gb_err *err)
{
    const struct fetch *fetch = user;
    const struct run_source *source = fetch->source;

    if (source->options->host.from)
        return fetch_from_folder(source->options->host.from,
                                 source->options->order.before[fetch->i], ret, err);
    return run_end_file(source->store, source->parent, fetch->i, ret, err);
}

static int fetch_past(void *user, struct buf *ret, struct gb_err *err)
{
    const struct fetch *fetch = user;
    const char *path = fetch->source->options->host.from;
    cleanup_folder struct folder *folder = NULL;
    cleanup_checkpoint struct checkpoint checkpoint = { 0 };
    int r = folder_open(path, &folder, err);

    if (r == 0)
        r = folder_get_checkpoint(folder, &checkpoint, err);
    if (r < 0)
        return r;
    r = checkpoint_past(&checkpoint, ret);
    return r < 0 ? gb_fail(err, r, GB_BLAME_CALLER, "%.200s: what was done there", path) : 0;
}

static int fetch_contract(void *user, struct buf *ret, struct gb_err *err)
{
    const struct fetch *fetch = user;

    return run_end_contract(fetch->source->store, fetch->source->parent, ret, err);
}

/* ---- all of it ------------------------------------------------------------------------------ */

/* What a replay does not find is the journal's to tell: nothing is fetched then. */
static int recall(struct journal *journal, const char *name, journal_effect effect,
                  const struct run_source *source, size_t i, struct buf *ret, struct gb_err *err)
{
    struct fetch fetch = { source, i };
    int r = journal_do(journal, name, "", 0, effect, &fetch, ret, err);

    return r < 0 ? r : 0;
}

static int recall_order(struct journal *journal, const struct run_source *source,
                        struct run_order *ret, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(ORDER_MAX);
    int r = recall(journal, "command", fetch_order, source, 0, &text, err);

    return r < 0 ? r : run_order_parse(text.data ? text.data : "", text.len, ret, err);
}

static int recall_objective(struct journal *journal, const struct run_source *source, char **ret,
                            struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(AGENT_OBJECTIVE_MAX);
    int r = recall(journal, "command/objective", fetch_objective, source, 0, &text, err);

    if (r < 0)
        return r;
    if (text.len == 0 || strlen(text.data) != text.len)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "the recorded task is no text");
    *ret = buf_take(&text);
    return *ret ? 0 : gb_no_memory(err);
}

static int recall_inputs(struct journal *journal, const struct run_source *source,
                         const struct run_order *order, struct run_contents *ret,
                         struct gb_err *err)
{
    size_t n = strings_count(order->files);
    int r = 0;

    ret->inputs = calloc(n + 1, sizeof(*ret->inputs));
    if (!ret->inputs)
        return gb_no_memory(err);
    for (size_t i = 0; r == 0 && i < n; i++) {
        cleanup_buf struct buf bytes = BUF_INIT(RUN_FILE_MAX + 1);
        struct judge_input *input = &ret->inputs[i];
        char name[48];

        (void)snprintf(name, sizeof(name), "command/file-%zu", i + 1);
        r = recall(journal, name, fetch_file, source, i, &bytes, err);
        if (r < 0)
            return r;
        *input = (struct judge_input){ .path = order->files[i], .len = bytes.len };
        input->bytes = bytes.len ? buf_take(&bytes) : strdup("");
        if (!input->bytes)
            return gb_no_memory(err);
        ret->n_inputs++;
    }
    return r;
}

static int recall_before(struct journal *journal, const struct run_source *source,
                         const struct run_order *order, struct run_contents *ret,
                         struct gb_err *err)
{
    size_t n = strings_count(order->before);
    int r = 0;

    for (size_t i = 0; r == 0 && i < n; i++) {
        cleanup_buf struct buf text = BUF_INIT(FENCE_FILE_MAX);
        char name[48];

        (void)snprintf(name, sizeof(name), "command/before-%zu", i + 1);
        r = recall(journal, name, fetch_before, source, i, &text, err);
        if (r < 0)
            return r;
        r = agent_files_put(&ret->before, order->before[i], text.data ? text.data : "", text.len);
        if (r < 0)
            return gb_fail(err, r, GB_BLAME_HOST, "the files of the run that is continued: %s",
                           strerror(-r));
    }
    return 0;
}

static int recall_contract(struct journal *journal, const struct run_source *source,
                           const struct run_order *order, struct run_contents *ret,
                           struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(CONTRACT_TEXT_MAX);
    int r;

    if (!order->has_contract)
        return 0;
    r = recall(journal, "command/contract", fetch_contract, source, 0, &text, err);
    return r < 0 ? r : contract_parse(text.data ? text.data : "", text.len, &ret->contract, err);
}

static int recall_past(struct journal *journal, const struct run_source *source,
                       const struct run_order *order, struct run_contents *ret, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(CHECKPOINT_PAST_MAX);
    int r;

    if (!order->has_past)
        return 0;
    r = recall(journal, "command/past", fetch_past, source, 0, &text, err);
    if (r < 0)
        return r;
    ret->past = text.len ? buf_take(&text) : strdup("");
    return ret->past ? 0 : gb_no_memory(err);
}

int run_contents_recall(struct journal *journal, const struct run_source *source,
                        struct run_order *order, struct run_contents *ret, struct gb_err *err)
{
    int r = recall_order(journal, source, order, err);

    if (r == 0)
        r = recall_objective(journal, source, &ret->objective, err);
    if (r == 0)
        r = recall_inputs(journal, source, order, ret, err);
    if (r == 0)
        r = recall_before(journal, source, order, ret, err);
    if (r == 0)
        r = recall_contract(journal, source, order, ret, err);
    if (r == 0)
        r = recall_past(journal, source, order, ret, err);
    return r;
}

void run_contents_clear(struct run_contents *contents)
{
    for (size_t i = 0; i < contents->n_inputs; i++)
        free((void *)(uintptr_t)contents->inputs[i].bytes);
    free(contents->inputs);
    free(contents->objective);
    free(contents->past);
    agent_files_clear(&contents->before);
    contract_clear(&contents->contract);
    *contents = (struct run_contents){ 0 };
}
