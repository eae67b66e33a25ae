/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_kept.c - the directory of boxes: what is read, found, swept, and left alone. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "box/kept.h"
#include "box/kept_record.h"

#include <cmocka.h>

#define ONE   "b_00000000000000000000000001"
#define OTHER "b_00000000000000000000000002"

static char state_dir[64];

static int place_up(void **state)
{
    char path[96];

    (void)state;
    snprintf(state_dir, sizeof(state_dir), "/tmp/kept-test-XXXXXX");
    if (!mkdtemp(state_dir))
        return -1;
    snprintf(path, sizeof(path), "%s/boxes", state_dir);
    return mkdir(path, 0700);
}

static int place_down(void **state)
{
    char path[96];

    (void)state;
    snprintf(path, sizeof(path), "%s/boxes", state_dir);
    return rmdir(path) < 0 || rmdir(state_dir) < 0 ? -1 : 0;
}

static const char *at(const char *rest)
{
    static char path[4][256];
    static unsigned next;
    char *ret = path[next++ % 4];

    snprintf(ret, sizeof(path[0]), "%s/boxes/%s", state_dir, rest);
    return ret;
}

static bool is_there(const char *rest)
{
    struct stat st;

    return lstat(at(rest), &st) == 0;
}

static void record(struct buf *ret, const char *user)
{
    char text[64] = "";
    struct kept kept = {
        .id = ONE,
        .user = user ? text : NULL,
        .image = (char[]){ "host" },
        .workdir = (char[]){ "/workspace" },
        .created_ms = 12345,
        .ttl_ms = 678,
        .box = { .path = "/usr/bin",
                 .receipt = { .backend = "native",
                              .net = "none",
                              .seccomp = "default",
                              .groups = "v1",
                              .accounting = "run",
                              .landlock = 3,
                              .limits = limits_default() } },
    };

    (void)snprintf(text, sizeof(text), "%s", user ? user : "");
    assert_int_equal(kept_record_write(&kept, ret), 0);
}

/* A box whose keeper is the test itself; the listening socket. */
static int box_up(const char *id, const char *user)
{
    cleanup_buf struct buf text = BUF_INIT(KEPT_RECORD_MAX);
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    char path[256];
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int file;

    record(&text, user);
    assert_int_equal(mkdir(at(id), 0700), 0);
    snprintf(path, sizeof(path), "%s/box.json", at(id));
    file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(fd_write_full(file, text.data, text.len), 0);
    close(file);
    snprintf(address.sun_path, sizeof(address.sun_path), "%.90s/socket", at(id));
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 8), 0);
    return fd;
}

/* Its keeper dies, and somebody looks. */
static void box_down(int fd)
{
    struct gb_err err = { 0 };
    struct kept *list;
    size_t n;

    close(fd);
    assert_int_equal(kept_list(state_dir, &list, &n, &err), 0);
    for (size_t i = 0; i < n; i++)
        kept_clear(&list[i]);
    free(list);
}

/* ---- records -------------------------------------------------------------------------------- */

static void a_record_is_read_as_it_was_written(void **state)
{
    cleanup_buf struct buf text = BUF_INIT(KEPT_RECORD_MAX);
    cleanup_kept struct kept kept = { 0 };
    struct gb_err err = { 0 };

    (void)state;
    record(&text, "anna@example");
    assert_int_equal(kept_record_read(text.data, text.len, &kept, &err), 0);
    assert_string_equal(kept.user, "anna@example");
    assert_string_equal(kept.workdir, "/workspace");
    assert_string_equal(kept.box.path, "/usr/bin");
    assert_string_equal(kept.box.receipt.groups, "v1");
    assert_int_equal(kept.created_ms, 12345);
    assert_int_equal(kept.ttl_ms, 678);
    assert_int_equal(kept.box.receipt.landlock, 3);
}

/* What a record says of its backend and so on is one of few words; the rest is bounded. */
static void a_damaged_record_is_refused(void **state)
{
    static const char *const wrong[][2] = {
        { "\"native\"", "\"no-such\"" },
        { "\"v1\"", "\"v9\"" },
        { "12345", "-1" },
        { "12345", "\"12345\"" },
        { "12345", "1e99" },
        { "\"id\"", "\"other\"" },
        { "\"host\"", "null" },
        { "\"host\"", "[\"host\"]" },
        { "{", "[" },
        { "}", "" },
        { "}", "}}" },
        { "\"/workspace\"", "\"/work\\u0000space\"" },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(wrong); i++) {
        cleanup_buf struct buf text = BUF_INIT(KEPT_RECORD_MAX);
        cleanup_buf struct buf bad = BUF_INIT(KEPT_RECORD_MAX);
        struct kept kept = { 0 };
        struct gb_err err = { 0 };
        char *found;

        record(&text, NULL);
        assert_int_equal(buf_putc(&text, '\0'), 0);
        found = strstr(text.data, wrong[i][0]);
        assert_non_null(found);
        assert_int_equal(buf_printf(&bad, "%.*s%s%s", (int)(found - (char *)text.data), text.data,
                                    wrong[i][1], found + strlen(wrong[i][0])),
                         0);
        if (kept_record_read(bad.data, bad.len, &kept, &err) >= 0)
            fail_msg("%s for %s is believed", wrong[i][1], wrong[i][0]);
        assert_null(kept.path);
    }
}

