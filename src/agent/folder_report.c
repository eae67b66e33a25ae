/* SPDX-License-Identifier: Apache-2.0 */
/* agent/folder_report.c - what came of a program, as a text for people. */
#include <stdint.h>

#include "agent/folder.h"
#include "base/buf.h"
#include "json/utf8.h"

/* A terminal would obey it: all controls but newline and tab. */
static bool is_command(uint32_t point)
{
    if (point == '\n' || point == '\t')
        return false;
    return point < ' ' || (point >= 0x7f && point <= 0x9f);
}

static void put_printable(const char *bytes, size_t len, struct buf *ret)
{
    const uint8_t *at = (const uint8_t *)bytes;

    for (size_t i = 0, n; i < len; i += n) {
        uint32_t point = 0;

        n = utf8_decode(at + i, len - i, &point);
        if (n > 0 && !is_command(point)) {
            (void)buf_add(ret, at + i, n);
            continue;
        }
        n = n > 0 ? n : 1;
        for (size_t k = 0; k < n; k++)
            (void)buf_printf(ret, "\\x%02x", at[i + k]);
    }
}

static void put_stream(const char *title, const char *bytes, size_t len, struct buf *ret)
{
    (void)buf_printf(ret, "\n%s:\n", title);
    put_printable(bytes, len, ret);
    if (len > 0 && bytes[len - 1] != '\n')
        (void)buf_putc(ret, '\n');
}

int folder_report_text(const struct folder_report *report, struct buf *ret)
{
    (void)buf_printf(ret, "Timed out: %s\nExit code: %d\n", report->is_timed_out ? "yes" : "no",
                     report->exit_code);
    put_stream("STDOUT", report->output, report->output_len, ret);
    put_stream("STDERR", report->errors, report->errors_len, ret);
    return buf_error(ret);
}
