/* SPDX-License-Identifier: Apache-2.0 */
/* tool/engine.c - the engine that the tools for images speak to. */
#include "tool/engine.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "box/box.h"
#include "engine/endpoint.h"
#include "engine/engine.h"
#include "tool/tool.h"

int tool_engine(struct tool_call *call, struct engine **ret, struct gb_err *err)
{
    const struct box_engine *wanted = call->host->box->engine;
    cleanup_free struct endpoint *endpoint = calloc(1, sizeof(*endpoint));
    const struct engine_options options = {
        .endpoint = endpoint,
        .api_version = wanted->api_version,
        .cancel_fd = call->host->cancel_fd,
    };
    int r;

    if (!endpoint)
        return gb_no_memory(err);
    r = endpoint_find(&wanted->hints, endpoint, err);
    if (r < 0) {
        call->is_refused = true;
        return gb_wrap(err, r, "docker client");
    }
    return engine_open(&options, ret, err);
}
