/* SPDX-License-Identifier: Apache-2.0 */
/* box/native/subids.h - the subordinate ids that an ordinary user may give to boxes. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct gb_err;

struct subids {
    uint32_t uid_base;
    uint32_t gid_base;
    uint32_t count;       /* the smaller of the two ranges */
    const char *uid_tool; /* newuidmap */
    const char *gid_tool;
};

/* The user's name, "USER" where nothing knows it. */
#define SUBIDS_NAME_MAX 256
const char *subids_user(uid_t uid, char name[static SUBIDS_NAME_MAX]);

/* From /etc/subuid, /etc/subgid and the two tools; err names what is missing. */
int subids_find(uid_t uid, struct subids *ret, struct gb_err *err);
