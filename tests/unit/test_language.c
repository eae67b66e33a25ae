/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_language.c - the table of languages: finding, naming, steps. */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "box/limits.h"
#include "run/java_source.h"
#include "run/language.h"

#include <cmocka.h>

static const char *name_of(const struct language *language)
{
    return language ? language->name : "none";
}

static void the_languages_are_the_documented_ones(void **state)
{
    static const char *const names[] = { "python", "javascript", "typescript", "bash", "sh",
                                         "c",      "cpp",        "go",         "rust", "java",
                                         "ruby",   "perl",       "php",        "lua",  "r" };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(names); i++)
        assert_string_equal(name_of(language_at(i)), names[i]);
    assert_null(language_at(N_ELEMENTS(names)));
}

static void names_and_aliases_find_them_in_any_case(void **state)
{
    static const char *const rows[][2] = {
        { "python", "python" }, { "Python3", "python" },  { "py", "python" },
        { "JS", "javascript" }, { "node", "javascript" }, { "ts", "typescript" },
        { "C", "c" },           { "c++", "cpp" },         { "C++", "cpp" },
        { "golang", "go" },     { "rs", "rust" },         { "R", "r" },
        { "", "none" },         { "cobol", "none" },      { "python ", "none" },
        { "pyth", "none" },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(rows); i++)
        assert_string_equal(name_of(language_by_name(rows[i][0])), rows[i][1]);
}

static void endings_find_them(void **state)
{
    static const char *const rows[][2] = {
        { "a.py", "python" },
        { "/x/y/a.js", "javascript" },
        { "a.mjs", "javascript" },
        { "a.ts", "typescript" },
        { "a.sh", "sh" },
        { "a.bash", "bash" },
        { "a.c", "c" },
        { "a.cc", "cpp" },
        { "a.c++", "cpp" },
        { "a.go", "go" },
        { "a.rs", "rust" },
        { "A.java", "java" },
        { "a.R", "r" },
        { "a.PY", "python" },
        { "a", "none" },
        { ".py", "none" },
        { "a.", "none" },
        { "a.py/b", "none" },
        { "py", "none" },
        { "", "none" },
        { "a.tar.py", "python" },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(rows); i++)
        assert_string_equal(name_of(language_by_path(rows[i][0])), rows[i][1]);
}

static void shebang_lines_find_them(void **state)
{
    static const char *const rows[][2] = {
        { "#!/usr/bin/python3\nprint()", "python" },
        { "#!/usr/bin/env python3.11", "python" },
        { "#! /usr/bin/env -S python3 -u\n", "python" },
        { "#!/usr/bin/env -i PATH=/bin bash\n", "bash" },
        { "#!/bin/sh -e\n", "sh" },
        { "#!/bin/dash", "sh" },
        { "#!/usr/bin/lua5.4\n", "lua" },
        { "#!/usr/bin/env Rscript\r\n", "r" },
        { "#!node", "javascript" },
        { "#!/usr/bin/env", "none" },
        { "#!/usr/bin/env -S", "none" },
        { "#!", "none" },
        { "#!\npython3", "none" },
        { "#!/usr/bin/cobol", "none" },
        { "# !/bin/sh", "none" },
        { "#", "none" },
        { "", "none" },
        { "print()", "none" },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(rows); i++)
        assert_string_equal(name_of(language_by_shebang(rows[i][0], strlen(rows[i][0]))),
                            rows[i][1]);
    assert_null(language_by_shebang(NULL, 0));
}

static void runtimes_that_read_their_groups_are_given_them(void **state)
{
    static const char *const names[] = { "javascript", "typescript", "go", "java" };
    size_t n = 0;

    (void)state;
    for (size_t i = 0; language_at(i); i++)
        n += language_at(i)->wants_groups;
    assert_int_equal(n, N_ELEMENTS(names));
    for (size_t i = 0; i < N_ELEMENTS(names); i++)
        assert_true(language_by_name(names[i])->wants_groups);
}

