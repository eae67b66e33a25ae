/* SPDX-License-Identifier: Apache-2.0 */
/* agent/pattern_parse.c - the text of a pattern, as postfix.
 *
 * No step calls itself; groups wait on a small stack. */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "agent/pattern.h"
#include "agent/pattern_inside.h"
#include "agent/quote.h"
#include "base/err.h"
#include "json/utf8.h"

#define GROUPS_MAX 32
#define REPEAT_MAX 256
#define NO_LIMIT   UINT32_MAX

/* ---- sets of bytes -------------------------------------------------------------------------- */

static void set_add(struct pattern_set *set, unsigned char c)
{
    set->bits[c >> 3] |= (uint8_t)(1U << (c & 7));
}

static void set_invert(struct pattern_set *set)
{
    for (size_t i = 0; i < sizeof(set->bits); i++)
        set->bits[i] = (uint8_t)~set->bits[i];
}

/* The bytes of ASCII that a class has; others are parts of characters and belong to none. */
static void set_add_class(struct pattern_set *set, int (*has)(int), bool has_underscore)
{
    for (int c = 0; c < 128; c++)
        if (has(c) || (has_underscore && c == '_'))
            set_add(set, (unsigned char)c);
}

/* \d and the like; false when the letter names none. */
static bool set_add_escape(struct pattern_set *set, char letter)
{
    struct pattern_set class = { 0 };

    switch (letter | 0x20) {
    case 'd':
        set_add_class(&class, isdigit, false);
        break;
    case 'w':
        set_add_class(&class, isalnum, true);
        break;
    case 's':
        set_add_class(&class, isspace, false);
        break;
    default:
        return false;
    }
    if (letter < 'a')
        set_invert(&class);
    for (size_t i = 0; i < sizeof(set->bits); i++)
        set->bits[i] |= class.bits[i];
    return true;
}

/* ---- text to postfix ------------------------------------------------------------------------ */

struct level {
    size_t n_atoms; /* that wait to be joined, at most two */
    size_t n_or;
    size_t begin; /* of the group's nodes */
};

struct parser {
    const char *text; /* the whole, for errors */
    const char *at;
    struct pattern *pattern;
    struct pattern_postfix *out;
    struct level levels[GROUPS_MAX];
    size_t depth;     /* of the present level */
    size_t last;      /* where the nodes of the last atom begin */
    bool can_repeat;  /* is there one? */
    bool is_too_long; /* nodes or sets were wanting */
};

static int wrong(const struct parser *parser, const char *why, struct gb_err *err)
{
    char quoted[QUOTE_SIZE];

    return gb_fail(err, -EINVAL, GB_BLAME_PEER, "the pattern %s %s",
                   quote_str(parser->text, quoted), why);
}

static void emit(struct parser *parser, enum pattern_op op, uint32_t arg)
{
    if (parser->out->n == PATTERN_NODES_MAX)
        parser->is_too_long = true;
    else
        parser->out->nodes[parser->out->n++] = (struct pattern_node){ op, arg };
}

/* An atom follows: the two that wait become one. */
static void begin_atom(struct parser *parser)
{
    struct level *level = &parser->levels[parser->depth];

    if (level->n_atoms == 2) {
        emit(parser, OP_CAT, 0);
        level->n_atoms = 1;
    }
    parser->last = parser->out->n;
}

static void end_atom(struct parser *parser, bool can_repeat)
{
    parser->levels[parser->depth].n_atoms++;
    parser->can_repeat = can_repeat;
}

/* What stands between two bars or parentheses becomes one atom. */
static void close_branch(struct parser *parser)
{
    struct level *level = &parser->levels[parser->depth];

    if (level->n_atoms == 0)
        emit(parser, OP_EMPTY, 0);
    else if (level->n_atoms == 2)
        emit(parser, OP_CAT, 0);
    level->n_atoms = 0;
}

static void close_level(struct parser *parser)
{
    close_branch(parser);
    for (size_t i = 0; i < parser->levels[parser->depth].n_or; i++)
        emit(parser, OP_OR, 0);
}

