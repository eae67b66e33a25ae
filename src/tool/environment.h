/* SPDX-License-Identifier: Apache-2.0 */
/* tool/environment.h - an environment: a box that lives on, and the host directory that is its
 * workspace.
 *
 * It is found by the next call because it is a kept box (box/kept.h) whose directory holds, besides
 * the box's own record,
 *
 *    environment.json   the workspace, and the variables of its runs
 *    last_run.json      what its last run wrote (tool/last_run.h)
 *
 * Both lie on the host: nothing in the box reaches them.  They go with the box.
 */
#pragma once

#include "box/kept.h"

struct gb_err;
struct port;
struct tool_host;

#define ENVIRONMENT_PREFIX "adde-workspace-"

struct environment {
    struct kept kept;
    char *workspace;  /* absolute, on the host */
    char **variables; /* name, value, …, NULL */
};

void environment_clear(struct environment *environment);
#define cleanup_environment cleanup_with(environment_clear)

struct environment_spec {
    const struct box_spec *box;
    uint64_t ttl_ms;
    char *const *variables; /* name, value, …, NULL; may be NULL */
    const char *net_rules;  /* of a network through the link; NULL: none */
    struct port *ports;     /* of the host that lead to it through the link */
    size_t n_ports;
};

/* Makes box and workspace; on failure there is neither. */
int environment_make(const struct tool_host *host, const struct environment_spec *spec,
                     struct environment *ret, struct gb_err *err);

/* By its whole id.  -ENOENT: none, or a box that is no environment. */
int environment_find(const struct tool_host *host, const char *id, struct environment *ret,
                     struct gb_err *err);

/* Destroys the box.  The workspace stays when there is something in it, unless is_all. */
int environment_remove(const struct tool_host *host, const struct environment *environment,
                       bool is_all, struct gb_err *err);
