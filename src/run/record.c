/* SPDX-License-Identifier: Apache-2.0 */
/* run/record.c - a run in a box that lives on, written down as it goes. */
#include "run/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "box/kept.h"
#include "run/kept_log.h"
#include "run/kept_run.h"
#include "run/result.h"

int run_record_dir(const char *state_dir, const struct kept *kept, struct gb_err *err)
{
    cleanup_close int dir = kept_dir(state_dir, kept, err);
    int fd;

    if (dir < 0)
        return dir;
    fd = openat(dir, "runs", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    return fd < 0 ? gb_fail_sys(err, "the runs of box %s", kept->id) : fd;
}

int run_record_begin(struct run_record *ret, const char *state_dir, const struct kept *kept,
                     const char *command, struct gb_err *err)
{
    int r;

    *ret = (struct run_record){ .started_ms = kept_run_now_ms() };
    ret->runs_fd = run_record_dir(state_dir, kept, err);
    if (ret->runs_fd < 0)
        return ret->runs_fd;
    (void)snprintf(ret->command, sizeof(ret->command), "%s", command);
    r = id_make('r', ret->id);
    if (r < 0)
        r = gb_fail(err, r, GB_BLAME_HOST, "drawing a name for the run: %s", strerror(-r));
    ret->log = kept_log_new(ret->runs_fd, ret->id, kept->box.receipt.limits.output_keep);
    if (r == 0 && !ret->log)
        r = gb_no_memory(err);
    if (r == 0)
        r = kept_run_begin(ret->runs_fd, ret->id, ret->command, ret->started_ms, err);
    if (r < 0) {
        kept_log_free(take_ptr(ret->log));
        drop_fd(&ret->runs_fd);
        return r;
    }
    ret->record_fd = r;
    return 0;
}

void run_record_add(struct run_record *record, int stream, const void *bytes, size_t len)
{
    kept_log_add(record->log, (unsigned)stream, bytes, len);
}

void run_record_failure(struct run_record *record, const struct gb_err *failure)
{
    char line[sizeof(failure->msg) + 16];
    int n = snprintf(line, sizeof(line), "glovebox: %s\n", failure->msg);

    run_record_add(record, OUT_STDERR, line, (size_t)n);
}

/* In this order: whoever finds that nobody writes any more finds the verdict too. */
void run_record_end(struct run_record *record, struct run_result *result)
{
    struct gb_err err = { 0 };
    int error = kept_log_error(record->log);

    if (error < 0)
        run_result_add_note(result, "the log of the run is not whole: %s", strerror(-error));
    if (kept_run_end(record->record_fd, record->command, record->started_ms, result,
                     kept_log_total(record->log), &err) < 0)
        run_result_add_note(result, "%s", err.msg);
    kept_log_free(take_ptr(record->log));
    drop_fd(&record->record_fd);
    drop_fd(&record->runs_fd);
}
