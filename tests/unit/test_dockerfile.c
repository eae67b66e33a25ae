/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_dockerfile.c - a Dockerfile is read as docker reads it, and written so that all do. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "image/dockerfile.h"
#include "image/dockerfile_args.h"

#include <cmocka.h>

static void read_it(const char *text, struct dockerfile *ret)
{
    struct gb_err err = { 0 };

    if (dockerfile_parse(text, strlen(text), ret, &err) < 0)
        fail_msg("%s: %s", text, err.msg);
}

/* The text that is built, of the text that is given. */
static void expect_written(const char *text, const char *wanted)
{
    cleanup_dockerfile struct dockerfile file = { 0 };
    cleanup_buf struct buf out = BUF_INIT(DOCKERFILE_MAX);

    read_it(text, &file);
    assert_int_equal(dockerfile_write(&file, &out), 0);
    assert_string_equal(out.data, wanted);
}

static void expect_refused(const char *text, const char *part)
{
    struct dockerfile file = { .n = 7 };
    struct gb_err err = { 0 };

    if (dockerfile_parse(text, strlen(text), &file, &err) != -EINVAL)
        fail_msg("accepted: %s", text);
    assert_int_equal(file.n, 7);
    if (!strstr(err.msg, part))
        fail_msg("%s: '%s' lacks '%s'", text, err.msg, part);
}

static void lines_become_instructions(void **state)
{
    (void)state;
    expect_written("FROM a\n", "FROM a\n");
    expect_written("from a", "FROM a\n");
    expect_written("\n# x\n  \n\tFROM   a   AS  b  \n#y\n", "FROM a   AS  b\n");
    expect_written("FROM a\r\nRUN b\r\n", "FROM a\nRUN b\n");
    expect_written("\xef\xbb\xbf"
                   "FROM a\n",
                   "FROM a\n");
    expect_written("RUN a \\\n  b \\  \n\n# no\n   # neither\n c\nCMD d", "RUN a   b  c\nCMD d\n");
    expect_written("RUN a # b\n", "RUN a # b\n");
    expect_written("RUN a\\\nb", "RUN ab\n");
    expect_written("RUN a \\", "RUN a\n");
    expect_written("\\\nRUN a", "RUN a\n");
    expect_written("RUN a \\\n\\\nb", "RUN a b\n");
    expect_written("RUN \xc3\xa9\n", "RUN \xc3\xa9\n");
}

static void directives_stand_at_the_top_only(void **state)
{
    cleanup_dockerfile struct dockerfile file = { 0 };

    (void)state;
    expect_written("# escape=`\nRUN a `\n b\\\nCMD c", "# escape=`\nRUN a  b\\\nCMD c\n");
    expect_written("#escape = \\\nRUN a \\\nb", "RUN a b\n");
    expect_written("# a comment\n# escape=`\nRUN a \\\nb", "RUN a b\n");
    expect_written("\n# escape=`\nRUN a \\\nb", "RUN a b\n");
    expect_written("# Syntax=x\n# check=skip=all\n# escape=`\nRUN a `\nb", "# escape=`\nRUN a b\n");
    expect_refused("# escape=x\nRUN a", "the escape is");
    expect_refused("# escape=``\nRUN a", "the escape is");
    expect_refused("# escape=`\n# ESCAPE=`\nRUN a", "line 2");
    expect_refused("# syntax=a\n# syntax=b\nRUN a", "line 2");
    read_it("#!/bin/x\n# syntax = docker/dockerfile:1 \nFROM a", &file);
    assert_string_equal(file.syntax, "docker/dockerfile:1");
    assert_int_equal(file.syntax_line, 2);
}

static void the_parts_of_an_instruction(void **state)
{
    cleanup_dockerfile struct dockerfile file = { 0 };
    const struct dockerfile_item *item;

    (void)state;
    read_it("FROM a\nonbuild copy --from=b  --chown=1:2 \\\n c  d\nRUN [\"x\", \"a\\u0020\\n\"]\n"
            "RUN [ -f x ] && y\nENV a=b\n",
            &file);
    assert_int_equal(file.n, 5);
    item = &file.items[1];
    assert_int_equal(item->op, DOCKERFILE_COPY);
    assert_true(item->is_trigger);
    assert_int_equal(item->line, 2);
    assert_string_equal(item->flags[0], "--from=b");
    assert_string_equal(item->flags[1], "--chown=1:2");
    assert_null(item->flags[2]);
    assert_string_equal(item->text, "c  d");
    assert_string_equal(item->words[1], "d");
    item = &file.items[2];
    assert_int_equal(item->line, 4);
    assert_true(item->is_json);
    assert_string_equal(item->words[0], "x");
    assert_string_equal(item->words[1], "a \n");
    assert_null(item->words[2]);
    assert_false(file.items[3].is_json);
    assert_string_equal(file.items[3].text, "[ -f x ] && y");
}

