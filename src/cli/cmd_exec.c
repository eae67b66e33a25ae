/* SPDX-License-Identifier: Apache-2.0 */
/* cli/cmd_exec.c - `glovebox exec` and `glovebox box run`: their arguments, checked before anything
 * is started. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/id.h"
#include "base/path.h"
#include "cli/box_user.h"
#include "cli/command.h"
#include "cli/exec_args.h"
#include "cli/exec_packages.h"
#include "cli/exec_paths.h"
#include "cli/language_arg.h"
#include "cli/package_args.h"
#include "conf/settings.h"
#include "run/environment.h"
#include "run/language.h"

/* As on the command line. */
struct given {
    const char *user;
    const char *language;
    const char *code;
    const char *workdir;
    const char *workspace;
    const char *net;
    struct text_list env;
    struct text_list files;
    struct text_list outs;
    struct package_args packages;
    bool has_stdin;
    bool has_tty;
    bool is_json;
    bool is_jsonl;
    bool has_base64;
    bool is_detached;
};

#define AT(field) .offset = offsetof(struct given, field)
static const struct opt options[] = {
    { OPT_TEXT, "language", 'l', AT(language), "LANG", "instead of the file's ending or #! line" },
    { OPT_TEXT, "code", 'c', AT(code), "CODE", "run this text" },
    { OPT_LIST, "file", 0, AT(files), "HOST[:BOX]", "copy a file into the box" },
    { OPT_LIST, "out", 0, AT(outs), "BOX[:HOST]", "copy a file out of it afterwards" },
    { OPT_TEXT, "workspace", 0, AT(workspace), "DIR", "copy a directory in, and changes back" },
    { OPT_TEXT, "workdir", 0, AT(workdir), "DIR", "where it runs in the box [/workspace]" },
    { OPT_LIST, "env", 0, AT(env), "NAME=VALUE", "set a variable" },
    { OPT_FLAG, "stdin", 0, AT(has_stdin), NULL, "let it read this command's stdin" },
    { OPT_FLAG, "tty", 't', AT(has_tty), NULL, "give it this terminal: a shell, an editor" },
    LIMIT_OPTIONS,
    { OPT_KEY, .key = KEY_OUTPUT_MAX },
    { OPT_TEXT, "net", 0, AT(net), "RULES", "what it may reach: NAME[:PORT],… or full [none]" },
    PACKAGE_OPTIONS(struct given, packages),
    { OPT_KEY, .key = KEY_NET_CONNECTIONS },
    { OPT_KEY, .key = KEY_NET_BYTES },
    { OPT_KEY, .key = KEY_NET_NAMES },
    { OPT_KEY, .key = KEY_BACKEND },
    { OPT_KEY, .key = KEY_IMAGE },
    { OPT_KEY, .key = KEY_DOCKER_RUNTIME },
    { OPT_KEY, .key = KEY_TOOLCHAINS },
    { OPT_KEY, .key = KEY_REQUIRE },
    { OPT_KEY, .key = KEY_ALLOW_MISSING },
    { OPT_FLAG, "json", 0, AT(is_json), NULL, "one JSON document with output, verdict, receipt" },
    { OPT_FLAG, "jsonl", 0, AT(is_jsonl), NULL, "output as JSON lines, the document last" },
    { OPT_FLAG, "base64", 0, AT(has_base64), NULL, "the document has the output as bytes, too" },
    { OPT_KEY, .key = KEY_COLOR },
    OPT_HELP_ROW,
    { 0 },
};

#define THE_BOXES "the box's"