static void no_name_alias_or_ending_belongs_to_two(void **state)
{
    (void)state;
    for (size_t i = 0; language_at(i); i++) {
        const struct language *language = language_at(i);
        char path[64];

        assert_ptr_equal(language_by_name(language->name), language);
        for (const char *const *alias = language->aliases; *alias; alias++)
            assert_ptr_equal(language_by_name(*alias), language);
        for (const char *const *ending = language->endings; *ending; ending++) {
            (void)snprintf(path, sizeof(path), "x.%s", *ending);
            assert_ptr_equal(language_by_path(path), language);
        }
        assert_ptr_equal(language_by_path(language->file), language);
        assert_true(strlen(language->package) > 0);
    }
}

/* ---- names of files ---- */

static void check_name(const char *language, const char *code, const char *wanted)
{
    char name[NAME_MAX + 1];

    language_file_name(language_by_name(language), code, strlen(code), name);
    assert_string_equal(name, wanted);
    assert_true(path_is_below(name));
}

static void code_without_a_name_gets_one(void **state)
{
    (void)state;
    check_name("python", "print()", "main.py");
    check_name("r", "", "main.R");
    check_name("javascript", "console.log(1)", "main.js");
    check_name("javascript", "", "main.js");
    check_name("javascript", "const x = 1;\nimport fs from 'fs';\n", "main.mjs");
    check_name("javascript", "import{a} from 'b'", "main.mjs");
    check_name("javascript", "export const x = 1", "main.mjs");
    check_name("javascript", "important()", "main.js");
    check_name("javascript", "return 'x'", "main.js");
    check_name("javascript", "import('fs')", "main.js");
    check_name("javascript", "import x from 'y'; const z = require('z')", "main.js");
}

static void java_files_are_named_after_their_class(void **state)
{
    (void)state;
    check_name("java", "", "Main.java");
    check_name("java", "not java at all", "Main.java");
    check_name("java", "class A {}", "A.java");
    check_name("java", "class A {} public class B {}", "B.java");
    check_name("java", "class A {} class B { static void main(String[] a) {} }", "B.java");
    check_name("java", "public final class B<T> extends C {}", "B.java");
    check_name("java", "public record P(int x) {} ", "P.java");
    check_name("java", "public interface I { class J {} }", "I.java");
    check_name("java", "enum E { A }", "E.java");
    check_name("java", "// public class X\n/* public class Y */ class Z {}", "Z.java");
    check_name("java", "class A { String s = \"} public class B {\"; char c = '\"'; }", "A.java");
    check_name("java", "class A { String s = \"\"\"\n } public class B { \"\\\"\"\"; }", "A.java");
    check_name("java", "class A { String s = \"\\\"} public class B {\"; }", "A.java");
    check_name("java", "class A { char c = '\\''; char d = '}'; } class B {}", "A.java");
    check_name("java", "class A { char c = '\\''; String s = \"'} public class B {\"; }", "A.java");
    check_name("java", "class A { String s = \"\"\"\n \\\"\"\" } public class B { \"\"\"; }",
               "A.java");
    check_name("java", "class A { public class B {} }", "A.java");
    check_name("java", "import a.b.class; class \xc3\x84 {}", "\xc3\x84.java");
}

static void check_main(const char *code, const char *wanted)
{
    struct java_source source;

    java_source_read(code, strlen(code), &source);
    assert_string_equal(source.main_class, wanted);
}

static void java_starts_the_class_that_has_main(void **state)
{
    (void)state;
    check_main("", "");
    check_main("class A {}", "A");
    check_main("class A {} class B { public static void main(String... a) {} }", "B");
    check_main("public class A {} class B { void main() {} }", "B");
    check_main("package x.y; public class A {}", "x.y.A");
    check_main("/* c */ package x . y ;\nclass A {}", "x.y.A");
    check_main("class A { class I { void main() {} } } class B { void main() {} }", "B");
    check_main("class A { void maine() {} int main; } class B { void main() {} }", "B");
}

