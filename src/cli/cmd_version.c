/* SPDX-License-Identifier: Apache-2.0 */
/* cli/cmd_version.c - `glovebox version`: which glovebox this is. */
#include "base/buf.h"
#include "base/err.h"
#include "cli/command.h"
#include "gen/version.h"
#include "json/writer.h"

struct version_args {
    bool is_json;
};

static const struct opt options[] = {
    { OPT_FLAG, "json", .offset = offsetof(struct version_args, is_json), .help = "as JSON" },
    OPT_HELP_ROW,
    { 0 },
};

static void write_json(struct buf *ret)
{
    struct json_writer w;

    json_writer_init(&w, ret, true);
    json_object_begin(&w, NULL);
    json_put_u64(&w, "schema", 1);
    json_put_str(&w, "version", GB_VERSION);
    json_put_str(&w, "commit", GB_COMMIT);
    json_object_end(&w);
    (void)json_writer_end(&w); /* command_print() looks at the buf */
}

static int print_version(const struct version_args *args, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(1024);

    if (args->is_json)
        write_json(&text);
    else
        buf_puts(&text, "glovebox " GB_VERSION " (" GB_COMMIT ")\n");
    return command_print(&text, err);
}

static int version_run(const struct call *call, struct gb_err *err)
{
    struct version_args args = { 0 };
    struct parsed parsed = { 0 };
    int r = command_parse(call, &args, &parsed, err);

    if (r == 0)
        r = command_no_operands(&parsed, err);
    if (r == 0)
        r = print_version(&args, err);
    parsed_clear(&parsed);
    return r > 0 ? 0 : r;
}

const struct cmd cmd_version = {
    .name = "version",
    .help = "Tell which glovebox this is",
    .usages = { "[--json]" },
    .options = options,
    .run = version_run,
};
