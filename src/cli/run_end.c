/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run_end.c - what a task leaves in the store when it ends. */
#include "cli/run_end.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/task.h"
#include "base/buf.h"
#include "base/err.h"
#include "cli/run_deliver.h"
#include "cli/strings.h"
#include "json/value.h"
#include "json/writer.h"
#include "store/digest.h"
#include "store/store.h"

#define REASON_MAX 2000

/* ---- putting -------------------------------------------------------------------------------- */

static int put(struct store *store, const char *task, const char *name, const char *bytes,
               size_t len, struct gb_err *err)
{
    char own_name[STORE_NAME_MAX + 1];
    char digest[DIGEST_SIZE];
    cleanup_free char *output = malloc(len + 1);
    struct store_effect effect = {
        .name = own_name,
        .digest = digest,
        .output = output,
        .output_len = len,
    };
    int r;

    if (!output)
        return gb_no_memory(err);
    memcpy(output, bytes, len);
    output[len] = '\0';
    (void)snprintf(own_name, sizeof(own_name), "%s", name);
    r = digest_of("", 0, digest, err);
    if (r == 0)
        r = store_effect_put(store, task, &effect, err);
    if (r == -EEXIST && err)
        *err = (struct gb_err){ 0 };
    return r == -EEXIST ? 0 : r;
}

static int put_contract(struct store *store, const char *task, const struct agent_outcome *outcome,
                        struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(CONTRACT_TEXT_MAX);
    int r;

    if (!outcome->has_contract)
        return 0;
    r = contract_text(&outcome->contract, &text);
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "the contract: %s", strerror(-r));
    return put(store, task, "result/contract", text.data, text.len, err);
}

static int put_files(struct store *store, const char *task, const struct agent_files *files,
                     struct gb_err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < files->n; i++) {
        char name[48];

        (void)snprintf(name, sizeof(name), "result/file-%zu", i + 1);
        r = put(store, task, name, files->items[i].text, files->items[i].len, err);
    }
    return r;
}

static int manifest(const struct agent_outcome *outcome, const struct deliverable *delivered,
                    struct buf *ret, struct gb_err *err)
{
    struct json_writer w;
    int r = 0;

    json_writer_init(&w, ret, false);
    json_object_begin(&w, NULL);
    json_array_begin(&w, "files");
    for (size_t i = 0; i < outcome->code.n; i++)
        json_put_str(&w, NULL, outcome->code.items[i].path);
    json_array_end(&w);
    json_put_bool(&w, "has_contract", outcome->has_contract);
    json_array_begin(&w, "delivered");
    for (size_t i = 0; r == 0 && i < delivered->n; i++) {
        char digest[DIGEST_SIZE] = "";

        r = digest_of(delivered->items[i].text, delivered->items[i].len, digest, err);
        json_put_str(&w, NULL, delivered->items[i].path);
        json_put_str(&w, NULL, digest);
    }
    json_array_end(&w);
    json_object_end(&w);
    if (json_writer_end(&w) < 0 && r == 0)
        r = gb_no_memory(err);
    return r;
}

int run_end_put(struct store *store, const char *task, const struct agent_outcome *outcome,
                const struct deliverable *delivered, const struct buf *document, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(STORE_TEXT_MAX);
    int r = put_contract(store, task, outcome, err);

    if (r == 0)
        r = put_files(store, task, &outcome->code, err);
    if (r == 0)
        r = put(store, task, "result/document", document->data, document->len, err);
    if (r == 0)
        r = manifest(outcome, delivered, &text, err);
    return r < 0 ? r : put(store, task, "result", text.data, text.len, err);
}

/* ---- getting -------------------------------------------------------------------------------- */

static int get(struct store *store, const char *task, const char *name, struct buf *ret,
               struct gb_err *err)
{
    struct store_effect effect = { 0 };
    int r = store_effect_get(store, task, name, &effect, err);

    if (r == 1 && buf_add(ret, effect.output, effect.output_len) < 0)
        r = gb_fail(err, -ENOMEM, GB_BLAME_HOST, "'%s' of the task: no memory", name);
    store_effect_clear(&effect);
    return r;
}

static int must_get(struct store *store, const char *task, const char *name, struct buf *ret,
                    struct gb_err *err)
{
    int r = get(store, task, name, ret, err);

    if (r == 0)
        return gb_fail(err, -ENOENT, GB_BLAME_HOST, "the task has left no '%s'", name);
    return r < 0 ? r : 0;
}

int run_end_file(struct store *store, const char *task, size_t i, struct buf *ret,
                 struct gb_err *err)
{
    char name[48];

    (void)snprintf(name, sizeof(name), "result/file-%zu", i + 1);
    return must_get(store, task, name, ret, err);
}

int run_end_contract(struct store *store, const char *task, struct buf *ret, struct gb_err *err)
{
    return must_get(store, task, "result/contract", ret, err);
}

int run_end_document(struct store *store, const char *task, struct buf *ret, struct gb_err *err)
{
    return get(store, task, "result/document", ret, err);
}

