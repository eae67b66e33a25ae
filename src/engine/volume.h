/* SPDX-License-Identifier: Apache-2.0 */
/* engine/volume.h - named volumes of the engine.  Errors are those of engine/engine.h. */
#pragma once

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

/* The names of those that have a label, NULL-terminated, the caller's to free by
 * volume_names_free(). */
int volume_list(struct engine *engine, const char *label, char ***ret, struct gb_err *err);
void volume_names_free(char ***names);

/* Gone already is fine; -EBUSY: a container has it. */
int volume_remove(struct engine *engine, const char *name, struct gb_err *err);
