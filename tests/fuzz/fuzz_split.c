/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz/fuzz_split.c - any bytes as a stream of JSON objects, in one piece and in pieces.
 *
 * The first byte says how long the pieces are.  Both readings give the same objects and end alike;
 * an object begins and ends with its braces and is no longer than allowed.  The same bytes are
 * read as the engine's words, which come out as one plain line. */
#include <string.h>

#include "base/buf.h"
#include "engine/refusal.h"
#include "engine/split.h"
#include "must.h"

#define MAX 256

static int note(void *user, const char *text, size_t len)
{
    struct buf *seen = user;

    must(len >= 2 && len <= MAX && text[0] == '{' && text[len - 1] == '}');
    must(buf_add(seen, text, len) == 0);
    return buf_putc(seen, '\0');
}

static int read_stream(const char *bytes, size_t len, size_t piece, struct buf *seen)
{
    struct split split;
    int r = 0;

    split_init(&split, MAX, note, seen);
    for (size_t at = 0; at < len && r == 0; at += piece)
        r = split_feed(&split, bytes + at, len - at < piece ? len - at : piece);
    if (r == 0)
        r = split_end(&split);
    split_clear(&split);
    return r;
}

static void check_words(const char *bytes, size_t len)
{
    char words[REFUSAL_MAX];

    refusal_words(bytes, len, words);
    must(strlen(words) < REFUSAL_MAX);
    for (const char *c = words; *c; c++)
        must((unsigned char)*c >= ' ' && *c != 0x7f);
    must(refusal_of_words(words, NULL, NULL) < 0);
    must(refusal_of_status(400, words, NULL, NULL) < 0);
    must(refusal_max_api(words) < 100000);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_buf struct buf whole = BUF_INIT(16 << 20);
    cleanup_buf struct buf pieces = BUF_INIT(16 << 20);
    const char *bytes = (const char *)data + 1;
    int r;

    if (size == 0)
        return 0;
    r = read_stream(bytes, size - 1, size, &whole);
    must(r == read_stream(bytes, size - 1, data[0] % 16 + 1U, &pieces));
    must(whole.len == pieces.len);
    must(whole.len == 0 || memcmp(whole.data, pieces.data, whole.len) == 0);
    check_words(bytes, size - 1);
    return 0;
}
