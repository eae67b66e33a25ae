/* SPDX-License-Identifier: Apache-2.0 */
/* base/group_line.c - /proc/PID/cgroup: in which control groups a process is. */
#include "base/group_line.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"

int group_lines_read(pid_t pid, char *text, size_t size)
{
    char path[64] = "/proc/self/cgroup";
    ssize_t n;

    if (pid > 0)
        (void)snprintf(path, sizeof(path), "/proc/%lld/cgroup", (long long)pid);
    n = fd_read_text(AT_FDCWD, path, text, size);
    return n < 0 ? (int)n : 0;
}

bool group_line_next(const char **at, struct group_line *ret)
{
    while (**at) {
        const char *line = *at;
        size_t len = strcspn(line, "\n");
        const char *list = memchr(line, ':', len);
        const char *path = list ? memchr(list + 1, ':', len - (size_t)(list + 1 - line)) : NULL;

        *at = line + len + (line[len] == '\n');
        if (!path)
            continue;
        ret->controllers = list + 1;
        ret->n_controllers = (size_t)(path - ret->controllers);
        ret->path = path + 1;
        ret->n_path = len - (size_t)(ret->path - line);
        return true;
    }
    return false;
}

/* Does the comma-separated list hold the name?  An empty list holds the empty one alone. */
static bool list_has(const char *list, size_t len, const char *name)
{
    size_t want = strlen(name);

    if (want == 0)
        return len == 0;
    while (len >= want) {
        const char *comma = memchr(list, ',', len);
        size_t n = comma ? (size_t)(comma - list) : len;

        if (n == want && memcmp(list, name, n) == 0)
            return true;
        if (!comma)
            return false;
        list += n + 1;
        len -= n + 1;
    }
    return false;
}

bool group_line_find(const char *text, const char *controller, struct group_line *ret)
{
    while (group_line_next(&text, ret))
        if (list_has(ret->controllers, ret->n_controllers, controller))
            return true;
    return false;
}

bool group_line_ends(const struct group_line *line, const char *suffix)
{
    size_t len = strlen(suffix);

    return line->n_path >= len && memcmp(line->path + line->n_path - len, suffix, len) == 0;
}

bool group_line_has(const struct group_line *line, const char *name)
{
    const char *at = line->path;
    const char *end = line->path + line->n_path;
    size_t want = strlen(name);

    while (at < end) {
        const char *slash = memchr(at, '/', (size_t)(end - at));
        size_t n = slash ? (size_t)(slash - at) : (size_t)(end - at);

        if (n == want && memcmp(at, name, n) == 0)
            return true;
        at += n + 1;
    }
    return false;
}