static void heredocs_belong_to_their_instruction(void **state)
{
    cleanup_dockerfile struct dockerfile file = { 0 };

    (void)state;
    read_it("RUN <<EOF cat <<-'B' 3<<\"C\"\nRUN x \\\n# kept\nEOF\n\tb\n\tB\nC\nCMD c", &file);
    assert_int_equal(file.n, 2);
    assert_int_equal(file.items[0].n_docs, 3);
    assert_string_equal(file.items[0].docs[0].text, "RUN x \\\n# kept\n");
    assert_string_equal(file.items[0].docs[1].text, "\tb\n");
    assert_string_equal(file.items[0].docs[2].text, "");
    assert_int_equal(file.items[1].line, 8);
    expect_written("COPY <<E /x\na\nE\r\nRUN y", "COPY <<E /x\na\nE\nRUN y\n");
    expect_written("RUN echo '<<E' \"a <<E\" x<<E <<<E 1<<<E\nRUN x",
                   "RUN echo '<<E' \"a <<E\" x<<E <<<E 1<<<E\nRUN x\n");
    expect_written("CMD <<E\n", "CMD <<E\n");
    expect_written("RUN [\"a\", \"<<E\"]\n", "RUN [\"a\", \"<<E\"]\n");
    expect_written("ONBUILD RUN <<E\nE\n", "ONBUILD RUN <<E\nE\n");
    expect_refused("RUN <<EOF\nx\n", "does not end");
    expect_refused("RUN echo $(( 1 <<2-1 ))\n", "'<<'");
    expect_refused("RUN <<E-F\nE-F\n", "'<<'");
    expect_refused("RUN <<\\E\nE\n", "'<<'");
    expect_refused("RUN echo ' <<E\nE\n", "'<<'");
}

static void what_builders_read_in_different_ways_is_refused(void **state)
{
    (void)state;
    expect_refused("RUN a \\\\\nRUN b", "two escapes");
    expect_refused("RUN a \\\\ \nRUN b", "two escapes");
    expect_refused("RUN x\\ \\\n", "an escape at the end");
    expect_refused("RUN [\"a\"] && b", "JSON");
    expect_refused("CMD [\"a\\u0000\"]", "JSON");
    expect_refused("CMD [\"a\\ud800\"]", "JSON");
    expect_refused("RUN --mount=type=\"bind\" x", "flags");
    expect_refused("RUN --mount=type=\\bind x", "flags");
    expect_refused("RUN -- x", "flags");
    expect_refused("FROM\xc2\xa0"
                   "a",
                   "not ASCII");
    expect_refused("FROM a\nRUN\xe2\x80\x83--security=insecure x", "line 2");
    expect_refused("FROM a\rRUN b", "control");
    expect_refused("FROM a\vb", "control");
    expect_refused("FROM a\x1b[0m", "control");
}

static void what_is_no_dockerfile_is_refused(void **state)
{
    struct dockerfile file;

    (void)state;
    expect_refused("", "empty");
    expect_refused("# only\n", "no instruction");
    expect_refused("\\\n", "continues nothing");
    expect_refused("FROM a\nINCLUDE b", "unknown instruction 'INCLUDE'");
    expect_refused("FROM", "without anything");
    expect_refused("// syntax=x\nFROM a", "unknown instruction");
    expect_refused("{\"syntax\": \"x\"}\nFROM a", "unknown instruction");
    expect_refused("ONBUILD FROM a", "ONBUILD");
    expect_refused("ONBUILD ONBUILD RUN a", "ONBUILD");
    expect_refused("ONBUILD", "unknown");
    expect_refused("RUN \xff", "UTF-8");
    assert_int_equal(dockerfile_parse("RUN a\0b", 7, &file, NULL), -EINVAL);
}

static void a_dockerfile_is_bounded(void **state)
{
    static char text[DOCKERFILE_MAX + 1];
    struct dockerfile file;

    (void)state;
    memset(text, 'a', sizeof(text));
    assert_int_equal(dockerfile_parse(text, sizeof(text), &file, NULL), -EFBIG);
    memcpy(text, "RUN ", 4);
    assert_int_equal(dockerfile_parse(text, DOCKERFILE_LINE_MAX + 1, &file, NULL), -EFBIG);
    for (size_t i = 4; i < sizeof(text); i += 2)
        text[i] = ' ';
    assert_int_equal(dockerfile_parse(text, 4 * DOCKERFILE_WORDS_MAX, &file, NULL), -EFBIG);
    for (size_t i = 0; i + 6 < sizeof(text); i += 6)
        memcpy(text + i, "RUN a\n", 6);
    assert_int_equal(dockerfile_parse(text, 6 * (DOCKERFILE_ITEMS_MAX + 1), &file, NULL), -EFBIG);
    assert_int_equal(dockerfile_parse(text, 6 * DOCKERFILE_ITEMS_MAX, &file, NULL), 0);
    dockerfile_clear(&file);
}

