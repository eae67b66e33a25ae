/* SPDX-License-Identifier: Apache-2.0 */
/* agent/folder.c - a task's folder: the directory, its files, its transcript. */
#include "agent/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "agent/checkpoint.h"
#include "agent/fence.h"
#include "base/buf.h"
#include "base/dir.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/id.h"
#include "base/sys.h"
#include "run/save.h"

#define SAME_SECOND_MAX 1000
#define SWEEP_MAX       100000
#define STILLBORN_S     60

struct folder {
    char *path;
    int fd;
    pthread_mutex_t lock; /* of the transcript, which is: */
    int transcript;       /* -1: not opened yet */
    uint64_t told;        /* where the next line goes */
    bool is_anew;         /* behind that nothing stands any more */
    atomic_int failure;   /* of the first write that failed */
};

/* ---- the directory -------------------------------------------------------------------------- */

static struct folder *folder_new(void)
{
    struct folder *folder = calloc(1, sizeof(*folder));

    if (!folder)
        return NULL;
    if (pthread_mutex_init(&folder->lock, NULL) != 0) {
        free(folder);
        return NULL;
    }
    folder->fd = -1;
    folder->transcript = -1;
    return folder;
}

void folder_close(struct folder **folder)
{
    if (!*folder)
        return;
    drop_fd(&(*folder)->transcript);
    drop_fd(&(*folder)->fd);
    (void)pthread_mutex_destroy(&(*folder)->lock);
    free((*folder)->path);
    free(*folder);
    *folder = NULL;
}

static int keep_failure(struct folder *folder, int r)
{
    int none = 0;

    if (r < 0)
        (void)atomic_compare_exchange_strong(&folder->failure, &none, r);
    return r;
}

int folder_failure(struct folder *folder)
{
    return atomic_load(&folder->failure);
}

const char *folder_path(const struct folder *folder)
{
    return folder->path;
}

static int enter(const char *path, struct folder **ret, struct gb_err *err)
{
    cleanup_folder struct folder *folder = folder_new();

    if (!folder)
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for a run's folder");
    /* A link that took its place would lead what is written, and what is swept, elsewhere. */
    folder->fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder->fd >= 0)
        folder->path = realpath(path, NULL);
    if (!folder->path)
        return gb_fail_sys(err, "opening the run's folder '%s'", path);
    *ret = take_ptr(folder);
    return 0;
}

/* run_2026-03-01_14-07-09 in the time of the place, as people name their days. */
static int name_of_now(char *name, size_t size)
{
    time_t now = time(NULL);
    struct tm parts;

    if (!localtime_r(&now, &parts) || strftime(name, size, "run_%Y-%m-%d_%H-%M-%S", &parts) == 0)
        return -EOVERFLOW;
    return 0;
}

/* mkdir(2) decides who has a name: other runs may begin in the same second. */
static int make_run(const char *runs, char *path, size_t size, struct gb_err *err)
{
    char name[64];
    int len = -1;

    if (name_of_now(name, sizeof(name)) == 0)
        len = snprintf(path, size, "%s/%s", runs, name);
    if (len < 0 || (size_t)len + 8 > size)
        return gb_fail(err, -ENAMETOOLONG, GB_BLAME_CALLER, "'%s' is too long", runs);
    for (int n = 2; mkdir(path, 0700) < 0; n++) {
        if (errno != EEXIST || n > SAME_SECOND_MAX)
            return gb_fail_sys(err, "making the run's folder '%s'", path);
        (void)snprintf(path + len, size - (size_t)len, "_%d", n);
    }
    return 0;
}

static int make_runs(const char *runs, bool is_named, struct gb_err *err)
{
    int r = runs[0] ? dir_make_parents(runs, 0755) : -ENOENT;
    struct stat st;

    if (r == 0 && mkdir(runs, 0755) < 0 && errno != EEXIST)
        r = -errno;
    if (r == 0 && !is_named && lstat(runs, &st) == 0 && S_ISLNK(st.st_mode))
        return gb_fail(err, -ELOOP, GB_BLAME_CALLER,
                       "'%s' is a link, which may have come with the project", runs);
    return r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "making '%s': %s", runs, strerror(-r)) : 0;
}

static int put_file(struct folder *folder, const char *path, const void *bytes, size_t len,
                    struct gb_err *err);

