/* SPDX-License-Identifier: Apache-2.0 */
/* cli/cmd_tool.c - `glovebox tool NAME [JSON]`: the JSON tools; the same as `adde`.
 *
 * One JSON object on stdout, whatever happens; on stderr only what was no request.  Exit codes: 0,
 * 1 for a call that failed or was no request, 2 for a command line without a tool.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "cli/command.h"
#include "cli/help.h"
#include "conf/box_spec.h"
#include "conf/certificates.h"
#include "conf/environment.h"
#include "conf/package_host.h"
#include "conf/settings.h"
#include "json/value.h"
#include "json/writer.h"
#include "run/signals.h"
#include "tool/tool.h"

#define EXIT_DONE   0
#define EXIT_FAILED 1
#define EXIT_USAGE  2
#define LINES_MAX   65536
#define TEMP_DIR    "/tmp"

/* What is left of a call for the environments to be told and the log to be written. */
#define RUN_SLACK_MS 15000

struct tool_args {
    bool is_list;
};

static const struct opt options[] = {
    { OPT_FLAG, "list", 0, offsetof(struct tool_args, is_list), NULL,
      "all tools and the keys they take, as JSON" },
    OPT_HELP_ROW,
    { 0 },
};

/* ---- words ---------------------------------------------------------------------------------- */

static void put_names(struct buf *text)
{
    const struct tool *tool;

    for (size_t i = 0; (tool = tool_at(i)) != NULL; i++)
        (void)buf_printf(text, "%s%s", i ? ", " : "", tool->name);
}

static void put_usage(const struct call *call, struct buf *text)
{
    bool is_adde = strcmp(call->program, "glovebox") != 0;

    (void)buf_printf(text, "usage: %s%s <tool> [json]\n", call->program, is_adde ? "" : " tool");
    (void)buf_puts(text, "The JSON object is read from stdin when it is not given.\ntools: ");
    put_names(text);
    (void)buf_putc(text, '\n');
}

static void tell(const struct buf *text)
{
    (void)fd_write_full(STDERR_FILENO, text->data, text->len);
}

static int usage(const struct call *call)
{
    cleanup_buf struct buf text = BUF_INIT(LINES_MAX);

    put_usage(call, &text);
    tell(&text);
    return EXIT_USAGE;
}

static int unknown(const struct call *call, const char *name)
{
    cleanup_buf struct buf text = BUF_INIT(LINES_MAX);

    (void)buf_printf(&text, "%s: unknown tool \"%.100s\"\n", call->program, name);
    put_usage(call, &text);
    tell(&text);
    return EXIT_FAILED;
}

static void complain(const struct call *call, const struct gb_err *failure)
{
    cleanup_buf struct buf text = BUF_INIT(LINES_MAX);

    (void)buf_printf(&text, "%s: %.*s\n", call->program, (int)gb_err_len(failure), failure->msg);
    tell(&text);
}

/* ---- options -------------------------------------------------------------------------------- */

/* Behind the help that every command has. */
static int print_names(struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(LINES_MAX);

    (void)buf_puts(&text, "\nThe JSON object is read from stdin when it is not given.  Tools:\n");
    for (size_t i = 0; tool_at(i); i++)
        (void)buf_printf(&text, "  %s\n", tool_at(i)->name);
    return command_print(&text, err);
}

static int run_options(const struct call *call, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(1 << 20);
    struct tool_args args = { 0 };
    struct parsed parsed = { 0 };
    int r = command_parse(call, &args, &parsed, err);

    if (r == 0)
        r = command_no_operands(&parsed, err);
    parsed_clear(&parsed);
    if (r > 0)
        return print_names(err);
    if (r < 0)
        return r;
    if (!args.is_list)
        return usage(call);
    (void)tool_list(&text);
    (void)buf_putc(&text, '\n');
    return command_print(&text, err);
}

/* ---- a call --------------------------------------------------------------------------------- */

