/* SPDX-License-Identifier: Apache-2.0 */
/* lib/result.c - what a run came to, as the library tells it. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "lib/inside.h"
#include "run/packages.h"

static const enum glovebox_verdict verdicts[N_VERDICTS] = {
    [VERDICT_SANDBOX_ERROR] = GLOVEBOX_VERDICT_SANDBOX_ERROR,
    [VERDICT_CANCELLED] = GLOVEBOX_VERDICT_CANCELLED,
    [VERDICT_TIMEOUT] = GLOVEBOX_VERDICT_TIMEOUT,
    [VERDICT_CPU] = GLOVEBOX_VERDICT_CPU,
    [VERDICT_OUTPUT] = GLOVEBOX_VERDICT_OUTPUT,
    [VERDICT_MEMORY] = GLOVEBOX_VERDICT_MEMORY,
    [VERDICT_PIDS] = GLOVEBOX_VERDICT_PIDS,
    [VERDICT_DISK] = GLOVEBOX_VERDICT_DISK,
    [VERDICT_SIGNAL] = GLOVEBOX_VERDICT_SIGNAL,
    [VERDICT_NONZERO] = GLOVEBOX_VERDICT_NONZERO,
    [VERDICT_OK] = GLOVEBOX_VERDICT_OK,
};

void glovebox_result_free(struct glovebox_result *result)
{
    if (!result)
        return;
    run_result_clear(&result->run);
    buf_clear(&result->streams[0]);
    buf_clear(&result->streams[1]);
    buf_clear(&result->json);
    buf_clear(&result->receipt);
    free(result);
}

/* ---- how it ended --------------------------------------------------------------------------- */

enum glovebox_verdict glovebox_result_verdict(const struct glovebox_result *result)
{
    return verdicts[run_result_step(&result->run)->verdict];
}

const char *glovebox_verdict_name(enum glovebox_verdict verdict)
{
    for (enum verdict i = 0; i < N_VERDICTS; i++)
        if (verdicts[i] == verdict)
            return verdict_name(i);
    return NULL;
}

int glovebox_result_exit_code(const struct glovebox_result *result)
{
    return run_result_exit_code(&result->run);
}

int glovebox_result_signal(const struct glovebox_result *result)
{
    const struct run_facts *facts = &run_result_step(&result->run)->facts;

    return facts->has_exited ? (int)facts->signo : 0;
}

uint64_t glovebox_result_counter(const struct glovebox_result *result,
                                 enum glovebox_counter counter)
{
    const struct run_step *step = run_result_step(&result->run);
    const uint64_t counts[] = {
        [GLOVEBOX_COUNTER_WALL_US] = step->wall_us,
        [GLOVEBOX_COUNTER_CPU_US] = step->cpu_us,
        [GLOVEBOX_COUNTER_MEMORY_PEAK_BYTES] = step->memory_peak_bytes,
        [GLOVEBOX_COUNTER_STDOUT_BYTES] = step->end.out - step->begin.out,
        [GLOVEBOX_COUNTER_STDERR_BYTES] = step->end.err - step->begin.err,
        [GLOVEBOX_COUNTER_OOM_KILLS] = step->facts.oom_kills,
        [GLOVEBOX_COUNTER_PIDS_HITS] = step->facts.pids_hits,
        [GLOVEBOX_COUNTER_SURVIVORS] = result->run.survivors,
        [GLOVEBOX_COUNTER_TRUNCATED] = result->run.log && out_log_is_truncated(result->run.log),
    };

    return (size_t)counter < N_ELEMENTS(counts) ? counts[counter] : 0;
}

/* ---- what it left --------------------------------------------------------------------------- */

/* Never NULL behind a success: an empty text is one too. */
static const char *text_of(struct buf *text, int r)
{
    if (r == 0)
        r = buf_puts(text, "");
    if (r < 0 || !text->data) {
        buf_clear(text);
        return NULL;
    }
    return text->data;
}

const char *glovebox_result_output(struct glovebox_result *result, int stream, size_t *ret_len)
{
    const struct run_step *step = run_result_step(&result->run);
    const char *text;
    struct buf *kept;
    int r = 0;

    if (stream != OUT_STDOUT && stream != OUT_STDERR)
        return NULL;
    kept = &result->streams[stream - OUT_STDOUT];
    if (!result->has_stream[stream - OUT_STDOUT] && result->run.log)
        r = out_log_part(result->run.log, (enum out_stream)stream, step->begin, step->end, false,
                         kept);
    text = text_of(kept, r);
    result->has_stream[stream - OUT_STDOUT] = text != NULL;
    if (text && ret_len)
        *ret_len = kept->len;
    return text;
}

const char *glovebox_result_file(const struct glovebox_result *result, size_t n,
                                 uint64_t *ret_bytes)
{
    if (n >= result->run.n_files)
        return NULL;
    if (ret_bytes)
        *ret_bytes = result->run.files[n].bytes;
    return result->run.files[n].path;
}

const char *glovebox_result_package(const struct glovebox_result *result, size_t n,
                                    const char **ret_version)
{
    const struct run_packages *packages = result->run.packages;

    if (!packages || n >= packages->n)
        return NULL;
    if (ret_version)
        *ret_version = packages->items[n].version;
    return packages->items[n].name;
}

const char *glovebox_result_id(const struct glovebox_result *result)
{
    return result->run.id;
}

const char *glovebox_result_note(const struct glovebox_result *result, size_t n)
{
    return n < result->run.n_notes ? result->run.notes[n] : NULL;
}

const char *glovebox_result_json(struct glovebox_result *result)
{
    return text_of(&result->json,
                   result->json.len ? 0 : run_result_json(&result->run, false, &result->json));
}

const char *glovebox_result_receipt(struct glovebox_result *result)
{
    return text_of(&result->receipt,
                   result->receipt.len ? 0 : run_receipt_json(&result->run, &result->receipt));
}
