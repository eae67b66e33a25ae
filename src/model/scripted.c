/* SPDX-License-Identifier: Apache-2.0 */
/* model/scripted.c - a model that plays a script: for the demo, and for tests without a key.
 *
 * Its label begins with "scripted/", so that nobody takes its answers for a model's. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "model/assemble.h"
#include "model/fault.h"
#include "model/ops.h"
#include "model/retry.h"
#include "model/script.h"

#define CONTEXT 32768

/* ---- playing -------------------------------------------------------------------------------- */

struct play {
    const struct script_rule *rule;
    const struct model_request *request;
    struct assembly *assembly;
    struct fault *fault;
};

/* How many bytes the next piece has: the rule's number, but never half a character. */
static size_t piece_of(const struct script_rule *rule, const char *text)
{
    size_t n = strnlen(text, rule->piece);

    while (((unsigned char)text[n] & 0xc0) == 0x80)
        n++;
    return n;
}

static int play_text(const struct play *play, const char *text,
                     int (*put)(struct assembly *assembly, const char *bytes, size_t len))
{
    const struct model_request *request = play->request;
    struct gb_err cause = { 0 };
    int r = 0;

    while (text && *text && r == 0) {
        size_t n = piece_of(play->rule, text);

        r = retry_pause(play->rule->delay_ms, request->deadline_ns, request->cancel_fd, &cause);
        if (r < 0)
            return fault_from(play->fault, FAULT_ENDED, &cause);
        r = put(play->assembly, text, n);
        if (r < 0)
            *play->fault = play->assembly->fault;
        text += n;
    }
    return r;
}

static int play_calls(const struct play *play)
{
    int r = 0;

    for (size_t i = 0; i < play->rule->n_calls && r == 0; i++) {
        const struct script_call *call = &play->rule->calls[i];
        char id[32];
        struct assembly_piece piece = {
            .has_index = true,
            .index = i,
            .id = id,
            .name = call->name,
            .arguments = call->arguments,
            .arguments_len = strlen(call->arguments),
        };

        (void)snprintf(id, sizeof(id), "call_%zu", i + 1);
        r = assembly_call(play->assembly, &piece);
        if (r < 0)
            *play->fault = play->assembly->fault;
    }
    return r;
}

static int play_error(const struct play *play)
{
    const struct script_rule *rule = play->rule;

    fault_read_body(play->fault, (int)rule->status, rule->error, strlen(rule->error));
    return -EREMOTEIO;
}

static int play_rule(const struct play *play)
{
    static const enum assembly_end ends[] = {
        [SCRIPT_STOP] = ASSEMBLY_STOP,
        [SCRIPT_CUT] = ASSEMBLY_CUT,
        [SCRIPT_REFUSED] = ASSEMBLY_REFUSED,
    };
    const struct script_rule *rule = play->rule;
    int r = play_text(play, rule->reasoning, assembly_reasoning);

    if (r == 0)
        r = play_text(play, rule->text, assembly_text);
    if (r == 0)
        r = play_calls(play);
    if (rule->has_usage)
        assembly_usage(play->assembly, rule->input, rule->cached, rule->output, 0);
    if (r < 0)
        return r;
    if (rule->status)
        return play_error(play);
    play->assembly->end = ends[rule->finish];
    return assembly_finish(play->assembly);
}

/* The beginning of what was asked, for an author who looks for the missing rule. */
static const char *question(const struct model_request *request)
{
    for (size_t i = request->n_messages; i > 0; i--)
        if (request->messages[i - 1].role == MODEL_USER)
            return request->messages[i - 1].text;
    return "";
}

static int scripted_ask(struct model *model, const struct model_ask *ask, struct assembly *assembly,
                        struct fault *ret_fault)
{
    struct play play = {
        .rule = script_find(model->state, ask->request, ask->partial),
        .request = ask->request,
        .assembly = assembly,
        .fault = ret_fault,
    };

    (*ask->requests)++;
    if (play.rule)
        return play_rule(&play);
    if (ask->partial)
        return fault_set(ret_fault, FAULT_REQUEST, "no 'after' fits the answer that was cut");
    return fault_set(ret_fault, FAULT_REQUEST, "the script has no answer to \"%.80s\"",
                     question(ask->request));
}

static void scripted_place(struct model *model, const struct fault *fault, struct fault_place *ret)
{
    (void)fault;
    ret->model = model->name;
}

static bool scripted_samples(const struct model *model)
{
    (void)model;
    return true; /* a rule may ask for a seed */
}

/* ---- life ----------------------------------------------------------------------------------- */

static const char *why_unread(int code)
{
    return code == -EFBIG ? "longer than a script may be" : file_trouble(code);
}

static int read_file(const char *path, struct script *ret, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(SCRIPT_MAX);
    cleanup_close int fd = file_open(AT_FDCWD, path);
    int r = fd < 0 ? -errno : file_read(fd, &text);

    if (r < 0)
        return gb_fail(err, r, GB_BLAME_CALLER, "reading the script '%.200s': %s", path,
                       why_unread(r));
    return script_read(path_base(path), text.data, text.len, ret, err);
}

static int scripted_open(struct model *model, const struct model_spec *spec, struct gb_err *err)
{
    const char *name = spec->name && spec->name[0] ? spec->name : "script";
    struct script *script = calloc(1, sizeof(*script));
    int r;

    model->state = script;
    if (!script)
        return gb_no_memory(err);
    if (!spec->script && !(spec->name && spec->name[0]))
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "a scripted model needs the path of a script");
    r = spec->script ? script_read(path_base(name), spec->script, strlen(spec->script), script, err)
                     : read_file(name, script, err);
    if (r < 0)
        return r;
    model->context = spec->context ? spec->context : CONTEXT;
    model->said_context = spec->context;
    model->name = strdup(path_base(name));
    model->endpoint = strdup(spec->script ? "a built-in script; no model is asked" : name);
    if (!model->name || !model->endpoint ||
        asprintf(&model->label, "scripted/%s", model->name) < 0) {
        model->label = NULL;
        return gb_no_memory(err);
    }
    return 0;
}

static void scripted_close(struct model *model)
{
    if (model->state)
        script_clear(model->state);
    free(model->state);
}

const struct model_ops model_scripted = {
    .name = "scripted",
    .open = scripted_open,
    .ask = scripted_ask,
    .place = scripted_place,
    .samples = scripted_samples,
    .close = scripted_close,
};