/* In a box that is there: what the box is was said when it was made. */
static const struct opt box_options[] = {
    { OPT_TEXT, "user", 0, AT(user), "NAME", "in the box of that user, made when there is none" },
    { OPT_TEXT, "language", 'l', AT(language), "LANG", "instead of the file's ending or #! line" },
    { OPT_TEXT, "code", 'c', AT(code), "CODE", "run this text" },
    { OPT_LIST, "file", 0, AT(files), "HOST[:BOX]", "copy a file into the box" },
    { OPT_LIST, "out", 0, AT(outs), "BOX[:HOST]", "copy a file out of it afterwards" },
    { OPT_TEXT, "workdir", 0, AT(workdir), "DIR", "where it runs in the box [the box's own]" },
    { OPT_LIST, "env", 0, AT(env), "NAME=VALUE", "set a variable" },
    { OPT_FLAG, "detach", 'd', AT(is_detached), NULL, "do not wait for it: print its id" },
    { OPT_FLAG, "stdin", 0, AT(has_stdin), NULL, "let it read this command's stdin" },
    { OPT_FLAG, "tty", 't', AT(has_tty), NULL, "give it this terminal: a shell, an editor" },
    { OPT_KEY, .key = KEY_TIMEOUT, .usual = THE_BOXES },
    { OPT_KEY, .key = KEY_CPU_TIME },
    { OPT_KEY, .key = KEY_MEMORY, .usual = THE_BOXES },
    { OPT_KEY, .key = KEY_PIDS, .usual = THE_BOXES },
    { OPT_KEY, .key = KEY_OUTPUT_MAX, .usual = THE_BOXES },
    { OPT_FLAG, "json", 0, AT(is_json), NULL, "one JSON document with output, verdict, receipt" },
    { OPT_FLAG, "jsonl", 0, AT(is_jsonl), NULL, "output as JSON lines, the document last" },
    { OPT_FLAG, "base64", 0, AT(has_base64), NULL, "the document has the output as bytes, too" },
    { OPT_KEY, .key = KEY_COLOR },
    OPT_HELP_ROW,
    { 0 },
};

/* What args points to. */
struct store {
    struct exec_args args;
    struct buf code;
    const char **env;
    struct exec_packages packages;
    struct exec_file files[EXEC_FILES_MAX];
    struct exec_out outs[EXEC_FILES_MAX];
    char *texts[2 * EXEC_FILES_MAX];
    size_t n_texts;
};

static struct store *store_new(void)
{
    struct store *store = calloc(1, sizeof(*store));

    if (!store)
        return NULL;
    exec_packages_init(&store->packages);
    store->code = (struct buf)BUF_INIT(EXEC_CODE_MAX + EXEC_READ_STEP);
    return store;
}

static void store_free(struct store *store)
{
    for (size_t i = 0; i < store->args.n_files; i++)
        close(store->files[i].fd);
    for (size_t i = 0; i < store->n_texts; i++)
        free(store->texts[i]);
    free(store->env);
    net_policy_clear(&store->args.net);
    exec_packages_clear(&store->packages);
    buf_clear(&store->code);
    free(store);
}
DEFINE_CLEANUP(struct store *, store_free)

/* ---- what is to run ------------------------------------------------------------------------- */

static int choose_source(const struct given *given, const struct parsed *parsed,
                         struct exec_args *args, struct gb_err *err)
{
    size_t first = args->box ? 1 : 0;
    const char *file = parsed->n_operands > first ? parsed->operands[first] : NULL;

    if (parsed->n_operands > first + 1)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "'%.100s': one FILE only; arguments of the program stand behind --",
                       parsed->operands[first + 1]);
    if (file && !*file)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "the FILE's name is empty");
    if (file && given->code)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "-c CODE and '%.100s' exclude each other",
                       file);
    if (!file && !given->code && !parsed->n_rest)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "what is to run? Name a FILE, - for stdin, -c CODE, or -- PROGRAM");
    args->source = given->code              ? EXEC_INLINE
                   : !file                  ? EXEC_PROGRAM
                   : strcmp(file, "-") == 0 ? EXEC_STDIN
                                            : EXEC_FILE;
    if (args->source == EXEC_STDIN && given->has_stdin)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "- and --stdin exclude each other: both would read stdin");
    if (args->source == EXEC_PROGRAM && given->language)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "-l needs a FILE, - or -c CODE");
    return 0;
}

