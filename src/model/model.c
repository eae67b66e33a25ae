/* SPDX-License-Identifier: Apache-2.0 */
/* model/model.c - opening a model, and what is known of it. */
#include "model/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "model/ops.h"
#include "model/providers.h"

static int no_provider(const char *name, struct gb_err *err)
{
    cleanup_buf struct buf names = BUF_INIT(256);

    for (size_t i = 0; provider_at(i); i++)
        (void)buf_printf(&names, "%s, ", provider_at(i)->name);
    (void)buf_puts(&names, "scripted");
    return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                   "no provider of models is named '%.60s'; there are %s", name,
                   names.data ? names.data : "others");
}

int model_open(const struct model_spec *spec, struct model **ret, struct gb_err *err)
{
    bool is_scripted = strcmp(spec->provider, "scripted") == 0;
    cleanup_model struct model *model = NULL;
    int r;

    if (!is_scripted && !provider_by_name(spec->provider))
        return no_provider(spec->provider, err);
    model = calloc(1, sizeof(*model));
    if (!model)
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for a model");
    model->ops = is_scripted ? &model_scripted : &model_server;
    model->provider = is_scripted ? NULL : provider_by_name(spec->provider);
    model->prices = spec->prices;
    r = model->ops->open(model, spec, err);
    if (r < 0)
        return r;
    *ret = take_ptr(model);
    return 0;
}

void model_close(struct model **model)
{
    if (!*model)
        return;
    (*model)->ops->close(*model);
    free((*model)->name);
    free((*model)->label);
    free((*model)->endpoint);
    free(*model);
    *model = NULL;
}

const char *model_label(const struct model *model)
{
    return model->label;
}

const char *model_endpoint(const struct model *model)
{
    return model->endpoint;
}

uint64_t model_context(const struct model *model)
{
    return model->context;
}

int model_learn_context(struct model *model, int cancel_fd, struct gb_err *err)
{
    return model->ops->learn ? model->ops->learn(model, cancel_fd, err) : 0;
}

void model_set_context(struct model *model, uint64_t context)
{
    uint64_t said = model->said_context;

    model->context = said && said < context ? said : context;
}

bool model_samples(const struct model *model)
{
    return model->ops->samples(model);
}

bool model_holds_schema(const struct model *model)
{
    return !model->ops->holds_schema || model->ops->holds_schema(model);
}
