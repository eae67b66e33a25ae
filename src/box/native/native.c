/* SPDX-License-Identifier: Apache-2.0 */
/* box/native/native.c - boxes of Linux namespaces, without a daemon: the backend's vtable.
 *
 *    start     facts of this machine → plan → spawner → link
 *    run_open  groups for a run, made while the box waits
 *    destroy   the spawner removes everything, or its guard
 */
#include "box/native/native.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/id.h"
#include "base/path.h"
#include "base/sys.h"
#include "box/link.h"
#include "box/native/hierarchy.h"
#include "box/native/plan.h"
#include "box/native/run_group.h"
#include "box/native/spawn.h"
#include "box/native/subids.h"
#include "box/native/toolchain.h"
#include "box/native/usage.h"
#include "wire/msg.h"

#define ROOT_STRIDE 65536u
#define ROOT_SLOTS  4096u
#define USER_STRIDE 3u

#define PLAN_MAX (1 << 20)

#define KILL_WAIT_MS 2000

/* Walls that a box can be built without, if the operator can do without them. */
#define OPTIONAL_WALLS                                                         \
    (1u << WALL_NET | 1u << WALL_IPC | 1u << WALL_UTS | 1u << WALL_CGROUP_NS | \
     1u << WALL_LANDLOCK | 1u << WALL_MEMORY | 1u << WALL_CPU | 1u << WALL_PIDS)

struct native {
    struct spawn spawn;
    struct hierarchies groups;
    wall_set walls;
    unsigned n_runs;
    unsigned first_run; /* the first number that a keeper gave this client for its runs */
    unsigned numbers;   /* how many; 0: as many as one likes */
    bool has_run;       /* a run is open */
    bool is_kept;       /* by a keeper: this process only uses it */
    struct run_group run;
    uint32_t kill_seq; /* of a KILL that the glove has not answered yet, 0: none */
};

/* ---- facts ---------------------------------------------------------------------------------- */

/* The default directory needs no tag; any other one gets its own names, so that two directories of
 * slots never mean the same group. */
static void name_tag(const struct box_spec *spec, bool is_root, char *tag, size_t size)
{
    uint32_t hash = 2166136261u;

    tag[0] = '\0';
    if (is_root && strcmp(spec->run_dir, "/run/glovebox") == 0)
        return;
    for (const char *p = spec->run_dir; *p; p++)
        hash = (hash ^ (unsigned char)*p) * 16777619u;
    (void)snprintf(tag, size, "%08x-", hash);
}

static int find_ids(const struct box_spec *spec, struct plan_facts *facts, struct gb_err *err)
{
    struct subids ids;
    int r;

    if (facts->is_root) {
        facts->uid_base = spec->uid_base;
        facts->gid_base = spec->uid_base;
        facts->stride = ROOT_STRIDE;
        facts->n_slots = ROOT_SLOTS;
        return 0;
    }
    r = subids_find(geteuid(), &ids, err);
    if (r < 0)
        return r;
    facts->uid_base = ids.uid_base;
    facts->gid_base = ids.gid_base;
    facts->stride = USER_STRIDE;
    facts->n_slots = ids.count / USER_STRIDE;
    facts->uid_tool = ids.uid_tool;
    facts->gid_tool = ids.gid_tool;
    return 0;
}

static unsigned landlock_abi(void)
{
    int abi = sys_landlock_abi();

    return abi > 0 ? (unsigned)abi : 0;
}

static void lacks(struct native_survey *survey, enum wall wall, const char *reason)
{
    if (survey->missing & 1u << wall)
        return;
    survey->missing |= 1u << wall;
    (void)snprintf(survey->reasons[wall], sizeof(survey->reasons[wall]), "%s", reason);
}

/* What can be known without trying. */
static void look(const struct box_spec *spec, struct plan_facts *facts,
                 struct native_survey *survey)
{
    struct gb_err err = { 0 };

