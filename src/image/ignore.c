/* SPDX-License-Identifier: Apache-2.0 */
/* image/ignore.c - the patterns of a .dockerignore.
 *
 * A pattern becomes a row of steps.  A comparison keeps the set of steps that could come next (one
 * byte each) and moves it over the path; where the set reaches the end at a '/', a directory above
 * the path matches, at the path's end the path itself does.  So one pass answers both.
 */
#include "image/ignore.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "json/utf8.h"

enum step_kind {
    STEP_CHAR,  /* this one */
    STEP_ONE,   /* any but '/' */
    STEP_NAME,  /* any number of those */
    STEP_ALL,   /* any number of any */
    STEP_ENTER, /* the next step, or the one behind it: "**" may be nothing at all */
    STEP_DEEP,  /* any number of any, the last of which is '/' */
    STEP_SET,
};

struct step {
    enum step_kind kind;
    uint32_t point; /* STEP_CHAR */
    size_t set;     /* STEP_SET: where its text begins, behind '[' */
};

struct pattern {
    bool takes_back;
    char *text; /* clean */
    struct step *steps;
    size_t n_steps;
};

struct ignore {
    struct pattern *patterns;
    size_t n;
    bool takes_back; /* some pattern does */
    uint64_t work;
    uint8_t now[2 * IGNORE_PATTERN_MAX + 2];
    uint8_t next[2 * IGNORE_PATTERN_MAX + 2];
};

void ignore_free(struct ignore *ignore)
{
    if (!ignore)
        return;
    for (size_t i = 0; i < ignore->n; i++) {
        free(ignore->patterns[i].text);
        free(ignore->patterns[i].steps);
    }
    free(ignore->patterns);
    free(ignore);
}

/* A byte that is part of no character stands for itself, outside of Unicode. */
static size_t next_point(const char *text, size_t len, uint32_t *ret)
{
    size_t n = utf8_decode((const uint8_t *)text, len, ret);

    if (n > 0)
        return n;
    *ret = 0x110000u + (uint8_t)*text;
    return 1;
}

/* ---- sets ----------------------------------------------------------------------------------- */

/* One bound of a set; how many bytes it took, 0 when none stands there. */
static size_t set_point(const char *text, size_t len, uint32_t *ret)
{
    if (len > 1 && text[0] == '\\')
        return 1 + next_point(text + 1, len - 1, ret);
    if (len == 0 || text[0] == '-' || text[0] == ']' || text[0] == '\\')
        return 0;
    return next_point(text, len, ret);
}

/* Reads the set behind '[' and tells whether it holds the point.  The bytes up to behind ']', or 0
 * when it is not well-formed: then docker refuses the whole file. */
static size_t set_read(const char *text, size_t len, uint32_t point, bool *ret_holds)
{
    bool is_negated = len > 0 && text[0] == '^';
    size_t at = is_negated;
    bool holds = false;

    for (unsigned n = 0;; n++) {
        uint32_t low = 0;
        uint32_t high;
        size_t taken;

        if (at < len && text[at] == ']' && n > 0)
            break;
        taken = set_point(text + at, len - at, &low);
        if (taken == 0)
            return 0;
        at += taken;
        high = low;
        if (at < len && text[at] == '-') {
            taken = set_point(text + at + 1, len - at - 1, &high);
            if (taken == 0)
                return 0;
            at += 1 + taken;
        }
        holds |= point >= low && point <= high;
    }
    *ret_holds = holds != is_negated;
    return at + 1;
}

/* ---- compiling ------------------------------------------------------------------------------ */

/* The path without empty, "." and (where a name stands before it) ".." parts, in place. */
static void clean_path(char *path)
{
    bool is_absolute = path[0] == '/';
    char *out = path + is_absolute;
    char *floor = out; /* ".." does not go below it */
    const char *in = path;

    while (*in) {
        size_t len = strcspn(in, "/");

        if (len == 2 && in[0] == '.' && in[1] == '.' && out > floor) {
            while (out > floor && *--out != '/')
                ;
        } else if (len == 2 && in[0] == '.' && in[1] == '.' && is_absolute) {
            /* above the root is the root */
        } else if (len > 0 && !(len == 1 && in[0] == '.')) {
            bool goes_up = len == 2 && in[0] == '.' && in[1] == '.';

            if (out > path + is_absolute)
                *out++ = '/';
            memmove(out, in, len);
            out += len;
            floor = goes_up ? out : floor;
        }
        in += len + (in[len] == '/');
    }
    *out = '\0';
}

