/* SPDX-License-Identifier: Apache-2.0 */
/* image/build_log.c - what a build said. */
#include "image/build_log.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_MAX 100000

struct build_log {
    char line[BUILD_LOG_LINE + 1]; /* the present one, cut */
    size_t line_len;
    char last[BUILD_LOG_LINES][BUILD_LOG_LINE + 1]; /* a ring */
    size_t n_lines;                                 /* ever in it */
    unsigned stage;                                 /* of builders that count the steps of each */
    unsigned step;
    unsigned n_steps;
    char layer[BUILD_LOG_LINE + 1];
    bool has_failed;
};

struct build_log *build_log_new(void)
{
    return calloc(1, sizeof(struct build_log));
}

void build_log_free(struct build_log *log)
{
    free(log);
}

/* ---- lines ---------------------------------------------------------------------------------- */

/* A number below STEPS_MAX; *at goes behind it. */
static bool take_number(const char **at, unsigned *ret)
{
    unsigned n = 0;

    if (**at < '0' || **at > '9')
        return false;
    for (; **at >= '0' && **at <= '9'; (*at)++) {
        n = n * 10 + (unsigned)(**at - '0');
        if (n > STEPS_MAX)
            return false;
    }
    *ret = n;
    return true;
}

static bool take_text(const char **at, const char *wanted)
{
    size_t len = strlen(wanted);

    if (strncmp(*at, wanted, len) != 0)
        return false;
    *at += len;
    return true;
}

/* "Step 2/5 : " of docker, "STEP 2/5: " and "[1/2] STEP 2/5: " of buildah. */
static bool take_step(const char *at, unsigned *stage, unsigned *step, unsigned *n_steps)
{
    unsigned n_stages;

    *stage = 0;
    if (*at == '[') {
        at++;
        if (!take_number(&at, stage) || !take_text(&at, "/") || !take_number(&at, &n_stages) ||
            !take_text(&at, "] ") || *stage == 0 || *stage > n_stages)
            return false;
    }
    if (!take_text(&at, "Step ") && !take_text(&at, "STEP "))
        return false;
    if (!take_number(&at, step) || !take_text(&at, "/") || !take_number(&at, n_steps))
        return false;
    return (take_text(&at, " : ") || take_text(&at, ": ")) && *step >= 1 && *step <= *n_steps;
}

static void see_step(struct build_log *log)
{
    unsigned stage;
    unsigned step;
    unsigned n_steps;
    bool is_next;

    if (!take_step(log->line, &stage, &step, &n_steps))
        return;
    if (stage > 0 && stage == log->stage + 1)
        is_next = step == 1;
    else
        is_next = stage == log->stage && step == log->step + 1 &&
                  (log->step == 0 || n_steps == log->n_steps);
    if (!is_next)
        return;
    log->stage = stage;
    log->step = step;
    log->n_steps = n_steps;
    memcpy(log->layer, log->line, sizeof(log->layer));
}

static void end_line(struct build_log *log)
{
    while (log->line_len > 0 && log->line[log->line_len - 1] == ' ')
        log->line_len--;
    log->line[log->line_len] = '\0';
    if (log->line[strspn(log->line, " ")]) {
        see_step(log);
        memcpy(log->last[log->n_lines++ % BUILD_LOG_LINES], log->line, sizeof(log->line));
    }
    log->line_len = 0;
    log->line[0] = '\0';
}

/* A progress bar draws a line again and again: what stood there last counts. */
void build_log_add(struct build_log *log, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];

        if (c == '\n' || c == '\r')
            end_line(log);
        else if (log->line_len < BUILD_LOG_LINE)
            log->line[log->line_len++] = (char)(c < ' ' || c == 0x7f ? ' ' : c);
    }
}

void build_log_fail(struct build_log *log, const char *message)
{
    if (log->has_failed)
        return;
    end_line(log);
    log->has_failed = true;
    build_log_add(log, message, strlen(message));
    build_log_add(log, "\n", 1);
}

/* ---- answers -------------------------------------------------------------------------------- */

const char *build_log_layer(const struct build_log *log)
{
    return log->step > 0 ? log->layer : NULL;
}

const char *build_log_failed_layer(const struct build_log *log)
{
    return log->has_failed && log->step > 0 ? log->layer : NULL;
}

const char *build_log_summary(const struct build_log *log, char text[static BUILD_LOG_SUMMARY])
{
    bool has_part = log->line[0] && log->line_len > 0;
    size_t n = log->has_failed ? BUILD_LOG_LINES : 1;
    size_t len = 0;

    n = n < log->n_lines ? n : log->n_lines;
    text[0] = '\0';
    if (!log->has_failed && has_part) {
        (void)snprintf(text, BUILD_LOG_SUMMARY, "%.*s", (int)log->line_len, log->line);
        return text;
    }
    for (size_t i = log->n_lines - n; i < log->n_lines; i++)
        len += (size_t)snprintf(text + len, BUILD_LOG_SUMMARY - len, "%s%s", len ? "\n" : "",
                                log->last[i % BUILD_LOG_LINES]);
    return text;
}
