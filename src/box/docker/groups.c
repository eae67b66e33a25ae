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
#include "base/group_line.h"
#include "box/docker/docker.h"
#include "wire/msg.h"

#define TREES "/sys/fs/cgroup"

/* The number of a pid may belong to somebody else by now: the group's name holds the container's.
 */
static int group_open(int64_t pid, const char *container, const char *controller)
{
    char text[4096];
    char dir[PATH_MAX];
    struct group_line line;

    if (group_lines_read((pid_t)pid, text, sizeof(text)) < 0 ||
        !group_line_find(text, controller, &line) ||
        !memmem(line.path, line.n_path, container, strlen(container)) ||
        snprintf(dir, sizeof(dir), TREES "%s%s%.*s", *controller ? "/" : "", controller,
                 (int)line.n_path, line.path) >= (int)sizeof(dir))
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

int docker_groups_cpu_ns(const struct docker_groups *groups, uint64_t *ret)
{
    uint64_t value;
    int r = groups->is_v2 ? count_read(groups->cpu, "cpu.stat", "usage_usec", &value)
                          : count_read(groups->cpu, "cpuacct.usage", NULL, &value);

    if (r == 0)
        *ret = groups->is_v2 ? value * 1000 : value;
    return r;
}

/* Notes what was read, or why not: a controller that is not there counts nothing. */
static int noted(int r, uint32_t flag, struct msg_counts *counts)
{
    if (r == 0)
        counts->flags |= flag;
    return r == -ENOENT || r == -ENODATA ? 0 : r;
}

static int read_deciding(const struct docker_groups *groups, struct msg_counts *ret)
{
    int r = noted(docker_groups_cpu_ns(groups, &ret->cpu_ns), COUNTS_FLAG_CPU, ret);

    if (r == 0)
        r = noted(count_read(groups->memory, groups->is_v2 ? "memory.events" : "memory.oom_control",
                             "oom_kill", &ret->oom_kills),
                  COUNTS_FLAG_MEMORY, ret);
    if (r == 0)
        r = noted(count_read(groups->pids, "pids.events", "max", &ret->pids_hits), COUNTS_FLAG_PIDS,
                  ret);
    return r;
}

int docker_groups_read(const struct docker_groups *groups, struct msg_counts *ret)
{
    bool is_v2 = groups->is_v2;

    *ret = (struct msg_counts){ .flags = is_v2 ? COUNTS_FLAG_V2 : 0 };
    /* Told, but nothing hangs on them. */
    (void)count_read(groups->memory, is_v2 ? "memory.peak" : "memory.max_usage_in_bytes", NULL,
                     &ret->memory_peak);
    (void)count_read(groups->memory, "memory.stat", "shmem", &ret->memory_files);
    (void)count_read(groups->memory, is_v2 ? "memory.current" : "memory.usage_in_bytes", NULL,
                     &ret->memory_now);
    (void)count_read(groups->pids, "pids.current", NULL, &ret->pids_now);
    return read_deciding(groups, ret);
}
