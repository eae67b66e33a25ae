/* SPDX-License-Identifier: Apache-2.0 */
/* cli/cmd_box_ports.c - `glovebox box ports`: ports of this machine that lead to a box. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "box/port.h"
#include "cli/box_net.h"
#include "cli/box_open.h"
#include "cli/command.h"
#include "json/writer.h"

#define TEXT_MAX 65536

struct ports_args {
    const char *user;
    bool is_json;
};

#define AT(field) .offset = offsetof(struct ports_args, field)
static const struct opt options[] = {
    { OPT_TEXT, "user", 0, AT(user), "NAME", "the box of that user" },
    { OPT_FLAG, "json", 0, AT(is_json), NULL, "one JSON document" },
    { OPT_KEY, .key = KEY_COLOR },
    OPT_HELP_ROW,
    { 0 },
};

static void put_json(const struct box_call *call, const char *network, struct buf *ret)
{
    struct json_writer w;

    json_writer_init(&w, ret, true);
    json_object_begin(&w, NULL);
    json_put_u64(&w, "schema", 1);
    json_put_str(&w, "id", call->kept.id);
    json_put_str(&w, "network", network);
    box_ports_json(&w, &call->kept);
    json_object_end(&w);
    (void)json_writer_end(&w);
}

static int put_text(const struct box_call *call, const char *network, struct buf *ret,
                    struct gb_err *err)
{
    struct port ports[BOX_PORTS_MAX];
    size_t n = 0;
    int r = call->kept.ports ? port_parse_list(call->kept.ports, ports, &n, err) : 0;

    for (size_t i = 0; r == 0 && i < n; i++)
        (void)buf_printf(ret, strchr(ports[i].ip, ':') ? "[%s]:%u -> %u\n" : "%s:%u -> %u\n",
                         ports[i].ip, ports[i].host, ports[i].box);
    if (n > 0 && network && strcmp(network, "closed") == 0)
        (void)buf_puts(ret, "closed: the process that served them has ended\n");
    return r;
}

static int ports_call(const struct call *call, struct gb_err *err)
{
    struct ports_args args = { 0 };
    cleanup_box_call struct box_call opened = { 0 };
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
    const char *network;
    int r = box_call_alone(call, &args, &args.user, &opened, err);

    if (r == 0)
        r = box_call_attach(&opened, args.user, err);
    if (r != 0)
        return r < 0 ? r : 0;
    network = box_network_word(&opened.settings, &opened.kept);
    if (args.is_json)
        put_json(&opened, network, &text);
    else
        r = put_text(&opened, network, &text, err);
    if (r == 0 && text.len == 0)
        (void)dprintf(STDERR_FILENO, "No ports lead to this box.\n");
    return r < 0 || text.len == 0 ? r : command_print(&text, err);
}

const struct cmd cmd_box_ports = {
    .name = "box ports",
    .help = "List the ports of this machine that lead to a box",
    .usages = { "BOX", "--user NAME" },
    .options = options,
    .run = ports_call,
};
