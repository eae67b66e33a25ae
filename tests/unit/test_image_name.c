/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_image_name.c - names of images: what is one, and which image it means. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "image/name.h"

#include <cmocka.h>

#define HEX64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void a_name_becomes_the_image_that_is_meant(void **state)
{
    static const struct {
        const char *text;
        const char *whole;
        const char *short_form; /* NULL: as text */
    } rows[] = {
        { "python", "docker.io/library/python", NULL },
        { "python:3-alpine", "docker.io/library/python:3-alpine", NULL },
        { "me/tool", "docker.io/me/tool", NULL },
        { "docker.io/python", "docker.io/library/python", "python" },
        { "docker.io/library/python", "docker.io/library/python", "python" },
        { "library/python", "docker.io/library/python", "python" },
        { "localhost/x", "localhost/x", NULL },
        { "localhost:5000/a/b:1", "localhost:5000/a/b:1", NULL },
        { "127.0.0.1:5000/a", "127.0.0.1:5000/a", NULL },
        { "[::1]:5000/a", "[::1]:5000/a", NULL },
        { "Host/a", "Host/a", NULL },
        { "a__b/c.d/e---f", "docker.io/a__b/c.d/e---f", NULL },
        { "docker.io/a/b/c", "docker.io/a/b/c", "a/b/c" },
        { "x:T_1.2-3@sha256:" HEX64, "docker.io/library/x:T_1.2-3@sha256:" HEX64, NULL },
        { "x@sha512:" HEX64 HEX64, "docker.io/library/x@sha512:" HEX64 HEX64, NULL },
        { "r.io/" HEX64, "r.io/" HEX64, NULL },
    };
    char text[IMAGE_TEXT_SIZE];

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        struct image_name name;
        struct gb_err err = { 0 };

        assert_int_equal(image_name_parse(rows[i].text, &name, &err), 0);
        assert_string_equal(image_name_text(&name, text), rows[i].whole);
        assert_string_equal(image_name_short(&name, text),
                            rows[i].short_form ? rows[i].short_form : rows[i].text);
    }
}

static void what_is_no_name_is_refused(void **state)
{
    static const char *const rows[] = {
        "",
        " ",
        "Python",
        "a b",
        "a/",
        "/a",
        "a//b",
        "-a",
        "a-",
        "a..b",
        "a___b",
        "a.-b",
        "a_-b",
        "a/../b",
        "--privileged",
        "a:",
        "a:-x",
        "a:.x",
        "a:x y",
        "a:x/y:",
        "a@",
        "a@sha256:abc",
        "a@sha256:" HEX64 "0",
        "a@md5:" HEX64,
        "a@sha256:0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef",
        HEX64,
        "host:port/x",
        "host:123456/x",
        "-host.x/a",
        "[::1/a",
        "[]/a",
        "a.b..c/x",
        "http://x/y",
        "a\nb",
        "x:\x1b[31m",
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        struct image_name name = { .tag = "kept" };
        struct gb_err err = { 0 };

        assert_int_equal(image_name_parse(rows[i], &name, &err), -EINVAL);
        assert_int_equal(err.blame, GB_BLAME_CALLER);
        assert_null(strpbrk(err.msg, "\x1b\n"));
        assert_string_equal(name.tag, "kept");
    }
}

static void lengths_are_bounded(void **state)
{
    char text[700];
    struct image_name name;

    (void)state;
    memset(text, 'a', sizeof(text));
    text[IMAGE_NAME_MAX - strlen("docker.io/library/")] = '\0';
    assert_int_equal(image_name_parse(text, &name, NULL), 0);
    text[strlen(text)] = 'a';
    text[IMAGE_NAME_MAX - strlen("docker.io/library/") + 1] = '\0';
    assert_int_equal(image_name_parse(text, &name, NULL), -EINVAL);
    memset(text, 'a', sizeof(text));
    text[1] = ':';
    text[2 + IMAGE_TAG_MAX] = '\0';
    assert_int_equal(image_name_parse(text, &name, NULL), 0);
    text[2 + IMAGE_TAG_MAX] = 'a';
    text[3 + IMAGE_TAG_MAX] = '\0';
    assert_int_equal(image_name_parse(text, &name, NULL), -EINVAL);
    memset(text, 'a', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(image_name_parse(text, &name, NULL), -EINVAL);
}

static void latest_is_meant_where_nothing_is_said(void **state)
{
    char text[IMAGE_TEXT_SIZE];
    struct image_name name;

    (void)state;
    assert_int_equal(image_name_parse("a", &name, NULL), 0);
    image_name_complete(&name);
    assert_string_equal(image_name_short(&name, text), "a:latest");
    assert_int_equal(image_name_parse("a@sha256:" HEX64, &name, NULL), 0);
    image_name_complete(&name);
    assert_string_equal(name.tag, "");
}

static void a_list_of_images_means_images_and_no_spellings(void **state)
{
    static const struct {
        const char *name;
        const char *row;
        bool is_in;
    } rows[] = {
        { "python:3.12", "python", true },
        { "docker.io/library/python:3.12", "python", true },
        { "python:3.12", "docker.io/library/*", true },
        { "evil/python", "docker.io/library/*", false },
        { "python", "python:3.12", false },
        { "python:3.12", "python:3.12", true },
        { "pythonx", "python", false },
        { "r.io/a/b/c:1", "r.io/a/*", true },
        { "r.io/ab", "r.io/a/*", false },
        { "r.io.evil/a/b", "r.io/*", false },
        { "python", "Not A Name", false },
        { "python", "*", false },
        { "x@sha256:" HEX64, "x", true },
        { "x", "x@sha256:" HEX64, false },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        struct image_name name;

        assert_int_equal(image_name_parse(rows[i].name, &name, NULL), 0);
        assert_int_equal(image_name_is_in(&name, rows[i].row), rows[i].is_in);
    }
}

static void a_build_gets_a_tag_of_the_agents_images(void **state)
{
    static const struct {
        const char *tag;
        const char *made; /* NULL: refused */
    } rows[] = {
        { "", "agent-env:build-17" },
        { " \n", "agent-env:build-17" },
        { " task-1 ", "agent-env:task-1" },
        { "agent-env:x", "agent-env:x" },
        { "agent-env", "agent-env:agent-env" },
        { "a/b", NULL },
        { "0/b", NULL },
        { "a:b", NULL },
        { "agent-env:", NULL },
        { "x@sha256:" HEX64, NULL },
        { "x y", NULL },
    };
    char text[IMAGE_TEXT_SIZE];

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        struct image_name name;
        int r = image_name_for_build(rows[i].tag, 17, &name, NULL);

        assert_int_equal(r, rows[i].made ? 0 : -EINVAL);
        if (rows[i].made)
            assert_string_equal(image_name_short(&name, text), rows[i].made);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_becomes_the_image_that_is_meant),
        cmocka_unit_test(what_is_no_name_is_refused),
        cmocka_unit_test(lengths_are_bounded),
        cmocka_unit_test(latest_is_meant_where_nothing_is_said),
        cmocka_unit_test(a_list_of_images_means_images_and_no_spellings),
        cmocka_unit_test(a_build_gets_a_tag_of_the_agents_images),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