/* ---- substitution ---------------------------------------------------------------------------- */

static const struct dockerfile_arg given[] = {
    { "TAG", "9" },
    { "BAD", "a b" },
    { "FLAG", "--platform=x" },
    { "UNDECLARED", "z" },
};

static int resolved(const char *text, struct buf *out, struct gb_err *err)
{
    cleanup_dockerfile struct dockerfile file = { 0 };
    int r;

    read_it(text, &file);
    r = dockerfile_resolve(&file, given, N_ELEMENTS(given), err);
    if (r == 0)
        assert_int_equal(dockerfile_write(&file, out), 0);
    return r;
}

static void variables_of_from_are_replaced(void **state)
{
    static const struct {
        const char *text;
        const char *from;
    } rows[] = {
        { "ARG V=3\nFROM python:$V", "FROM python:3" },
        { "ARG V=3\nFROM python:${V}-slim AS x", "FROM python:3-slim AS x" },
        { "ARG V=\"3\" W='4'\nFROM p:$V$W", "FROM p:34" },
        { "ARG A=p\nARG B=${A}q\nFROM $B", "FROM pq" },
        { "ARG A='$B'\nFROM \"x\"", "FROM x" },
        { "ARG TAG\nFROM p:$TAG", "FROM p:9" },
        { "ARG TAG=1\nFROM p:$TAG", "FROM p:9" },
        { "ARG V\nFROM p:${V:-2}", "FROM p:2" },
        { "ARG V=\nFROM p${V:-2}${V-3}", "FROM p2" },
        { "ARG V=1\nFROM p${V:+x}${W:+y}${V+z}", "FROM pxz" },
        { "ARG V=1\nARG V\nFROM p:$V", "FROM p:1" },
        { "ARG V=1\nARG V=2\nFROM p:$V", "FROM p:2" },
        { "ARG V=1\nFROM a\nARG V=7\nFROM p:$V", "FROM p:1" },
        { "ARG X=a\\b\nFROM p", "FROM p" },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        cleanup_buf struct buf out = BUF_INIT(DOCKERFILE_MAX);
        struct gb_err err = { 0 };

        if (resolved(rows[i].text, &out, &err) < 0)
            fail_msg("%s: %s", rows[i].text, err.msg);
        if (!strstr(out.data, rows[i].from))
            fail_msg("%s: no '%s' in %s", rows[i].text, rows[i].from, out.data);
    }
}

static void an_image_that_cannot_be_told_is_refused(void **state)
{
    static const char *const rows[] = {
        "FROM $X",
        "FROM p:$UNDECLARED",
        "ARG V\nFROM p:$V",
        "ARG V=\nFROM $V",
        "ARG BAD\nFROM $BAD",
        "ARG FLAG\nFROM $FLAG",
        "ARG V=1\nFROM p:${V%1}",
        "ARG V=1\nFROM p:${V:?x}",
        "ARG V=1\nFROM p:${W:-$V}",
        "ARG V=1\nFROM p:${V",
        "ARG V=1\nFROM p:$",
        "ARG V=a\\b\nFROM p:$V",
        "FROM a\\b",
        "FROM 'a",
        "RUN x\nARG V=1\nFROM p:$V",
        "ARG V='a\nFROM p",
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        cleanup_buf struct buf out = BUF_INIT(DOCKERFILE_MAX);
        struct gb_err err = { 0 };

        if (resolved(rows[i], &out, &err) != -EINVAL)
            fail_msg("accepted: %s", rows[i]);
        assert_non_null(strstr(err.msg, "line "));
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_become_instructions),
        cmocka_unit_test(directives_stand_at_the_top_only),
        cmocka_unit_test(the_parts_of_an_instruction),
        cmocka_unit_test(heredocs_belong_to_their_instruction),
        cmocka_unit_test(what_builders_read_in_different_ways_is_refused),
        cmocka_unit_test(what_is_no_dockerfile_is_refused),
        cmocka_unit_test(a_dockerfile_is_bounded),
        cmocka_unit_test(variables_of_from_are_replaced),
        cmocka_unit_test(an_image_that_cannot_be_told_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
