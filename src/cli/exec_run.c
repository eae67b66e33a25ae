/* SPDX-License-Identifier: Apache-2.0 */
/* cli/exec_run.c - `glovebox exec`, once its arguments are known: runs, streams, tells.
 *
 * Without --json the program's output passes through as it comes, and what glovebox has to say goes
 * to stderr.  With --json stdout carries one document and nothing else, with --jsonl lines of JSON.
 * Ctrl-C and SIGTERM kill the run, and the result is told all the same.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/id.h"
#include "box/box.h"
#include "box/carry.h"
#include "box/kept.h"
#include "cli/box_user.h"
#include "cli/command.h"
#include "cli/exec_args.h"
#include "cli/exec_lines.h"
#include "cli/exec_packages.h"
#include "cli/exec_print.h"
#include "cli/exec_session.h"
#include "cli/packages.h"
#include "cli/term.h"
#include "conf/box_spec.h"
#include "conf/certificates.h"
#include "conf/settings.h"
#include "run/language.h"
#include "run/packages.h"
#include "run/record.h"
#include "run/result.h"
#include "run/run.h"
#include "run/signals.h"

/* Glovebox itself failed. */
#define EXIT_FAILED 125

/* ---- the request ---------------------------------------------------------------------------- */

/* In a box of its own, or in the given one. */
static int run_request(const struct exec_args *args, const struct run_request *base,
                       struct box *box, struct run_result *result, struct gb_err *err)
{
    struct run_request request = *base;
    cleanup_free struct run_input *inputs = calloc(args->n_files + 1, sizeof(*inputs));
    cleanup_free struct run_output *outputs = calloc(args->n_outs + 1, sizeof(*outputs));

    if (!inputs || !outputs)
        return gb_no_memory(err);
    for (size_t i = 0; i < args->n_files; i++)
        inputs[i] = (struct run_input){
            .target = args->files[i].box,
            .fd = args->files[i].fd,
            .size = args->files[i].size,
            .mode = args->files[i].mode,
        };
    for (size_t i = 0; i < args->n_outs; i++)
        outputs[i] = (struct run_output){ .target = args->outs[i].box, .host = args->outs[i].host };
    request.inputs = inputs;
    request.n_inputs = args->n_files;
    request.outputs = outputs;
    request.n_outputs = args->n_outs;
    return box ? run_execute_in(box, &request, result, err) : run_execute(&request, result, err);
}

/* ---- telling -------------------------------------------------------------------------------- */

static int print_json(const struct run_result *result, bool with_base64, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(SIZE_MAX / 4);
    int r = run_result_json(result, with_base64, &text);

    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "writing the result: %s", strerror(-r));
    (void)buf_putc(&text, '\n');
    return command_print(&text, err);
}

void exec_refused(const struct gb_err *why, bool is_jsonl)
{
    struct run_result result = { .error = *why };
    cleanup_with(exec_lines_clear) struct exec_lines lines;
    struct gb_err ignored = { 0 };

    exec_lines_init(&lines, STDOUT_FILENO, -1);
    (void)id_make('r', result.id);
    (void)(is_jsonl ? exec_lines_end(&lines, &result, false, &ignored)
                    : print_json(&result, false, &ignored));
}

/* ---- all of it ------------------------------------------------------------------------------ */

/* Is the failure that of a toolchain which cannot be found?  Whoever named it can repair that, as
 * with any other fault of one; this machine lacks nothing. */
static bool misses_toolchain(const struct settings *settings, int code)
{
    struct stat st;

    for (const char *const *tree = settings->toolchains; tree && *tree; tree++)
        if (stat(*tree, &st) < 0 && errno == -code)
            return true;
    return false;
}

/* Limits that can be said for a run of a box that lives on; cores and disk are the box's. */
static const struct {
    enum key_id key;
    size_t offset;
} run_limits[] = {
    { KEY_TIMEOUT, offsetof(struct limits, wall_ms) },
    { KEY_CPU_TIME, offsetof(struct limits, cpu_ms) },
    { KEY_MEMORY, offsetof(struct limits, memory_bytes) },
    { KEY_PIDS, offsetof(struct limits, pids) },
    { KEY_OUTPUT_MAX, offsetof(struct limits, output_max) },
};