static int add_all(const struct json_value *list, char ***ret)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < json_count(list); i++) {
        const char *text = json_str(json_at(list, i), NULL);

        r = text ? strings_add(ret, text) : -EINVAL;
    }
    return r;
}

int run_end_get(struct store *store, const char *task, struct run_end *ret, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(STORE_TEXT_MAX);
    cleanup_json struct json_value *value = NULL;
    int r = get(store, task, "result", &text, err);

    if (r <= 0)
        return r;
    r = json_value_parse(text.data, text.len, STORE_TEXT_MAX, &value, err);
    if (r == 0)
        r = add_all(json_get(value, "files"), &ret->files);
    if (r == 0)
        r = add_all(json_get(value, "delivered"), &ret->delivered);
    if (r == 0 && (!json_bool(json_get(value, "has_contract"), &ret->has_contract) ||
                   strings_count(ret->delivered) % 2))
        r = -EINVAL;
    return r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "what the task has left cannot be read") : 1;
}

void run_end_clear(struct run_end *end)
{
    strings_free(end->files);
    strings_free(end->delivered);
    *end = (struct run_end){ 0 };
}

/* ---- the summary ---------------------------------------------------------------------------- */

/* A column holds only so much; a long reason stands whole in the document. */
static void put_cut(struct json_writer *w, const char *key, const char *text)
{
    if (text)
        json_put_bytes(w, key, text, strnlen(text, REASON_MAX));
    else
        json_put_null(w, key);
}

static void put_amounts(struct json_writer *w, const char *key, const uint64_t *amounts)
{
    json_object_begin(w, key);
    for (enum budget_item item = 0; item < N_BUDGET_ITEMS; item++)
        json_put_u64(w, budget_item_name(item), amounts[item]);
    json_object_end(w);
}

static void put_stop(struct json_writer *w, const char *key, const struct agent_stop *stop)
{
    if (!stop->is_there)
        return;
    json_object_begin(w, key);
    json_put_str(w, "item", budget_item_name(stop->item));
    json_put_u64(w, "place", stop->place);
    put_amounts(w, "limits", stop->budget.limits);
    put_amounts(w, "spent", stop->budget.spent);
    json_object_end(w);
}

int run_summary_text(const struct agent_outcome *outcome, const char *delivered, struct buf *ret)
{
    struct json_writer w;

    json_writer_init(&w, ret, false);
    json_object_begin(&w, NULL);
    if (outcome->is_waiting)
        json_put_null(&w, "outcome");
    else
        json_put_str(&w, "outcome", outcome_name(outcome->outcome));
    put_cut(&w, "reason", outcome->reason);
    put_cut(&w, "question", outcome->is_waiting ? outcome->question : NULL);
    json_put_str(&w, "delivered", delivered);
    if (agent_outcome_stop(outcome)) {
        put_stop(&w, "stop", &outcome->stop);
        put_stop(&w, "tried", &outcome->tried);
    }
    json_object_end(&w);
    return json_writer_end(&w);
}

int run_summary_failed(const char *reason, struct buf *ret)
{
    struct json_writer w;

    json_writer_init(&w, ret, false);
    json_object_begin(&w, NULL);
    put_cut(&w, "reason", reason);
    json_object_end(&w);
    return json_writer_end(&w);
}

static char *copy_of(const struct json_value *object, const char *key)
{
    const char *text = json_str(json_get(object, key), NULL);

    return text ? strdup(text) : NULL;
}

static bool get_amounts(const struct json_value *object, uint64_t *ret)
{
    bool is_whole = true;

    for (enum budget_item item = 0; item < N_BUDGET_ITEMS; item++)
        is_whole = is_whole && json_u64(json_get(object, budget_item_name(item)), &ret[item]);
    return is_whole;
}

static struct agent_stop get_stop(const struct json_value *object)
{
    const char *item = json_str(json_get(object, "item"), NULL);
    struct agent_stop stop = { 0 };

    stop.is_there = item && budget_item_parse(item, &stop.item) &&
                    json_u64(json_get(object, "place"), &stop.place) &&
                    get_amounts(json_get(object, "limits"), stop.budget.limits) &&
                    get_amounts(json_get(object, "spent"), stop.budget.spent);
    return stop;
}

void run_summary_parse(const char *json, struct run_summary *ret)
{
    cleanup_json struct json_value *value = NULL;

    if (!json || json_value_parse(json, strlen(json), STORE_TEXT_MAX, &value, NULL) < 0)
        return;
    ret->outcome = copy_of(value, "outcome");
    ret->reason = copy_of(value, "reason");
    ret->question = copy_of(value, "question");
    ret->delivered = copy_of(value, "delivered");
    ret->stop = get_stop(json_get(value, "stop"));
    ret->tried = get_stop(json_get(value, "tried"));
}

void run_summary_clear(struct run_summary *summary)
{
    free(summary->outcome);
    free(summary->reason);
    free(summary->question);
    free(summary->delivered);
    *summary = (struct run_summary){ 0 };
}