/* Readable when a signal has come or the time of a call is up. */
static int watch_open(struct gb_err *err)
{
    cleanup_close int signals = signals_open(err);
    cleanup_close int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    cleanup_close int both = epoll_create1(EPOLL_CLOEXEC);
    struct itimerspec when = { .it_value = { .tv_sec = TOOL_CALL_MS / 1000 } };
    struct epoll_event event = { .events = EPOLLIN };

    if (signals < 0)
        return signals;
    if (timer < 0 || both < 0 || timerfd_settime(timer, 0, &when, NULL) < 0 ||
        epoll_ctl(both, EPOLL_CTL_ADD, signals, &event) < 0 ||
        epoll_ctl(both, EPOLL_CTL_ADD, timer, &event) < 0)
        return gb_fail_sys(err, "watching for signals");
    /* Both must stay open as long as the process: epoll does not hold them. */
    (void)take_fd(&signals);
    (void)take_fd(&timer);
    return take_fd(&both);
}

/* Waits for stdin; what watch_open() watches for ends the call meanwhile, too. */
static int await_stdin(int watch, struct gb_err *err)
{
    struct pollfd fds[] = { { .fd = STDIN_FILENO, .events = POLLIN },
                            { .fd = watch, .events = POLLIN } };

    while (poll(fds, N_ELEMENTS(fds), -1) < 0)
        if (errno != EINTR)
            return gb_fail_sys(err, "read stdin");
    return fds[1].revents ? gb_fail(err, -ECANCELED, GB_BLAME_CALLER,
                                    "read stdin: the call was ended before its request was whole")
                          : 0;
}

static int read_stdin(int watch, struct buf *ret, struct gb_err *err)
{
    for (;;) {
        ssize_t n;
        int r = await_stdin(watch, err);

        if (r < 0)
            return r;
        if (buf_reserve(ret, LINES_MAX) < 0)
            return gb_fail(err, -EFBIG, GB_BLAME_CALLER, "read stdin: a request has at most %d MiB",
                           TOOL_TEXT_MAX >> 20);
        n = read(STDIN_FILENO, ret->data + ret->len, LINES_MAX);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return gb_fail_sys(err, "read stdin");
        if (n == 0)
            return 0;
        ret->len += (size_t)n;
    }
}

static const char *temp_dir(char *const *env)
{
    const char *named = environment_get(env, "TMPDIR");

    return named && named[0] == '/' && named[1] ? named : TEMP_DIR;
}

/* A time that somebody has set is the most there is; the default is only what a run gets when it
 * does not say. */
static uint64_t wall_max_ms(const struct settings *settings)
{
    return settings->set[KEY_TIMEOUT].origin.kind == ORIGIN_DEFAULT ? TOOL_CALL_MS - RUN_SLACK_MS
                                                                    : settings->limits.wall_ms;
}

static enum tool_end do_with(const struct call *call, const struct tool *tool,
                             const struct settings *settings, const char *json, struct buf *ret,
                             struct gb_err *err)
{
    cleanup_buf struct buf input = BUF_INIT(TOOL_TEXT_MAX + LINES_MAX);
    cleanup_close int watch = watch_open(err);
    cleanup_with(package_host_clear) struct package_host packages = { 0 };
    cleanup_with(certificates_clear) struct certificates certificates = { 0 };
    cleanup_free char *variables = NULL;
    struct box_spec spec = settings_box_spec(settings);
    struct denials denials = settings->denials;
    struct tool_host host = {
        .box = &spec,
        .wall_max_ms = wall_max_ms(settings),
        .image_max_ms = settings->image_ms < TOOL_CALL_MS ? settings->image_ms : TOOL_CALL_MS,
        .image_bases = settings->image_bases,
        .net_caps = settings->net_caps,
        .denied_later = { denials_changed, &denials },
        .packages = &packages,
        .state_dir = settings->state_dir,
        .temp_dir = temp_dir(call->env),
        .cancel_fd = watch,
    };

