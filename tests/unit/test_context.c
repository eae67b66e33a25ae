/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_context.c - a directory becomes the stream that an image is built from.
 *
 * tar(1) is asked what is in it: another reader than ours.
 */
#include <errno.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/err.h"
#include "image/context.h"
#include "image/ignore.h"
#include "image/template.h"
#include "place.h"

static int keep(void *user, const void *bytes, size_t len, struct gb_err *err)
{
    (void)err;
    return buf_add(user, bytes, len);
}

static void make_dir(const struct place *place, const char *name)
{
    assert_int_equal(mkdirat(place->fd, name, 0700), 0);
}

static void make_file(const struct place *place, const char *name, const char *text)
{
    place_write(place, name, text, strlen(text));
}

static int pack(const struct place *place, struct context_spec spec, struct buf *out,
                struct context_report *report, struct gb_err *err)
{
    cleanup_close int fd = openat(place->fd, "c", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    assert_true(fd >= 0);
    spec.dir_fd = fd;
    return context_write(&spec, keep, out, report, err);
}

/* tar's standard output goes to the file. */
static void run_tar(const char *options, const char *archive, int out_fd)
{
    posix_spawn_file_actions_t actions;
    const char *argv[] = { "tar", options, archive, NULL };
    const char *env[] = { "LC_ALL=C", "TZ=UTC", NULL };
    pid_t pid;
    int status = -1;

    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, out_fd, 1), 0);
    assert_int_equal(posix_spawnp(&pid, "tar", &actions, NULL, (char *const *)(uintptr_t)argv,
                                  (char *const *)(uintptr_t)env),
                     0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    posix_spawn_file_actions_destroy(&actions);
    assert_int_equal(status, 0);
}