/* -l was checked before; now the code is there. */
static int guess_language(const char *file, struct exec_args *args, struct gb_err *err)
{
    cleanup_buf struct buf names = BUF_INIT(1024);

    if (args->language)
        return 0;
    if (args->source == EXEC_FILE)
        args->language = language_by_path(file);
    if (!args->language)
        args->language = language_by_shebang(args->code, args->code_len);
    if (args->language)
        return 0;
    return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                   "%.100s: which language is it? Say -l LANG" GB_REMEDY "LANG is one of %s",
                   args->source == EXEC_FILE    ? file
                   : args->source == EXEC_STDIN ? "stdin"
                                                : "-c",
                   language_arg_names(&names));
}

/* A name of our own for the code.  In a workspace it is one that no project has: the project's own
 * main.py can be imported and is not replaced.  In a box with other runs no run's code is
 * another's.
 */
static void invent_name(struct exec_args *args)
{
    bool has_others = args->box || args->user;
    bool is_shared = (args->workspace || has_others) && !args->language->needs_name;
    char id[ID_SIZE] = "";
    char name[NAME_MAX + 1];

    args->is_name_ours = true;
    if (has_others)
        (void)id_make('r', id);
    language_file_name(args->language, args->code, args->code_len, name);
    (void)snprintf(args->name, sizeof(args->name), "%s%.8s%s%s", is_shared ? "glovebox-" : "",
                   is_shared && *id ? id + 2 : "", is_shared && *id ? "-" : "", name);
}

/* The file keeps its name in the box, unless its compiler could not make sense of it. */
static int name_source(const char *file, bool is_regular, struct exec_args *args,
                       struct gb_err *err)
{
    bool keeps = is_regular && (!args->language->needs_ending ||
                                language_by_path(path_base(file)) == args->language);

    if (keeps && args->workspace && exec_place_in(file, args->workspace, args->name))
        args->is_name_of_workspace = true;
    else if (keeps)
        (void)snprintf(args->name, sizeof(args->name), "%s", path_base(file));
    else
        invent_name(args);
    if (keeps && exec_check_text("the file's name", args->name, err) < 0)
        return -EILSEQ;
    return exec_check_names(args, err);
}

static int load_code(const struct given *given, const char *file, struct store *store,
                     struct gb_err *err)
{
    struct exec_args *args = &store->args;
    bool is_regular = false;
    int r = 0;

    if (args->source == EXEC_INLINE)
        r = buf_puts(&store->code, given->code) < 0 ? gb_no_memory(err) : 0;
    else
        r = exec_read_code(file, &store->code, &is_regular, err);
    if (r < 0)
        return r;
    args->code = store->code.data;
    args->code_len = store->code.len;
    r = guess_language(file, args, err);
    return r < 0 ? r : name_source(file, is_regular, args, err);
}

/* ---- what it gets --------------------------------------------------------------------------- */

static int take_env(const struct text_list *list, struct store *store, struct gb_err *err)
{
    if (list->n > EXEC_ENV_MAX)
        return gb_fail(err, -E2BIG, GB_BLAME_CALLER, "--env: more than %d variables", EXEC_ENV_MAX);
    store->env = calloc(list->n + 1, sizeof(*store->env));
    if (!store->env)
        return gb_no_memory(err);
    for (size_t i = 0; i < list->n; i++) {
        cleanup_free char *name = strndup(list->items[i], strcspn(list->items[i], "="));

        if (!name)
            return gb_no_memory(err);
        if (!list->items[i][strlen(name)])
            return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "--env: '%.100s' is not NAME=VALUE",
                           name);
        if (!run_env_is_name(name))
            return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                           "--env: '%.100s' is no name: letters, digits and _ make one", name);
        store->env[i] = list->items[i];
    }
    store->args.env = store->env;
    store->args.n_env = list->n;
    return 0;
}

