/* SPDX-License-Identifier: Apache-2.0 */
/* cli/image_call.c - what every `glovebox image …` begins and ends with. */
#include "cli/image_call.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "engine/endpoint.h"
#include "engine/engine.h"

int image_call_open(const struct call *call, struct image_call *ret, struct gb_err *err)
{
    int r = command_parse(call, &ret->args, &ret->parsed, err);

    ret->color = call->ret_color;
    ret->env = call->env;
    if (r == 0)
        r = command_settings(call, &ret->parsed, &ret->settings, err);
    if (r == 0 && ret->parsed.has_rest)
        r = gb_fail(err, -EINVAL, GB_BLAME_CALLER, "unexpected argument '--'");
    return r;
}

void image_call_clear(struct image_call *call)
{
    engine_free(&call->engine);
    drop_fd(&call->signals);
    free(call->args.build_args.items);
    settings_clear(&call->settings);
    parsed_clear(&call->parsed);
}

static int watch_signals(struct gb_err *err)
{
    sigset_t set;
    int fd;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return fd < 0 ? gb_fail_sys(err, "watching for signals") : fd;
}

int image_call_engine(struct image_call *call, struct gb_err *err)
{
    struct endpoint endpoint;
    struct engine_options options = {
        .endpoint = &endpoint,
        .api_version = call->settings.engine.api_version,
    };
    int r = endpoint_find(&call->settings.engine.hints, &endpoint, err);

    if (r < 0)
        return r;
    call->signals = watch_signals(err);
    if (call->signals < 0)
        return call->signals;
    options.cancel_fd = call->signals;
    return engine_open(&options, &call->engine, err);
}

void image_put_size(uint64_t bytes, struct buf *ret)
{
    if (bytes < 1000000)
        (void)buf_printf(ret, "%.1f kB", (double)bytes / 1e3);
    else
        (void)buf_printf(ret, "%.1f MB", (double)bytes / 1e6);
}
