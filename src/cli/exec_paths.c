/* SPDX-License-Identifier: Apache-2.0 */
/* cli/exec_paths.c - the paths on `glovebox exec`'s command line: code, files in, files out. */
#include "cli/exec_paths.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "box/box.h"
#include "json/utf8.h"
#include "run/save.h"

/* The caller named it, so the caller can repair it. */
static int fail_path(struct gb_err *err, const char *what, const char *path)
{
    int saved = errno;

    return gb_fail(err, -saved, GB_BLAME_CALLER, "%s%.200s: %s", what, path, strerror(saved));
}

int exec_check_text(const char *what, const char *text, struct gb_err *err)
{
    if (utf8_is_valid(text, strlen(text)))
        return 0;
    return gb_fail(err, -EILSEQ, GB_BLAME_CALLER, "%s: '%.200s' is not UTF-8", what, text);
}

static int read_all(int fd, const char *name, struct buf *ret, struct gb_err *err)
{
    ssize_t n;

    do {
        int r = buf_reserve(ret, EXEC_READ_STEP);

        if (r < 0)
            return gb_fail(err, r, GB_BLAME_HOST, "%.200s: out of memory", name);
        n = fd_read_full(fd, ret->data + ret->len, EXEC_READ_STEP);
        if (n < 0)
            return gb_fail(err, (int)n, GB_BLAME_HOST, "%.200s: %s", name, strerror((int)-n));
        ret->len += (size_t)n;
        ret->data[ret->len] = '\0';
        if (ret->len > EXEC_CODE_MAX)
            return gb_fail(err, -EFBIG, GB_BLAME_CALLER, "%.200s: code may have at most 64 MiB",
                           name);
    } while (n == EXEC_READ_STEP);
    return 0;
}

int exec_read_code(const char *file, struct buf *ret, bool *ret_is_regular, struct gb_err *err)
{
    cleanup_close int fd = -1;
    struct stat st;

    *ret_is_regular = false;
    if (strcmp(file, "-") == 0)
        return read_all(STDIN_FILENO, "stdin", ret, err);
    fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st) < 0)
        return fail_path(err, "", file);
    if (S_ISDIR(st.st_mode))
        return gb_fail(err, -EISDIR, GB_BLAME_CALLER, "%.200s: is a directory, not a program",
                       file);
    *ret_is_regular = S_ISREG(st.st_mode);
    return read_all(fd, file, ret, err);
}

/* A copy of arg cut at its last colon; *ret_second is NULL when there is none. */
static char *split(const char *what, const char *arg, char **ret_second, struct gb_err *err)
{
    char *text;
    char *colon;

    if (exec_check_text(what, arg, err) < 0)
        return NULL;
    text = strdup(arg);
    if (!text) {
        (void)gb_no_memory(err);
        return NULL;
    }
    colon = strrchr(text, ':');
    if (colon)
        *colon++ = '\0';
    *ret_second = colon;
    return text;
}

static int check_box_path(const char *what, const char *path, struct gb_err *err)
{
    if (path_is_below(path) || (path_is_clean_absolute(path) && path[1]))
        return 0;
    return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                   "%s: '%.200s' is no path in the box: neither '.' nor '..' nor a slash at the "
                   "end may be in it",
                   what, path);
}

int exec_parse_file(const char *arg, struct exec_file *ret, char **ret_text, struct gb_err *err)
{
    char *box = NULL;
    cleanup_free char *text = split("--file", arg, &box, err);
    cleanup_close int fd = -1;
    struct stat st;
    int r;

    if (!text)
        return -EINVAL;
    r = check_box_path("--file", box ? box : path_base(text), err);
    if (r < 0)
        return r;
    /* O_NONBLOCK: a fifo is refused below, not waited for. */
    fd = open(text, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st) < 0)
        return fail_path(err, "--file: ", text);
    if (!S_ISREG(st.st_mode))
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "--file: %.200s: is no regular file%s", text,
                       S_ISDIR(st.st_mode) ? "; --workspace takes a directory" : "");
    *ret = (struct exec_file){
        .host = text,
        .box = box ? box : path_base(text),
        .fd = take_fd(&fd),
        .size = (uint64_t)st.st_size,
        .mode = st.st_mode & S_IXUSR ? 0755 : 0644,
    };
    *ret_text = take_ptr(text);
    return 0;
}

/* With --json stdout carries one document and nothing else. */
static bool is_stdout(const char *path)
{
    struct stat st;
    struct stat own;

    return stat(path, &st) == 0 && fstat(STDOUT_FILENO, &own) == 0 && !S_ISCHR(st.st_mode) &&
           st.st_dev == own.st_dev && st.st_ino == own.st_ino;
}

