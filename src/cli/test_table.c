/* SPDX-License-Identifier: Apache-2.0 */
/* cli/test_table.c - the tests of a task, counted by class. */
#include "cli/test_table.h"

#include "agent/task.h"
#include "base/buf.h"

enum column {
    COLUMN_PASSED,
    COLUMN_FAILED,
    COLUMN_NOT_RUN,
    COLUMN_WITHDRAWN,
    COLUMN_HELD_BACK,
    N_COLUMNS,
};

static void count(const struct agent_outcome *outcome, unsigned counts[N_CLASSES][N_COLUMNS])
{
    for (size_t i = 0; i < outcome->tests.n; i++) {
        const struct judge_test *test = &outcome->tests.items[i];
        const struct judge_row *row = judge_report_row(&outcome->report, test->id);
        unsigned *counted = counts[test->class];

        counted[COLUMN_HELD_BACK] += test->origin == ORIGIN_HELD_BACK;
        if (test->is_withdrawn)
            counted[COLUMN_WITHDRAWN]++;
        else if (row && row->result == TEST_PASSED)
            counted[COLUMN_PASSED]++;
        else
            counted[row ? COLUMN_FAILED : COLUMN_NOT_RUN]++;
    }
}

static int put_row(const char *name, const unsigned *c, struct buf *ret)
{
    return buf_printf(ret, "%-8s %7u %7u %8u %10u %10u", name, c[COLUMN_PASSED], c[COLUMN_FAILED],
                      c[COLUMN_NOT_RUN], c[COLUMN_WITHDRAWN], c[COLUMN_HELD_BACK]);
}

int test_table(const struct agent_outcome *outcome, struct buf *ret)
{
    unsigned counts[N_CLASSES][N_COLUMNS] = { 0 };
    unsigned sums[N_COLUMNS] = { 0 };

    count(outcome, counts);
    (void)buf_printf(ret, "%-8s %7s %7s %8s %10s %10s\n", "", "passed", "failed", "not run",
                     "withdrawn", "held back");
    for (int class = 0; class < N_CLASSES; class ++) {
        const unsigned *c = counts[class];

        put_row(test_class_name((enum test_class) class), c, ret);
        (void)buf_putc(ret, '\n');
        for (int i = 0; i < N_COLUMNS; i++)
            sums[i] += c[i];
    }
    return put_row("all", sums, ret);
}
