/* SPDX-License-Identifier: Apache-2.0 */
/* run/result.c - what is known of a run, and its JSON. */
#include "run/result.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/num.h"
#include "box/audit.h"
#include "egress/resolve.h"
#include "json/writer.h"
#include "run/packages.h"

/* ---- the struct ----------------------------------------------------------------------------- */

int run_result_add_file(struct run_result *result, const char *path, uint64_t bytes)
{
    struct run_file *grown =
        reallocarray(result->files, result->n_files + 1, sizeof(*result->files));

    if (!grown)
        return -ENOMEM;
    result->files = grown;
    grown[result->n_files] = (struct run_file){ .path = strdup(path), .bytes = bytes };
    if (!grown[result->n_files].path)
        return -ENOMEM;
    result->n_files++;
    return 0;
}

void run_result_add_note(struct run_result *result, const char *fmt, ...)
{
    va_list ap;
    int n;

    if (result->n_notes == RUN_NOTES_MAX)
        return;
    va_start(ap, fmt);
    n = vasprintf(&result->notes[result->n_notes], fmt, ap);
    va_end(ap);
    if (n >= 0)
        result->n_notes++;
}

void run_result_clear(struct run_result *result)
{
    for (size_t i = 0; i < result->n_notes; i++)
        free(result->notes[i]);
    for (size_t i = 0; i < result->n_files; i++)
        free(result->files[i].path);
    free(result->files);
    free(result->network);
    run_packages_free(result->packages);
    out_log_free(result->log);
    *result = (struct run_result){ 0 };
}

#define REFUSALS_TOLD 5

void run_result_note_network(struct run_result *result)
{
    const struct audit *audit = result->network;
    size_t n = 0;

    for (size_t i = 0; i < audit->n && n < REFUSALS_TOLD; i++) {
        const struct audit_entry *entry = &audit->entries[i];
        char target[AUDIT_TARGET_MAX];

        if (entry->answer == NET_YES)
            continue;
        run_result_add_note(result, "network: %s was refused: %s", audit_target(entry, target),
                            net_answer_text(entry->answer));
        n++;
    }
}

const struct run_step *run_result_step(const struct run_result *result)
{
    static const struct run_step none = {
        .verdict = VERDICT_SANDBOX_ERROR,
        .facts = { .is_lost = true },
    };

    return result->n_steps > 0 ? &result->steps[result->n_steps - 1] : &none;
}

int run_result_exit_code(const struct run_result *result)
{
    const struct run_step *step = run_result_step(result);

    return verdict_exit_code(step->verdict, &step->facts);
}

const char *run_signal_name(uint32_t signo, char text[static RUN_SIGNAL_MAX])
{
    const char *abbreviation = signo < _NSIG ? sigabbrev_np((int)signo) : NULL;

    if (abbreviation)
        (void)snprintf(text, RUN_SIGNAL_MAX, "SIG%s", abbreviation);
    else if (signo >= (uint32_t)SIGRTMIN && signo <= (uint32_t)SIGRTMAX)
        (void)snprintf(text, RUN_SIGNAL_MAX, "SIGRTMIN+%u", signo - (uint32_t)SIGRTMIN);
    else
        (void)snprintf(text, RUN_SIGNAL_MAX, "signal %u", signo);
    return text;
}

/* ---- the hint ------------------------------------------------------------------------------- */

/* The limit behind a verdict, and the sentence around its value; its subject comes before it. */
static const struct {
    enum verdict verdict;
    enum limit limit;
    const char *before;
    const char *after;
} hints[] = {
    { VERDICT_TIMEOUT, LIMIT_WALL, " took longer than ", "" },
    { VERDICT_CPU, LIMIT_CPU_TIME, " used more than ", " of CPU time" },
    { VERDICT_OUTPUT, LIMIT_OUTPUT_MAX, " wrote more than ", " of output" },
    { VERDICT_MEMORY, LIMIT_MEMORY, " needed more than ", " of memory" },
    { VERDICT_PIDS, LIMIT_PIDS, " wanted more than ", " processes and threads" },
    { VERDICT_DISK, LIMIT_DISK, " filled its ", " of disk space" },
};

static bool is_compiler(const struct run_step *step)
{
    return step->name && strcmp(step->name, "compile") == 0;
}

