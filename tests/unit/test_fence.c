/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_fence.c - files in a model's answer, as models really write them, and as none should.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "agent/fence.h"
#include "base/buf.h"
#include "base/err.h"

#include <cmocka.h>

static int scan(const char *text, const char *fallback, struct agent_files *files,
                struct gb_err *err)
{
    return fence_scan(text, strlen(text), fallback, files, err);
}

/* One file of that path and text, whatever the prose. */
static void expect_file(const char *answer, const char *path, const char *text)
{
    cleanup_files struct agent_files files = { 0 };
    struct gb_err err = { 0 };

    if (scan(answer, NULL, &files, &err) != 0)
        fail_msg("%s: %s", answer, err.msg);
    if (files.n != 1)
        fail_msg("%zu files in %s", files.n, answer);
    assert_string_equal(files.items[0].path, path);
    assert_string_equal(files.items[0].text, text);
    assert_int_equal(files.items[0].len, strlen(text));
}

static void expect_prose(const char *answer, const char *prose)
{
    cleanup_files struct agent_files files = { 0 };

    assert_int_equal(scan(answer, NULL, &files, NULL), 0);
    assert_string_equal(files.prose, prose);
}

static void expect_no_file(const char *answer)
{
    cleanup_files struct agent_files files = { 0 };
    struct gb_err err = { 0 };

    if (scan(answer, NULL, &files, &err) != 0)
        fail_msg("%s: %s", answer, err.msg);
    if (files.n != 0)
        fail_msg("the file %s in %s", files.items[0].path, answer);
    assert_non_null(files.prose);
}

static void expect_error(const char *answer, int code, const char *part)
{
    cleanup_files struct agent_files files = { 0 };
    struct gb_err err = { 0 };

    assert_int_equal(scan(answer, "main.py", &files, &err), code);
    assert_int_equal(err.code, code);
    assert_int_equal(err.blame, GB_BLAME_PEER);
    if (!strstr(err.msg, part))
        fail_msg("'%s' is not in '%s'", part, err.msg);
    assert_null(files.items);
    assert_null(files.prose);
}

static void the_line_before_names_the_file(void **state)
{
    static const char *const lines[] = {
        "src/a.py",
        "src/a.py:",
        "  src/a.py  ",
        "./src/a.py",
        "`src/a.py`",
        "`src/a.py`:",
        "**src/a.py**",
        "**src/a.py:**",
        "**`src/a.py`**:",
        "### src/a.py",
        "#### `src/a.py`",
        "## 1. `src/a.py`",
        "1. `src/a.py`:",
        "2) src/a.py",
        "- src/a.py",
        "* `src/a.py`",
        "> src/a.py",
        "// src/a.py",
        "# src/a.py",
        "\"src/a.py\"",
        "'src/a.py':",
        "File: src/a.py",
        "file: `src/a.py`",
        "**File:** `src/a.py`",
        "**File: src/a.py**",
        "Filename: src/a.py",
        "File name: src/a.py",
        "### File 2: `src/a.py`",
        "Path: src/a.py",
        "New file: src/a.py",
        "`src/a.py` (new)",
        "### `src/a.py` - the parser, and more",
        "**src/a.py** \xe2\x80\x94 the parser",
        "- `src/a.py`: the parser",
        "src/a.py\n",
        "src/a.py\n\n \n",
        "Some text.\n\nsrc/a.py",
    };
    char answer[400];

    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        snprintf(answer, sizeof(answer), "%s\n```python\nx = 1\n```\n", lines[i]);
        expect_file(answer, "src/a.py", "x = 1\n");
    }
}

static void names_without_an_ending_are_known_or_marked(void **state)
{
    (void)state;
    expect_file("Makefile\n```\nall:\n```\n", "Makefile", "all:\n");
    expect_file("**docker/Dockerfile**\n```\nFROM x\n```\n", "docker/Dockerfile", "FROM x\n");
    expect_file("`bin/tool`\n```\nx\n```\n", "bin/tool", "x\n");
    expect_file("File: tool\n```\nx\n```\n", "tool", "x\n");
    expect_file(".gitignore\n```\nx\n```\n", ".gitignore", "x\n");
    expect_file("pkg/__init__.py\n```\n```\n", "pkg/__init__.py", "");
    expect_file("\xc3\xa4/\xe2\x82\xac.py\n```\nx\n```\n", "\xc3\xa4/\xe2\x82\xac.py", "x\n");
}

