/* SPDX-License-Identifier: Apache-2.0 */
/* agent/contract.c - what is to be built: schema, reading, writing. */
#include "agent/contract.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/fence.h"
#include "agent/quote.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/path.h"
#include "egress/policy.h"
#include "json/bind.h"
#include "json/writer.h"
#include "run/language.h"

#define NAME_BYTES_MAX    128
#define PACKAGE_BYTES_MAX 128

const char contract_schema[] =
    "{\"type\":\"object\",\"additionalProperties\":false,"
    "\"required\":[\"kind\",\"language\",\"summary\",\"files\"],\"properties\":{"
    "\"kind\":{\"type\":\"string\",\"enum\":[\"answer\",\"program\",\"library\"]},"
    "\"language\":{\"type\":\"string\",\"maxLength\":20},"
    "\"summary\":{\"type\":\"string\",\"maxLength\":200,\"description\":\"what is to be built, in one line\"},"
    "\"files\":{\"type\":\"array\",\"maxItems\":16,"
    "\"items\":{\"type\":\"string\",\"maxLength\":80},"
    "\"description\":\"relative paths of the files that the coder writes\"},"
    "\"module\":{\"type\":\"string\",\"maxLength\":80,"
    "\"description\":\"library: the one of the files that holds the public names\"},"
    "\"names\":{\"type\":\"array\",\"maxItems\":32,\"description\":\"library: every public name\","
    "\"items\":{\"type\":\"object\",\"additionalProperties\":false,"
    "\"required\":[\"name\",\"signature\"],"
    "\"properties\":{"
    "\"name\":{\"type\":\"string\",\"maxLength\":80,\"description\":\"parse, Stack, Stack.push\"},"
    "\"signature\":{\"type\":\"string\",\"maxLength\":200,\"description\":\"(text: str) -> int\"},"
    "\"raises\":{\"type\":\"array\",\"maxItems\":8,"
    "\"items\":{\"type\":\"string\",\"maxLength\":60}}}}},"
    "\"command\":{\"type\":\"array\",\"maxItems\":8,"
    "\"items\":{\"type\":\"string\",\"maxLength\":80},"
    "\"description\":\"program: its argv; left out: the first file, as its language is run\"},"
    "\"examples\":{\"type\":\"array\",\"maxItems\":16,"
    "\"description\":\"those that the task itself gives, no others\","
    "\"items\":{\"type\":\"object\",\"additionalProperties\":false,"
    "\"required\":[\"input\",\"output\"],\"properties\":{"
    "\"input\":{\"type\":\"string\",\"maxLength\":400,\"description\":\"a call, or arguments and stdin\"},"
    "\"output\":{\"type\":\"string\",\"maxLength\":400}}}},"
    "\"packages\":{\"type\":\"array\",\"maxItems\":8,"
    "\"items\":{\"type\":\"string\",\"maxLength\":80},"
    "\"description\":\"wanted beside the standard library\"},"
    "\"hosts\":{\"type\":\"array\",\"maxItems\":8,"
    "\"items\":{\"type\":\"string\",\"maxLength\":80},"
    "\"description\":\"hosts that the program must reach: example.org, example.org:443\"},"
    "\"run\":{\"type\":\"array\",\"maxItems\":8,"
    "\"items\":{\"type\":\"string\",\"maxLength\":200},"
    "\"description\":\"program with hosts: arguments of its run at the end, which has the network\"},"
    "\"assumptions\":{\"type\":\"array\",\"maxItems\":8,"
    "\"items\":{\"type\":\"string\",\"maxLength\":200},"
    "\"description\":\"what the task left open, and how it is read here\"}}}";

static const char *const kind_names[] = {
    [CONTRACT_ANSWER] = "answer",
    [CONTRACT_PROGRAM] = "program",
    [CONTRACT_LIBRARY] = "library",
};

/* As it comes: what is nested is still text. */
struct said {
    char *kind;
    char **names;
    char **examples;
    struct contract contract;
};

