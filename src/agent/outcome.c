/* SPDX-License-Identifier: Apache-2.0 */
/* agent/outcome.c - the end of a task as a JSON document. */
#include <string.h>

#include "agent/task.h"
#include "base/buf.h"
#include "json/value.h"
#include "json/writer.h"
#include "run/touch.h"

#define PART_MAX (32 << 20)

/* Text that is JSON already, or should be: it may come out of somebody's recording. */
static void put_json(struct json_writer *w, const char *key, const char *text)
{
    cleanup_buf struct buf part = BUF_INIT(PART_MAX);
    cleanup_json struct json_value *value = NULL;

    if (text && json_value_parse(text, strlen(text), PART_MAX, &value, NULL) == 0 &&
        json_value_text(value, &part) == 0)
        json_put_raw(w, key, part.data);
    else
        json_put_null(w, key);
}

static void put_contract(struct json_writer *w, const struct agent_outcome *out)
{
    cleanup_buf struct buf part = BUF_INIT(PART_MAX);

    put_json(w, "contract",
             out->has_contract && contract_text(&out->contract, &part) == 0 ? part.data : NULL);
}

/* Null where none was wanted and none granted. */
static void put_network(struct json_writer *w, const struct agent_reach *reach)
{
    if (!reach->granted && reach->n_refused == 0) {
        json_put_null(w, "network");
        return;
    }
    json_object_begin(w, "network");
    reach_put(w, reach);
    json_object_end(w);
}

/* Null where none was wanted. */
static void put_packages(struct json_writer *w, const char *json)
{
    if (!json) {
        json_put_null(w, "dependencies");
        return;
    }
    json_object_begin(w, "dependencies");
    event_put_packages(w, json);
    json_object_end(w);
}

/* Of the code: tests are run by whoever means to. */
static void put_runners(struct json_writer *w, const struct agent_files *code)
{
    json_array_begin(w, "runners");
    for (size_t i = 0; i < code->n; i++) {
        const char *runner = touch_runner(code->items[i].path);

        if (!runner)
            continue;
        json_object_begin(w, NULL);
        json_put_str(w, "path", code->items[i].path);
        json_put_str(w, "runner", runner);
        json_object_end(w);
    }
    json_array_end(w);
}

static void put_tests(struct json_writer *w, const struct agent_outcome *out)
{
    json_array_begin(w, "tests");
    for (size_t i = 0; i < out->tests.n; i++) {
        const struct judge_test *test = &out->tests.items[i];
        const struct judge_row *row = judge_report_row(&out->report, test->id);

        json_object_begin(w, NULL);
        json_put_str(w, "id", test->id);
        json_put_str(w, "class", test_class_name(test->class));
        json_put_str(w, "origin", test_origin_name(test->origin));
        json_put_bool(w, "withdrawn", test->is_withdrawn);
        json_put_bool(w, "together", row && row->is_together);
        json_put_str(w, "result", row ? test_result_name(row->result) : NULL);
        json_put_str(w, "message", row ? row->message : NULL);
        json_put_u64(w, "ms", row ? row->ms : 0);
        json_object_end(w);
    }
    json_array_end(w);
}

static void put_quality(struct json_writer *w, const struct agent_outcome *out)
{
    judge_put_share(w, "coverage", out->report.n_rows > 0 ? out->report.coverage : -1);
    judge_put_share(w, "mutation_score", out->mutation.n > 0 ? out->mutation.score : -1);
    json_array_begin(w, "unnoticed");
    for (size_t i = 0; i < out->mutation.n; i++) {
        const struct judge_mutant *mutant = &out->mutation.items[i];

        if (!mutant->is_killed && !mutant->is_hint)
            json_put_str(w, NULL, mutant->function);
    }
    json_array_end(w);
    json_put_str(w, "lint", out->report.lint);
    json_put_u64(w, "memory_peak_bytes", out->report.memory_peak_bytes);
}

/* A text is an answer too, and what a short program printed: then no judge has said a word. */
static bool is_tested(const struct agent_outcome *out)
{
    return out->report.n_rows > 0 || out->report.diagnosis != DIAGNOSIS_NONE;
}

const struct agent_stop *agent_outcome_stop(const struct agent_outcome *outcome)
{
    if (outcome->is_waiting || outcome->outcome == OUTCOME_PASSED ||
        outcome->outcome == OUTCOME_SUSPECT)
        return NULL;
    if (outcome->stop.is_there)
        return &outcome->stop;
    return outcome->tried.is_there ? &outcome->tried : NULL;
}

int agent_outcome_text(const struct agent_spec *spec, const struct agent_outcome *outcome,
                       struct buf *ret)
{
    const struct agent_stop *stop = agent_outcome_stop(outcome);
    struct json_writer w;

    json_writer_init(&w, ret, false);
    json_object_begin(&w, NULL);
    json_put_u64(&w, "schema", 1);
    json_put_str(&w, "id", spec->id);
    json_put_str(&w, "objective", spec->objective);
    json_put_str(&w, "user", spec->owner.name);
    json_put_str(&w, "state", outcome->is_waiting ? "waiting" : "done");
    json_put_str(&w, "question", outcome->question);
    json_put_str(&w, "outcome", outcome->is_waiting ? NULL : outcome_name(outcome->outcome));
    json_put_bool(&w, "tested", is_tested(outcome));
    json_put_str(&w, "reason", outcome->reason);
    json_put_str(&w, "answer", outcome->answer);
    json_put_str(&w, "explanation", outcome->explanation);
    json_put_str(&w, "run_failed", outcome->run_failed);
    put_contract(&w, outcome);
    put_network(&w, &outcome->reach);
    put_packages(&w, outcome->packages);
    agent_files_list(&w, "files", &outcome->code);
    put_runners(&w, &outcome->code);
    put_tests(&w, outcome);
    agent_files_list(&w, "test_files", &outcome->tests.files);
    put_json(&w, "test_cases", outcome->tests.cases);
    put_quality(&w, outcome);
    put_json(&w, "matrix", outcome->matrix);
    json_put_u64(&w, "attempts", outcome->attempts);
    event_put_spent(&w, &outcome->spent);
    json_put_str(&w, "used_up", stop ? budget_item_name(stop->item) : NULL);
    json_object_end(&w);
    return json_writer_end(&w);
}
