/* SPDX-License-Identifier: Apache-2.0 */
/* agent/pycall.c - Python calls and definitions in a text that is only looked at. */
#include "agent/pycall.h"

#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"

#define NAME_MAX_BYTES 64
#define DEPTH_MAX      16

/* Tasks mention them without wanting them to be written. */
static const char *const builtins[] = {
    "abs",   "all",      "any",  "bool",   "dict", "enumerate", "filter", "float", "input",
    "int",   "len",      "list", "map",    "max",  "min",       "open",   "print", "range",
    "round", "reversed", "set",  "sorted", "str",  "sum",       "tuple",  "type",  "zip",
};

static bool is_letter(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static size_t name_at(const char *at)
{
    size_t n = 0;

    if (isdigit((unsigned char)*at))
        return 0;
    while (n <= NAME_MAX_BYTES && is_letter(at[n]))
        n++;
    return n <= NAME_MAX_BYTES ? n : 0;
}

/* ---- pieces --------------------------------------------------------------------------------- */

/* A string with its quotes; 0: it does not end on its line. */
static size_t string_at(const char *at)
{
    for (size_t n = 1; n < PYCALL_ARGS_MAX && at[n] && at[n] != '\n'; n++) {
        if (at[n] == '\\' && at[n + 1])
            n++;
        else if (at[n] == at[0])
            return n + 1;
    }
    return 0;
}

/* Brackets with what is between them; 0: they do not match. */
static size_t brackets_at(const char *at)
{
    static const char opening[] = "([{";
    static const char closing[] = ")]}";
    char stack[DEPTH_MAX];
    size_t depth = 0;
    size_t n = 0;

    while (n < PYCALL_ARGS_MAX && at[n] && at[n] != '\n') {
        const char *open = strchr(opening, at[n]);
        size_t len = at[n] == '"' || at[n] == '\'' ? string_at(at + n) : 1;

        if (len == 0 || (open && depth == DEPTH_MAX))
            return 0;
        if (open)
            stack[depth++] = closing[open - opening];
        else if (strchr(closing, at[n]) && stack[--depth] != at[n])
            return 0;
        n += len;
        if (depth == 0)
            return n;
    }
    return 0;
}

static size_t number_at(const char *at)
{
    size_t sign = *at == '-';
    size_t n = sign + strspn(at + sign, "0123456789");

    if (n == sign)
        return 0;
    if (at[n] == '.' && isdigit((unsigned char)at[n + 1]))
        n += 1 + strspn(at + n + 1, "0123456789");
    return is_letter(at[n]) ? 0 : n;
}

static size_t word_at(const char *at)
{
    static const char *const words[] = { "True", "False", "None" };

    for (size_t i = 0; i < N_ELEMENTS(words); i++) {
        size_t len = strlen(words[i]);

        if (strncmp(at, words[i], len) == 0 && !is_letter(at[len]))
            return len;
    }
    return 0;
}

/* Are there no names between brackets but those of values? */
static bool is_data(const char *at, size_t len)
{
    for (size_t i = 0; i < len;) {
        size_t n = at[i] == '"' || at[i] == '\'' ? string_at(at + i) : word_at(at + i);

        if (n == 0 && (is_letter(at[i]) || at[i] == '-'))
            n = number_at(at + i);
        if (n == 0 && !strchr("()[]{},: ", at[i]))
            return false;
        i += n > 0 ? n : 1;
    }
    return true;
}

/* A value that is written out; 0: something else. */
static size_t value_at(const char *at)
{
    size_t n;

    if (*at == '"' || *at == '\'')
        return string_at(at);
    if (*at && strchr("([{", *at)) {
        n = brackets_at(at);
        return is_data(at, n) ? n : 0;
    }
    n = word_at(at);
    return n > 0 ? n : number_at(at);
}

/* Is each argument a name, with or without type and default? */
static bool are_params(const char *args, size_t len)
{
    bool is_first = true;

    for (size_t i = 1; i + 1 < len;) {
        size_t n;

        i += strspn(args + i, " *");
        n = name_at(args + i);
        if (n == 0 || word_at(args + i) > 0)
            return i + 1 == len && is_first;
        is_first = false;
        i += n;
        while (i + 1 < len && args[i] != ',') {
            n = strchr("([{", args[i]) ? brackets_at(args + i) : 0;
            if (n == 0 && (args[i] == '"' || args[i] == '\''))
                n = string_at(args + i);
            if (n == 0 && !is_letter(args[i]) && !strchr(" :=.|-", args[i]))
                return false;
            i += n > 0 ? n : 1;
        }
        i += args[i] == ',';
    }
    return true;
}

/* ---- calls ---------------------------------------------------------------------------------- */

static bool is_builtin(const char *name, size_t len)
{
    for (size_t i = 0; i < N_ELEMENTS(builtins); i++)
        if (strlen(builtins[i]) == len && memcmp(builtins[i], name, len) == 0)
            return true;
    return false;
}

/* "file(s)" is no call. */
static bool is_plural(const char *args, size_t len)
{
    return (len == 3 && memcmp(args, "(s)", 3) == 0) || (len == 4 && memcmp(args, "(es)", 4) == 0);
}

static bool call_at(const char *at, size_t name_len, struct pycall *ret)
{
    size_t args_len = at[name_len] == '(' ? brackets_at(at + name_len) : 0;

    if (args_len == 0 || is_builtin(at, name_len) || is_plural(at + name_len, args_len))
        return false;
    *ret = (struct pycall){
        .name = at,
        .name_len = name_len,
        .args = at + name_len,
        .args_len = args_len,
        .has_params = are_params(at + name_len, args_len),
        .is_plain = is_data(at + name_len, args_len),
    };
    return ret->has_params || ret->is_plain;
}

bool pycall_next(const char **at, struct pycall *ret)
{
    bool is_method = false;

    while (**at) {
        const char *here = *at;
        size_t run = 0;
        size_t n;

        if (!is_letter(*here)) {
            is_method = *here == '.';
            (*at)++;
            continue;
        }
        n = name_at(here);
        while (is_letter(here[run]))
            run++;
        *at = here + run;
        if (n == run && !is_method && call_at(here, n, ret)) {
            *at = ret->args + ret->args_len;
            return true;
        }
        is_method = false;
    }
    return false;
}

/* "(a, b) -> int" of a definition on one line. */
static size_t signature_at(const char *args)
{
    size_t n = brackets_at(args);
    size_t more;

    if (n == 0 || strncmp(args + n, " -> ", 4) != 0)
        return n;
    more = strcspn(args + n, ":\n");
    return args[n + more] == ':' && n + more < PYCALL_ARGS_MAX ? n + more : n;
}

static bool def_at(const char *line, struct pycall *ret)
{
    static const struct {
        const char *word;
        bool is_called;
    } words[] = { { "def ", true }, { "async def ", true }, { "class ", false } };

    for (size_t i = 0; i < N_ELEMENTS(words); i++) {
        size_t len = strlen(words[i].word);
        const char *name = line + len;
        size_t n;

        if (strncmp(line, words[i].word, len) != 0)
            continue;
        n = name_at(name);
        if (n == 0 || name[0] == '_' || (n == 4 && memcmp(name, "main", 4) == 0) ||
            strncmp(name, "test_", 5) == 0)
            return false;
        *ret = (struct pycall){ .name = name, .name_len = n, .args = name + n };
        if (words[i].is_called && name[n] == '(')
            ret->args_len = signature_at(name + n);
        ret->has_params = ret->args_len > 0;
        return true;
    }
    return false;
}

bool pydef_next(const char **at, struct pycall *ret)
{
    while (**at) {
        const char *line = *at;
        size_t len = strcspn(line, "\n");

        *at = line + len + (line[len] == '\n');
        if (def_at(line, ret))
            return true;
    }
    return false;
}

/* ---- values --------------------------------------------------------------------------------- */

/* Behind the value nothing may follow that could change its meaning ("is 1 for odd n"). */
static bool is_end(const char *at)
{
    static const char *const more[] = { " and ", ", and ", ", " };

    at += strspn(at, "`");
    if (!*at || *at == '\n' || *at == ';' || *at == ')')
        return true;
    if (*at == '.' && (!at[1] || isspace((unsigned char)at[1])))
        return true;
    for (size_t i = 0; i < N_ELEMENTS(more); i++) {
        const char *next = at + strlen(more[i]);
        struct pycall call;

        if (strncmp(at, more[i], strlen(more[i])) != 0)
            continue;
        next += strspn(next, "`");
        if (name_at(next) > 0 && call_at(next, name_at(next), &call))
            return true;
    }
    return false;
}

size_t pycall_value(const struct pycall *call, const char **ret)
{
    static const char *const words[] = {
        "is ",          "== ",    "= ",         "-> ", "=> ", "returns ", "should return ",
        "must return ", "gives ", "should be ",
    };
    static const char raises[] = "raises ";
    const char *at = call->args + call->args_len;

    if (!call->is_plain)
        return 0;
    at += strspn(at, " `");
    if (strncmp(at, raises, sizeof(raises) - 1) == 0) {
        size_t len = sizeof(raises) - 1 + name_at(at + sizeof(raises) - 1);

        *ret = at;
        return len >= sizeof(raises) && is_end(at + len) ? len : 0;
    }
    for (size_t i = 0; i < N_ELEMENTS(words); i++) {
        const char *value = at + strlen(words[i]);
        size_t len;

        if (strncmp(at, words[i], strlen(words[i])) != 0)
            continue;
        value += strspn(value, " `");
        len = value_at(value);
        *ret = value;
        return len > 0 && is_end(value + len) ? len : 0;
    }
    return 0;
}
