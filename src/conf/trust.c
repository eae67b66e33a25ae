/* SPDX-License-Identifier: Apache-2.0 */
/* conf/trust.c - which project files the user has read and trusts.
 *
 * Copies and not hashes: comparing needs no cryptography, and settings are short.
 */
#include "conf/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/dir.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/num.h"
#include "base/path.h"
#include "conf/file.h"

#define LIST "trusted"

const char *trust_file_at(size_t n)
{
    static const char *const names[] = { "glovebox.yaml", "config/config.yaml", ".env", NULL };

    return names[n];
}

/* A copy in the list: "LENGTH PATH", a newline, LENGTH bytes, a newline. */
struct copy {
    const char *path;
    size_t path_len;
    const char *text;
    size_t len;
};

static void add_copy(struct buf *list, const struct copy *copy)
{
    buf_printf(list, "%zu %.*s\n", copy->len, (int)copy->path_len, copy->path);
    buf_add(list, copy->text, copy->len);
    buf_putc(list, '\n');
}

static int copy_len(const char *digits, size_t n, size_t *ret)
{
    char text[8]; /* more than CONF_FILE_MAX has */
    uint64_t len;
    int r;

    if (n >= sizeof(text))
        return -ERANGE;
    memcpy(text, digits, n);
    text[n] = '\0';
    r = num_parse_u64(text, 0, CONF_FILE_MAX, &len);
    if (r == 0)
        *ret = (size_t)len;
    return r;
}

/* The copy at *at, which goes behind it.  1, 0 at the end, -EBADMSG. */
static int next_copy(const struct buf *list, size_t *at, struct copy *ret)
{
    size_t left = list->len - *at;
    const char *space;
    const char *line;
    const char *end;

    if (left == 0)
        return 0;
    line = list->data + *at;
    space = memchr(line, ' ', left);
    end = space ? memchr(space, '\n', left - (size_t)(space - line)) : NULL;
    if (!end || copy_len(line, (size_t)(space - line), &ret->len) < 0)
        return -EBADMSG;
    ret->path = space + 1;
    ret->path_len = (size_t)(end - ret->path);
    ret->text = end + 1;
    left -= (size_t)(ret->text - line);
    if (left <= ret->len || ret->text[ret->len] != '\n')
        return -EBADMSG;
    *at = list->len - left + ret->len + 1;
    return 1;
}

static int damaged(const char *state_dir, struct gb_err *err)
{
    return gb_fail(err, -EBADMSG, GB_BLAME_CALLER,
                   "%s/" LIST ": damaged\nremedy: remove it, and trust again what you still trust",
                   state_dir);
}

/* The root's is "", so that a file's path is always dir, a slash and its name. */
static char *canonical(const char *dir, bool may_be_gone, struct gb_err *err)
{
    char *path = realpath(dir, NULL);

    if (!path && errno == ENOENT && may_be_gone && path_is_clean_absolute(dir))
        path = strdup(dir);
    if (!path) {
        (void)gb_fail_sys(err, "%s", dir);
        if (err)
            err->blame = GB_BLAME_CALLER;
    } else if (strchr(path, '\n')) {
        (void)gb_fail(err, -EINVAL, GB_BLAME_CALLER, "%s: a directory with a newline in its name",
                      path);
        free(path);
        path = NULL;
    } else if (strcmp(path, "/") == 0) {
        path[0] = '\0';
    }
    return path;
}

static int read_list(const char *state_dir, struct buf *ret, struct gb_err *err)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof(path), "%s/" LIST, state_dir) >= (int)sizeof(path))
        return gb_fail(err, -ENAMETOOLONG, GB_BLAME_CALLER, "%s: too long", state_dir);
    return conf_file_read(path, true, ret, err);
}

/* Is it a copy of that file of dir? */
static bool is_of(const struct copy *copy, const char *dir, const char *name)
{
    size_t dir_len = strlen(dir);
    size_t name_len = strlen(name);

    return copy->path_len == dir_len + 1 + name_len && memcmp(copy->path, dir, dir_len) == 0 &&
           copy->path[dir_len] == '/' && memcmp(copy->path + dir_len + 1, name, name_len) == 0;
}

int trust_has(const char *state_dir, const char *dir, const char *name, const void *text,
              size_t len, struct gb_err *err)
{
    cleanup_buf struct buf list = BUF_INIT(CONF_FILE_MAX);
    cleanup_free char *path = NULL;
    bool is_trusted = false;
    struct copy copy;
    size_t at = 0;
    int r = read_list(state_dir, &list, err);

    if (r <= 0)
        return r;
    path = canonical(dir, false, err);
    if (!path)
        return err ? err->code : -EINVAL;
    while ((r = next_copy(&list, &at, &copy)) > 0)
        is_trusted |=
            is_of(&copy, path, name) && copy.len == len && memcmp(copy.text, text, len) == 0;
    return r < 0 ? damaged(state_dir, err) : is_trusted;
}

