/* SPDX-License-Identifier: Apache-2.0 */
/* conf/yaml.h - a YAML mapping of plain values, flattened.
 *
 *    limits:                 →  "limits.timeout"   line 2, "30s"
 *      timeout: 30s             "host.toolchains"  line 4, { "/opt/go" }
 *    host:
 *      toolchains: [/opt/go]
 *
 * Only what a configuration needs: one document, mappings, lists of plain values.  Anchors,
 * aliases, tags and lists of mappings are errors.  The text may come with somebody's repository:
 * its size is bounded by the reader of the file, its depth and number of keys here, and nothing in
 * it can make a document grow.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct gb_err;

#define YAML_DEPTH_MAX   16
#define YAML_ENTRIES_MAX 1024

struct yaml_entry {
    char *key;    /* sections joined by dots */
    char *text;   /* NULL for a list */
    char **items; /* NULL-terminated; NULL for a plain value */
    unsigned line;
    bool is_empty; /* "key:" with nothing behind it, or null */
};

struct conf_yaml {
    struct yaml_entry *entries; /* in the order of the file */
    size_t n_entries;
};

/* Reads text.  section is NULL, or "a.b": then only what stands below it is read and checked, and
 * the rest of the file, somebody else's, may hold anything that is YAML.  Errors tell
 * "PATH:LINE: …".  The caller owes a conf_yaml_clear(), also after a failure. */
int conf_yaml_parse(struct conf_yaml *yaml, const char *path, const char *text, size_t len,
                    const char *section, struct gb_err *err);
void conf_yaml_clear(struct conf_yaml *yaml);
