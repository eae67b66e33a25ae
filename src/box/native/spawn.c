/* SPDX-License-Identifier: Apache-2.0 */
/* box/native/spawn.c - the host's end of a spawner. */
#include "box/native/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "box/native/native.h"
#include "box/run_dir.h"
#include "box/walls.h"
#include "embed/embed.h"
#include "wire/msg.h"

#define CONTROL_FD 3
#define BUILD_MS   20000
#define REMOVE_MS  10000
#define LOST_MS    2000

/* ---- slots ---------------------------------------------------------------------------------- */

int spawn_slots(const char *run_dir, struct spawn *spawn, struct gb_err *err)
{
    cleanup_close int dir = run_dir_open(run_dir, err);
    int r = dir < 0 ? dir : run_dir_below(dir, run_dir, "slots", err);

    if (r < 0)
        return r;
    spawn->slots_fd = r;
    return 0;
}

/* What the spawner said last, and what came behind it. */
struct answer {
    struct wire_head head;
    union {
        struct msg_groups groups;
        struct msg_failed failed;
        struct msg_gone gone;
        char room[MSG_STRUCT_MAX];
    } msg;
    int fds[SPAWN_GROUPS_MAX];
    size_t n_fds;
    struct wire_reader reader; /* the strings of msg lie here */
};

static struct answer *answer_new(void)
{
    struct answer *answer = malloc(sizeof(*answer));

    if (!answer)
        return NULL;
    answer->n_fds = 0;
    answer->head = (struct wire_head){ 0 };
    wire_reader_init(&answer->reader);
    return answer;
}

/* ---- running out ---------------------------------------------------------------------------- */

/* No wall is at fault when the user or the machine has no more of something. */
static bool is_short(int code)
{
    return code == -EMFILE || code == -ENFILE || code == -EAGAIN;
}

/* Of processes, where that is what EAGAIN of fork or clone says. */
static int fail_short(struct gb_err *err, int code, const char *what)
{
    return gb_fail(err, code, GB_BLAME_HOST, "%.200s: %s%s", what, strerror(-code),
                   code == -EAGAIN ? GB_REMEDY
                       "raise the limit of processes: ulimit -u, or the pids limit of the "
                       "group or container that this runs in"
                                   : "");
}

/* ---- starting ------------------------------------------------------------------------------- */

/* Above the number that the control socket gets, which would replace it before the exec. */
static int program_open(void)
{
    cleanup_close int fd = fd_sealed("glovebox-spawner", embed_spawner.data, embed_spawner.size);
    int above;

    if (fd < 0 || fd > CONTROL_FD)
        return take_fd(&fd);
    above = fcntl(fd, F_DUPFD_CLOEXEC, CONTROL_FD + 1);
    return above < 0 ? -errno : above;
}

/* The control socket, and nothing of the caller's: whoever reads our output must see its end when
 * we end, not when the spawner has finished. */
static int actions_add(posix_spawn_file_actions_t *actions, int control)
{
    int r = posix_spawn_file_actions_adddup2(actions, control, CONTROL_FD);

    if (r == 0)
        r = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDWR, 0);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(actions, STDIN_FILENO, STDOUT_FILENO);
    return r == 0 ? posix_spawn_file_actions_adddup2(actions, STDIN_FILENO, STDERR_FILENO) : r;
}

/* SPAWNER_ORPHAN as its argument lets it fork before anything else, and its parent end. */
static int program_start(int program, int control, bool is_orphan, pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    char name[] = "glovebox-spawner";
    char orphan[] = SPAWNER_ORPHAN;
    char *argv[] = { name, is_orphan ? orphan : NULL, NULL };
    char *env[] = { NULL };
    char path[32];
    int r = posix_spawn_file_actions_init(&actions);

    if (r != 0)
        return -r;
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", program);
    r = actions_add(&actions, control);
    if (r == 0)
        r = posix_spawn(ret_pid, path, &actions, NULL, argv, env);
    (void)posix_spawn_file_actions_destroy(&actions);
    return -r;
}

