/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_contract.c - what a model may agree to, and what it is told to mend. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "agent/contract.h"
#include "agent/fence.h"
#include "base/buf.h"
#include "base/err.h"
#include "json/value.h"

#include <cmocka.h>

static const char library[] =
    "{\"kind\":\"library\",\"language\":\"py\",\"summary\":\"durations\\nas seconds\","
    "\"files\":[\"pkg/__init__.py\",\"pkg/duration.py\"],\"module\":\"pkg/duration.py\","
    "\"names\":[{\"name\":\"parse\",\"signature\":\"(text: str) -> int\",\"raises\":[\"ValueError\"]},"
    "{\"name\":\"Clock.now\"}],"
    "\"examples\":[{\"input\":\"parse('1h')\",\"output\":\"3600\"}],"
    "\"packages\":[\"@scope/x\",\"numpy>=1.2\"],\"hosts\":[\"api.example.org:443\"],"
    "\"run\":[\"--all\"],"
    "\"assumptions\":[\"no negative durations\"]}";

static int parse(const char *json, struct contract *ret, struct gb_err *err)
{
    return contract_parse(json, strlen(json), ret, err);
}

static void expect_error(const char *json, const char *part)
{
    struct contract contract = { 0 };
    struct gb_err err = { 0 };

    assert_int_equal(parse(json, &contract, &err), -EINVAL);
    assert_int_equal(err.code, -EINVAL);
    assert_int_equal(err.blame, GB_BLAME_PEER);
    if (!strstr(err.msg, part))
        fail_msg("'%s' is not in '%s'", part, err.msg);
    assert_null(contract.language);
    assert_null(contract.files);
}

static void a_library_is_read(void **state)
{
    cleanup_contract struct contract contract = { 0 };

    (void)state;
    assert_int_equal(parse(library, &contract, NULL), 0);
    assert_int_equal(contract.kind, CONTRACT_LIBRARY);
    assert_string_equal(contract.language, "python");
    assert_string_equal(contract.summary, "durations as seconds");
    assert_string_equal(contract.module, "pkg/duration.py");
    assert_string_equal(contract.files[1], "pkg/duration.py");
    assert_null(contract.files[2]);
    assert_int_equal(contract.n_names, 2);
    assert_string_equal(contract.names[0].signature, "(text: str) -> int");
    assert_string_equal(contract.names[0].raises[0], "ValueError");
    assert_string_equal(contract.names[1].signature, "");
    assert_null(contract.names[1].raises[0]);
    assert_string_equal(contract.examples[0].output, "3600");
    assert_string_equal(contract.packages[0], "@scope/x");
    assert_string_equal(contract.hosts[0], "api.example.org:443");
    assert_string_equal(contract.run[0], "--all");
    assert_string_equal(contract.assumptions[0], "no negative durations");
    assert_null(contract.command[0]);
}

static void what_is_left_out_is_what_is_usual(void **state)
{
    cleanup_contract struct contract answer = { 0 };
    cleanup_contract struct contract program = { 0 };
    cleanup_contract struct contract one_file = { 0 };

    (void)state;
    assert_int_equal(parse("{\"kind\":\"answer\"}", &answer, NULL), 0);
    assert_string_equal(answer.language, "python");
    assert_string_equal(answer.files[0], "main.py");
    assert_string_equal(answer.summary, "");
    assert_null(answer.module);
    assert_null(answer.hosts[0]);
    assert_int_equal(
        parse("{\"kind\":\"program\",\"language\":\"Go\",\"module\":\"\"}", &program, NULL), 0);
    assert_string_equal(program.language, "go");
    assert_string_equal(program.files[0], "main.go");
    assert_null(program.command[0]);
    assert_int_equal(parse("{\"kind\":\"library\",\"language\":\"python\",\"module\":\"d.py\","
                           "\"names\":[{\"name\":\"f\"}]}",
                           &one_file, NULL),
                     0);
    assert_string_equal(one_file.files[0], "d.py");
    assert_null(one_file.files[1]);
}

static void it_may_come_in_a_fence(void **state)
{
    cleanup_contract struct contract contract = { 0 };

    (void)state;
    assert_int_equal(parse("Sure!\n```json\n{\"kind\":\"answer\"}\n```\n", &contract, NULL), 0);
    assert_string_equal(contract.language, "python");
}

