/* SPDX-License-Identifier: Apache-2.0 */
/* tool/schema.h - what a tool takes, as JSON Schema. */
#pragma once

struct json_writer;
struct tool;

void schema_put(struct json_writer *w, const char *key, const struct tool *tool);