static void the_info_string_names_the_file(void **state)
{
    static const char *const infos[] = {
        "python src/a.py",
        "python:src/a.py",
        "src/a.py",
        " python   src/a.py ",
        "py title=\"src/a.py\"",
        "py title='src/a.py'",
        "python file=src/a.py",
        "python showLineNumbers filename=\"src/a.py\"",
        "python path=./src/a.py",
    };
    char answer[200];

    (void)state;
    for (size_t i = 0; i < sizeof(infos) / sizeof(infos[0]); i++) {
        snprintf(answer, sizeof(answer), "Here it is:\n```%s\nx = 1\n```\n", infos[i]);
        expect_file(answer, "src/a.py", "x = 1\n");
    }
    expect_file("old.py\n```python new.py\nx\n```\n", "new.py", "x\n");
    expect_prose("old.py\n```python new.py\nx\n```\n", "old.py");
    expect_prose("Look:\n```python new.py\nx\n```\n", "Look:");
    expect_prose("**new.py**\n```python new.py\nx\n```\n", "");
}

static void a_first_line_may_name_the_file(void **state)
{
    (void)state;
    expect_file("Run:\n```python\n# filename: a.py\nx\n```\n", "a.py", "# filename: a.py\nx\n");
    expect_file("```js\n// Filename: a.js\n```\n", "a.js", "// Filename: a.js\n");
    expect_file("```c\n/* filename: a.c */\n```\n", "a.c", "/* filename: a.c */\n");
    expect_file("b.py\n```python\n# filename: a.py\n```\n", "b.py", "# filename: a.py\n");
    expect_no_file("```python\n# filename is a.py\n```\n");
    expect_no_file("```python\nfilename: a.py\n```\n");
    expect_error("```python\n# filename: /etc/a.py\n```\n", -EINVAL, "/etc/a.py");
}

static void sentences_and_other_words_name_nothing(void **state)
{
    static const char *const lines[] = {
        "Here is the code:",
        "Here is `src/a.py`:",
        "Save this as a.py and run it",
        "Save as a.py:",
        "Input/Output:",
        "and/or",
        "**Usage:**",
        "### Example",
        "1.5",
        "version 1.2.3",
        "v1.2.3:",
        "e.g.",
        "...",
        "https://example.org/a.py",
        "`pytest`",
        "`f(x).y()`",
        "test_a.py::test_b",
        "\\[",
        "x = a.b()",
        "3 a.py",
        "/",
    };
    char answer[200];

    (void)state;
    expect_no_file("");
    expect_no_file("```python\nx\n```");
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        snprintf(answer, sizeof(answer), "%s\n```\nx\n```\n", lines[i]);
        expect_no_file(answer);
    }
}

static void a_line_names_the_next_fence_only(void **state)
{
    cleanup_files struct agent_files files = { 0 };

    (void)state;
    assert_int_equal(scan("a.py\n```\nx\n```\n\n```\ny\n```\n", "z.py", &files, NULL), 0);
    assert_int_equal(files.n, 1);
    assert_string_equal(files.prose, "```\ny\n```");
}

static void a_fence_ends_with_as_many_of_the_same(void **state)
{
    (void)state;
    expect_file("a.py\n````\n```\nx\n```\n````\n", "a.py", "```\nx\n```\n");
    expect_file("a.py\n```\nx\n``````  \n", "a.py", "x\n");
    expect_file("a.py\n~~~python\n```\n~~~\n", "a.py", "```\n");
    expect_file("a.py\n```\n~~~\n```\n", "a.py", "~~~\n");
    expect_file("a.py\n```\n``` x\n```\n", "a.py", "``` x\n");
    expect_file("a.py\n```\nx = '```'\n```\n", "a.py", "x = '```'\n");
    expect_file("a.py\n```\nx\n```", "a.py", "x\n");
    expect_file("a.py\n```\n```\n", "a.py", "");
    expect_file("a.py\n```\n\n\n```\n", "a.py", "\n\n");
    /* A docstring that shows Markdown. */
    expect_file("a.py\n```py\ndef f():\n    \"\"\"\n    ```\n    f()\n    ```\n    \"\"\"\n```\n",
                "a.py", "def f():\n    \"\"\"\n    ```\n    f()\n    ```\n    \"\"\"\n");
    expect_no_file("a.py\n``x``\n");
    expect_no_file("a.py\n```x```\n");
}

