/* SPDX-License-Identifier: Apache-2.0 */
/* spawner/idmap.c - who the ids of a box are on the host. */
#include "spawner/idmap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"

#define NUMBER_MAX 12

int idmap_read(const struct plan *plan, struct idmap *ret)
{
    ret->n = 0;
    for (size_t i = 0; i < plan->n_steps; i++) {
        struct msg_id id;

        if (plan->steps[i].type != MSG_ID)
            continue;
        if (ret->n == IDMAP_MAX || plan_decode(plan, i, &id) < 0)
            return -EPROTO;
        ret->ids[ret->n].inside = id.inside;
        ret->ids[ret->n].offset = id.offset;
        ret->n++;
    }
    return ret->n > 0 ? 0 : -EPROTO;
}

uint32_t idmap_first_uid(const struct plan *plan, uint32_t slot)
{
    return plan->head.uid_base + slot * plan->head.stride;
}

uint32_t idmap_first_gid(const struct plan *plan, uint32_t slot)
{
    return plan->head.gid_base + slot * plan->head.stride;
}

static int map_write(const struct idmap *map, uint32_t first, pid_t pid, const char *file)
{
    char path[64];
    char text[IDMAP_MAX * (2 * NUMBER_MAX + 4)];
    size_t used = 0;

    for (size_t i = 0; i < map->n; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%u %u 1\n", map->ids[i].inside,
                                 first + map->ids[i].offset);
    (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
    return fd_write_text(AT_FDCWD, path, text);
}

/* newuidmap PID inside outside count …  It is set-user-id root and checks /etc/subuid itself. */
static int map_by_tool(const char *tool, const struct idmap *map, uint32_t first, pid_t pid)
{
    char numbers[1 + 3 * IDMAP_MAX][NUMBER_MAX];
    char *argv[2 + 3 * IDMAP_MAX + 1];
    char name[] = "newidmap";
    size_t n = 0;
    pid_t child;
    int status;

    (void)snprintf(numbers[n++], NUMBER_MAX, "%d", (int)pid);
    for (size_t i = 0; i < map->n; i++) {
        (void)snprintf(numbers[n++], NUMBER_MAX, "%u", map->ids[i].inside);
        (void)snprintf(numbers[n++], NUMBER_MAX, "%u", first + map->ids[i].offset);
        (void)snprintf(numbers[n++], NUMBER_MAX, "1");
    }
    argv[0] = name;
    for (size_t i = 0; i < n; i++)
        argv[i + 1] = numbers[i];
    argv[n + 1] = NULL;
    child = fork();
    if (child < 0)
        return -errno;
    if (child == 0) {
        char *env[] = { NULL };

        (void)execve(tool, argv, env);
        _exit(127);
    }
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -errno;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EPERM;
}

int idmap_apply(const struct plan *plan, const struct idmap *map, uint32_t slot, pid_t pid)
{
    uint32_t uid = idmap_first_uid(plan, slot);
    uint32_t gid = idmap_first_gid(plan, slot);
    int r;

    if (plan->head.uid_tool[0]) {
        r = map_by_tool(plan->head.uid_tool, map, uid, pid);
        return r < 0 ? r : map_by_tool(plan->head.gid_tool, map, gid, pid);
    }
    r = map_write(map, uid, pid, "uid_map");
    return r < 0 ? r : map_write(map, gid, pid, "gid_map");
}
