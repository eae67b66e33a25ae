/* SPDX-License-Identifier: Apache-2.0 */
/* agent/recording.c - a task's effects in a file: reading it. */
#include "agent/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "json/bind.h"
#include "store/digest.h"
#include "store/store.h"

#define RECORDING_VERSION 1

/* ---- lines ---------------------------------------------------------------------------------- */

struct head {
    uint64_t version;
    char *objective;
};

static const struct bind_field head_fields[] = {
    { "glovebox-recording", BIND_U64, offsetof(struct head, version), BIND_REQUIRED },
    { "objective", BIND_STR, offsetof(struct head, objective) },
    { 0 },
};

/* A later version may say other things in its first line, and is told by it. */
static const struct bind head_bind = {
    .fields = head_fields,
    .text_max = RECORDING_MAX,
    .flags = BIND_IGNORE_UNKNOWN,
};

struct line {
    char *name;
    char *digest;
    char *output;
    char *output_base64;
};

static const struct bind_field line_fields[] = {
    { "name", BIND_STR, offsetof(struct line, name), BIND_REQUIRED },
    { "digest", BIND_STR, offsetof(struct line, digest), BIND_REQUIRED },
    { "output", BIND_STR, offsetof(struct line, output) },
    { "output_base64", BIND_STR, offsetof(struct line, output_base64) },
    { 0 },
};

static const struct bind line_bind = { .fields = line_fields, .text_max = RECORDING_MAX };

static int digit_of(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;

    return at ? (int)(at - digits) : -1;
}

/* In place: what it stands for is shorter.  false when it is not the one right way to write it. */
static bool decode_base64(char *text, size_t *ret_len)
{
    size_t len = strlen(text);
    size_t pad = len - strcspn(text, "=");
    uint32_t bits = 0;
    size_t out = 0;

    if (len % 4 != 0 || pad > 2 || strspn(text + len - pad, "=") != pad)
        return false;
    for (size_t i = 0; i < len - pad; i++) {
        int digit = digit_of(text[i]);

        if (digit < 0)
            return false;
        bits = bits << 6 | (uint32_t)digit;
        if (i % 4 > 0)
            text[out++] = (char)(bits >> (6 - 2 * (i % 4)) & 0xff);
    }
    text[out] = '\0';
    *ret_len = out;
    return (bits & ((1u << 2 * pad) - 1)) == 0;
}

/* Takes out of the line what the effect keeps. */
static int effect_of(struct line *line, struct store_effect *ret, struct gb_err *err)
{
    char *output = line->output ? line->output : line->output_base64;
    size_t len = line->output ? strlen(line->output) : 0;

    if (!store_effect_name_is_valid(line->name))
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "it has no name for an effect");
    if (!digest_is_valid(line->digest))
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "'%s' has no digest", line->name);
    if (!line->output == !line->output_base64)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "'%s' needs one output", line->name);
    if (!line->output && !decode_base64(output, &len))
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "the output of '%s' is no base64",
                       line->name);
    if (len > STORE_OUTPUT_MAX)
        return gb_fail(err, -EFBIG, GB_BLAME_CALLER, "the output of '%s' is too long", line->name);
    ret->name = take_ptr(line->name);
    ret->digest = take_ptr(line->digest);
    ret->output = output;
    ret->output_len = len;
    line->output = line->output_base64 = NULL;
    return 0;
}

static int read_line(struct recording *recording, const char *text, size_t len, struct gb_err *err)
{
    struct line line = { 0 };
    int r;

    if (recording->n == RECORDING_EFFECTS_MAX)
        return gb_fail(err, -EFBIG, GB_BLAME_CALLER, "there are more than %d effects",
                       RECORDING_EFFECTS_MAX);
    r = bind_text(&line_bind, text, len, &line, err);
    if (r < 0)
        return r;
    r = effect_of(&line, &recording->effects[recording->n], err);
    if (r == 0)
        recording->n++;
    bind_clear(&line_bind, &line);
    return r;
}

static int read_head(struct recording *recording, const char *text, size_t len, struct gb_err *err)
{
    struct head head = { 0 };
    int r = bind_text(&head_bind, text, len, &head, err);

    if (r < 0)
        return r;
    if (head.version != RECORDING_VERSION)
        r = gb_fail(err, -EPROTONOSUPPORT, GB_BLAME_CALLER,
                    "it is of version %llu; this glovebox knows %d",
                    (unsigned long long)head.version, RECORDING_VERSION);
    else if (!head.objective)
        r = gb_fail(err, -EINVAL, GB_BLAME_CALLER, "it has no objective");
    recording->objective = take_ptr(head.objective);
    bind_clear(&head_bind, &head);
    return r;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static size_t count_lines(const char *text, size_t len)
{
    const char *end = text + len;
    size_t n = 0;

    while (text < end && (text = memchr(text, '\n', (size_t)(end - text))) != NULL) {
        n++;
        text++;
    }
    return n;
}

static int parse(struct recording *recording, const char *at, size_t text_len, struct gb_err *err)
{
    size_t lines = count_lines(at, text_len);

    if (lines == 0)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "it is not a recording");
    recording->effects = calloc(lines < RECORDING_EFFECTS_MAX ? lines : RECORDING_EFFECTS_MAX,
                                sizeof(*recording->effects));
    if (!recording->effects)
        return gb_no_memory(err);
    for (size_t i = 0; i < lines; i++) {
        size_t len = (size_t)((const char *)rawmemchr(at, '\n') - at);
        int r = i == 0 ? read_head(recording, at, len, err) : read_line(recording, at, len, err);

        if (r < 0)
            return gb_wrap(err, r, "line %zu", i + 1);
        at += len + 1;
    }
    return 0;
}