static const char *subject(const struct run_step *step)
{
    if (!is_compiler(step))
        return "It";
    return step->verdict == VERDICT_TIMEOUT ? "Compiling" : "The compiler";
}

/* ", of which 300 MiB were files", when they mattered. */
static const char *files_text(const struct run_step *step, char *text, size_t size)
{
    char bytes[NUM_TEXT_MAX];

    text[0] = '\0';
    if (step->verdict == VERDICT_MEMORY && step->memory_files_bytes > 0)
        (void)snprintf(text, size, ", of which %s were files",
                       num_size_text(step->memory_files_bytes, bytes));
    return text;
}

/* Without inodes the disk is full too, and its size is not what has to grow. */
static bool is_out_of_inodes(const struct run_step *step)
{
    return step->verdict == VERDICT_DISK && step->facts.has_exited &&
           step->facts.inodes_free == 0 && step->facts.disk_free >= VERDICT_DISK_FREE_MIN;
}

const char *run_result_hint(const struct run_result *result, char text[static RUN_HINT_MAX])
{
    const struct run_step *step = run_result_step(result);
    const struct limits *limits = &result->receipt.limits;
    char value[NUM_TEXT_MAX];
    char files[64];

    if (!result->has_receipt)
        return NULL;
    if (is_out_of_inodes(step)) {
        (void)snprintf(text, RUN_HINT_MAX, "%s made more than %s files, the most it may have.",
                       subject(step), limit_text(limits, LIMIT_INODES, value));
        return text;
    }
    for (size_t i = 0; i < N_ELEMENTS(hints); i++) {
        if (hints[i].verdict != step->verdict)
            continue;
        (void)snprintf(text, RUN_HINT_MAX, "%s%s%s%s%s; %s raises the limit.", subject(step),
                       hints[i].before, limit_text(limits, hints[i].limit, value), hints[i].after,
                       files_text(step, files, sizeof(files)), limit_flag(hints[i].limit));
        return text;
    }
    return NULL;
}