static void a_markdown_file_may_hold_fences_of_its_own(void **state)
{
    static const char inner[] = "# Use\n```bash\nmake\n```\nThen\n```sh\nls\n```\nEnd.\n";
    char answer[400];

    (void)state;
    snprintf(answer, sizeof(answer), "README.md\n```markdown\n%s```\nThat is all.", inner);
    expect_file(answer, "README.md", inner);
    snprintf(answer, sizeof(answer), "README.md\n```\n%s```\nThat is all.", inner);
    expect_file(answer, "README.md", inner);
    snprintf(answer, sizeof(answer), "```md\n%s```\na.py\n```\nx\n```\n", inner);
    expect_file(answer, "a.py", "x\n");
    expect_file("a.py\n```markdown\n```sh\n```\n", "a.py", "```sh\n");
    snprintf(answer, sizeof(answer), "README.md\n````md\n%s````\n", inner);
    expect_file(answer, "README.md", inner);
    expect_error("README.md\n```md\n```bash\nmake\n```\n", -EBADMSG, "README.md");
}

static void an_indented_fence_gives_its_indent_back(void **state)
{
    (void)state;
    expect_file("1. `a.py`:\n\n   ```python\n   def f():\n       pass\n\n   ```\n", "a.py",
                "def f():\n    pass\n\n");
    expect_file("- a.go\n\t```go\n\tfunc f() {\n\t\treturn\n\t}\n\t```\n", "a.go",
                "func f() {\n\treturn\n}\n");
    /* A line that is indented less keeps what it has. */
    expect_file("a.py\n  ```\n x\n  y\n\tz\n  ```\n", "a.py", "x\ny\n\tz\n");
    expect_file("a.py\n```\nx\n   ```\n", "a.py", "x\n");
}

static void windows_newlines_become_plain_ones(void **state)
{
    (void)state;
    expect_file("a.py\r\n```python\r\nx\r\n\r\ny\r\n```\r\n", "a.py", "x\n\ny\n");
    /* In an answer with plain newlines, a CR is part of the file. */
    expect_file("a.bat\n```\nx\r\ny\n```\n", "a.bat", "x\r\ny\n");
}

static void several_files_and_what_is_said_about_them(void **state)
{
    static const char answer[] = "I split it in two.\n\n"
                                 "### `src/a.py`\n\n```python\nA = 1\n```\n\n"
                                 "**File 2: tests/b.py**\n```python\nB = 2\n```\n\n"
                                 "Run it so:\n\n```bash\npython3 src/a.py\n```\n\nDone.\n";
    cleanup_files struct agent_files files = { 0 };

    (void)state;
    assert_int_equal(scan(answer, "c.py", &files, NULL), 0);
    assert_int_equal(files.n, 2);
    assert_string_equal(agent_files_find(&files, "src/a.py")->text, "A = 1\n");
    assert_string_equal(agent_files_find(&files, "tests/b.py")->text, "B = 2\n");
    assert_null(agent_files_find(&files, "c.py"));
    assert_string_equal(files.prose, "I split it in two.\n\n\n\nRun it so:\n\n```bash\npython3 "
                                     "src/a.py\n```\n\nDone.");
}

static void expect_fallback(const char *answer, const char *fallback, const char *text)
{
    cleanup_files struct agent_files files = { 0 };

    assert_int_equal(scan(answer, fallback, &files, NULL), 0);
    assert_int_equal(files.n, text != NULL);
    if (!text)
        return;
    assert_string_equal(files.items[0].path, fallback);
    assert_string_equal(files.items[0].text, text);
}

static void a_lone_fence_is_the_file_that_is_expected(void **state)
{
    (void)state;
    expect_fallback("Here:\n```python\nx\n```\n", "main.py", "x\n");
    expect_fallback("```\nx\n```", "main.py", "x\n");
    expect_fallback("```whatever\nx\n```", "main.py", "x\n");
    /* How to run it is no second candidate, an example in no language neither. */
    expect_fallback("```python\nx\n```\nRun:\n```bash\npython3 main.py\n```\n", "main.py", "x\n");
    expect_fallback("```py\nx\n```\nIt prints:\n```\n1\n```\n", "main.py", "x\n");
    /* Which of the two? */
    expect_fallback("```python\nx\n```\n```python\ny\n```\n", "main.py", NULL);
    expect_fallback("```\nx\n```\n```\ny\n```\n", "main.py", NULL);
    expect_fallback("```bash\npip install x\n```\n", "main.py", NULL);
    expect_fallback("no code at all", "main.py", NULL);
}

