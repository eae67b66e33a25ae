/* SPDX-License-Identifier: Apache-2.0 */
/* engine/volume.h - named volumes of the engine.  Errors are those of engine/engine.h. */
#pragma once

#include <limits.h>
#include <stddef.h>

struct engine;
struct gb_err;

/* There already is fine.  labels: key, value, …, NULL; may be NULL. */
int volume_create(struct engine *engine, const char *name, const char *const *labels,
                  struct gb_err *err);

/* One in memory: empty again when no container has it any more.  mount_options: as mount(8) takes
 * them. */
int volume_create_tmpfs(struct engine *engine, const char *name, const char *mount_options,
                        const char *const *labels, struct gb_err *err);

/* Its labels (key, value, …, NULL), the caller's to free by volume_labels_free(); -ENOENT. */
int volume_labels(struct engine *engine, const char *name, char ***ret, struct gb_err *err);
void volume_labels_free(char ***labels);

/* Where the engine has it on its own machine, a clean absolute path; -ENOENT, -EBADMSG. */
int volume_path(struct engine *engine, const char *name, char ret[static PATH_MAX],
                struct gb_err *err);

struct volume_item {
    char *name;
    char **labels; /* key, value, …, NULL */
};

struct volume_list {
    struct volume_item *items;
    size_t n;
};

/* Those that have a label, with all of theirs, in one answer.  The caller owes a
 * volume_list_clear(); on failure there is nothing to clear. */
#define VOLUME_LIST_MAX 65536
int volume_list(struct engine *engine, const char *label, struct volume_list *ret,
                struct gb_err *err);
void volume_list_clear(struct volume_list *list);

/* Gone already is fine; -EBUSY: a container has it. */
int volume_remove(struct engine *engine, const char *name, struct gb_err *err);
