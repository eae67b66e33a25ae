/* SPDX-License-Identifier: Apache-2.0 */
/* agent/cases.c - tests of a program: schema, reading, writing. */
#include "agent/cases.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/fence.h"
#include "agent/pattern.h"
#include "agent/quote.h"
#include "base/buf.h"
#include "base/err.h"
#include "json/bind.h"
#include "json/value.h"
#include "json/writer.h"

#define TOLERANCE_DEFAULT  1e-6
#define TOLERANCE_MIN      1e-9
#define TOLERANCE_DECIMALS 9
#define NONZERO            "nonzero"

const char cases_schema[] =
    "{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"cases\"],"
    "\"properties\":{"
    "\"cases\":{\"type\":\"array\",\"maxItems\":32,"
    "\"items\":{\"type\":\"object\",\"additionalProperties\":false,"
    "\"required\":[\"name\",\"class\",\"expect\"],\"properties\":{"
    "\"name\":{\"type\":\"string\",\"maxLength\":100,\"description\":\"what is tested, in words; unique\"},"
    "\"class\":{\"type\":\"string\",\"enum\":[\"normal\",\"edge\",\"invalid\",\"stress\"]},"
    "\"argv\":{\"type\":\"array\",\"maxItems\":16,"
    "\"items\":{\"type\":\"string\",\"maxLength\":200},"
    "\"description\":\"arguments of the program\"},"
    "\"stdin\":{\"type\":\"string\",\"maxLength\":1000},"
    "\"stdin_repeat\":{\"type\":\"integer\","
    "\"description\":\"so many times that stdin; 1 if left out\"},"
    "\"files\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"},"
    "\"description\":\"relative path and contents of files that the program finds\"},"
    "\"timeout\":{\"type\":\"number\",\"description\":\"seconds\"},"
    "\"expect\":{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{"
    "\"stdout\":{\"type\":\"string\",\"maxLength\":1000},"
    "\"mode\":{\"type\":\"string\","
    "\"enum\":[\"exact\",\"trimmed\",\"json\",\"tolerance\",\"pattern\"]},"
    "\"tolerance\":{\"type\":\"number\"},"
    "\"exit_code\":{\"anyOf\":[{\"type\":\"integer\"},"
    "{\"type\":\"string\",\"enum\":[\"nonzero\"]}]},"
    "\"stderr_contains\":{\"type\":\"string\",\"maxLength\":200}}}}}}}}";

static const char *const mode_names[N_CASE_MODES] = {
    [CASE_TRIMMED] = "trimmed",     [CASE_EXACT] = "exact",     [CASE_JSON] = "json",
    [CASE_TOLERANCE] = "tolerance", [CASE_PATTERN] = "pattern",
};

/* As it comes: words and what is nested are still text. */
struct said {
    char *class;
    char *expect;
    double timeout_s;
    uint64_t times;
    struct program_case item;
};

struct said_expect {
    char *mode;
    char *exit_code;
    struct case_expect expect;
};

struct said_list {
    char **cases;
};

#define AT(field) offsetof(struct said, field)
static const struct bind_field case_fields[] = {
    { "name", BIND_STR, AT(item.name), BIND_REQUIRED, 0, 0 },
    { "class", BIND_STR, AT(class), BIND_REQUIRED, 0, 0 },
    { "argv", BIND_STRS, AT(item.argv), 0, 0, 0 },
    { "stdin", BIND_STR, AT(item.input), 0, 0, 0 },
    { "stdin_repeat", BIND_U64, AT(times), 0, 1, CASE_TIMES_MAX },
    { "files", BIND_PAIRS, AT(item.files), 0, 0, 0 },
    { "timeout", BIND_DOUBLE, AT(timeout_s), 0, 0, 3600 },
    { "expect", BIND_JSON, AT(expect), BIND_REQUIRED, 0, 0 },
    { 0 },
};
static const struct bind case_binding = { .fields = case_fields, .text_max = CASES_TEXT_MAX };

#undef AT
#define AT(field) offsetof(struct said_expect, field)
static const struct bind_field expect_fields[] = {
    { "stdout", BIND_STR, AT(expect.out), 0, 0, 0 },
    { "mode", BIND_STR, AT(mode), 0, 0, 0 },
    { "tolerance", BIND_DOUBLE, AT(expect.tolerance), 0, 0, 1000000 },
    { "exit_code", BIND_JSON, AT(exit_code), 0, 0, 0 },
    { "stderr_contains", BIND_STR, AT(expect.err_part), 0, 0, 0 },
    { 0 },
};
static const struct bind expect_binding = { .fields = expect_fields, .text_max = CASES_TEXT_MAX };

