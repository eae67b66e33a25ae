/* SPDX-License-Identifier: Apache-2.0 */
/* conf/trust.c - which project files the user has read and trusts. */
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
#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "conf/file.h"
#include "conf/sha256.h"

#define LIST "trusted"

const char *trust_file_at(size_t n)
{
    static const char *const names[] = { "glovebox.yaml", "config/config.yaml", ".env", NULL };

    return names[n];
}

/* The line "SHA-256 PATH\n" of a file. */
static int add_line(struct buf *ret, const char *dir, const char *name, const void *text,
                    size_t len)
{
    char hash[SHA256_TEXT_SIZE];

    sha256_text(text, len, hash);
    return buf_printf(ret, "%s %s%s%s\n", hash, dir, strcmp(dir, "/") == 0 ? "" : "/", name);
}

static char *canonical(const char *dir, struct gb_err *err)
{
    char *path = realpath(dir, NULL);

    if (!path) {
        (void)gb_fail_sys(err, "%s", dir);
        if (err)
            err->blame = GB_BLAME_CALLER;
    } else if (strchr(path, '\n')) {
        (void)gb_fail(err, -EINVAL, GB_BLAME_CALLER, "%s: a directory with a newline in its name",
                      path);
        free(path);
        path = NULL;
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

/* Does text have this line, from the beginning of a line on? */
static bool has_line(const struct buf *text, const struct buf *line)
{
    const char *at = text->data;

    while (at && (at = strstr(at, line->data))) {
        if (at == text->data || at[-1] == '\n')
            return true;
        at++;
    }
    return false;
}

int trust_has(const char *state_dir, const char *dir, const char *name, const void *text,
              size_t len, struct gb_err *err)
{
    cleanup_buf struct buf list = BUF_INIT(CONF_FILE_MAX);
    cleanup_buf struct buf line = BUF_INIT((size_t)2 * PATH_MAX);
    cleanup_free char *path = NULL;
    int r = read_list(state_dir, &list, err);

    if (r <= 0)
        return r;
    path = canonical(dir, err);
    if (!path)
        return err ? err->code : -EINVAL;
    r = add_line(&line, path, name, text, len);
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_CALLER, "%s: too long", path);
    return has_line(&list, &line);
}

/* Copies the lines of other directories than dir. */
static void keep_others(const struct buf *list, const char *dir, struct buf *ret)
{
    const char *line = list->data;

    while (line && *line) {
        const char *end = strchrnul(line, '\n');
        size_t len = (size_t)(end - line);
        bool is_dirs = false;

        for (size_t i = 0; trust_file_at(i); i++) {
            cleanup_buf struct buf ending = BUF_INIT((size_t)2 * PATH_MAX);

            buf_printf(&ending, " %s%s%s", dir, strcmp(dir, "/") == 0 ? "" : "/", trust_file_at(i));
            is_dirs |= ending.len + SHA256_TEXT_SIZE - 1 == len &&
                       memcmp(line + SHA256_TEXT_SIZE - 1, ending.data, ending.len) == 0;
        }
        if (!is_dirs && len) {
            buf_add(ret, line, len);
            buf_putc(ret, '\n');
        }
        line = *end ? end + 1 : end;
    }
}

/* Lines for the files that dir has; their number. */
static int add_present(const char *dir, struct buf *ret, struct gb_err *err)
{
    int n = 0;

    for (size_t i = 0; trust_file_at(i); i++) {
        cleanup_buf struct buf text = BUF_INIT(CONF_FILE_MAX);
        cleanup_free char *path = NULL;
        int r;

        if (asprintf(&path, "%s/%s", dir, trust_file_at(i)) < 0)
            return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "out of memory");
        r = conf_file_read(path, false, &text, err);
        if (r < 0)
            return r;
        if (r > 0 && add_line(ret, dir, trust_file_at(i), text.data, text.len) < 0)
            return gb_fail(err, -EFBIG, GB_BLAME_CALLER, "the list of trusted files is full");
        n += r;
    }
    return n;
}

/* The directory with those above it, ours alone; locked until it is closed, so that two commands
 * do not lose each other's lines. */
static int open_state_dir(const char *state_dir, struct gb_err *err)
{
    cleanup_free char *path = strdup(state_dir);
    cleanup_close int fd = -1;

    if (!path)
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "out of memory");
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0755) < 0 && errno != EEXIST)
            return gb_fail_sys(err, "making %s", path);
        *slash = '/';
    }
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return gb_fail_sys(err, "making %s", path);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || flock(fd, LOCK_EX) < 0)
        return gb_fail_sys(err, "%s", path);
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
    cleanup_buf struct buf text = BUF_INIT(CONF_FILE_MAX - 1);
    cleanup_free char *path = canonical(dir, err);
    cleanup_close int dirfd = -1;
    int n = 0;
    int r;

    if (!path)
        return err ? err->code : -EINVAL;
    dirfd = open_state_dir(state_dir, err);
    if (dirfd < 0)
        return dirfd;
    r = read_list(state_dir, &old, err);
    if (r < 0)
        return r;
    keep_others(&old, path, &text);
    if (!is_revoked)
        n = add_present(path, &text, err);
    if (n < 0)
        return n;
    if (n == 0 && !is_revoked)
        return gb_fail(err, -ENOENT, GB_BLAME_CALLER,
                       "%s: there is no glovebox.yaml, config/config.yaml or .env to trust", path);
    if (buf_error(&text))
        return gb_fail(err, -EFBIG, GB_BLAME_CALLER, "the list of trusted files is full");
    *ret_n = (size_t)n;
    return write_list(dirfd, &text, err);
}
