/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_guest.c - the judge's files for boxes: all there, each with its own modules only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "agent/guest.h"
#include "box/box.h"

#include <cmocka.h>

static bool holds(const struct box_file *file, const char *text)
{
    return memmem(file->bytes, file->size, text, strlen(text)) != NULL;
}

static void every_role_has_a_file_that_lies_where_its_path_says(void **state)
{
    (void)state;
    for (int role = 0; role < N_GUESTS; role++) {
        struct box_file file;
        const char *path = guest_path(role);

        guest_file(role, &file);
        assert_memory_equal(path, BOX_WORKSPACE "/", strlen(BOX_WORKSPACE "/"));
        assert_string_equal(path + strlen(BOX_WORKSPACE "/"), file.path);
        assert_true(file.size > 0);
        assert_memory_equal(file.bytes, "PK", 2);
        assert_true(holds(&file, "__main__.pyc"));
        assert_true(holds(&file, "__main__.py"));
    }
}

static void tests_and_tested_code_have_their_own_modules_only(void **state)
{
    static const char *const of_runner[] = { "gb_judge/run.py", "gb_judge/minipytest.py",
                                             "gb_judge/asserts.py", "gb_judge/proxies.py" };
    static const char *const of_server[] = { "gb_judge/serve.py", "gb_judge/cover.py" };
    struct box_file runner;
    struct box_file server;

    (void)state;
    guest_file(GUEST_RUNNER, &runner);
    guest_file(GUEST_SERVER, &server);
    assert_true(holds(&runner, "gb_judge/wire.py"));
    assert_true(holds(&server, "gb_judge/wire.py"));
    for (size_t i = 0; i < sizeof(of_runner) / sizeof(of_runner[0]); i++) {
        assert_true(holds(&runner, of_runner[i]));
        assert_false(holds(&server, of_runner[i]));
    }
    for (size_t i = 0; i < sizeof(of_server) / sizeof(of_server[0]); i++) {
        assert_true(holds(&server, of_server[i]));
        assert_false(holds(&runner, of_server[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_role_has_a_file_that_lies_where_its_path_says),
        cmocka_unit_test(tests_and_tested_code_have_their_own_modules_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