static int take_files(const struct given *given, struct store *store, struct gb_err *err)
{
    struct exec_args *args = &store->args;
    int r = 0;

    if (given->files.n > EXEC_FILES_MAX || given->outs.n > EXEC_FILES_MAX)
        return gb_fail(err, -E2BIG, GB_BLAME_CALLER,
                       "more than %d files; --workspace takes a directory", EXEC_FILES_MAX);
    for (size_t i = 0; r == 0 && i < given->files.n; i++) {
        r = exec_parse_file(given->files.items[i], &store->files[i], &store->texts[store->n_texts],
                            err);
        if (r == 0) {
            store->n_texts++;
            args->n_files++;
            r = exec_check_place("--file", store->files[i].box, given->workdir, err);
        }
    }
    for (size_t i = 0; r == 0 && i < given->outs.n; i++) {
        r = exec_parse_out(given->outs.items[i], args->is_json, &store->outs[i],
                           &store->texts[store->n_texts], err);
        if (r == 0) {
            store->n_texts++;
            args->n_outs++;
        }
    }
    args->files = store->files;
    args->outs = store->outs;
    return r;
}

static int take_args(const struct parsed *parsed, struct exec_args *args, struct gb_err *err)
{
    static char *const none[] = { NULL };
    size_t bytes = 0;

    args->args = parsed->n_rest ? parsed->rest : none;
    args->n_args = parsed->n_rest;
    for (size_t i = 0; i < args->n_args; i++)
        bytes += strlen(args->args[i]) + 8;
    for (size_t i = 0; i < args->n_env; i++)
        bytes += strlen(args->env[i]) + 8;
    if (args->n_args > EXEC_ARGS_MAX || bytes > EXEC_ARGS_BYTES_MAX)
        return gb_fail(err, -E2BIG, GB_BLAME_CALLER,
                       "arguments and --env are too long: 56 KiB and %d arguments are allowed\n"
                       "remedy: hand over more with --file or --stdin",
                       EXEC_ARGS_MAX);
    if (args->source == EXEC_PROGRAM && !*args->args[0])
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "the program's name is empty");
    return 0;
}

static int take_places(const struct given *given, struct exec_args *args, struct gb_err *err)
{
    args->workdir = given->workdir;
    args->workspace = given->workspace;
    if (given->net && net_policy_parse(given->net, &args->net, err) < 0)
        return -EINVAL;
    if (given->workdir && (!path_is_clean_absolute(given->workdir) || !given->workdir[1]))
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "--workdir: '%.200s' is no absolute path without '.' and '..'",
                       given->workdir);
    if (given->workdir && exec_check_text("--workdir", given->workdir, err) < 0)
        return -EILSEQ;
    return given->workspace ? exec_check_workspace(given->workspace, err) : 0;
}

/* Who has the streams. */
static int check_styles(const struct given *given, const struct exec_args *args, struct gb_err *err)
{
    if (given->is_json && given->is_jsonl)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "--json and --jsonl exclude each other");
    if (given->has_base64 && !args->is_json)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "--base64 is about the document: say --json or --jsonl, too");
    if (given->is_detached && (given->has_stdin || args->is_json))
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "-d excludes --stdin, --json and --jsonl");
    if (given->has_tty &&
        (given->has_stdin || args->is_json || given->is_detached || args->source == EXEC_STDIN))
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "-t excludes -, --stdin, --json, --jsonl and -d: it takes the terminal "
                       "whole");
    return 0;
}

/* The cheap checks first; stdin is read last. */
static int take_all(const struct given *given, const struct parsed *parsed, struct store *store,
                    struct gb_err *err)
{
    struct exec_args *args = &store->args;
    int r = choose_source(given, parsed, args, err);