static void wait_for(pid_t pid, int *ret_status)
{
    *ret_status = 0;
    while (waitpid(pid, ret_status, 0) < 0 && errno == EINTR)
        ;
}

/* Everything of ours is close-on-exec; the spawner closes what a careless caller left open. */
int spawn_launch(struct spawn *spawn, bool is_orphan, struct gb_err *err)
{
    cleanup_close int program = program_open();
    cleanup_close int theirs = -1;
    int pair[2];
    int status;
    pid_t pid = 0;
    int r;

    if (program < 0)
        return gb_fail(err, program, GB_BLAME_HOST, "making the spawner: %s%s", strerror(-program),
                       program == -EFBIG ? GB_REMEDY
                           "raise the limit of the size of files: ulimit -f unlimited"
                                         : "");
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return gb_fail_sys(err, "making a socket");
    spawn->control_fd = pair[0];
    theirs = pair[1];
    spawn->answer = answer_new();
    if (!spawn->answer)
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for the spawner");
    r = program_start(program, theirs, is_orphan, &pid);
    if (r == 0 && is_orphan) {
        wait_for(pid, &status);
        pid = 0;
        r = status == 0 ? 0 : -EAGAIN;
    }
    if (r < 0)
        return fail_short(err, r, "starting the spawner");
    spawn->pid = pid;
    spawn->is_there = true;
    return 0;
}

static int send_plan(const struct spawn *spawn, const struct buf *plan, const int *fds,
                     size_t n_fds, struct gb_err *err)
{
    ssize_t n = fd_send(spawn->control_fd, plan->data, plan->len, fds, n_fds, 0);
    int r = n < 0 ? (int)n : 0;

    if (r == 0 && (size_t)n < plan->len)
        r = fd_write_full(spawn->control_fd, plan->data + n, plan->len - (size_t)n);
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "talking to the spawner: %s", strerror(-r));
    return 0;
}

/* ---- answers -------------------------------------------------------------------------------- */

static void drop_fds(struct answer *answer)
{
    for (size_t i = 0; i < answer->n_fds; i++)
        close(answer->fds[i]);
    answer->n_fds = 0;
}

static int wait_readable(int fd, uint64_t deadline_ns)
{
    struct pollfd in = { .fd = fd, .events = POLLIN };
    int n;

    do {
        n = poll(&in, 1, clock_poll_ms(deadline_ns));
    } while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n == 0 ? -ETIMEDOUT : 0;
}

/* One message into spawn->answer, which keeps what came behind it.  -ECONNRESET when the spawner
 * has ended instead. */
static int read_answer(const struct spawn *spawn, uint64_t deadline_ns)
{
    struct answer *answer = spawn->answer;
    const uint8_t *payload;
    int r;

    while ((r = wire_reader_next(&answer->reader, &answer->head, &payload)) == 0) {
        size_t room;
        uint8_t *at = wire_reader_room(&answer->reader, &room);
        size_t n_fds = N_ELEMENTS(answer->fds) - answer->n_fds;
        ssize_t n = wait_readable(spawn->control_fd, deadline_ns);

        if (n == 0)
            n = fd_recv(spawn->control_fd, at, room, answer->fds + answer->n_fds, &n_fds, 0);
        else
            n_fds = 0;
        if (n <= 0)
            return n < 0 ? (int)n : -ECONNRESET;
        answer->n_fds += n_fds;
        wire_reader_fed(&answer->reader, (size_t)n);
    }
    if (r < 0 || !(msg_direction(answer->head.type) & SPAWN_OUT))
        return -EPROTO;
    return msg_decode(answer->head.type, payload, answer->head.size, &answer->msg);
}

/* ---- failures ------------------------------------------------------------------------------- */

/* The wall that a failure breaks: a step names its own; what comes before the steps follows from
 * where it happened. */
