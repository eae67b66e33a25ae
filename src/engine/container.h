/* SPDX-License-Identifier: Apache-2.0 */
/* engine/container.h - containers: made, started, looked at, removed.
 *
 * The body of a container is made from the fields of struct container_spec and from nothing else.
 * Lists of strings are NULL-terminated; lists of pairs are key, value, key, value, NULL.  Errors
 * are those of engine/engine.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct engine;
struct gb_err;
struct json_value;

#define CONTAINER_ID_SIZE   129
#define CONTAINER_WORDS_MAX 300
#define CONTAINER_LIST_MAX  10000

struct container_mount {
    const char *type;   /* "volume", "bind", "tmpfs"; NULL ends a list */
    const char *source; /* of a tmpfs: NULL */
    const char *target;
    const char *part; /* of a volume: a file or directory in it, from 1.45 on; NULL: all of it */
    bool is_read_only;
    bool is_no_copy; /* a volume does not get what the image has there */
};

struct container_ulimit {
    const char *name; /* NULL ends a list */
    uint64_t soft;
    uint64_t hard;
};

struct container_port {
    const char *port; /* "3000/tcp"; NULL ends a list */
    const char *host_ip;
    const char *host_port; /* "": the engine chooses one */
};

/* NULL, 0 and false leave a thing to the engine, unless said otherwise. */
struct container_spec {
    const char *name; /* the container's own; NULL: the engine invents one */
    const char *image;
    const char *platform; /* "linux/amd64" */
    const char *const *entrypoint;
    const char *const *cmd;
    const char *const *env;    /* "K=V" */
    const char *const *labels; /* pairs */
    const char *workdir;
    const char *user;
    const char *hostname;
    bool is_tty;
    bool has_stdin;    /* open until the first attached one ends it */
    bool is_unchecked; /* what the image says to be run for its health is not */
    bool
        is_offline; /* loopback is all: the engine makes no network for it, and no files of names */
    /* the host's part */
    const char *network_mode;
    const char *const *name_servers;
    const char *const *name_search; /* "." is nowhere */
    const char *runtime;
    const char *ipc_mode;
    const char *cgroupns_mode;
    const char *log_driver;
    uint64_t memory_bytes;
    uint64_t memory_swap_bytes; /* with memory: equal to it is no swap */
    uint64_t nano_cpus;
    uint64_t pids;
    uint64_t shm_bytes;
    int oom_score_adj;
    bool is_first; /* its program is PID 1, also where the engine puts an init of its own before all
                    */
    bool is_read_only;
    bool is_auto_removed; /* by the engine, when it ends */
    const char *const *cap_drop;
    const char *const *cap_add;
    const char *const *security_opts;
    const char *const
        *masked; /* paths, instead of the engine's own list; those not there are fine */
    const char *const *tmpfs; /* pairs: path, options */
    const struct container_mount *mounts;
    const struct container_ulimit *ulimits;
    const struct container_port *ports;
};

/* What the engine says it cannot do of what was asked, a line each; cut to this. */
#define CONTAINER_WARNINGS_SIZE 2048

/* -ENOENT: no such image.  -EBUSY: the name is taken.  ret_warnings: NULL, or room for so much. */
int container_create(struct engine *engine, const struct container_spec *spec,
                     char ret_id[static CONTAINER_ID_SIZE], char *ret_warnings, struct gb_err *err);

/* Started already is fine. */
int container_start(struct engine *engine, const char *id, struct gb_err *err);

/* signal: "KILL".  -EBUSY: it does not run. */
int container_kill(struct engine *engine, const char *id, const char *signal, struct gb_err *err);

/* Kills it if need be and removes its anonymous volumes.  Gone already, or going, is fine. */
int container_remove(struct engine *engine, const char *id, struct gb_err *err);

struct container_state {
    char id[CONTAINER_ID_SIZE];
    char status[32]; /* "created", "running", "exited", … */
    bool is_running;
    bool is_oom_killed;
    int64_t exit_code;
    int64_t pid; /* on the engine's machine; 0: none */
    char error[CONTAINER_WORDS_MAX];
};
int container_inspect(struct engine *engine, const char *id, struct container_state *ret,
                      struct gb_err *err);

/* All that the engine says of it; the caller's to free. */
int container_inspect_json(struct engine *engine, const char *id, struct json_value **ret,
                           struct gb_err *err);

struct container_item {
    char id[CONTAINER_ID_SIZE];
    char state[32];
    char *image;
    char **labels; /* pairs */
};

struct container_list {
    struct container_item *items;
    size_t n;
};

/* Those that have all of these labels ("key" or "key=value"), running or not.  -EMSGSIZE when there
 * are more than CONTAINER_LIST_MAX. */
int container_list(struct engine *engine, const char *const *labels, struct container_list *ret,
                   struct gb_err *err);
void container_list_clear(struct container_list *list);

#define cleanup_container_list cleanup_with(container_list_clear)

/* NULL when it has none of that name. */
const char *container_label(const struct container_item *item, const char *key);
