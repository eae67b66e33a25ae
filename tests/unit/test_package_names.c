/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_package_names.c - names of packages: what is one, what is not, what is written.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "package/npm_name.h"
#include "package/requirement.h"
#include "package/set.h"

#include <cmocka.h>

static void test_a_requirement_is_written_anew_in_one_spelling(void **state)
{
    static const struct {
        const char *given;
        const char *name;
        const char *text;
    } rows[] = {
        { "requests", "requests", "requests" },
        { "  Flask_SQLAlchemy ", "flask-sqlalchemy", "flask-sqlalchemy" },
        { "zope.interface", "zope-interface", "zope-interface" },
        { "a-_.b", "a-b", "a-b" },
        { "numpy>=1.26", "numpy", "numpy>=1.26" },
        { "numpy >= 1.26 , < 2", "numpy", "numpy>=1.26,<2" },
        { "numpy (>=1.26,<2)", "numpy", "numpy>=1.26,<2" },
        { "x==1.*", "x", "x==1.*" },
        { "x===1.0+local", "x", "x===1.0+local" },
        { "x~=1.4.2", "x", "x~=1.4.2" },
        { "x==1!2.0", "x", "x==1!2.0" },
        { "requests[socks, Security]>=2", "requests", "requests[socks,security]>=2" },
        { "requests[]", "requests", "requests" },
        { "tomli; python_version<'3.11'", "tomli", "tomli; python_version < \"3.11\"" },
        { "a ; (os_name == 'nt' or extra == \"x\") and 'linux' in sys_platform", "a",
          "a; (os_name == \"nt\" or extra == \"x\") and \"linux\" in sys_platform" },
        { "a; platform_system not in 'Windows'", "a", "a; platform_system not in \"Windows\"" },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        struct requirement got;
        struct gb_err err = { 0 };

        if (requirement_parse(rows[i].given, strlen(rows[i].given), &got, &err) < 0)
            fail_msg("%s: %s", rows[i].given, err.msg);
        assert_string_equal(got.name, rows[i].name);
        assert_string_equal(got.text, rows[i].text);
    }
}

static void test_what_is_no_requirement_is_refused_in_one_line(void **state)
{
    static const char *const rows[] = {
        "",
        " ",
        "-r other.txt",
        "--index-url=http://evil/",
        "-e .",
        "./package",
        "/tmp/package",
        "~/package",
        "..",
        "requests @ https://evil/x.whl",
        "https://evil/x.whl",
        "git+https://evil/x",
        "file:///etc/passwd",
        "a b",
        "a;b",
        "a; import os",
        "a; os_name == 'nt' or",
        "a; (os_name == 'nt'",
        "a; os_name == 'nt')",
        "a; os_name == '$(id)'",
        "a; os_name 'nt'",
        "a>=",
        "a=1",
        "a>=1,",
        "a(>=1",
        "a[b",
        "a[b c]",
        "a[$x]",
        "$(id)",
        "a`id`",
        "a|b",
        "a&b",
        "a>b c",
        "a\nb",
        "a\\\nb",
        "a#b",
        "a --hash=sha256:00",
        "_a",
        "a_",
        "na\xc3\xafve",
        "a%20b",
        "a:b",
        "a>=1 --install-option=x",
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        struct requirement got;
        struct gb_err err = { 0 };

        if (requirement_parse(rows[i], strlen(rows[i]), &got, &err) == 0)
            fail_msg("'%s' became '%s'", rows[i], got.text);
        assert_int_equal(err.blame, GB_BLAME_CALLER);
        assert_null(strchr(err.msg, '\n'));
    }
    assert_true(requirement_parse("a\0b", 3, &(struct requirement){ 0 }, NULL) < 0);
}

static void test_a_long_requirement_is_refused_whole(void **state)
{
    char text[REQUIREMENT_TEXT_MAX + 200];
    struct requirement got;

    (void)state;
    memset(text, 'a', sizeof(text));
    assert_true(requirement_parse(text, REQUIREMENT_NAME_MAX + 1, &got, NULL) < 0);
    assert_int_equal(requirement_parse(text, REQUIREMENT_NAME_MAX, &got, NULL), 0);
    memcpy(text, "a>=", 3);
    memset(text + 3, '1', sizeof(text) - 3);
    assert_true(requirement_parse(text, sizeof(text), &got, NULL) < 0);
}

static void test_names_of_npm(void **state)
{
    static const struct {
        const char *given;
        const char *name; /* NULL: refused */
        const char *range;
    } rows[] = {
        { "left-pad", "left-pad", "*" },
        { "left-pad@1.3.0", "left-pad", "1.3.0" },
        { "lodash@^4.17", "lodash", "^4.17" },
        { "chalk@>=4 <6", "chalk", ">=4 <6" },
        { "a@1 || 2", "a", "1 || 2" },
        { "@types/node", "@types/node", "*" },
        { "@types/node@20", "@types/node", "20" },
        { "a@latest", "a", "latest" },
        { "", NULL, NULL },
        { "@", NULL, NULL },
        { "@a", NULL, NULL },
        { "a@", NULL, NULL },
        { "A", NULL, NULL },
        { "-g", NULL, NULL },
        { ".hidden", NULL, NULL },
        { "../x", NULL, NULL },
        { "user/repo", NULL, NULL },
        { "git+ssh://x", NULL, NULL },
        { "a@npm:b", NULL, NULL },
        { "a@file:..", NULL, NULL },
        { "a@github:x/y", NULL, NULL },
        { "a@http://x", NULL, NULL },
        { "a b", NULL, NULL },
        { "a;id", NULL, NULL },
        { "a@1;id", NULL, NULL },
        { "a@$(id)", NULL, NULL },
        { "a@1\n", NULL, NULL },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        struct npm_name got;
        struct gb_err err = { 0 };
        int r = npm_name_parse(rows[i].given, strlen(rows[i].given), &got, &err);

        if ((r == 0) != (rows[i].name != NULL))
            fail_msg("'%s': %d %s", rows[i].given, r, err.msg);
        if (r == 0) {
            assert_string_equal(got.name, rows[i].name);
            assert_string_equal(got.range, rows[i].range);
        } else {
            assert_int_equal(err.blame, GB_BLAME_CALLER);
            assert_null(strchr(err.msg, '\n'));
        }
    }
}