static const struct bind_field list_fields[] = {
    { "cases", BIND_JSONS, offsetof(struct said_list, cases), BIND_REQUIRED, 0, 0 },
    { 0 },
};
static const struct bind list_binding = { .fields = list_fields, .text_max = CASES_TEXT_MAX };

static int wrong(struct gb_err *err, const char *what)
{
    return gb_fail(err, -EINVAL, GB_BLAME_PEER, "%s", what);
}

/* Both: -1 when there is none of that name. */
static int find_mode(const char *name)
{
    for (int i = 0; i < N_CASE_MODES; i++)
        if (strcmp(mode_names[i], name) == 0)
            return i;
    return -1;
}

static int find_class(const char *name)
{
    for (int i = 0; i < N_CLASSES; i++)
        if (strcmp(test_class_name((enum test_class)i), name) == 0)
            return i;
    return -1;
}

/* ---- what is expected ----------------------------------------------------------------------- */

/* A pattern that fits nothing and nonsense alike fits everything. */
static int check_pattern(const char *text, struct gb_err *err)
{
    static const char nonsense[] = "\x01 zq!";
    cleanup_pattern struct pattern *pattern = NULL;
    int r = pattern_new(text, &pattern, err);

    if (r < 0)
        return r;
    if (pattern_finds(pattern, "", 0) == 1 &&
        pattern_finds(pattern, nonsense, strlen(nonsense)) == 1)
        return wrong(err, "the pattern matches any output, so the test cannot fail");
    return 0;
}

static int check_json(const char *text, struct gb_err *err)
{
    cleanup_json struct json_value *value = NULL;
    int r = json_value_parse(text, strlen(text), CASE_OUT_MAX, &value, err);

    return r < 0 ? gb_wrap(err, r, "key 'stdout' in mode json") : 0;
}

static int settle_mode(struct said_expect *said, struct gb_err *err)
{
    struct case_expect *expect = &said->expect;
    int mode = said->mode ? find_mode(said->mode) : CASE_TRIMMED;

    if (mode < 0)
        return wrong(err, "key 'mode' must be exact, trimmed, json, tolerance or pattern");
    expect->mode = (enum case_mode)mode;
    if (!expect->out)
        return said->mode ? wrong(err, "key 'mode' needs a key 'stdout'") : 0;
    if (strlen(expect->out) > CASE_OUT_MAX)
        return wrong(err, "key 'stdout' is too long; use mode pattern");
    if (mode == CASE_TOLERANCE && expect->tolerance == 0)
        expect->tolerance = TOLERANCE_DEFAULT;
    if (expect->tolerance > 0 && expect->tolerance < TOLERANCE_MIN)
        expect->tolerance = TOLERANCE_MIN;
    if (mode == CASE_PATTERN)
        return check_pattern(expect->out, err);
    return mode == CASE_JSON ? check_json(expect->out, err) : 0;
}

static int settle_exit_code(struct said_expect *said, struct gb_err *err)
{
    char *end;
    long code;

    if (!said->exit_code)
        return 0;
    if (strcmp(said->exit_code, "\"" NONZERO "\"") == 0) {
        said->expect.is_failure = true;
        return 0;
    }
    code = strtol(said->exit_code, &end, 10);
    if (*end || end == said->exit_code || code < 0 || code > 255)
        return wrong(err, "key 'exit_code' must be from 0 to 255, or \"nonzero\"");
    said->expect.exit_code = (int)code;
    return 0;
}

static void expect_clear(struct case_expect *expect)
{
    free(expect->out);
    free(expect->err_part);
    *expect = (struct case_expect){ 0 };
}

static int read_expect(const char *json, struct case_expect *ret, struct gb_err *err)
{
    struct said_expect said = { 0 };
    int r = bind_text(&expect_binding, json, strlen(json), &said, err);

    if (r == 0)
        r = settle_mode(&said, err);
    if (r == 0)
        r = settle_exit_code(&said, err);
    if (r == 0 && said.expect.err_part &&
        (!*said.expect.err_part || strlen(said.expect.err_part) > CASE_OUT_MAX))
        r = wrong(err, "key 'stderr_contains' is empty or too long");
    if (r == 0 && !said.expect.out && !said.expect.err_part && !said.exit_code)
        r = wrong(err, "key 'expect' expects nothing, so the test cannot fail");
    if (r == 0) {
        *ret = said.expect;
        said.expect = (struct case_expect){ 0 };
    }
    bind_clear(&expect_binding, &said);
    return r < 0 ? gb_wrap(err, r, "key 'expect'") : 0;
}

/* ---- one case ------------------------------------------------------------------------------- */