    facts->is_root = geteuid() == 0;
    name_tag(spec, facts->is_root, facts->tag, sizeof(facts->tag));
    hierarchies_find(geteuid(), &facts->groups);
    survey->layout = layout_name(facts->groups.layout);
    survey->groups_runs = facts->groups.can_group_runs;
    for (enum wall wall = 0; wall < N_WALLS; wall++)
        if (facts->groups.missing & 1u << wall)
            lacks(survey, wall, facts->groups.reasons[wall]);
    if (find_ids(spec, facts, &err) < 0)
        lacks(survey, WALL_UID_RANGE, err.msg);
    survey->landlock = landlock_abi();
    if (survey->landlock == 0)
        lacks(survey, WALL_LANDLOCK, "the kernel has no Landlock, or it is switched off");
}

static void tell_broken(const struct box_spec *spec, int wall)
{
    if (spec->ret_broken)
        *spec->ret_broken = wall;
}

const char *native_remedy(enum wall wall, char text[static WALL_REMEDY_MAX])
{
    char name[SUBIDS_NAME_MAX];

    return wall_remedy_for(wall, geteuid() == 0 ? "USER" : subids_user(geteuid(), name), text);
}

static int refuse(const struct box_spec *spec, const struct native_survey *survey,
                  struct gb_err *err)
{
    wall_set needed = ~(spec->may_miss & OPTIONAL_WALLS);
    char remedy[WALL_REMEDY_MAX];

    for (enum wall wall = 0; wall < N_WALLS; wall++) {
        if (!(survey->missing & needed & 1u << wall))
            continue;
        tell_broken(spec, (int)wall);
        return gb_fail(err, -ENOTSUP, GB_BLAME_HOST,
                       "the wall '%s' cannot be built: %s\nremedy: %s", wall_name(wall),
                       survey->reasons[wall], native_remedy(wall, remedy));
    }
    return 0;
}

/* A working directory is the run's to write: it cannot lie in what is the host's or the kernel's.
 */
static int workdir_check(const char *dir, struct gb_err *err)
{
    static const char *const taken[] = {
        "/usr",  "/etc", "/proc",  "/sys",   "/dev",    "/bin",
        "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
    };
    bool is_taken = dir && strcmp(dir, "/") == 0;

    for (size_t i = 0; dir && i < N_ELEMENTS(taken); i++)
        is_taken = is_taken || path_is_in(dir, taken[i]);
    if (!is_taken)
        return 0;
    return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                   "'%s' cannot be the working directory: it is read-only in a box", dir);
}

/* ---- start ---------------------------------------------------------------------------------- */

static int build(struct box *box, const struct box_spec *spec, const struct plan_facts *facts,
                 int *ret_link_fd, struct gb_err *err)
{
    struct native *native = box_state(box);
    cleanup_buf struct buf plan = BUF_INIT(PLAN_MAX);
    char id[ID_SIZE];
    int r = id_make('b', id);

    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "drawing a name for the box: %s", strerror(-r));
    r = plan_compile(facts, spec, native->walls, id, &plan, err);
    if (r < 0)
        return r;
    native->spawn.n_slots = facts->n_slots;
    return spawn_begin(&native->spawn, &plan, ret_link_fd, err);
}

static int launch(struct native *native, const struct box_spec *spec, struct gb_err *err)
{
    int r;

    native->spawn = (struct spawn)SPAWN_INIT;
    hierarchies_prepare(geteuid());
    r = spawn_slots(spec->run_dir, &native->spawn, err);
    return r < 0 ? r : spawn_launch(&native->spawn, spec->will_live_on, err);
}

static void fill_receipt(struct box *box, const struct native *native)
{
    struct receipt *receipt = box_receipt_edit(box);

    receipt->walls = native->walls;
    receipt->net = native->walls & 1u << WALL_NET ? "none" : "host";
    receipt->seccomp = "default";
    receipt->groups = native->groups.layout == LAYOUT_V2 ? "v2" : "v1";
    receipt->accounting = native->groups.can_group_runs ? "run" : "box";
}

