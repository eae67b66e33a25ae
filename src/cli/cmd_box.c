/* SPDX-License-Identifier: Apache-2.0 */
/* cli/cmd_box.c - `glovebox box list|rm|prune`: boxes that live on. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "box/kept.h"
#include "cli/box_document.h"
#include "cli/box_net.h"
#include "cli/box_user.h"
#include "cli/command.h"
#include "cli/term.h"
#include "conf/box_spec.h"
#include "conf/settings.h"
#include "json/writer.h"

#define TEXT_MAX (16 << 20)
#define ID_SHOWN 10

struct box_args {
    const char *user;
    bool is_json;
    bool is_all;
};

#define AT(field) .offset = offsetof(struct box_args, field)
static const struct opt list_options[] = {
    { OPT_FLAG, "json", 0, AT(is_json), NULL, "one JSON document" },
    { OPT_KEY, .key = KEY_COLOR },
    OPT_HELP_ROW,
    { 0 },
};

static const struct opt rm_options[] = {
    { OPT_TEXT, "user", 0, AT(user), "NAME", "the box of that user" },
    { OPT_FLAG, "all", 'a', AT(is_all), NULL, "every box there is" },
    { OPT_FLAG, "json", 0, AT(is_json), NULL, "one JSON document" },
    { OPT_KEY, .key = KEY_COLOR },
    OPT_HELP_ROW,
    { 0 },
};

/* What every command here needs. */
struct opened {
    struct box_args args;
    struct parsed parsed;
    struct settings settings;
};

static void opened_clear(struct opened *opened)
{
    settings_clear(&opened->settings);
    parsed_clear(&opened->parsed);
}

/* 1 when help was wanted. */
static int open_call(const struct call *call, struct opened *ret, struct gb_err *err)
{
    int r = command_parse(call, &ret->args, &ret->parsed, err);

    if (r == 0)
        r = command_settings(call, &ret->parsed, &ret->settings, err);
    if (r == 0 && ret->parsed.has_rest)
        r = gb_fail(err, -EINVAL, GB_BLAME_CALLER, "unexpected argument '--'");
    if (r == 0 && ret->args.user)
        r = box_check_user(ret->args.user, err);
    return r;
}

/* ---- showing -------------------------------------------------------------------------------- */

/* Its keeper's word.  One that has just died tells nothing. */
static int ask(const struct settings *settings, const struct kept *kept, struct box_news *ret)
{
    struct gb_err ignored = { 0 };
    struct box *box = NULL;
    int r = kept_attach(settings->state_dir, kept, &box, ret, &ignored);

    (void)box_close(box);
    return r;
}

static void put_line(const struct settings *settings, const struct kept *kept,
                     const struct box_news *news, struct buf *ret)
{
    const char *network = box_network_word(settings, kept);
    time_t seconds = (time_t)(kept->created_ms / 1000);
    char date[32] = "";
    char left[32] = "";
    struct tm parts;

    if (localtime_r(&seconds, &parts))
        (void)strftime(date, sizeof(date), "%Y-%m-%d %H:%M", &parts);
    if (news->ttl_ms)
        (void)snprintf(left, sizeof(left), "  %" PRIu64 " s left", news->ttl_ms / 1000);
    (void)buf_printf(ret, "%.*s  %s  %-8s  %2" PRIu32 " running%s%s%s%s%s\n", ID_SHOWN, kept->id,
                     date, kept->box.receipt.backend, news->runs, left, network ? "  network " : "",
                     network ? network : "", kept->user ? "  of " : "",
                     kept->user ? kept->user : "");
}

/* ---- list ----------------------------------------------------------------------------------- */

static void list_json(const struct settings *settings, const struct kept *list, size_t n,
                      struct buf *ret)
{
    struct json_writer w;

    json_writer_init(&w, ret, true);
    json_object_begin(&w, NULL);
    json_put_u64(&w, "schema", 1);
    json_array_begin(&w, "boxes");
    for (size_t i = 0; i < n; i++) {
        struct box_news news;

        if (ask(settings, &list[i], &news) == 0)
            box_document_put(&w, settings, &list[i], &news);
    }
    json_array_end(&w);
    json_object_end(&w);
    (void)json_writer_end(&w);
    (void)buf_putc(ret, '\n');
}