void folder_discard(struct folder **folder)
{
    if (!*folder)
        return;
    (void)unlinkat((*folder)->fd, "objective.txt", 0);
    (void)rmdir((*folder)->path); /* one that has more stays */
    folder_close(folder);
}

/* Of a directory that was just made. */
static int begin(const char *path, const char *objective, struct folder **ret, struct gb_err *err)
{
    int r = enter(path, ret, err);

    if (r < 0) {
        (void)rmdir(path);
        return r;
    }
    (void)flock((*ret)->fd, LOCK_EX | LOCK_NB); /* held while the descriptor is */
    r = put_file(*ret, "objective.txt", objective, strlen(objective), err);
    if (r < 0)
        folder_discard(ret);
    return r;
}

/* The name that run/save.c gives a file until it is whole. */
static bool is_draft(const char *name)
{
    static const char prefix[] = ".glovebox-";

    return strncmp(name, prefix, sizeof(prefix) - 1) == 0 &&
           id_is_valid('f', name + sizeof(prefix) - 1);
}

static bool is_old(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && st.st_mtim.tv_sec < time(NULL) - STILLBORN_S;
}

/* Removes the drafts of a folder that has nothing else: its maker was killed before anybody could
 * know of the task.  The lock, which a maker takes right after the first moment, says whether
 * somebody is still at it. */
static void drop_stillborn(int runs_fd, const char *name)
{
    cleanup_close int fd = openat(runs_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int own = fd < 0 ? -1 : openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = own < 0 ? NULL : fdopendir(own);
    const struct dirent *entry;
    bool is_bare = dir && is_old(fd) && flock(fd, LOCK_EX | LOCK_NB) == 0;

    while (is_bare && (entry = readdir(dir)) != NULL)
        is_bare = is_draft(entry->d_name) || strcmp(entry->d_name, ".") == 0 ||
                  strcmp(entry->d_name, "..") == 0;
    if (is_bare)
        rewinddir(dir);
    while (is_bare && (entry = readdir(dir)) != NULL)
        if (is_draft(entry->d_name))
            (void)unlinkat(fd, entry->d_name, 0);
    if (is_bare)
        (void)unlinkat(runs_fd, name, AT_REMOVEDIR);
    if (dir)
        (void)closedir(dir);
    else if (own >= 0)
        close(own);
}

static void sweep_stillborn(const char *runs)
{
    DIR *dir = opendir(runs);
    const struct dirent *entry;

    for (size_t i = 0; dir && i < SWEEP_MAX && (entry = readdir(dir)) != NULL; i++)
        if (strncmp(entry->d_name, "run_", 4) == 0)
            drop_stillborn(dirfd(dir), entry->d_name);
    if (dir)
        (void)closedir(dir);
}

int folder_make(const char *runs, bool is_named, const char *objective, struct folder **ret,
                struct gb_err *err)
{
    char path[PATH_MAX];
    int r = make_runs(runs, is_named, err);

    if (r < 0)
        return r;
    sweep_stillborn(runs);
    r = make_run(runs, path, sizeof(path), err);
    return r < 0 ? r : begin(path, objective, ret, err);
}

int folder_make_again(const char *path, const char *objective, struct folder **ret,
                      struct gb_err *err)
{
    int r = dir_make_parents(path, 0755);

    if (r == 0 && mkdir(path, 0700) < 0)
        r = -errno;
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "making '%s': %s", path, strerror(-r));
    return begin(path, objective, ret, err);
}

/* What cannot be looked at or removed stays: it is in nobody's way. */
static void sweep(const struct folder *folder)
{
    char *const roots[] = { folder->path, NULL };
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
    const FTSENT *entry;

    for (size_t i = 0; walk && i < SWEEP_MAX && (entry = fts_read(walk)) != NULL; i++)
        if (entry->fts_info == FTS_F && is_draft(entry->fts_name))
            (void)unlink(entry->fts_path);
    if (walk)
        (void)fts_close(walk);
}

int folder_open(const char *path, struct folder **ret, struct gb_err *err)
{
    int r = enter(path, ret, err);

    if (r == 0)
        sweep(*ret);
    return r;
}

/* ---- files ---------------------------------------------------------------------------------- */

