/* SPDX-License-Identifier: Apache-2.0 */
/* image/ours.c - the images that were built here: listed, removed, swept. */
#include "image/ours.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "engine/engine.h"
#include "image/build.h"
#include "image/name.h"

#define UNTIL_SIZE 32

/* ---- which ---------------------------------------------------------------------------------- */

static bool is_agent(const char *text, struct image_name *ret)
{
    struct image_name agent;

    return image_name_parse(text, ret, NULL) == 0 &&
           image_name_parse(IMAGE_AGENT, &agent, NULL) == 0 &&
           strcmp(ret->registry, agent.registry) == 0 &&
           strcmp(ret->repository, agent.repository) == 0;
}

static bool has_label(char **labels)
{
    for (; labels && labels[0] && labels[1]; labels += 2)
        if (strcmp(labels[0], IMAGE_LABEL) == 0)
            return true;
    return false;
}

/* The part of a filter behind "agent-env:"; "" for all. */
static const char *tag_of(const char *filter)
{
    size_t len = strlen(IMAGE_AGENT);

    if (!filter || strcmp(filter, IMAGE_AGENT) == 0)
        return "";
    return strncmp(filter, IMAGE_AGENT ":", len + 1) == 0 ? filter + len + 1 : filter;
}

static bool tag_fits(const char *tag, const char *wanted)
{
    return !wanted[0] || fnmatch(wanted, tag, 0) == 0;
}

static bool is_wanted(const struct images_item *item, const char *wanted)
{
    bool has_name = false;

    for (char **tag = item->tags; *tag; tag++) {
        struct image_name name;

        if (is_agent(*tag, &name) && tag_fits(name.tag, wanted))
            return true;
        has_name = has_name || image_name_parse(*tag, &name, NULL) == 0;
    }
    return !wanted[0] && has_name && has_label(item->labels);
}

/* ---- the list ------------------------------------------------------------------------------- */

/* "<none>:<none>" is no name; what is one is shortened where it stands. */
static void tidy_tags(char **tags)
{
    char **kept = tags;

    for (char **tag = tags; *tag; tag++) {
        struct image_name name;
        char text[IMAGE_TEXT_SIZE];

        if (image_name_parse(*tag, &name, NULL) < 0) {
            free(*tag);
            continue;
        }
        if (strlen(image_name_short(&name, text)) <= strlen(*tag))
            memcpy(*tag, text, strlen(text) + 1);
        *kept++ = *tag;
    }
    *kept = NULL;
}

static int newest_first(const void *a, const void *b)
{
    const struct images_item *one = a;
    const struct images_item *other = b;

    if (one->created_s != other->created_s)
        return one->created_s < other->created_s ? 1 : -1;
    return strcmp(one->id, other->id);
}

int image_ours_list(struct engine *engine, const char *filter, bool is_any, struct images_list *ret,
                    struct gb_err *err)
{
    int r = images_list(engine, NULL, NULL, ret, err);
    size_t n = 0;

    if (r < 0)
        return r;
    for (size_t i = 0; i < ret->n; i++) {
        if (!is_any && !is_wanted(&ret->items[i], tag_of(filter))) {
            images_item_clear(&ret->items[i]);
            continue;
        }
        tidy_tags(ret->items[i].tags);
        ret->items[n++] = ret->items[i];
    }
    ret->n = n;
    if (n > 0)
        qsort(ret->items, n, sizeof(*ret->items), newest_first);
    return 0;
}

/* ---- removing ------------------------------------------------------------------------------- */

int image_ours_remove(struct engine *engine, const char *name, bool is_any, bool is_forced,
                      struct images_removed *ret, struct gb_err *err)
{
    cleanup_images_config struct images_config config = { 0 };
    struct image_name parsed;
    int r = images_inspect(engine, name, &config, err);

    if (r == -ENOENT)
        return gb_fail(err, r, GB_BLAME_CALLER,
                       "the engine has no image '%.200s'" GB_REMEDY
                       "glovebox image list --all shows what it has",
                       name);
    if (r < 0)
        return r;
    if (!is_any && !is_agent(name, &parsed) && !has_label(config.labels))
        return gb_fail(err, -EPERM, GB_BLAME_CALLER,
                       "'%.200s' was not built by glovebox" GB_REMEDY
                       "say --any if it is to go all the same",
                       name);
    return images_remove(engine, name, is_forced, ret, err);
}

/* ---- sweeping ------------------------------------------------------------------------------- */

int image_ours_prune(struct engine *engine, const struct image_prune *prune,
                     struct image_pruned *ret, struct gb_err *err)
{
    struct gb_err ignored = { 0 };
    uint64_t cache = 0;
    char until[UNTIL_SIZE];
    const char *older = prune->older_than_s > 0 ? until : NULL;
    int r;

    *ret = (struct image_pruned){ 0 };
    (void)snprintf(until, sizeof(until), "%" PRIu64 "s", prune->older_than_s);
    r = images_prune(engine, IMAGE_LABEL, prune->is_all, older, &ret->removed, &ret->reclaimed,
                     err);
    if (r < 0)
        return r;
    /* Podman has no such cache: its layers are the images that are gone by now. */
    r = images_prune_builds(engine, true, older, 0, &cache,
                            engine_is_podman(engine) ? &ignored : err);
    if (r < 0 && engine_is_podman(engine))
        return 0;
    if (r < 0)
        images_removed_clear(&ret->removed);
    ret->reclaimed += cache;
    return r;
}
