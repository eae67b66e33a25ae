/* SPDX-License-Identifier: Apache-2.0 */
/* cli/progress.c - what an engine does with an image, told on stderr while it does it. */
#include "cli/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "cli/term_filter.h"
#include "engine/stream.h"

#define FRAME_NS  (100 * NS_PER_MS)
#define FRAME_MAX (32 << 10)
#define TOLD_MAX  2048
#define BAR       20
#define ID_SHOWN  12

void progress_init(struct progress *progress, enum color_mode color, char *const *env,
                   bool is_quiet)
{
    *progress = (struct progress){ .is_quiet = is_quiet, .live = { .fd = STDERR_FILENO } };
    term_init(&progress->term, STDERR_FILENO, color, env);
}

/* ---- lines, where there is no terminal ------------------------------------------------------ */

static void tell(const char *before, const char *text)
{
    cleanup_buf struct buf line = BUF_INIT(TOLD_MAX);

    (void)term_filter_line(before, strlen(before), &line);
    (void)term_filter_line(text, strnlen(text, PROGRESS_TEXT_SIZE), &line);
    (void)buf_putc(&line, '\n');
    if (buf_error(&line) == 0)
        (void)fd_write_full(STDERR_FILENO, line.data, line.len); /* who closed it has no wish */
}

/* ---- drawing -------------------------------------------------------------------------------- */

static void put_text(const char *text, struct buf *out)
{
    (void)term_filter_line(text, strlen(text), out);
}

static void put_bar(const struct progress_layer *layer, struct buf *out)
{
    uint64_t part = layer->current < layer->total ? layer->current : layer->total;
    unsigned n = layer->total > 0 ? (unsigned)((double)part / (double)layer->total * BAR) : 0;

    (void)buf_printf(out, "\n  %s [", layer->id);
    for (unsigned i = 0; i < BAR; i++)
        (void)buf_putc(out, i < n ? '#' : '-');
    (void)buf_puts(out, "] ");
    if (layer->total > 0)
        (void)buf_printf(out, "%6.1f of %.1f MB  ", (double)part / 1e6, (double)layer->total / 1e6);
    put_text(layer->status, out);
}

/* Those that something is happening to; the rest is a number. */
static void put_layers(const struct progress *progress, struct buf *out)
{
    unsigned room = LIVE_LINES_MAX - 1;
    size_t n_done = 0;

    for (size_t i = 0; i < progress->n_layers; i++)
        n_done += progress->layers[i].is_done;
    (void)buf_printf(out, "%s", term_on(&progress->term, TERM_BOLD));
    put_text(progress->title, out);
    (void)buf_printf(out, "%s", term_off(&progress->term));
    if (progress->n_layers > 0)
        (void)buf_printf(out, "  %zu of %zu layers", n_done, progress->n_layers);
    for (size_t i = 0; i < progress->n_layers && room > 0; i++)
        if (!progress->layers[i].is_done) {
            put_bar(&progress->layers[i], out);
            room--;
        }
}

static void put_texts(const struct progress *progress, struct buf *out)
{
    size_t n = progress->n_texts < PROGRESS_TEXTS ? progress->n_texts : PROGRESS_TEXTS;

    for (size_t i = progress->n_texts - n; i < progress->n_texts; i++) {
        (void)buf_printf(out, "\n%s  ", term_on(&progress->term, TERM_DIM));
        put_text(progress->texts[i % PROGRESS_TEXTS], out);
        (void)buf_puts(out, term_off(&progress->term));
    }
}

static void draw(struct progress *progress)
{
    cleanup_buf struct buf frame = BUF_INIT(FRAME_MAX);
    uint64_t now = clock_now_ns();

    if (now < progress->drawn_ns + FRAME_NS)
        return;
    progress->drawn_ns = now;
    put_layers(progress, &frame);
    put_texts(progress, &frame);
    if (buf_error(&frame) == 0)
        live_draw(&progress->live, &frame);
}

void progress_end(struct progress *progress)
{
    if (!progress->is_quiet && progress->term.is_tty)
        live_erase(&progress->live);
}

/* ---- layers --------------------------------------------------------------------------------- */

/* Layers have ids of twelve digits; other things are told with a tag, or none. */
static bool is_layer(const struct stream_event *event)
{
    return event->id && strlen(event->id) == ID_SHOWN &&
           strspn(event->id, "0123456789abcdef") == ID_SHOWN;
}

static struct progress_layer *layer_of(struct progress *progress, const char *id)
{
    struct progress_layer *layer;

    for (size_t i = 0; i < progress->n_layers; i++)
        if (strcmp(progress->layers[i].id, id) == 0)
            return &progress->layers[i];
    if (progress->n_layers == PROGRESS_LAYERS_MAX)
        return NULL;
    layer = &progress->layers[progress->n_layers++];
    (void)snprintf(layer->id, sizeof(layer->id), "%s", id);
    return layer;
}

static bool is_end(const char *status)
{
    return strcmp(status, "Pull complete") == 0 || strcmp(status, "Already exists") == 0;
}

static void see_layer(struct progress *progress, const struct stream_event *event)
{
    struct progress_layer *layer = layer_of(progress, event->id);

    if (!layer)
        return;
    if (!progress->term.is_tty && is_end(event->status) && !layer->is_done) {
        char before[32];

        (void)snprintf(before, sizeof(before), "%s: ", layer->id);
        tell(before, event->status);
    }
    (void)snprintf(layer->status, sizeof(layer->status), "%s", event->status);
    layer->current = event->current;
    layer->total = event->total;
    layer->is_done = is_end(event->status);
}

int progress_pull(void *user, const struct stream_event *event)
{
    struct progress *progress = user;

    if (progress->is_quiet || !event->status)
        return 0;
    if (is_layer(event))
        see_layer(progress, event);
    else if (progress->term.is_tty)
        (void)snprintf(progress->title, sizeof(progress->title), "%s", event->status);
    else
        tell("", event->status);
    if (progress->term.is_tty)
        draw(progress);
    return 0;
}

/* ---- steps ---------------------------------------------------------------------------------- */

static void see_text(struct progress *progress, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] != '\n' && text[i] != '\r') {
            if (progress->line_len + 1 < sizeof(progress->line))
                progress->line[progress->line_len++] = text[i];
            continue;
        }
        progress->line[progress->line_len] = '\0';
        if (progress->line[strspn(progress->line, " ")])
            memcpy(progress->texts[progress->n_texts++ % PROGRESS_TEXTS], progress->line,
                   sizeof(progress->line));
        progress->line_len = 0;
    }
}

int progress_build(void *user, const struct stream_event *event, const char *layer)
{
    struct progress *progress = user;

    if (progress->is_quiet)
        return 0;
    if (event->status && !event->text)
        return progress_pull(user, event);
    if (layer && strncmp(layer, progress->title, sizeof(progress->title) - 1) != 0) {
        (void)snprintf(progress->title, sizeof(progress->title), "%s", layer);
        progress->n_layers = 0; /* what was pulled has come */
        if (!progress->term.is_tty)
            tell("", layer);
    }
    if (event->text)
        see_text(progress, event->text, event->text_len);
    if (progress->term.is_tty)
        draw(progress);
    return 0;
}