static int write_file(struct folder *folder, const char *path, const void *bytes, size_t len,
                      struct gb_err *err)
{
    struct save save;
    int r;

    if (len > FOLDER_FILE_MAX)
        return gb_fail(err, -EFBIG, GB_BLAME_PEER, "'%s' would have more than %d MiB", path,
                       FOLDER_FILE_MAX >> 20);
    r = save_begin(&save, folder->fd, path, 0644, err);
    if (r == 0)
        r = save_add(&save, bytes, len, err);
    if (r == 0)
        r = save_commit(&save, err);
    if (r == 0)
        return 0;
    save_abort(&save);
    return gb_wrap(err, r, "the run's folder '%s'", folder->path);
}

static int put_file(struct folder *folder, const char *path, const void *bytes, size_t len,
                    struct gb_err *err)
{
    return keep_failure(folder, write_file(folder, path, bytes, len, err));
}

#define AGENT_NAME_MAX 32

/* iteration_01_code/ and what comes below. */
static int step_path(struct folder_step step, const char *name, char path[static PATH_MAX],
                     struct gb_err *err)
{
    size_t len = strlen(step.agent);

    if (len == 0 || len > AGENT_NAME_MAX ||
        strspn(step.agent, "abcdefghijklmnopqrstuvwxyz0123456789_-") != len)
        return gb_fail(err, -EINVAL, GB_BLAME_BUG, "that is no name for an agent");
    if (snprintf(path, PATH_MAX, "iteration_%02u_%s/%s", step.number, step.agent, name) >= PATH_MAX)
        return gb_fail(err, -ENAMETOOLONG, GB_BLAME_PEER, "the path '%.80s…' is too long", name);
    return 0;
}

int folder_put(struct folder *folder, struct folder_step step, enum folder_file file,
               const char *bytes, size_t len, struct gb_err *err)
{
    static const char *const names[N_FOLDER_FILES] = {
        [FOLDER_INPUT] = "agent_input.json",
        [FOLDER_OUTPUT] = "agent_output.json",
        [FOLDER_REPORT] = "execution_report.txt",
    };
    char path[PATH_MAX];
    int r = step_path(step, names[file], path, err);

    return r < 0 ? r : put_file(folder, path, bytes, len, err);
}

int folder_put_report(struct folder *folder, struct folder_step step,
                      const struct folder_report *report, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(FOLDER_FILE_MAX);
    int r = folder_report_text(report, &text);

    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "an execution report: %s", strerror(-r));
    return folder_put(folder, step, FOLDER_REPORT, text.data, text.len, err);
}

int folder_put_code(struct folder *folder, struct folder_step step, const struct agent_files *files,
                    struct gb_err *err)
{
    char path[PATH_MAX];
    char name[PATH_MAX];
    int r = 0;

    for (size_t i = 0; i < files->n && r == 0; i++)
        r = agent_path_check(files->items[i].path, err);
    for (size_t i = 0; i < files->n && r == 0; i++) {
        (void)snprintf(name, sizeof(name), "code/%s", files->items[i].path);
        r = step_path(step, name, path, err);
        if (r == 0)
            r = put_file(folder, path, files->items[i].text, files->items[i].len, err);
    }
    return r;
}

int folder_put_checkpoint(struct folder *folder, const struct checkpoint *checkpoint,
                          struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(CHECKPOINT_MAX);
    int r = checkpoint_text(checkpoint, &text);

    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "a checkpoint: %s", strerror(-r));
    return put_file(folder, "checkpoint.json", text.data, text.len, err);
}

static int open_beneath(int fd, const char *name, uint64_t flags)
{
    struct sys_open_how how = {
        .flags = flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
        .mode = flags & O_CREAT ? 0644 : 0,
        .resolve = SYS_RESOLVE_BENEATH | SYS_RESOLVE_NO_SYMLINKS | SYS_RESOLVE_NO_MAGICLINKS,
    };

    return sys_openat2(fd, name, &how);
}

/* 1: its contents, as much as the buf may have; 0: there is none. */
static int get_file(const struct folder *folder, const char *name, struct buf *ret,
                    struct gb_err *err)
{
    cleanup_close int fd = open_beneath(folder->fd, name, O_RDONLY);
    int r = fd < 0 ? -errno : file_read(fd, ret);

