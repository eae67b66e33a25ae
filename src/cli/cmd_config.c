/* SPDX-License-Identifier: Apache-2.0 */
/* cli/cmd_config.c - `glovebox config show` and `glovebox config trust`.
 *
 * What show prints is itself a file that glovebox reads: what nobody has set is a comment, so that
 * such a file settles nothing that it was not asked to.  --origin adds where each value comes from.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/command.h"
#include "cli/term.h"
#include "cli/term_filter.h"
#include "conf/settings.h"
#include "conf/trust.h"
#include "json/writer.h"

#define SHOWN_MAX   (1 << 20)
#define NOTE_COLUMN 34

/* ---- show ------------------------------------------------------------------------------------ */

struct show_args {
    bool has_origin;
    bool is_json;
};

static const struct opt show_options[] = {
    { OPT_FLAG, "origin", .offset = offsetof(struct show_args, has_origin),
      .help = "tell where each value comes from" },
    { OPT_FLAG, "json", .offset = offsetof(struct show_args, is_json),
      .help = "as JSON, origins included" },
    { OPT_KEY, .key = KEY_COLOR },
    OPT_HELP_ROW,
    { 0 },
};

/* A word that YAML takes as it stands; others are written as JSON strings, which are YAML too. */
static bool is_plain(const char *text)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_/.-";

    return *text && *text != '-' && *text != '.' && strspn(text, safe) == strlen(text);
}

static void put_word(const char *text, struct buf *ret)
{
    struct json_writer w;

    if (is_plain(text)) {
        buf_puts(ret, text);
        return;
    }
    json_writer_init(&w, ret, false);
    json_put_str(&w, NULL, text);
    (void)json_writer_end(&w); /* the buf remembers */
}

/* A text that nobody has given and that has no default. */
static bool is_unset(const struct key *key, const struct setting *set)
{
    switch (key->kind) {
    case VALUE_TEXT:
    case VALUE_PATH:
    case VALUE_FOLDER:
    case VALUE_MODEL:
    case VALUE_URL:
    case VALUE_RULES:
        return !set->value.text;
    default:
        return false;
    }
}

static void put_value(const struct key *key, const struct value *value, struct buf *ret)
{
    cleanup_buf struct buf text = BUF_INIT(SHOWN_MAX);

    if (value_is_list(key->kind)) {
        buf_putc(ret, '[');
        for (size_t i = 0; value->items && value->items[i]; i++) {
            buf_puts(ret, i ? ", " : "");
            put_word(value->items[i], ret);
        }
        buf_putc(ret, ']');
        return;
    }
    (void)value_format(key->kind, value, &text);
    if (key->kind == VALUE_WALLS)
        buf_puts(ret, text.data ? text.data : "none");
    else
        put_word(text.data ? text.data : "", ret);
}

static void put_origin(const struct origin *origin, const struct key *key, struct buf *ret)
{
    cleanup_buf struct buf text = BUF_INIT(65536);

    (void)origin_text(origin, key, &text);
    (void)term_filter_line(text.data ? text.data : "", text.len, ret);
}

static void put_note(const struct setting *set, const struct key *key, size_t line,
                     const struct term *term, struct buf *ret)
{
    while (ret->len - line < NOTE_COLUMN && !buf_error(ret))
        buf_putc(ret, ' ');
    buf_printf(ret, "  %s# ", term_on(term, TERM_DIM));
    put_origin(&set->origin, key, ret);
    if (set->is_capped) {
        buf_puts(ret, "; ");
        put_origin(&set->capped, key, ret);
        buf_puts(ret, " asks for more, but may only tighten");
    }
    buf_puts(ret, term_off(term));
}

/* Prints "section:" when the key's is another than the one before. */
static const char *open_section(const struct key *key, const char **section, struct buf *ret)
{
    const char *dot = strchr(key->name, '.');
    size_t len = dot ? (size_t)(dot - key->name) : 0;

    if (dot && (!*section || strncmp(*section, key->name, len + 1) != 0)) {
        buf_add(ret, key->name, len);
        buf_puts(ret, ":\n");
    }
    *section = dot ? key->name : NULL;
    return dot ? dot + 1 : key->name;
}

static bool is_default(const struct setting *set)
{
    return set->origin.kind == ORIGIN_DEFAULT;
}

static void show_yaml(const struct settings *settings, bool has_origin, const struct term *term,
                      struct buf *ret)
{
    const char *section = NULL;

    for (enum key_id id = 0; id < N_KEYS; id++) {
        const struct key *key = key_at(id);
        const struct setting *set = &settings->set[id];
        const char *name = open_section(key, &section, ret);
        size_t line = ret->len;

        if (is_unset(key, set)) {
            buf_printf(ret, "%s# %s: %s\n", section ? "  " : "", name,
                       key->kind == VALUE_PATH ? "no place, HOME is not set" : "not set");
            continue;
        }
        buf_printf(ret, "%s%s%s%s:%s ", section ? "  " : "", is_default(set) ? "# " : "",
                   term_on(term, TERM_BOLD), name, term_off(term));
        put_value(key, &set->value, ret);
        if (has_origin)
            put_note(set, key, line, term, ret);
        else if (is_default(set) && !*key->value && !value_is_list(key->kind))
            buf_puts(ret, "  # worked out");
        buf_putc(ret, '\n');
    }
}

