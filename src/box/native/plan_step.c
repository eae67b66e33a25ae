/* SPDX-License-Identifier: Apache-2.0 */
/* box/native/plan_step.c - the steps of a plan, one function a kind. */
#include "box/native/plan_step.h"

#include <string.h>

#include "base/buf.h"

void plan_step(struct plan_compiler *c, uint8_t type, const void *msg)
{
    static const size_t most = WIRE_FRAME_MAX;
    int n;

    if (c->r < 0)
        return;
    c->r = buf_reserve(c->out, most);
    if (c->r < 0)
        return;
    n = msg_encode(type, 0, 0, msg, (uint8_t *)c->out->data + c->out->len, most);
    if (n < 0)
        c->r = n;
    else
        c->out->len += (size_t)n;
}

bool plan_has(const struct plan_compiler *c, enum wall wall)
{
    return c->walls & 1u << wall;
}

void plan_put_dir(struct plan_compiler *c, const char *target, unsigned mode, unsigned owner)
{
    struct msg_dir dir = {
        .wall = WALL_MOUNT, .mode = mode, .uid = owner, .gid = owner, .target = target
    };

    plan_step(c, MSG_DIR, &dir);
}

void plan_put_link(struct plan_compiler *c, const char *target, const char *content)
{
    struct msg_link link = { .wall = WALL_MOUNT, .target = target, .content = content };

    plan_step(c, MSG_LINK, &link);
}

void plan_put_file(struct plan_compiler *c, const char *target, const char *text)
{
    struct msg_file file = {
        .wall = WALL_MOUNT,
        .mode = 0644,
        .target = target,
        .bytes = { .size = (uint32_t)strlen(text), .bytes = (const uint8_t *)text },
    };

    plan_step(c, MSG_FILE, &file);
}

void plan_put_bind(struct plan_compiler *c, const char *source, const char *target, uint32_t flags)
{
    struct msg_bind bind = {
        .wall = WALL_MOUNT, .flags = flags, .source = source, .target = target
    };

    plan_step(c, MSG_BIND, &bind);
}

void plan_put_tmpfs(struct plan_compiler *c, const char *target, enum wall wall, uint64_t bytes,
                    uint64_t inodes, unsigned mode)
{
    struct msg_tmpfs tmpfs = {
        .wall = wall,
        .flags = OWN_TREE | MOUNT_FLAG_NOATIME,
        .mode = mode,
        .bytes = bytes,
        .inodes = inodes,
        .target = target,
    };

    plan_step(c, MSG_TMPFS, &tmpfs);
}

void plan_put_mount(struct plan_compiler *c, enum wall wall, const char *type, const char *target,
                    uint32_t flags, const char *const *options)
{
    char packed[256];
    struct msg_mount mount = { .wall = wall, .flags = flags, .type = type, .target = target };

    (void)wire_strs_pack(options, packed, sizeof(packed), &mount.options);
    plan_step(c, MSG_MOUNT, &mount);
}

void plan_put_mask(struct plan_compiler *c, const char *target)
{
    struct msg_mask mask = { .wall = WALL_MOUNT, .target = target };

    plan_step(c, MSG_MASK, &mask);
}
