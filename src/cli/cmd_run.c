/* SPDX-License-Identifier: Apache-2.0 */
/* cli/cmd_run.c - `glovebox run`: its arguments, checked before anything is started. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/task.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "cli/box_user.h"
#include "cli/command.h"
#include "cli/language_arg.h"
#include "cli/run_args.h"
#include "egress/policy.h"
#include "json/utf8.h"
#include "run/language.h"

#define READ_STEP 65536

/* As on the command line. */
struct given {
    struct run_args run;
    const char *objective;
    const char *objective_file;
    bool is_json;
    bool is_jsonl;
};

#define AT(field) .offset = offsetof(struct given, field)
static const struct opt options[] = {
    { OPT_LIST, "file", 0, AT(run.files), "HOST[:BOX]", "put a file into every box, read-only" },
    PACKAGE_NAME_OPTIONS(struct given, run.packages),
    { OPT_TEXT, "net", 0, AT(run.net), "RULES", "what its run at the end may reach [none]" },
    { OPT_TEXT, "user", 0, AT(run.user), "NAME", "run and keep it in the box of that user" },
    { OPT_TEXT, "out", 0, AT(run.out), "DIR", "write code and tests there too" },
    { OPT_FLAG, "force", 0, AT(run.is_forced), NULL, "replace files of --out and --record" },
    { OPT_TEXT, "language", 'l', AT(run.language), "LANG", "that it must be written in" },
    { OPT_TEXT, "continue", 0, AT(run.continues), "ID", "start from what a task has built" },
    { OPT_TEXT, "resume", 0, AT(run.resume), "ID",
      "go on with a task, perhaps with a larger budget" },
    { OPT_TEXT, "record", 0, AT(run.record), "FILE", "write everything that happens to a file" },
    { OPT_TEXT, "replay", 0, AT(run.replay), "FILE", "do it again, without model, box or network" },
    { OPT_FLAG, "plain", 0, AT(run.is_plain), NULL, "line by line, also on a terminal" },
    { OPT_FLAG, "json", 0, AT(is_json), NULL, "one JSON document on stdout at the end" },
    { OPT_FLAG, "jsonl", 0, AT(is_jsonl), NULL, "one JSON event a line on stdout as it happens" },
    { OPT_TEXT, "objective", 0, AT(objective), "TEXT", "the task, as an option" },
    { OPT_TEXT, "objective_file", 0, AT(objective_file), "FILE", "a file that has the task" },
    { OPT_TEXT, "resume_from", 0, AT(run.resume_from), "DIR", "go on with the task of a folder" },
    { OPT_KEY, .key = KEY_MODEL },
    { OPT_KEY, .key = KEY_BASE_URL },
    { OPT_KEY, .key = KEY_CONTEXT },
    { OPT_KEY, .key = KEY_EFFORT },
    { OPT_KEY, .key = KEY_CANDIDATES },
    { OPT_KEY, .key = KEY_ASK },
    { OPT_KEY, .key = KEY_INSTALL },
    { OPT_KEY, .key = KEY_MAX_STEPS },
    { OPT_KEY, .key = KEY_MAX_ATTEMPTS },
    { OPT_KEY, .key = KEY_MAX_TOKENS },
    { OPT_KEY, .key = KEY_MAX_COST },
    { OPT_KEY, .key = KEY_MAX_TIME },
    { OPT_KEY, .key = KEY_RUNS_DIR },
    LIMIT_OPTIONS,
    { OPT_KEY, .key = KEY_BACKEND },
    { OPT_KEY, .key = KEY_IMAGE },
    { OPT_KEY, .key = KEY_TOOLCHAINS },
    { OPT_KEY, .key = KEY_REQUIRE },
    { OPT_KEY, .key = KEY_ALLOW_MISSING },
    { OPT_KEY, .key = KEY_COLOR },
    OPT_HELP_ROW,
    { 0 },
};

/* ---- what goes with what -------------------------------------------------------------------- */

static bool has_packages(const struct package_args *args)
{
    return args->packages.n || args->requirements.n || args->npm.n || args->package_json.n;
}

/* A task is begun, resumed or replayed. */
static int check_way(const struct given *given, const struct parsed *parsed, struct gb_err *err)
{
    const struct run_args *run = &given->run;
    const char *ways[3] = { 0 };
    size_t n = 0;

    if (run->resume)
        ways[n++] = "--resume";
    if (run->resume_from)
        ways[n++] = "--resume_from";
    if (run->replay)
        ways[n++] = "--replay";
    if (n > 1)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "%s and %s exclude each other", ways[0],
                       ways[1]);
    if (n == 1 && (parsed->n_operands || given->objective || given->objective_file))
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "%s goes on with a task that was told already; it takes no other" GB_REMEDY
                       "glovebox run --continue ID TASK starts a new one from its files",
                       ways[0]);
    if (n == 1 && (run->continues || run->files.n || run->language || run->net || run->user ||
                   has_packages(&run->packages)))
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "%s goes with neither of --continue, --file, --net, --user, packages "
                       "and -l: the task has what it began with",
                       ways[0]);
    if (run->replay && run->record)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "--replay and --record exclude each other");
    return 0;
}

