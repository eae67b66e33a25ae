/* SPDX-License-Identifier: Apache-2.0 */
/* cli/box_document.c - a box that lives on as a JSON document. */
#include "cli/box_document.h"

#include "box/kept.h"
#include "cli/box_net.h"
#include "json/writer.h"

void box_document_put(struct json_writer *w, const struct settings *settings,
                      const struct kept *kept, const struct box_news *news)
{
    const struct limits *limits = &kept->box.receipt.limits;

    json_object_begin(w, NULL);
    json_put_str(w, "id", kept->id);
    json_put_str(w, "user", kept->user);
    json_put_str(w, "backend", kept->box.receipt.backend);
    json_put_str(w, "image", kept->image);
    json_put_str(w, "workdir", kept->workdir);
    json_put_u64(w, "created_ms", kept->created_ms);
    json_put_u64(w, "ttl_ms", kept->ttl_ms);
    json_put_u64(w, "ttl_left_ms", news->ttl_ms);
    json_put_u64(w, "runs", news->runs);
    json_put_u64(w, "memory_bytes", limits->memory_bytes);
    json_put_double(w, "cpus", (double)limits->cpu_milli / 1000, 3);
    json_put_u64(w, "pids", limits->pids);
    json_put_u64(w, "disk_bytes", limits->disk_bytes);
    json_put_str(w, "net", kept->net_rules);
    json_put_str(w, "network", box_network_word(settings, kept));
    box_ports_json(w, kept);
    json_object_end(w);
}