static void a_fallback_is_no_way_around_the_rules(void **state)
{
    cleanup_files struct agent_files files = { 0 };

    (void)state;
    assert_int_equal(scan("```\nx\n```", "../x.py", &files, NULL), -EINVAL);
}

static void paths_that_lead_elsewhere_are_refused(void **state)
{
    static const char *const paths[] = {
        "/etc/passwd",
        "~/bin",
        "/_x",
        "/.x",
        "/a.py",
        "~/a.py",
        "../a.py",
        "a/../../b.py",
        "a/../b.py",
        "..",
        "src/..",
        "a//b.py",
        "a/./b.py",
        "a\\b.py",
        "..\\a.py",
        "C:\\a.py",
        "C:/a.py",
        "`a/`",
        "-rf.py",
        "src/-o.py",
        "a:b.py",
        "a?.py",
        "a|b.py",
        "a\x01.py",
        "a\x7f.py",
        "a\xff.py",
        "a\xc2\x85.py",
        "`/root/.ssh`",
        "a\xc2\xa0"
        "b.py",
        ".././.././a.py",
        "/proc/self/mem",
        "\"<a>.py\"",
        "a\x1b[0m/b.py",
    };
    char answer[200];

    (void)state;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        snprintf(answer, sizeof(answer), "fine.py\n```\n1\n```\n\n%s\n```\nx\n```\n", paths[i]);
        expect_error(answer, -EINVAL, "line 7: the path ");
    }
}

static void an_error_shows_no_control_bytes(void **state)
{
    cleanup_files struct agent_files files = { 0 };
    struct gb_err err = { 0 };

    (void)state;
    assert_int_equal(scan("a\x1b]0;\x07\xff.py\n```\nx\n```", NULL, &files, &err), -EINVAL);
    assert_non_null(strstr(err.msg, "\\x1b]0;\\x07\\xff.py"));
}

static void long_paths_are_refused_and_longer_lines_name_nothing(void **state)
{
    cleanup_buf struct buf answer = BUF_INIT(1 << 20);

    (void)state;
    for (int i = 0; i < 100; i++)
        buf_puts(&answer, "a/b");
    buf_puts(&answer, ".py\n```\nx\n```\n");
    expect_error(answer.data, -EINVAL, "too long");
    answer.data[AGENT_PATH_MAX + 1] = '\0';
    assert_int_equal(agent_path_check(answer.data, NULL), -EINVAL);
    answer.data[AGENT_PATH_MAX] = '\0';
    assert_int_equal(agent_path_check(answer.data, NULL), 0);
    buf_reset(&answer);
    for (int i = 0; i < 10000; i++)
        buf_puts(&answer, "a/b");
    buf_puts(&answer, ".py\n```\nx\n```\n");
    expect_no_file(answer.data);
}

static void a_path_is_given_once(void **state)
{
    (void)state;
    expect_error("a.py\n```\nx\n```\na.py\n```\ny\n```\n", -EINVAL, "a.py is given twice");
    expect_error("a.py\n```\nx\n```\n./a.py\n```\ny\n```\n", -EINVAL, "a.py is given twice");
    expect_error("`a/b`\n```\nx\n```\na/b/c.py\n```\ny\n```\n", -EINVAL, "cannot be a file");
    expect_error("a/b/c.py\n```\nx\n```\n`a/b`\n```\ny\n```\n", -EINVAL, "cannot be a file");
}

static void a_fence_that_does_not_end_makes_the_answer_incomplete(void **state)
{
    (void)state;
    expect_error("a.py\n```python\nx = 1\n", -EBADMSG, "line 2 (\"a.py\") does not end");
    expect_error("a.py\n```python", -EBADMSG, "does not end");
    expect_error("a.py\n````\nx\n```\n", -EBADMSG, "does not end");
    expect_error("a.py\n```\nx\n~~~\n", -EBADMSG, "does not end");
    expect_error("a.py\n```\nx\n```\n\n```bash\nls", -EBADMSG, "line 6");
}

