/* SPDX-License-Identifier: Apache-2.0 */
/* engine/images.h - images of the engine: listed, looked at, pulled, built, removed.
 *
 * Lists of strings are NULL-terminated; lists of pairs are key, value, …, NULL.  Errors are those
 * of engine/engine.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"

struct engine;
struct gb_err;
struct stream_sink;

#define IMAGES_ID_SIZE  129
#define IMAGES_LIST_MAX 10000

/* ---- looking ---- */

struct images_item {
    char id[IMAGES_ID_SIZE]; /* "sha256:…" */
    char **tags;
    char **labels; /* pairs */
    uint64_t created_s;
    uint64_t bytes;
};

struct images_list {
    struct images_item *items;
    size_t n;
};

/* Those whose name matches one of references ("agent-env:*") and that have all of the labels ("k",
 * "k=v"); NULL: any. */
int images_list(struct engine *engine, const char *const *references, const char *const *labels,
                struct images_list *ret, struct gb_err *err);
void images_list_clear(struct images_list *list);
void images_item_clear(struct images_item *item); /* what it holds */

#define cleanup_images_list cleanup_with(images_list_clear)

struct images_config {
    char id[IMAGES_ID_SIZE];
    char os[32];
    char architecture[32];
    char *user;
    char *workdir;
    char **env;
    char **entrypoint;
    char **cmd;
    char **labels;   /* pairs */
    char **digests;  /* "repo@sha256:…" */
    char **triggers; /* ONBUILD instructions, without that word */
    uint64_t bytes;
};

/* -ENOENT has the pull as its remedy. */
int images_inspect(struct engine *engine, const char *name, struct images_config *ret,
                   struct gb_err *err);
void images_config_clear(struct images_config *config);

#define cleanup_images_config cleanup_with(images_config_clear)

/* ---- making ---- */

/* NULL: not set. */
struct images_auth {
    const char *username;
    const char *password;
    const char *server; /* "registry.example:5000" */
    const char *identity_token;
};

struct images_pull {
    const char *name;     /* without a tag */
    const char *tag;      /* or a digest; never NULL, for that would be all of them */
    const char *platform; /* NULL: the engine's */
    const struct images_auth *auth;
    uint64_t total_ms; /* 0: an hour */
};
int images_pull(struct engine *engine, const struct images_pull *pull,
                const struct stream_sink *sink, struct gb_err *err);

struct images_build {
    const char *const *tags;
    const char *dockerfile;        /* in the context; NULL: "Dockerfile" */
    const char *const *build_args; /* pairs */
    const char *platform;
    const char *network_mode;
    bool is_no_cache;
    uint64_t total_ms;                                       /* 0: an hour */
    ssize_t (*source)(void *user, void *bytes, size_t size); /* the context as tar */
    void *user;
};

/* By the classic builder.  ret_id: "" when the engine did not say.  -EREMOTEIO: a step failed; the
 * text that the sink got tells which. */
int images_build(struct engine *engine, const struct images_build *build,
                 const struct stream_sink *sink, char ret_id[static IMAGES_ID_SIZE],
                 struct gb_err *err);

/* ---- removing ---- */

/* What went, in order: "Untagged: agent-env:x", "Deleted: sha256:…".  -EBUSY: a container has it.
 */
struct images_removed {
    char **lines;
    size_t untagged; /* of the lines */
    size_t deleted;
};
int images_remove(struct engine *engine, const char *name, bool is_forced,
                  struct images_removed *ret, struct gb_err *err);
void images_removed_clear(struct images_removed *removed);

#define cleanup_images_removed cleanup_with(images_removed_clear)

/* Images with that label that no container has: those without a name, or all.  until as below. */
int images_prune(struct engine *engine, const char *label, bool is_all, const char *until,
                 struct images_removed *ret, uint64_t *ret_reclaimed, struct gb_err *err);

/* The cache of builds.  until ("24h"): only what is older; NULL: any.  Podman has none (-ENOENT).
 */
int images_prune_builds(struct engine *engine, bool is_all, const char *until, uint64_t keep_bytes,
                        uint64_t *ret_reclaimed, struct gb_err *err);
