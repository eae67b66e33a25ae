/* SPDX-License-Identifier: Apache-2.0 */
/* agent/facts.c - what the loop must know of its models and its box before it begins. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/journal.h"
#include "agent/state.h"
#include "agent/trial.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "box/box.h"
#include "json/value.h"
#include "json/writer.h"
#include "model/model.h"
#include "model/window.h"
#include "run/language.h"

#define FACTS_MAX     (64 << 10)
#define LOOK_KEEP     (16 << 10)
#define LANGUAGES_MAX 64

/* ---- models --------------------------------------------------------------------------------- */

/* One model may play several parts: it is asked once. */
static int learn_context(const struct agent_spec *spec, size_t role, struct gb_err *err)
{
    for (size_t i = 0; i < role; i++)
        if (spec->models[i] == spec->models[role])
            return 0;
    return model_learn_context(spec->models[role], spec->cancel_fd, err);
}

static int learn_contexts(const struct agent_spec *spec, struct gb_err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < N_ROLES; i++)
        r = learn_context(spec, i, err);
    return r;
}

static int models_text(void *user, struct buf *ret, struct gb_err *err)
{
    const struct task *task = user;
    struct json_writer w;
    int r = learn_contexts(task->spec, err);

    if (r < 0)
        return r;
    json_writer_init(&w, ret, false);
    json_array_begin(&w, NULL);
    for (size_t i = 0; i < N_ROLES; i++) {
        const struct model *model = task->spec->models[i];

        json_object_begin(&w, NULL);
        json_put_str(&w, "label", model_label(model));
        json_put_str(&w, "endpoint", model_endpoint(model));
        json_put_u64(&w, "context", model_context(model));
        json_put_bool(&w, "samples", model_samples(model));
        json_put_bool(&w, "told_schema", !model_holds_schema(model));
        json_object_end(&w);
    }
    json_array_end(&w);
    return json_writer_end(&w);
}

static char *copy_of(const struct json_value *value)
{
    const char *text = json_str(value, NULL);

    return strdup(text ? text : "");
}

/* What is remembered is of the model that was asked then, and a recording may be anybody's. */
static uint64_t context_of(const struct json_value *item)
{
    uint64_t context = 0;

    (void)json_u64(json_get(item, "context"), &context);
    context = context < WINDOW_MIN ? WINDOW_MIN : context;
    return context > WINDOW_MAX ? WINDOW_MAX : context;
}

static bool is_named(const struct json_value *item, const char *key, const char *name)
{
    const char *text = json_str(json_get(item, key), NULL);

    return text && strcmp(text, name) == 0;
}

/* A task that goes on may have another model, or a user who says less than before. */
static int renew_context(const struct task *task, size_t role, const struct json_value *item,
                         struct gb_err *err)
{
    struct model *now = task->spec->models[role];

    if (!now)
        return 0;
    if (!is_named(item, "label", model_label(now)) ||
        !is_named(item, "endpoint", model_endpoint(now)))
        return learn_context(task->spec, role, err);
    model_set_context(now, context_of(item));
    return 0;
}