    if (r == -ENOENT)
        return 0;
    if (r == -EINVAL || r == -EFBIG)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "'%s/%s' is no file of at most %zu bytes",
                       folder->path, name, ret->max);
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "reading '%s/%s': %s", folder->path, name,
                       strerror(-r));
    return 1;
}

#define OBJECTIVE_MAX (1 << 20)

static int get_objective(const struct folder *folder, char **ret, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(OBJECTIVE_MAX);
    int r = get_file(folder, "objective.txt", &text, err);

    if (r == 0)
        return gb_fail(err, -ENOENT, GB_BLAME_CALLER,
                       "'%s' has neither checkpoint.json nor objective.txt", folder->path);
    if (r < 0)
        return r;
    if (memchr(text.data, '\0', text.len))
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "'%s/objective.txt' is no text",
                       folder->path);
    *ret = buf_take(&text);
    return *ret ? 0 : gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for an objective");
}

int folder_get_checkpoint(struct folder *folder, struct checkpoint *ret, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(CHECKPOINT_MAX);
    int r = get_file(folder, "checkpoint.json", &text, err);

    if (r == 0)
        return get_objective(folder, &ret->objective, err);
    if (r < 0)
        return r;
    r = checkpoint_parse(text.data, text.len, ret, err);
    return r < 0 ? gb_wrap(err, r, "'%s/checkpoint.json'", folder->path) : 1;
}

/* ---- the transcript ------------------------------------------------------------------------- */

static int open_transcript(struct folder *folder, struct gb_err *err)
{
    cleanup_close int fd = open_beneath(folder->fd, "transcript.jsonl", O_RDWR | O_CREAT);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return gb_fail_sys(err, "opening '%s/transcript.jsonl'", folder->path);
    if (!S_ISREG(st.st_mode))
        return gb_fail(err, -EINVAL, GB_BLAME_HOST, "'%s/transcript.jsonl' is not a file",
                       folder->path);
    folder->transcript = take_fd(&fd);
    return 0;
}

static bool stands_there(int fd, uint64_t at, const char *line, size_t len)
{
    char piece[4096];

    for (size_t done = 0, n; done < len; done += n) {
        ssize_t got;

        n = len - done < sizeof(piece) ? len - done : sizeof(piece);
        do {
            got = pread(fd, piece, n, (off_t)(at + done));
        } while (got < 0 && errno == EINTR);
        if (got != (ssize_t)n || memcmp(piece, line + done, n) != 0)
            return false;
    }
    return true;
}

/* Leaves what was told and not a byte more. */
static int cut(const struct folder *folder)
{
    if (ftruncate(folder->transcript, (off_t)folder->told) < 0 ||
        lseek(folder->transcript, (off_t)folder->told, SEEK_SET) < 0)
        return -errno;
    return 0;
}

static int add_line(struct folder *folder, const char *line, size_t len)
{
    int r = folder->is_anew ? 0 : cut(folder);

    if (r < 0)
        return r;
    folder->is_anew = true;
    r = fd_write_full(folder->transcript, line, len);
    /* A second try begins with the cut, should this one not succeed. */
    if (r < 0)
        folder->is_anew = cut(folder) == 0;
    return r;
}

static int tell(struct folder *folder, const char *line, size_t len, struct gb_err *err)
{
    int r = folder->transcript < 0 ? open_transcript(folder, err) : 0;

    if (r < 0)
        return r;
    if (folder->told + len > FOLDER_TRANSCRIPT_MAX)
        return gb_fail(err, -EFBIG, GB_BLAME_PEER, "'%s/transcript.jsonl' is full", folder->path);
    if (folder->is_anew || !stands_there(folder->transcript, folder->told, line, len))
        r = add_line(folder, line, len);
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "writing '%s/transcript.jsonl': %s", folder->path,
                       strerror(-r));
    folder->told += len;
    return 0;
}

int folder_tell(struct folder *folder, const char *line, size_t len, struct gb_err *err)
{
    int r;

    if (len == 0 || memchr(line, '\n', len) != line + len - 1)
        return gb_fail(err, -EINVAL, GB_BLAME_BUG, "what is told is one line");
    (void)pthread_mutex_lock(&folder->lock);
    r = keep_failure(folder, tell(folder, line, len, err));
    (void)pthread_mutex_unlock(&folder->lock);
    return r;
}