    package_host_load(settings, call->env, &packages);
    /* Without memory for them the box has its own: nothing else depends on it. */
    if (tool->makes_boxes && certificates_find(call->env, NULL, &certificates) == 0)
        (void)certificates_text(&certificates, &variables);
    spec.certificates = certificates.list;
    host.variables = variables;
    if (watch < 0 || (!json && read_stdin(watch, &input, err) < 0)) {
        tool_tell_refusal(err, ret);
        return TOOL_REFUSED;
    }
    if (tool->makes_boxes && settings_check_without_image(settings, err) < 0) {
        tool_tell_failure(tool, err, ret);
        return TOOL_FAILED;
    }
    return json ? tool_do(tool, &host, json, strlen(json), ret, err)
                : tool_do(tool, &host, input.data ? input.data : "", input.len, ret, err);
}

/* What lives on and is known to nobody goes again. */
static void take_back(const struct call *call, const struct tool *tool,
                      const struct settings *settings, const struct buf *answer)
{
    cleanup_json struct json_value *told = NULL;
    cleanup_buf struct buf request = BUF_INIT(LINES_MAX);
    cleanup_buf struct buf ignored = BUF_INIT(TOOL_ANSWER_MAX);
    struct gb_err ignored_err = { 0 };
    struct json_writer w;
    const char *id;

    if (json_value_parse(answer->data, answer->len, TOOL_ANSWER_MAX, &told, NULL) < 0)
        return;
    id = json_str(json_get(told, "container_id"), NULL);
    json_writer_init(&w, &request, false);
    json_object_begin(&w, NULL);
    json_put_str(&w, "container_id", id);
    json_put_bool(&w, "delete_workspace", true);
    json_object_end(&w);
    if (id && json_writer_end(&w) == 0)
        (void)do_with(call, tool_find(tool->undo), settings, request.data, &ignored, &ignored_err);
}

/* With settings, or the failure to load them. */
static int run_with(const struct call *call, const struct tool *tool,
                    const struct settings *settings, const char *json, struct gb_err *failure,
                    struct gb_err *err)
{
    cleanup_buf struct buf answer = BUF_INIT(TOOL_ANSWER_MAX + 1);
    enum tool_end end = TOOL_REFUSED;
    int r;

    if (failure->code < 0)
        tool_tell_refusal(failure, &answer);
    else
        end = do_with(call, tool, settings, json, &answer, failure);
    if (end == TOOL_REFUSED)
        complain(call, failure);
    (void)buf_putc(&answer, '\n');
    /* A reader who has left is a failure to write like any other. */
    (void)signal(SIGPIPE, SIG_IGN);
    r = command_print(&answer, err);
    if (r < 0 && end == TOOL_DONE && tool->undo)
        take_back(call, tool, settings, &answer);
    if (r < 0)
        return r;
    return end == TOOL_DONE ? EXIT_DONE : EXIT_FAILED;
}

static int run_tool(const struct call *call, const struct tool *tool, const char *json,
                    struct gb_err *err)
{
    struct settings settings = { 0 };
    struct gb_err failure = { 0 };
    int r = command_settings(call, &(struct parsed){ 0 }, &settings, &failure);

    if (r == 0 && tool->undo)
        (void)command_check_stdout(call, &failure);
    r = run_with(call, tool, &settings, json, &failure, err);
    settings_clear(&settings);
    return r;
}

/* Words behind the JSON are ignored, as callers of adde expect. */
static int tool_call(const struct call *call, struct gb_err *err)
{
    const char *name = call->argv[0];
    const struct tool *tool;

    if (!name)
        return usage(call);
    if (name[0] == '-')
        return run_options(call, err);
    tool = tool_find(name);
    return tool ? run_tool(call, tool, call->argv[1], err) : unknown(call, name);
}

const struct cmd cmd_tool = {
    .name = "tool",
    .help = "Do one of the JSON tools for agents",
    .usages = { "NAME [JSON]", "--list" },
    .options = options,
    .run = tool_call,
};
