/* SPDX-License-Identifier: Apache-2.0 */
/* package/install_log.c - what an installer says, line by line and without secrets. */
#include "package/install_log.h"

#include <string.h>

#include "base/cleanup.h"
#include "package/index.h"

/* Of a line; more than any secret has. */
#define LINE_MAX_BYTES (32u << 10)

void install_log_init(struct install_log *log, const struct package_index *index)
{
    *log = (struct install_log){ .index = index, .text = BUF_INIT(INSTALL_LOG_MAX) };
    for (size_t i = 0; i < N_ELEMENTS(log->streams); i++)
        log->streams[i].bytes = (struct buf)BUF_INIT(LINE_MAX_BYTES + 1);
}

/* Lines may have been secret. */
void install_log_clear(struct install_log *log)
{
    for (size_t i = 0; i < N_ELEMENTS(log->streams); i++) {
        struct buf *bytes = &log->streams[i].bytes;

        if (bytes->data)
            explicit_bzero(bytes->data, bytes->len);
        buf_clear(bytes);
    }
    buf_clear(&log->text);
}

/* The beginning goes when there is too much: the end tells why. */
static void keep(struct buf *text, const char *line, size_t len)
{
    if (text->len + len > text->max && text->len > text->max / 2) {
        size_t rest = text->max / 2;

        memmove(text->data, text->data + text->len - rest, rest);
        text->len = rest;
        text->data[rest] = '\0';
    }
    (void)buf_add(text, line, len);
}

static size_t longest_secret(const struct package_index *index)
{
    size_t longest = 0;

    for (size_t i = 0; i < index->n_secrets; i++)
        if (strlen(index->secrets[i]) > longest)
            longest = strlen(index->secrets[i]);
    return longest;
}

/* How much of a masked line is shown.  Where the line was cut before, its end may be the beginning
 * of a secret. */
static size_t shown_len(const struct install_log *log, size_t len, bool is_cut)
{
    size_t unsure = is_cut ? longest_secret(log->index) : 0;

    len -= unsure < len ? unsure : len;
    return len < INSTALL_LINE_SHOWN ? len : INSTALL_LINE_SHOWN;
}

static void end_line(struct install_log *log, size_t stream)
{
    /* What stands for a secret is never longer than seven bytes for one. */
    cleanup_buf struct buf masked = BUF_INIT((size_t)8 * LINE_MAX_BYTES);
    struct buf *bytes = &log->streams[stream].bytes;
    size_t len;

    if (index_mask(log->index, bytes->data ? bytes->data : "", bytes->len, &masked) == 0 &&
        buf_reserve(&masked, 2) == 0) {
        len = shown_len(log, masked.len, log->streams[stream].is_cut);
        masked.data[len] = '\n';
        keep(&log->text, masked.data, len + 1);
        masked.data[len] = '\0';
        if (log->line && len)
            log->line(log->user, masked.data);
    }
    bytes->len = 0;
    log->streams[stream].is_cut = false;
}

void install_log_add(struct install_log *log, int stream, const char *bytes, size_t len)
{
    size_t at = (size_t)stream < N_ELEMENTS(log->streams) ? (size_t)stream : 0;

    for (size_t i = 0; i < len; i++) {
        struct buf *line = &log->streams[at].bytes;

        if (bytes[i] == '\n' || bytes[i] == '\r')
            end_line(log, at);
        else if (line->len < LINE_MAX_BYTES)
            (void)buf_putc(line, bytes[i]);
        else
            log->streams[at].is_cut = true;
    }
}

void install_log_end(struct install_log *log)
{
    for (size_t i = 0; i < N_ELEMENTS(log->streams); i++)
        if (log->streams[i].bytes.len)
            end_line(log, i);
}