int exec_parse_out(const char *arg, bool is_json, struct exec_out *ret, char **ret_text,
                   struct gb_err *err)
{
    char *host = NULL;
    cleanup_free char *text = split("--out", arg, &host, err);
    int r;

    if (!text)
        return -EINVAL;
    r = check_box_path("--out", text, err);
    if (r < 0)
        return r;
    *ret = (struct exec_out){ .box = text, .host = host ? host : path_base(text) };
    r = save_check(ret->host, err);
    if (r < 0)
        return gb_wrap(err, r, "--out");
    if (is_json && is_stdout(ret->host))
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "--out: %.200s: is stdout, where --json puts its document", ret->host);
    *ret_text = take_ptr(text);
    return 0;
}

static bool is_below(const char *path, const char *dir)
{
    return path_is_in(path, dir) && strcmp(path, dir) != 0;
}

int exec_check_place(const char *what, const char *box, const char *workdir, struct gb_err *err)
{
    cleanup_buf struct buf places = BUF_INIT(1024);

    if (box[0] != '/' || (workdir && is_below(box, workdir)))
        return 0;
    for (const char *const *dir = box_writable; *dir; dir++) {
        if (is_below(box, *dir))
            return 0;
        (void)buf_printf(&places, "%s%s", places.len ? ", " : "", *dir);
    }
    return gb_fail(err, -EROFS, GB_BLAME_CALLER,
                   "%.200s: nothing can be put at '%.200s' of the box" GB_REMEDY
                   "name a path below the working directory, or below one of %s",
                   what, box, places.data ? places.data : "");
}

bool exec_place_in(const char *file, const char *dir, char ret[static PATH_MAX])
{
    cleanup_free char *whole = realpath(file, NULL);
    cleanup_free char *base = realpath(dir, NULL);
    size_t len = base && base[1] ? strlen(base) : 0;

    if (!whole || !base || !path_is_in(whole, base) || whole[len] != '/')
        return false;
    return snprintf(ret, PATH_MAX, "%s", whole + len + 1) < PATH_MAX;
}

/* The path in the box as one that is absolute. */
static void place_of(const struct exec_args *args, const char *path, char ret[static 2 * PATH_MAX])
{
    const char *dir = args->workdir ? args->workdir : BOX_WORKSPACE;

    if (path[0] == '/')
        (void)snprintf(ret, 2 * PATH_MAX, "%s", path);
    else
        (void)snprintf(ret, 2 * PATH_MAX, "%s/%s", dir, path);
}

static bool is_conflict(const struct exec_args *args, const char *one, const char *other)
{
    char a[2 * PATH_MAX];
    char b[2 * PATH_MAX];

    place_of(args, one, a);
    place_of(args, other, b);
    return path_is_in(a, b) || path_is_in(b, a);
}

/* The code stands before the first file. */
static const char *claim_at(const struct exec_args *args, size_t n)
{
    return n == 0 ? args->name : args->files[n - 1].box;
}

static int check_free(const char *dir, const char *name, struct gb_err *err)
{
    cleanup_close int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct stat st;

    if (fd < 0 || fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return 0; /* what is wrong with the directory is told elsewhere */
    return gb_fail(err, -EEXIST, GB_BLAME_CALLER,
                   "--workspace: %.150s has a '%.150s' of its own, which the code would replace\n"
                   "remedy: give the code another name",
                   dir, name);
}

int exec_check_names(const struct exec_args *args, struct gb_err *err)
{
    for (size_t i = 1; i <= args->n_files; i++)
        for (size_t j = args->source == EXEC_PROGRAM; j < i; j++)
            if (is_conflict(args, claim_at(args, i), claim_at(args, j)))
                return gb_fail(err, -EEXIST, GB_BLAME_CALLER,
                               "--file: '%.200s' is the place of %s '%.100s' in the box too",
                               args->files[i - 1].host, j ? "the file" : "the code",
                               j ? args->files[j - 1].host : args->name);
    if (!args->workspace || args->source == EXEC_PROGRAM || args->is_name_of_workspace)
        return 0;
    return check_free(args->workspace, args->name, err);
}

int exec_check_workspace(const char *dir, struct gb_err *err)
{
    struct stat st;

    if (stat(dir, &st) < 0)
        return fail_path(err, "--workspace: ", dir);
    if (!S_ISDIR(st.st_mode))
        return gb_fail(err, -ENOTDIR, GB_BLAME_CALLER, "--workspace: %.200s: is no directory", dir);
    if (faccessat(AT_FDCWD, dir, R_OK | W_OK | X_OK, AT_EACCESS) < 0)
        return fail_path(err, "--workspace: ", dir);
    return 0;
}