static int list_call(const struct call *call, struct gb_err *err)
{
    cleanup_with(opened_clear) struct opened opened = { 0 };
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
    struct kept *list = NULL;
    size_t n = 0;
    int r = open_call(call, &opened, err);

    if (r == 0)
        r = command_no_operands(&opened.parsed, err);
    if (r == 0)
        r = kept_list(opened.settings.state_dir, &list, &n, err);
    if (r != 0)
        return r < 0 ? r : 0;
    if (opened.args.is_json)
        list_json(&opened.settings, list, n, &text);
    for (size_t i = 0; i < n; i++) {
        struct box_news news;

        if (!opened.args.is_json && ask(&opened.settings, &list[i], &news) == 0)
            put_line(&opened.settings, &list[i], &news, &text);
        kept_clear(&list[i]);
    }
    free(list);
    if (text.len == 0) {
        (void)dprintf(STDERR_FILENO, "No boxes; glovebox box create makes one.\n");
        return 0;
    }
    return command_print(&text, err);
}

const struct cmd cmd_box_list = {
    .name = "box list",
    .help = "List the boxes that live on",
    .usages = { "[OPTIONS]" },
    .options = list_options,
    .run = list_call,
};

/* ---- rm ------------------------------------------------------------------------------------- */

/* Boxes that are removed one after another; each tells how that went. */
struct removal {
    const struct settings *settings;
    struct json_writer *w; /* NULL: no document */
    int r;                 /* of the last that failed; 0: none did */
    struct gb_err *err;    /* why; what failed before it has been told */
};

static void note_removal(struct removal *removal, const char *name, int r, const struct gb_err *why)
{
    struct json_writer *w = removal->w;

    if (w) {
        json_object_begin(w, NULL);
        json_put_str(w, "box", name);
        json_put_bool(w, "removed", r == 0);
        if (r < 0)
            json_put_bytes(w, "error", why->msg, gb_err_len(why));
        else
            json_put_str(w, "error", NULL);
        json_put_str(w, "remedy", r < 0 ? gb_err_remedy(why) : NULL);
        json_object_end(w);
    }
    if (r == 0)
        return;
    if (removal->r < 0)
        term_error(removal->err, removal->settings->color, environ);
    removal->r = r;
    *removal->err = *why;
}

static void remove_one(struct removal *removal, const struct kept *kept)
{
    uint32_t survivors = 0;
    struct gb_err why = { 0 };
    int r = kept_remove(removal->settings->state_dir, kept, &survivors, &why);

    if (r == 0 && survivors)
        r = gb_fail(&why, -EBUSY, GB_BLAME_HOST, "box %s: %" PRIu32 " processes outlived it",
                    kept->id, survivors);
    note_removal(removal, kept->id, r, &why);
}

static int remove_all(struct removal *removal)
{
    struct kept *list = NULL;
    size_t n = 0;
    int r = kept_list(removal->settings->state_dir, &list, &n, removal->err);

    for (size_t i = 0; i < n; i++) {
        remove_one(removal, &list[i]);
        kept_clear(&list[i]);
    }
    free(list);
    return r < 0 ? r : removal->r;
}

static void remove_named(struct removal *removal, const char *id)
{
    cleanup_kept struct kept kept = { 0 };
    struct gb_err why = { 0 };
    int r = kept_find(removal->settings->state_dir, id, &kept, &why);

    if (r < 0)
        note_removal(removal, id, r, &why);
    else
        remove_one(removal, &kept);
}

static int remove_user(struct removal *removal, const char *user)
{
    cleanup_kept struct kept kept = { 0 };
    int r = kept_find_user(removal->settings->state_dir, user, &kept, removal->err);

    if (r > 0)
        return gb_fail(removal->err, -ENOENT, GB_BLAME_CALLER, "'%s' has no box", user);
    if (r < 0)
        return r;
    remove_one(removal, &kept);
    return removal->r;
}

static int rm_with(const struct opened *opened, struct json_writer *w, struct gb_err *err)
{
    const struct parsed *parsed = &opened->parsed;
    struct removal removal = { .settings = &opened->settings, .w = w, .err = err };

    if (opened->args.is_all)
        return remove_all(&removal);
    if (opened->args.user)
        return remove_user(&removal, opened->args.user);
    for (size_t i = 0; i < parsed->n_operands; i++)
        remove_named(&removal, parsed->operands[i]);
    return removal.r;
}

