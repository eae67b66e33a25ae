/* SPDX-License-Identifier: Apache-2.0 */
/* cli/cmd_box_files.c - `glovebox box put` and `box get`: files into a box that lives on, and out.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "cli/box_open.h"
#include "cli/command.h"
#include "cli/exec_paths.h"
#include "cli/term_filter.h"
#include "run/result.h"
#include "run/room.h"
#include "run/save.h"
#include "run/touch.h"
#include "run/transfer.h"
#include "run/workspace.h"
#include "wire/listing.h"

#define NOTE_MAX 65536

struct files_args {
    const char *user;
};

static const struct opt options[] = {
    { OPT_TEXT, "user", 0, offsetof(struct files_args, user), "NAME", "the box of that user" },
    { OPT_KEY, .key = KEY_COLOR },
    OPT_HELP_ROW,
    { 0 },
};

/* "FIRST[:SECOND]", cut at the last colon. */
struct pair {
    char first[PATH_MAX];
    const char *second; /* NULL: there is none */
};

static int split(const char *text, struct pair *ret, struct gb_err *err)
{
    const char *colon = strrchr(text, ':');
    size_t len = colon ? (size_t)(colon - text) : strlen(text);

    if (len == 0 || (colon && !colon[1]))
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "'%.200s': a path is missing", text);
    if (len >= sizeof(ret->first))
        return gb_fail(err, -ENAMETOOLONG, GB_BLAME_CALLER, "'%.200s': is too long", text);
    memcpy(ret->first, text, len);
    ret->first[len] = '\0';
    ret->second = colon ? colon + 1 : NULL;
    return 0;
}

/* The last component, slashes at the end apart; ret has room for all of path. */
static void base_of(const char *path, char ret[static PATH_MAX])
{
    size_t len = strlen(path);

    while (len > 1 && path[len - 1] == '/')
        len--;
    (void)snprintf(ret, PATH_MAX, "%.*s", (int)len, path);
    if (strcmp(ret, "/") != 0)
        memmove(ret, path_base(ret), strlen(path_base(ret)) + 1);
}

static int join(char path[static PATH_MAX], const char *name, struct gb_err *err)
{
    size_t len = strlen(path);
    bool has_slash = len > 0 && path[len - 1] != '/';

    if (len + has_slash + strlen(name) >= PATH_MAX)
        return gb_fail(err, -ENAMETOOLONG, GB_BLAME_CALLER, "'%.200s': is too long", path);
    (void)snprintf(path + len, PATH_MAX - len, "%s%s", has_slash ? "/" : "", name);
    return 0;
}

/* ---- put ------------------------------------------------------------------------------------ */

/* Where it goes: under its own name, or as it was said. */
static int put_place(const struct box_call *call, const struct pair *pair, bool is_dir,
                     struct box_place *ret, struct gb_err *err)
{
    char name[PATH_MAX];
    int r;

    base_of(pair->first, name);
    r = box_place_parse(call, pair->second ? pair->second : name, ret, err);
    if (r < 0)
        return r;
    if (!pair->second && !ret->path[0])
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "'%.200s' has no name that it could have in the box: say %.200s:PATH",
                       pair->first, pair->first);
    if (ret->has_slash || (!ret->path[0] && !is_dir))
        return path_is_below(name) ? join(ret->path, name, err)
                                   : gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                                             "'%.200s' has no name of its own", pair->first);
    return 0;
}

static int check_place(const struct box_call *call, const struct box_place *place, const char *host,
                       struct gb_err *err)
{
    char path[PATH_MAX + 1];

    if (place->dir[1])
        return 0; /* where runs begin */
    (void)snprintf(path, sizeof(path), "/%s", place->path);
    return exec_check_place(host, path, call->kept.workdir, err);
}

static int put_file(struct box_call *call, const struct box_place *place, int fd,
                    const struct stat *st, struct gb_err *err)
{
    struct box_file file = {
        .path = place->path,
        .mode = st->st_mode & S_IXUSR ? 0755 : 0644,
        .fd = fd,
        .size = (uint64_t)st->st_size,
    };
    uint64_t mark;
    int r = room_check(&call->kept.box.receipt.limits, room_of(file.size), 0, err);

    return r < 0 ? r : box_put(call->box, place->dir, &file, 1, &mark, err);
}

static int put_tree(struct box_call *call, const struct box_place *place, const char *host,
                    struct gb_err *err)
{
    char what[PATH_MAX];
    const struct workspace_in in = {
        .what = what,
        .host_dir = host,
        .box_dir = place->dir,
        .prefix = place->path,
        .limits = &call->kept.box.receipt.limits,
    };
    uint64_t mark;

    (void)snprintf(what, sizeof(what), "%.200s", host);
    return workspace_put(call->box, &in, &mark, err);
}

static int put_one(struct box_call *call, const char *text, struct gb_err *err)
{
    struct box_place place;
    struct pair pair = { 0 };
    cleanup_close int fd = -1;
    struct stat st;
    int r = split(text, &pair, err);

    if (r < 0)
        return r;
    fd = open(pair.first, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st) < 0) {
        r = -errno;
        return gb_fail(err, r, GB_BLAME_CALLER, "%.200s: %s", pair.first, strerror(-r));
    }
    if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "%.200s: is no regular file or directory",
                       pair.first);
    r = put_place(call, &pair, S_ISDIR(st.st_mode), &place, err);
    if (r == 0)
        r = check_place(call, &place, pair.first, err);
    if (r < 0)
        return r;
    return S_ISDIR(st.st_mode) ? put_tree(call, &place, pair.first, err)
                               : put_file(call, &place, fd, &st, err);
}