static void a_nul_is_refused(void **state)
{
    cleanup_files struct agent_files files = { 0 };

    (void)state;
    assert_int_equal(fence_scan("a\0.py\n```\nx\n```\n", 16, NULL, &files, NULL), -EINVAL);
    assert_int_equal(fence_scan("a.py\n```\n\0\n```\n", 15, NULL, &files, NULL), -EINVAL);
}

static void there_are_at_most_so_many_files(void **state)
{
    cleanup_files struct agent_files files = { 0 };
    cleanup_buf struct buf answer = BUF_INIT(1 << 20);

    (void)state;
    for (int i = 0; i < FENCE_FILES_MAX; i++)
        buf_printf(&answer, "f%d.py\n```\n%d\n```\n", i, i);
    assert_int_equal(scan(answer.data, NULL, &files, NULL), 0);
    assert_int_equal(files.n, FENCE_FILES_MAX);
    for (int i = FENCE_FILES_MAX; i < 10000; i++)
        buf_printf(&answer, "f%d.py\n```\n%d\n```\n", i, i);
    expect_error(answer.data, -E2BIG, "more than 64 files");
}

static void ten_thousand_fences_of_prose_are_prose(void **state)
{
    cleanup_buf struct buf answer = BUF_INIT(1 << 20);
    cleanup_files struct agent_files files = { 0 };

    (void)state;
    for (int i = 0; i < 10000; i++)
        buf_printf(&answer, "Look:\n```\n\xe2\x82\xac\n```\n");
    assert_int_equal(scan(answer.data, "a.py", &files, NULL), 0);
    assert_int_equal(files.n, 0);
    assert_in_range(strlen(files.prose), FENCE_PROSE_MAX - 8, FENCE_PROSE_MAX);
    assert_memory_equal(files.prose, answer.data, strlen(files.prose));
}

/* n files of so many bytes and a newline each. */
static void expect_size(size_t text, size_t n, int code)
{
    cleanup_buf struct buf answer = BUF_INIT(64 << 20);
    cleanup_files struct agent_files files = { 0 };

    for (size_t i = 0; i < n; i++) {
        buf_printf(&answer, "f%zu.py\n```\n", i);
        assert_int_equal(buf_reserve(&answer, text), 0);
        for (size_t j = 0; j < text; j++)
            answer.data[answer.len++] = j % 64 == 63 ? '\n' : 'x';
        buf_puts(&answer, "\n```\n");
    }
    if (code < 0) {
        expect_error(answer.data, code, "longer than");
        return;
    }
    assert_int_equal(fence_scan(answer.data, answer.len, NULL, &files, NULL), 0);
    assert_int_equal(files.n, n);
    assert_int_equal(files.items[n - 1].len, text + 1);
}

static void files_have_a_size(void **state)
{
    (void)state;
    expect_size(FENCE_FILE_MAX - 1, 1, 0);
    expect_size(FENCE_FILE_MAX, 1, -EFBIG);
    expect_size(FENCE_FILE_MAX - 1, 5, -EFBIG);
    expect_size(50 << 20, 1, -EFBIG);
}

static void fifty_megabytes_without_an_end_or_a_line_are_read_once(void **state)
{
    cleanup_buf struct buf answer = BUF_INIT(64 << 20);
    cleanup_files struct agent_files files = { 0 };

    (void)state;
    assert_int_equal(buf_reserve(&answer, 50 << 20), 0);
    memset(answer.data, '`', 50 << 20);
    answer.data[answer.len = 50 << 20] = '\0';
    expect_error(answer.data, -EBADMSG, "does not end");
    answer.len = 8 << 20;
    for (size_t i = 0; i < answer.len; i += 4)
        answer.data[i + 3] = '\n'; /* a row of a million empty fences */
    assert_int_equal(fence_scan(answer.data, answer.len - 4, NULL, &files, NULL), -EBADMSG);
    assert_int_equal(fence_scan(answer.data, answer.len, "a.py", &files, NULL), 0);
    assert_int_equal(files.n, 0);
}

