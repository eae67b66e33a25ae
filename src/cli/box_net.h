/* SPDX-License-Identifier: Apache-2.0 */
/* cli/box_net.h - the network of a box that lives on, as commands show it. */
#pragma once

struct json_writer;
struct kept;
struct settings;

/* "open"; "closed": the process that served it has ended.  NULL: the box has none. */
const char *box_network_word(const struct settings *settings, const struct kept *kept);

/* The array "ports". */
void box_ports_json(struct json_writer *w, const struct kept *kept);