/* The document also tells of what failed. */
static int rm_json(const struct opened *opened, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
    struct json_writer w;
    int printed;
    int r;

    json_writer_init(&w, &text, true);
    json_object_begin(&w, NULL);
    json_put_u64(&w, "schema", 1);
    json_array_begin(&w, "boxes");
    r = rm_with(opened, &w, err);
    json_array_end(&w);
    json_object_end(&w);
    (void)json_writer_end(&w);
    (void)buf_putc(&text, '\n');
    printed = command_print(&text, r < 0 ? NULL : err);
    return r < 0 ? r : printed;
}

static int rm_call(const struct call *call, struct gb_err *err)
{
    cleanup_with(opened_clear) struct opened opened = { 0 };
    int r = open_call(call, &opened, err);
    bool is_named = opened.parsed.n_operands > 0;

    if (r != 0)
        return r > 0 ? 0 : r;
    if (opened.args.is_all + is_named + (opened.args.user != NULL) != 1)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "say BOX..., --user NAME, or --all");
    return opened.args.is_json ? rm_json(&opened, err) : rm_with(&opened, NULL, err);
}

const struct cmd cmd_box_rm = {
    .name = "box rm",
    .help = "Remove boxes with everything in them",
    .usages = { "BOX...", "--user NAME | --all" },
    .options = rm_options,
    .run = rm_call,
};

/* ---- prune ---------------------------------------------------------------------------------- */

/* What killed makers of containers left on the engine, if there is one: who never used one is not
 * told that there is none. */
static int sweep(const struct settings *settings, bool is_quiet, size_t *ret_n, struct gb_err *err)
{
    struct box_spec spec = settings_box_spec(settings);
    const struct box_ops *chosen = box_backend(spec.backend, err);
    struct gb_err why = { 0 };
    int worst = chosen ? 0 : -EINVAL;

    for (const struct box_ops *const *ops = box_backends(); chosen && *ops; ops++) {
        size_t n = 0;
        int r = (*ops)->sweep ? (*ops)->sweep(&spec, &n, &why) : 0;

        *ret_n += n;
        if (n > 0 && !is_quiet)
            (void)dprintf(STDERR_FILENO, "%zu container%s removed.\n", n, n == 1 ? "" : "s");
        if (r < 0 && (*ops == chosen || (r != -ECONNREFUSED && r != -EACCES))) {
            worst = r;
            *err = why;
        }
    }
    return worst;
}

static int print_pruned(size_t n_alive, size_t n_swept, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
    struct json_writer w;

    json_writer_init(&w, &text, true);
    json_object_begin(&w, NULL);
    json_put_u64(&w, "schema", 1);
    json_put_u64(&w, "alive", n_alive);
    json_put_u64(&w, "containers_removed", n_swept);
    json_object_end(&w);
    (void)json_writer_end(&w);
    (void)buf_putc(&text, '\n');
    return command_print(&text, err);
}

/* Looking is enough: who is dead is forgotten on the way. */
static int prune_call(const struct call *call, struct gb_err *err)
{
    cleanup_with(opened_clear) struct opened opened = { 0 };
    struct kept *list = NULL;
    size_t n_swept = 0;
    size_t n = 0;
    int r = open_call(call, &opened, err);

    if (r == 0)
        r = command_no_operands(&opened.parsed, err);
    if (r == 0)
        r = kept_list(opened.settings.state_dir, &list, &n, err);
    for (size_t i = 0; i < n; i++)
        kept_clear(&list[i]);
    free(list);
    if (r == 0)
        r = sweep(&opened.settings, opened.args.is_json, &n_swept, err);
    if (r == 0 && opened.args.is_json)
        r = print_pruned(n, n_swept, err);
    else if (r == 0)
        (void)dprintf(STDERR_FILENO, "%zu box%s alive.\n", n, n == 1 ? "" : "es");
    return r > 0 ? 0 : r;
}

const struct cmd cmd_box_prune = {
    .name = "box prune",
    .help = "Forget boxes whose keeper has died, remove containers that killed commands left",
    .usages = { "[OPTIONS]" },
    .options = list_options,
    .run = prune_call,
};
