/* SPDX-License-Identifier: Apache-2.0 */
/* box/native/subids.c - the subordinate ids that an ordinary user may give to boxes. */
#include "box/native/subids.h"

#include <errno.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/num.h"

#define UID_TOOL "/usr/bin/newuidmap"
#define GID_TOOL "/usr/bin/newgidmap"

const char *subids_user(uid_t uid, char name[static SUBIDS_NAME_MAX])
{
    char room[4096];
    struct passwd pwd;
    struct passwd *found = NULL;
    bool is_known = getpwuid_r(uid, &pwd, room, sizeof(room), &found) == 0 && found &&
                    strlen(pwd.pw_name) < SUBIDS_NAME_MAX;

    (void)snprintf(name, SUBIDS_NAME_MAX, "%s", is_known ? pwd.pw_name : "USER");
    return name;
}

/* "name:first:count"; the largest range of the user wins. */
static void read_line(char *line, const char *name, const char *number, uint64_t *first,
                      uint64_t *count)
{
    char *save = NULL;
    const char *who = strtok_r(line, ":\n", &save);
    const char *from = strtok_r(NULL, ":\n", &save);
    const char *n = strtok_r(NULL, ":\n", &save);
    uint64_t f;
    uint64_t c;

    if (!n || (strcmp(who, name) != 0 && strcmp(who, number) != 0))
        return;
    if (num_parse_u64(from, 1, UINT32_MAX, &f) < 0 || num_parse_u64(n, 1, UINT32_MAX - f, &c) < 0)
        return;
    if (c > *count) {
        *first = f;
        *count = c;
    }
}

static int read_range(const char *path, const char *name, uid_t uid, uint64_t *first,
                      uint64_t *count)
{
    FILE *file = fopen(path, "re");
    char number[16];
    char line[512];

    *count = 0;
    if (!file)
        return -errno;
    (void)snprintf(number, sizeof(number), "%u", (unsigned)uid);
    while (fgets(line, sizeof(line), file))
        read_line(line, name, number, first, count);
    (void)fclose(file);
    return *count >= 3 ? 0 : -ENOENT;
}

int subids_find(uid_t uid, struct subids *ret, struct gb_err *err)
{
    char name[SUBIDS_NAME_MAX];
    uint64_t uids = 0;
    uint64_t gids = 0;
    uint64_t n_uids = 0;
    uint64_t n_gids = 0;

    (void)subids_user(uid, name);
    if (access(UID_TOOL, X_OK) < 0 || access(GID_TOOL, X_OK) < 0)
        return gb_fail(err, -ENOENT, GB_BLAME_HOST, "newuidmap and newgidmap are not installed");
    if (read_range("/etc/subuid", name, uid, &uids, &n_uids) < 0 ||
        read_range("/etc/subgid", name, uid, &gids, &n_gids) < 0)
        return gb_fail(err, -ENOENT, GB_BLAME_HOST,
                       "user %s has no subordinate ids in /etc/subuid and /etc/subgid", name);
    *ret = (struct subids){
        .uid_base = (uint32_t)uids,
        .gid_base = (uint32_t)gids,
        .count = (uint32_t)(n_uids < n_gids ? n_uids : n_gids),
        .uid_tool = UID_TOOL,
        .gid_tool = GID_TOOL,
    };
    return 0;
}
