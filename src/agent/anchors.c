/* SPDX-License-Identifier: Apache-2.0 */
/* agent/anchors.c - tests that have passed in any attempt. */
#include "agent/anchors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/judge.h"
#include "base/buf.h"

#define BROKEN_MAX (16 << 10)

static int make_room(struct anchors *anchors, size_t n)
{
    bool *more;

    if (n <= anchors->n)
        return 0;
    more = reallocarray(anchors->has_passed, n, sizeof(*more));
    if (!more)
        return -ENOMEM;
    memset(more + anchors->n, 0, (n - anchors->n) * sizeof(*more));
    anchors->has_passed = more;
    anchors->n = n;
    return 0;
}

static bool is_shown(const struct judge_test *test)
{
    return !test->is_withdrawn && test->origin != ORIGIN_HELD_BACK;
}

int anchors_take(struct anchors *anchors, const struct judge_tests *tests,
                 const struct judge_report *report)
{
    cleanup_buf struct buf broken = BUF_INIT(BROKEN_MAX);

    free(anchors->broken);
    anchors->broken = NULL;
    if (make_room(anchors, tests->n) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < tests->n; i++) {
        const struct judge_row *row = judge_report_row(report, tests->items[i].id);

        if (row && row->result != TEST_PASSED && anchors->has_passed[i] &&
            is_shown(&tests->items[i]) && broken.len + strlen(row->id) + 3 < BROKEN_MAX)
            (void)buf_printf(&broken, "%s%s", broken.len > 0 ? ", " : "", row->id);
        anchors->has_passed[i] |= row && row->result == TEST_PASSED;
    }
    if (broken.len > 0 && !(anchors->broken = buf_take(&broken)))
        return -ENOMEM;
    return 0;
}

int anchors_text(const struct anchors *anchors, const struct judge_tests *tests, struct buf *ret)
{
    for (size_t i = 0; i < tests->n && i < anchors->n; i++)
        if (anchors->has_passed[i] && is_shown(&tests->items[i]))
            (void)buf_printf(ret, "%s\n", tests->items[i].id);
    return buf_error(ret);
}

void anchors_clear(struct anchors *anchors)
{
    free(anchors->has_passed);
    free(anchors->broken);
    *anchors = (struct anchors){ 0 };
}
