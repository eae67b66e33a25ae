/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_template.c - the Dockerfile that a context without one gets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "image/dockerfile.h"
#include "image/dockerfile_check.h"
#include "image/ignore.h"
#include "image/template.h"

#include <cmocka.h>

static enum template seen(const char *const *paths, struct template_facts *facts)
{
    *facts = (struct template_facts){ 0 };
    for (; *paths; paths++)
        template_see(facts, *paths);
    return template_choose(facts);
}

static void the_files_of_a_context_choose(void **state)
{
    static const struct {
        const char *paths[5];
        enum template chosen;
    } rows[] = {
        { { NULL }, TEMPLATE_NONE },
        { { "main.py", NULL }, TEMPLATE_NONE },
        { { "requirements.txt", NULL }, TEMPLATE_PYTHON },
        { { "package.json", "requirements.txt", NULL }, TEMPLATE_PYTHON },
        { { "requirements.txt", "pyproject.toml", "uv.lock", NULL }, TEMPLATE_PYTHON },
        { { "pyproject.toml", NULL }, TEMPLATE_UV },
        { { "pyproject.toml", "uv.lock", "package.json", NULL }, TEMPLATE_UV },
        { { "uv.lock", NULL }, TEMPLATE_NONE },
        { { "package.json", NULL }, TEMPLATE_NODE },
        { { "package-lock.json", NULL }, TEMPLATE_NONE },
        { { "sub/requirements.txt", NULL }, TEMPLATE_NONE },
        { { "requirements.txt", "Dockerfile", NULL }, TEMPLATE_NONE },
        { { "requirements.txt", "sub/Dockerfile.dev", NULL }, TEMPLATE_NONE },
        { { "requirements.txt", "Dockerfiles", "dockerfile", NULL }, TEMPLATE_PYTHON },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        struct template_facts facts;

        assert_int_equal(seen(rows[i].paths, &facts), rows[i].chosen);
    }
}

static void expect(const char *const *paths, const char *wanted)
{
    cleanup_buf struct buf text = BUF_INIT(DOCKERFILE_MAX);
    struct template_facts facts;
    enum template which = seen(paths, &facts);

    assert_int_equal(template_write(which, &facts, &text), 0);
    assert_string_equal(text.data, wanted);
}

static void what_the_facts_fill_in(void **state)
{
    (void)state;
    expect((const char *const[]){ "requirements.txt", "app.py", NULL },
           "FROM python:3-alpine\nWORKDIR /app\nCOPY requirements.txt ./\n"
           "RUN pip install --no-cache-dir -r requirements.txt\nCOPY . .\n"
           "CMD [\"python\", \"app.py\"]\n");
    expect((const char *const[]){ "package.json", NULL },
           "FROM node:20-alpine\nWORKDIR /app\nCOPY package.json ./\nRUN npm install\nCOPY . .\n"
           "CMD [\"npm\", \"start\"]\n");
    expect((const char *const[]){ "package.json", "package-lock.json", NULL },
           "FROM node:20-alpine\nWORKDIR /app\nCOPY package.json package-lock.json ./\n"
           "RUN npm ci\nCOPY . .\nCMD [\"npm\", \"start\"]\n");
    expect((const char *const[]){ "pyproject.toml", "uv.lock", "main.py", "app.py", NULL },
           "FROM python:3.12-slim\n"
           "ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=/app\n"
           "RUN pip install --no-cache-dir uv\nWORKDIR /app\n"
           "ENV PATH=\"/app/.venv/bin:$PATH\"\nCOPY pyproject.toml uv.lock ./\n"
           "RUN uv sync --no-cache --no-install-project --frozen\nCOPY . .\n"
           "CMD [\"python\", \"main.py\"]\n");
}

static void the_image_with_uv_has_no_project(void **state)
{
    cleanup_buf struct buf text = BUF_INIT(DOCKERFILE_MAX);

    (void)state;
    assert_int_equal(template_write_uv_image(&text), 0);
    assert_string_equal(text.data,
                        "FROM python:3.12-slim\n"
                        "ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=/app\n"
                        "RUN pip install --no-cache-dir uv\nWORKDIR /app\n");
}

static void every_template_passes_the_check(void **state)
{
    static const struct dockerfile_policy policy = { 0 };

    (void)state;
    for (enum template which = TEMPLATE_PYTHON; which <= TEMPLATE_NODE; which++)
        for (int all = 0; all < 2; all++) {
            cleanup_buf struct buf text = BUF_INIT(DOCKERFILE_MAX);
            cleanup_dockerfile struct dockerfile file = { 0 };
            struct template_facts facts = { .has_uv_lock = all, .has_package_lock = all };
            struct dockerfile_findings found;

            assert_int_equal(template_write(which, &facts, &text), 0);
            assert_null(strchr(text.data, '@'));
            assert_int_equal(dockerfile_parse(text.data, text.len, &file, NULL), 0);
            assert_true(dockerfile_check(&file, &policy, &found));
        }
}

static void the_usual_dockerignore(void **state)
{
    static const char *const out[] = { ".git/config", ".gitignore",  "a.md",  ".env",
                                       ".venv/x",     "__pycache__", "a.pyc", "node_modules/x",
                                       "a.log",       ".DS_Store" };
    static const char *const in[] = { "main.py", "sub/a.md", "requirements.txt" };
    cleanup_ignore struct ignore *ignore = NULL;
    const char *text = template_dockerignore();

    (void)state;
    assert_int_equal(ignore_new(text, strlen(text), &ignore, NULL), 0);
    for (size_t i = 0; i < N_ELEMENTS(out); i++)
        assert_int_equal(ignore_matches(ignore, out[i], NULL), 1);
    for (size_t i = 0; i < N_ELEMENTS(in); i++)
        assert_int_equal(ignore_matches(ignore, in[i], NULL), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_files_of_a_context_choose),
        cmocka_unit_test(what_the_facts_fill_in),
        cmocka_unit_test(the_image_with_uv_has_no_project),
        cmocka_unit_test(every_template_passes_the_check),
        cmocka_unit_test(the_usual_dockerignore),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