/* ---- finding -------------------------------------------------------------------------------- */

static void a_living_box_is_found_by_id_beginning_and_user(void **state)
{
    int one = box_up(ONE, "anna");
    int other = box_up(OTHER, "bob");
    struct gb_err err = { 0 };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        cleanup_kept struct kept kept = { 0 };
        cleanup_kept struct kept same = { 0 };
        const char *id = i ? OTHER : ONE;

        assert_int_equal(kept_find(state_dir, id, &kept, &err), 0);
        assert_string_equal(kept.id, id);
        assert_int_equal(kept_find_user(state_dir, i ? "bob" : "anna", &same, &err), 0);
        assert_string_equal(same.id, id);
    }
    assert_int_equal(kept_find_user(state_dir, "ann", &(struct kept){ 0 }, &err), 1);
    assert_int_equal(kept_find(state_dir, "b_0", &(struct kept){ 0 }, &err), -EEXIST);
    assert_int_equal(kept_find(state_dir, "", &(struct kept){ 0 }, &err), -ENOENT);
    assert_int_equal(kept_find(state_dir, "b_1", &(struct kept){ 0 }, &err), -ENOENT);
    assert_int_equal(kept_find(state_dir, "../boxes/" ONE, &(struct kept){ 0 }, &err), -ENOENT);
    close(one);
    box_down(other);
}

static void without_a_directory_there_is_no_box(void **state)
{
    struct gb_err err = { 0 };
    struct gb_err said = { 0 };
    struct kept *list;
    size_t n = 7;

    (void)state;
    assert_int_equal(kept_list("/proc/self/none", &list, &n, &err), 0);
    assert_int_equal(n, 0);
    free(list);
    assert_int_equal(kept_find("/proc/self/none", ONE, &(struct kept){ 0 }, &err), -ENOENT);
    assert_int_equal(err.blame, GB_BLAME_CALLER);
    assert_int_equal(kept_list(NULL, &list, &n, &said), -ENOENT);
    assert_int_not_equal(said.code, 0);
}

/* ---- sweeping ------------------------------------------------------------------------------- */

static void a_dead_box_is_forgotten_by_who_looks(void **state)
{
    int one = box_up(ONE, NULL);
    int other = box_up(OTHER, NULL);
    struct gb_err err = { 0 };
    struct kept kept = { 0 };
    struct box *box = NULL;
    struct box_news news;

    (void)state;
    close(one);
    assert_int_equal(kept_find(state_dir, ONE, &kept, &err), 0);
    assert_int_equal(kept_attach(state_dir, &kept, &box, &news, &err), -ENOENT);
    assert_null(box);
    kept_clear(&kept);
    assert_false(is_there(ONE));
    assert_true(is_there(OTHER));
    box_down(other);
    assert_false(is_there(OTHER));
}

static void what_a_maker_left_is_swept_unless_he_is_still_at_it(void **state)
{
    int left = box_up(".new-" ONE, NULL);
    int busy = box_up(".new-" OTHER, NULL);
    int lock = open(at(".new-" OTHER), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    (void)state;
    assert_int_equal(flock(lock, LOCK_EX), 0);
    box_down(left);
    assert_false(is_there(".new-" ONE));
    assert_true(is_there(".new-" OTHER));
    close(lock);
    box_down(busy);
    assert_false(is_there(".new-" OTHER));
}

/* Neither followed nor removed: a box is a directory. */
static void links_in_the_directory_lead_nowhere(void **state)
{
    char elsewhere[] = "/tmp/kept-else-XXXXXX";
    char path[96];
    struct gb_err err = { 0 };
    struct kept kept = { 0 };
    struct kept *list;
    size_t n;
    int fd;

    (void)state;
    assert_non_null(mkdtemp(elsewhere));
    snprintf(path, sizeof(path), "%s/precious", elsewhere);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(symlink(elsewhere, at(ONE)), 0);
    assert_int_equal(symlink(elsewhere, at(".new-" OTHER)), 0);
    assert_int_equal(kept_list(state_dir, &list, &n, &err), 0);
    assert_int_equal(n, 0);
    free(list);
    assert_true(kept_find(state_dir, ONE, &kept, &err) < 0);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(unlink(at(ONE)), 0);
    assert_int_equal(unlink(at(".new-" OTHER)), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(elsewhere), 0);
}

int main(void)
{
#define IN_PLACE(test) cmocka_unit_test_setup_teardown(test, place_up, place_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_is_read_as_it_was_written),
        cmocka_unit_test(a_damaged_record_is_refused),
        IN_PLACE(a_living_box_is_found_by_id_beginning_and_user),
        cmocka_unit_test(without_a_directory_there_is_no_box),
        IN_PLACE(a_dead_box_is_forgotten_by_who_looks),
        IN_PLACE(what_a_maker_left_is_swept_unless_he_is_still_at_it),
        IN_PLACE(links_in_the_directory_lead_nowhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
