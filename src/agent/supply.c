/* SPDX-License-Identifier: Apache-2.0 */
/* agent/supply.c - packages in the boxes of a task. */
#include "agent/supply.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/state.h"
#include "agent/write.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "json/value.h"
#include "json/writer.h"
#include "package/diagnosis.h"
#include "run/language.h"
#include "run/packages.h"

#define NAME_SIZE  32
#define SET_MAX    (2 << 20)
#define OUTPUT_MAX (4 << 20)
#define INPUT_MAX  (64 << 20)
#define LOG_SHOWN  1500 /* bytes of an installer's output that models see */
#define LINE_SIZE  200

/* What a set is made of, most first: when it cannot be had, the next one is tried. */
enum tier {
    TIER_ALL,   /* the contract's too */
    TIER_CODE,  /* the operator's, and what the code imports */
    TIER_GIVEN, /* the operator's */
    N_TIERS,
};

/* ---- wishes --------------------------------------------------------------------------------- */

/* Paths of files that lie beside a program: what they are called is no package. */
static const char **paths_of(const struct task *task, const struct agent_files *codes, size_t n)
{
    const struct contract *contract = &task->out->contract;
    size_t most = task->spec->n_inputs;
    const char **paths;
    size_t at = 0;

    for (size_t i = 0; i < n; i++)
        most += codes[i].n;
    for (size_t i = 0; contract->files && contract->files[i]; i++)
        most++;
    paths = calloc(most + 1, sizeof(*paths));
    for (size_t i = 0; paths && i < n; i++)
        for (size_t k = 0; k < codes[i].n; k++)
            paths[at++] = codes[i].items[k].path;
    for (size_t i = 0; paths && i < task->spec->n_inputs; i++)
        paths[at++] = task->spec->inputs[i].path;
    for (size_t i = 0; paths && contract->files && contract->files[i]; i++)
        paths[at++] = contract->files[i];
    return paths;
}

static int add_text(const struct task *task, const char *const *paths,
                    const struct agent_file *file, const struct language *language,
                    struct package_wishes *ret)
{
    const struct box_ops *ops = box_backend(task->spec->box->backend, NULL);
    const struct package_code code = {
        .language = language,
        .text = file->text,
        .len = file->len,
        .name = file->path,
        .files = paths,
        .is_image = ops && !ops->shows_host,
        .toolchains = task->spec->box->toolchains,
    };
    int r = package_wishes_add_code(ret, &code, NULL);

    return r == -ENOMEM ? r : 0; /* too many: the check of the code tells what is missing */
}

static int add_code(const struct task *task, const struct agent_files *codes, size_t n,
                    const char *const *paths, struct package_wishes *ret)
{
    int r = 0;

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; r == 0 && k < codes[i].n; k++)
            r = add_text(task, paths, &codes[i].items[k], language_by_path(codes[i].items[k].path),
                         ret);
    return r;
}

static bool is_plain_name(const char *text)
{
    for (; *text; text++)
        if (!isalnum((unsigned char)*text) && !strchr("._-", *text))
            return false;
    return true;
}

/* Of Python a bare name is wanted where no module of that name is there already. */
static int add_bare(const struct task *task, const char *name, const struct language *language,
                    const char *const *paths, struct package_wishes *ret)
{
    static char none[] = "";
    char text[LINE_SIZE];
    struct agent_file file = { .path = none, .text = text };
    int len = snprintf(text, sizeof(text), "import %s\n", name);

    if (len < 0 || (size_t)len >= sizeof(text))
        return 0;
    for (char *c = text; *c; c++)
        if (*c == '-' || *c == '.')
            *c = '_';
    file.len = (size_t)len;
    return add_text(task, paths, &file, language, ret);
}

/* What the operator wants has the operator's versions.  What is no name of a package is told by the
 * check of the code, if it matters. */
static int add_contract(const struct task *task, const char *const *paths,
                        struct package_wishes *ret)
{
    const struct contract *contract = &task->out->contract;
    const struct language *language;
    enum package_kind kind;
    int r = 0;

    if (!task->out->has_contract)
        return 0;
    language = language_by_name(contract->language);
    if (package_kind_of(language, &kind) < 0)
        return 0;
    for (char **text = contract->packages; r == 0 && *text; text++) {
        if (kind == PACKAGE_PYTHON && is_plain_name(*text))
            r = add_bare(task, *text, language, paths, ret);
        else
            r = package_set_add(&ret->sets[kind], *text, strlen(*text), NULL);
        r = r == -ENOMEM ? r : 0;
    }
    return r;
}

/* The set of a tier.  It looks at what this machine has: for use inside of effects. */
static int want(const struct task *task, const struct agent_files *codes, size_t n, enum tier tier,
                struct package_wishes *ret, struct gb_err *err)
{
    cleanup_free const char **paths = paths_of(task, codes, n);
    int r = paths ? 0 : -ENOMEM;

