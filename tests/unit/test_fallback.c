/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_fallback.c - what the words of a task and code say by themselves. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/ask.h"
#include "agent/cases.h"
#include "agent/decision.h"
#include "agent/fallback.h"
#include "agent/fence.h"
#include "agent/prompt.h"
#include "agent/pycall.h"
#include "base/buf.h"
#include "base/err.h"
#include "json/value.h"

#include <cmocka.h>

static const char code[] =
    "import sys\n\n\nclass Stack:\n    def push(self, x):\n        pass\n\n\n"
    "def _own(x):\n    return x\n\n\ndef add(a: int, b: int = 2) -> int:\n"
    "    return a + b\n\n\ndef main():\n    pass\n";

static void make(const char *task, const char *path, const char *text, struct contract *ret)
{
    cleanup_files struct agent_files files = { 0 };

    assert_int_equal(agent_files_put(&files, path, text, strlen(text)), 0);
    assert_int_equal(fallback_contract(task, NULL, &files, ret, NULL), 0);
}

static void the_kind_is_the_first_word_that_tells_it(void **state)
{
    (void)state;
    assert_int_equal(fallback_kind("Write a Python library with f(x)", NULL), CONTRACT_LIBRARY);
    assert_int_equal(fallback_kind("a script that has a function", NULL), CONTRACT_PROGRAM);
    assert_int_equal(fallback_kind("a function for a script", NULL), CONTRACT_LIBRARY);
    assert_int_equal(fallback_kind("is_prime(n): is n prime?", NULL), CONTRACT_LIBRARY);
    assert_int_equal(fallback_kind("What is 6 times 7?", NULL), CONTRACT_ANSWER);
    assert_int_equal(fallback_kind("count the file(s) with len(x)", NULL), CONTRACT_ANSWER);
    assert_int_equal(fallback_kind("a function f(x)", "c"), CONTRACT_PROGRAM);
    assert_int_equal(fallback_kind("", NULL), CONTRACT_ANSWER);
}

static void a_language_counts_where_one_stands(void **state)
{
    (void)state;
    assert_string_equal(fallback_language("sort lines in Perl", NULL), "perl");
    assert_string_equal(fallback_language("a Bash script that sorts", NULL), "bash");
    assert_string_equal(fallback_language("go to the next node and c", NULL), "python");
    assert_string_equal(fallback_language("sort lines in Perl", "py"), "python");
    assert_string_equal(fallback_path("a Bash script", NULL), "main.bash");
    assert_string_equal(fallback_path("a function", NULL), FALLBACK_FILE);
}

static void names_are_those_of_the_task(void **state)
{
    cleanup_contract struct contract contract = { 0 };

    (void)state;
    make("A library with add(x, y), like os.add2(x).", FALLBACK_FILE, code, &contract);
    assert_int_equal(contract.kind, CONTRACT_LIBRARY);
    assert_string_equal(contract.module, FALLBACK_FILE);
    assert_int_equal(contract.n_names, 1);
    assert_string_equal(contract.names[0].name, "add");
    assert_string_equal(contract.names[0].signature, "(x, y)");
    assert_non_null(strstr(contract.assumptions[0], "no plan could be had from the model"));
}

static void else_those_of_the_code(void **state)
{
    cleanup_contract struct contract contract = { 0 };

    (void)state;
    make("A function that adds two numbers.", "pkg/sums.py", code, &contract);
    assert_string_equal(contract.module, "pkg/sums.py");
    assert_int_equal(contract.n_names, 2);
    assert_string_equal(contract.names[0].name, "Stack");
    assert_string_equal(contract.names[0].signature, "");
    assert_string_equal(contract.names[1].name, "add");
    assert_string_equal(contract.names[1].signature, "(a: int, b: int = 2) -> int");
}

static void a_name_that_the_code_lacks_stays_in_the_contract(void **state)
{
    cleanup_contract struct contract contract = { 0 };

    (void)state;
    make("A library with subtract(x, y).", FALLBACK_FILE, code, &contract);
    assert_int_equal(contract.n_names, 1);
    assert_string_equal(contract.names[0].name, "subtract");
}

static void examples_are_plain_values_only(void **state)
{
    cleanup_contract struct contract contract = { 0 };

    (void)state;
    make(
        "A function add(a, b). add(1, 2) is 3 and add('a', 'b') == 'ab', add(1) raises TypeError. "
        "add(0, 0) is 0 for all, add(a, b) is 7. add(3, 4) is 7 or 8; `add([1], [2])` -> `[1, 2]`.",
        FALLBACK_FILE, code, &contract);
    assert_int_equal(contract.n_examples, 4);
    assert_string_equal(contract.examples[0].input, "add(1, 2)");
    assert_string_equal(contract.examples[0].output, "3");
    assert_string_equal(contract.examples[1].output, "'ab'");
    assert_string_equal(contract.examples[2].output, "raises TypeError");
    assert_string_equal(contract.examples[3].input, "add([1], [2])");
    assert_string_equal(contract.examples[3].output, "[1, 2]");
}

static void code_without_names_is_no_library(void **state)
{
    cleanup_contract struct contract contract = { 0 };
    cleanup_files struct agent_files files = { 0 };
    struct gb_err err = { 0 };

    (void)state;
    assert_int_equal(agent_files_put(&files, FALLBACK_FILE, "print(1)\n", 9), 0);
    assert_int_equal(fallback_contract("a function", NULL, &files, &contract, &err), -EINVAL);
    assert_non_null(strstr(err.msg, "names"));
}