static void emit_set(struct parser *parser, const struct pattern_set *set)
{
    struct pattern *pattern = parser->pattern;

    if (pattern->n_sets == PATTERN_SETS_MAX) {
        parser->is_too_long = true;
        return;
    }
    pattern->sets[pattern->n_sets] = *set;
    emit(parser, OP_SET, (uint32_t)pattern->n_sets++);
}

static void add_set(struct parser *parser, struct pattern_set set)
{
    struct pattern_set rest = { 0 }; /* the bytes behind the first of a long character */
    bool has_long = pattern_set_has(&set, 0xff);

    for (unsigned c = 0x80; c < 0xc0 && has_long; c++) {
        set_add(&rest, (unsigned char)c);
        set.bits[c >> 3] &= (uint8_t) ~(1U << (c & 7));
    }
    begin_atom(parser);
    emit_set(parser, &set);
    if (has_long) {
        emit_set(parser, &rest);
        emit(parser, OP_STAR, 0);
        emit(parser, OP_CAT, 0);
    }
    end_atom(parser, true);
}

static void add_escape_set(struct parser *parser, char letter)
{
    struct pattern_set set = { 0 };

    (void)set_add_escape(&set, letter);
    add_set(parser, set);
}

static void add_assertion(struct parser *parser, enum pattern_op op)
{
    begin_atom(parser);
    emit(parser, op, 0);
    end_atom(parser, false);
}

/* A character with all its bytes. */
static void add_literal(struct parser *parser)
{
    uint32_t point;
    size_t len = utf8_decode((const uint8_t *)parser->at, strlen(parser->at), &point);

    begin_atom(parser);
    emit(parser, OP_BYTE, (unsigned char)*parser->at++);
    for (size_t i = 1; i < len; i++) {
        emit(parser, OP_BYTE, (unsigned char)*parser->at++);
        emit(parser, OP_CAT, 0);
    }
    end_atom(parser, true);
}

static void add_byte(struct parser *parser, char c)
{
    begin_atom(parser);
    emit(parser, OP_BYTE, (unsigned char)c);
    end_atom(parser, true);
}

/* The byte that \n, \t … mean; 0: none. */
static char escaped_byte(char letter)
{
    static const char letters[] = "ntrfv";
    static const char bytes[] = "\n\t\r\f\v";
    const char *at = strchr(letters, letter);

    if (at && letter)
        return bytes[at - letters];
    return isalnum((unsigned char)letter) || (unsigned char)letter >= 0x80 ? '\0' : letter;
}

static int parse_escape(struct parser *parser, struct gb_err *err)
{
    char letter = parser->at[1];
    struct pattern_set set = { 0 };

    if (!letter)
        return wrong(parser, "ends with a backslash", err);
    if (isdigit((unsigned char)letter))
        return wrong(parser, "refers back to a group, which is not supported", err);
    if (letter == 'b')
        add_assertion(parser, OP_WORD);
    else if (letter == 'A')
        add_assertion(parser, OP_BEGIN);
    else if (letter == 'Z' || letter == 'z')
        add_assertion(parser, OP_END);
    else if (set_add_escape(&set, letter))
        add_escape_set(parser, letter);
    else if (escaped_byte(letter))
        add_byte(parser, escaped_byte(letter));
    else
        return wrong(parser, "has an escape that is not known", err);
    parser->at += 2;
    return 0;
}

/* [:digit:] inside of brackets: its length, and its bytes into the set; 0 when it is none. */
static size_t parse_named_class(const char *at, struct pattern_set *set)
{
    static const struct {
        const char *name;
        int (*has)(int);
    } classes[] = {
        { "[:digit:]", isdigit }, { "[:alpha:]", isalpha }, { "[:alnum:]", isalnum },
        { "[:space:]", isspace }, { "[:upper:]", isupper }, { "[:lower:]", islower },
        { "[:punct:]", ispunct }, { "[:blank:]", isblank }, { "[:xdigit:]", isxdigit },
        { "[:cntrl:]", iscntrl }, { "[:print:]", isprint }, { "[:graph:]", isgraph },
    };

    for (size_t i = 0; i < N_ELEMENTS(classes); i++) {
        size_t len = strlen(classes[i].name);

        if (strncmp(at, classes[i].name, len) == 0) {
            set_add_class(set, classes[i].has, false);
            return len;
        }
    }
    return 0;
}