    package_wishes_init(ret);
    if (r == 0 && task->spec->packages)
        r = package_wishes_add_others(ret, task->spec->packages, NULL);
    if (r == 0 && tier == TIER_ALL)
        r = add_contract(task, paths, ret);
    if (r == 0 && tier != TIER_GIVEN)
        r = add_code(task, codes, n, paths, ret);
    if (r < 0)
        package_wishes_clear(ret);
    return r < 0 ? gb_no_memory(err) : 0;
}

/* "numpy, requests" */
static void put_names(const struct package_wishes *wishes, struct buf *ret)
{
    size_t begin = ret->len;

    for (enum package_kind kind = 0; kind < N_PACKAGE_KINDS; kind++)
        for (size_t i = 0; i < wishes->sets[kind].n; i++)
            (void)buf_printf(ret, "%s%s", ret->len > begin ? ", " : "",
                             wishes->sets[kind].items[i].name);
}

/* ---- installing ----------------------------------------------------------------------------- */

static void tell_names(struct task *task, enum event_kind kind, const struct package_set *set)
{
    cleanup_buf struct buf text = BUF_INIT(SET_MAX);
    struct agent_event event = { .kind = kind };

    for (size_t i = 0; i < set->n; i++)
        (void)buf_printf(&text, "%s%s", i ? ", " : "", set->items[i].name);
    event.text = text.data ? text.data : "";
    event.len = text.len;
    task_tell(task, &event);
}

static void tell_wait(void *user, const struct package_set *set)
{
    tell_names(user, EVENT_WAITING, set);
}

static void tell_begin(void *user, const struct package_set *set)
{
    tell_names(user, EVENT_INSTALLING, set);
}

/* Told at once and nowhere kept: a line that cannot be cleaned is left out. */
static void tell_line(void *user, const char *line)
{
    struct task *task = user;
    cleanup_buf struct buf text = BUF_INIT(OUTPUT_MAX);
    struct agent_event event = { .kind = EVENT_INSTALLER };

    if (buf_puts(&text, line) < 0 || task_clean(task, &text) < 0)
        return;
    event.text = text.data ? text.data : "";
    event.len = text.len;
    task_tell(task, &event);
}

static int provide(struct task *task, const struct package_wishes *wishes, struct packages *ret,
                   struct run_packages **ret_told, struct gb_err *err)
{
    const struct packages_watch watch = {
        .wait = tell_wait,
        .begin = tell_begin,
        .line = tell_line,
        .user = task,
    };
    struct package_host host = *task->spec->package_host; /* borrowed: nobody clears it */
    uint64_t deadline_ns = task_deadline(task);
    uint64_t now_ns = clock_now_ns();
    const struct packages_order order = {
        .wishes = wishes,
        .host = &host,
        .box = task->spec->box,
        .cancel_fd = task->spec->cancel_fd,
        .watch = &watch,
    };

    packages_init(ret);
    /* What is over has a moment to find in the cache what lies there. */
    if (deadline_ns != CLOCK_NEVER_NS) {
        uint64_t left_ms = deadline_ns > now_ns ? (deadline_ns - now_ns) / NS_PER_MS + 1 : 1;

        host.limits.wall_ms = left_ms < host.limits.wall_ms ? left_ms : host.limits.wall_ms;
    }
    return packages_open(&order, ret, ret_told, err);
}

/* A set on its way into the journal: {"packages", "install", "failed"}, and the set itself by kind
 * ("python": a requirements file, "node": a package.json). */
struct installing {
    struct task *task;
    const struct agent_files *codes;
    size_t n;
    enum tier tier;
    struct json_writer w;
    struct buf tried; /* the set that was tried last */
    bool has_failed;  /* and the first reason is told */
    bool is_hopeless; /* less would not do either */
};

static void put_failure(struct installing *in, const struct package_wishes *wishes,
                        const struct run_packages *told, const struct gb_err *why)
{
    cleanup_buf struct buf names = BUF_INIT(SET_MAX);

    if (in->has_failed)
        return;
    in->has_failed = true;
    put_names(wishes, &names);
    json_object_begin(&in->w, "failed");
    json_put_str(&in->w, "wanted", names.data ? names.data : "");
    json_put_str(&in->w, "name", told && told->failure ? told->failure : "failed");
    json_put_bytes(&in->w, "message", why->msg, gb_err_len(why));
    json_put_str(&in->w, "log", told ? told->log : NULL);
    json_object_end(&in->w);
}

/* 1: it is there.  0: it cannot be had.  What the operator wants was there before: that it is not
 * now is nothing for a model to mend. */
