/* SPDX-License-Identifier: Apache-2.0 */
/* conform/trial.c - one test of the suite: a backend, a run directory of its own, a box. */
#include "trial.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

/* Ids that neither the product's default range nor another test uses. */
#define UID_BASE 0x60000000u

/* ---- boxes ---------------------------------------------------------------------------------- */

void trial_open(struct trial *t)
{
    int r = box_open(&t->spec, &t->box, &t->err);

    if (r < 0)
        fail_msg("box_open: %s", t->err.msg);
}

void trial_close(struct trial *t)
{
    struct box *box = take_ptr(t->box);

    assert_int_equal(box_close(box), 0);
}

/* ---- runs ----------------------------------------------------------------------------------- */

uint64_t trial_hash(uint64_t hash, const void *bytes, size_t len)
{
    const unsigned char *at = bytes;

    for (size_t i = 0; i < len; i++)
        hash = (hash ^ at[i]) * 1099511628211ULL;
    return hash;
}

static int keep_output(void *user, int stream, const void *bytes, size_t len)
{
    struct trial *t = user;
    struct trial_stream *s = &t->streams[stream];
    size_t room = s->total < TRIAL_KEPT_MAX - 1 ? (size_t)(TRIAL_KEPT_MAX - 1 - s->total) : 0;

    memcpy(s->text + (s->total < TRIAL_KEPT_MAX ? s->total : 0), bytes, len < room ? len : room);
    s->hash = trial_hash(s->hash, bytes, len);
    s->total += len;
    return 0;
}

struct box_run_spec trial_spec(struct trial *t, const char *const *argv)
{
    static const char *const env[] = { "PATH=/usr/bin:/bin", "HOME=" BOX_HOME, "LC_ALL=C", NULL };

    return (struct box_run_spec){
        .argv = argv,
        .env = env,
        .cwd = BOX_WORKSPACE,
        .limits = t->spec.limits,
        .stdin_fd = -1,
        .cancel_fd = -1,
        .output = keep_output,
        .user = t,
    };
}

int trial_run(struct trial *t, const struct box_run_spec *spec)
{
    for (int i = 0; i < 3; i++) {
        memset(t->streams[i].text, 0, sizeof(t->streams[i].text));
        t->streams[i].total = 0;
        t->streams[i].hash = TRIAL_HASH_START;
    }
    t->err = (struct gb_err){ 0 };
    return box_run(t->box, spec, &t->end, &t->err);
}

void trial_sh(struct trial *t, const char *script)
{
    const char *const argv[] = { "sh", "-c", script, NULL };
    struct box_run_spec spec = trial_spec(t, argv);

    if (trial_run(t, &spec) < 0)
        fail_msg("box_run: %s", t->err.msg);
    if (t->end.exec_error || t->end.survivors || t->end.is_lost)
        fail_msg("box_run: exec_error %d, survivors %u, %slost, kill %d, exited %d, %s",
                 t->end.exec_error, t->end.survivors, t->end.is_lost ? "" : "not ", t->end.kill,
                 t->end.has_exited, t->err.msg);
}

void trial_says(struct trial *t, const char *script, const char *out)
{
    trial_sh(t, script);
    assert_string_equal(t->streams[2].text, "");
    assert_string_equal(t->streams[1].text, out);
    assert_true(t->end.has_exited);
    assert_int_equal(t->end.code, 0);
    assert_int_equal(t->end.signo, 0);
}

/* ---- processes ------------------------------------------------------------------------------ */

/* A child of a process of ours, in the order in which they were made; 0: none. */
static pid_t nth_child(pid_t parent, unsigned n)
{
    char path[64];
    char text[4096];
    char *at = text;

    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)parent, (int)parent);
    if (fd_read_text(AT_FDCWD, path, text, sizeof(text)) <= 0)
        return 0;
    while (n-- > 0)
        (void)strtol(at, &at, 10);
    return (pid_t)strtol(at, NULL, 10);
}

pid_t trial_spawner(void)
{
    return nth_child(getpid(), 0);
}