/* Takes over the copies of other directories than dir; the number of dir's own. */
static int keep_others(const struct buf *list, const char *dir, struct buf *ret)
{
    int n = 0;
    struct copy copy;
    size_t at = 0;
    int r;

    while ((r = next_copy(list, &at, &copy)) > 0) {
        bool is_dirs = false;

        for (size_t i = 0; trust_file_at(i); i++)
            is_dirs |= is_of(&copy, dir, trust_file_at(i));
        n += is_dirs;
        if (!is_dirs)
            add_copy(ret, &copy);
    }
    return r < 0 ? r : n;
}

/* Copies of the files that dir has; their number. */
static int add_present(const char *dir, struct buf *ret, struct gb_err *err)
{
    int n = 0;

    for (size_t i = 0; trust_file_at(i); i++) {
        cleanup_buf struct buf text = BUF_INIT(CONF_FILE_MAX);
        cleanup_free char *path = NULL;
        int r;

        if (asprintf(&path, "%s/%s", dir, trust_file_at(i)) < 0)
            return gb_no_memory(err);
        r = conf_file_read_project(*dir ? dir : "/", trust_file_at(i), &text, err);
        if (r < 0)
            return r;
        if (r > 0)
            add_copy(ret, &(struct copy){ path, strlen(path), text.data, text.len });
        n += r;
    }
    return n;
}

/* The directory with those above it, ours alone; locked until it is closed, so that two commands
 * do not lose each other's copies. */
static int open_state_dir(const char *state_dir, struct gb_err *err)
{
    cleanup_close int fd = -1;
    int r = dir_make_parents(state_dir, 0755);

    if (r == 0 && mkdir(state_dir, 0700) < 0 && errno != EEXIST)
        r = -errno;
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "making %s: %s", state_dir, strerror(-r));
    fd = open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || flock(fd, LOCK_EX) < 0)
        return gb_fail_sys(err, "%s", state_dir);
    return take_fd(&fd);
}

/* Whole or not at all. */
static int write_list(int dirfd, const struct buf *text, struct gb_err *err)
{
    cleanup_close int fd = -1;
    int r;

    (void)unlinkat(dirfd, LIST ".new", 0);
    fd = openat(dirfd, LIST ".new", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return gb_fail_sys(err, "writing the list of trusted files");
    r = fd_write_full(fd, text->data, text->len);
    if (r == 0 && (fsync(fd) < 0 || renameat(dirfd, LIST ".new", dirfd, LIST) < 0))
        r = -errno;
    if (r < 0) {
        (void)unlinkat(dirfd, LIST ".new", 0);
        return gb_fail(err, r, GB_BLAME_HOST, "writing the list of trusted files: %s",
                       strerror(-r));
    }
    return 0;
}

int trust_set(const char *state_dir, const char *dir, bool is_revoked, size_t *ret_n,
              struct gb_err *err)
{
    cleanup_buf struct buf old = BUF_INIT(CONF_FILE_MAX);
    cleanup_buf struct buf list = BUF_INIT(CONF_FILE_MAX - 1);
    cleanup_free char *path = canonical(dir, is_revoked, err);
    cleanup_close int dirfd = -1;
    int r;

    if (!path)
        return err ? err->code : -EINVAL;
    dirfd = open_state_dir(state_dir, err);
    if (dirfd < 0)
        return dirfd;
    r = read_list(state_dir, &old, err);
    if (r < 0)
        return r;
    r = keep_others(&old, path, &list);
    if (r < 0)
        return damaged(state_dir, err);
    if (r == 0 && is_revoked)
        return gb_fail(err, -ENOENT, GB_BLAME_CALLER, "%.300s: was not trusted", dir);
    r = is_revoked ? 0 : add_present(path, &list, err);
    if (r < 0)
        return r;
    if (r == 0 && !is_revoked)
        return gb_fail(err, -ENOENT, GB_BLAME_CALLER,
                       "%s: there is no glovebox.yaml, config/config.yaml or .env to trust", dir);
    if (buf_error(&list))
        return gb_fail(err, -EFBIG, GB_BLAME_CALLER,
                       "the trusted files have more than 1 MiB together\nremedy: glovebox config "
                       "trust --revoke DIR for each that need not be trusted any more");
    *ret_n = (size_t)r;
    return write_list(dirfd, &list, err);
}