static void add_step(struct pattern *pattern, enum step_kind kind, uint32_t point, size_t set)
{
    pattern->steps[pattern->n_steps++] = (struct step){ .kind = kind, .point = point, .set = set };
}

/* Two stars and what belongs to them; the bytes taken.  In front of plain text they mean any
 * beginning at all, also within a name. */
static size_t add_stars(struct pattern *pattern, const char *at)
{
    size_t taken = 2 + (at[2] == '/');

    if (at[taken] == '\0' || (at == pattern->text && taken == 2 && !strpbrk(at + 2, "*?[]\\"))) {
        add_step(pattern, STEP_ALL, 0, 0);
    } else {
        add_step(pattern, STEP_ENTER, 0, 0);
        add_step(pattern, STEP_DEEP, 0, 0);
    }
    return taken;
}

/* One more part of the pattern; the bytes taken, 0 when docker would refuse it. */
static size_t add_part(struct pattern *pattern, const char *at, size_t left)
{
    uint32_t point = 0;
    bool holds;
    size_t taken;

    switch (*at) {
    case '*':
        if (at[1] == '*')
            return add_stars(pattern, at);
        add_step(pattern, STEP_NAME, 0, 0);
        return 1;
    case '?':
        add_step(pattern, STEP_ONE, 0, 0);
        return 1;
    case '[':
        taken = set_read(at + 1, left - 1, 0, &holds);
        if (taken > 0)
            add_step(pattern, STEP_SET, 0, (size_t)(at + 1 - pattern->text));
        return taken > 0 ? taken + 1 : 0;
    case '\\':
        if (left == 1)
            return 0;
        taken = next_point(at + 1, left - 1, &point);
        add_step(pattern, STEP_CHAR, point, 0);
        return taken + 1;
    default:
        taken = next_point(at, left, &point);
        add_step(pattern, STEP_CHAR, point, 0);
        return taken;
    }
}

