/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_view.c - what a person sees of a task, line by line, and nothing that a model smuggles
 * in. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "agent/contract.h"
#include "agent/event.h"
#include "agent/judge.h"
#include "base/cleanup.h"
#include "cli/view.h"

#include <cmocka.h>

static char hours[] = "test_hours";
static char minutes[] = "test_minutes";
static char wrong[] = "expected 90, got \x1b[31m0";

struct screen {
    int pair[2];
    struct view view;
    char text[8192];
};

static void open_screen(struct screen *screen, bool is_tty)
{
    struct term term = { .is_tty = is_tty, .width = 80 };

    assert_int_equal(pipe2(screen->pair, O_CLOEXEC), 0);
    term.fd = screen->pair[1];
    view_init(&screen->view, &term, false);
}

static const char *seen(struct screen *screen)
{
    ssize_t n;

    view_end(&screen->view);
    close(screen->pair[1]);
    n = read(screen->pair[0], screen->text, sizeof(screen->text) - 1);
    close(screen->pair[0]);
    assert_true(n >= 0);
    screen->text[n] = '\0';
    return screen->text;
}

static void say(struct screen *screen, struct agent_event event)
{
    if (event.text)
        event.len = strlen(event.text);
    view_hear(&screen->view, &event);
}

static void a_failed_attempt_is_told_with_its_values(void **state)
{
    struct judge_row rows[] = {
        { .id = hours, .result = TEST_PASSED },
        { .id = minutes, .result = TEST_FAILED, .message = wrong },
    };
    struct judge_report report = {
        .outcome = OUTCOME_FAILED, .diagnosis = DIAGNOSIS_ASSERTION, .rows = rows, .n_rows = 2
    };
    struct screen screen;
    const char *text;

    (void)state;
    open_screen(&screen, false);
    say(&screen, (struct agent_event){ .kind = EVENT_ATTEMPT, .number = 1, .text = "" });
    say(&screen, (struct agent_event){ .kind = EVENT_TEXT, .text = "def f():\n" });
    say(&screen, (struct agent_event){ .kind = EVENT_ROW, .row = &rows[0] });
    say(&screen, (struct agent_event){ .kind = EVENT_REPORT, .report = &report });
    text = seen(&screen);
    assert_non_null(strstr(text, "● attempt 1"));
    assert_non_null(strstr(text, "✓✗\n"));
    assert_non_null(strstr(text, "● failed      1 of 2 tests passed; diagnosis: assertion\n"));
    assert_non_null(strstr(text, "test_minutes: expected 90, got ^[[31m0"));
    assert_null(strchr(text, '\x1b'));
    assert_null(strchr(text, '\r'));
}

static void what_is_left_out_is_counted(void **state)
{
    struct judge_row rows[6];
    struct judge_report report = {
        .outcome = OUTCOME_FAILED, .diagnosis = DIAGNOSIS_ASSERTION, .rows = rows, .n_rows = 6
    };
    char lines[2 * 40 + 1];
    struct screen screen;
    const char *text;

    (void)state;
    for (size_t i = 0; i < 6; i++)
        rows[i] = (struct judge_row){ .id = hours, .result = TEST_FAILED };
    for (size_t i = 0; i < 40; i++)
        memcpy(lines + 2 * i, i < 39 ? "x\n" : "y\n", 3);
    open_screen(&screen, false);
    say(&screen, (struct agent_event){ .kind = EVENT_REPORT, .report = &report });
    say(&screen, (struct agent_event){ .kind = EVENT_OUTPUT, .text = lines });
    text = seen(&screen);
    assert_non_null(strstr(text, "… and 2 more\n"));
    assert_non_null(strstr(text, "x\n              … 16 lines more\n"));
    assert_null(strstr(text, "y\n"));
    open_screen(&screen, false);
    say(&screen, (struct agent_event){ .kind = EVENT_MATRIX, .text = lines });
    text = seen(&screen);
    assert_non_null(strstr(text, "x\n              y\n"));
    assert_null(strstr(text, "more"));
}

