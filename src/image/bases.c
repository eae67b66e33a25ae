/* SPDX-License-Identifier: Apache-2.0 */
/* image/bases.c - the images that a Dockerfile uses, looked at before the build. */
#include "image/bases.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "engine/images.h"
#include "image/dockerfile.h"
#include "image/dockerfile_check.h"
#include "image/pull.h"

/* What follows the "=" of a flag; NULL: the item has none of that name. */
static const char *flag_of(const struct dockerfile_item *item, const char *name)
{
    for (char **at = item->flags; *at; at++)
        if (strncmp(*at, name, strlen(name)) == 0)
            return *at + strlen(name);
    return NULL;
}

/* What an instruction begins with, or copies from; NULL: neither. */
static const char *source_of(const struct dockerfile_item *item)
{
    if (item->is_trigger)
        return NULL;
    return item->op == DOCKERFILE_FROM   ? item->words[0]
           : item->op == DOCKERFILE_COPY ? flag_of(item, "--from=")
                                         : NULL;
}

/* Is the source of the item at that place an earlier stage, or nothing at all? */
static bool is_inside(const struct dockerfile *dockerfile, size_t at, const char *base)
{
    bool is_number =
        dockerfile->items[at].op == DOCKERFILE_COPY && !base[strspn(base, "0123456789")];

    if (strcmp(base, "scratch") == 0 || is_number)
        return true;
    for (size_t i = 0; i < at; i++) {
        char **words = dockerfile->items[i].words;

        if (dockerfile->items[i].op == DOCKERFILE_FROM && words[0] && words[1] && words[2] &&
            strcasecmp(words[2], base) == 0)
            return true;
    }
    return false;
}

/* NULL where a builder would put its own platform in. */
static const char *platform_of(const struct dockerfile_item *item)
{
    const char *platform = item->op == DOCKERFILE_FROM ? flag_of(item, "--platform=") : NULL;

    return platform && !strchr(platform, '$') ? platform : NULL;
}

static int look(struct engine *engine, const struct dockerfile_item *item,
                const struct bases_order *order, struct images_config *ret, struct gb_err *err)
{
    const char *own = platform_of(item);
    const struct image_pull pull = {
        .name = source_of(item),
        .config_dir = order->config_dir,
        .platform = own ? own : order->platform,
        .total_ms = image_left_ms(order->deadline_ns),
    };
    struct image_pulled pulled;
    struct image_name name;
    char text[IMAGE_TEXT_SIZE];
    int r = image_name_parse(pull.name, &name, err);

    if (r < 0)
        return r;
    image_name_complete(&name);
    if (name.digest[0])
        name.tag[0] = '\0';
    (void)image_name_text(&name, text);
    r = order->is_pull ? -ENOENT : images_inspect(engine, text, ret, err);
    if (r != -ENOENT)
        return r;
    r = image_pull(engine, &pull, order->sink, &pulled, err);
    return r < 0 ? r : images_inspect(engine, text, ret, err);
}

/* One instruction that nobody has seen in the Dockerfile. */
static int check_trigger(const struct dockerfile_item *from, const char *trigger,
                         const struct bases_order *order, struct dockerfile_findings *ret,
                         struct gb_err *err)
{
    cleanup_dockerfile struct dockerfile parsed = { 0 };
    struct dockerfile_policy policy = *order->policy;
    int r = dockerfile_parse(trigger, strlen(trigger), &parsed, err);

    if (r < 0)
        return gb_wrap(err, r, "line %u: a trigger of '%.100s'", from->line, from->words[0]);
    policy.is_trigger = true;
    if (dockerfile_check(&parsed, &policy, ret))
        return 0;
    for (size_t i = 0; i < ret->n; i++)
        ret->items[i].line = from->line;
    return gb_fail(err, -EPERM, GB_BLAME_CALLER,
                   "line %u: a trigger (ONBUILD) of '%.100s': %s" GB_REMEDY
                   "build on another image, or on one without triggers",
                   from->line, from->words[0], ret->items[0].message);
}

/* Triggers are of an image that is built on. */
static int prepare(struct engine *engine, const struct dockerfile_item *item,
                   const struct bases_order *order, struct dockerfile_findings *ret,
                   struct gb_err *err)
{
    cleanup_images_config struct images_config config = { 0 };
    int r = look(engine, item, order, &config, err);

    if (item->op != DOCKERFILE_FROM)
        return r;
    for (char **trigger = config.triggers; r == 0 && *trigger; trigger++)
        r = check_trigger(item, *trigger, order, ret, err);
    return r;
}

int bases_prepare(struct engine *engine, const struct dockerfile *dockerfile,
                  const struct bases_order *order, struct dockerfile_findings *ret,
                  struct gb_err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < dockerfile->n; i++) {
        const char *source = source_of(&dockerfile->items[i]);

        if (source && !is_inside(dockerfile, i, source))
            r = prepare(engine, &dockerfile->items[i], order, ret, err);
    }
    return r;
}
