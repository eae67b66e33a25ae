/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run_order.h - what a task was told when it was begun: all that resuming and replaying need.
 *
 *    {"order": {…}, "host": {…}}
 *
 * The order holds on any machine, and is recorded; what stands under host (paths, settings given as
 * flags) matters only here.  The store keeps both as the task's options.  Contents of files are not
 * in it (cli/run_contents.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "agent/budget.h"
#include "agent/task.h"
#include "base/cleanup.h"
#include "base/id.h"
#include "package/set.h"

struct buf;
struct gb_err;

/* Lists of strings end with NULL; NULL is an empty one. */
struct run_order {
    char id[ID_SIZE];
    char *language;                  /* NULL: the contract says */
    char *effort;                    /* NULL: the models' own */
    bool installs;                   /* what contract and code want */
    char *packages[N_PACKAGE_KINDS]; /* --package …, as package_set_write() has them; NULL: none */
    char *net;                       /* --net: what the operator grants; NULL: nothing was said */
    char *net_denied;                /* what he denies, when it was begun; NULL: nothing */
    char *user;                      /* --user: whose task it is; NULL: nobody's */
    enum ask_mode ask;
    unsigned candidates;
    struct budget budget;
    char **files;  /* --file, as paths in the box */
    char **before; /* files of the run that is continued */
    bool has_contract;
    bool has_past;       /* of a folder from elsewhere: what was done (agent/checkpoint.h) */
    unsigned past_steps; /* that it took */
};

struct run_host {
    char **flags; /* name of a key, its text, name, text, … */
    char *out;    /* absolute; NULL */
    bool is_forced;
    char **sources;         /* of order.files: path on the host, digest, path, digest, … */
    bool has_parents_files; /* their contents are the parent task's, not the host's */
    char **delivered;       /* by an end that the task has had: path, digest, path, digest, … */
    char *from; /* the folder whose checkpoint has order.before; NULL: the parent task has it */
};

struct run_options {
    struct run_order order;
    struct run_host host;
};

void run_order_clear(struct run_order *order);

#define cleanup_order cleanup_with(run_order_clear)

/* Without what is the host's. */
int run_order_text(const struct run_order *order, struct buf *ret);
int run_order_parse(const char *json, size_t len, struct run_order *ret, struct gb_err *err);

int run_options_text(const struct run_options *options, struct buf *ret);

/* They come from the store, and are checked all the same.  ret starts as { 0 }. */
int run_options_parse(const char *json, struct run_options *ret, struct gb_err *err);
void run_options_clear(struct run_options *options);

#define cleanup_options cleanup_with(run_options_clear)