/* The spawner's program is being loaded while this machine is looked at. */
static int start_with(struct box *box, const struct box_spec *spec, struct plan_facts *facts,
                      int *ret_link_fd, struct gb_err *err)
{
    struct native *native = box_state(box);
    struct native_survey survey = { 0 };
    int r = launch(native, spec, err);

    if (r < 0)
        return r;
    look(spec, facts, &survey);
    for (enum wall wall = 0; wall < N_WALLS; wall++)
        if (box_without(box) & 1u << wall)
            lacks(&survey, wall, "it could not be built");
    r = refuse(spec, &survey, err);
    if (r == 0)
        r = toolchains_check(spec->toolchains, err);
    if (r == 0)
        r = workdir_check(spec->workdir, err);
    if (r == 0)
        r = plan_facts_gather(facts, err);
    if (r < 0)
        return r;
    native->groups = facts->groups;
    native->walls = WALLS_ALL & ~survey.missing;
    r = build(box, spec, facts, ret_link_fd, err);
    if (r == 0)
        fill_receipt(box, native);
    else
        tell_broken(spec, native->spawn.failed_wall);
    return r;
}

static int native_start(struct box *box, const struct box_spec *spec, int *ret_link_fd,
                        struct gb_err *err)
{
    struct native *native = box_state(box);
    cleanup_free char *usual = NULL;
    struct plan_facts facts = { 0 };
    int r;

    native->spawn = (struct spawn)SPAWN_INIT;
    r = start_with(box, spec, &facts, ret_link_fd, err);
    plan_facts_clear(&facts);
    if (r < 0)
        return r;
    usual = toolchains_path(spec->toolchains);
    return box_set_paths(box, spec, usual, err);
}

static int native_lost(struct box *box, const struct box_spec *spec, struct gb_err *err)
{
    struct native *native = box_state(box);
    int r = spawn_lost(&native->spawn, err);

    tell_broken(spec, native->spawn.failed_wall);
    return r;
}

static int native_probe(const struct box_spec *spec, struct gb_err *err)
{
    struct native_survey survey = { 0 };

    native_survey(spec, &survey);
    if (survey.trouble.code && err)
        *err = survey.trouble;
    return survey.trouble.code ? survey.trouble.code : refuse(spec, &survey, err);
}

/* ---- runs ----------------------------------------------------------------------------------- */

/* A run's groups go with it, so that its number is free when all others have had their turn. */
static unsigned next_number(struct native *native)
{
    unsigned n = native->n_runs++;

    return native->numbers ? native->first_run + n % native->numbers : n + 1;
}

static int native_run_open(struct box *box, const struct limits *limits, int *fds, size_t *n_fds,
                           bool *ret_has_v2, struct gb_err *err)
{
    struct native *native = box_state(box);
    struct run_group *g = &native->run;
    size_t n = 0;
    int r = run_group_open(&native->groups, native->walls, native->spawn.groups,
                           native->spawn.n_groups, next_number(native), limits, g, err);

    if (r < 0)
        return r;
    native->has_run = true;
    *ret_has_v2 = g->is_own && g->kill >= 0;
    if (*ret_has_v2)
        fds[n++] = g->dirs[g->kill];
    for (size_t i = 0; i < g->n; i++)
        if (g->joins[i] >= 0)
            fds[n++] = g->joins[i];
    *n_fds = n;
    return 0;
}

static int native_run_cpu_ns(struct box *box, uint64_t *ret)
{
    struct native *native = box_state(box);

    *ret = 0;
    return native->has_run ? run_group_cpu_ns(&native->run, ret) : 0;
}

/* Without a group of the run's own the glove does it: every process of the box but itself. */
static int native_run_kill(struct box *box, struct gb_err *err)
{
    struct native *native = box_state(box);
    struct msg_kill kill = { .run = box_run_seq(box) };
    int r = run_group_kill(&native->run);

    if (r != -ENOTSUP)
        return r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "killing a run: %s", strerror(-r)) : 0;
    if (native->kill_seq)
        return 0;
    return link_request(box_link(box), MSG_KILL, &kill, NULL, 0, &native->kill_seq, err);
}

