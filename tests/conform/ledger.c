/* SPDX-License-Identifier: Apache-2.0 */
/* conform/ledger.c - what the boxes of one run directory hold of this machine, counted. */
#include "ledger.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "box/box.h"
#include "box/native/native.h"

#include <cmocka.h>

#define PLAN_TEXT_MAX (1024 * 1024UL)

/* Podman forgets a container before it has removed its groups. */
#define PODMAN_REMOVES_MS 30000

/* ---- scope ---------------------------------------------------------------------------------- */

/* The value behind "key=" in a line of a printed plan. */
static void word_after(const char *line, const char *key, char *ret, size_t size)
{
    const char *at = strstr(line, key);

    assert_non_null(at);
    at += strlen(key);
    at += *at == '"';
    (void)snprintf(ret, size, "%.*s", (int)strcspn(at, " \"\n"), at);
}

/* Groups below the engine's whose names begin so; an engine may have others of its own there. */
static void engine_scope(const char *group, const char *tag, struct ledger_scope *ret)
{
    DIR *dir = opendir("/sys/fs/cgroup");
    const struct dirent *entry;

    assert_non_null(dir);
    (void)snprintf(ret->tag, sizeof(ret->tag), "%s", tag);
    ret->patience_ms = *tag ? PODMAN_REMOVES_MS : 0;
    (void)snprintf(ret->process_tag, sizeof(ret->process_tag), "/%s/%s", group, tag);
    while ((entry = readdir(dir)) != NULL) {
        char *tree = ret->trees[ret->n_trees];

        if (entry->d_type != DT_DIR || strcmp(entry->d_name, "..") == 0)
            continue;
        assert_true(ret->n_trees < LEDGER_TREES_MAX);
        (void)snprintf(tree, PATH_MAX, "/sys/fs/cgroup/%s/%s", entry->d_name, group);
        ret->n_trees += access(tree, F_OK) == 0;
    }
    closedir(dir);
}

static void native_scope(const struct box_spec *spec, struct ledger_scope *ret)
{
    cleanup_buf struct buf text = BUF_INIT(PLAN_TEXT_MAX);
    struct gb_err err = { 0 };

    assert_int_equal(native_plan_text(spec, &text, &err), 0);
    for (const char *line = text.data; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, "GROUP ", 6) != 0)
            continue;
        assert_true(ret->n_trees < LEDGER_TREES_MAX);
        word_after(line, " dir=", ret->trees[ret->n_trees++], PATH_MAX);
        word_after(line, " name=", ret->tag, sizeof(ret->tag));
    }
    memcpy(ret->process_tag, ret->tag, sizeof(ret->tag));
}

void ledger_scope(const struct box_spec *spec, struct ledger_scope *ret)
{
    const char *group = getenv("CONFORM_GROUP");
    const char *tag = getenv("CONFORM_TAG");

    *ret = (struct ledger_scope){ .n_trees = 0 };
    if (strcmp(spec->backend, box_docker.name) == 0)
        engine_scope(group ? group : "docker", tag ? tag : "", ret);
    else
        native_scope(spec, ret);
}

/* ---- counting ------------------------------------------------------------------------------- */

static unsigned count_entries(const char *path, const char *prefix, unsigned char type)
{
    DIR *dir = opendir(path);
    const struct dirent *entry;
    unsigned n = 0;

    if (!dir)
        return 0;
    while ((entry = readdir(dir)) != NULL)
        n += entry->d_type == type && entry->d_name[0] != '.' &&
             strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
    closedir(dir);
    return n;
}

/* The dead that their parent has not waited for yet run no more. */
static bool is_alive(int proc_fd, const char *pid)
{
    char path[NAME_MAX + 8];
    char text[1024];
    const char *end;

    (void)snprintf(path, sizeof(path), "%s/stat", pid);
    if (fd_read_text(proc_fd, path, text, sizeof(text)) <= 0)
        return false;
    end = strrchr(text, ')');
    return end && end[1] == ' ' && end[2] != 'Z' && end[2] != 'X';
}

static unsigned count_processes(const char *tag)
{
    DIR *dir = opendir("/proc");
    const struct dirent *entry;
    unsigned n = 0;

    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL) {
        char path[NAME_MAX + 8];
        char text[8192];

        if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
            continue;
        (void)snprintf(path, sizeof(path), "%s/cgroup", entry->d_name);
        n += fd_read_text(dirfd(dir), path, text, sizeof(text)) > 0 && strstr(text, tag) &&
             is_alive(dirfd(dir), entry->d_name);
    }
    closedir(dir);
    return n;
}

static unsigned count_bytes(const char *path, char what)
{
    char text[65536];
    unsigned n = 0;

    assert_true(fd_read_text(AT_FDCWD, path, text, sizeof(text)) >= 0);
    for (const char *at = text; *at; at++)
        n += *at == what;
    return n;
}

void ledger_take(const struct ledger_scope *scope, struct ledger *ret)
{
    char path[64];

    *ret = (struct ledger){ 0 };
    for (size_t i = 0; i < scope->n_trees; i++)
        ret->groups += count_entries(scope->trees[i], scope->tag, DT_DIR);
    if (scope->n_trees)
        ret->processes = count_processes(scope->process_tag);
    (void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)gettid());
    ret->children = count_bytes(path, ' ');
    ret->fds = count_entries("/proc/self/fd", "", DT_LNK);
    ret->mounts = count_bytes("/proc/self/mountinfo", '\n');
}

static bool settles_in(const struct ledger_scope *scope, const struct ledger *before, unsigned ms,
                       struct ledger *ret)
{
    uint64_t deadline_ns = clock_after_ms(ms);

    for (;;) {
        ledger_take(scope, ret);
        if (memcmp(ret, before, sizeof(*ret)) == 0)
            return true;
        if (clock_poll_ms(deadline_ns) == 0)
            return false;
        (void)poll(NULL, 0, 5);
    }
}

bool ledger_settles(const struct ledger_scope *scope, const struct ledger *before,
                    struct ledger *ret)
{
    return settles_in(scope, before, scope->patience_ms, ret);
}

void ledger_expect(const struct ledger_scope *scope, const struct ledger *before)
{
    ledger_await(scope, before, scope->patience_ms);
}

void ledger_await(const struct ledger_scope *scope, const struct ledger *before, unsigned ms)
{
    struct ledger now;

    if (settles_in(scope, before, ms, &now))
        return;
    fail_msg("left behind: groups %u → %u, processes %u → %u, children %u → %u, "
             "descriptors %u → %u, mounts %u → %u",
             before->groups, now.groups, before->processes, now.processes, before->children,
             now.children, before->fds, now.fds, before->mounts, now.mounts);
}