/* PID 1 of its namespace? */
static bool is_first(int proc_fd, const char *pid)
{
    char path[NAME_MAX + 8];
    char text[4096];
    const char *line;

    (void)snprintf(path, sizeof(path), "%s/status", pid);
    if (fd_read_text(proc_fd, path, text, sizeof(text)) <= 0)
        return false;
    line = strstr(text, "\nNSpid:");
    return line && strncmp(line + strcspn(line + 1, "\n") - 1, "\t1", 2) == 0;
}

/* The one container's. */
static pid_t container_glove(const struct trial *t)
{
    DIR *dir = opendir("/proc");
    const struct dirent *entry;
    pid_t found = 0;

    while (dir && !found && (entry = readdir(dir)) != NULL) {
        char path[NAME_MAX + 8];
        char text[8192];

        if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
            continue;
        (void)snprintf(path, sizeof(path), "%s/cgroup", entry->d_name);
        if (fd_read_text(dirfd(dir), path, text, sizeof(text)) > 0 &&
            strstr(text, t->scope.process_tag) && is_first(dirfd(dir), entry->d_name))
            found = (pid_t)strtol(entry->d_name, NULL, 10);
    }
    if (dir)
        closedir(dir);
    return found;
}

/* Its elder sister is the guard. */
pid_t trial_glove(const struct trial *t)
{
    pid_t spawner = t->ops == &box_docker ? 0 : trial_spawner();

    if (t->ops == &box_docker)
        return container_glove(t);
    return spawner ? nth_child(spawner, 1) : 0;
}

/* ---- around every test ---------------------------------------------------------------------- */

static void remove_below(int dir_fd, const char *name)
{
    int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fdopendir(fd);
    const struct dirent *entry;

    if (!dir)
        return;
    while ((entry = readdir(dir)) != NULL)
        if (entry->d_name[0] != '.')
            (void)unlinkat(fd, entry->d_name, entry->d_type == DT_DIR ? AT_REMOVEDIR : 0);
    closedir(dir);
    (void)unlinkat(dir_fd, name, AT_REMOVEDIR);
}