/* Names go into a path and a command line; what is too long or odd is not taken. */
static void java_names_that_cannot_be_are_not_taken(void **state)
{
    char code[2000];
    struct java_source source;

    (void)state;
    (void)memset(code, 'a', sizeof(code));
    memcpy(code, "class ", 6);
    java_source_read(code, sizeof(code), &source);
    assert_string_equal(source.file_class, "");
    memcpy(code, "package ", 8);
    java_source_read(code, sizeof(code), &source);
    assert_string_equal(source.main_class, "");
    check_main("package -Dx; class A {}", "A");
    check_main("package .x; class A {}", "A");
    check_main("package a.-b; class A {}", "A");
    check_name("java", "class ../../etc/passwd {}", "Main.java");
    check_name("java", "class 9x {}", "Main.java");
    check_name("java", "class \"x\" {}", "Main.java");
}

/* ---- steps ---- */

static const struct limits limits = {
    .memory_bytes = 512 << 20,
    .cpu_milli = 1500,
};

struct steps {
    struct language_step steps[2];
    size_t n;
};

static struct steps steps_of(const char *language, const char *path, const char *code)
{
    struct language_source source = {
        .path = path,
        .out = "/tmp/.out",
        .code = code,
        .len = code ? strlen(code) : 0,
    };
    struct steps steps = { .n = 77 };
    struct gb_err err = { 0 };
    int r =
        language_steps(language_by_name(language), &source, &limits, steps.steps, &steps.n, &err);

    if (r < 0)
        fail_msg("%s: %s", language, err.msg);
    return steps;
}