    args->has_stdin = given->has_stdin;
    args->has_tty = given->has_tty;
    args->is_json = given->is_json || given->is_jsonl;
    args->is_jsonl = given->is_jsonl;
    args->has_base64 = given->has_base64;
    args->is_detached = given->is_detached;
    args->begun_fd = -1;
    args->go_fd = -1;
    if (r == 0)
        r = check_styles(given, args, err);
    if (r == 0 && given->language)
        r = language_arg_find(given->language, &args->language, err);
    if (r == 0)
        r = take_places(given, args, err);
    if (r == 0)
        r = take_env(&given->env, store, err);
    if (r == 0)
        r = take_args(parsed, args, err);
    if (r == 0)
        r = take_files(given, store, err);
    return r < 0 ? r : package_args_take(&given->packages, &store->packages.wishes, err);
}

/* `box run`: BOX comes before FILE, unless it is a user's. */
static int take_box(const struct call *call, const struct given *given, const struct parsed *parsed,
                    struct exec_args *args, struct gb_err *err)
{
    if (call->cmd != &cmd_box_run)
        return 0;
    args->user = given->user;
    if (given->user)
        return box_check_user(given->user, err);
    if (parsed->n_operands == 0)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "in which box? Name a BOX, or --user NAME" GB_REMEDY
                       "glovebox box list shows them, glovebox box create makes one");
    args->box = parsed->operands[0];
    return 0;
}

/* FILE, or "". */
static const char *file_of(const struct exec_args *args, const struct parsed *parsed)
{
    size_t first = args->box ? 1 : 0;

    return parsed->n_operands > first ? parsed->operands[first] : "";
}

static int exec_given(const struct call *call, const struct given *given,
                      const struct parsed *parsed, struct gb_err *err)
{
    cleanup_with(store_freep) struct store *store = store_new();
    struct settings settings = { 0 };
    int r = store ? take_box(call, given, parsed, &store->args, err) : gb_no_memory(err);

    if (r == 0 && given->is_detached)
        r = command_check_stdout(call, err);
    if (r == 0)
        r = take_all(given, parsed, store, err);
    if (r == 0)
        r = command_settings(call, parsed, &settings, err);
    if (r == 0)
        r = settings_check(&settings, err);
    if (r == 0)
        r = settings_check_net_flags(&settings, given->net, err);
    if (r == 0 && store->args.source == EXEC_PROGRAM)
        r = exec_check_names(&store->args, err);
    else if (r == 0)
        r = load_code(given, file_of(&store->args, parsed), store, err);
    if (r == 0)
        r = exec_packages_settle(&store->packages, &settings, given->packages.is_auto, &store->args,
                                 err);
    if (r == 0)
        r = store->args.is_detached ? exec_detach(&store->args, &settings, err)
                                    : exec_run(&store->args, &settings, err);
    settings_clear(&settings);
    return r;
}

static int exec_call(const struct call *call, struct gb_err *err)
{
    struct given given = { 0 };
    struct parsed parsed = { 0 };
    int r = command_parse(call, &given, &parsed, err);

    if (r == -ENOENT && parsed.n_operands)
        gb_add_remedy(err, "what is the program's own stands behind --: FILE -- ARGS");
    if (r == 0)
        r = exec_given(call, &given, &parsed, err);
    else if (r > 0)
        r = 0;
    if (r < 0 && (command_wants(call, "--json") || command_wants(call, "--jsonl")))
        exec_refused(err, command_wants(call, "--jsonl"));
    parsed_clear(&parsed);
    free(given.env.items);
    free(given.files.items);
    free(given.outs.items);
    package_args_free(&given.packages);
    return r;
}

const struct cmd cmd_exec = {
    .name = "exec",
    .help = "Run a program in a box of its own",
    .usages = {
        "[OPTIONS] FILE | - | -c CODE [-- ARGS...]",
        "[OPTIONS] -- PROGRAM [ARGS...]",
    },
    .options = options,
    .run = exec_call,
};

const struct cmd cmd_box_run = {
    .name = "box run",
    .help = "Run a program in a box that lives on",
    .usages = {
        "[OPTIONS] BOX FILE | - | -c CODE [-- ARGS...]",
        "[OPTIONS] BOX -- PROGRAM [ARGS...]",
        "[OPTIONS] --user NAME ...",
    },
    .options = box_options,
    .run = exec_call,
};