/* What tar lists, one path a line; its other columns too when it is verbose. */
static void list(struct place *place, const struct buf *stream, bool is_verbose, struct buf *ret)
{
    cleanup_close int out =
        openat(place->fd, "list", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    place_write(place, "archive", stream->data, stream->len);
    run_tar(is_verbose ? "-tvf" : "-tf", place_path(place, "archive"), out);
    place_read(place, "list", ret);
}

static void expect_list(struct place *place, struct context_spec spec, const char *wanted)
{
    cleanup_buf struct buf out = BUF_INIT(16 << 20);
    cleanup_buf struct buf names = BUF_INIT(1 << 20);
    struct context_report report;
    struct gb_err err = { 0 };

    if (pack(place, spec, &out, &report, &err) < 0)
        fail_msg("%s", err.msg);
    list(place, &out, false, &names);
    assert_string_equal(names.data, wanted);
}

static void make_ignore(const char *text, struct ignore **ret)
{
    assert_int_equal(ignore_new(text, strlen(text), ret, NULL), 0);
}

static void files_directories_and_links_travel(void **state)
{
    struct place *place = *state;
    cleanup_buf struct buf out = BUF_INIT(16 << 20);
    cleanup_buf struct buf names = BUF_INIT(1 << 20);
    struct context_report report;

    make_dir(place, "c");
    make_dir(place, "c/d");
    make_file(place, "c/d/x", "hello");
    make_file(place, "c/b", "");
    assert_int_equal(fchmodat(place->fd, "c/b", 0711, 0), 0);
    assert_int_equal(symlinkat("/etc/passwd", place->fd, "c/link"), 0);
    assert_int_equal(symlinkat("../..", place->fd, "c/up"), 0);
    assert_int_equal(pack(place, (struct context_spec){ 0 }, &out, &report, NULL), 0);
    list(place, &out, true, &names);
    assert_string_equal(names.data,
                        "-rwxr-xr-x 0/0               0 1980-01-02 00:00 b\n"
                        "drwxr-xr-x 0/0               0 1980-01-02 00:00 d/\n"
                        "-rw-r--r-- 0/0               5 1980-01-02 00:00 d/x\n"
                        "lrwxrwxrwx 0/0               0 1980-01-02 00:00 link -> /etc/passwd\n"
                        "lrwxrwxrwx 0/0               0 1980-01-02 00:00 up -> ../..\n");
    assert_int_equal(report.n_entries, 5);
    assert_int_equal(report.n_bytes, 5);
}

static void the_same_files_make_the_same_bytes(void **state)
{
    struct place *place = *state;
    cleanup_buf struct buf first = BUF_INIT(16 << 20);
    cleanup_buf struct buf second = BUF_INIT(16 << 20);
    struct context_report report;
    char name[16];

    make_dir(place, "c");
    for (int i = 0; i < 50; i++) {
        (void)snprintf(name, sizeof(name), "c/%d", i * 7 % 50);
        make_file(place, name, name);
    }
    assert_int_equal(pack(place, (struct context_spec){ 0 }, &first, &report, NULL), 0);
    for (int i = 49; i >= 0; i--) {
        (void)snprintf(name, sizeof(name), "c/%d", i);
        assert_int_equal(unlinkat(place->fd, name, 0), 0);
        make_file(place, name, name);
        assert_int_equal(fchmodat(place->fd, name, 0640, 0), 0);
    }
    assert_int_equal(pack(place, (struct context_spec){ 0 }, &second, &report, NULL), 0);
    assert_int_equal(first.len, second.len);
    assert_memory_equal(first.data, second.data, first.len);
}

static void what_is_no_file_is_left_out_and_told(void **state)
{
    struct place *place = *state;
    cleanup_buf struct buf out = BUF_INIT(16 << 20);
    cleanup_buf struct buf names = BUF_INIT(1 << 20);
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    cleanup_close int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct context_report report;

    make_dir(place, "c");
    make_file(place, "c/a", "x");
    assert_int_equal(mkfifoat(place->fd, "c/fifo", 0600), 0);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/c/sock", place->root);
    assert_int_equal(bind(sock, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(pack(place, (struct context_spec){ 0 }, &out, &report, NULL), 0);
    assert_int_equal(report.n_skipped, 2);
    assert_string_equal(report.skipped, "fifo");
    list(place, &out, false, &names);
    assert_string_equal(names.data, "a\n");
}

static void what_is_ignored_does_not_travel(void **state)
{
    struct place *place = *state;
    cleanup_ignore struct ignore *some = NULL;
    cleanup_ignore struct ignore *most = NULL;

    make_dir(place, "c");
    make_dir(place, "c/d");
    make_dir(place, "c/d/e");
    make_dir(place, "c/n");
    make_file(place, "c/.dockerignore", "d");
    make_file(place, "c/a.md", "x");
    make_file(place, "c/d/e/keep", "x");
    make_file(place, "c/d/x", "x");
    make_file(place, "c/n/x", "x");
    make_ignore("*.md\nd\n", &some);
    expect_list(place, (struct context_spec){ .ignore = some }, ".dockerignore\nn/\nn/x\n");
    make_ignore("**\n!d/*/keep\n", &most);
    expect_list(place, (struct context_spec){ .ignore = most },
                ".dockerignore\nd/\nd/e/\nd/e/keep\n");
}

static void the_dockerfile_is_the_one_that_was_checked(void **state)
{
    struct place *place = *state;
    cleanup_buf struct buf out = BUF_INIT(16 << 20);
    cleanup_ignore struct ignore *ignore = NULL;
    struct context_spec spec = { .dockerfile_name = "Dockerfile", .dockerfile = "FROM x\n" };
    struct context_report report;

    spec.dockerfile_len = strlen(spec.dockerfile);
    make_dir(place, "c");
    make_file(place, "c/a", "x");
    expect_list(place, spec, "Dockerfile\na\n");
    make_file(place, "c/Dockerfile", "FROM evil\n");
    expect_list(place, spec, "Dockerfile\na\n");
    assert_int_equal(pack(place, spec, &out, &report, NULL), 0);
    assert_null(memmem(out.data, out.len, "evil", 4));
    assert_non_null(memmem(out.data, out.len, "FROM x\n", 7));
    make_ignore("Dockerfile\na", &ignore);
    spec.ignore = ignore;
    expect_list(place, spec, "Dockerfile\n");
    spec.dockerfile_name = "d/Dockerfile";
    assert_int_equal(pack(place, spec, &out, &report, NULL), -EINVAL);
}

static void long_paths_arrive_whole(void **state)
{
    struct place *place = *state;
    char path[1200] = "c";
    char wanted[8192] = "";
    size_t len = 1;
    size_t n = 0;

    make_dir(place, "c");
    for (int i = 0; i < 4; i++) {
        path[len++] = '/';
        memset(path + len, 'a' + i, 200);
        len += 200;
        path[len] = '\0';
        make_dir(place, path);
        n += (size_t)snprintf(wanted + n, sizeof(wanted) - n, "%s/\n", path + 2);
    }
    memcpy(path + len, "/file", 6);
    make_file(place, path, "x");
    (void)snprintf(wanted + n, sizeof(wanted) - n, "%s\n", path + 2);
    expect_list(place, (struct context_spec){ 0 }, wanted);
}

static void a_context_is_bounded(void **state)
{
    struct place *place = *state;
    cleanup_buf struct buf out = BUF_INIT(16 << 20);
    struct context_report report;
    struct gb_err err = { 0 };
    char path[3 * CONTEXT_DEPTH_MAX] = "c";

    make_dir(place, "c");
    make_file(place, "c/a", "12345");
    make_file(place, "c/b", "12345");
    assert_int_equal(pack(place, (struct context_spec){ .max_bytes = 10, .max_entries = 2 }, &out,
                          &report, NULL),
                     0);
    assert_int_equal(pack(place, (struct context_spec){ .max_bytes = 9 }, &out, &report, &err),
                     -EFBIG);
    assert_non_null(strstr(err.msg, "9 bytes"));
    assert_int_equal(pack(place, (struct context_spec){ .max_entries = 1 }, &out, &report, &err),
                     -EFBIG);
    assert_non_null(strstr(err.msg, "1 files"));
    for (int i = 0; i < CONTEXT_DEPTH_MAX; i++) {
        memcpy(path + 1 + 2 * i, "/d", 3);
        make_dir(place, path);
    }
    assert_int_equal(pack(place, (struct context_spec){ 0 }, &out, &report, NULL), 0);
    memcpy(path + 1 + 2 * CONTEXT_DEPTH_MAX, "/d", 3);
    make_dir(place, path);
    assert_int_equal(pack(place, (struct context_spec){ 0 }, &out, &report, &err), -EFBIG);
    assert_non_null(strstr(err.msg, "deeper"));
}

/* Shortens the file behind the stream's back, once its header is through. */
static int shrink(void *user, const void *bytes, size_t len, struct gb_err *err)
{
    const struct place *place = user;
    cleanup_close int fd = openat(place->fd, "c/a", O_WRONLY | O_CLOEXEC);

    (void)bytes;
    (void)len;
    (void)err;
    assert_int_equal(ftruncate(fd, 3), 0);
    return 0;
}

static void a_file_that_shrinks_ends_the_stream(void **state)
{
    struct place *place = *state;
    struct context_spec spec = { 0 };
    struct context_report report;
    struct gb_err err = { 0 };

    make_dir(place, "c");
    make_file(place, "c/a", "12345");
    spec.dir_fd = openat(place->fd, "c", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(context_write(&spec, shrink, place, &report, &err), -ESTALE);
    assert_non_null(strstr(err.msg, "'a'"));
    close(spec.dir_fd);
}

static void a_context_is_looked_at(void **state)
{
    struct place *place = *state;
    cleanup_buf struct buf text = BUF_INIT(1 << 20);
    struct ignore *ignore = NULL;
    struct template_facts facts;
    struct gb_err err = { 0 };
    int fd;

    make_dir(place, "c");
    make_dir(place, "c/package.json");
    make_file(place, "c/requirements.txt", "x");
    make_file(place, "secret", "s");
    assert_int_equal(symlinkat("../secret", place->fd, "c/Dockerfile.link"), 0);
    fd = context_open(place_path(place, "c"), &err);
    assert_true(fd >= 0);
    assert_int_equal(context_read_ignore(fd, &ignore, &err), 0);
    assert_null(ignore);
    assert_int_equal(context_look(fd, &facts, &err), 0);
    assert_true(facts.has_requirements && facts.has_dockerfile);
    assert_false(facts.has_package);
    assert_int_equal(context_read_dockerfile(fd, "Dockerfile", &text, &err), -ENOENT);
    assert_int_equal(context_read_dockerfile(fd, "../secret", &text, &err), -EINVAL);
    assert_int_equal(context_read_dockerfile(fd, "Dockerfile.link", &text, &err), -ELOOP);
    make_file(place, "c/Dockerfile", "FROM a\n");
    assert_int_equal(context_read_dockerfile(fd, "Dockerfile", &text, &err), 0);
    assert_string_equal(text.data, "FROM a\n");
    make_file(place, "c/.dockerignore", "[\n");
    assert_int_equal(context_read_ignore(fd, &ignore, &err), -EINVAL);
    make_file(place, "c/.dockerignore", "a\n");
    assert_int_equal(context_read_ignore(fd, &ignore, &err), 0);
    assert_int_equal(ignore_matches(ignore, "a", NULL), 1);
    ignore_free(ignore);
    close(fd);
    assert_int_equal(context_open(place_path(place, "secret"), &err), -ENOTDIR);
    assert_int_equal(context_open(place_path(place, "none"), &err), -ENOENT);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        IN_PLACE(files_directories_and_links_travel),
        IN_PLACE(the_same_files_make_the_same_bytes),
        IN_PLACE(what_is_no_file_is_left_out_and_told),
        IN_PLACE(what_is_ignored_does_not_travel),
        IN_PLACE(the_dockerfile_is_the_one_that_was_checked),
        IN_PLACE(long_paths_arrive_whole),
        IN_PLACE(a_context_is_bounded),
        IN_PLACE(a_file_that_shrinks_ends_the_stream),
        IN_PLACE(a_context_is_looked_at),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