static int try_set(struct installing *in, const struct package_wishes *wishes, struct gb_err *err)
{
    struct packages packages;
    struct run_packages *told = NULL;
    struct gb_err why = { 0 };
    int r = provide(in->task, wishes, &packages, &told, &why);
    bool is_error = r == -ECANCELED || r == -ENOMEM || (r < 0 && in->tier == TIER_GIVEN);

    packages_close(&packages);
    if (r == 0)
        run_packages_json(told, &in->w);
    else if (!is_error)
        put_failure(in, wishes, told, &why);
    in->is_hopeless = r < 0 && !diagnosis_is_about_set(told ? told->failure : NULL);
    run_packages_free(told);
    if (is_error && err)
        *err = why;
    return is_error ? r : r == 0;
}

static int try_tier(struct installing *in, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(SET_MAX);
    struct package_wishes wishes;
    int r = want(in->task, in->codes, in->n, in->tier, &wishes, err);

    if (r < 0)
        return r;
    r = package_wishes_text(&wishes, &text) < 0 ? gb_no_memory(err) : 0;
    if (r == 0 && text.len == 0)
        r = 1;
    else if (r == 0 && (!in->tried.data || strcmp(in->tried.data, text.data) != 0))
        r = try_set(in, &wishes, err);
    if (r == 1)
        r = package_wishes_put(&wishes, &in->w) < 0 ? gb_no_memory(err) : 1;
    package_wishes_clear(&wishes);
    buf_clear(&in->tried);
    in->tried = text;
    text = (struct buf){ 0 };
    return r;
}

static int install_text(void *user, struct buf *ret, struct gb_err *err)
{
    struct installing *in = user;
    int r = 0;

    json_writer_init(&in->w, ret, false);
    json_object_begin(&in->w, NULL);
    while (r == 0 && in->tier < N_TIERS) {
        r = try_tier(in, err);
        if (r == 0)
            in->tier = in->is_hopeless ? TIER_GIVEN : in->tier + 1;
    }
    buf_clear(&in->tried);
    if (r < 0)
        return r;
    json_object_end(&in->w);
    r = json_writer_end(&in->w);
    return r < 0 ? r : task_clean(in->task, ret);
}

/* ---- what came of it ------------------------------------------------------------------------ */

static void put_text(struct buf *ret, const struct json_value *object, const char *key)
{
    const char *text = json_str(json_get(object, key), NULL);

    (void)buf_puts(ret, text ? text : "");
}

/* "numpy 1.26.4, requests 2.31.0" */
static void put_installed(const struct json_value *list, struct buf *ret)
{
    for (size_t i = 0; i < json_count(list); i++) {
        (void)buf_puts(ret, i ? ", " : "");
        put_text(ret, json_at(list, i), "name");
        (void)buf_putc(ret, ' ');
        put_text(ret, json_at(list, i), "version");
    }
}

/* For models: what was wanted, why it is not there, and the end of what the installer said. */
static char *failure_text(const struct json_value *failed)
{
    struct buf text = BUF_INIT(OUTPUT_MAX);
    const char *log = json_str(json_get(failed, "log"), NULL);
    size_t len = log ? strlen(log) : 0;

    (void)buf_puts(&text, "These packages could not be installed: ");
    put_text(&text, failed, "wanted");
    (void)buf_puts(&text, ". The reason: ");
    put_text(&text, failed, "message");
    (void)buf_puts(&text, ".\n");
    if (len > 0)
        (void)buf_printf(&text, "The installer says:\n%s\n",
                         len > LOG_SHOWN ? log + len - LOG_SHOWN : log);
    return buf_take(&text);
}

static void tell(struct task *task, const struct json_value *output, const char *json)
{
    const struct json_value *failed = json_get(output, "failed");
    cleanup_buf struct buf text = BUF_INIT(OUTPUT_MAX);
    struct agent_event event = { .kind = EVENT_PACKAGES, .json = json };

    put_installed(json_get(output, "packages"), &text);
    if (json_kind(failed) == JSON_OBJECT) {
        (void)buf_puts(&text, text.len ? "; not installed: " : "not installed: ");
        put_text(&text, failed, "wanted");
        (void)buf_puts(&text, " (");
        put_text(&text, failed, "message");
        (void)buf_putc(&text, ')');
    }
    event.text = text.data ? text.data : "";
    event.len = text.len;
    task_tell(task, &event);
}

static void close_layers(struct supply *supply)
{
    if (supply->is_open)
        packages_close(&supply->packages);
    supply->is_open = false;
}