/* One end of a range; 0 when there is no such byte. */
static unsigned char range_end(struct parser *parser)
{
    char c = *parser->at++;

    if (c == '\\' && *parser->at)
        c = escaped_byte(*parser->at++);
    return (unsigned char)c < 0x80 ? (unsigned char)c : 0;
}

static int parse_range(struct parser *parser, struct pattern_set *set, struct gb_err *err)
{
    unsigned first = range_end(parser);
    unsigned last = first;

    if (parser->at[0] == '-' && parser->at[1] && parser->at[1] != ']') {
        parser->at++;
        last = range_end(parser);
    }
    if (first == 0 || last < first)
        return wrong(parser, "has something in brackets that is no range of ASCII", err);
    for (unsigned c = first; c <= last; c++)
        set_add(set, (unsigned char)c);
    return 0;
}

static int parse_brackets(struct parser *parser, struct gb_err *err)
{
    bool is_inverted = parser->at[1] == '^';
    struct pattern_set set = { 0 };
    const char *begin;

    parser->at += is_inverted ? 2 : 1;
    begin = parser->at;
    while (*parser->at && (*parser->at != ']' || parser->at == begin)) {
        size_t len = parse_named_class(parser->at, &set);
        int r = 0;

        if (len == 0 && parser->at[0] == '\\' && set_add_escape(&set, parser->at[1]))
            len = 2;
        parser->at += len;
        if (len == 0)
            r = parse_range(parser, &set, err);
        if (r < 0)
            return r;
    }
    if (!*parser->at)
        return wrong(parser, "has a bracket that is not closed", err);
    parser->at++;
    if (is_inverted)
        set_invert(&set);
    add_set(parser, set);
    return 0;
}

static int open_group(struct parser *parser, struct gb_err *err)
{
    parser->at++;
    if (parser->at[0] == '?' && parser->at[1] != ':')
        return wrong(parser, "looks ahead or sets a flag, which is not supported", err);
    if (parser->at[0] == '?')
        parser->at += 2;
    if (parser->depth + 1 == GROUPS_MAX)
        return wrong(parser, "is nested too deeply", err);
    begin_atom(parser);
    parser->levels[++parser->depth] = (struct level){ .begin = parser->out->n };
    parser->can_repeat = false;
    return 0;
}

static int close_group(struct parser *parser, struct gb_err *err)
{
    if (parser->depth == 0)
        return wrong(parser, "has a parenthesis too many", err);
    parser->at++;
    close_level(parser);
    parser->last = parser->levels[parser->depth--].begin;
    end_atom(parser, true);
    return 0;
}

/* ---- repetitions ---------------------------------------------------------------------------- */

static bool parse_number(const char **at, uint32_t *ret)
{
    size_t n = strspn(*at, "0123456789");

    if (n == 0 || n > 4)
        return false;
    *ret = (uint32_t)strtoul(*at, NULL, 10);
    *at += n;
    return true;
}

/* {2}, {2,}, {2,5}, {,5}; its length, 0 when it is none. */
static size_t parse_braces(const char *text, uint32_t *ret_min, uint32_t *ret_max)
{
    const char *at = text + 1;
    bool has_min = parse_number(&at, ret_min);

    if (!has_min)
        *ret_min = 0;
    *ret_max = *ret_min;
    if (*at == ',') {
        at++;
        if (!parse_number(&at, ret_max)) {
            *ret_max = NO_LIMIT;
            if (!has_min)
                return 0;
        }
    } else if (!has_min) {
        return 0;
    }
    return *at == '}' ? (size_t)(at + 1 - text) : 0;
}