static int compile(struct pattern *pattern)
{
    size_t len = strlen(pattern->text);

    pattern->steps = calloc(2 * len + 1, sizeof(*pattern->steps));
    if (!pattern->steps)
        return -ENOMEM;
    for (size_t at = 0; at < len;) {
        size_t taken = add_part(pattern, pattern->text + at, len - at);

        if (taken == 0)
            return -EINVAL;
        at += taken;
    }
    return 0;
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static void trim(const char **text, size_t *len)
{
    while (*len > 0 && is_blank((*text)[*len - 1]))
        (*len)--;
    while (*len > 0 && is_blank(**text)) {
        (*text)++;
        (*len)--;
    }
}

/* What a slash kept apart from the ends; docker trims and cleans twice, the second time with the
 * '!' in front. */
static void trim_again(struct pattern *pattern)
{
    const char *text = pattern->text;
    size_t len = strlen(text);

    if (pattern->takes_back)
        while (len > 0 && is_blank(text[len - 1]))
            len--;
    else
        trim(&text, &len);
    memmove(pattern->text, text, len);
    pattern->text[len] = '\0';
    clean_path(pattern->text);
}

static int add_pattern(struct ignore *ignore, const char *line, size_t len)
{
    struct pattern *pattern = &ignore->patterns[ignore->n];

    pattern->takes_back = line[0] == '!';
    line += pattern->takes_back;
    len -= pattern->takes_back;
    trim(&line, &len);
    if (len == 0 || len > IGNORE_PATTERN_MAX || memchr(line, '\0', len))
        return -EINVAL;
    pattern->text = text_copy(line, len);
    if (!pattern->text)
        return -ENOMEM;
    ignore->n++;
    clean_path(pattern->text);
    if (pattern->takes_back && strcmp(pattern->text, "/") == 0)
        return -EINVAL;
    if (pattern->text[0] == '/')
        memmove(pattern->text, pattern->text + 1, strlen(pattern->text));
    trim_again(pattern);
    ignore->takes_back |= pattern->takes_back;
    return compile(pattern);
}

static int read_lines(struct ignore *ignore, const char *text, size_t len, struct gb_err *err)
{
    static const char bom[] = "\xef\xbb\xbf";
    unsigned number = 0;

    if (len >= 3 && memcmp(text, bom, 3) == 0) {
        text += 3;
        len -= 3;
    }
    while (len > 0) {
        const char *end = memchr(text, '\n', len);
        size_t whole = end ? (size_t)(end - text) : len;
        const char *line = text;
        size_t n = whole;
        int r = 0;

        number++;
        trim(&line, &n);
        if (text[0] != '#' && n > 0)
            r = add_pattern(ignore, line, n);
        if (r == -ENOMEM)
            return gb_fail(err, r, GB_BLAME_HOST, "no memory for the patterns of .dockerignore");
        if (r < 0)
            return gb_fail(err, r, GB_BLAME_CALLER, "line %u of .dockerignore is no pattern",
                           number);
        text += whole + (end != NULL);
        len -= whole + (end != NULL);
    }
    return 0;
}

static size_t count_lines(const char *text, size_t len)
{
    size_t n = 1;

    for (size_t i = 0; i < len; i++)
        n += text[i] == '\n';
    return n;
}

int ignore_new(const char *text, size_t len, struct ignore **ret, struct gb_err *err)
{
    cleanup_ignore struct ignore *ignore = NULL;
    int r;

    if (len > IGNORE_TEXT_MAX)
        return gb_fail(err, -EFBIG, GB_BLAME_CALLER, ".dockerignore has more than %d bytes",
                       IGNORE_TEXT_MAX);
    ignore = calloc(1, sizeof(*ignore));
    if (ignore)
        ignore->patterns = calloc(count_lines(text, len), sizeof(*ignore->patterns));
    if (!ignore || !ignore->patterns)
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for the patterns of .dockerignore");
    r = read_lines(ignore, text, len, err);
    if (r < 0)
        return r;
    *ret = take_ptr(ignore);
    return 0;
}

/* ---- comparing ------------------------------------------------------------------------------ */

/* Adds the steps that are reached without a character; they lie behind, so one pass is enough. */
static void reach(const struct pattern *pattern, uint8_t *set)
{
    for (size_t i = 0; i < pattern->n_steps; i++) {
        if (!set[i])
            continue;
        if (pattern->steps[i].kind == STEP_NAME || pattern->steps[i].kind == STEP_ALL)
            set[i + 1] = 1;
        if (pattern->steps[i].kind == STEP_ENTER)
            set[i + 1] = set[i + 2] = 1;
    }
}

static void move_step(const struct pattern *pattern, size_t i, uint32_t point, uint8_t *next)
{
    const struct step *step = &pattern->steps[i];
    bool holds = false;

    switch (step->kind) {
    case STEP_CHAR:
        next[i + 1] |= point == step->point;
        break;
    case STEP_ONE:
        next[i + 1] |= point != '/';
        break;
    case STEP_NAME:
        next[i] |= point != '/';
        break;
    case STEP_ALL:
        next[i] = 1;
        break;
    case STEP_DEEP:
        next[i] = 1;
        next[i + 1] |= point == '/';
        break;
    case STEP_SET:
        (void)set_read(pattern->text + step->set, strlen(pattern->text + step->set), point, &holds);
        next[i + 1] |= holds;
        break;
    case STEP_ENTER: /* takes nothing */
        break;
    }
}

static void start(struct ignore *ignore, const struct pattern *pattern)
{
    memset(ignore->now, 0, pattern->n_steps + 1);
    ignore->now[0] = 1;
    reach(pattern, ignore->now);
}

static void move(struct ignore *ignore, const struct pattern *pattern, uint32_t point)
{
    memset(ignore->next, 0, pattern->n_steps + 1);
    for (size_t i = 0; i < pattern->n_steps; i++)
        if (ignore->now[i])
            move_step(pattern, i, point, ignore->next);
    memcpy(ignore->now, ignore->next, pattern->n_steps + 1);
    reach(pattern, ignore->now);
}

/* Does it match the path, or a directory above it? */
static bool pattern_matches(struct ignore *ignore, const struct pattern *pattern, const char *path)
{
    size_t len = strlen(path);
    uint32_t point = 0;

    if (!pattern->text[0])
        return false;
    start(ignore, pattern);
    for (size_t at = 0; at < len;) {
        if (path[at] == '/' && ignore->now[pattern->n_steps])
            return true;
        at += next_point(path + at, len - at, &point);
        ignore->work += pattern->n_steps + 1;
        move(ignore, pattern, point);
    }
    return ignore->now[pattern->n_steps];
}

int ignore_matches(struct ignore *ignore, const char *path, struct gb_err *err)
{
    bool is_out = false;

    for (size_t i = 0; i < ignore->n; i++) {
        const struct pattern *pattern = &ignore->patterns[i];

        /* it could not change anything */
        if (pattern->takes_back != is_out)
            continue;
        if (pattern_matches(ignore, pattern, path))
            is_out = !pattern->takes_back;
        if (ignore->work > IGNORE_WORK_MAX)
            return gb_fail(err, -E2BIG, GB_BLAME_CALLER,
                           "the patterns of .dockerignore take too long to compare");
    }
    return is_out;
}

int ignore_may_return(const struct ignore *ignore)
{
    return ignore->takes_back;
}
