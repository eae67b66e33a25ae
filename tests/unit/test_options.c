/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_options.c - the option parser, and what a terminal is shown. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/option.h"
#include "cli/term.h"
#include "cli/term_filter.h"
#include "conf/nearest.h"

#include <cmocka.h>

struct args {
    const char *text;
    bool flag;
    bool other;
    struct text_list list;
};

static const struct opt options[] = {
    { OPT_TEXT, "language", 'l', offsetof(struct args, text), "LANG", "a text" },
    { OPT_FLAG, "json", 'j', offsetof(struct args, flag), NULL, "a flag" },
    { OPT_FLAG, "stdin", 's', offsetof(struct args, other), NULL, "another" },
    { OPT_LIST, "env", 'e', offsetof(struct args, list), "K=V", "a list" },
    { OPT_KEY, .key = KEY_TIMEOUT },
    OPT_HELP_ROW,
    { 0 },
};

struct parse {
    struct args args;
    struct parsed parsed;
    struct gb_err err;
    int r;
    char *argv[16];
    char text[1024];
};

/* line is split at blanks; "_" stands for an empty word. */
static void parse(struct parse *p, const char *line)
{
    char *save = NULL;
    size_t n = 0;

    *p = (struct parse){ 0 };
    assert_true(strlen(line) < sizeof(p->text));
    memcpy(p->text, line, strlen(line) + 1);
    for (char *word = strtok_r(p->text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        assert_true(n + 1 < sizeof(p->argv) / sizeof(p->argv[0]));
        if (strcmp(word, "_") == 0)
            *word = '\0';
        p->argv[n++] = word;
    }
    p->r = options_parse(options, p->argv, &p->args, &p->parsed, &p->err);
}

static void done(struct parse *p)
{
    parsed_clear(&p->parsed);
    free(p->args.list.items);
}

static void expect_text(const char *line, const char *text)
{
    struct parse p;

    parse(&p, line);
    assert_int_equal(p.r, 0);
    assert_string_equal(p.args.text, text);
    done(&p);
}

static void test_an_argument_may_be_attached_or_follow(void **state)
{
    expect_text("--language=python", "python");
    expect_text("--language python", "python");
    expect_text("-lpython", "python");
    expect_text("-l python", "python");
    expect_text("-jlpython", "python");
    expect_text("-jl python", "python");
    expect_text("--language=a=b", "a=b");
    expect_text("--language=", "");
    expect_text("--language _", "");
    expect_text("--language -l", "-l");
    expect_text("-l --", "--");
}

static void test_the_last_of_two_wins_and_lists_keep_all(void **state)
{
    struct parse p;

    parse(&p, "-l a --language b -e 1 --env=2 -e3");
    assert_int_equal(p.r, 0);
    assert_string_equal(p.args.text, "b");
    assert_int_equal(p.args.list.n, 3);
    assert_string_equal(p.args.list.items[0], "1");
    assert_string_equal(p.args.list.items[2], "3");
    done(&p);
}

static void test_flags_combine_and_operands_stand_anywhere(void **state)
{
    struct parse p;

    parse(&p, "one -js two - three --timeout 5");
    assert_int_equal(p.r, 0);
    assert_true(p.args.flag && p.args.other);
    assert_int_equal(p.parsed.n_operands, 4);
    assert_string_equal(p.parsed.operands[2], "-");
    assert_string_equal(p.parsed.operands[3], "three");
    assert_false(p.parsed.has_rest);
    assert_int_equal(p.parsed.n_flags, 1);
    assert_int_equal(p.parsed.flags[0].key, KEY_TIMEOUT);
    assert_string_equal(p.parsed.flags[0].text, "5");
    done(&p);
}

static void test_nothing_behind_two_dashes_is_an_option(void **state)
{
    struct parse p;

    parse(&p, "file -- -j --unknown -- x");
    assert_int_equal(p.r, 0);
    assert_false(p.args.flag);
    assert_int_equal(p.parsed.n_operands, 1);
    assert_true(p.parsed.has_rest);
    assert_int_equal(p.parsed.n_rest, 4);
    assert_string_equal(p.parsed.rest[0], "-j");
    assert_string_equal(p.parsed.rest[2], "--");
    done(&p);

    parse(&p, "file --");
    assert_true(p.parsed.has_rest);
    assert_int_equal(p.parsed.n_rest, 0);
    done(&p);
}

static void test_mistakes_blame_the_caller_and_help(void **state)
{
    static const char *const rows[][2] = {
        { "--langage x", "did you mean '--language'?" },
        { "--tiemout 3", "did you mean '--timeout'?" },
        { "--nothing-like-it", "--help lists them" },
        { "-x", "unknown option '-x'" },
        { "-jx", "unknown option '-x'" },
        { "--json=1", "--json takes no argument" },
        { "--language", "--language needs an argument: --language LANG" },
        { "-l", "--language needs an argument" },
        { "--timeout", "--timeout needs an argument: --timeout TIME" },
        { "--lang x", "unknown option '--lang'" }, /* no abbreviations */
        { "--", "" },
    };

    for (size_t i = 0; rows[i][1][0]; i++) {
        struct parse p;

        parse(&p, rows[i][0]);
        assert_int_equal(p.r, strstr(p.err.msg, "unknown option") ? -ENOENT : -EINVAL);
        assert_int_equal(p.err.blame, GB_BLAME_CALLER);
        assert_null(strchr(p.err.msg, '\n'));
        if (!strstr(p.err.msg, rows[i][1]))
            fail_msg("'%s' is not in '%s'", rows[i][1], p.err.msg);
        done(&p);
    }
}

static void test_help_is_told_from_a_mistake(void **state)
{
    struct parse p;

    parse(&p, "-h");
    assert_int_equal(p.r, 0);
    assert_true(p.parsed.wants_help);
    done(&p);
}

static void test_nearest_finds_what_was_meant(void **state)
{
    struct nearest near = { .text = "memroy" };

    nearest_offer(&near, "memory");
    nearest_offer(&near, "cpus");
    assert_string_equal(nearest_best(&near), "memory");
    assert_int_equal(near.distance, 1);

    near = (struct nearest){ .text = "xyz" };
    nearest_offer(&near, "memory");
    assert_null(nearest_best(&near));

    near = (struct nearest){ .text = "" };
    nearest_offer(&near, "memory");
    nearest_offer(&near, "c"); /* one letter away, and yet nobody means it */
    assert_null(nearest_best(&near));
}

/* ---- terminal ------------------------------------------------------------------------------ */

/* Fed whole, and byte by byte: both must show the same. */
static void expect_shown(const char *bytes, size_t len, const char *shown)
{
    for (size_t step = 1; step <= len; step = step == 1 && len > 1 ? len : len + 1) {
        cleanup_buf struct buf text = BUF_INIT(4096);
        struct term_filter filter = { 0 };

        for (size_t at = 0; at < len; at += step)
            assert_int_equal(term_filter_add(&filter, bytes + at, step, &text), 0);
        assert_int_equal(term_filter_end(&filter, &text), 0);
        assert_string_equal(text.data, shown);
    }
}

#define SHOWN(bytes, shown) expect_shown(bytes, sizeof(bytes) - 1, shown)

static void test_control_bytes_are_shown_not_sent(void **state)
{
    SHOWN("plain\n\ttext", "plain\n\ttext");
    SHOWN("\x1b[31mred\x1b[0m", "^[[31mred^[[0m");
    SHOWN("\x1b]52;c;aGk=\x07", "^[]52;c;aGk=^G");
    SHOWN("\x1b]0;title\x1b\\", "^[]0;title^[\\");
    SHOWN("a\rb\bc\x7f", "a^Mb^Hc^?");
    SHOWN("\0", "^@");
    SHOWN("\xc2\x9b"
          "31m",
          "\\x9b31m"); /* CSI as one character */
    SHOWN("\x9b"
          "31m",
          "\\x9b31m"); /* … and as one byte */
    SHOWN("\xc2\x85", "\\x85");
    SHOWN("\xc2\xa0", "\xc2\xa0");
}

static void test_utf8_passes_and_other_bytes_are_spelt_out(void **state)
{
    SHOWN("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80",
          "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80");
    SHOWN("\xff\xfe", "\\xff\\xfe");
    SHOWN("\xc0\x80", "\\xc0\\x80");                   /* overlong */
    SHOWN("\xed\xa0\x80", "\\xed\\xa0\\x80");          /* surrogate */
    SHOWN("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"); /* beyond U+10FFFF */
    SHOWN("\xe2\x82", "\\xe2\\x82");                   /* the rest never comes */
    SHOWN("\xe2\x82x", "\\xe2\\x82x");
    SHOWN("\xe2\x1b[m", "\\xe2^[[m"); /* a lead byte does not swallow the ESC behind it */
    SHOWN("\xe2\x1b", "\\xe2^[");     /* … nor hold it back */
    SHOWN("\xf0\x9f\xe2\x82\xac", "\\xf0\\x9f\xe2\x82\xac");
    SHOWN("safe\xe2\x80\xae"
          "txt",
          "safe\\u202etxt");
    SHOWN("\xe2\x81\xa6", "\\u2066");
}

static void test_an_error_is_one_line(void **state)
{
    cleanup_buf struct buf text = BUF_INIT(4096);

    assert_int_equal(term_filter_line("a\nb\t\x1b[m\xe2", 8, &text), 0);
    assert_string_equal(text.data, "a^Jb^I^[[m\\xe2");
}

static bool has_color(enum color_mode mode, char *const *env)
{
    struct term term;

    term_init(&term, 1000, mode, env); /* no terminal */
    assert_false(term.is_tty);
    assert_int_equal(term.width, 80);
    assert_int_equal(*term_on(&term, TERM_RED) != '\0', term.has_color);
    return term.has_color;
}

static void test_color_follows_the_conventions(void **state)
{
    static char no_color[] = "NO_COLOR=1", no_color_empty[] = "NO_COLOR=";
    static char force[] = "CLICOLOR_FORCE=1", force_off[] = "CLICOLOR_FORCE=0";
    static char xterm[] = "TERM=xterm";

    assert_false(has_color(COLOR_AUTO, (char *[]){ xterm, NULL }));
    assert_true(has_color(COLOR_AUTO, (char *[]){ force, NULL }));
    assert_false(has_color(COLOR_AUTO, (char *[]){ force_off, NULL }));
    assert_false(has_color(COLOR_AUTO, (char *[]){ force, no_color, NULL }));
    assert_true(has_color(COLOR_AUTO, (char *[]){ force, no_color_empty, NULL }));
    assert_true(has_color(COLOR_ALWAYS, (char *[]){ no_color, NULL }));
    assert_false(has_color(COLOR_NEVER, (char *[]){ force, NULL }));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_argument_may_be_attached_or_follow),
        cmocka_unit_test(test_the_last_of_two_wins_and_lists_keep_all),
        cmocka_unit_test(test_flags_combine_and_operands_stand_anywhere),
        cmocka_unit_test(test_nothing_behind_two_dashes_is_an_option),
        cmocka_unit_test(test_mistakes_blame_the_caller_and_help),
        cmocka_unit_test(test_help_is_told_from_a_mistake),
        cmocka_unit_test(test_nearest_finds_what_was_meant),
        cmocka_unit_test(test_control_bytes_are_shown_not_sent),
        cmocka_unit_test(test_utf8_passes_and_other_bytes_are_spelt_out),
        cmocka_unit_test(test_an_error_is_one_line),
        cmocka_unit_test(test_color_follows_the_conventions),
    };

    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
