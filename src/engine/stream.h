/* SPDX-License-Identifier: Apache-2.0 */
/* engine/stream.h - calls whose answer is a stream of progress: pull, build.
 *
 * The status is 200 before anything is done; what fails comes later, as an object in the stream,
 * and is the call's error all the same.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct engine;
struct engine_call;
struct gb_err;

#define STREAM_OBJECT_MAX (1 << 20)
#define STREAM_BYTES_MAX  (256 << 20) /* of the whole stream */

/* What is not told is NULL or 0.  Texts are the engine's or an image author's, any bytes: not for a
 * terminal as they are.  They live until the sink returns. */
struct stream_event {
    const char *status; /* "Downloading" */
    const char *id;     /* of what, a layer's for instance */
    const char *text;   /* of a build: what it prints */
    size_t text_len;
    const char *image; /* what was made: "sha256:…" */
    uint64_t current;  /* bytes done, */
    uint64_t total;    /* of so many */
};

struct stream_sink {
    /* Negative cancels the call with that code.  NULL: nobody wants to know. */
    int (*event)(void *user, const struct stream_event *event);
    void *user;
};

/* call's data, source and user are used up by this. */
int stream_call(struct engine *engine, const struct engine_call *call,
                const struct stream_sink *sink, struct gb_err *err);
