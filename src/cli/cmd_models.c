/* SPDX-License-Identifier: Apache-2.0 */
/* cli/cmd_models.c - `glovebox models`: who is set up, who answers, and whom a task would ask.
 *
 * Keys are never printed, only where they come from.  Servers are asked one after the other, each
 * for a few seconds at most; what is not set up is asked only where it would be on this machine.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "cli/command.h"
#include "cli/term.h"
#include "cli/term_filter.h"
#include "conf/models.h"
#include "conf/nearest.h"
#include "conf/search.h"
#include "conf/secrets.h"
#include "conf/settings.h"
#include "json/writer.h"
#include "model/headers.h"
#include "model/listing.h"
#include "model/wire.h"
#include "net/http.h"

#define TEXT_MAX      (4 << 20)
#define PROVIDERS_MAX 32
#define NAMES_SHOWN   4
#define CONNECT_MS    2000
#define TOTAL_MS      6000

struct models_args {
    bool is_json;
};

#define AT(field) .offset = offsetof(struct models_args, field)
static const struct opt options[] = {
    { OPT_KEY, .key = KEY_MODEL },
    { OPT_KEY, .key = KEY_BASE_URL },
    { OPT_KEY, .key = KEY_CONTEXT },
    { OPT_FLAG, "json", 0, AT(is_json), NULL, "one JSON document with every name" },
    { OPT_KEY, .key = KEY_COLOR },
    OPT_HELP_ROW,
    { 0 },
};

enum state {
    STATE_READY,
    STATE_UNSET,   /* nothing says that it is to be used */
    STATE_REFUSED, /* it does not take the key */
    STATE_SILENT,  /* it cannot be reached */
    STATE_GARBLED, /* it answers, and not with models */
    STATE_BARRED,  /* a project's file may not say what it says */
};

static const struct {
    const char *word; /* in JSON */
    const char *text;
    enum term_style style;
} states[] = {
    [STATE_READY] = { "ready", "ready", TERM_GREEN },
    [STATE_UNSET] = { "unset", "not set up", TERM_DIM },
    [STATE_REFUSED] = { "refused", "key refused", TERM_RED },
    [STATE_SILENT] = { "silent", "no answer", TERM_RED },
    [STATE_GARBLED] = { "garbled", "no models", TERM_RED },
    [STATE_BARRED] = { "barred", "not allowed", TERM_RED },
};

struct row {
    const struct provider *provider;
    struct model_choice choice;
    enum state state;
    struct gb_err err; /* why it is not ready */
    struct listing listing;
};

struct report {
    const struct provider *only; /* NULL: all */
    struct row rows[PROVIDERS_MAX];
    size_t n_rows;
    struct models models;
    uint64_t contexts[N_MODELS_ROLES]; /* tokens; 0: not known */
    struct gb_err err;                 /* why no task could be worked on */
    struct search_spec search;         /* server NULL: there is none */
};

static void report_clear(struct report *report)
{
    for (size_t i = 0; i < report->n_rows; i++)
        listing_clear(&report->rows[i].listing);
    models_clear(&report->models);
}

/* ---- asking --------------------------------------------------------------------------------- */

static int get_listing(struct http_client *client, struct row *row)
{
    const struct model_spec *spec = &row->choice.spec;
    const struct wire *wire = wire_of(row->provider);
    cleanup_buf struct buf url = BUF_INIT(PROVIDER_URL_MAX + 64);
    cleanup_headers struct headers headers = { 0 };
    struct listing_request request = {
        .ca_file = spec->ca_file,
        .proxy = spec->proxy,
        .connect_ms = CONNECT_MS,
        .total_ms = TOTAL_MS,
        .cancel_fd = -1,
    };
    int r = headers_make(row->provider, spec, &headers, &row->err);

    (void)buf_printf(&url, "%s%s", row->choice.base_url, wire->list_path);
    if (r < 0)
        return r;
    if (buf_error(&url))
        return gb_no_memory(&row->err);
    request.headers = headers.lines;
    request.url = url.data;
    return listing_get(client, &request, &row->listing, &row->err);
}

static void ask(struct http_client *client, struct row *row)
{
    int r = get_listing(client, row);

    row->state = r == 0         ? STATE_READY
                 : r == -EACCES ? STATE_REFUSED
                 : r == -EPROTO ? STATE_GARBLED
                                : STATE_SILENT;
}

static void look_at(const struct models_input *input, struct http_client *client, struct row *row)
{
    int r = models_provider(input, row->provider, &row->choice, &row->err);

    if (r < 0) {
        row->state = STATE_BARRED;
        return;
    }
    row->state = STATE_UNSET;
    if (r > 0 || (row->provider->flags & PROVIDER_LOCAL && row->choice.base_url[0]))
        ask(client, row);
    /* Nobody said that something is there. */
    if (r == 0 && row->state != STATE_READY)
        row->state = STATE_UNSET;
}