/* ---- get ------------------------------------------------------------------------------------ */

/* Names of files come from the box. */
static void print_notes(const struct run_result *result)
{
    for (size_t i = 0; i < result->n_notes; i++) {
        cleanup_buf struct buf text = BUF_INIT(NOTE_MAX);

        (void)buf_puts(&text, "glovebox: ");
        (void)term_filter_line(result->notes[i], strlen(result->notes[i]), &text);
        (void)buf_putc(&text, '\n');
        if (!buf_error(&text))
            (void)fd_write_full(STDERR_FILENO, text.data, text.len);
    }
}

static int get_tree(struct box_call *call, const struct box_place *place, const char *host,
                    struct gb_err *err)
{
    struct run_result result = { 0 };
    char what[PATH_MAX];
    struct workspace_back back = {
        .what = what,
        .host_dir = host,
        .box_dir = place->dir,
        .path = place->path,
        .max_files = WORKSPACE_FILES_MAX,
        .max_bytes = call->kept.box.receipt.limits.disk_bytes,
    };
    int r;

    (void)snprintf(what, sizeof(what), "%.200s", host);
    if (mkdir(host, 0755) < 0 && errno != EEXIST) {
        r = -errno;
        return gb_fail(err, r, GB_BLAME_CALLER, "%.200s: %s", host, strerror(-r));
    }
    r = workspace_get(call->box, &back, &result, err);
    print_notes(&result);
    run_result_clear(&result);
    return r;
}

static int get_file(struct box_call *call, const struct box_place *place, const char *host,
                    struct gb_err *err)
{
    struct transfer_file file = {
        .dir = place->dir,
        .path = place->path,
        .host = host,
        .max_bytes = call->kept.box.receipt.limits.disk_bytes,
    };
    int r = save_check(host, err);

    return r < 0 ? r : transfer_get(call->box, &file, err);
}

/* Where it goes on this machine. */
static int get_place(const struct pair *pair, const struct box_place *place,
                     char ret[static PATH_MAX], struct gb_err *err)
{
    const char *name = path_base(place->path);
    size_t len;

    if (!pair->second && !*name)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "say where it goes: %.200s:HOST",
                       pair->first);
    if (snprintf(ret, PATH_MAX, "%s", pair->second ? pair->second : name) >= PATH_MAX)
        return gb_fail(err, -ENAMETOOLONG, GB_BLAME_CALLER, "'%.200s': is too long", pair->second);
    len = strlen(ret);
    if (*name && ret[len - 1] == '/') {
        int r = join(ret, name, err);

        if (r < 0)
            return r;
    }
    if (touch_is_git(path_base(ret)))
        return gb_fail(err, -EPERM, GB_BLAME_CALLER,
                       "%.200s: git would obey what the box has put there" GB_REMEDY
                       "give it another name",
                       ret);
    return 0;
}

static int see_kind(void *user, const struct listing_entry *entry)
{
    enum listing_kind *kind = user;

    *kind = entry->kind;
    return 0;
}

static int get_one(struct box_call *call, const char *text, struct gb_err *err)
{
    struct box_place place;
    struct pair pair = { 0 };
    char host[PATH_MAX];
    enum listing_kind kind = 0;
    int r = split(text, &pair, err);

    if (r == 0)
        r = box_place_parse(call, pair.first, &place, err);
    if (r == 0)
        r = get_place(&pair, &place, host, err);
    if (r == 0)
        r = box_list(
            call->box,
            &(struct box_list_spec){ .dir = place.dir, .path = place.path, .is_self = true },
            see_kind, &kind, err);
    if (r < 0)
        return r;
    if (kind == LISTING_DIRECTORY)
        return get_tree(call, &place, host, err);
    if (kind == LISTING_FILE)
        return get_file(call, &place, host, err);
    return gb_fail(err, -ENXIO, GB_BLAME_CALLER,
                   "'%.200s' is a %s in the box; files and directories are copied out", pair.first,
                   listing_kind_name(kind));
}

/* ---- both ----------------------------------------------------------------------------------- */

static int each(const struct call *call, bool makes_box,
                int (*one)(struct box_call *call, const char *text, struct gb_err *err),
                struct gb_err *err)
{
    struct files_args args = { 0 };
    cleanup_box_call struct box_call opened = { .makes_box = makes_box };
    int r = box_call_parse(call, &args, &args.user, &opened, err);

    if (r == 0 && opened.n_operands == 0)
        r = gb_fail(err, -EINVAL, GB_BLAME_CALLER, "which files?");
    if (r == 0)
        r = box_call_attach(&opened, args.user, err);
    for (size_t i = 0; r == 0 && i < opened.n_operands; i++)
        r = one(&opened, opened.operands[i], err);
    return r > 0 ? 0 : r;
}

static int put_call(const struct call *call, struct gb_err *err)
{
    return each(call, true, put_one, err);
}

static int get_call(const struct call *call, struct gb_err *err)
{
    return each(call, false, get_one, err);
}

const struct cmd cmd_box_put = {
    .name = "box put",
    .help = "Copy files and directories into a box",
    .usages = { "BOX HOST[:PATH]...", "--user NAME HOST[:PATH]..." },
    .options = options,
    .run = put_call,
};

const struct cmd cmd_box_get = {
    .name = "box get",
    .help = "Copy files and directories out of a box",
    .usages = { "BOX PATH[:HOST]...", "--user NAME PATH[:HOST]..." },
    .options = options,
    .run = get_call,
};