static void json_origin(struct json_writer *w, const char *name, const struct origin *origin,
                        const struct key *key)
{
    cleanup_buf struct buf text = BUF_INIT(65536);

    (void)origin_text(origin, key, &text);
    json_put_str(w, name, text.data);
}

static void json_setting(struct json_writer *w, const struct key *key, const struct setting *set)
{
    cleanup_buf struct buf text = BUF_INIT(SHOWN_MAX);

    json_object_begin(w, key->name);
    if (value_is_list(key->kind)) {
        json_array_begin(w, "value");
        for (size_t i = 0; set->value.items && set->value.items[i]; i++)
            json_put_str(w, NULL, set->value.items[i]);
        json_array_end(w);
    } else if (is_unset(key, set)) {
        json_put_null(w, "value");
    } else {
        (void)value_format(key->kind, &set->value, &text);
        json_put_str(w, "value", text.data);
    }
    json_origin(w, "origin", &set->origin, key);
    if (set->is_capped)
        json_origin(w, "capped", &set->capped, key);
    json_object_end(w);
}

static void show_json(const struct settings *settings, struct buf *ret)
{
    struct json_writer w;

    json_writer_init(&w, ret, true);
    json_object_begin(&w, NULL);
    json_put_u64(&w, "schema", 1);
    json_object_begin(&w, "settings");
    for (enum key_id id = 0; id < N_KEYS; id++)
        json_setting(&w, key_at(id), &settings->set[id]);
    json_object_end(&w);
    json_object_end(&w);
    (void)json_writer_end(&w); /* command_print() looks at the buf */
}

static int print_settings(const struct call *call, const struct show_args *args,
                          const struct settings *settings, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(SHOWN_MAX);
    struct term term;

    term_init(&term, STDOUT_FILENO, settings->color, call->env);
    if (args->is_json)
        show_json(settings, &text);
    else
        show_yaml(settings, args->has_origin, &term, &text);
    return command_print(&text, err);
}

static int show_run(const struct call *call, struct gb_err *err)
{
    struct settings settings = { 0 };
    struct show_args args = { 0 };
    struct parsed parsed = { 0 };
    int r = command_parse(call, &args, &parsed, err);

    if (r == 0) {
        r = command_no_operands(&parsed, err);
        if (r == 0)
            r = command_settings(call, &parsed, &settings, err);
        if (r == 0)
            r = print_settings(call, &args, &settings, err);
    }
    settings_clear(&settings);
    parsed_clear(&parsed);
    return r > 0 ? 0 : r;
}

const struct cmd cmd_config_show = {
    .name = "config show",
    .help = "Print the settings in force here",
    .usages = { "[--origin] [--json]" },
    .options = show_options,
    .run = show_run,
};

/* ---- trust ----------------------------------------------------------------------------------- */

struct trust_args {
    bool is_revoked;
};

static const struct opt trust_options[] = {
    { OPT_FLAG, "revoke", .offset = offsetof(struct trust_args, is_revoked),
      .help = "forget earlier trust in DIR" },
    OPT_HELP_ROW,
    { 0 },
};

/* The files of the project in the working directory have no say in where trust is kept. */
static int state_dir(const struct call *call, struct settings *settings, struct gb_err *err)
{
    const struct settings_input input = {
        .env = call->env,
        .uid = geteuid(),
        .is_without_project = true,
    };
    int r = settings_load(settings, &input, err);

    if (r == 0 && !settings->state_dir)
        return gb_fail(
            err, -ENOENT, GB_BLAME_HOST,
            "no place to remember it: HOME is not set\nremedy: set HOME or GLOVEBOX_STATE_DIR");
    return r;
}

static int print_trust(const char *dir, bool is_revoked, size_t n, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(65536);

    if (is_revoked)
        buf_puts(&text, "no longer trusted: ");
    else
        buf_printf(&text, "trusted, as %s now: ", n == 1 ? "its file is" : "its files are");
    (void)term_filter_line(dir, strlen(dir), &text);
    buf_putc(&text, '\n');
    return command_print(&text, err);
}

static int trust_dir(const struct call *call, const struct trust_args *args,
                     const struct parsed *parsed, struct gb_err *err)
{
    struct settings settings = { 0 };
    size_t n = 0;
    int r;

    if (parsed->n_operands != 1 || parsed->has_rest)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "name one directory: glovebox config trust DIR");
    r = state_dir(call, &settings, err);
    if (r == 0)
        r = trust_set(settings.state_dir, parsed->operands[0], args->is_revoked, &n, err);
    if (r == 0)
        r = print_trust(parsed->operands[0], args->is_revoked, n, err);
    settings_clear(&settings);
    return r;
}

static int trust_run(const struct call *call, struct gb_err *err)
{
    struct trust_args args = { 0 };
    struct parsed parsed = { 0 };
    int r = command_parse(call, &args, &parsed, err);

    if (r == 0)
        r = trust_dir(call, &args, &parsed, err);
    parsed_clear(&parsed);
    return r > 0 ? 0 : r;
}

const struct cmd cmd_config_trust = {
    .name = "config trust",
    .help = "Let the settings files in DIR do more than tighten",
    .usages = { "[--revoke] DIR" },
    .options = trust_options,
    .run = trust_run,
};