/* The last atom once more, behind itself. */
static void emit_copy(struct parser *parser, size_t len, enum pattern_op op)
{
    for (size_t i = 0; i < len; i++)
        emit(parser, parser->out->nodes[parser->last + i].op,
             parser->out->nodes[parser->last + i].arg);
    if (op != OP_EMPTY)
        emit(parser, op, 0);
    emit(parser, OP_CAT, 0);
}

/* x{2,4} is x x x? x?, and x{2,} is x x x*. */
static void write_out(struct parser *parser, uint32_t min, uint32_t max)
{
    size_t len = parser->out->n - parser->last;
    uint32_t limit = max == NO_LIMIT ? min + (min > 0) : max;

    if (max == 0) {
        parser->out->n = parser->last;
        emit(parser, OP_EMPTY, 0);
        return;
    }
    if (min == 0)
        emit(parser, max == NO_LIMIT ? OP_STAR : OP_OPTION, 0);
    for (uint32_t i = 1; i < limit && !parser->is_too_long; i++)
        emit_copy(parser, len, i < min ? OP_EMPTY : max == NO_LIMIT ? OP_STAR : OP_OPTION);
}

static int parse_repeat(struct parser *parser, size_t len, struct gb_err *err)
{
    uint32_t min = 0;
    uint32_t max = NO_LIMIT;

    if (!parser->can_repeat)
        return wrong(parser, "repeats what cannot be repeated", err);
    if (*parser->at == '{') {
        (void)parse_braces(parser->at, &min, &max);
        if (min > max || min > REPEAT_MAX || (max != NO_LIMIT && max > REPEAT_MAX))
            return wrong(parser, "repeats something too often", err);
        write_out(parser, min, max);
    } else {
        emit(parser, *parser->at == '*' ? OP_STAR : *parser->at == '+' ? OP_PLUS : OP_OPTION, 0);
    }
    parser->at += len;
    if (*parser->at == '?')
        parser->at++;
    parser->can_repeat = false;
    return 0;
}

/* How long the repetition is that begins here; 0: none does. */
static size_t repeat_len(const char *at)
{
    uint32_t min;
    uint32_t max;

    if (*at == '{')
        return parse_braces(at, &min, &max);
    return *at == '*' || *at == '+' || *at == '?';
}

static void add_dot(struct parser *parser)
{
    struct pattern_set newline = { 0 };

    set_add(&newline, '\n');
    set_invert(&newline);
    add_set(parser, newline);
}

static int parse_one(struct parser *parser, struct gb_err *err)
{
    size_t repeat = repeat_len(parser->at);

    if (repeat > 0)
        return parse_repeat(parser, repeat, err);
    switch (*parser->at) {
    case '(':
        return open_group(parser, err);
    case ')':
        return close_group(parser, err);
    case '[':
        return parse_brackets(parser, err);
    case '\\':
        return parse_escape(parser, err);
    case '|':
        close_branch(parser);
        parser->levels[parser->depth].n_or++;
        parser->can_repeat = false;
        break;
    case '.':
        add_dot(parser);
        break;
    case '^':
        add_assertion(parser, OP_BEGIN);
        break;
    case '$':
        add_assertion(parser, OP_END);
        break;
    default:
        add_literal(parser);
        return 0;
    }
    parser->at++;
    return 0;
}

int pattern_parse(const char *text, struct pattern *pattern, struct pattern_postfix *ret,
                  struct gb_err *err)
{
    struct parser all = { .text = text, .at = text, .pattern = pattern, .out = ret };
    struct parser *parser = &all;

    if (strlen(text) > PATTERN_MAX || !utf8_is_valid(text, strlen(text)))
        return wrong(parser, "is longer than 1 KiB or no UTF-8", err);
    while (*parser->at && !parser->is_too_long) {
        int r = parse_one(parser, err);

        if (r < 0)
            return r;
    }
    if (!parser->is_too_long && parser->depth > 0)
        return wrong(parser, "has a parenthesis that is not closed", err);
    close_level(parser);
    return parser->is_too_long ? wrong(parser, "is too large", err) : 0;
}
