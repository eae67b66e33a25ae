/* SPDX-License-Identifier: Apache-2.0 */
/* box/docker/groups.c - counters of a container, read where the kernel keeps them.
 *
 * Only where the engine runs on this machine and the groups can be seen.  Elsewhere the glove's own
 * words have to do.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/count.h"
#include "base/fd.h"
#include "box/docker/docker.h"
#include "wire/msg.h"

#define TREES "/sys/fs/cgroup"

/* The group of a controller in /proc/PID/cgroup: "4:memory:/docker/ID"; "" is the v2 tree's. */
static const char *group_of(char *text, const char *controller)
{
    char *rest = text;
    char *line;

    while ((line = strsep(&rest, "\n")) != NULL) {
        char *list = strchr(line, ':');
        char *path = list ? strchr(list + 1, ':') : NULL;
        char *word;

        if (!path)
            continue;
        list++;
        *path++ = '\0';
        if (!*controller && !*list)
            return path;
        while (*controller && (word = strsep(&list, ",")) != NULL)
            if (strcmp(word, controller) == 0)
                return path;
    }
    return NULL;
}

/* The number of a pid may belong to somebody else by now: the group's name holds the container's.
 */
static int group_open(int64_t pid, const char *container, const char *controller)
{
    char file[64];
    char text[4096];
    char dir[PATH_MAX];
    const char *path;

    (void)snprintf(file, sizeof(file), "/proc/%lld/cgroup", (long long)pid);
    if (fd_read_text(AT_FDCWD, file, text, sizeof(text)) < 0)
        return -1;
    path = group_of(text, controller);
    if (!path || !strstr(path, container) ||
        snprintf(dir, sizeof(dir), TREES "%s%s%s", *controller ? "/" : "", controller, path) >=
            (int)sizeof(dir))
        return -1;
    return open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

void docker_groups_open(int64_t pid, const char *container, struct docker_groups *ret)
{
    *ret = (struct docker_groups)DOCKER_GROUPS_INIT;
    if (pid <= 0)
        return;
    ret->memory = group_open(pid, container, "memory");
    ret->pids = group_open(pid, container, "pids");
    ret->cpu = group_open(pid, container, "cpuacct");
    if (ret->memory >= 0 || ret->pids >= 0)
        return;
    ret->is_v2 = true;
    ret->memory = group_open(pid, container, "");
    ret->pids = group_open(pid, container, "");
    drop_fd(&ret->cpu);
    ret->cpu = group_open(pid, container, "");
}

void docker_groups_close(struct docker_groups *groups)
{
    drop_fd(&groups->memory);
    drop_fd(&groups->pids);
    drop_fd(&groups->cpu);
}

bool docker_groups_are_seen(const struct docker_groups *groups)
{
    return groups->memory >= 0 && groups->pids >= 0 && groups->cpu >= 0;
}

struct msg_counts docker_groups_read(const struct docker_groups *groups)
{
    bool is_v2 = groups->is_v2;

    return (struct msg_counts){
        .flags =
            COUNTS_FLAG_CPU | COUNTS_FLAG_MEMORY | COUNTS_FLAG_PIDS | (is_v2 ? COUNTS_FLAG_V2 : 0),
        .cpu_ns = is_v2 ? count_of(groups->cpu, "cpu.stat", "usage_usec") * 1000
                        : count_of(groups->cpu, "cpuacct.usage", NULL),
        .memory_peak =
            count_of(groups->memory, is_v2 ? "memory.peak" : "memory.max_usage_in_bytes", NULL),
        .memory_files = count_of(groups->memory, "memory.stat", "shmem"),
        .oom_kills =
            count_of(groups->memory, is_v2 ? "memory.events" : "memory.oom_control", "oom_kill"),
        .pids_hits = count_of(groups->pids, "pids.events", "max"),
        .memory_now =
            count_of(groups->memory, is_v2 ? "memory.current" : "memory.usage_in_bytes", NULL),
        .pids_now = count_of(groups->pids, "pids.current", NULL),
    };
}