static int compare_places(const void *a, const void *b, void *user)
{
    const struct recording *recording = user;

    return strcmp(recording->effects[*(const size_t *)a].name,
                  recording->effects[*(const size_t *)b].name);
}

static int sort(struct recording *recording, struct gb_err *err)
{
    size_t n = recording->n;

    recording->by_name = calloc(n + 1, sizeof(*recording->by_name));
    if (!recording->by_name)
        return gb_no_memory(err);
    for (size_t i = 0; i < n; i++)
        recording->by_name[i] = i;
    qsort_r(recording->by_name, n, sizeof(*recording->by_name), compare_places, recording);
    for (size_t i = 1; i < n; i++) {
        const char *name = recording->effects[recording->by_name[i]].name;

        if (strcmp(recording->effects[recording->by_name[i - 1]].name, name) == 0)
            return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "effect '%s' is in it twice", name);
    }
    return 0;
}

size_t recording_find(const struct recording *recording, const char *name)
{
    size_t low = 0;
    size_t high = recording->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(recording->effects[recording->by_name[middle]].name, name);

        if (order == 0)
            return recording->by_name[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return recording->n;
}

static int read_whole(const char *path, struct buf *ret, struct gb_err *err)
{
    cleanup_close int fd = file_open(AT_FDCWD, path);
    int r;

    if (fd < 0)
        return gb_fail_sys(err, "opening it");
    r = file_read(fd, ret);
    if (r == -EINVAL)
        return gb_fail(err, r, GB_BLAME_CALLER, "it is not a file");
    if (r == -EFBIG)
        return gb_fail(err, r, GB_BLAME_CALLER, "it has more than %d MiB", RECORDING_MAX >> 20);
    return r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "reading it: %s", strerror(-r)) : 0;
}

int recording_parse(const char *text, size_t len, struct recording *ret, struct gb_err *err)
{
    cleanup_recording struct recording recording = { 0 };
    int r = parse(&recording, text, len, err);

    if (r == 0)
        r = sort(&recording, err);
    if (r < 0)
        return r;
    *ret = recording;
    recording = (struct recording){ 0 };
    return 0;
}

int recording_read(const char *path, struct recording *ret, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(RECORDING_MAX);
    int r = read_whole(path, &text, err);

    if (r == 0)
        r = recording_parse(text.data, text.len, ret, err);
    return r < 0 ? gb_wrap(err, r, "the recording '%s'", path) : 0;
}

struct gathering {
    struct recording *recording;
    struct gb_err *err;
};

static int gather(void *user, const struct store_effect *effect)
{
    const struct gathering *gathering = user;
    struct recording *recording = gathering->recording;
    struct store_effect *copy = &recording->effects[recording->n];

    if (recording->n == RECORDING_EFFECTS_MAX)
        return gb_fail(gathering->err, -EFBIG, GB_BLAME_CALLER, "there are more than %d effects",
                       RECORDING_EFFECTS_MAX);
    recording->n++;
    copy->name = strdup(effect->name);
    copy->digest = strdup(effect->digest);
    copy->output = malloc(effect->output_len + 1);
    if (!copy->name || !copy->digest || !copy->output)
        return gb_no_memory(gathering->err);
    memcpy(copy->output, effect->output ? effect->output : "", effect->output_len);
    copy->output[effect->output_len] = '\0';
    copy->output_len = effect->output_len;
    return 0;
}

int recording_of_store(struct store *store, const char *task, struct recording *ret,
                       struct gb_err *err)
{
    cleanup_recording struct recording recording = { 0 };
    struct gathering gathering = { &recording, err };
    int r;

    recording.effects = calloc(RECORDING_EFFECTS_MAX, sizeof(*recording.effects));
    if (!recording.effects)
        return gb_no_memory(err);
    r = store_effect_each(store, task, gather, &gathering, err);
    if (r == 0)
        r = sort(&recording, err);
    if (r < 0)
        return r;
    *ret = recording;
    recording = (struct recording){ 0 };
    return 0;
}

void recording_clear(struct recording *recording)
{
    for (size_t i = 0; i < recording->n; i++)
        store_effect_clear(&recording->effects[i]);
    free(recording->effects);
    free(recording->by_name);
    free(recording->objective);
    *recording = (struct recording){ 0 };
}
