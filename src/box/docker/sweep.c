/* SPDX-License-Identifier: Apache-2.0 */
/* box/docker/sweep.c - whose a container is, and the removal of those that nobody holds any more.
 *
 * Every container carries the labels of who made it.  An instance is one run directory as the
 * processes of one pid namespace of one machine see it; only there the number of an owner means
 * anything, and only what the own instance left behind is ever removed.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "box/docker/docker.h"
#include "engine/container.h"
#include "engine/engine.h"

#define HASH_START 14695981039346656037ULL
#define HASH_PRIME 1099511628211ULL

/* How long after its time a container that runs is left to its glove, which ends it itself. */
#define LATE_S 120

static uint64_t mix(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * HASH_PRIME;
    return (hash ^ 0xff) * HASH_PRIME; /* between two texts */
}

static void name_instance(const char *run_dir, char ret[static DOCKER_MARK_SIZE])
{
    char machine[64] = "";
    char space[64] = "";
    char user[24];
    uint64_t hash = HASH_START;

    (void)fd_read_text(AT_FDCWD, "/etc/machine-id", machine, sizeof(machine));
    if (readlink("/proc/self/ns/pid", space, sizeof(space) - 1) < 0)
        space[0] = '\0';
    (void)snprintf(user, sizeof(user), "%u", (unsigned)geteuid());
    hash = mix(mix(mix(mix(hash, machine), space), user), run_dir ? run_dir : "");
    (void)snprintf(ret, DOCKER_MARK_SIZE, "%016" PRIx64, hash);
}

/* When the process was started, in the kernel's ticks; 0: there is none of that number.  Numbers
 * come again, the pair does not. */
static uint64_t start_of(int64_t pid)
{
    char file[64];
    char text[1024];
    const char *at;

    (void)snprintf(file, sizeof(file), "/proc/%" PRId64 "/stat", pid);
    if (fd_read_text(AT_FDCWD, file, text, sizeof(text)) <= 0)
        return 0;
    at = strrchr(text, ')');
    for (int i = 0; at && i < 20; i++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at + 1, NULL, 10) : 0;
}

static void name_owner(char ret[static DOCKER_MARK_SIZE])
{
    (void)snprintf(ret, DOCKER_MARK_SIZE, "%d-%" PRIu64, (int)getpid(), start_of(getpid()));
}

static bool is_owner_dead(const char *owner)
{
    char *end = NULL;
    long long pid = owner ? strtoll(owner, &end, 10) : 0;

    if (!owner || pid <= 0 || *end != '-')
        return false; /* not ours to judge */
    return start_of(pid) != strtoull(end + 1, NULL, 10);
}

void docker_marks_init(const struct box_spec *spec, struct docker_marks *ret)
{
    const char *const labels[] = {
        DOCKER_LABEL_OURS,
        "true",
        DOCKER_LABEL_INSTANCE,
        ret->instance,
        DOCKER_LABEL_OWNER,
        ret->owner,
        DOCKER_LABEL_EXPIRES,
        ret->expires,
        DOCKER_LABEL_BOX,
        ret->box,
        NULL,
    };

    name_instance(spec->run_dir, ret->instance);
    name_owner(ret->owner);
    if (spec->ttl_ms)
        (void)snprintf(ret->expires, sizeof(ret->expires), "%" PRIu64,
                       (uint64_t)time(NULL) + spec->ttl_ms / 1000);
    else
        (void)snprintf(ret->expires, sizeof(ret->expires), "never");
    (void)snprintf(ret->box, sizeof(ret->box), "%s", spec->name ? spec->name : "");
    _Static_assert(sizeof(labels) <= sizeof(ret->labels), "room for every label");
    memcpy(ret->labels, labels, sizeof(labels));
    if (!spec->name)
        ret->labels[N_ELEMENTS(labels) - 3] = NULL;
}

static const char *label_of(char *const *labels, const char *key)
{
    for (; labels && labels[0] && labels[1]; labels += 2)
        if (strcmp(labels[0], key) == 0)
            return labels[1];
    return NULL;
}

bool docker_is_left_behind(char *const *labels, const char *run_dir)
{
    char instance[DOCKER_MARK_SIZE];
    const char *made_by = label_of(labels, DOCKER_LABEL_INSTANCE);

    name_instance(run_dir, instance);
    return made_by && strcmp(made_by, instance) == 0 &&
           is_owner_dead(label_of(labels, DOCKER_LABEL_OWNER));
}

/* ---- the sweep ------------------------------------------------------------------------------ */

static bool is_running(const struct container_item *item)
{
    return strcmp(item->state, "created") != 0 && strcmp(item->state, "exited") != 0 &&
           strcmp(item->state, "dead") != 0;
}

/* The link was its owner's: nobody can hear one whose owner is dead.  Its glove ends it, but an
 * engine that was killed may never learn of that, and says that it runs.  Podman's own removal is
 * not to be met (box/docker/podman.c).  One whose time is over is left to its glove for a while. */
static bool is_stale(const struct container_item *item, uint64_t now, bool is_podman)
{
    const char *expires = container_label(item, DOCKER_LABEL_EXPIRES);
    uint64_t end = expires ? strtoull(expires, NULL, 10) : 0; /* "never": 0 */

    if (end > 0 && end + LATE_S < now)
        return true;
    return !(is_podman && is_running(item)) &&
           is_owner_dead(container_label(item, DOCKER_LABEL_OWNER));
}

/* Nothing more is asked of an engine that does not answer. */
static bool is_gone(int code)
{
    return code == -ETIMEDOUT || code == -ECONNREFUSED || code == -ECANCELED;
}

static int sweep_containers(struct engine *engine, const char *run_dir, size_t *ret_n,
                            struct gb_err *err)
{
    char instance[DOCKER_MARK_SIZE];
    char ours[sizeof(DOCKER_LABEL_INSTANCE) + DOCKER_MARK_SIZE];
    const char *const labels[] = { DOCKER_LABEL_OURS "=true", ours, NULL };
    cleanup_container_list struct container_list list = { 0 };
    uint64_t now = (uint64_t)time(NULL);
    int r;

    name_instance(run_dir, instance);
    (void)snprintf(ours, sizeof(ours), DOCKER_LABEL_INSTANCE "=%s", instance);
    *ret_n = 0;
    r = container_list(engine, labels, &list, err);
    if (r < 0)
        return r;
    /* One that cannot be removed keeps no other; the first failure is told. */
    for (size_t i = 0; i < list.n && !is_gone(r); i++) {
        struct gb_err why = { 0 };
        int removed = is_stale(&list.items[i], now, engine_is_podman(engine))
                          ? container_remove(engine, list.items[i].id, &why)
                          : -ENOENT;

        *ret_n += removed == 0;
        if (removed < 0 && removed != -ENOENT && (r == 0 || is_gone(removed))) {
            r = removed;
            *err = why;
        }
    }
    return r;
}

int docker_sweep(struct engine *engine, const char *run_dir, size_t *ret_n, struct gb_err *err)
{
    struct gb_err why = { 0 };
    int r = sweep_containers(engine, run_dir, ret_n, err);
    int places = is_gone(r) ? r : docker_places_sweep(engine, run_dir, &why);

    if (r == 0 && places < 0)
        *err = why;
    return r < 0 ? r : places;
}