static void files_are_put_replaced_and_found(void **state)
{
    cleanup_files struct agent_files files = { 0 };

    (void)state;
    assert_int_equal(agent_files_put(&files, "a.py", "1", 1), 0);
    assert_int_equal(agent_files_put(&files, "b.py", NULL, 0), 0);
    assert_int_equal(agent_files_put(&files, "a.py", "22", 2), 0);
    assert_int_equal(files.n, 2);
    assert_string_equal(agent_files_find(&files, "a.py")->text, "22");
    assert_string_equal(agent_files_find(&files, "b.py")->text, "");
    assert_int_equal(agent_files_put(&files, "/c.py", "", 0), -EINVAL);
    for (int i = 2; i < FENCE_FILES_MAX; i++) {
        char path[16];

        snprintf(path, sizeof(path), "%d.py", i);
        assert_int_equal(agent_files_put(&files, path, "", 0), 0);
    }
    assert_int_equal(agent_files_put(&files, "more.py", "", 0), -E2BIG);
    assert_int_equal(agent_files_put(&files, "a.py", "", FENCE_FILE_MAX + 1), -EFBIG);
}

static void what_is_written_is_read_again(void **state)
{
    static const char *const texts[] = {
        "",       "x\n",         "```\n",          "````\n~~~\n",
        "\r\n\n", "a ``` b ```", "  indented\n\t", "# filename: q\n"
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        cleanup_buf struct buf answer = BUF_INIT(4096);
        size_t len = strlen(texts[i]);
        char expected[64] = { 0 };

        memcpy(expected, texts[i], len);
        if (len > 0 && expected[len - 1] != '\n')
            expected[len] = '\n';
        assert_int_equal(fence_write("doc/a.md", texts[i], strlen(texts[i]), &answer), 0);
        expect_file(answer.data, "doc/a.md", expected);
        buf_reset(&answer);
        assert_int_equal(fence_write("tool", texts[i], strlen(texts[i]), &answer), 0);
        expect_file(answer.data, "tool", expected);
    }
}

static void expect_json(const char *answer, const char *json)
{
    const char *at;
    size_t len;

    fence_json(answer, strlen(answer), &at, &len);
    assert_int_equal(len, strlen(json));
    assert_memory_equal(at, json, len);
}

static void json_is_found_in_its_wrapping(void **state)
{
    (void)state;
    expect_json("{\"a\":1}", "{\"a\":1}");
    expect_json(" \n{\"a\":1}\n\n", "{\"a\":1}");
    expect_json("```json\n{\"a\":1}\n```", "{\"a\":1}");
    expect_json("Sure {ly}!\n```json\n[{}]\n```\nBye }", "[{}]");
    expect_json("Here: {\"a\":{}} I hope it helps.", "{\"a\":{}}");
    expect_json("```\n[1, 2]\n```", "[1, 2]");
    expect_json("```json\n{\"a\":1", "```json\n{\"a\":1");
    expect_json("nothing", "nothing");
    expect_json("", "");
    expect_json("{\"code\":\"```json\\n{}\\n```\"}", "{\"code\":\"```json\\n{}\\n```\"}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_line_before_names_the_file),
        cmocka_unit_test(names_without_an_ending_are_known_or_marked),
        cmocka_unit_test(the_info_string_names_the_file),
        cmocka_unit_test(a_first_line_may_name_the_file),
        cmocka_unit_test(sentences_and_other_words_name_nothing),
        cmocka_unit_test(a_line_names_the_next_fence_only),
        cmocka_unit_test(a_fence_ends_with_as_many_of_the_same),
        cmocka_unit_test(a_markdown_file_may_hold_fences_of_its_own),
        cmocka_unit_test(an_indented_fence_gives_its_indent_back),
        cmocka_unit_test(windows_newlines_become_plain_ones),
        cmocka_unit_test(several_files_and_what_is_said_about_them),
        cmocka_unit_test(a_lone_fence_is_the_file_that_is_expected),
        cmocka_unit_test(a_fallback_is_no_way_around_the_rules),
        cmocka_unit_test(paths_that_lead_elsewhere_are_refused),
        cmocka_unit_test(an_error_shows_no_control_bytes),
        cmocka_unit_test(long_paths_are_refused_and_longer_lines_name_nothing),
        cmocka_unit_test(a_path_is_given_once),
        cmocka_unit_test(a_fence_that_does_not_end_makes_the_answer_incomplete),
        cmocka_unit_test(a_nul_is_refused),
        cmocka_unit_test(there_are_at_most_so_many_files),
        cmocka_unit_test(ten_thousand_fences_of_prose_are_prose),
        cmocka_unit_test(files_have_a_size),
        cmocka_unit_test(fifty_megabytes_without_an_end_or_a_line_are_read_once),
        cmocka_unit_test(files_are_put_replaced_and_found),
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(json_is_found_in_its_wrapping),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
