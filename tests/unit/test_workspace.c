/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_workspace.c - a directory of the host as a workspace: what travels and what does not.
 *
 * The box is two functions that note what they are given; files.c is not linked in.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "box/box.h"
#include "run/result.h"
#include "run/workspace.h"
#include "wire/crate.h"

#include <cmocka.h>

/* ---- a box that notes
 * ------------------------------------------------------------------------------ */

struct box {
    unsigned calls;
    unsigned files;
    size_t batch_most;
    char names[4096]; /* "path:mode:contents;" */
    int fail_put;
    uint64_t used;            /* by other files */
    struct box_get_spec spec; /* as asked */
    const char *const *out;   /* path and contents by turns, NULL-terminated */
    int fail_get;             /* after that many items */
    unsigned fail_after;
};

int box_put(struct box *box, const char *dir, const struct box_file *files, size_t n_files,
            uint64_t *ret_mark, struct gb_err *err)
{
    assert_string_equal(dir, "/box");
    box->calls++;
    box->batch_most = n_files > box->batch_most ? n_files : box->batch_most;
    for (size_t i = 0; i < n_files; i++) {
        char text[64] = "";
        size_t used = strlen(box->names);

        box->files++;
        assert_null(files[i].bytes);
        if (files[i].size < sizeof(text))
            assert_int_equal(fd_read_full(files[i].fd, text, files[i].size), files[i].size);
        (void)snprintf(box->names + used, sizeof(box->names) - used, "%s:%o:%s;", files[i].path,
                       files[i].mode, text);
    }
    *ret_mark = 1000 + box->calls;
    return box->fail_put ? gb_fail(err, box->fail_put, GB_BLAME_CALLER, "the box is full") : 0;
}

int box_get(struct box *box, const struct box_get_spec *spec, const struct crate_ops *ops,
            void *user, struct gb_err *err)
{
    struct crate_item item = { .mode = 0644 };
    int r = 0;

    box->spec = *spec;
    for (size_t i = 0; r == 0 && box->out[i]; i += 2) {
        if (box->fail_get && i / 2 == box->fail_after) {
            (void)snprintf(item.path, sizeof(item.path), "half");
            (void)ops->item(user, &item);
            return gb_fail(err, box->fail_get, GB_BLAME_PEER, "the box was lost");
        }
        (void)snprintf(item.path, sizeof(item.path), "%s", box->out[i]);
        item.size = strlen(box->out[i + 1]);
        r = ops->item(user, &item);
        if (r == 0 && item.size)
            r = ops->data(user, (const uint8_t *)box->out[i + 1], (size_t)item.size);
        if (r == 0)
            r = ops->done(user);
    }
    return r < 0 ? gb_fail(err, r, GB_BLAME_CALLER, "getting files") : 0;
}

/* ---- a directory
 * ------------------------------------------------------------------------------------ */

static char dir_path[64];

/* Some file systems do not tell the type of an entry, others do. */
static bool tells_no_types;

struct dirent *readdir(DIR *dirp)
{
    typedef struct dirent *reader(DIR *);
    struct dirent *entry = ((reader *)dlsym(RTLD_NEXT, "readdir64"))(dirp);

    if (entry && tells_no_types)
        entry->d_type = DT_UNKNOWN;
    return entry;
}