static void a_models_name_cannot_command_the_terminal(void **state)
{
    struct screen screen;
    const char *text;

    (void)state;
    open_screen(&screen, true);
    say(&screen,
        (struct agent_event){ .kind = EVENT_ASK, .name = "planning", .text = "m\x1b]0;mine\a" });
    text = seen(&screen);
    assert_non_null(strstr(text, "planning (m^[]0;mine^G)"));
    assert_null(strstr(text, "\x1b]0"));
}

static void a_terminal_has_a_status_line_that_goes_away(void **state)
{
    struct screen screen;
    const char *text;
    const char *end;

    (void)state;
    open_screen(&screen, true);
    say(&screen,
        (struct agent_event){ .kind = EVENT_ASK, .name = "writing tests", .text = "scripted" });
    text = seen(&screen);
    assert_non_null(strstr(text, "writing tests (scripted)"));
    end = text + strlen(text) - strlen("\r\x1b[J");
    assert_string_equal(end, "\r\x1b[J");
}

/* What comes next begins in the first of the lines that were drawn. */
static void code_is_shown_as_it_streams_and_then_goes_away(void **state)
{
    struct screen screen;
    const char *text;

    (void)state;
    open_screen(&screen, true);
    say(&screen,
        (struct agent_event){ .kind = EVENT_ASK, .name = "writing code", .text = "scripted" });
    screen.view.drawn_ns = 0;
    say(&screen, (struct agent_event){ .kind = EVENT_TEXT, .text = "def f():\n\treturn \x1b[2J" });
    say(&screen, (struct agent_event){ .kind = EVENT_NOTE, .text = "so it is" });
    text = seen(&screen);
    assert_non_null(strstr(text, "│ def f():"));
    assert_non_null(strstr(text, "│  return ^[[2J"));
    assert_null(strstr(text, "\x1b[2J"));
    assert_non_null(strstr(text, "\r\x1b[2A\x1b[J● note        so it is\n"));
}

static void a_plan_is_not_shown_as_it_comes(void **state)
{
    struct screen screen;

    (void)state;
    open_screen(&screen, true);
    say(&screen, (struct agent_event){ .kind = EVENT_ASK, .name = "planning", .text = "m" });
    screen.view.drawn_ns = 0;
    say(&screen, (struct agent_event){ .kind = EVENT_TEXT, .text = "{\"action\"" });
    assert_null(strstr(seen(&screen), "action"));
}

static void the_end_tells_what_it_took(void **state)
{
    struct screen screen;
    const char *text;

    (void)state;
    open_screen(&screen, false);
    say(&screen, (struct agent_event){
                     .kind = EVENT_END,
                     .name = "passed",
                     .text = "It parses durations.\nIt refuses others.",
                     .spent = { .calls = 4, .tokens = 3210, .wall_ms = 1500 },
                 });
    text = seen(&screen);
    assert_non_null(
        strstr(text, "● passed      4 model calls, 3210 tokens, cost unknown, 1.5 s\n"));
    assert_non_null(strstr(text, "It refuses others.\n"));
}

static void tests_are_counted_by_class(void **state)
{
    struct judge_test items[] = {
        { .id = hours, .class = CLASS_NORMAL },
        { .id = minutes, .class = CLASS_STRESS, .origin = ORIGIN_HELD_BACK },
    };
    struct judge_tests tests = { .items = items, .n = 2 };
    struct screen screen;

    (void)state;
    open_screen(&screen, false);
    say(&screen, (struct agent_event){ .kind = EVENT_TESTS, .tests = &tests });
    assert_non_null(
        strstr(seen(&screen), "2: 1 normal, 0 edge, 0 invalid, 1 stress; 1 held back\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_attempt_is_told_with_its_values),
        cmocka_unit_test(what_is_left_out_is_counted),
        cmocka_unit_test(a_models_name_cannot_command_the_terminal),
        cmocka_unit_test(a_terminal_has_a_status_line_that_goes_away),
        cmocka_unit_test(code_is_shown_as_it_streams_and_then_goes_away),
        cmocka_unit_test(a_plan_is_not_shown_as_it_comes),
        cmocka_unit_test(the_end_tells_what_it_took),
        cmocka_unit_test(tests_are_counted_by_class),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