#define AT(field) offsetof(struct said, field)
static const struct bind_field fields[] = {
    { "kind", BIND_STR, AT(kind), BIND_REQUIRED, 0, 0 },
    { "language", BIND_STR, AT(contract.language), 0, 0, 0 },
    { "summary", BIND_STR, AT(contract.summary), 0, 0, 0 },
    { "files", BIND_STRS, AT(contract.files), 0, 0, 0 },
    { "module", BIND_STR, AT(contract.module), 0, 0, 0 },
    { "names", BIND_JSONS, AT(names), 0, 0, 0 },
    { "command", BIND_STRS, AT(contract.command), 0, 0, 0 },
    { "examples", BIND_JSONS, AT(examples), 0, 0, 0 },
    { "packages", BIND_STRS, AT(contract.packages), 0, 0, 0 },
    { "hosts", BIND_STRS, AT(contract.hosts), 0, 0, 0 },
    { "run", BIND_STRS, AT(contract.run), 0, 0, 0 },
    { "assumptions", BIND_STRS, AT(contract.assumptions), 0, 0, 0 },
    { 0 },
};
static const struct bind binding = { .fields = fields, .text_max = CONTRACT_TEXT_MAX };

static const struct bind_field name_fields[] = {
    { "name", BIND_STR, offsetof(struct contract_name, name), BIND_REQUIRED, 0, 0 },
    { "signature", BIND_STR, offsetof(struct contract_name, signature), 0, 0, 0 },
    { "raises", BIND_STRS, offsetof(struct contract_name, raises), 0, 0, 0 },
    { 0 },
};
static const struct bind name_binding = { .fields = name_fields, .text_max = CONTRACT_TEXT_MAX };

static const struct bind_field example_fields[] = {
    { "input", BIND_STR, offsetof(struct contract_example, input), BIND_REQUIRED, 0, 0 },
    { "output", BIND_STR, offsetof(struct contract_example, output), BIND_REQUIRED, 0, 0 },
    { 0 },
};
static const struct bind example_binding = {
    .fields = example_fields,
    .text_max = CONTRACT_TEXT_MAX,
};

/* ---- small things --------------------------------------------------------------------------- */

static int wrong(struct gb_err *err, const char *key, const char *text, const char *why)
{
    char quoted[QUOTE_SIZE];

    return gb_fail(err, -EINVAL, GB_BLAME_PEER, "key '%s': %s %s", key, quote_str(text, quoted),
                   why);
}

static size_t count(char *const *list)
{
    size_t n = 0;

    while (list && list[n])
        n++;
    return n;
}

static bool lists(char *const *list, const char *text)
{
    for (; list && *list; list++)
        if (strcmp(*list, text) == 0)
            return true;
    return false;
}

static bool is_only(const char *text, const char *marks)
{
    for (; *text; text++)
        if (!isalnum((unsigned char)*text) && !strchr(marks, *text))
            return false;
    return true;
}

/* Dotted identifiers: "Stack.push". */
static bool is_name(const char *text)
{
    if (strlen(text) > NAME_BYTES_MAX)
        return false;
    for (;;) {
        size_t len = strcspn(text, ".");

        if (len == 0 || isdigit((unsigned char)text[0]))
            return false;
        for (size_t i = 0; i < len; i++)
            if (!isalnum((unsigned char)text[i]) && text[i] != '_')
                return false;
        if (!text[len])
            return true;
        text += len + 1;
    }
}

static char **list_of(const char *text)
{
    char **list = calloc(2, sizeof(*list));

    if (list && text && !(list[0] = strdup(text))) {
        free(list);
        return NULL;
    }
    return list;
}

/* ---- lists of strings ----------------------------------------------------------------------- */

typedef int check_fn(const char *key, const char *text, struct gb_err *err);

static int check_text(const char *key, const char *text, struct gb_err *err)
{
    if (strlen(text) > CONTRACT_STRING_MAX)
        return wrong(err, key, text, "is too long");
    return 0;
}

static int check_file(const char *key, const char *text, struct gb_err *err)
{
    int r = agent_path_check(text, err);

    return r < 0 ? gb_wrap(err, r, "key '%s'", key) : 0;
}

static int check_package(const char *key, const char *text, struct gb_err *err)
{
    if (!text[0] || text[0] == '-' || strlen(text) > PACKAGE_BYTES_MAX ||
        !is_only(text, "._-+@/[]<>=!~,"))
        return wrong(err, key, text, "is not the name of a package");
    return 0;
}

