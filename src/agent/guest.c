/* SPDX-License-Identifier: Apache-2.0 */
/* agent/guest.c - the judge's part inside boxes, carried inside the binary. */
#include "agent/guest.h"

#include <string.h>

#include "box/box.h"
#include "embed/embed.h"

#define GUEST(role, name) extern const struct embed embed_##name##_zip;
#include "agent/guest.def"
#undef GUEST

static const struct {
    const char *path;
    const struct embed *file;
} guests[] = {
#define GUEST(role, name) { BOX_WORKSPACE "/.guest/" #name ".zip", &embed_##name##_zip },
#include "agent/guest.def"
#undef GUEST
};

const char *guest_path(enum guest_role role)
{
    return guests[role].path;
}

void guest_file(enum guest_role role, struct box_file *ret)
{
    *ret = (struct box_file){
        .path = guests[role].path + strlen(BOX_WORKSPACE "/"),
        .mode = 0444,
        .bytes = guests[role].file->data,
        .fd = -1,
        .size = guests[role].file->size,
    };
}