static int settle_class(const struct said *said, struct program_case *item, struct gb_err *err)
{
    int class = find_class(said->class);
    uint64_t limit;

    if (class < 0)
        return wrong(err, "key 'class' must be normal, edge, invalid or stress");
    item->class = (enum test_class) class;
    limit = class == CLASS_STRESS ? CASE_STRESS_MS : CASE_TIMEOUT_MS;
    item->timeout_ms = (uint64_t)(said->timeout_s * 1000 + 0.999);
    if (item->timeout_ms == 0 || item->timeout_ms > limit)
        item->timeout_ms = limit;
    return 0;
}

static int check_name(const char *name, struct gb_err *err)
{
    if (!*name || strlen(name) > CASE_NAME_MAX)
        return wrong(err, "key 'name' is empty or too long");
    for (const char *c = name; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            return wrong(err, "key 'name' must be one line");
    return 0;
}

static int check_argv(char *const *argv, struct gb_err *err)
{
    size_t n = 0;

    for (; argv[n]; n++)
        if (strlen(argv[n]) > CASE_ARG_MAX)
            return wrong(err, "an item of key 'argv' is too long");
    return n > CASE_ARGS_MAX ? wrong(err, "key 'argv' has too many items") : 0;
}

static int check_input(const struct program_case *item, struct gb_err *err)
{
    size_t len = strlen(item->input);

    if (len > CASE_INPUT_MAX)
        return wrong(err, "key 'stdin' is too long; use stdin_repeat");
    if (len * item->times > CASE_REPEATED_MAX)
        return wrong(err, "stdin_repeat times stdin is longer than 8 MiB");
    return 0;
}

static int check_files(char *const *files, struct gb_err *err)
{
    size_t n = 0;

    for (; files[n]; n += 2) {
        int r = agent_path_check(files[n], err);

        if (r < 0)
            return gb_wrap(err, r, "key 'files'");
        if (strlen(files[n + 1]) > CASE_INPUT_MAX)
            return wrong(err, "a file is too long");
    }
    return n > (size_t)2 * CASE_FILES_MAX ? wrong(err, "key 'files' has too many items") : 0;
}

/* What was left out. */
static int fill_in(struct program_case *item, struct gb_err *err)
{
    if ((!item->input && !(item->input = strdup(""))) ||
        (!item->argv && !(item->argv = calloc(1, sizeof(*item->argv)))) ||
        (!item->files && !(item->files = calloc(1, sizeof(*item->files)))))
        return gb_no_memory(err);
    return 0;
}

static int settle_case(struct said *said, struct gb_err *err)
{
    struct program_case *item = &said->item;
    int r = fill_in(item, err);

    item->times = said->times;
    if (r == 0)
        r = check_name(item->name, err);
    if (r == 0)
        r = settle_class(said, item, err);
    if (r == 0)
        r = check_argv(item->argv, err);
    if (r == 0)
        r = check_input(item, err);
    if (r == 0)
        r = check_files(item->files, err);
    if (r == 0)
        r = read_expect(said->expect, &item->expect, err);
    return r;
}

/* "" of a case that has no name.  A case that cannot be bound may well have one. */
static int wrap_case(const char *json, size_t number, int code, struct gb_err *err)
{
    cleanup_json struct json_value *value = NULL;
    const char *name = NULL;
    char quoted[QUOTE_SIZE];

    if (json_value_parse(json, strlen(json), CASES_TEXT_MAX, &value, NULL) == 0)
        name = json_str(json_get(value, "name"), NULL);
    return gb_wrap(err, code, "case %zu (%s)", number, quote_str(name ? name : "", quoted));
}

static int read_case(const char *json, struct program_cases *cases, struct gb_err *err)
{
    struct said said = { .times = 1 };
    int r = bind_text(&case_binding, json, strlen(json), &said, err);

    if (r == 0)
        r = settle_case(&said, err);
    if (r == 0 && cases_find(cases, said.item.name))
        r = wrong(err, "there is another case of that name");
    if (r < 0)
        r = wrap_case(json, cases->n + 1, r, err);
    if (r == 0) {
        cases->items[cases->n++] = said.item;
        said.item = (struct program_case){ 0 };
    }
    expect_clear(&said.item.expect);
    bind_clear(&case_binding, &said);
    return r;
}

/* ---- all of them ---------------------------------------------------------------------------- */

/* A bare list is as good as the object around it. */
static int bind_list(const char *json, size_t len, struct said_list *ret, struct gb_err *err)
{
    cleanup_buf struct buf object = BUF_INIT(CASES_TEXT_MAX);

    fence_json(json, len, &json, &len);
    if (len == 0 || *json != '[')
        return bind_text(&list_binding, json, len, ret, err);
    (void)buf_puts(&object, "{\"cases\":");
    (void)buf_add(&object, json, len);
    (void)buf_putc(&object, '}');
    if (buf_error(&object) == -EMSGSIZE)
        return gb_fail(err, -EMSGSIZE, GB_BLAME_PEER, "the test cases are too long");
    if (buf_error(&object) < 0)
        return gb_no_memory(err);
    return bind_text(&list_binding, object.data, object.len, ret, err);
}

static int read_cases(char *const *texts, struct program_cases *cases, struct gb_err *err)
{
    size_t n = 0;
    int r = 0;

    while (texts && texts[n])
        n++;
    if (n == 0)
        return wrong(err, "there are no test cases");
    if (n > CASES_MAX)
        return gb_fail(err, -EINVAL, GB_BLAME_PEER, "more than %d test cases", CASES_MAX);
    cases->items = calloc(n, sizeof(*cases->items));
    if (!cases->items)
        return gb_no_memory(err);
    for (size_t i = 0; i < n && r == 0; i++)
        r = read_case(texts[i], cases, err);
    return r;
}

int cases_parse(const char *json, size_t len, struct program_cases *ret, struct gb_err *err)
{
    cleanup_cases struct program_cases cases = { 0 };
    struct said_list said = { 0 };
    int r = bind_list(json, len, &said, err);

    if (r == 0)
        r = read_cases(said.cases, &cases, err);
    bind_clear(&list_binding, &said);
    if (r < 0 && err && err->blame == GB_BLAME_CALLER) /* of bind_text(): here it is a model */
        err->blame = GB_BLAME_PEER;
    if (r < 0)
        return r;
    *ret = cases;
    cases = (struct program_cases){ 0 };
    return 0;
}

void cases_clear(struct program_cases *cases)
{
    for (size_t i = 0; i < cases->n; i++) {
        struct said said = { .item = cases->items[i] };

        expect_clear(&said.item.expect);
        bind_clear(&case_binding, &said);
    }
    free(cases->items);
    *cases = (struct program_cases){ 0 };
}

const struct program_case *cases_find(const struct program_cases *cases, const char *name)
{
    for (size_t i = 0; i < cases->n; i++)
        if (strcmp(cases->items[i].name, name) == 0)
            return &cases->items[i];
    return NULL;
}

int case_input(const struct program_case *item, struct buf *ret)
{
    size_t len = strlen(item->input);

    for (size_t i = 0; i < item->times && len > 0; i++)
        if (buf_add(ret, item->input, len) < 0)
            break;
    return buf_error(ret);
}

/* ---- writing -------------------------------------------------------------------------------- */

static void put_expect(struct json_writer *w, const struct case_expect *expect)
{
    json_object_begin(w, "expect");
    if (expect->out) {
        json_put_str(w, "stdout", expect->out);
        json_put_str(w, "mode", mode_names[expect->mode]);
    }
    if (expect->tolerance > 0)
        json_put_double(w, "tolerance", expect->tolerance, TOLERANCE_DECIMALS);
    if (expect->is_failure)
        json_put_str(w, "exit_code", NONZERO);
    else
        json_put_i64(w, "exit_code", expect->exit_code);
    if (expect->err_part)
        json_put_str(w, "stderr_contains", expect->err_part);
    json_object_end(w);
}

static void put_case(struct json_writer *w, const struct program_case *item)
{
    json_object_begin(w, NULL);
    json_put_str(w, "name", item->name);
    json_put_str(w, "class", test_class_name(item->class));
    if (item->argv[0]) {
        json_array_begin(w, "argv");
        for (char **arg = item->argv; *arg; arg++)
            json_put_str(w, NULL, *arg);
        json_array_end(w);
    }
    if (item->input[0])
        json_put_str(w, "stdin", item->input);
    if (item->times > 1)
        json_put_u64(w, "stdin_repeat", item->times);
    if (item->files[0]) {
        json_object_begin(w, "files");
        for (char **file = item->files; *file; file += 2)
            json_put_str(w, file[0], file[1]);
        json_object_end(w);
    }
    json_put_double(w, "timeout", (double)item->timeout_ms / 1000, 3);
    put_expect(w, &item->expect);
    json_object_end(w);
}

int cases_text(const struct program_cases *cases, struct buf *ret)
{
    struct json_writer w;

    json_writer_init(&w, ret, true);
    json_object_begin(&w, NULL);
    json_array_begin(&w, "cases");
    for (size_t i = 0; i < cases->n; i++)
        put_case(&w, &cases->items[i]);
    json_array_end(&w);
    json_object_end(&w);
    return json_writer_end(&w);
}