/* How many processes of the run are left after its kill. */
static uint32_t await_kill(struct box *box, struct native *native)
{
    struct gb_err ignored = { 0 };
    uint64_t left = 0;
    uint32_t step;
    int r;

    if (native->run.is_own && native->run.kill >= 0)
        return run_group_wait(&native->run, KILL_WAIT_MS);
    if (!native->kill_seq)
        return 0;
    r = link_await(box_link(box), native->kill_seq, clock_after_ms(KILL_WAIT_MS), &left, &step,
                   &ignored);
    native->kill_seq = 0;
    /* A glove that is gone has taken everything with it. */
    return r < 0 ? 0 : (uint32_t)left;
}

static int native_run_close(struct box *box, bool is_left, struct box_run_end *ret,
                            struct gb_err *err)
{
    struct native *native = box_state(box);
    int r;

    if (!native->has_run)
        return 0;
    r = native_run_kill(box, err);
    if (r == 0 || link_is_lost(box_link(box))) {
        ret->survivors = await_kill(box, native);
        r = 0;
    }
    run_group_read(&native->run, ret);
    if (is_left)
        run_group_leave(&native->run);
    else
        run_group_close(&native->run);
    native->has_run = false;
    return r;
}

/* ---- keeping -------------------------------------------------------------------------------- */

static int native_keep(struct box *box, const struct box_keep_spec *spec, struct gb_err *err)
{
    struct native *native = box_state(box);
    struct msg_keep msg = { .name = spec->name };
    cleanup_close int link_fd = link_release(box_link(box), &msg.next_seq, &msg.next_channel);

    if (link_fd < 0)
        return gb_fail(err, link_fd, GB_BLAME_BUG, "the box is busy");
    return spawn_keep(&native->spawn, &msg, (int[]){ link_fd, spec->listener_fd, spec->parent_fd },
                      3, err);
}

/* Which hierarchies there are has not changed since the box was made, or its groups would be gone.
 */
static int native_attach(struct box *box, const struct box_kept *kept,
                         const struct msg_welcome *welcome, int *groups, size_t n_groups,
                         struct gb_err *err)
{
    struct native *native = box_state(box);

    native->spawn = (struct spawn)SPAWN_INIT;
    native->is_kept = true;
    native->walls = kept->receipt.walls;
    native->first_run = welcome->first_run;
    native->numbers = welcome->n_runs;
    if (n_groups > SPAWN_GROUPS_MAX) {
        for (size_t i = 0; i < n_groups; i++)
            close(groups[i]);
        return gb_fail(err, -EPROTO, GB_BLAME_HOST, "the keeper of the box has too many groups");
    }
    memcpy(native->spawn.groups, groups, n_groups * sizeof(*groups));
    native->spawn.n_groups = n_groups;
    hierarchies_find(geteuid(), &native->groups);
    return 0;
}

static int native_usage(struct box *box, struct box_usage *ret, struct gb_err *err)
{
    struct native *native = box_state(box);

    if (native->spawn.n_groups == 0)
        return gb_fail(err, -ENOTSUP, GB_BLAME_HOST, "the box has no groups that count");
    usage_read(native->spawn.groups, native->spawn.n_groups, ret);
    return 0;
}

static int native_memory_bytes(struct box *box, uint64_t *ret)
{
    struct native *native = box_state(box);

    return usage_memory_bytes(native->spawn.groups, native->spawn.n_groups, ret);
}

static int native_watch_fd(struct box *box)
{
    struct native *native = box_state(box);

    return native->spawn.control_fd;
}

static int native_leave(struct box *box)
{
    struct native *native = box_state(box);

    return native->has_run || native->is_kept ? -EBUSY : spawn_leave(&native->spawn);
}

static uint32_t native_destroy(struct box *box)
{
    struct native *native = box_state(box);

    /* A keeper removes what a client leaves. */
    if (native->has_run || !native->is_kept)
        run_group_close(&native->run);
    return spawn_end(&native->spawn);
}