static int take_models(struct task *task, struct gb_err *err)
{
    cleanup_buf struct buf output = BUF_INIT(FACTS_MAX);
    cleanup_json struct json_value *list = NULL;
    int r = journal_do(task->spec->journal, "models", "", 0, models_text, task, &output, err);

    if (r >= 0)
        r = json_value_parse(output.data, output.len, FACTS_MAX, &list, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < N_ROLES; i++) {
        const struct json_value *item = json_at(list, i);
        struct model_facts *facts = &task->models[i];
        const struct model *now = task->spec->models[i]; /* a resumed task may have another */

        facts->label = now ? strdup(model_label(now)) : copy_of(json_get(item, "label"));
        facts->endpoint = now ? strdup(model_endpoint(now)) : copy_of(json_get(item, "endpoint"));
        facts->context = context_of(item);
        (void)json_bool(json_get(item, "samples"), &facts->samples);
        (void)json_bool(json_get(item, "told_schema"), &facts->told_schema);
        if (!facts->label || !facts->endpoint)
            return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for the models' names");
        r = renew_context(task, i, item, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- the box -------------------------------------------------------------------------------- */

/* Names of programs that are there, then of what Python has beside its own library. */
static const char look[] = "for p; do command -v \"$p\" >/dev/null 2>&1 && echo \"$p\"; done\n"
                           "echo --\n"
                           "python3 -I -c '\n"
                           "import os, sys\n"
                           "print(\"Python %d.%d.%d\" % sys.version_info[:3])\n"
                           "found = set()\n"
                           "for folder in sys.path:\n"
                           "    if folder.endswith(\"-packages\") and os.path.isdir(folder):\n"
                           "        for name in os.listdir(folder):\n"
                           "            stem = name[:-3] if name.endswith(\".py\") else name\n"
                           "            if stem.isidentifier() and not stem.startswith(\"_\"):\n"
                           "                found.add(stem)\n"
                           "print(\", \".join(sorted(found)[:200]))\n"
                           "' 2>/dev/null || true\n";

static int look_around(const struct task *task, struct trial_end *end, struct gb_err *err)
{
    const char *argv[LANGUAGES_MAX + 5] = { "/bin/sh", "-c", look, "sh" };
    struct trial_spec spec = {
        .box = task->spec->box,
        .argv = argv,
        .keep = LOOK_KEEP,
        .cancel_fd = task->spec->cancel_fd,
    };
    const struct language *language;

    for (size_t i = 0; i < LANGUAGES_MAX && (language = language_at(i)); i++)
        argv[4 + i] = language->program;
    return trial_run(&spec, end, err);
}

/* A line of the text, without what names of programs and modules do not have. */
static void take_line(const char **at, struct buf *ret)
{
    size_t len = strcspn(*at, "\n");

    for (size_t i = 0; i < len; i++)
        if (strchr("._-+, ", (*at)[i]) || ((*at)[i] >= '0' && (*at)[i] <= '9') ||
            ((*at)[i] >= 'A' && (*at)[i] <= 'Z') || ((*at)[i] >= 'a' && (*at)[i] <= 'z'))
            (void)buf_putc(ret, (*at)[i]);
    *at += len + ((*at)[len] == '\n');
}

static bool has_line(const char *text, const char *line)
{
    size_t len = strlen(line);

    for (const char *at = text; at; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strncmp(at, line, len) == 0 && (at[len] == '\n' || at[len] == '\0'))
            return true;
    }
    return false;
}

/* May, and can: packages are layers, which only some boxes have. */
static bool can_install(const struct agent_spec *spec)
{
    const struct box_ops *ops = box_backend(spec->box->backend, NULL);

    return spec->installs && spec->package_host && ops && ops->has_layers;
}

static int facts_text(void *user, struct buf *ret, struct gb_err *err)
{
    const struct task *task = user;
    cleanup_buf struct buf languages = BUF_INIT(FACTS_MAX);
    cleanup_buf struct buf available = BUF_INIT(FACTS_MAX);
    struct trial_end end = { 0 };
    const struct language *language;
    struct json_writer w;
    const char *rest;
    int r = look_around(task, &end, err);

    if (r < 0 || !end.out.data) {
        trial_end_clear(&end);
        return r < 0 ? r : gb_fail(err, -EIO, GB_BLAME_HOST, "a box does not say what it has");
    }
    for (size_t i = 0; (language = language_at(i)); i++)
        if (has_line(end.out.data, language->program))
            (void)buf_printf(&languages, "%s%s", languages.len ? ", " : "", language->name);
    rest = strstr(end.out.data, "--\n");
    if (rest && rest[3]) {
        rest += 3;
        take_line(&rest, &available);
        (void)buf_puts(&available, " with its standard library");
        if (*rest)
            (void)buf_puts(&available, ", and the modules ");
        take_line(&rest, &available);
    }
    trial_end_clear(&end);
    json_writer_init(&w, ret, false);
    json_object_begin(&w, NULL);
    json_put_str(&w, "languages", languages.data ? languages.data : "");
    json_put_str(&w, "available", available.data ? available.data : "");
    json_put_bool(&w, "installs", can_install(task->spec));
    json_object_end(&w);
    return json_writer_end(&w);
}

static char *available_text(const struct task *task, const char *found)
{
    char *text = NULL;

    if (asprintf(&text, "%s%s", found ? found : "",
                 task->supply.installs
                     ? "\nPackages of PyPI and npm that the contract names or the code imports are "
                       "installed before anything runs, if the index has them."
                     : "") < 0)
        return NULL;
    return text;
}

static int take_box(struct task *task, struct gb_err *err)
{
    cleanup_buf struct buf output = BUF_INIT(FACTS_MAX);
    cleanup_json struct json_value *facts = NULL;
    int r = journal_do(task->spec->journal, "facts", "", 0, facts_text, task, &output, err);

    if (r >= 0)
        r = json_value_parse(output.data, output.len, FACTS_MAX, &facts, err);
    if (r < 0)
        return r;
    (void)json_bool(json_get(facts, "installs"), &task->supply.installs);
    task->languages = copy_of(json_get(facts, "languages"));
    task->available = available_text(task, json_str(json_get(facts, "available"), NULL));
    if (!task->languages || !task->available)
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for what the box has");
    return 0;
}

/* ---- the user's files ----------------------------------------------------------------------- */

static int take_inputs(struct task *task, struct gb_err *err)
{
    const struct agent_spec *spec = task->spec;
    cleanup_buf struct buf text = BUF_INIT(STATE_TEXT_MAX);

    (void)buf_puts(&text, "");
    for (size_t i = 0; i < spec->n_inputs; i++)
        (void)buf_printf(&text, "%s (%zu bytes)\n", spec->inputs[i].path, spec->inputs[i].len);
    task->inputs = text.len > 0 ? buf_take(&text) : strdup("");
    return task->inputs ? 0 : gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for names of files");
}

int facts_take(struct task *task, struct gb_err *err)
{
    int r = take_models(task, err);

    if (r == 0)
        r = take_box(task, err);
    return r < 0 ? r : take_inputs(task, err);
}
