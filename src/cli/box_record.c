/* SPDX-License-Identifier: Apache-2.0 */
/* cli/box_record.c - a run in a box that lives on, written down as it goes. */
#include "cli/box_record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "box/kept.h"
#include "cli/exec_args.h"
#include "conf/settings.h"
#include "run/kept_log.h"
#include "run/kept_run.h"
#include "run/language.h"
#include "run/result.h"

int box_runs_open(const struct settings *settings, const struct kept *kept, struct gb_err *err)
{
    cleanup_close int dir = kept_dir(settings->state_dir, kept, err);
    int fd;

    if (dir < 0)
        return dir;
    fd = openat(dir, "runs", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    return fd < 0 ? gb_fail_sys(err, "the runs of box %s", kept->id) : fd;
}

/* "python: print(1)", "sh -c exit": as much of it as fits. */
static void describe(const struct exec_args *args, char *ret, size_t size)
{
    size_t len = 0;

    if (args->language && args->source == EXEC_FILE)
        len = (size_t)snprintf(ret, size, "%s", args->name);
    else if (args->language)
        len = (size_t)snprintf(ret, size, "%s: %.*s", args->language->name,
                               (int)(args->code_len < size ? args->code_len : size),
                               args->code_len ? args->code : "");
    for (size_t i = 0; i < args->n_args && len < size; i++)
        len += (size_t)snprintf(ret + len, size - len, "%s%s", len ? " " : "", args->args[i]);
}

int box_record_begin(struct box_record *ret, const struct settings *settings,
                     const struct kept *kept, const struct exec_args *args, struct gb_err *err)
{
    int r;

    *ret = (struct box_record){ .started_ms = kept_run_now_ms() };
    ret->runs_fd = box_runs_open(settings, kept, err);
    if (ret->runs_fd < 0)
        return ret->runs_fd;
    describe(args, ret->command, sizeof(ret->command));
    r = id_make('r', ret->id);
    if (r < 0)
        r = gb_fail(err, r, GB_BLAME_HOST, "drawing a name for the run: %s", strerror(-r));
    if (r == 0)
        r = kept_log_new(ret->runs_fd, ret->id, kept->box.receipt.limits.output_keep, &ret->log,
                         err);
    if (r == 0)
        r = kept_run_begin(ret->runs_fd, ret->id, ret->command, ret->started_ms, err);
    if (r < 0) {
        kept_log_free(take_ptr(ret->log));
        drop_fd(&ret->runs_fd);
    }
    return r;
}

void box_record_add(struct box_record *record, int stream, const void *bytes, size_t len)
{
    kept_log_add(record->log, (unsigned)stream, bytes, len);
}

/* In this order: whoever finds that nobody writes any more finds the verdict too. */
void box_record_end(struct box_record *record, struct run_result *result)
{
    struct gb_err err = { 0 };
    int error = kept_log_error(record->log);

    if (error < 0)
        run_result_add_note(result, "the log of the run is not whole: %s", strerror(-error));
    /* A box that was removed meanwhile has taken its records along. */
    if (kept_run_end(record->runs_fd, record->command, record->started_ms, result,
                     kept_log_total(record->log), &err) < 0 &&
        err.code != -ENOENT)
        run_result_add_note(result, "%s", err.msg);
    kept_log_free(take_ptr(record->log));
    drop_fd(&record->runs_fd);
}
