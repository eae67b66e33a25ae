/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz/fuzz_recording.c - a recording or a checkpoint that comes from somewhere.
 *
 * The first byte chooses: 'c' a checkpoint, anything else a recording.  What is read is in its
 * bounds and found by name; a checkpoint's text is read again to the same. */
#include <string.h>

#include "agent/checkpoint.h"
#include "agent/recording.h"
#include "base/buf.h"
#include "base/err.h"
#include "must.h"
#include "store/digest.h"
#include "store/store.h"

static void check_recording(const char *text, size_t len)
{
    cleanup_recording struct recording recording = { 0 };
    struct gb_err err = { 0 };
    int r = recording_parse(text, len, &recording, &err);

    must((r < 0) == (err.code != 0) && err.code == r);
    must((r == 0) == (recording.objective != NULL));
    for (size_t i = 0; i < recording.n; i++) {
        must(recording_find(&recording, recording.effects[i].name) == i);
        must(store_effect_name_is_valid(recording.effects[i].name));
        must(digest_is_valid(recording.effects[i].digest));
        must(recording.effects[i].output[recording.effects[i].output_len] == '\0');
    }
    must(recording_find(&recording, "") == recording.n);
}

static void check_checkpoint(const char *text, size_t len)
{
    cleanup_checkpoint struct checkpoint first = { 0 };
    cleanup_checkpoint struct checkpoint second = { 0 };
    cleanup_buf struct buf once = BUF_INIT(CHECKPOINT_MAX);
    cleanup_buf struct buf twice = BUF_INIT(CHECKPOINT_MAX);
    struct gb_err err = { 0 };
    int r = checkpoint_parse(text, len, &first, &err);

    must((r < 0) == (err.code != 0) && err.code == r);
    must((r == 0) == (first.objective != NULL));
    if (r < 0)
        return;
    for (size_t i = 0; i < first.latest_code.n; i++)
        must(agent_path_check(first.latest_code.items[i].path, NULL) == 0);
    must(checkpoint_text(&first, &once) == 0);
    must(checkpoint_parse(once.data, once.len, &second, NULL) == 0);
    must(checkpoint_text(&second, &twice) == 0);
    must(once.len == twice.len && memcmp(once.data, twice.data, once.len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;

    if (size == 0)
        return 0;
    if (text[0] == 'c')
        check_checkpoint(text + 1, size - 1);
    else
        check_recording(text + 1, size - 1);
    return 0;
}