const char *run_result_killed(const struct run_result *result, char text[static RUN_END_MAX])
{
    const struct run_step *step = run_result_step(result);
    char name[RUN_SIGNAL_MAX];

    if (step->verdict != VERDICT_SIGNAL)
        return NULL;
    (void)snprintf(text, RUN_END_MAX, "%skilled by %s (exit %d)",
                   is_compiler(step) ? "the compiler was " : "",
                   run_signal_name(step->facts.signo, name), run_result_exit_code(result));
    return text;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void put_end(struct json_writer *w, const struct run_step *step)
{
    const struct run_facts *facts = &step->facts;
    char name[RUN_SIGNAL_MAX];

    json_put_str(w, "verdict", verdict_name(step->verdict));
    if (facts->has_exited && facts->signo == 0)
        json_put_u64(w, "exit_code", facts->code);
    else
        json_put_null(w, "exit_code");
    if (facts->has_exited && facts->signo != 0) {
        json_put_u64(w, "signal", facts->signo);
        json_put_str(w, "signal_name", run_signal_name(facts->signo, name));
    } else {
        json_put_null(w, "signal");
    }
}

static void put_usage(struct json_writer *w, const struct run_step *step)
{
    json_put_double(w, "wall_ms", (double)step->wall_us / 1000, 3);
    json_put_double(w, "cpu_ms", (double)step->cpu_us / 1000, 3);
    if (step->memory_peak_bytes > 0)
        json_put_u64(w, "memory_peak_bytes", step->memory_peak_bytes);
    else
        json_put_null(w, "memory_peak_bytes");
}

/* One stream of one step under "stdout" or "stderr", or its bytes as base64. */
static int put_stream(struct json_writer *w, const struct run_result *result,
                      const struct run_step *step, enum out_stream stream, bool is_base64)
{
    static const char *const keys[2][OUT_STDERR + 1] = {
        { NULL, "stdout", "stderr" },
        { NULL, "stdout_base64", "stderr_base64" },
    };
    cleanup_buf struct buf text = BUF_INIT(SIZE_MAX / 2);
    const char *key = keys[is_base64][stream];
    int r = 0;

    if (result->log)
        r = out_log_part(result->log, stream, step->begin, step->end, !is_base64, &text);
    if (is_base64)
        json_put_base64(w, key, text.data, text.len);
    else
        json_put_bytes(w, key, text.data, text.len);
    return r;
}

static int put_streams(struct json_writer *w, const struct run_result *result,
                       const struct run_step *step, bool is_base64)
{
    int r = put_stream(w, result, step, OUT_STDOUT, is_base64);

    return r < 0 ? r : put_stream(w, result, step, OUT_STDERR, is_base64);
}

static int put_output(struct json_writer *w, const struct run_result *result,
                      const struct run_step *step, bool with_base64)
{
    int r = put_streams(w, result, step, false);

    if (r == 0 && with_base64)
        r = put_streams(w, result, step, true);
    if (r < 0)
        return r;
    json_put_u64(w, "stdout_bytes", step->end.out - step->begin.out);
    json_put_u64(w, "stderr_bytes", step->end.err - step->begin.err);
    return 0;
}

static void put_files(struct json_writer *w, const struct run_result *result)
{
    json_array_begin(w, "files");
    for (size_t i = 0; i < result->n_files; i++) {
        json_object_begin(w, NULL);
        json_put_str(w, "path", result->files[i].path);
        json_put_u64(w, "bytes", result->files[i].bytes);
        json_object_end(w);
    }
    json_array_end(w);
}

static void put_notes(struct json_writer *w, const struct run_result *result)
{
    if (result->n_notes == 0)
        return;
    json_array_begin(w, "notes");
    for (size_t i = 0; i < result->n_notes; i++)
        json_put_str(w, NULL, result->notes[i]);
    json_array_end(w);
}

static void put_events(struct json_writer *w, const struct run_step *step)
{
    unsigned events = verdict_events(&step->facts, step->verdict);

    json_array_begin(w, "events");
    for (unsigned bit = 1; bit <= events; bit <<= 1)
        if (events & bit)
            json_put_str(w, NULL, run_event_name(bit));
    json_array_end(w);
}

/* Only where there was more than one to go through; what an earlier step wrote is shown here. */
static int put_steps(struct json_writer *w, const struct run_result *result, bool with_base64)
{
    const struct run_step *decides = run_result_step(result);
    int r = 0;

    if (result->n_planned < 2)
        return 0;
    json_array_begin(w, "steps");
    for (size_t i = 0; i < result->n_steps && r == 0; i++) {
        json_object_begin(w, NULL);
        json_put_str(w, "name", result->steps[i].name);
        put_end(w, &result->steps[i]);
        put_usage(w, &result->steps[i]);
        if (&result->steps[i] != decides)
            r = put_output(w, result, &result->steps[i], with_base64);
        json_object_end(w);
    }
    json_array_end(w);
    json_put_str(w, "failed_step", decides->verdict == VERDICT_OK ? NULL : decides->name);
    return r;
}

/* The error's own, which may name the user; a wall's whole one where the text was cut short. */
static const char *remedy_of(const struct run_result *result)
{
    const char *told = gb_err_remedy(&result->error);
    const char *walls = result->has_broken ? wall_remedy(result->broken) : NULL;

    return walls && (!told || strncmp(walls, told, strlen(told)) == 0) ? walls : told;
}

static void put_error(struct json_writer *w, const struct run_result *result)
{
    if (result->error.code == 0)
        return;
    json_object_begin(w, "error");
    json_put_str(w, "wall", result->has_broken ? wall_name(result->broken) : NULL);
    json_put_bytes(w, "message", result->error.msg, gb_err_len(&result->error));
    json_put_str(w, "remedy", remedy_of(result));
    json_object_end(w);
}

static void put_wall(struct json_writer *w, const struct receipt *receipt, enum wall wall)
{
    const char *const details[N_WALLS] = {
        [WALL_NET] = receipt->net,       [WALL_SECCOMP] = receipt->seccomp,
        [WALL_MEMORY] = receipt->groups, [WALL_CPU] = receipt->groups,
        [WALL_PIDS] = receipt->groups,
    };
    const char *name = wall_name(wall);

    if (!(receipt->walls >> wall & 1))
        json_put_bool(w, name, false);
    else if (wall == WALL_LANDLOCK && receipt->landlock > 0)
        json_put_u64(w, name, receipt->landlock);
    else if (details[wall])
        json_put_str(w, name, details[wall]);
    else
        json_put_bool(w, name, true);
}

static void put_limits(struct json_writer *w, const struct limits *limits)
{
    json_object_begin(w, "limits");
    json_put_u64(w, "memory_bytes", limits->memory_bytes);
    json_put_double(w, "cpus", (double)limits->cpu_milli / 1000, 3);
    json_put_u64(w, "pids", limits->pids);
    json_put_u64(w, "disk_bytes", limits->disk_bytes);
    json_put_u64(w, "inodes", limits->inodes);
    json_put_u64(w, "wall_ms", limits->wall_ms);
    json_put_u64(w, "cpu_ms", limits->cpu_ms);
    json_put_u64(w, "output_keep_bytes", limits->output_keep);
    json_put_u64(w, "output_max_bytes", limits->output_max);
    json_object_end(w);
}

static void put_receipt(struct json_writer *w, const char *key, const struct run_result *result)
{
    const struct receipt *receipt = &result->receipt;

    if (!result->has_receipt) {
        json_put_null(w, key);
        return;
    }
    json_object_begin(w, key);
    json_put_str(w, "backend", receipt->backend);
    json_object_begin(w, "walls");
    for (enum wall wall = 0; wall < N_WALLS; wall++)
        put_wall(w, receipt, wall);
    json_object_end(w);
    json_put_str(w, "accounting", receipt->accounting);
    put_limits(w, &receipt->limits);
    json_object_end(w);
}

static void put_decision(struct json_writer *w, const struct audit_entry *entry)
{
    char address[NET_ADDRESS_TEXT_MAX];

    json_object_begin(w, NULL);
    json_put_str(w, "name", entry->name[0] ? entry->name : NULL);
    json_put_str(w, "address",
                 entry->has_address ? net_address_text(&entry->address, address) : NULL);
    if (entry->port)
        json_put_u64(w, "port", entry->port);
    else
        json_put_null(w, "port");
    json_put_bool(w, "allowed", entry->answer == NET_YES);
    json_put_str(w, "reason",
                 entry->answer != NET_YES ? net_answer_text(entry->answer)
                 : entry->error           ? resolve_error_text(entry->error)
                                          : NULL);
    json_put_u64(w, "count", entry->count);
    json_object_end(w);
}

static void put_network(struct json_writer *w, const struct audit *audit)
{
    if (!audit)
        return;
    json_object_begin(w, "network");
    json_put_u64(w, "connections", audit->connections);
    json_put_u64(w, "refused", audit->refused);
    json_put_u64(w, "bytes_sent", audit->bytes_sent);
    json_put_u64(w, "bytes_received", audit->bytes_received);
    json_array_begin(w, "decisions");
    for (size_t i = 0; i < audit->n; i++)
        put_decision(w, &audit->entries[i]);
    json_array_end(w);
    json_put_u64(w, "more", audit->n_more);
    json_object_end(w);
}

int run_result_json(const struct run_result *result, bool with_base64, struct buf *ret)
{
    const struct run_step *step = run_result_step(result);
    char hint[RUN_HINT_MAX];
    struct json_writer w;
    int ended;
    int r;

    json_writer_init(&w, ret, false);
    json_object_begin(&w, NULL);
    json_put_u64(&w, "schema", RUN_SCHEMA);
    json_put_str(&w, "id", result->id);
    json_put_str(&w, "language", result->language);
    put_end(&w, step);
    r = put_output(&w, result, step, with_base64);
    json_put_bool(&w, "truncated", result->log && out_log_is_truncated(result->log));
    put_usage(&w, step);
    json_put_u64(&w, "survivors", result->survivors);
    put_files(&w, result);
    put_notes(&w, result);
    put_events(&w, step);
    put_network(&w, result->network);
    run_packages_json(result->packages, &w);
    if (r == 0)
        r = put_steps(&w, result, with_base64);
    put_error(&w, result);
    if (run_result_hint(result, hint))
        json_put_str(&w, "hint", hint);
    put_receipt(&w, "receipt", result);
    json_object_end(&w);
    ended = json_writer_end(&w);
    return r < 0 ? r : ended;
}

int run_receipt_json(const struct run_result *result, struct buf *ret)
{
    struct json_writer w;

    json_writer_init(&w, ret, false);
    put_receipt(&w, NULL, result);
    return json_writer_end(&w);
}
