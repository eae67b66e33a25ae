/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz/fuzz_verdict.c - what boxes tell the judge: verdict lines, coverage, the check's report.
 *
 * The nonce is "n": a fuzzer may know it, as code may that runs together with its tests.
 */
#include <string.h>

#include "agent/judge_inside.h"
#include "must.h"

static void judge(const struct guest_verdicts *verdicts)
{
    const struct limits limits = limits_default();
    const struct trial_end end = { .verdict = VERDICT_OK, .end = { .has_exited = true } };
    const struct pair_seen seen = {
        .id = "t", .verdicts = verdicts, .limits = &limits, .runner = &end, .server = &end
    };
    struct judge_row row = { 0 };
    struct judge_note note = { 0 };
    struct gb_err err = { 0 };
    int r = pair_judge(&seen, &row, &note, &err);

    must(r == 0 || r == 1);
    must(r == 1 || row.result == TEST_PASSED || row.message);
    must(row.result != TEST_PASSED || r == 1 ||
         (verdicts->n_results == 1 && verdicts->has_end && !verdicts->is_broken));
    for (const char *at = row.message ? row.message : ""; *at; at++)
        must((unsigned char)*at >= ' ' && *at != 0x7f);
    free(row.message);
    free(row.detail);
    free(row.seen);
    free(note.against);
    free(note.function);
}

/* Of code that has the files of the seeds. */
static double share_of(const char *text, size_t size)
{
    static char path[] = "a.py";
    static char source[] = "1\n2\n3\n4\n";
    struct agent_file file = { .path = path, .text = source, .len = sizeof(source) - 1 };
    const struct agent_files code = { .items = &file, .n = 1 };

    return coverage_read(text, size, "n", &code, "");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char cases[] = "{\"cases\":[{\"argv\":[\"1h\"],\"expect\":{\"stdout\":\"3600\"}}]}";
    const struct judge_tests tests = { .cases = cases };
    const char *text = (const char *)data;
    struct guest_verdicts verdicts;
    struct check check = { 0 };
    struct gb_err err = { 0 };
    double share = share_of(text, size);

    must(share <= 1);
    must(guest_verdicts_read(text, size, "n", &verdicts) == 0);
    judge(&verdicts);
    guest_verdicts_clear(&verdicts);
    if (check_read(text, size, &tests, &check, &err) == 0)
        must((check.diagnosis == DIAGNOSIS_NONE) == !check.summary);
    check_clear(&check);
    return 0;
}