/* Boxes have this set from now on.  1: it is another one. */
static int replace(struct supply *supply, struct package_wishes *wishes, struct gb_err *err)
{
    cleanup_buf struct buf before = BUF_INIT(SET_MAX);
    cleanup_buf struct buf now = BUF_INIT(SET_MAX);
    bool is_same;

    if (package_wishes_text(&supply->wishes, &before) < 0 || package_wishes_text(wishes, &now) < 0)
        return gb_no_memory(err);
    is_same = before.len == now.len && (now.len == 0 || strcmp(before.data, now.data) == 0);
    if (!is_same)
        close_layers(supply);
    package_wishes_clear(&supply->wishes);
    supply->wishes = *wishes;
    package_wishes_init(wishes);
    return !is_same;
}

static int settle(struct task *task, const struct buf *output, struct gb_err *err)
{
    struct supply *supply = &task->supply;
    cleanup_json struct json_value *value = NULL;
    struct package_wishes wishes;
    const struct json_value *failed;
    bool has_failed;
    int r =
        json_value_parse(output->data ? output->data : "", output->len, OUTPUT_MAX, &value, err);

    package_wishes_init(&wishes);
    if (r == 0)
        r = package_wishes_get(value, &wishes, err);
    if (r < 0)
        return gb_wrap(err, r, "what is remembered of packages");
    r = replace(supply, &wishes, err);
    package_wishes_clear(&wishes);
    failed = json_get(value, "failed");
    has_failed = json_kind(failed) == JSON_OBJECT;
    if (r < 0 || (r == 0 && !has_failed && !supply->failed))
        return r;
    free(supply->failed);
    supply->failed = has_failed ? failure_text(failed) : NULL;
    free(task->out->packages);
    task->out->packages = strndup(output->data ? output->data : "", output->len);
    if (!task->out->packages || (has_failed && !supply->failed))
        return gb_no_memory(err);
    tell(task, value, task->out->packages);
    return 0;
}

/* ---- sets ----------------------------------------------------------------------------------- */

/* What a set follows from. */
static int input_text(const struct task *task, const struct agent_files *codes, size_t n,
                      struct buf *ret)
{
    int r = task->spec->packages ? package_wishes_text(task->spec->packages, ret) : 0;

    for (char **text = task->out->contract.packages; text && *text; text++)
        (void)buf_printf(ret, "%s\n", *text);
    for (size_t i = 0; r == 0 && i < n; i++)
        r = files_text(&codes[i], ret);
    return r < 0 ? r : buf_puts(ret, "");
}

/* The same once more is the set that is there. */
static int take(struct task *task, struct installing *in, struct gb_err *err)
{
    struct supply *supply = &task->supply;
    cleanup_buf struct buf input = BUF_INIT(INPUT_MAX);
    cleanup_buf struct buf output = BUF_INIT(OUTPUT_MAX);
    char name[NAME_SIZE];
    int r;

    if (input_text(task, in->codes, in->n, &input) < 0)
        return gb_no_memory(err);
    if (!input.data || (supply->asked && strcmp(supply->asked, input.data) == 0))
        return 0;
    free(supply->asked);
    supply->asked = strdup(input.data);
    if (!supply->asked)
        return gb_no_memory(err);
    (void)snprintf(name, sizeof(name), "packages-%u", ++supply->n);
    in->tried = (struct buf)BUF_INIT(SET_MAX);
    r = task_do(task, name, &input, install_text, in, &output, err);
    return r < 0 ? r : settle(task, &output, err);
}

int supply_begin(struct task *task, struct gb_err *err)
{
    struct installing in = { .task = task, .tier = TIER_GIVEN };

    package_wishes_init(&task->supply.wishes);
    if (!task->spec->packages || package_wishes_are_empty(task->spec->packages))
        return 0;
    return take(task, &in, err);
}

int supply_take(struct task *task, const struct agent_files *codes, size_t n, struct gb_err *err)
{
    struct installing in = { .task = task, .codes = codes, .n = n, .tier = TIER_ALL };

    return task->supply.installs ? take(task, &in, err) : 0;
}

int supply_open(struct task *task, struct gb_err *err)
{
    struct supply *supply = &task->supply;
    struct run_packages *told = NULL;
    int r;

    if (supply->is_open || package_wishes_are_empty(&supply->wishes))
        return 0;
    r = provide(task, &supply->wishes, &supply->packages, &told, err);
    run_packages_free(told);
    if (r < 0) {
        packages_close(&supply->packages);
        return gb_wrap(err, r, "packages of the task");
    }
    supply->is_open = true;
    supply->box = *task->spec->box;
    supply->box.layers = supply->packages.binds;
    supply->box.image_id = supply->packages.image_id;
    return 0;
}

const struct box_spec *supply_box(const struct task *task)
{
    return task->supply.is_open ? &task->supply.box : task->spec->box;
}

void supply_clear(struct supply *supply)
{
    close_layers(supply);
    package_wishes_clear(&supply->wishes);
    free(supply->asked);
    free(supply->failed);
}
