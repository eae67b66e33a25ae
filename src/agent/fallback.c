/* SPDX-License-Identifier: Apache-2.0 */
/* agent/fallback.c - a contract that no model has made.
 *
 * Task and code are only looked at: what is found becomes JSON, which contract_parse() checks as it
 * checks a model's.
 */
#include "agent/fallback.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "agent/fence.h"
#include "agent/pycall.h"
#include "base/buf.h"
#include "base/err.h"
#include "json/writer.h"
#include "run/language.h"

#define WORD_SIZE   32
#define SUMMARY_MAX 200

static const char assumption[] =
    "no plan could be had from the model; this contract was made from the words of the task and "
    "from the code that was then written";

/* ---- words ---------------------------------------------------------------------------------- */

static bool is_letter(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '+' || c == '#';
}

/* The next word in lower case, cut; false at the end. */
static bool next_word(const char **at, char ret[static WORD_SIZE])
{
    size_t n = 0;

    while (**at && !is_letter(**at))
        (*at)++;
    for (; is_letter(**at); (*at)++)
        if (n + 1 < WORD_SIZE)
            ret[n++] = (char)tolower((unsigned char)**at);
    ret[n] = '\0';
    return n > 0;
}

static const struct {
    const char *word;
    enum contract_kind kind;
} kind_words[] = {
    { "library", CONTRACT_LIBRARY },     { "module", CONTRACT_LIBRARY },
    { "function", CONTRACT_LIBRARY },    { "functions", CONTRACT_LIBRARY },
    { "class", CONTRACT_LIBRARY },       { "method", CONTRACT_LIBRARY },
    { "package", CONTRACT_LIBRARY },     { "program", CONTRACT_PROGRAM },
    { "script", CONTRACT_PROGRAM },      { "command", CONTRACT_PROGRAM },
    { "tool", CONTRACT_PROGRAM },        { "cli", CONTRACT_PROGRAM },
    { "application", CONTRACT_PROGRAM }, { "app", CONTRACT_PROGRAM },
};

static bool find_kind(const char *word, enum contract_kind *ret)
{
    for (size_t i = 0; i < N_ELEMENTS(kind_words); i++)
        if (strcmp(kind_words[i].word, word) == 0) {
            *ret = kind_words[i].kind;
            return true;
        }
    return false;
}

const char *fallback_language(const char *task, const char *language)
{
    const struct language *found = language ? language_by_name(language) : NULL;
    char before[WORD_SIZE] = "";
    char word[WORD_SIZE];
    char after[WORD_SIZE];
    enum contract_kind kind;

    /* "go" and "node" are words too: only where a language stands. */
    for (const char *at = task; !found && next_word(&at, word);) {
        const char *next = at;
        bool is_place =
            strcmp(before, "in") == 0 || (next_word(&next, after) && find_kind(after, &kind));

        found = is_place ? language_by_name(word) : NULL;
        memcpy(before, word, sizeof(before));
    }
    return found ? found->name : "python";
}

enum contract_kind fallback_kind(const char *task, const char *language)
{
    bool is_python = strcmp(fallback_language(task, language), "python") == 0;
    struct pycall call;
    const char *at = task;
    char word[WORD_SIZE];
    enum contract_kind kind;

    while (next_word(&at, word))
        if (find_kind(word, &kind))
            return is_python ? kind : CONTRACT_PROGRAM;
    if (!pycall_next(&task, &call))
        return CONTRACT_ANSWER;
    return is_python ? CONTRACT_LIBRARY : CONTRACT_PROGRAM;
}

const char *fallback_path(const char *task, const char *language)
{
    if (fallback_kind(task, language) == CONTRACT_LIBRARY)
        return FALLBACK_FILE;
    return language_by_name(fallback_language(task, language))->file;
}

/* ---- names ---------------------------------------------------------------------------------- */

struct names {
    struct pycall items[FALLBACK_NAMES];
    size_t n;
};

static bool is_same(const struct pycall *a, const struct pycall *b)
{
    return a->name_len == b->name_len && memcmp(a->name, b->name, a->name_len) == 0;
}

static const struct pycall *find(const struct names *names, const struct pycall *call)
{
    for (size_t i = 0; i < names->n; i++)
        if (is_same(&names->items[i], call))
            return &names->items[i];
    return NULL;
}

static void add(struct names *names, const struct pycall *call)
{
    if (names->n < FALLBACK_NAMES && !find(names, call))
        names->items[names->n++] = *call;
}

/* Calls with names for arguments first: they are signatures. */
static void names_of_task(const char *task, struct names *ret)
{
    struct pycall call;

    for (const char *at = task; pycall_next(&at, &call);)
        if (call.has_params)
            add(ret, &call);
    for (const char *at = task; pycall_next(&at, &call);)
        add(ret, &call);
}

static void names_of_code(const struct agent_file *file, struct names *ret)
{
    struct pycall call;

    for (const char *at = file->text; pydef_next(&at, &call);)
        add(ret, &call);
}

/* What the task names and the code has; of a task that names nothing, all that the code has.  When
 * the code has nothing of it, the code is wrong, and the judge will say so. */