#define HASH "--hash=sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void test_a_requirements_file_is_sorted_and_has_nothing_twice(void **state)
{
    static const char text[] = "# a comment\n"
                               "\n"
                               "  numpy >= 1.26  # why\r\n"
                               "Requests\n"
                               "requests\n"
                               "flask \\\n"
                               "  >=2\n"
                               "pinned==1.0 \\\n"
                               "    " HASH "\n"
                               "url-like==1.0#not-a-comment-and-no-version\n";
    struct package_set set = { .kind = PACKAGE_PYTHON };
    cleanup_buf struct buf out = BUF_INIT(4096);
    struct gb_err err = { 0 };

    (void)state;
    assert_true(package_set_read(&set, "r.txt", text, sizeof(text) - 1, &err) < 0);
    assert_non_null(strstr(err.msg, "r.txt:10"));
    package_set_clear(&set);
    assert_int_equal(
        package_set_read(&set, "r.txt", text, (size_t)(strstr(text, "url-like") - text), &err), 0);
    assert_int_equal(package_set_write(&set, &out), 0);
    assert_string_equal(out.data, "flask>=2\nnumpy>=1.26\npinned==1.0 " HASH "\nrequests\n");
    package_set_clear(&set);
}

static void test_options_in_a_requirements_file_are_refused_with_their_line(void **state)
{
    static const char *const rows[] = {
        "a\n-r other.txt\n",
        "a\n--extra-index-url http://evil\n",
        "a\n-e git+https://x\n",
        "a\nb --hash=md5:00\n",
        "a\nb --global-option=x\n",
        "a\nb @ file:///etc/passwd\n",
        "a\n./b\n",
        "a\nb --hash=sha256:00\n",
        ("a\nb " HASH " --install-option=x\n"),
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        struct package_set set = { .kind = PACKAGE_PYTHON };
        struct gb_err err = { 0 };

        assert_true(package_set_read(&set, "r.txt", rows[i], strlen(rows[i]), &err) < 0);
        assert_non_null(strstr(err.msg, "r.txt:2: "));
        assert_int_equal(err.blame, GB_BLAME_CALLER);
        package_set_clear(&set);
    }
}

static void test_dependencies_of_a_package_json(void **state)
{
    static const char good[] = "{\"name\":\"x\",\"scripts\":{\"install\":\"rm -rf /\"},"
                               "\"dependencies\":{\"b\":\"^1\",\"@a/c\":\"2\"}}";
    static const char *const bad[] = {
        "[]",
        "{\"dependencies\":[]}",
        "{\"dependencies\":{\"a\":1}}",
        "{\"dependencies\":{\"a\":\"git+ssh://x\"}}",
        "{\"dependencies\":{\"../a\":\"1\"}}",
        "{\"dependencies\":{\"a\":\"\"}}",
        "{",
    };
    struct package_set set = { .kind = PACKAGE_NODE };
    cleanup_buf struct buf out = BUF_INIT(4096);
    struct gb_err err = { 0 };

    (void)state;
    assert_int_equal(package_set_read(&set, "p.json", good, sizeof(good) - 1, &err), 0);
    assert_int_equal(package_set_write(&set, &out), 0);
    assert_string_equal(out.data,
                        "{\"private\":true,\"dependencies\":{\"@a/c\":\"2\",\"b\":\"^1\"}}");
    assert_true(package_set_add(&set, "b@^2", 4, &err) < 0);
    assert_int_equal(package_set_add(&set, "b@^1", 4, &err), 0);
    assert_int_equal(set.n, 2);
    package_set_clear(&set);
    for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
        err = (struct gb_err){ 0 };
        assert_true(package_set_read(&set, "p.json", bad[i], strlen(bad[i]), &err) < 0);
        assert_int_equal(err.blame, GB_BLAME_CALLER);
        package_set_clear(&set);
    }
}

static void test_too_many_packages_are_refused(void **state)
{
    struct package_set set = { .kind = PACKAGE_PYTHON };
    char name[16];
    int r = 0;

    (void)state;
    for (int i = 0; r == 0 && i <= PACKAGES_MAX; i++) {
        int len = snprintf(name, sizeof(name), "p%d", i);

        r = package_set_add(&set, name, (size_t)len, NULL);
        assert_int_equal(r, i < PACKAGES_MAX ? 0 : -E2BIG);
    }
    package_set_clear(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_requirement_is_written_anew_in_one_spelling),
        cmocka_unit_test(test_what_is_no_requirement_is_refused_in_one_line),
        cmocka_unit_test(test_a_long_requirement_is_refused_whole),
        cmocka_unit_test(test_names_of_npm),
        cmocka_unit_test(test_a_requirements_file_is_sorted_and_has_nothing_twice),
        cmocka_unit_test(test_options_in_a_requirements_file_are_refused_with_their_line),
        cmocka_unit_test(test_dependencies_of_a_package_json),
        cmocka_unit_test(test_too_many_packages_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