const struct box_ops box_native = {
    .name = "native",
    .state_size = sizeof(struct native),
    .can_miss = OPTIONAL_WALLS,
    .probe = native_probe,
    .plants = true,
    .carries = true,
    .shows_host = true,
    .has_layers = true,
    .start = native_start,
    .lost = native_lost,
    .run_open = native_run_open,
    .run_cpu_ns = native_run_cpu_ns,
    .run_kill = native_run_kill,
    .run_close = native_run_close,
    .usage = native_usage,
    .memory_bytes = native_memory_bytes,
    .watch_fd = native_watch_fd,
    .keep = native_keep,
    .attach = native_attach,
    .leave = native_leave,
    .destroy = native_destroy,
};

/* ---- for doctor ----------------------------------------------------------------------------- */

/* The reason within an error's text: what stands before the remedy, without what the report says
 * anyway. */
static void lacks_for(struct native_survey *survey, enum wall wall, struct gb_err *err)
{
    static const char prefix[] = "cannot be built";
    const char *at = strstr(err->msg, prefix);

    err->msg[strcspn(err->msg, "\n")] = '\0';
    at = at ? at + strlen(prefix) : err->msg;
    lacks(survey, wall, at + strspn(at, ": "));
}

/* The vtable of a run says what the types are.  NOLINTNEXTLINE(readability-non-const-parameter) */
static int drop_output(void *user, int stream, const void *bytes, size_t len)
{
    (void)user;
    (void)stream;
    (void)bytes;
    (void)len;
    return 0;
}

/* Some walls are built around each program anew. */
static void try_program(struct box *box, const struct box_spec *trial, struct native_survey *survey)
{
    static const char *const argv[] = { "/usr/bin/true", NULL };
    static const char *const env[] = { NULL };
    const struct box_run_spec spec = {
        .argv = argv,
        .env = env,
        .cwd = "/",
        .limits = trial->limits,
        .stdin_fd = -1,
        .cancel_fd = -1,
        .output = drop_output,
        .ret_broken = trial->ret_broken,
    };
    struct box_run_end end;
    struct gb_err err = { 0 };

    if (box_run(box, &spec, &end, &err) == 0)
        return;
    if (*trial->ret_broken < 0)
        survey->trouble = err;
    else
        lacks_for(survey, (enum wall) * trial->ret_broken, &err);
}

/* Builds a box, without the walls that it can do without where they fail, and looks what stands. */
static void try_box(const struct box_spec *spec, struct native_survey *survey)
{
    struct box_spec trial = *spec;
    struct gb_err err = { 0 };
    struct box *box = NULL;
    int broken = -1;

    trial.may_miss = WALLS_ALL;
    trial.backend = box_native.name;
    trial.ret_broken = &broken;
    if (box_open(&trial, &box, &err) < 0) {
        if (broken < 0)
            survey->trouble = err;
        else
            lacks_for(survey, (enum wall)broken, &err);
        return;
    }
    for (enum wall wall = 0; wall < N_WALLS; wall++)
        if (!(box_receipt(box)->walls & 1u << wall))
            lacks(survey, wall, "the kernel refused it when a box was tried");
    try_program(box, &trial, survey);
    (void)box_close(box);
}

void native_survey(const struct box_spec *spec, struct native_survey *ret)
{
    struct plan_facts facts = { 0 };

    *ret = (struct native_survey){ 0 };
    look(spec, &facts, ret);
    if (!(ret->missing & ~OPTIONAL_WALLS))
        try_box(spec, ret);
}

int native_plan_text(const struct box_spec *spec, struct buf *ret, struct gb_err *err)
{
    struct plan_facts facts = { 0 };
    struct native_survey survey = { 0 };
    cleanup_buf struct buf plan = BUF_INIT(PLAN_MAX);
    int r;

    look(spec, &facts, &survey);
    r = plan_facts_gather(&facts, err);
    if (r == 0)
        r = plan_compile(&facts, spec, WALLS_ALL & ~survey.missing, "b_example", &plan, err);
    if (r == 0 && plan_print(&plan, ret) < 0)
        r = gb_fail(err, -EPROTO, GB_BLAME_BUG, "printing the plan");
    plan_facts_clear(&facts);
    return r;
}