static int check_host(const char *key, const char *text, struct gb_err *err)
{
    struct net_rule rule;

    if (net_rule_parse(text, &rule, NULL) < 0)
        return wrong(err, key, text,
                     "is no host: say a name with a dot or a port, such as example.org or "
                     "example.org:443, without scheme and path");
    return 0;
}

static int check_exception(const char *key, const char *text, struct gb_err *err)
{
    return is_name(text) ? 0 : wrong(err, key, text, "is not the name of an exception");
}

static int check_list(const char *key, char *const *list, size_t max, check_fn *check,
                      struct gb_err *err)
{
    if (count(list) > max)
        return gb_fail(err, -EINVAL, GB_BLAME_PEER, "key '%s' has more than %zu items", key, max);
    for (size_t i = 0; list && list[i]; i++) {
        int r = check(key, list[i], err);

        if (r < 0)
            return r;
    }
    return 0;
}

static const struct {
    const char *key;
    size_t offset;
    size_t max;
    check_fn *check;
} list_rules[] = {
    { "files", offsetof(struct contract, files), CONTRACT_FILES_MAX, check_file },
    { "command", offsetof(struct contract, command), CONTRACT_LIST_MAX, check_text },
    { "packages", offsetof(struct contract, packages), CONTRACT_LIST_MAX, check_package },
    { "hosts", offsetof(struct contract, hosts), CONTRACT_LIST_MAX, check_host },
    { "run", offsetof(struct contract, run), CONTRACT_LIST_MAX, check_text },
    { "assumptions", offsetof(struct contract, assumptions), CONTRACT_LIST_MAX, check_text },
};

static char ***list_at(struct contract *contract, size_t rule)
{
    return (char ***)(void *)((char *)contract + list_rules[rule].offset);
}

static int check_lists(struct contract *contract, struct gb_err *err)
{
    for (size_t i = 0; i < N_ELEMENTS(list_rules); i++) {
        char ***list = list_at(contract, i);
        int r = check_list(list_rules[i].key, *list, list_rules[i].max, list_rules[i].check, err);

        if (r < 0)
            return r;
        if (!*list && !(*list = list_of(NULL)))
            return gb_no_memory(err);
    }
    return 0;
}

/* ---- names and examples --------------------------------------------------------------------- */

static int check_name(const struct contract *contract, const struct contract_name *name,
                      struct gb_err *err)
{
    if (!is_name(name->name))
        return wrong(err, "names", name->name, "is not a name such as f or Class.method");
    if (strlen(name->signature) > CONTRACT_STRING_MAX)
        return wrong(err, "names", name->name, "has a signature that is too long");
    for (size_t i = 0; i + 1 < contract->n_names; i++)
        if (strcmp(contract->names[i].name, name->name) == 0)
            return wrong(err, "names", name->name, "is given twice");
    return check_list("raises", name->raises, CONTRACT_RAISES_MAX, check_exception, err);
}