static void what_is_written_reads_the_same(void **state)
{
    cleanup_contract struct contract contract = { 0 };
    cleanup_contract struct contract again = { 0 };
    cleanup_buf struct buf text = BUF_INIT(CONTRACT_TEXT_MAX);
    cleanup_buf struct buf second = BUF_INIT(CONTRACT_TEXT_MAX);

    (void)state;
    assert_int_equal(parse(library, &contract, NULL), 0);
    assert_int_equal(contract_text(&contract, &text), 0);
    assert_non_null(strstr(text.data, "\"signature\": \"(text: str) -> int\""));
    assert_int_equal(parse(text.data, &again, NULL), 0);
    assert_int_equal(contract_text(&again, &second), 0);
    assert_string_equal(text.data, second.data);
    assert_int_equal(again.n_names, 2);
    assert_string_equal(again.names[0].raises[0], "ValueError");
}

#define PROGRAM(rest) "{\"kind\":\"program\",\"language\":\"python\"" rest "}"
#define LIBRARY(rest) "{\"kind\":\"library\",\"language\":\"python\"" rest "}"
#define NAMES         ",\"names\":[{\"name\":\"f\",\"signature\":\"()\"}]"

static void a_mistake_is_named(void **state)
{
    (void)state;
    expect_error("", "not JSON");
    expect_error("[]", "object");
    expect_error("{\"kind\":\"answer\"", "not JSON");
    expect_error("{}", "key 'kind' is required");
    expect_error("{\"kind\":\"service\"}", "must be answer, program or library");
    expect_error("{\"kind\":\"program\"}", "key 'language' is required");
    expect_error("{\"kind\":\"program\",\"language\":\"cobol\"}", "\"cobol\" is not a language");
    expect_error(PROGRAM(",\"sandbox\":\"off\""), "unknown key 'sandbox'");
    expect_error(PROGRAM(",\"files\":\"a.py\""), "must be an array");
    expect_error(PROGRAM(",\"files\":[\"a.py\",\"a.py\"]"), "\"a.py\" is given twice");
    expect_error(PROGRAM(",\"command\":[\"\"]"), "is no program");
    expect_error(PROGRAM(",\"packages\":[\"--index-url=x\"]"), "name of a package");
    expect_error(PROGRAM(",\"packages\":[\"a b\"]"), "name of a package");
    expect_error(PROGRAM(",\"hosts\":[\"http://x/\"]"), "is no host: say");
    expect_error(PROGRAM(",\"hosts\":[\"*\"]"), "is no host: say");
    expect_error(PROGRAM(",\"hosts\":[\"full\"]"), "is no host: say");
    expect_error(PROGRAM(",\"examples\":[{\"input\":\"x\"}]"), "key 'output' is required");
    expect_error(PROGRAM(",\"examples\":[1]"), "object");
}

static void a_library_has_a_module_and_names_and_is_python(void **state)
{
    (void)state;
    expect_error("{\"kind\":\"library\",\"language\":\"go\"" NAMES "}", "use kind 'program'");
    expect_error(LIBRARY(NAMES), "key 'module' is required");
    expect_error(LIBRARY(NAMES ",\"module\":\"a.py\",\"files\":[\"b.py\"]"), "not among the files");
    expect_error(LIBRARY(NAMES ",\"module\":\"my-lib.py\""), "cannot be imported");
    expect_error(LIBRARY(NAMES ",\"module\":\"a.b/c.py\""), "cannot be imported");
    expect_error(LIBRARY(NAMES ",\"module\":\"../c.py\""), "cannot be imported");
    expect_error(LIBRARY(NAMES ",\"module\":\"1.py\""), "cannot be imported");
    expect_error(LIBRARY(NAMES ",\"module\":\".py\""), "cannot be imported");
    expect_error(LIBRARY(",\"module\":\"a.py\""), "key 'names' is required");
    expect_error(LIBRARY(",\"module\":\"a.py\",\"names\":[{\"name\":\"f()\"}]"), "is not a name");
    expect_error(LIBRARY(",\"module\":\"a.py\",\"names\":[{\"name\":\"a..b\"}]"), "is not a name");
    expect_error(LIBRARY(",\"module\":\"a.py\",\"names\":[{\"name\":\"f\"},{\"name\":\"f\"}]"),
                 "\"f\" is given twice");
    expect_error(LIBRARY(",\"module\":\"a.py\",\"names\":[{\"name\":\"f\",\"raises\":[\"a b\"]}]"),
                 "name of an exception");
}