static bool is_same(const struct model_choice *one, const struct model_choice *other)
{
    const char *name = one->spec.name ? one->spec.name : "";

    return strcmp(one->spec.provider, other->spec.provider) == 0 &&
           strcmp(one->base_url, other->base_url) == 0 &&
           one->spec.context == other->spec.context &&
           strcmp(name, other->spec.name ? other->spec.name : "") == 0;
}

/* How much each role's model takes in, as a task would learn it. */
static void learn_contexts(struct report *report)
{
    const struct model_choice *roles = report->models.roles;

    for (enum models_role role = 0; report->err.code == 0 && role < N_MODELS_ROLES; role++) {
        cleanup_model struct model *model = NULL;

        if (role > 0 && is_same(&roles[role], &roles[role - 1])) {
            report->contexts[role] = report->contexts[role - 1];
            continue;
        }
        if (model_open(&roles[role].spec, &model, NULL) < 0)
            continue;
        (void)model_learn_context(model, -1, NULL);
        report->contexts[role] = model_context(model);
    }
}

static int look(const struct models_input *input, struct report *report, struct gb_err *err)
{
    cleanup_with(http_client_free) struct http_client *client = NULL;
    int r = http_client_new(&client, err);

    for (size_t i = 0; r == 0 && provider_at(i) && report->n_rows < PROVIDERS_MAX; i++) {
        if (report->only && report->only != provider_at(i))
            continue;
        report->rows[report->n_rows].provider = provider_at(i);
        look_at(input, client, &report->rows[report->n_rows++]);
    }
    if (r == 0)
        (void)models_choose(input, &report->models, &report->err);
    if (r == 0)
        learn_contexts(report);
    return r;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static const char *or_null(const char *text)
{
    return *text ? text : NULL;
}

/* What would be asked for; NULL when only the server knows. */
static const char *name_of(const struct model_choice *choice)
{
    const struct provider *provider = provider_by_name(choice->spec.provider);

    return choice->spec.name ? choice->spec.name : provider ? provider->model : NULL;
}

/* The same, as far as that server has told: the first of its models. */
static const char *asked_name(const struct report *report, const struct model_choice *choice)
{
    const char *name = name_of(choice);

    for (size_t i = 0; !name && i < report->n_rows; i++) {
        const struct row *row = &report->rows[i];

        if (row->listing.n > 0 && strcmp(row->provider->name, choice->spec.provider) == 0 &&
            strcmp(row->choice.base_url, choice->base_url) == 0)
            name = row->listing.names[0];
    }
    return name;
}

static void json_row(struct json_writer *w, const struct row *row)
{
    json_object_begin(w, NULL);
    json_put_str(w, "name", row->provider->name);
    json_put_str(w, "state", states[row->state].word);
    json_put_str(w, "base_url", or_null(row->choice.base_url));
    json_put_str(w, "base_url_from", or_null(row->choice.url_from));
    json_put_str(w, "key_from", or_null(row->choice.key_from));
    json_put_str(w, "error", or_null(row->err.msg));
    json_array_begin(w, "models");
    for (size_t i = 0; i < row->listing.n; i++)
        json_put_str(w, NULL, row->listing.names[i]);
    json_array_end(w);
    json_object_begin(w, "contexts");
    for (size_t i = 0; i < row->listing.n; i++)
        if (row->listing.contexts[i] > 0)
            json_put_u64(w, row->listing.names[i], row->listing.contexts[i]);
    json_object_end(w);
    json_object_end(w);
}

static void json_roles(struct json_writer *w, const struct report *report)
{
    json_object_begin(w, "roles");
    for (enum models_role role = 0; report->err.code == 0 && role < N_MODELS_ROLES; role++) {
        const struct model_choice *choice = &report->models.roles[role];

        json_object_begin(w, models_role_name(role));
        json_put_str(w, "provider", choice->spec.provider);
        json_put_str(w, "model", asked_name(report, choice));
        json_put_str(w, "base_url", or_null(choice->base_url));
        json_put_str(w, "why", choice->why);
        if (report->contexts[role])
            json_put_u64(w, "context", report->contexts[role]);
        json_object_end(w);
    }
    json_object_end(w);
}

static void report_json(const struct report *report, struct buf *ret)
{
    struct json_writer w;

    json_writer_init(&w, ret, true);
    json_object_begin(&w, NULL);
    json_put_u64(&w, "schema", 1);
    json_array_begin(&w, "providers");
    for (size_t i = 0; i < report->n_rows; i++)
        json_row(&w, &report->rows[i]);
    json_array_end(&w);
    json_roles(&w, report);
    json_put_str(&w, "error", or_null(report->err.msg));
    json_put_str(&w, "search", report->search.server ? report->search.server->name : NULL);
    json_object_end(&w);
    (void)json_writer_end(&w); /* command_print() looks at the buf */
}

/* ---- text ----------------------------------------------------------------------------------- */

/* An error's first line; what it holds of a server is made harmless. */
static void put_error(struct buf *ret, const struct gb_err *err)
{
    (void)term_filter_line(err->msg, gb_err_len(err), ret);
}

static void put_names(struct buf *ret, const struct listing *listing)
{
    (void)buf_printf(ret, "%zu model%s", listing->n, listing->n == 1 ? "" : "s");
    for (size_t i = 0; i < listing->n && i < NAMES_SHOWN; i++)
        (void)buf_printf(ret, "%s%s", i ? ", " : ": ", listing->names[i]);
    (void)buf_puts(ret, listing->n > NAMES_SHOWN ? ", ..." : "");
}

static void put_way_in(struct buf *ret, const struct provider *provider)
{
    if (provider->flags & PROVIDER_LOCAL && provider->base_url)
        (void)buf_printf(ret, "%s, or set %s", provider->remedy, provider->base_env);
    else
        (void)buf_printf(ret, "set %s",
                         provider->base_url ? provider->key_env[0] : provider->base_env);
}

static void put_row(struct buf *ret, const struct term *term, const struct row *row)
{
    const struct model_choice *choice = &row->choice;

    (void)buf_printf(ret, "%s%-18s%s %s%-12s%s ", term_on(term, TERM_BOLD), row->provider->name,
                     term_off(term), term_on(term, states[row->state].style),
                     states[row->state].text, term_off(term));
    if (row->state == STATE_READY)
        put_names(ret, &row->listing);
    else if (row->state == STATE_UNSET)
        put_way_in(ret, row->provider);
    else
        put_error(ret, &row->err);
    (void)buf_putc(ret, '\n');
    if (row->state == STATE_UNSET || row->state == STATE_BARRED)
        return;
    (void)buf_printf(ret, "%-18s %s", "", term_on(term, TERM_DIM));
    (void)term_filter_line(choice->base_url, strlen(choice->base_url), ret);
    if (choice->url_from[0]) {
        (void)buf_puts(ret, " from ");
        (void)term_filter_line(choice->url_from, strlen(choice->url_from), ret);
    }
    (void)buf_puts(ret, choice->key_from[0] ? ", key from " : ", no key");
    (void)term_filter_line(choice->key_from, strlen(choice->key_from), ret);
    (void)buf_printf(ret, "%s\n", term_off(term));
}

static void put_choice(struct buf *ret, const struct report *report, enum models_role role)
{
    const struct model_choice *choice = &report->models.roles[role];
    const char *name = asked_name(report, choice);

    (void)buf_printf(ret, "%s/", choice->spec.provider);
    (void)term_filter_line(name ? name : "its first model", strlen(name ? name : "its first model"),
                           ret);
    if (choice->base_url[0]) {
        (void)buf_puts(ret, " at ");
        (void)term_filter_line(choice->base_url, strlen(choice->base_url), ret);
    }
    (void)buf_puts(ret, " (");
    (void)term_filter_line(choice->why, strlen(choice->why), ret);
    (void)buf_putc(ret, ')');
    if (report->contexts[role])
        (void)buf_printf(ret, ", with a context of %" PRIu64 " tokens", report->contexts[role]);
    (void)buf_putc(ret, '\n');
}

static void put_roles(struct buf *ret, const struct report *report)
{
    const struct model_choice *roles = report->models.roles;

    if (is_same(&roles[MODELS_ORCHESTRATOR], &roles[MODELS_CODER]) &&
        is_same(&roles[MODELS_ORCHESTRATOR], &roles[MODELS_TESTER])) {
        (void)buf_puts(ret, "A task would ask ");
        put_choice(ret, report, MODELS_ORCHESTRATOR);
        return;
    }
    (void)buf_puts(ret, "A task would ask\n");
    for (enum models_role role = 0; role < N_MODELS_ROLES; role++) {
        (void)buf_printf(ret, "  as %-13s ", models_role_name(role));
        put_choice(ret, report, role);
    }
}

static void report_text(const struct report *report, const struct term *term, struct buf *ret)
{
    for (size_t i = 0; i < report->n_rows; i++)
        put_row(ret, term, &report->rows[i]);
    (void)buf_putc(ret, '\n');
    if (report->err.code == 0) {
        put_roles(ret, report);
    } else {
        const char *remedy = gb_err_remedy(&report->err);

        (void)buf_printf(ret, "%sA task would ask nobody:%s ", term_on(term, TERM_RED),
                         term_off(term));
        put_error(ret, &report->err);
        if (remedy) {
            (void)buf_puts(ret, "\n  remedy: ");
            (void)term_filter_line(remedy, strlen(remedy), ret);
        }
        (void)buf_putc(ret, '\n');
    }
    if (report->search.server)
        (void)buf_printf(ret, "It would search with %s.\n", report->search.server->name);
}

static void put_name(struct buf *ret, const struct row *row, size_t i)
{
    (void)buf_printf(ret, "%s/%s", row->provider->name, row->listing.names[i]);
    if (row->listing.contexts[i] > 0)
        (void)buf_printf(ret, "\t%" PRIu64 " tokens", row->listing.contexts[i]);
    (void)buf_putc(ret, '\n');
}

/* All names of one provider, as --model takes them; behind a tab what the server tells of them. */
static int print_names(const struct row *row, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);

    if (row->state == STATE_UNSET) {
        put_way_in(&text, row->provider);
        return gb_fail(err, -ENOKEY, GB_BLAME_CALLER, "%s is not set up\nremedy: %s",
                       row->provider->name, text.data ? text.data : "");
    }
    if (row->state != STATE_READY) {
        *err = row->err;
        return gb_wrap(err, row->err.code, "%s", row->provider->name);
    }
    for (size_t i = 0; i < row->listing.n; i++)
        put_name(&text, row, i);
    return text.len ? command_print(&text, err) : 0;
}

