/* SPDX-License-Identifier: Apache-2.0 */
/* image/pull.c - an image from its registry to the engine. */
#include "image/pull.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "engine/engine.h"
#include "image/auth.h"

/* In place of a remedy that knows less. */
static int help(int code, const char *remedy, struct gb_err *err)
{
    if (err) {
        err->msg[gb_err_len(err)] = '\0';
        gb_add_remedy(err, remedy);
    }
    return code;
}

/* A log-in is wanted, or would perhaps have helped. */
static int tell_log_in(int code, const struct image_name *name, const struct image_auth *auth,
                       struct gb_err *err)
{
    char shown[IMAGE_TEXT_SIZE];
    char remedy[300];

    if (auth->helper[0])
        (void)snprintf(remedy, sizeof(remedy),
                       "docker-credential-%s keeps the credentials and is not asked by glovebox: "
                       "docker pull %.150s",
                       auth->helper, image_name_short(name, shown));
    else if (image_auth_is_known(auth))
        (void)snprintf(remedy, sizeof(remedy),
                       "the credentials of '%.80s' do not do: docker login %.150s",
                       auth->username ? auth->username : "a token", name->registry);
    else
        (void)snprintf(remedy, sizeof(remedy), "docker login %.200s", name->registry);
    return help(code, remedy, err);
}

static int tell(int code, const struct image_name *name, const struct image_auth *auth,
                struct gb_err *err)
{
    char shown[IMAGE_TEXT_SIZE];

    if (code == -EACCES && err && err->blame == GB_BLAME_CALLER)
        (void)tell_log_in(code, name, auth, err);
    return gb_wrap(err, code, "pulling '%.200s'", image_name_short(name, shown));
}

static int fetch(struct engine *engine, const struct image_pull *pull,
                 const struct image_name *name, const struct stream_sink *sink, struct gb_err *err)
{
    cleanup_image_auth struct image_auth auth = { 0 };
    struct image_name bare = *name;
    char text[IMAGE_TEXT_SIZE];
    struct images_auth given;
    struct images_pull order = {
        .name = text,
        .tag = name->digest[0] ? name->digest : name->tag,
        .platform = pull->platform,
        .total_ms = pull->total_ms,
    };
    int r = image_auth_find(pull->config_dir, name->registry, &auth, err);

    if (r < 0)
        return r;
    bare.tag[0] = '\0';
    bare.digest[0] = '\0';
    (void)image_name_text(&bare, text);
    if (image_auth_is_known(&auth)) {
        given = (struct images_auth){ auth.username, auth.password, auth.server, auth.token };
        order.auth = &given;
    }
    r = images_pull(engine, &order, sink, err);
    return r < 0 ? tell(r, name, &auth, err) : 0;
}

/* "localhost:5000/x@sha256:…" of the same repository. */
static void take_digest(const struct images_config *config, const struct image_name *name,
                        struct image_pulled *ret)
{
    for (char **digest = config->digests; digest && *digest; digest++) {
        struct image_name found;

        if (image_name_parse(*digest, &found, NULL) == 0 &&
            strcmp(found.registry, name->registry) == 0 &&
            strcmp(found.repository, name->repository) == 0)
            (void)snprintf(ret->digest, sizeof(ret->digest), "%s", found.digest);
    }
}

uint64_t image_left_ms(uint64_t deadline_ns)
{
    int left_ms = clock_poll_ms(deadline_ns);

    return left_ms > 0 ? (uint64_t)left_ms : 1;
}

int image_pull(struct engine *engine, const struct image_pull *pull, const struct stream_sink *sink,
               struct image_pulled *ret, struct gb_err *err)
{
    cleanup_images_config struct images_config before = { 0 };
    cleanup_images_config struct images_config after = { 0 };
    struct image_name name;
    char text[IMAGE_TEXT_SIZE];
    int r = image_name_parse(pull->name, &name, err);

    if (r < 0)
        return r;
    image_name_complete(&name);
    if (name.digest[0])
        name.tag[0] = '\0'; /* the digest alone counts, and the engine keeps no tag with it */
    (void)image_name_text(&name, text);
    r = images_inspect(engine, text, &before, err);
    if (r < 0 && r != -ENOENT)
        return r;
    r = fetch(engine, pull, &name, sink, err);
    if (r == 0)
        r = images_inspect(engine, text, &after, err);
    if (r < 0)
        return r;
    *ret = (struct image_pulled){ .bytes = after.bytes };
    (void)image_name_short(&name, ret->name);
    memcpy(ret->id, after.id, sizeof(ret->id));
    ret->is_new = strcmp(before.id, after.id) != 0;
    take_digest(&after, &name, ret);
    return 0;
}