static void paths_stay_inside(void **state)
{
    static const char *const paths[] = {
        "/etc/passwd", "../a.py", "a/../b", "",       "a//b",
        "a\\\\b.py",   "-x.py",   "a b.py", "~/x.py", "a\\u001bb"
    };
    char json[200];

    (void)state;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        snprintf(json, sizeof(json), PROGRAM(",\"files\":[\"%s\"]"), paths[i]);
        expect_error(json, "key 'files': the path ");
    }
}

/* A list of n items that is one too long, or an item of so many bytes. */
static void expect_list_error(const char *key, const char *item, size_t n, const char *part)
{
    cleanup_buf struct buf json = BUF_INIT(1 << 20);

    buf_printf(&json, "{\"kind\":\"program\",\"language\":\"python\",\"%s\":[", key);
    for (size_t i = 0; i < n; i++) {
        buf_puts(&json, i ? "," : "");
        buf_puts(&json, item);
    }
    buf_puts(&json, "]}");
    expect_error(json.data, part);
}

static void everything_is_bounded(void **state)
{
    cleanup_buf struct buf json = BUF_INIT(1 << 20);
    struct contract contract = { 0 };
    char item[CONTRACT_STRING_MAX + 4];

    (void)state;
    expect_list_error("files", "\"a\"", CONTRACT_FILES_MAX + 1, "'files' has more than 32");
    expect_list_error("command", "\"a\"", CONTRACT_LIST_MAX + 1, "'command' has more than 32");
    expect_list_error("hosts", "\"a\"", CONTRACT_LIST_MAX + 1, "'hosts' has more than 32");
    expect_list_error("names", "{\"name\":\"f\"}", CONTRACT_NAMES_MAX + 1,
                      "'names' has more than 64");
    expect_list_error("examples", "{\"input\":\"\",\"output\":\"\"}", CONTRACT_EXAMPLES_MAX + 1,
                      "'examples' has more than 64");
    memset(item, 'x', sizeof(item));
    item[0] = item[sizeof(item) - 2] = '"';
    item[sizeof(item) - 1] = '\0';
    expect_list_error("assumptions", item, 1, "is too long");
    expect_list_error("packages", item, 1, "name of a package");
    buf_printf(&json, PROGRAM(",\"summary\":%s"), item);
    expect_error(json.data, "is too long");
    buf_reset(&json);
    buf_printf(&json, PROGRAM(",\"names\":[{\"name\":\"f\",\"signature\":%s}]"), item);
    expect_error(json.data, "signature that is too long");
    buf_reset(&json);
    buf_printf(&json, PROGRAM(",\"examples\":[{\"input\":\"\",\"output\":%s}]"), item);
    expect_error(json.data, "is too long");
    buf_reset(&json);
    buf_printf(&json, "{\"kind\":\"%*s\"}", CONTRACT_TEXT_MAX, "x");
    assert_int_equal(parse(json.data, &contract, NULL), -EMSGSIZE);
}

static void the_schema_is_json_and_names_what_is_read(void **state)
{
    cleanup_json struct json_value *schema = NULL;
    cleanup_json struct json_value *example = NULL;
    const struct json_value *properties;
    const char *key;

    (void)state;
    assert_int_equal(
        json_value_parse(contract_schema, strlen(contract_schema), 1 << 16, &schema, NULL), 0);
    assert_int_equal(json_value_parse(library, strlen(library), 1 << 16, &example, NULL), 0);
    properties = json_get(schema, "properties");
    for (size_t i = 0; i < json_count(example); i++) {
        (void)json_member(example, i, &key);
        if (!json_get(properties, key))
            fail_msg("'%s' is not in the schema", key);
    }
    for (size_t i = 0; i < json_count(properties); i++) {
        (void)json_member(properties, i, &key);
        if (!json_get(example, key) && strcmp(key, "command") != 0)
            fail_msg("nothing reads '%s'", key);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_library_is_read),
        cmocka_unit_test(what_is_left_out_is_what_is_usual),
        cmocka_unit_test(it_may_come_in_a_fence),
        cmocka_unit_test(what_is_written_reads_the_same),
        cmocka_unit_test(a_mistake_is_named),
        cmocka_unit_test(a_library_has_a_module_and_names_and_is_python),
        cmocka_unit_test(paths_stay_inside),
        cmocka_unit_test(everything_is_bounded),
        cmocka_unit_test(the_schema_is_json_and_names_what_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