/* ---- the command ---------------------------------------------------------------------------- */

static int find_only(const struct parsed *parsed, struct report *report, struct gb_err *err)
{
    const char *name = parsed->n_operands ? parsed->operands[0] : NULL;
    struct nearest near = { .text = name };

    if (parsed->n_operands > 1 || parsed->has_rest)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "name one provider, or none");
    if (!name)
        return 0;
    report->only = provider_by_name(name);
    if (report->only)
        return 0;
    for (size_t i = 0; provider_at(i); i++)
        nearest_offer(&near, provider_at(i)->name);
    return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "no provider is named '%.60s'%s%s%s", name,
                   nearest_best(&near) ? ", did you mean '" : "; 'glovebox models' lists them",
                   nearest_best(&near) ? nearest_best(&near) : "", nearest_best(&near) ? "'?" : "");
}

static int print_report(const struct call *call, const struct models_args *args,
                        const struct settings *settings, const struct report *report,
                        struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
    struct term term;
    int r;

    if (report->only && !args->is_json)
        return print_names(&report->rows[0], err);
    term_init(&term, STDOUT_FILENO, settings->color, call->env);
    if (args->is_json)
        report_json(report, &text);
    else
        report_text(report, &term, &text);
    r = command_print(&text, err);
    return r < 0 ? r : report->err.code != 0;
}

