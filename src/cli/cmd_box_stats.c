/* SPDX-License-Identifier: Apache-2.0 */
/* cli/cmd_box_stats.c - `glovebox box stats`: what a box uses now. */
#include <errno.h>
#include <inttypes.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/num.h"
#include "cli/box_open.h"
#include "cli/command.h"
#include "json/writer.h"

#define TEXT_MAX 65536

struct stats_args {
    const char *user;
    bool is_json;
};

#define AT(field) .offset = offsetof(struct stats_args, field)
static const struct opt options[] = {
    { OPT_TEXT, "user", 0, AT(user), "NAME", "the box of that user" },
    { OPT_FLAG, "json", 0, AT(is_json), NULL, "one JSON document" },
    { OPT_KEY, .key = KEY_COLOR },
    OPT_HELP_ROW,
    { 0 },
};

static void put_json(const struct box_call *call, const struct box_usage *usage, struct buf *ret)
{
    const struct limits *limits = &call->kept.box.receipt.limits;
    struct json_writer w;

    json_writer_init(&w, ret, true);
    json_object_begin(&w, NULL);
    json_put_u64(&w, "schema", 1);
    json_put_str(&w, "id", call->kept.id);
    json_put_u64(&w, "runs", call->news.runs);
    json_put_u64(&w, "processes", usage->processes);
    json_put_u64(&w, "processes_max", limits->pids);
    json_put_u64(&w, "memory_bytes", usage->memory_bytes);
    json_put_u64(&w, "memory_peak_bytes", usage->memory_peak);
    json_put_u64(&w, "memory_max_bytes", limits->memory_bytes);
    json_put_u64(&w, "files_bytes", usage->memory_files);
    json_put_u64(&w, "files_max_bytes", limits->disk_bytes);
    json_put_double(&w, "cpu_ms", (double)usage->cpu_ns / (double)NS_PER_MS, 3);
    json_object_end(&w);
    (void)json_writer_end(&w);
}

static void put_text(const struct box_call *call, const struct box_usage *usage, struct buf *ret)
{
    const struct limits *limits = &call->kept.box.receipt.limits;
    char now[NUM_TEXT_MAX];
    char most[NUM_TEXT_MAX];
    char peak[NUM_TEXT_MAX];

    (void)buf_printf(ret, "runs       %" PRIu32 " running\n", call->news.runs);
    (void)buf_printf(ret, "processes  %" PRIu64 " of %" PRIu64 "\n", usage->processes,
                     (uint64_t)limits->pids);
    (void)buf_printf(
        ret, "memory     %s of %s, at most %s so far\n", num_size_text(usage->memory_bytes, now),
        num_size_text(limits->memory_bytes, most), num_size_text(usage->memory_peak, peak));
    (void)buf_printf(ret, "files      %s of %s\n", num_size_text(usage->memory_files, now),
                     num_size_text(limits->disk_bytes, most));
    (void)buf_printf(ret, "CPU time   %.3f s\n", (double)usage->cpu_ns / (double)NS_PER_S);
}

static int stats_call(const struct call *call, struct gb_err *err)
{
    struct stats_args args = { 0 };
    cleanup_box_call struct box_call opened = { 0 };
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
    struct box_usage usage;
    int r = box_call_alone(call, &args, &args.user, &opened, err);

    if (r == 0)
        r = box_call_attach(&opened, args.user, err);
    if (r == 0)
        r = box_usage(opened.box, &usage, err);
    if (r != 0)
        return r < 0 ? r : 0;
    if (args.is_json)
        put_json(&opened, &usage, &text);
    else
        put_text(&opened, &usage, &text);
    return command_print(&text, err);
}

const struct cmd cmd_box_stats = {
    .name = "box stats",
    .help = "Tell what a box uses now",
    .usages = { "BOX", "--user NAME" },
    .options = options,
    .run = stats_call,
};
