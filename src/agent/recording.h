/* SPDX-License-Identifier: Apache-2.0 */
/* agent/recording.h - a task's effects in a file, to be replayed without model, box or human.
 *
 *    {"glovebox-recording":1,"objective":"…"}
 *    {"name":"contract","digest":"…","output":"…"}
 *
 * JSON lines, one effect each, in the order in which they were done.  An output that is no text
 * (UTF-8 without NUL) stands as "output_base64" instead.  A last line without its newline was cut
 * when its writer died; it counts for nothing.  Whoever replays a recording may have it from
 * anywhere: all of it is checked when it is read.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct gb_err;
struct store;
struct store_effect;

/* Bounds of a file; more is -EFBIG, also for the writer. */
#define RECORDING_MAX         (256 << 20)
#define RECORDING_EFFECTS_MAX 100000

struct recording {
    char *objective;
    struct store_effect *effects; /* without times */
    size_t n;
    size_t *by_name; /* their places, sorted by name */
};

int recording_read(const char *path, struct recording *ret, struct gb_err *err);

/* The same of a text. */
int recording_parse(const char *text, size_t len, struct recording *ret, struct gb_err *err);

/* What a recording of that task would have. */
int recording_of_store(struct store *store, const char *task, struct recording *ret,
                       struct gb_err *err);
void recording_clear(struct recording *recording);

#define cleanup_recording cleanup_with(recording_clear)

/* The place of the effect of that name; n when there is none. */
size_t recording_find(const struct recording *recording, const char *name);

/* The file while it is written. */
struct recorder {
    int fd; /* -1: none */
    char *path;
    uint64_t end; /* of the last whole line */
};

/* A new file with a first line, under a name of its own until recorder_commit() puts it into its
 * place, where it replaces a file of that name and nothing else. */
struct recorder_draft;

int recorder_begin(const char *path, const char *objective, struct recorder_draft **ret,
                   struct gb_err *err);
int recorder_draft_add(struct recorder_draft *draft, const struct store_effect *effect,
                       struct gb_err *err);
int recorder_commit(struct recorder_draft **draft, struct recorder *ret, struct gb_err *err);
void recorder_abort(struct recorder_draft **draft); /* nothing is left of it */

#define cleanup_draft cleanup_with(recorder_abort)

/* Appends the effect, or nothing. */
int recorder_add(struct recorder *recorder, const struct store_effect *effect, struct gb_err *err);
void recorder_close(struct recorder *recorder);