static uint64_t limit_of(const struct limits *limits, size_t i)
{
    uint64_t value;

    memcpy(&value, (const char *)limits + run_limits[i].offset, sizeof(value));
    return value;
}

/* What was said for this run lowers what holds for its box. */
static struct limits kept_limits(const struct settings *settings, struct limits box)
{
    struct limits said = { 0 };

    for (size_t i = 0; i < N_ELEMENTS(run_limits); i++)
        if (settings->set[run_limits[i].key].origin.kind != ORIGIN_DEFAULT) {
            uint64_t value = limit_of(&settings->limits, i);

            memcpy((char *)&said + run_limits[i].offset, &value, sizeof(value));
        }
    return limits_min(box, limits_or(said, box));
}

/* Who asks for more than the box has must not believe that it was given. */
static void note_lowered(const struct settings *settings, const struct limits *box,
                         struct run_result *result)
{
    for (size_t i = 0; i < N_ELEMENTS(run_limits); i++) {
        const char *flag = key_at(run_limits[i].key)->flag;

        if (settings->set[run_limits[i].key].origin.kind == ORIGIN_FLAG &&
            limit_of(&settings->limits, i) > limit_of(box, i))
            run_result_add_note(result,
                                "--%s is more than the box has, whose own limit holds; glovebox "
                                "box create --%s makes one with more",
                                flag, flag);
    }
}

/* The output of a run in a box that lives on goes to its log, and on to where it went anyway. */
struct recorder {
    struct run_record record;
    const struct run_request *base;
};

static int record_output(void *user, int stream, const void *bytes, size_t len)
{
    struct recorder *recorder = user;
    const struct run_request *base = recorder->base;

    run_record_add(&recorder->record, stream, bytes, len);
    return base->output ? base->output(base->user, stream, bytes, len) : 0;
}

static void record_step(void *user, const char *name)
{
    struct recorder *recorder = user;

    recorder->base->step(recorder->base->user, name);
}

/* "python: print(1)", "sh -c exit": as much of it as fits. */
static void describe(const struct exec_args *args, char *ret, size_t size)
{
    size_t len = 0;

    ret[0] = '\0';
    if (args->language && args->source == EXEC_FILE)
        len = (size_t)snprintf(ret, size, "%s", args->name);
    else if (args->language)
        len = (size_t)snprintf(ret, size, "%s: %.*s", args->language->name,
                               (int)(args->code_len < size ? args->code_len : size),
                               args->code_len ? args->code : "");
    for (size_t i = 0; i < args->n_args && len < size; i++)
        len += (size_t)snprintf(ret + len, size - len, "%s%s", len ? " " : "", args->args[i]);
}

static int run_in_kept(const struct exec_args *args, struct recorder *recorder, struct box *box,
                       struct run_result *result, struct gb_err *err)
{
    struct run_request request = *recorder->base;
    int r = args->begun_fd >= 0 ? exec_tell_begun(args, recorder->record.id, err) : 0;

    if (r < 0) {
        result->error = *err;
        return r;
    }
    request.id = recorder->record.id;
    request.sinks = NULL;
    request.output = record_output;
    request.step = record_step;
    request.user = recorder;
    printer_begin(recorder->base->user, &request);
    return run_request(args, &request, box, result, err);
}

/* The record is begun while the keeper, who has just been called, comes to the door.  *ret_is_gone:
 * the box has ended since it was found, and nothing was run. */
static int run_recorded(const struct exec_args *args, const struct settings *settings,
                        const struct kept *kept, const struct run_request *base,
                        struct run_result *result, bool *ret_is_gone, struct gb_err *err)
{
    cleanup_close int keeper = kept_connect(settings->state_dir, kept, err);
    struct recorder recorder = { .base = base };
    char command[sizeof(recorder.record.command)];
    struct box_news news;
    struct box *box = NULL;
    int r = keeper;