static int check_language(struct run_args *run, struct gb_err *err)
{
    const struct language *language;
    int r = run->language ? language_arg_find(run->language, &language, err) : 0;

    if (r == 0 && run->language)
        run->language = language->name;
    return r;
}

/* ---- the task ------------------------------------------------------------------------------- */

static int read_all(int fd, const char *name, struct buf *ret, struct gb_err *err)
{
    ssize_t n;

    do {
        if (buf_reserve(ret, READ_STEP) < 0)
            return gb_fail(err, -EFBIG, GB_BLAME_CALLER, "%.200s: a task may have 1 MiB", name);
        n = fd_read_full(fd, ret->data + ret->len, READ_STEP);
        if (n < 0)
            return gb_fail(err, (int)n, GB_BLAME_CALLER, "%.200s: %s", name, strerror((int)-n));
        ret->len += (size_t)n;
        ret->data[ret->len] = '\0';
    } while (n == READ_STEP);
    return 0;
}

static int read_file(const char *file, struct buf *ret, struct gb_err *err)
{
    cleanup_close int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);

    if (fd < 0)
        return gb_fail(err, -errno, GB_BLAME_CALLER, "%.200s: %s", file, strerror(errno));
    return read_all(fd, file, ret, err);
}

/* --objective wins over --objective_file; an operand stands alone. */
static int read_objective(const struct given *given, const struct parsed *parsed, struct buf *ret,
                          struct gb_err *err)
{
    const char *text = parsed->n_operands ? parsed->operands[0] : given->objective;

    if (parsed->n_operands > 1)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "'%.60s': one TASK only" GB_REMEDY "put it in quotation marks",
                       parsed->operands[1]);
    if (parsed->n_operands && (given->objective || given->objective_file))
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "TASK and %s exclude each other: say it once",
                       given->objective ? "--objective" : "--objective_file");
    if (!text && given->objective_file)
        return read_file(given->objective_file, ret, err);
    if (!text)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "what is to be done?" GB_REMEDY
                       "glovebox run \"TASK\", or - to read it from stdin");
    if (strcmp(text, "-") == 0)
        return read_all(STDIN_FILENO, "stdin", ret, err);
    return buf_puts(ret, text) < 0 ? gb_fail(err, -EFBIG, GB_BLAME_CALLER, "a task may have 1 MiB")
                                   : 0;
}

static int check_objective(const struct buf *text, struct gb_err *err)
{
    if (text->len == 0 || strspn(text->data, " \t\r\n") == text->len)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "the task is empty" GB_REMEDY "say what is to be done");
    if (text->len > AGENT_OBJECTIVE_MAX)
        return gb_fail(err, -EFBIG, GB_BLAME_CALLER,
                       "the task has more than 1 MiB" GB_REMEDY "hand over data with --file");
    if (!utf8_is_valid(text->data, text->len) || strlen(text->data) != text->len)
        return gb_fail(err, -EILSEQ, GB_BLAME_CALLER, "the task is no text: it is not UTF-8");
    return 0;
}

/* ---- the command ---------------------------------------------------------------------------- */

static int run_given(const struct call *call, struct given *given, const struct parsed *parsed,
                     struct gb_err *err)
{
    cleanup_buf struct buf objective = BUF_INIT(AGENT_OBJECTIVE_MAX + 2 * READ_STEP);
    struct run_args *run = &given->run;
    int r = check_way(given, parsed, err);

    if (r == 0)
        r = check_language(run, err);
    if (r == 0)
        r = net_policy_check(run->net, err);
    if (r == 0 && run->user)
        r = box_check_user(run->user, err);
    if (r == 0 && !run->resume && !run->resume_from && !run->replay) {
        r = read_objective(given, parsed, &objective, err);
        if (r == 0)
            r = check_objective(&objective, err);
        run->objective = objective.data;
    }
    return r < 0 ? r : run_task(call, run, err);
}

static int run_call(const struct call *call, struct gb_err *err)
{
    struct given given = { 0 };
    struct parsed parsed = { 0 };
    int r = command_parse(call, &given, &parsed, err);

    r = run_take_style(call, r, given.is_json, given.is_jsonl, &given.run, err);
    given.run.parsed = &parsed;
    /* Room for every word of the command line is there. */
    for (size_t i = 0; r == 0 && i < parsed.n_rest; i++)
        parsed.operands[parsed.n_operands++] = parsed.rest[i];
    if (r == 0)
        r = run_given(call, &given, &parsed, err);
    else if (r > 0)
        r = 0;
    if (r < 0)
        run_refused(&given.run, err);
    parsed_clear(&parsed);
    free(given.run.files.items);
    package_args_free(&given.run.packages);
    return r;
}

const struct cmd cmd_run = {
    .name = "run",
    .help = "Have a model write code for a task, and test it in boxes",
    .usages = {
        "[OPTIONS] TASK | -",
        "[OPTIONS] --resume ID | --replay FILE | --continue ID TASK",
    },
    .options = options,
    .run = run_call,
};
