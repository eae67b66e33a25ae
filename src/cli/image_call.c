/* SPDX-License-Identifier: Apache-2.0 */
/* cli/image_call.c - what every `glovebox image …` begins and ends with. */
#include "cli/image_call.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "engine/endpoint.h"
#include "engine/engine.h"
#include "json/writer.h"
#include "run/signals.h"

#define FAILURE_MAX 16384

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
    call->signals = signals_open(err);
    if (call->signals < 0)
        return call->signals;
    options.cancel_fd = call->signals;
    return engine_open(&options, &call->engine, err);
}

static void print_failure(const struct gb_err *why)
{
    cleanup_buf struct buf text = BUF_INIT(FAILURE_MAX);
    struct json_writer w;

    json_writer_init(&w, &text, true);
    json_object_begin(&w, NULL);
    json_put_u64(&w, "schema", 1);
    json_put_bytes(&w, "error", why->msg, gb_err_len(why));
    json_put_str(&w, "remedy", gb_err_remedy(why));
    json_object_end(&w);
    (void)json_writer_end(&w);
    (void)command_print(&text, NULL);
}

int image_call_end(const struct image_call *call, int r, struct gb_err *err)
{
    if (r < 0 && call->args.is_json)
        print_failure(err);
    if (r == -ECANCELED) {
        (void)dprintf(STDERR_FILENO, "glovebox: cancelled\n");
        *err = (struct gb_err){ 0 };
        return IMAGE_CANCELLED;
    }
    return r > 0 ? 0 : r;
}

void image_put_size(uint64_t bytes, struct buf *ret)
{
    if (bytes < 1000000)
        (void)buf_printf(ret, "%.1f kB", (double)bytes / 1e3);
    else
        (void)buf_printf(ret, "%.1f MB", (double)bytes / 1e6);
}