    describe(args, command, sizeof(command));
    if (r >= 0)
        r = run_record_begin(&recorder.record, settings->state_dir, kept, command, err);
    *ret_is_gone = kept_is_gone(r);
    if (r < 0)
        return r;
    r = box_attach(&kept->box, take_fd(&keeper), &box, &news, err);
    *ret_is_gone = kept_is_gone(r);
    if (r < 0)
        result->error = *err;
    else
        r = run_in_kept(args, &recorder, box, result, err);
    if (r < 0)
        run_record_failure(&recorder.record, &result->error);
    run_record_end(&recorder.record, result);
    (void)box_close(box);
    return r;
}

static int try_kept(const struct exec_args *args, const struct settings *settings,
                    const struct exec_session *session, const struct run_request *base,
                    struct run_result *result, bool *ret_is_gone, struct gb_err *err)
{
    struct run_request request = *base;
    struct box_spec spec = *base->box;
    cleanup_kept struct kept kept = { 0 };
    int r = box_find(settings, args->box, args->user, &kept, err);

    if (r < 0)
        return r;
    spec.backend = kept.box.receipt.backend;
    spec.limits =
        exec_session_limits(session, settings, kept_limits(settings, kept.box.receipt.limits));
    request.box = &spec;
    request.workdir = args->workdir ? args->workdir : kept.workdir;
    r = run_recorded(args, settings, &kept, &request, result, ret_is_gone, err);
    if (!*ret_is_gone)
        note_lowered(settings, &kept.box.receipt.limits, result);
    return r;
}

/* A user's box that somebody removes between looking and coming in is looked for, or made, again.
 */
static int execute_kept(const struct exec_args *args, const struct settings *settings,
                        const struct exec_session *session, const struct run_request *base,
                        struct run_result *result, struct gb_err *err)
{
    bool is_gone = true;
    int r = 0;

    for (unsigned i = 0; is_gone && i < (args->user ? KEPT_TRIES : 1); i++) {
        is_gone = false;
        result->error = (struct gb_err){ 0 };
        r = try_kept(args, settings, session, base, result, &is_gone, err);
    }
    return r;
}

/* The certificates that programs of this machine trust, for a box that shows those programs and has
 * a network. */
static int show_certificates(struct certificates *certificates, struct box_spec *spec,
                             struct run_request *request, struct gb_err *err)
{
    int r = request->net ? certificates_for(spec, environ, request->env, certificates, err) : 0;

    if (r < 0 || !certificates->env)
        return r;
    spec->certificates = certificates->list;
    request->env = certificates->env;
    return 0;
}

static int execute(const struct exec_args *args, const struct settings *settings,
                   struct printer *printer, struct exec_session *session, int cancel_fd,
                   struct run_result *result, struct gb_err *err)
{
    struct box_spec spec = settings_box_spec(settings);
    const int sinks[3] = { -1, printer_pipe(&printer->sinks[1]), printer_pipe(&printer->sinks[2]) };
    struct run_request request = {
        .box = &spec,
        .language = args->language,
        .code = args->code,
        .code_len = args->code_len,
        .name = args->name,
        .is_name_of_workspace = args->is_name_of_workspace,
        .is_name_ours = args->is_name_ours,
        .args = (const char *const *)args->args,
        .env = args->env,
        .net = args->net.mode != NET_NONE ? &args->net : NULL,
        .net_caps = settings->net_caps,
        .workdir = args->workdir ? args->workdir : BOX_WORKSPACE,
        .workspace = args->workspace,
        .lists_files = args->is_json,
        .leaves_box = true,
        .keeps_output = args->is_json,
        .sinks = sinks,
        .stdin_fd = args->has_stdin ? STDIN_FILENO : -1,
        .cancel_fd = cancel_fd,
        .output = args->is_json && !args->is_jsonl ? NULL : printer_output,
        .step = printer_step,
        .user = printer,
    };
    cleanup_with(packages_close) struct packages packages;
    cleanup_with(certificates_clear) struct certificates certificates = { 0 };
    char id[ID_SIZE];
    int r;