static void check_words(char *const *words, const char *wanted)
{
    char text[2048] = "";
    size_t used = 0;

    for (; *words; words++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", used ? " " : "", *words);
    assert_string_equal(text, wanted);
}

static void an_interpreter_has_one_step(void **state)
{
    struct steps steps = steps_of("python", "/workspace/a b.py", NULL);

    (void)state;
    assert_int_equal(steps.n, 1);
    assert_string_equal(steps.steps[0].name, "run");
    assert_string_equal(steps.steps[0].argv[1], "/workspace/a b.py");
    check_words(steps.steps[0].argv, "python3 /workspace/a b.py");
    assert_null(steps.steps[0].env[0]);
    language_steps_clear(steps.steps);
    assert_null(steps.steps[0].argv[0]);
    language_steps_clear(steps.steps);
}

static void a_compiler_has_two(void **state)
{
    struct steps steps = steps_of("c", "/workspace/main.c", NULL);

    (void)state;
    assert_int_equal(steps.n, 2);
    assert_string_equal(steps.steps[0].name, "compile");
    check_words(steps.steps[0].argv, "gcc -x c -O2 -pthread -o /tmp/.out /workspace/main.c -lm");
    assert_string_equal(steps.steps[1].name, "run");
    check_words(steps.steps[1].argv, "/tmp/.out");
    language_steps_clear(steps.steps);
}

static void runtimes_are_told_their_limits(void **state)
{
    struct steps steps = steps_of("js", "/w/a.js", NULL);

    (void)state;
    check_words(steps.steps[0].argv, "node --max-old-space-size=384 /w/a.js");
    language_steps_clear(steps.steps);
    steps = steps_of("go", "/w/a.go", NULL);
    check_words(steps.steps[0].argv, "go build -o /tmp/.out /w/a.go");
    check_words(steps.steps[0].env, "GOMAXPROCS=2 GOMEMLIMIT=384MiB GOTOOLCHAIN=local "
                                    "GOFLAGS=-buildvcs=false");
    check_words(steps.steps[1].env, "GOMAXPROCS=2 GOMEMLIMIT=384MiB GOTOOLCHAIN=local "
                                    "GOFLAGS=-buildvcs=false");
    language_steps_clear(steps.steps);
}

static void java_is_told_its_limits_and_its_class(void **state)
{
    struct steps steps = steps_of("java", "/w/d/A.java", "package p; class A { void main() {} }");

    (void)state;
    check_words(steps.steps[0].argv,
                "javac -J-XX:-UsePerfData -J-XX:ActiveProcessorCount=2 -J-XX:MaxRAM=536870912 "
                "-J-XX:MaxRAMPercentage=60 -J-XX:TieredStopAtLevel=1 -cp /w/d -d /tmp/.out "
                "/w/d/A.java");
    check_words(steps.steps[1].argv,
                "java -XX:-UsePerfData -XX:ActiveProcessorCount=2 -XX:MaxRAM=536870912 "
                "-XX:MaxRAMPercentage=60 -cp /tmp/.out:/w/d p.A");
    language_steps_clear(steps.steps);
    steps = steps_of("java", "/w/d/A.java", NULL);
    assert_string_equal(steps.steps[1].argv[7], "A");
    language_steps_clear(steps.steps);
}

static void typescript_is_compiled_and_then_run(void **state)
{
    struct steps steps = steps_of("typescript", "/w/a.b.ts", NULL);

    (void)state;
    assert_int_equal(steps.n, 2);
    assert_string_equal(steps.steps[0].argv[5], "/w/a.b.ts");
    assert_string_equal(steps.steps[0].argv[6], "/tmp/.out");
    check_words(steps.steps[1].argv, "node --max-old-space-size=384 /tmp/.out/a.b.js");
    check_words(steps.steps[1].env, "NODE_PATH=/w/node_modules");
    language_steps_clear(steps.steps);
}

static bool has_placeholder(const char *word)
{
    static const char *const names[] = { "{file}", "{dir}",    "{stem}",     "{out}",
                                         "{main}", "{memory}", "{heap_mib}", "{cpus}" };

    for (size_t i = 0; i < N_ELEMENTS(names); i++)
        if (strstr(word, names[i]))
            return true;
    return false;
}

/* A misspelt placeholder would stay: short words with a brace are looked at too. */
static void check_expanded(const struct language_step *step)
{
    assert_non_null(step->argv[0]);
    for (char *const *word = step->argv; *word; word++)
        assert_false(has_placeholder(*word) || (strlen(*word) < 100 && strchr(*word, '{')));
    for (char *const *word = step->env; *word; word++) {
        assert_false(strchr(*word, '{'));
        assert_non_null(strchr(*word, '='));
    }
}

static void every_placeholder_of_every_language_is_replaced(void **state)
{
    (void)state;
    for (size_t i = 0; language_at(i); i++) {
        const struct language *language = language_at(i);
        struct steps steps;
        char path[64];

        (void)snprintf(path, sizeof(path), "/w/%s", language->file);
        steps = steps_of(language->name, path, NULL);
        assert_int_equal(steps.n, language->compile ? 2 : 1);
        for (size_t j = 0; j < steps.n; j++)
            check_expanded(&steps.steps[j]);
        if (strcmp(language->name, "typescript") != 0)
            assert_string_equal(steps.steps[0].argv[0], language->program);
        language_steps_clear(steps.steps);
    }
}

/* A file named like a placeholder is a file. */
static void values_are_not_expanded_again(void **state)
{
    struct steps steps = steps_of("python", "/w/{out}.py", NULL);

    (void)state;
    assert_string_equal(steps.steps[0].argv[1], "/w/{out}.py");
    language_steps_clear(steps.steps);
}

static void the_root_is_a_directory_too(void **state)
{
    struct steps steps = steps_of("java", "/A.java", NULL);

    (void)state;
    assert_string_equal(steps.steps[1].argv[6], "/tmp/.out:/");
    language_steps_clear(steps.steps);
}

static void check_refused(const char *language, const char *path, const char *out, const char *says)
{
    struct language_source source = { .path = path, .out = out };
    struct language_step steps[2];
    struct gb_err err = { 0 };
    size_t n = 77;

    assert_int_equal(language_steps(language_by_name(language), &source, &limits, steps, &n, &err),
                     -EINVAL);
    assert_int_equal(n, 77);
    assert_int_equal(err.blame, GB_BLAME_CALLER);
    assert_non_null(strstr(err.msg, says));
    language_steps_clear(steps);
}

static void interpreters_read_a_source_without_running_it(void **state)
{
    static const char *const rows[][2] = {
        { "javascript", "node --max-old-space-size=384 --check /w/x" },
        { "bash", "bash -O extglob -n /w/x" },
        { "sh", "sh -n /w/x" },
        { "ruby", "ruby -c /w/x" },
        { "php", "php -l /w/x" },
        { "python", "" }, /* is read by the judge's own check */
        { "perl", "" },
        { "c", "" },
    };
    const struct language_source source = { .path = "/w/x", .out = "/tmp/o" };
    const struct language_source odd = { .path = "x", .out = "/tmp/o" };
    struct language_step step;

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        assert_int_equal(
            language_check(language_by_name(rows[i][0]), &source, &limits, &step, NULL), 0);
        check_words(step.argv, rows[i][1]);
        language_step_clear(&step);
        assert_null(step.argv[0]);
    }
    assert_int_equal(language_check(language_by_name("sh"), &odd, &limits, &step, NULL), -EINVAL);
    language_step_clear(&step);
}