/* What a test that failed had put there itself; with processes in it a group stays. */
static void remove_groups(const struct ledger_scope *scope)
{
    for (size_t i = 0; i < scope->n_trees; i++) {
        cleanup_close int tree = open(scope->trees[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *dir = tree < 0 ? NULL : opendir(scope->trees[i]);
        const struct dirent *entry;

        while (dir && (entry = readdir(dir)) != NULL)
            if (strncmp(entry->d_name, scope->tag, strlen(scope->tag)) == 0)
                remove_below(tree, entry->d_name);
        if (dir)
            closedir(dir);
    }
}

static void remove_run_dir(const char *path)
{
    cleanup_close int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (dir < 0)
        return;
    remove_below(dir, "slots");
    remove_below(AT_FDCWD, path); /* with a profile for Podman */
}

/* Walls that boxes of an engine do without: it has the ids. */
#define ENGINE_HAS (1u << WALL_USER_NS | 1u << WALL_UID_RANGE)

/* Those, and what its machine cannot give. */
static wall_set engine_lacks(void)
{
    const char *names = getenv("CONFORM_LACKS");
    struct gb_err err = { 0 };
    wall_set lacks = 0;

    if (names && *names)
        assert_int_equal(walls_parse(names, &lacks, &err), 0);
    return lacks | ENGINE_HAS;
}

/* Boxes of an engine need one, and an image: whoever starts it says so. */
static void spec_fill(struct trial *t)
{
    const char *image = getenv("CONFORM_IMAGE");
    bool is_engines = t->ops == &box_docker;

    t->engine.hints.host = getenv("CONFORM_ENGINE");
    t->walls = WALLS_ALL & ~(is_engines ? engine_lacks() : 0);
    t->spec = (struct box_spec){
        .backend = t->ops->name,
        .image = is_engines ? image : NULL,
        .engine = &t->engine,
        .may_miss = WALLS_ALL & ~t->walls,
        .limits = limits_default(),
        .workdir = BOX_WORKSPACE,
        .run_dir = t->run_dir,
        .uid_base = UID_BASE,
    };
}

static int setup(void **state)
{
    struct trial *t = calloc(1, sizeof(*t));

    if (!t)
        return -1;
    t->ops = *state;
    (void)snprintf(t->run_dir, sizeof(t->run_dir), "/tmp/glovebox-conform-XXXXXX");
    if (!mkdtemp(t->run_dir)) {
        free(t);
        return -1;
    }
    spec_fill(t);
    ledger_scope(&t->spec, &t->scope);
    ledger_take(&t->scope, &t->before);
    *state = t;
    return 0;
}

static int teardown(void **state)
{
    struct trial *t = *state;
    struct ledger now;
    int r;

    if (t->box)
        (void)box_close(t->box);
    r = ledger_settles(&t->scope, &t->before, &now) ? 0 : -1;
    if (r < 0)
        print_error("groups %u → %u, processes %u → %u, children %u → %u, descriptors %u → %u, "
                    "mounts %u → %u\n",
                    t->before.groups, now.groups, t->before.processes, now.processes,
                    t->before.children, now.children, t->before.fds, now.fds, t->before.mounts,
                    now.mounts);
    if (r < 0)
        remove_groups(&t->scope);
    remove_run_dir(t->run_dir);
    free(t);
    return r;
}

unsigned trial_within_ms(unsigned ms)
{
    const char *proof = getenv("GLOVEBOX_PROOF");

    return proof && *proof ? ms : 10 * ms;
}

/* ---- programs ------------------------------------------------------------------------------- */

/* Works here, and is the one that was asked for, if any was. */
static bool is_usable(const struct box_ops *ops)
{
    const char *only = getenv("CONFORM_BACKEND");
    struct trial t = { .ops = ops };
    struct gb_err err = { 0 };
    int r;

    if (only && strcmp(only, ops->name) != 0)
        return false;
    (void)snprintf(t.run_dir, sizeof(t.run_dir), "/tmp/glovebox-conform-XXXXXX");
    if (!mkdtemp(t.run_dir))
        return false;
    spec_fill(&t);
    r = ops->probe(&t.spec, &err);
    if (r < 0)
        printf("# %s: %.*s\n", ops->name, (int)strcspn(err.msg, "\n"), err.msg);
    remove_run_dir(t.run_dir);
    return r == 0;
}

/* Mounts that a box left would reach a namespace that shares its mounts; those of other programs on
 * this machine do not.  Nobody but root can have such a namespace, nor leave a mount. */
static bool mounts_apart(void)
{
    return geteuid() != 0 ||
           (unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
            mount(NULL, "/", NULL, MS_REC | MS_SHARED, NULL) == 0);
}

int trial_main(const struct trial_test *tests, size_t n_tests)
{
    const struct box_ops *const *backends = box_backends();
    struct CMUnitTest *all;
    size_t n_backends = 0;
    size_t n = 0;
    int r;

    if (!mounts_apart())
        return 1;
    while (backends[n_backends])
        n_backends++;
    all = calloc(n_backends * n_tests + 1, sizeof(*all));
    for (size_t i = 0; all && i < n_backends; i++) {
        bool is_in = is_usable(backends[i]);

        for (size_t k = 0; is_in && k < n_tests; k++) {
            char *name = NULL;

            if (tests[k].fits && !tests[k].fits(backends[i]))
                continue;
            if (asprintf(&name, "%s: %s", backends[i]->name, tests[k].name) < 0)
                return 1;
            all[n++] = (struct CMUnitTest){ name, tests[k].run, setup, teardown,
                                            (void *)(uintptr_t)backends[i] };
        }
    }
    if (n == 0) {
        printf("1..0 # SKIP no backend can make boxes here\n");
        free(all);
        return 0;
    }
    r = _cmocka_run_group_tests("conform", all, n, NULL, NULL);
    for (size_t i = 0; i < n; i++)
        free((void *)(uintptr_t)all[i].name);
    free(all);
    return r;
}