    packages_init(&packages);
    exec_session_join(session, &request);
    spec.workdir = args->workdir;
    spec.limits = exec_session_limits(session, settings, spec.limits);
    if (args->language)
        settings_suit_language(settings, args->language, false, &spec);
    if (args->box || args->user)
        return execute_kept(args, settings, session, &request, result, err);
    r = args->wishes ? exec_packages_open(args, settings, cancel_fd, printer->lines, &packages,
                                          &spec, result, err)
                     : 0;
    if (r == 0)
        r = show_certificates(&certificates, &spec, &request, err);
    if (r < 0)
        return r;
    if (id_make('r', id) == 0)
        request.id = id;
    printer_begin(printer, &request);
    r = run_request(args, &request, NULL, result, err);
    if (r < 0 && misses_toolchain(settings, r))
        err->blame = GB_BLAME_CALLER;
    return r;
}

/* The same with --json and without.  Before a program was begun the error decides; behind one that
 * failed by itself it says less than the program's own end; behind one that went well it is no
 * success all the same. */
static int exit_code(const struct run_result *result, int r, const struct gb_err *err)
{
    int code = run_result_exit_code(result);

    if (r >= 0)
        return code;
    if (result->n_steps == 0)
        return term_exit_code(err);
    return code ? code : EXIT_FAILED;
}

/* A reader that left has seen what it wanted. */
static int tell_lines(const struct exec_args *args, const struct settings *settings,
                      struct exec_lines *lines, const struct run_result *result, int code,
                      struct gb_err *err)
{
    int r = exec_lines_end(lines, result, args->has_base64, err);

    if (r == 0 || r == -EPIPE)
        return code;
    term_error(err, settings->color, environ);
    return EXIT_FAILED;
}

/* The exit code.  With --json the document tells of a failed run. */
static int tell(const struct exec_args *args, const struct settings *settings,
                struct printer *printer, const struct run_result *result, int r, struct gb_err *err)
{
    int code = exit_code(result, r, err);

    if (printer->lines)
        return tell_lines(args, settings, printer->lines, result, code, err);
    if (args->is_json && print_json(result, args->has_base64, err) == 0)
        return code;
    if (args->is_json) {
        term_error(err, settings->color, environ);
        return EXIT_FAILED;
    }
    if (!printer_is_heard(printer))
        return code;
    printer_notes(printer, result);
    if (r < 0) {
        printer_start_line(printer);
        packages_print_log(result->packages);
        term_error(err, settings->color, environ);
    } else {
        printer_hint(printer, result, settings->color);
    }
    return code;
}

int exec_run(const struct exec_args *args, const struct settings *settings, struct gb_err *err)
{
    struct run_result result = { 0 };
    cleanup_with(printer_clear) struct printer printer = { 0 };
    cleanup_with(exec_lines_clear) struct exec_lines lines = { 0 };
    cleanup_with(exec_session_close) struct exec_session session = { .events.source.fd = -1 };
    cleanup_close int signals = signals_open(err);
    int r = signals < 0 ? signals : exec_session_open(args, &session, err);

    if (r < 0)
        return r;
    fd_allow(CARRY_FILES_MAX);
    printer_init(&printer, signals);
    printer.tty = &session.tty;
    exec_lines_init(&lines, STDOUT_FILENO, signals);
    if (args->is_jsonl)
        printer.lines = &lines;
    r = execute(args, settings, &printer, &session, signals, &result, err);
    exec_packages_note(args, &result);
    /* Before there was a box to run in. */
    if (r < 0 && result.error.code == 0)
        result.error = *err;
    if (!result.id[0])
        (void)id_make('r', result.id);
    printer_rest(&printer);
    r = tell(args, settings, &printer, &result, r, err);
    if (printer_check(&printer, err) < 0) {
        term_error(err, settings->color, environ);
        r = EXIT_FAILED;
    }
    run_result_clear(&result);
    return r;
}