static int failed_wall(const struct msg_failed *failed)
{
    static const struct {
        uint32_t flag;
        enum wall wall;
    } namespaces[] = {
        { PLAN_FLAG_USER_NS, WALL_USER_NS }, { PLAN_FLAG_PID_NS, WALL_PID },
        { PLAN_FLAG_NET_NS, WALL_NET },      { PLAN_FLAG_IPC_NS, WALL_IPC },
        { PLAN_FLAG_UTS_NS, WALL_UTS },      { PLAN_FLAG_CGROUP_NS, WALL_CGROUP_NS },
        { PLAN_FLAG_MOUNT_NS, WALL_MOUNT },
    };

    switch (failed->where) {
    case SPAWN_WHERE_CLONE:
        for (size_t i = 0; i < N_ELEMENTS(namespaces); i++)
            if (namespaces[i].flag == failed->wall)
                return (int)namespaces[i].wall;
        return WALL_USER_NS;
    case SPAWN_WHERE_MAP:
        return WALL_UID_RANGE;
    case SPAWN_WHERE_NET:
        return WALL_NET;
    case SPAWN_WHERE_PIVOT:
        return WALL_MOUNT;
    case SPAWN_WHERE_GROUP:
    case SPAWN_WHERE_TREE:
    case SPAWN_WHERE_STEP:
        return failed->wall < N_WALLS ? (int)failed->wall : -1;
    default:
        return -1;
    }
}

static int build_failed(struct spawn *spawn, const struct msg_failed *failed, struct gb_err *err)
{
    int code = -(int)failed->error;
    const char *detail = failed->detail;
    int wall = is_short(code) ? -1 : failed_wall(failed);
    char remedy[WALL_REMEDY_MAX];

    spawn->failed_wall = wall;
    if (failed->where == SPAWN_WHERE_SLOT && code == -EUSERS)
        return gb_fail(err, code, GB_BLAME_HOST, "all %u slots for boxes are in use",
                       spawn->n_slots);
    if (is_short(code))
        return fail_short(err, code, "building the box");
    if (wall < 0)
        return gb_fail(err, code, GB_BLAME_HOST, "building the box failed%s%s: %s",
                       detail[0] ? " at " : "", detail, strerror(-code));
    return gb_fail(err, code, GB_BLAME_HOST, "the wall '%s' cannot be built%s%s: %s\nremedy: %s",
                   wall_name((enum wall)wall), detail[0] ? " at " : "", detail, strerror(-code),
                   native_remedy((enum wall)wall, remedy));
}

static int take_groups(struct spawn *spawn, struct answer *answer)
{
    if (answer->n_fds > SPAWN_GROUPS_MAX)
        return -EPROTO;
    spawn->n_groups = answer->n_fds;
    memcpy(spawn->groups, answer->fds, spawn->n_groups * sizeof(int));
    answer->n_fds = 0;
    spawn->slot = answer->msg.groups.slot;
    return 0;
}

/* Waits for the groups, or the failure that comes instead. */
static int await_groups(struct spawn *spawn, uint64_t deadline_ns, struct gb_err *err)
{
    struct answer *answer = spawn->answer;
    int r = read_answer(spawn, deadline_ns);

    if (r == 0 && answer->head.type == MSG_FAILED)
        return build_failed(spawn, &answer->msg.failed, err);
    if (r == 0 && answer->head.type == MSG_GONE)
        r = -ECONNRESET; /* its guard speaks */
    if (r == 0)
        r = answer->head.type == MSG_GROUPS ? take_groups(spawn, answer) : -EPROTO;
    drop_fds(answer);
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "the spawner did not build the box: %s",
                       strerror(-r));
    return 0;
}

int spawn_lost(struct spawn *spawn, struct gb_err *err)
{
    /* Groups came long ago: whatever comes now is a failure. */
    int r = await_groups(spawn, clock_after_ms(LOST_MS), err);

    return r < 0 ? r : gb_fail(err, -EPROTO, GB_BLAME_BUG, "the spawner spoke out of turn");
}