static int models_with(const struct call *call, const struct models_args *args,
                       const struct settings *settings, struct report *report, struct gb_err *err)
{
    cleanup_secrets struct secrets *secrets = NULL;
    int r = secrets_load(settings, call->env, &secrets, err);
    const struct models_input input = {
        .settings = settings,
        .secrets = secrets,
        .env = call->env,
        .probe = model_probe_local,
    };

    if (r == 0)
        r = search_choose(settings, secrets, call->env, &report->search, err);
    if (r < 0)
        return r;
    if (r == 0)
        report->search.server = NULL;
    r = look(&input, report, err);
    return r < 0 ? r : print_report(call, args, settings, report, err);
}

static int models_call(const struct call *call, const struct models_args *args,
                       const struct parsed *parsed, struct gb_err *err)
{
    cleanup_free struct report *report = calloc(1, sizeof(*report));
    struct settings settings = { 0 };
    int r;

    if (!report)
        return gb_no_memory(err);
    r = find_only(parsed, report, err);
    if (r == 0)
        r = command_settings(call, parsed, &settings, err);
    if (r == 0)
        r = models_with(call, args, &settings, report, err);
    report_clear(report);
    settings_clear(&settings);
    return r;
}

static int models_run(const struct call *call, struct gb_err *err)
{
    struct models_args args = { 0 };
    struct parsed parsed = { 0 };
    int r = command_parse(call, &args, &parsed, err);

    if (r == 0)
        r = models_call(call, &args, &parsed, err);
    else if (r > 0)
        r = 0;
    parsed_clear(&parsed);
    return r;
}

const struct cmd cmd_models = {
    .name = "models",
    .help = "Tell which models are set up, and which one a task would ask",
    .usages = { "[OPTIONS]", "[OPTIONS] PROVIDER" },
    .options = options,
    .run = models_run,
};