static int read_names(struct contract *contract, char *const *texts, struct gb_err *err)
{
    if (count(texts) > CONTRACT_NAMES_MAX)
        return gb_fail(err, -EINVAL, GB_BLAME_PEER, "key 'names' has more than %d items",
                       CONTRACT_NAMES_MAX);
    contract->names = calloc(count(texts) + 1, sizeof(*contract->names));
    if (!contract->names)
        return gb_no_memory(err);
    for (; texts && *texts; texts++) {
        struct contract_name *name = &contract->names[contract->n_names];
        int r = bind_text(&name_binding, *texts, strlen(*texts), name, err);

        if (r < 0)
            return gb_wrap(err, r, "key 'names'");
        contract->n_names++;
        if ((!name->signature && !(name->signature = strdup(""))) ||
            (!name->raises && !(name->raises = list_of(NULL))))
            return gb_no_memory(err);
        r = check_name(contract, name, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int read_examples(struct contract *contract, char *const *texts, struct gb_err *err)
{
    if (count(texts) > CONTRACT_EXAMPLES_MAX)
        return gb_fail(err, -EINVAL, GB_BLAME_PEER, "key 'examples' has more than %d items",
                       CONTRACT_EXAMPLES_MAX);
    contract->examples = calloc(count(texts) + 1, sizeof(*contract->examples));
    if (!contract->examples)
        return gb_no_memory(err);
    for (; texts && *texts; texts++) {
        struct contract_example *example = &contract->examples[contract->n_examples];
        int r = bind_text(&example_binding, *texts, strlen(*texts), example, err);

        if (r < 0)
            return gb_wrap(err, r, "key 'examples'");
        contract->n_examples++;
        if (strlen(example->input) > CONTRACT_STRING_MAX ||
            strlen(example->output) > CONTRACT_STRING_MAX)
            return wrong(err, "examples", example->input, "is too long, or its output is");
    }
    return 0;
}

/* ---- what belongs together ------------------------------------------------------------------ */

static int find_kind(const char *name, enum contract_kind *ret, struct gb_err *err)
{
    for (size_t i = 0; i < N_ELEMENTS(kind_names); i++)
        if (strcmp(kind_names[i], name) == 0) {
            *ret = (enum contract_kind)i;
            return 0;
        }
    return wrong(err, "kind", name, "must be answer, program or library");
}

/* Aliases become the name. */
static int settle_language(struct contract *contract, struct gb_err *err)
{
    const char *said = contract->language;
    const struct language *language;
    char *name;

    if ((!said || !*said) && contract->kind != CONTRACT_ANSWER)
        return gb_fail(err, -EINVAL, GB_BLAME_PEER, "key 'language' is required");
    language = language_by_name(said && *said ? said : "python");
    if (!language)
        return wrong(err, "language", said, "is not a language that can be run here");
    if (contract->kind == CONTRACT_LIBRARY && strcmp(language->name, "python") != 0)
        return wrong(err, "language", said,
                     "cannot be a library's: only python's can be judged; use kind 'program'");
    name = strdup(language->name);
    if (!name)
        return gb_no_memory(err);
    free(contract->language);
    contract->language = name;
    return 0;
}

/* Can a test import it?  "pkg/duration.py" */
static bool is_module(const char *path)
{
    size_t len = strlen(path);
    char name[AGENT_PATH_MAX + 1];

    if (len < sizeof("x.py") - 1 || len > AGENT_PATH_MAX || strcmp(path + len - 3, ".py") != 0)
        return false;
    memcpy(name, path, len - 3);
    name[len - 3] = '\0';
    if (strchr(name, '.'))
        return false;
    for (char *slash = name; (slash = strchr(slash, '/')) != NULL;)
        *slash = '.';
    return is_name(name);
}

static int settle_module(struct contract *contract, struct gb_err *err)
{
    const char *module = contract->module;

    if (contract->kind != CONTRACT_LIBRARY) {
        free(contract->module);
        contract->module = NULL;
        return 0;
    }
    if (!module || !*module)
        return gb_fail(err, -EINVAL, GB_BLAME_PEER,
                       "key 'module' is required for a library: the file that holds its names");
    if (!is_module(module))
        return wrong(err, "module", module, "cannot be imported: use a path such as pkg/name.py");
    if (contract->files[0] && !lists(contract->files, module))
        return wrong(err, "module", module, "is not among the files");
    if (contract->n_names == 0)
        return gb_fail(err, -EINVAL, GB_BLAME_PEER,
                       "key 'names' is required for a library: each public name and its signature");
    return 0;
}

static int settle_files(struct contract *contract, struct gb_err *err)
{
    const struct language *language = language_by_name(contract->language);

    for (char **file = contract->files; *file; file++)
        if (lists(file + 1, *file))
            return wrong(err, "files", *file, "is given twice");
    if (contract->files[0])
        return 0;
    free(contract->files);
    contract->files = list_of(contract->module ? contract->module : language->file);
    return contract->files ? 0 : gb_no_memory(err);
}

static int settle_summary(struct contract *contract, struct gb_err *err)
{
    if (!contract->summary && !(contract->summary = strdup("")))
        return gb_no_memory(err);
    if (strlen(contract->summary) > CONTRACT_STRING_MAX)
        return wrong(err, "summary", contract->summary, "is too long");
    for (char *c = contract->summary; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
    return 0;
}

static int settle(struct said *said, struct gb_err *err)
{
    struct contract *contract = &said->contract;
    int r = find_kind(said->kind, &contract->kind, err);

    if (r == 0)
        r = check_lists(contract, err);
    if (r == 0)
        r = read_names(contract, said->names, err);
    if (r == 0)
        r = read_examples(contract, said->examples, err);
    if (r == 0)
        r = settle_language(contract, err);
    if (r == 0)
        r = settle_module(contract, err);
    if (r == 0)
        r = settle_files(contract, err);
    if (r == 0)
        r = settle_summary(contract, err);
    if (r == 0 && contract->command[0] && !contract->command[0][0])
        r = wrong(err, "command", "", "is no program");
    return r;
}

int contract_parse(const char *json, size_t len, struct contract *ret, struct gb_err *err)
{
    struct said said = { 0 };
    int r;

    fence_json(json, len, &json, &len);
    r = bind_text(&binding, json, len, &said, err);
    if (r == 0)
        r = settle(&said, err);
    if (r == 0) {
        *ret = said.contract;
        said.contract = (struct contract){ 0 };
    }
    contract_clear(&said.contract);
    bind_clear(&binding, &said);
    if (r < 0 && err && err->blame == GB_BLAME_CALLER) /* the caller's caller: a model */
        err->blame = GB_BLAME_PEER;
    return r < 0 ? gb_wrap(err, r, "the contract") : 0;
}

/* ---- writing and freeing -------------------------------------------------------------------- */

static void put_list(struct json_writer *w, const char *key, char *const *list)
{
    if (!list || !*list)
        return;
    json_array_begin(w, key);
    for (; *list; list++)
        json_put_str(w, NULL, *list);
    json_array_end(w);
}

static void put_names(struct json_writer *w, const struct contract *contract)
{
    if (contract->n_names == 0)
        return;
    json_array_begin(w, "names");
    for (size_t i = 0; i < contract->n_names; i++) {
        json_object_begin(w, NULL);
        json_put_str(w, "name", contract->names[i].name);
        json_put_str(w, "signature", contract->names[i].signature);
        put_list(w, "raises", contract->names[i].raises);
        json_object_end(w);
    }
    json_array_end(w);
}

static void put_examples(struct json_writer *w, const struct contract *contract)
{
    if (contract->n_examples == 0)
        return;
    json_array_begin(w, "examples");
    for (size_t i = 0; i < contract->n_examples; i++) {
        json_object_begin(w, NULL);
        json_put_str(w, "input", contract->examples[i].input);
        json_put_str(w, "output", contract->examples[i].output);
        json_object_end(w);
    }
    json_array_end(w);
}

int contract_text(const struct contract *contract, struct buf *ret)
{
    struct json_writer w;

    json_writer_init(&w, ret, true);
    json_object_begin(&w, NULL);
    json_put_str(&w, "kind", kind_names[contract->kind]);
    json_put_str(&w, "language", contract->language);
    json_put_str(&w, "summary", contract->summary);
    put_list(&w, "files", contract->files);
    if (contract->module)
        json_put_str(&w, "module", contract->module);
    put_names(&w, contract);
    put_list(&w, "command", contract->command);
    put_examples(&w, contract);
    put_list(&w, "packages", contract->packages);
    put_list(&w, "hosts", contract->hosts);
    put_list(&w, "run", contract->run);
    put_list(&w, "assumptions", contract->assumptions);
    json_object_end(&w);
    return json_writer_end(&w);
}

static void list_free(char **list)
{
    for (char **at = list; at && *at; at++)
        free(*at);
    free(list);
}

void contract_clear(struct contract *contract)
{
    for (size_t i = 0; i < contract->n_names; i++)
        bind_clear(&name_binding, &contract->names[i]);
    for (size_t i = 0; i < contract->n_examples; i++)
        bind_clear(&example_binding, &contract->examples[i]);
    free(contract->names);
    free(contract->examples);
    for (size_t i = 0; i < N_ELEMENTS(list_rules); i++)
        list_free(*list_at(contract, i));
    free(contract->language);
    free(contract->module);
    free(contract->summary);
    *contract = (struct contract){ 0 };
}