static void choose_names(const struct names *said, const struct names *defined, struct names *ret)
{
    for (size_t i = 0; i < said->n; i++) {
        const struct pycall *own = find(defined, &said->items[i]);

        if (own)
            add(ret, said->items[i].has_params ? &said->items[i] : own);
    }
    for (size_t i = 0; i < said->n && ret->n == 0; i++)
        if (said->items[i].has_params)
            add(ret, &said->items[i]);
    if (ret->n == 0)
        *ret = *defined;
}

/* ---- the contract --------------------------------------------------------------------------- */

struct draft {
    const char *task;
    enum contract_kind kind;
    const char *language;
    const struct agent_files *code;
    const struct agent_file *module;
    struct names names;
};

static bool is_python_file(const struct agent_file *file)
{
    size_t len = strlen(file->path);

    return len > 3 && strcmp(file->path + len - 3, ".py") == 0;
}

/* The file with most of what the task names is the module. */
static void find_module(struct draft *draft)
{
    struct names said = { 0 };

    names_of_task(draft->task, &said);
    for (size_t i = 0; i < draft->code->n; i++) {
        struct names defined = { 0 };
        struct names chosen = { 0 };

        if (!is_python_file(&draft->code->items[i]))
            continue;
        names_of_code(&draft->code->items[i], &defined);
        choose_names(&said, &defined, &chosen);
        if (!draft->module || chosen.n > draft->names.n) {
            draft->module = &draft->code->items[i];
            draft->names = chosen;
        }
    }
}

static void put_names(struct json_writer *w, const struct names *names)
{
    json_array_begin(w, "names");
    for (size_t i = 0; i < names->n; i++) {
        json_object_begin(w, NULL);
        json_put_bytes(w, "name", names->items[i].name, names->items[i].name_len);
        json_put_bytes(w, "signature", names->items[i].args, names->items[i].args_len);
        json_object_end(w);
    }
    json_array_end(w);
}

static void put_examples(struct json_writer *w, const struct draft *draft)
{
    struct pycall call;
    unsigned n = 0;

    json_array_begin(w, "examples");
    for (const char *at = draft->task; n < CONTRACT_EXAMPLES_MAX && pycall_next(&at, &call);) {
        const char *value;
        size_t len = pycall_value(&call, &value);

        if (len == 0 || !find(&draft->names, &call))
            continue;
        json_object_begin(w, NULL);
        json_put_bytes(w, "input", call.name, (size_t)(call.args + call.args_len - call.name));
        json_put_bytes(w, "output", value, len);
        json_object_end(w);
        n++;
    }
    json_array_end(w);
}

static void put_files(struct json_writer *w, const struct draft *draft)
{
    json_array_begin(w, "files");
    for (size_t i = 0; draft->code && i < draft->code->n; i++)
        json_put_str(w, NULL, draft->code->items[i].path);
    json_array_end(w);
}

static int contract_json(const struct draft *draft, struct buf *ret)
{
    static const char *const kinds[] = {
        [CONTRACT_ANSWER] = "answer",
        [CONTRACT_PROGRAM] = "program",
        [CONTRACT_LIBRARY] = "library",
    };
    size_t len = strcspn(draft->task, "\r\n");
    struct json_writer w;

    json_writer_init(&w, ret, false);
    json_object_begin(&w, NULL);
    json_put_str(&w, "kind", kinds[draft->kind]);
    json_put_str(&w, "language", draft->language);
    json_put_bytes(&w, "summary", draft->task, len < SUMMARY_MAX ? len : SUMMARY_MAX);
    put_files(&w, draft);
    if (draft->kind == CONTRACT_LIBRARY && draft->module) {
        json_put_str(&w, "module", draft->module->path);
        put_names(&w, &draft->names);
        put_examples(&w, draft);
    }
    json_array_begin(&w, "assumptions");
    json_put_str(&w, NULL, assumption);
    json_array_end(&w);
    json_object_end(&w);
    return json_writer_end(&w);
}

int fallback_contract(const char *task, const char *language, const struct agent_files *code,
                      struct contract *ret, struct gb_err *err)
{
    struct draft draft = {
        .task = task,
        .kind = fallback_kind(task, language),
        .language = fallback_language(task, language),
        .code = code,
    };
    cleanup_buf struct buf json = BUF_INIT(CONTRACT_TEXT_MAX);

    if (draft.kind == CONTRACT_LIBRARY && code)
        find_module(&draft);
    if (contract_json(&draft, &json) < 0)
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for a contract");
    return contract_parse(json.data, json.len, ret, err);
}

bool fallback_is_example(const struct contract *contract)
{
    static const char *const files[] = { "roman.py", NULL };

    return contract->kind == CONTRACT_LIBRARY && contract->module &&
           strcmp(contract->summary, "converts between Roman numerals and integers") == 0 &&
           strcmp(contract->module, files[0]) == 0 && strcmp(contract->files[0], files[0]) == 0 &&
           !contract->files[1] && contract->n_names == 1 &&
           strcmp(contract->names[0].name, "to_roman") == 0 &&
           strcmp(contract->names[0].signature, "(number: int) -> str") == 0;
}