static int make_dir(void **state)
{
    (void)state;
    tells_no_types = false;
    (void)snprintf(dir_path, sizeof(dir_path), "/tmp/glovebox-workspace-XXXXXX");
    return mkdtemp(dir_path) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static int remove_dir(void **state)
{
    (void)state;
    return nftw(dir_path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static const char *in_dir(const char *name)
{
    static char path[512];

    (void)snprintf(path, sizeof(path), "%s/%s", dir_path, name);
    return path;
}

static void put_text(const char *name, unsigned mode, const char *text)
{
    cleanup_close int fd = open(in_dir(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(fd_write_full(fd, text, strlen(text)), 0);
    assert_int_equal(fchmod(fd, mode), 0);
}

static unsigned count_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    unsigned n = 0;

    assert_non_null(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static int put(struct box *box, uint64_t *ret_mark)
{
    struct gb_err err = { 0 };
    unsigned before = count_fds();
    const struct limits limits = { .memory_bytes = 100000, .disk_bytes = 50000000 };
    const struct workspace_in in = {
        .what = "the workspace",
        .prefix = "",
        .host_dir = dir_path,
        .box_dir = "/box",
        .limits = &limits,
        .used = box->used,
    };
    int r = workspace_put(box, &in, ret_mark, &err);

    assert_int_equal(count_fds(), before);
    assert_int_equal(err.code, r);
    return r;
}

/* ---- in
 * -----------------------------------------------------------------------------------------------
 */

static void make_entries_of_each_kind(void)
{
    put_text("a", 0640, "alpha");
    put_text(".hidden", 0711, "h");
    assert_int_equal(mkdir(in_dir("d"), 0755), 0);
    put_text("d/b", 0644, "beta");
    assert_int_equal(symlink("/etc/passwd", in_dir("link")), 0);
    assert_int_equal(symlink("d", in_dir("dirlink")), 0);
    assert_int_equal(symlink(".", in_dir("loop")), 0);
    assert_int_equal(mkfifo(in_dir("pipe"), 0644), 0);
}

static void regular_files_travel_and_nothing_else(void **state)
{
    struct box box = { 0 };
    uint64_t mark = 0;

    (void)state;
    make_entries_of_each_kind();
    assert_int_equal(put(&box, &mark), 0);
    assert_int_equal(box.files, 3);
    assert_non_null(strstr(box.names, "a:644:alpha;"));
    assert_non_null(strstr(box.names, ".hidden:755:h;"));
    assert_non_null(strstr(box.names, "d/b:644:beta;"));
    assert_int_equal(mark, 1001);
}

static void the_same_travel_where_no_types_are_told(void **state)
{
    struct box box = { 0 };
    uint64_t mark = 0;

    (void)state;
    make_entries_of_each_kind();
    tells_no_types = true;
    assert_int_equal(put(&box, &mark), 0);
    assert_int_equal(box.files, 3);
    assert_non_null(strstr(box.names, ".hidden:755:h;"));
    assert_non_null(strstr(box.names, "d/b:644:beta;"));
}

/* A box whose memory its files fill cannot tell so. */
static void what_does_not_fit_is_not_sent(void **state)
{
    struct box box = { .used = 90000 };
    uint64_t mark = 0;

    (void)state;
    put_text("a", 0644, "alpha");
    put_text("b", 0644, "beta");
    assert_int_equal(put(&box, &mark), 0);
    box = (struct box){ .used = 94000 };
    assert_int_equal(put(&box, &mark), -EFBIG);
    assert_int_equal(box.files, 0);
}

static void an_empty_directory_puts_nothing(void **state)
{
    struct box box = { 0 };
    uint64_t mark = 7;

    (void)state;
    assert_int_equal(put(&box, &mark), 0);
    assert_int_equal(box.calls, 0);
}

static void many_files_go_in_batches(void **state)
{
    struct box box = { 0 };
    uint64_t mark = 0;

    (void)state;
    for (int i = 0; i < 200; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "f%d", i);
        put_text(name, 0644, "");
    }
    assert_int_equal(put(&box, &mark), 0);
    assert_int_equal(box.files, 200);
    assert_true(box.calls >= 3);
    assert_true(box.batch_most <= 64);
}

static void too_many_and_too_deep_are_refused(void **state)
{
    struct box box = { 0 };
    char deep[512] = "d";
    uint64_t mark;

    (void)state;
    for (int i = 0; i < WORKSPACE_DEPTH_MAX + 1; i++) {
        assert_int_equal(mkdir(in_dir(deep), 0755), 0);
        (void)strncat(deep, "/d", sizeof(deep) - strlen(deep) - 1);
    }
    assert_int_equal(put(&box, &mark), -ELOOP);
    assert_int_equal(remove_dir(state) | make_dir(state), 0);
    for (int i = 0; i < WORKSPACE_FILES_MAX + 1; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "f%d", i);
        assert_int_equal(mknod(in_dir(name), S_IFREG | 0644, 0), 0);
    }
    memset(&box, 0, sizeof(box));
    assert_int_equal(put(&box, &mark), -EFBIG);
    assert_true(box.files <= WORKSPACE_FILES_MAX);
}

static void a_box_that_refuses_ends_the_walk(void **state)
{
    struct box box = { .fail_put = -ENOSPC };
    uint64_t mark;

    (void)state;
    for (int i = 0; i < 130; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "f%d", i);
        put_text(name, 0644, "");
    }
    assert_int_equal(put(&box, &mark), -ENOSPC);
    assert_int_equal(box.calls, 1);
}

static void a_workspace_that_is_not_there_is_an_error(void **state)
{
    struct run_result result = { 0 };
    struct box box = { 0 };
    struct gb_err err = { 0 };
    uint64_t mark;

    (void)state;
    assert_int_equal(workspace_put(&box,
                                   &(struct workspace_in){ .what = "it",
                                                           .host_dir = "/no/such/dir",
                                                           .box_dir = "/box",
                                                           .prefix = "" },
                                   &mark, &err),
                     -ENOENT);
    assert_non_null(strstr(err.msg, "/no/such/dir"));
    assert_int_equal(
        workspace_get(&box,
                      &(struct workspace_back){
                          .what = "it", .host_dir = "/no/such/dir", .box_dir = "/box", .path = "" },
                      &result, &err),
        -ENOENT);
}

/* ---- out
 * -----------------------------------------------------------------------------------------------
 */

static struct run_result result;

static int get(struct box *box, uint64_t mark, struct gb_err *err)
{
    const struct workspace_back back = {
        .what = "--workspace",
        .path = "",
        .host_dir = dir_path,
        .box_dir = "/box",
        .source = "code.py",
        .mark = mark,
        .max_files = 50,
        .max_bytes = 5000,
    };
    unsigned before = count_fds();
    int r;

    *err = (struct gb_err){ 0 };
    run_result_clear(&result);
    r = workspace_get(box, &back, &result, err);
    assert_int_equal(count_fds(), before);
    return r;
}

static void text_is(const char *name, const char *text)
{
    char got[256];

    assert_true(fd_read_text(AT_FDCWD, in_dir(name), got, sizeof(got)) >= 0);
    assert_string_equal(got, text);
}

static unsigned entries(void)
{
    DIR *dir = opendir(dir_path);
    unsigned n = 0;

    assert_non_null(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n - 2;
}

static void changed_files_come_back(void **state)
{
    static const char *const out[] = { "a", "new", "sub/dir/b", "beta", NULL };
    struct box box = { .out = out };
    struct gb_err err;

    (void)state;
    put_text("a", 0644, "old");
    put_text("kept", 0644, "kept");
    assert_int_equal(get(&box, 77, &err), 0);
    text_is("a", "new");
    text_is("kept", "kept");
    text_is("sub/dir/b", "beta");
    assert_true(box.spec.has_since);
    assert_int_equal(box.spec.since, 77);
    assert_int_equal(box.spec.max_files, 50);
    assert_int_equal(box.spec.max_bytes, 5000);
    assert_string_equal(box.spec.dir, "/box");
    assert_int_equal(get(&box, 0, &err), 0);
    assert_false(box.spec.has_since); /* nothing was put: all of it is new */
}

static void nothing_is_written_through_links_or_outside(void **state)
{
    static const char *const through[] = { "way/x", "x", NULL };
    static const char *const out_of[] = { "../x", "x", NULL };
    struct box box = { .out = through };
    struct gb_err err;

    (void)state;
    assert_int_equal(symlink("/tmp", in_dir("way")), 0);
    assert_int_equal(get(&box, 1, &err), -ELOOP);
    assert_non_null(strstr(err.msg, "way/x")); /* the host's reason, not the box's */
    box.out = out_of;
    assert_int_equal(get(&box, 1, &err), -EPROTO);
    assert_int_equal(entries(), 1);
}

static void a_box_that_is_lost_leaves_no_half_file(void **state)
{
    static const char *const out[] = { "a", "new", "b", "beta", NULL };
    struct box box = { .out = out, .fail_get = -EPIPE, .fail_after = 1 };
    struct gb_err err;

    (void)state;
    assert_int_equal(get(&box, 1, &err), -EPIPE);
    text_is("a", "new");
    assert_int_equal(entries(), 1);
}

static void what_cannot_be_written_keeps_nothing_else_back(void **state)
{
    static const char *const out[] = { "dir", "x", "b", "beta", "c/d", "delta", NULL };
    struct box box = { .out = out };
    struct gb_err err;

    (void)state;
    assert_int_equal(mkdir(in_dir("dir"), 0755), 0);
    put_text("c", 0644, "a file");
    assert_int_equal(get(&box, 1, &err), -EISDIR);
    text_is("b", "beta");
    text_is("c", "a file");
    assert_int_equal(entries(), 3);
    assert_non_null(strstr(err.msg, "2 of 3 files"));
    assert_int_equal(err.code, -EISDIR);
    assert_int_equal(result.n_notes, 2);
    assert_string_equal(result.notes[0], "not copied back: dir: Is a directory");
    assert_string_equal(result.notes[1], "not copied back: c/d: Not a directory");
    run_result_clear(&result);
}

static void of_many_failures_the_first_are_named(void **state)
{
    static char names[30][8];
    static const char *out[2 * N_ELEMENTS(names) + 1];
    struct box box = { .out = out };
    struct gb_err err;

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(names); i++) {
        (void)snprintf(names[i], sizeof(names[i]), "d%02zu", i);
        assert_int_equal(mkdir(in_dir(names[i]), 0755), 0);
        out[2 * i] = names[i];
        out[2 * i + 1] = "x";
    }
    assert_true(get(&box, 1, &err) < 0);
    assert_non_null(strstr(err.msg, "30 of 30 files"));
    assert_int_equal(result.n_notes, 11);
    assert_string_equal(result.notes[10], "not copied back: 20 more files");
    run_result_clear(&result);
}

/* A hook would be run by the next commit, and a setting of a repository can name a program. */
static void nothing_of_git_comes_back(void **state)
{
    static const char *const out[] = { ".git/hooks/pre-commit",
                                       "evil",
                                       "sub/.GIT/config",
                                       "evil",
                                       "lib/.git",
                                       "evil",
                                       ".gitignore",
                                       "*.o",
                                       "a.git/x",
                                       "x",
                                       NULL };
    struct box box = { .out = out };
    struct gb_err err;

    (void)state;
    assert_int_equal(mkdir(in_dir(".git"), 0755), 0);
    assert_int_equal(get(&box, 1, &err), 0);
    text_is(".gitignore", "*.o");
    text_is("a.git/x", "x");
    assert_int_equal(access(in_dir(".git/hooks"), F_OK), -1);
    assert_int_equal(access(in_dir("sub"), F_OK), -1);
    assert_int_equal(access(in_dir("lib"), F_OK), -1);
    assert_int_equal(result.n_notes, 2);
    assert_non_null(strstr(result.notes[0], ".git/hooks/pre-commit"));
    assert_non_null(strstr(result.notes[1], "2 more that git would obey"));
    run_result_clear(&result);
}

static void the_runs_own_source_does_not_come_back(void **state)
{
    static const char *const out[] = { "code.py", "changed", "sub/code.py", "x", NULL };
    struct box box = { .out = out };
    struct gb_err err;

    (void)state;
    assert_int_equal(get(&box, 1, &err), 0);
    assert_int_equal(access(in_dir("code.py"), F_OK), -1);
    text_is("sub/code.py", "x");
    assert_int_equal(result.n_notes, 0);
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(regular_files_travel_and_nothing_else),
        IN_DIR(the_same_travel_where_no_types_are_told),
        IN_DIR(what_does_not_fit_is_not_sent),
        IN_DIR(an_empty_directory_puts_nothing),
        IN_DIR(many_files_go_in_batches),
        IN_DIR(too_many_and_too_deep_are_refused),
        IN_DIR(a_box_that_refuses_ends_the_walk),
        cmocka_unit_test(a_workspace_that_is_not_there_is_an_error),
        IN_DIR(changed_files_come_back),
        IN_DIR(nothing_is_written_through_links_or_outside),
        IN_DIR(a_box_that_is_lost_leaves_no_half_file),
        IN_DIR(what_cannot_be_written_keeps_nothing_else_back),
        IN_DIR(of_many_failures_the_first_are_named),
        IN_DIR(nothing_of_git_comes_back),
        IN_DIR(the_runs_own_source_does_not_come_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
