/* SPDX-License-Identifier: Apache-2.0 */
/* cli/progress.h - what an engine does with an image, told on stderr while it does it.
 *
 * On a terminal a few lines that are drawn over and over: a bar for each layer, or the step of a
 * build with the last words of its program.  Elsewhere a line for each thing that is done.  All
 * texts are the engine's, a registry's or a program's: no control byte of theirs gets out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/live.h"
#include "cli/term.h"

struct stream_event;

#define PROGRESS_LAYERS_MAX 128
#define PROGRESS_TEXTS      5
#define PROGRESS_TEXT_SIZE  200

struct progress_layer {
    char id[16];
    char status[32];
    uint64_t current;
    uint64_t total;
    bool is_done;
};

struct progress {
    struct term term;
    struct live live;
    bool is_quiet; /* nothing is told */
    uint64_t drawn_ns;
    char title[PROGRESS_TEXT_SIZE]; /* of the present step, or of what is pulled */
    struct progress_layer layers[PROGRESS_LAYERS_MAX];
    size_t n_layers;
    char texts[PROGRESS_TEXTS][PROGRESS_TEXT_SIZE]; /* a ring of lines that a build printed */
    size_t n_texts;
    char line[PROGRESS_TEXT_SIZE]; /* the present one */
    size_t line_len;
};

void progress_init(struct progress *progress, enum color_mode color, char *const *env,
                   bool is_quiet);

/* A stream_sink's, and image_build's; user is the progress. */
int progress_pull(void *user, const struct stream_event *event);
int progress_build(void *user, const struct stream_event *event, const char *layer);

/* Takes away what is drawn. */
void progress_end(struct progress *progress);
