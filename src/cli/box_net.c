/* SPDX-License-Identifier: Apache-2.0 */
/* cli/box_net.c - the network of a box that lives on, as commands show it. */
#include "cli/box_net.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "box/kept.h"
#include "box/port.h"
#include "box/switchboard.h"
#include "conf/settings.h"
#include "json/writer.h"

const char *box_network_word(const struct settings *settings, const struct kept *kept)
{
    struct gb_err ignored = { 0 };
    cleanup_close int dir = -1;

    if (!kept->net_rules && !kept->ports)
        return NULL;
    dir = kept_dir(settings->state_dir, kept, &ignored);
    return dir >= 0 && switchboard_lives(dir, NULL) ? "open" : "closed";
}

void box_ports_json(struct json_writer *w, const struct kept *kept)
{
    struct port ports[BOX_PORTS_MAX];
    struct gb_err ignored = { 0 };
    size_t n = 0;

    if (kept->ports && port_parse_list(kept->ports, ports, &n, &ignored) < 0)
        n = 0;
    json_array_begin(w, "ports");
    for (size_t i = 0; i < n; i++) {
        json_object_begin(w, NULL);
        json_put_str(w, "host_ip", ports[i].ip);
        json_put_u64(w, "host_port", ports[i].host);
        json_put_u64(w, "port", ports[i].box);
        json_object_end(w);
    }
    json_array_end(w);
}