static void odd_paths_are_refused(void **state)
{
    (void)state;
    check_refused("python", "main.py", "/tmp/o", "'main.py' is not a clean absolute path");
    check_refused("python", "/w/../main.py", "/tmp/o", "not a clean absolute path");
    check_refused("c", "/w/main.c", "o", "'o' is not a clean absolute path");
}

static void compilers_that_go_by_the_ending_get_it(void **state)
{
    struct steps steps = steps_of("c", "/w/prog.txt", NULL);

    (void)state;
    language_steps_clear(steps.steps);
    check_refused("go", "/w/prog", "/tmp/o", "must be in a file that ends in .go, not 'prog'");
    check_refused("java", "/w/a.txt", "/tmp/o", "ends in .java");
    check_refused("typescript", "/w/a.js", "/tmp/o", "ends in .ts");
}

static void the_least_heap_is_a_mebibyte(void **state)
{
    struct language_source source = { .path = "/w/a.js", .out = "/tmp/o" };
    const struct limits little = { .memory_bytes = 1 << 20, .cpu_milli = 10 };
    struct language_step steps[2];
    size_t n;

    (void)state;
    assert_int_equal(language_steps(language_by_name("js"), &source, &little, steps, &n, NULL), 0);
    assert_string_equal(steps[0].argv[1], "--max-old-space-size=1");
    language_steps_clear(steps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_languages_are_the_documented_ones),
        cmocka_unit_test(names_and_aliases_find_them_in_any_case),
        cmocka_unit_test(endings_find_them),
        cmocka_unit_test(shebang_lines_find_them),
        cmocka_unit_test(runtimes_that_read_their_groups_are_given_them),
        cmocka_unit_test(no_name_alias_or_ending_belongs_to_two),
        cmocka_unit_test(code_without_a_name_gets_one),
        cmocka_unit_test(java_files_are_named_after_their_class),
        cmocka_unit_test(java_starts_the_class_that_has_main),
        cmocka_unit_test(java_names_that_cannot_be_are_not_taken),
        cmocka_unit_test(an_interpreter_has_one_step),
        cmocka_unit_test(a_compiler_has_two),
        cmocka_unit_test(runtimes_are_told_their_limits),
        cmocka_unit_test(java_is_told_its_limits_and_its_class),
        cmocka_unit_test(typescript_is_compiled_and_then_run),
        cmocka_unit_test(every_placeholder_of_every_language_is_replaced),
        cmocka_unit_test(values_are_not_expanded_again),
        cmocka_unit_test(the_root_is_a_directory_too),
        cmocka_unit_test(interpreters_read_a_source_without_running_it),
        cmocka_unit_test(odd_paths_are_refused),
        cmocka_unit_test(compilers_that_go_by_the_ending_get_it),
        cmocka_unit_test(the_least_heap_is_a_mebibyte),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
