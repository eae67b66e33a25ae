/* SPDX-License-Identifier: Apache-2.0 */
/* agent/event.c - an event as a line of JSON. */
#include "agent/event.h"

#include <stdlib.h>
#include <string.h>

#include "agent/contract.h"
#include "agent/fence.h"
#include "agent/judge.h"
#include "agent/reach.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "json/value.h"
#include "json/writer.h"

#define PART_MAX (16 << 20)

const char *event_name(enum event_kind kind)
{
    static const char *const names[N_EVENTS] = {
        [EVENT_BEGIN] = "begin",         [EVENT_STEP] = "step",
        [EVENT_CONTRACT] = "contract",   [EVENT_TESTS] = "tests",
        [EVENT_ATTEMPT] = "attempt",     [EVENT_ASK] = "ask",
        [EVENT_TEXT] = "text",           [EVENT_REASONING] = "reasoning",
        [EVENT_AGAIN] = "again",         [EVENT_ANSWERED] = "answered",
        [EVENT_CODE] = "code",           [EVENT_ROW] = "test",
        [EVENT_REPORT] = "report",       [EVENT_MUTATION] = "mutation",
        [EVENT_SEARCH] = "search",       [EVENT_QUESTION] = "question",
        [EVENT_OUTPUT] = "output",       [EVENT_NOTE] = "note",
        [EVENT_MATRIX] = "matrix",       [EVENT_END] = "end",
        [EVENT_NETWORK] = "network",     [EVENT_INSTALLING] = "installing",
        [EVENT_PACKAGES] = "packages",   [EVENT_WAITING] = "waiting",
        [EVENT_INSTALLER] = "installer",
    };

    return names[kind];
}

/* A part that has its own text as JSON, for people perhaps: an event is one line. */
static void put_part(struct json_writer *w, const char *key, const struct buf *part)
{
    cleanup_json struct json_value *value = NULL;
    cleanup_buf struct buf compact = BUF_INIT(PART_MAX);

    if (part->len > 0 && buf_error(part) == 0 &&
        json_value_parse(part->data, part->len, PART_MAX, &value, NULL) == 0 &&
        json_value_text(value, &compact) == 0)
        json_put_raw(w, key, compact.data);
}

static void put_contract(struct json_writer *w, const struct contract *contract)
{
    cleanup_buf struct buf part = BUF_INIT(PART_MAX);

    if (contract && contract_text(contract, &part) == 0)
        put_part(w, "contract", &part);
}

static void put_report(struct json_writer *w, const struct judge_report *report)
{
    cleanup_buf struct buf part = BUF_INIT(PART_MAX);

    if (report && judge_report_text(report, &part) == 0)
        put_part(w, "report", &part);
}

static void put_mutation(struct json_writer *w, const struct judge_mutation *mutation)
{
    cleanup_buf struct buf part = BUF_INIT(PART_MAX);

    if (mutation && judge_mutation_text(mutation, &part) == 0)
        put_part(w, "mutation", &part);
}

void event_put_packages(struct json_writer *w, const char *json)
{
    static const char *const keys[] = { "packages", "install", "failed" };
    cleanup_json struct json_value *value = NULL;

    if (json && json_value_parse(json, strlen(json), PART_MAX, &value, NULL) < 0)
        return;
    for (size_t i = 0; i < N_ELEMENTS(keys); i++) {
        const struct json_value *part = json_get(value, keys[i]);
        cleanup_buf struct buf text = BUF_INIT(PART_MAX);

        if (json_kind(part) != JSON_NONE && json_value_text(part, &text) == 0)
            json_put_raw(w, keys[i], text.data);
        else
            json_put_null(w, keys[i]);
    }
}

static void put_tests(struct json_writer *w, const struct judge_tests *tests)
{
    if (!tests)
        return;
    json_array_begin(w, "tests");
    for (size_t i = 0; i < tests->n; i++) {
        json_object_begin(w, NULL);
        json_put_str(w, "id", tests->items[i].id);
        json_put_str(w, "class", test_class_name(tests->items[i].class));
        json_put_str(w, "origin", test_origin_name(tests->items[i].origin));
        json_object_end(w);
    }
    json_array_end(w);
}

static void put_row(struct json_writer *w, const struct judge_row *row)
{
    if (!row)
        return;
    json_put_str(w, "id", row->id);
    json_put_str(w, "result", test_result_name(row->result));
    json_put_str(w, "message", row->message);
    json_put_u64(w, "ms", row->ms);
}

void event_put_spent(struct json_writer *w, const struct agent_spent *spent)
{
    json_object_begin(w, "spent");
    json_put_u64(w, "calls", spent->calls);
    json_put_u64(w, "tokens", spent->tokens);
    json_put_u64(w, "cached", spent->cached);
    if (spent->has_cost)
        json_put_double(w, "dollars", (double)spent->micro_dollars / 1e6, 6);
    else
        json_put_null(w, "dollars");
    json_put_u64(w, "wall_ms", spent->wall_ms);
    json_object_end(w);
}

int event_text(const struct agent_event *event, struct buf *ret)
{
    struct json_writer w;

    json_writer_init(&w, ret, false);
    json_object_begin(&w, NULL);
    json_put_str(&w, "event", event_name(event->kind));
    if (event->is_remembered)
        json_put_bool(&w, "remembered", true);
    if (event->name)
        json_put_str(&w, "name", event->name);
    if (event->number)
        json_put_u64(&w, "number", event->number);
    if (event->text)
        json_put_bytes(&w, "text", event->text, event->len);
    put_contract(&w, event->contract);
    if (event->reach)
        reach_put(&w, event->reach);
    if (event->json)
        event_put_packages(&w, event->json);
    put_tests(&w, event->tests);
    if (event->files)
        agent_files_list(&w, "files", event->files);
    put_row(&w, event->row);
    put_report(&w, event->report);
    put_mutation(&w, event->mutation);
    if (event->kind == EVENT_ANSWERED || event->kind == EVENT_END)
        event_put_spent(&w, &event->spent);
    json_object_end(&w);
    (void)json_writer_end(&w);
    return buf_putc(ret, '\n');
}