static void an_answer_needs_no_code(void **state)
{
    cleanup_contract struct contract contract = { 0 };

    (void)state;
    assert_int_equal(fallback_contract("What is 6 times 7?", NULL, NULL, &contract, NULL), 0);
    assert_int_equal(contract.kind, CONTRACT_ANSWER);
    assert_string_equal(contract.files[0], "main.py");
}

static void hostile_texts_are_only_looked_at(void **state)
{
    static const char *const texts[] = {
        "f(",          "f((((((((((((((((((((((((((x))))))))))))))))))))))))))",
        "f(')",        "f(\\",
        "f(]",         "f([)]",
        "f(a",         "9f(x)",
        ".f(x)",       "f(a=",
        "f(a,,b)",     "f(-)",
        "f(1) is",     "f(1) is '",
        "f(1) is [",   "f(1) raises ",
        "def f(",      "class ",
        "async def ",  "f(1) is [)]",
        "\xff\xfe(x)",
    };
    struct pycall call;

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
        /* On the heap, so that a sanitizer sees a step over the end. */
        cleanup_free char *copy = strdup(texts[i]);
        const char *value;

        assert_non_null(copy);
        for (const char *at = copy; pycall_next(&at, &call);)
            (void)pycall_value(&call, &value);
        for (const char *at = copy; pydef_next(&at, &call);)
            assert_true(call.name_len > 0);
        (void)fallback_kind(copy, NULL);
    }
}

static bool is_example(const char *json)
{
    cleanup_contract struct contract contract = { 0 };

    assert_int_equal(contract_parse(json, strlen(json), &contract, NULL), 0);
    return fallback_is_example(&contract);
}

/* The example is taken out of the prompt itself. */
static void the_example_of_the_prompt_is_no_plan(void **state)
{
    cleanup_buf struct buf prompt = BUF_INIT(1 << 20);
    struct decision decision = { 0 };
    const struct prompt_var task = { "task", "t", 0 };
    const char *example;

    (void)state;
    assert_int_equal(prompt_render("orchestrator", &task, 1, 1 << 20, &prompt, NULL, NULL), 0);
    example = strstr(prompt.data, "{\"action\"");
    assert_non_null(example);
    assert_int_equal(decision_parse(example, strcspn(example, "#"), &decision, NULL), 0);
    assert_true(is_example(decision.contract));
    decision_clear(&decision);
}

/* For a task about the same thing, in whatever language it is told. */
static void a_contract_with_words_of_its_own_is_a_plan(void **state)
{
    (void)state;
    assert_false(is_example("{\"kind\":\"library\",\"language\":\"python\",\"module\":\"roman.py\","
                            "\"summary\":\"r\xc3\xb6mische Ziffern (Roman numerals)\","
                            "\"names\":[{\"name\":\"to_roman\","
                            "\"signature\":\"(number: int) -> str\"}]}"));
    assert_false(is_example("{\"kind\":\"library\",\"language\":\"python\",\"module\":\"roman.py\","
                            "\"summary\":\"converts between Roman numerals and integers\","
                            "\"names\":[{\"name\":\"to_roman\",\"signature\":\"(n)\"},"
                            "{\"name\":\"from_roman\",\"signature\":\"(text)\"}]}"));
}

/* Every string and every list of a schema for small models has an end; large ones see no bounds. */
static void schemas_are_bounded_for_small_models_only(void **state)
{
    cleanup_buf struct buf decision = BUF_INIT(1 << 20);

    (void)state;
    assert_int_equal(decision_schema(&decision), 0);
    for (size_t i = 0; i < 2; i++) {
        const char *schema = i ? cases_schema : decision.data;
        cleanup_buf struct buf plain = BUF_INIT(1 << 20);
        cleanup_json struct json_value *value = NULL;

        for (const char *at = schema; (at = strstr(at, "\"type\":\"array\"")) != NULL; at++)
            assert_memory_equal(at + 14, ",\"maxItems\":", 12);
        assert_non_null(strstr(schema, ",\"maxLength\":"));
        assert_int_equal(ask_unbounded(schema, &plain), 0);
        assert_null(strstr(plain.data, "maxLength"));
        assert_null(strstr(plain.data, "maxItems"));
        assert_int_equal(json_value_parse(plain.data, plain.len, 1 << 20, &value, NULL), 0);
        json_value_free(&value);
        assert_int_equal(json_value_parse(schema, strlen(schema), 1 << 20, &value, NULL), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kind_is_the_first_word_that_tells_it),
        cmocka_unit_test(a_language_counts_where_one_stands),
        cmocka_unit_test(names_are_those_of_the_task),
        cmocka_unit_test(else_those_of_the_code),
        cmocka_unit_test(a_name_that_the_code_lacks_stays_in_the_contract),
        cmocka_unit_test(examples_are_plain_values_only),
        cmocka_unit_test(code_without_names_is_no_library),
        cmocka_unit_test(an_answer_needs_no_code),
        cmocka_unit_test(hostile_texts_are_only_looked_at),
        cmocka_unit_test(the_example_of_the_prompt_is_no_plan),
        cmocka_unit_test(a_contract_with_words_of_its_own_is_a_plan),
        cmocka_unit_test(schemas_are_bounded_for_small_models_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
