/* SPDX-License-Identifier: Apache-2.0 */
/* image/context.c - the directory that an image is built from, as a tar stream. */
#include "image/context.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "base/sys.h"
#include "image/dockerfile.h"
#include "image/ignore.h"
#include "image/template.h"

#define CHUNK       (64 << 10)
#define IGNORE_FILE ".dockerignore"

/* The walk of a context.  What it finds goes to visit(), which says whether to go into a directory
 * (1). */
struct walk {
    char path[CONTEXT_PATH_MAX + 1]; /* of the present entry */
    size_t len;
    unsigned depth; /* directories above it */
    uint64_t n_seen;
    uint64_t max_seen;
    int (*visit)(struct walk *walk, int dir_fd, const char *name, const struct stat *st);
    struct gb_err *err;
};

/* ---- walking -------------------------------------------------------------------------------- */

struct names {
    char **items;
    size_t n;
    size_t room;
};

static void names_clear(struct names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->items[i]);
    free(names->items);
}

#define cleanup_names cleanup_with(names_clear)

static int add_name(struct names *names, const char *name)
{
    if (names->n == names->room) {
        size_t room = names->room ? 2 * names->room : 64;
        char **grown = reallocarray(names->items, room, sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        names->items = grown;
        names->room = room;
    }
    names->items[names->n] = strdup(name);
    return names->items[names->n] ? (names->n++, 0) : -ENOMEM;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names of a directory, sorted.  dir_fd stays the caller's. */
static int read_names(struct walk *walk, int dir_fd, struct names *names)
{
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    int r = 0;

    if (!dir) {
        drop_fd(&fd);
        return gb_fail_sys(walk->err, "reading the directory '%s' of the build context",
                           walk->path);
    }
    while (r == 0 && (errno = 0, entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (++walk->n_seen > walk->max_seen)
            r = gb_fail(walk->err, -EFBIG, GB_BLAME_CALLER,
                        "the build context has more than %llu files" GB_REMEDY
                        "leave some out with .dockerignore",
                        (unsigned long long)walk->max_seen);
        else if (add_name(names, entry->d_name) < 0)
            r = gb_no_memory(walk->err);
    }
    if (r == 0 && errno)
        r = gb_fail_sys(walk->err, "reading the directory '%s' of the build context", walk->path);
    closedir(dir);
    if (r == 0 && names->n > 0)
        qsort(names->items, names->n, sizeof(*names->items), compare_names);
    return r;
}

static int walk_names(struct walk *walk, int dir_fd);

/* The depth is bounded, so the recursion is.
 * NOLINTNEXTLINE(misc-no-recursion) */
static int walk_into(struct walk *walk, int dir_fd, const char *name)
{
    cleanup_close int fd = -1;
    int r;

    if (walk->depth == CONTEXT_DEPTH_MAX)
        return gb_fail(walk->err, -EFBIG, GB_BLAME_CALLER,
                       "the build context is deeper than %d directories", CONTEXT_DEPTH_MAX);
    fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return gb_fail_sys(walk->err, "opening '%s' of the build context", walk->path);
    walk->depth++;
    r = walk_names(walk, fd);
    walk->depth--;
    return r;
}

/* NOLINTNEXTLINE(misc-no-recursion) */
static int walk_name(struct walk *walk, int dir_fd, const char *name)
{
    size_t len = walk->len;
    struct stat st;
    int n = snprintf(walk->path + len, sizeof(walk->path) - len, "%s%s", len ? "/" : "", name);
    int r;

    if (n >= (int)(sizeof(walk->path) - len))
        return gb_fail(walk->err, -ENAMETOOLONG, GB_BLAME_CALLER,
                       "a path of the build context has more than %d bytes", CONTEXT_PATH_MAX);
    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return gb_fail_sys(walk->err, "reading '%s' of the build context", walk->path);
    walk->len += (size_t)n;
    r = walk->visit(walk, dir_fd, name, &st);
    if (r == 1)
        r = walk_into(walk, dir_fd, name);
    walk->len = len;
    walk->path[len] = '\0';
    return r;
}

/* NOLINTNEXTLINE(misc-no-recursion) */
static int walk_names(struct walk *walk, int dir_fd)
{
    cleanup_names struct names names = { 0 };
    int r = read_names(walk, dir_fd, &names);

    for (size_t i = 0; i < names.n && r == 0; i++)
        r = walk_name(walk, dir_fd, names.items[i]);
    return r;
}

/* ---- looking -------------------------------------------------------------------------------- */

int context_open(const char *path, struct gb_err *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return fd < 0 ? gb_fail_sys(err, "opening the build context '%s'", path) : fd;
}

static int open_beneath(int dir_fd, const char *name)
{
    struct sys_open_how how = {
        .flags = FILE_READING,
        .resolve = SYS_RESOLVE_BENEATH | SYS_RESOLVE_NO_SYMLINKS | SYS_RESOLVE_NO_MAGICLINKS,
    };

    return sys_openat2(dir_fd, name, &how);
}

static int read_text(int dir_fd, const char *name, struct buf *ret, struct gb_err *err)
{
    cleanup_close int fd = open_beneath(dir_fd, name);
    int r;

    if (fd < 0)
        return gb_fail_sys(err, "opening '%s' of the build context", name);
    r = file_read(fd, ret);
    /* What it is and how long, its owner can change. */
    return r < 0 ? gb_fail(err, r, r == -EINVAL || r == -EFBIG ? GB_BLAME_CALLER : GB_BLAME_HOST,
                           "reading '%s' of the build context: %s", name, file_trouble(r))
                 : 0;
}

int context_read_dockerfile(int dir_fd, const char *name, struct buf *ret, struct gb_err *err)
{
    if (!path_is_below(name))
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "the Dockerfile is not named by a path below the build context");
    return read_text(dir_fd, name, ret, err);
}

int context_read_ignore(int dir_fd, struct ignore **ret, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(IGNORE_TEXT_MAX);
    struct gb_err failure = { 0 };
    int r = read_text(dir_fd, IGNORE_FILE, &text, &failure);

    if (r == -ENOENT) {
        *ret = NULL;
        return 0;
    }
    if (r < 0) {
        if (err)
            *err = failure;
        return r;
    }
    return ignore_new(text.data ? text.data : "", text.len, ret, err);
}

struct look {
    struct walk walk;
    struct template_facts *facts;
};

/* A link of that name counts as well: docker would use what it points to. */
static int visit_look(struct walk *walk, int dir_fd, const char *name, const struct stat *st)
{
    struct look *look = (struct look *)walk;

    (void)dir_fd;
    (void)name;
    if (!S_ISDIR(st->st_mode))
        template_see(look->facts, walk->path);
    return 0;
}

int context_look(int dir_fd, struct template_facts *ret, struct gb_err *err)
{
    struct template_facts facts = { 0 };
    struct look look = {
        .walk = { .visit = visit_look, .max_seen = CONTEXT_ENTRIES_MAX, .err = err },
        .facts = &facts,
    };
    int r = walk_names(&look.walk, dir_fd);

    if (r == 0)
        *ret = facts;
    return r;
}

/* ---- writing -------------------------------------------------------------------------------- */

struct packing {
    struct walk walk;
    const struct context_spec *spec;
    struct tar tar;
    struct context_report report;
    uint64_t max_bytes;
    /* Of each directory above the present entry: where its path ends, and whether it was written.
     * One that is left out is written when something below it is not. */
    size_t dir_len[CONTEXT_DEPTH_MAX + 1];
    bool dir_written[CONTEXT_DEPTH_MAX + 1];
    char chunk[CHUNK];
};

static int begin_entry(struct packing *packing, const struct tar_entry *entry)
{
    packing->report.n_entries++;
    return tar_begin(&packing->tar, entry, packing->walk.err);
}

static int write_parents(struct packing *packing)
{
    for (unsigned i = 0; i < packing->walk.depth; i++) {
        char *path = packing->walk.path;
        size_t end = packing->dir_len[i];
        struct tar_entry entry = { .kind = TAR_DIRECTORY, .path = path, .mode = 0755 };
        char kept = path[end];
        int r;

        if (packing->dir_written[i])
            continue;
        path[end] = '\0';
        r = begin_entry(packing, &entry);
        path[end] = kept;
        if (r < 0)
            return r;
        packing->dir_written[i] = true;
    }
    return 0;
}

static int count_bytes(struct packing *packing, uint64_t size)
{
    if (size > packing->max_bytes - packing->report.n_bytes)
        return gb_fail(packing->walk.err, -EFBIG, GB_BLAME_CALLER,
                       "the build context has more than %llu bytes" GB_REMEDY
                       "leave some out with .dockerignore",
                       (unsigned long long)packing->max_bytes);
    packing->report.n_bytes += size;
    return 0;
}

static int write_contents(struct packing *packing, int fd, uint64_t size)
{
    int r = size ? 0 : tar_add(&packing->tar, NULL, 0, packing->walk.err);

    while (size > 0 && r == 0) {
        size_t want = size < CHUNK ? (size_t)size : CHUNK;
        ssize_t n = fd_read_full(fd, packing->chunk, want);

        if (n < 0) {
            errno = (int)-n;
            return gb_fail_sys(packing->walk.err, "reading '%s' of the build context",
                               packing->walk.path);
        }
        if ((size_t)n < want)
            return gb_fail(packing->walk.err, -ESTALE, GB_BLAME_CALLER,
                           "'%s' of the build context became shorter while it was read",
                           packing->walk.path);
        r = tar_add(&packing->tar, packing->chunk, want, packing->walk.err);
        size -= want;
    }
    return r;
}

static int skip(struct packing *packing)
{
    if (packing->report.n_skipped++ == 0)
        (void)snprintf(packing->report.skipped, sizeof(packing->report.skipped), "%.*s",
                       (int)sizeof(packing->report.skipped) - 1, packing->walk.path);
    return 0;
}

static int write_file(struct packing *packing, int dir_fd, const char *name)
{
    cleanup_close int fd =
        openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct tar_entry entry = { .kind = TAR_FILE, .path = packing->walk.path };
    struct stat st;
    int r;

    if (fd < 0 || fstat(fd, &st) < 0)
        return gb_fail_sys(packing->walk.err, "opening '%s' of the build context",
                           packing->walk.path);
    if (!S_ISREG(st.st_mode))
        return skip(packing); /* it became something else */
    entry.mode = st.st_mode & 0100 ? 0755 : 0644;
    entry.size = (uint64_t)st.st_size;
    r = count_bytes(packing, entry.size);
    if (r == 0)
        r = write_parents(packing);
    if (r == 0)
        r = begin_entry(packing, &entry);
    return r < 0 ? r : write_contents(packing, fd, entry.size);
}

static int write_link(struct packing *packing, int dir_fd, const char *name)
{
    char target[PATH_MAX];
    struct tar_entry entry = {
        .kind = TAR_LINK,
        .path = packing->walk.path,
        .mode = 0777,
        .target = target,
    };
    ssize_t len = readlinkat(dir_fd, name, target, sizeof(target) - 1);
    int r;

    if (len < 0)
        return gb_fail_sys(packing->walk.err, "reading the link '%s' of the build context",
                           packing->walk.path);
    target[len] = '\0';
    r = write_parents(packing);
    return r < 0 ? r : begin_entry(packing, &entry);
}

/* Into a directory that is left out only where something in it might return. */
static int visit_directory(struct packing *packing, bool is_ignored)
{
    unsigned depth = packing->walk.depth;

    if (is_ignored && !ignore_may_return(packing->spec->ignore)) {
        packing->report.n_ignored++;
        return 0;
    }
    packing->dir_len[depth] = packing->walk.len;
    packing->dir_written[depth] = false;
    if (!is_ignored) {
        struct tar_entry entry = {
            .kind = TAR_DIRECTORY,
            .path = packing->walk.path,
            .mode = 0755,
        };
        int r = write_parents(packing);

        if (r == 0)
            r = begin_entry(packing, &entry);
        if (r < 0)
            return r;
        packing->dir_written[depth] = true;
    }
    return 1;
}

/* The engine reads .dockerignore too, to leave it and the Dockerfile out of what is copied. */
static int is_ignored(struct packing *packing)
{
    if (!packing->spec->ignore || strcmp(packing->walk.path, IGNORE_FILE) == 0)
        return 0;
    return ignore_matches(packing->spec->ignore, packing->walk.path, packing->walk.err);
}

static int visit_pack(struct walk *walk, int dir_fd, const char *name, const struct stat *st)
{
    struct packing *packing = (struct packing *)walk;
    const char *replaced = packing->spec->dockerfile_name;
    int out;

    if (replaced && strcmp(walk->path, replaced) == 0)
        return 0;
    out = is_ignored(packing);
    if (out < 0)
        return out;
    if (S_ISDIR(st->st_mode))
        return visit_directory(packing, out);
    if (out) {
        packing->report.n_ignored++;
        return 0;
    }
    if (S_ISREG(st->st_mode))
        return write_file(packing, dir_fd, name);
    return S_ISLNK(st->st_mode) ? write_link(packing, dir_fd, name) : skip(packing);
}

static int write_dockerfile(struct packing *packing)
{
    const struct context_spec *spec = packing->spec;
    struct tar_entry entry = {
        .kind = TAR_FILE,
        .path = spec->dockerfile_name,
        .mode = 0644,
        .size = spec->dockerfile_len,
    };
    int r;

    if (!spec->dockerfile_name)
        return 0;
    /* below a directory, a link in its place could lead the engine to another file */
    if (!path_is_below(spec->dockerfile_name) || strchr(spec->dockerfile_name, '/'))
        return gb_fail(packing->walk.err, -EINVAL, GB_BLAME_BUG,
                       "the Dockerfile that is built stands at the top of its context");
    r = count_bytes(packing, entry.size);
    if (r == 0)
        r = begin_entry(packing, &entry);
    if (r == 0)
        r = tar_add(&packing->tar, spec->dockerfile, spec->dockerfile_len, packing->walk.err);
    return r;
}

int context_write(const struct context_spec *spec, tar_write write, void *user,
                  struct context_report *ret, struct gb_err *err)
{
    cleanup_free struct packing *packing = calloc(1, sizeof(*packing));
    int r;

    if (!packing)
        return gb_no_memory(err);
    packing->spec = spec;
    packing->max_bytes = spec->max_bytes ? spec->max_bytes : CONTEXT_BYTES_MAX;
    if (packing->max_bytes > TAR_SIZE_MAX)
        packing->max_bytes = TAR_SIZE_MAX;
    packing->tar = (struct tar){ .write = write, .user = user };
    packing->walk.visit = visit_pack;
    packing->walk.max_seen = spec->max_entries ? spec->max_entries : CONTEXT_ENTRIES_MAX;
    packing->walk.err = err;
    r = write_dockerfile(packing);
    if (r == 0)
        r = walk_names(&packing->walk, spec->dir_fd);
    if (r == 0)
        r = tar_end(&packing->tar, err);
    if (r == 0)
        *ret = packing->report;
    return r;
}