int spawn_begin(struct spawn *spawn, const struct buf *plan, int *ret_link_fd, struct gb_err *err)
{
    cleanup_close int ours = -1;
    cleanup_close int theirs = -1;
    int pair[2];
    int r;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return gb_fail_sys(err, "making a socket");
    ours = pair[0];
    theirs = pair[1];
    fd_widen(theirs, WIRE_CREDIT_WIDE);
    spawn->has_plan = true;
    r = send_plan(spawn, plan, (int[]){ theirs, spawn->slots_fd }, 2, err);
    if (r == 0)
        r = await_groups(spawn, clock_after_ms(BUILD_MS), err);
    if (r == 0)
        *ret_link_fd = take_fd(&ours);
    return r;
}

static int tell(const struct spawn *spawn, uint8_t type, const void *msg)
{
    uint8_t frame[64];
    int n = msg_encode(type, 0, 0, msg, frame, sizeof(frame));

    return n < 0 ? n : (int)fd_send(spawn->control_fd, frame, (size_t)n, NULL, 0, 0);
}

/* ---- the end -------------------------------------------------------------------------------- */

/* The spawner tells it, or its guard.  It may have been read by spawn_lost() already. */
static int await_gone(const struct spawn *spawn, uint32_t *ret_survivors)
{
    struct answer *answer = spawn->answer;
    uint64_t deadline_ns = clock_after_ms(REMOVE_MS);
    int r = 0;

    while (r == 0 && answer->head.type != MSG_GONE) {
        r = read_answer(spawn, deadline_ns);
        drop_fds(answer);
    }
    if (r < 0)
        return r;
    *ret_survivors = answer->msg.gone.survivors;
    return -(int)answer->msg.gone.error;
}

static void leave(struct spawn *spawn)
{
    close(spawn->control_fd);
    spawn->control_fd = -1;
    free(spawn->answer);
    spawn->answer = NULL;
}

static void reap(struct spawn *spawn)
{
    int status;

    leave(spawn);
    if (spawn->pid > 0)
        wait_for(spawn->pid, &status);
    spawn->is_there = false;
}

static void close_fds(struct spawn *spawn)
{
    if (spawn->control_fd >= 0)
        leave(spawn);
    for (size_t i = 0; i < spawn->n_groups; i++)
        close(spawn->groups[i]);
    if (spawn->slots_fd >= 0)
        close(spawn->slots_fd);
}

static int send_keep(const struct spawn *spawn, const struct msg_keep *msg, const int *fds,
                     size_t n_fds)
{
    uint8_t frame[256];
    int len = msg_encode(MSG_KEEP, 0, 0, msg, frame, sizeof(frame));
    ssize_t n = len < 0 ? len : fd_send(spawn->control_fd, frame, (size_t)len, fds, n_fds, 0);
    int r;

    if (n != len)
        return n < 0 ? (int)n : -EPIPE;
    r = read_answer(spawn, clock_after_ms(BUILD_MS));
    drop_fds(spawn->answer);
    return r == 0 && spawn->answer->head.type != MSG_KEPT ? -EPROTO : r;
}

int spawn_keep(struct spawn *spawn, const struct msg_keep *msg, const int *fds, size_t n_fds,
               struct gb_err *err)
{
    int r = send_keep(spawn, msg, fds, n_fds);

    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "the spawner does not keep the box: %s",
                       strerror(-r));
    spawn->is_there = false;
    leave(spawn);
    return 0;
}

int spawn_leave(struct spawn *spawn)
{
    char nothing[1] = { 0 };

    if (!spawn->is_there || tell(spawn, MSG_DESTROY, nothing) < 0)
        return -EPIPE;
    close_fds(spawn);
    return 0;
}

uint32_t spawn_end(struct spawn *spawn)
{
    uint32_t survivors = 0;
    char nothing[1] = { 0 };
    int r = 0;

    if (spawn->is_there && !spawn->has_plan) {
        reap(spawn);
    } else if (spawn->is_there) {
        /* One that is gone already shows when it does not answer. */
        (void)tell(spawn, MSG_DESTROY, nothing);
        r = await_gone(spawn, &survivors);
        /* Told that something still lives, or nothing: it is not waited for. */
        if (r == 0 || r == -ECONNRESET)
            reap(spawn);
        else
            leave(spawn);
    }
    close_fds(spawn);
    return survivors;
}
