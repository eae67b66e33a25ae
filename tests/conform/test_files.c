/* SPDX-License-Identifier: Apache-2.0 */
/* conform/test_files.c - files into a box and out of it: round trips, caps, hostile names. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "trial.h"
#include "wire/crate.h"

#define MIB        (1024 * 1024UL)
#define MANY_FILES 10000
#define BIG_BYTES  (100 * MIB)

/* ---- what comes out ------------------------------------------------------------------------- */

struct heard {
    uint64_t files;
    uint64_t bytes;
    uint64_t sizes;      /* as the heads said */
    uint64_t order_free; /* sum over files of the hash of path, mode and contents */
    uint64_t hash;       /* of the present one */
    char last[4096];     /* path */
    unsigned mode;       /* of the last one */
    char text[4096];     /* contents of the last one, its beginning */
    size_t text_len;
    int fail_item; /* what item() says */
    int fail_data;
    uint64_t fail_after; /* files that are taken before that */
};

static int hear_item(void *user, const struct crate_item *item)
{
    struct heard *heard = user;

    if (heard->fail_item && heard->files >= heard->fail_after)
        return heard->fail_item;
    heard->files++;
    heard->sizes += item->size;
    heard->mode = item->mode;
    heard->hash = trial_hash(TRIAL_HASH_START, item->path, strlen(item->path));
    heard->hash = trial_hash(heard->hash, &item->mode, sizeof(item->mode));
    heard->text_len = 0;
    (void)snprintf(heard->last, sizeof(heard->last), "%s", item->path);
    return 0;
}

static int hear_data(void *user, const uint8_t *bytes, size_t len)
{
    struct heard *heard = user;
    size_t room = sizeof(heard->text) - 1 - heard->text_len;
    size_t n = len < room ? len : room;

    if (heard->fail_data)
        return heard->fail_data;
    heard->bytes += len;
    heard->hash = trial_hash(heard->hash, bytes, len);
    memcpy(heard->text + heard->text_len, bytes, n);
    heard->text_len += n;
    return 0;
}

static int hear_done(void *user)
{
    struct heard *heard = user;

    heard->order_free += heard->hash;
    heard->text[heard->text_len] = '\0';
    return 0;
}

static const struct crate_ops hear_ops = { hear_item, hear_data, hear_done };

static uint64_t file_hash(const char *path, uint16_t mode, const void *bytes, size_t len)
{
    uint64_t hash = trial_hash(TRIAL_HASH_START, path, strlen(path));

    hash = trial_hash(hash, &mode, sizeof(mode));
    return trial_hash(hash, bytes, len);
}

static struct box_get_spec all_of(const char *dir)
{
    return (struct box_get_spec){
        .dir = dir, .path = "", .max_files = MANY_FILES + 10, .max_bytes = 200 * MIB
    };
}

static int get(struct trial *t, const struct box_get_spec *spec, struct heard *heard)
{
    t->err = (struct gb_err){ 0 };
    return box_get(t->box, spec, &hear_ops, heard, &t->err);
}

static void get_all(struct trial *t, struct heard *heard)
{
    struct box_get_spec spec = all_of(BOX_WORKSPACE);

    *heard = (struct heard){ 0 };
    if (get(t, &spec, heard) < 0)
        fail_msg("box_get: %s", t->err.msg);
}

/* ---- what goes in --------------------------------------------------------------------------- */

static struct box_file text_file(const char *path, unsigned mode, const char *text)
{
    return (struct box_file){
        .path = path, .mode = mode, .bytes = text, .fd = -1, .size = strlen(text)
    };
}

static uint64_t put(struct trial *t, const struct box_file *files, size_t n)
{
    uint64_t mark = 0;

    if (box_put(t->box, BOX_WORKSPACE, files, n, &mark, &t->err) < 0)
        fail_msg("box_put: %s", t->err.msg);
    assert_true(mark > 0);
    return mark;
}

static uint64_t put_text(struct trial *t, const char *path, const char *text)
{
    struct box_file file = text_file(path, 0644, text);

    return put(t, &file, 1);
}

static int try_put(struct trial *t, const char *dir, const struct box_file *file)
{
    uint64_t mark;

    t->err = (struct gb_err){ 0 };
    return box_put(t->box, dir, file, 1, &mark, &t->err);
}

/* Still good for files and runs, and with no process left over in it. */
static void box_is_well(struct trial *t)
{
    struct ledger now;
    struct heard heard;

    (void)put_text(t, "well", "well\n");
    trial_says(t, "cat well && rm well", "well\n");
    get_all(t, &heard);
    ledger_take(&t->scope, &now);
    assert_int_equal(now.processes, 1);
}

/* ---- round trips ---------------------------------------------------------------------------- */

static void files_come_back_as_they_went(void **state)
{
    struct trial *t = *state;
    struct box_file files[] = {
        text_file("a.txt", 0644, "alpha\n"),
        text_file("dir/deeper/b", 0755, "#!/bin/sh\necho beta\n"),
        text_file("empty", 0600, ""),
        text_file(".hidden", 0444, "h"),
    };
    uint64_t sum = 0;
    struct heard heard;

    for (size_t i = 0; i < N_ELEMENTS(files); i++)
        sum += file_hash(files[i].path, (uint16_t)files[i].mode, files[i].bytes, files[i].size);
    trial_open(t);
    (void)put(t, files, N_ELEMENTS(files));
    trial_says(t, "./dir/deeper/b; stat -c '%a %u %s' a.txt dir/deeper/b empty .hidden",
               "beta\n644 1000 6\n755 1000 20\n600 1000 0\n444 1000 1\n");
    get_all(t, &heard);
    assert_int_equal(heard.files, 4);
    assert_int_equal(heard.order_free, sum);
}

static void nothing_is_fine_too(void **state)
{
    struct trial *t = *state;
    struct heard heard;

    trial_open(t);
    (void)put(t, NULL, 0);
    get_all(t, &heard);
    assert_int_equal(heard.files, 0);
}

static void a_file_is_replaced_whole(void **state)
{
    struct trial *t = *state;
    struct heard heard;

    trial_open(t);
    (void)put_text(t, "x", "a long first text\n");
    (void)put_text(t, "x", "short\n");
    trial_says(t, "cat x; ls -A", "short\nx\n");
    get_all(t, &heard);
    assert_string_equal(heard.text, "short\n");
}

static char *many_names(struct box_file *files)
{
    char *names = malloc((size_t)MANY_FILES * 64);

    assert_non_null(names);
    for (int i = 0; i < MANY_FILES; i++) {
        char *name = names + (size_t)i * 64;

        (void)snprintf(name, 64, "d%d/e%d/file number %d", i % 50, i % 7, i);
        files[i] = text_file(name, i % 3 ? 0644 : 0755, name);
    }
    return names;
}

static void ten_thousand_small_files_make_the_round_trip(void **state)
{
    struct trial *t = *state;
    struct box_file *files = calloc(MANY_FILES, sizeof(*files));
    struct box_get_spec listing = all_of(BOX_WORKSPACE);
    struct heard heard;
    uint64_t sum = 0;
    char *names;

    assert_non_null(files);
    names = many_names(files);
    for (int i = 0; i < MANY_FILES; i++)
        sum += file_hash(files[i].path, (uint16_t)files[i].mode, files[i].bytes, files[i].size);
    trial_open(t);
    (void)put(t, files, MANY_FILES);
    trial_says(t, "find . -type f | wc -l", "10000\n");
    get_all(t, &heard);
    assert_int_equal(heard.files, MANY_FILES);
    assert_int_equal(heard.order_free, sum);
    listing.is_listing = true;
    listing.max_bytes = 0;
    memset(&heard, 0, sizeof(heard));
    assert_int_equal(get(t, &listing, &heard), 0);
    assert_int_equal(heard.files, MANY_FILES);
    assert_int_equal(heard.bytes, 0);
    assert_true(heard.sizes > 16UL * MANY_FILES);
    free(names);
    free(files);
}

static int memory_file(size_t len, uint64_t *ret_hash)
{
    int fd = memfd_create("big", MFD_CLOEXEC);
    unsigned char *bytes;
    uint32_t x = 12345;

    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)len), 0);
    bytes = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(bytes, MAP_FAILED);
    for (size_t i = 0; i < len; i++) {
        x = x * 1664525 + 1013904223;
        bytes[i] = (unsigned char)(x >> 24);
    }
    *ret_hash = file_hash("big", 0644, bytes, len);
    assert_int_equal(munmap(bytes, len), 0);
    return fd;
}

static void a_big_file_makes_the_round_trip(void **state)
{
    struct trial *t = *state;
    uint64_t hash;
    cleanup_close int fd = memory_file(BIG_BYTES, &hash);
    struct box_file file = { .path = "big", .mode = 0644, .fd = fd, .size = BIG_BYTES };
    struct heard heard;

    trial_open(t);
    (void)put(t, &file, 1);
    trial_says(t, "stat -c %s big", "104857600\n");
    get_all(t, &heard);
    assert_int_equal(heard.bytes, BIG_BYTES);
    assert_int_equal(heard.order_free, hash);
}

/* ---- names ---------------------------------------------------------------------------------- */

static void odd_names_are_only_names(void **state)
{
    static const char *const names[] = {
        " ",           "-rf",   "new\nline",  "tab\tquote'\"", "\xff\xfe invalid",
        "\x1b[31mred", "*?[a]", "ünïcödé",    "a\\b",          "$(id)",
        "con.",        "...",   ".glove-1-1", "x/-/ /\n",
    };
    struct trial *t = *state;
    char longest[256];
    uint64_t sum = 0;
    struct heard heard;

    memset(longest, 'a', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    trial_open(t);
    for (size_t i = 0; i <= N_ELEMENTS(names); i++) {
        const char *name = i < N_ELEMENTS(names) ? names[i] : longest;

        (void)put_text(t, name, "x");
        sum += file_hash(name, 0644, "x", 1);
    }
    get_all(t, &heard);
    assert_int_equal(heard.files, N_ELEMENTS(names) + 1);
    assert_int_equal(heard.order_free, sum);
}

static void names_that_lead_out_are_refused(void **state)
{
    static const char *const names[] = {
        "",  "/",   "/etc/passwd", "..",   "../x", "a/../../x", "a/..",
        ".", "./x", "a/./b",       "a//b", "a/",   "//x",
    };
    struct trial *t = *state;
    char long_name[300];

    memset(long_name, 'n', sizeof(long_name) - 1);
    long_name[sizeof(long_name) - 1] = '\0';
    trial_open(t);
    /* More often than the link has requests and the glove has children. */
    for (size_t i = 0; i < 100; i++) {
        struct box_file file = text_file(names[i % N_ELEMENTS(names)], 0644, "x");

        assert_int_equal(try_put(t, BOX_WORKSPACE, &file), -EINVAL);
        assert_int_equal(t->err.blame, GB_BLAME_CALLER);
    }
    assert_int_equal(
        try_put(t, BOX_WORKSPACE, &(struct box_file){ .path = long_name, .bytes = "" }), -EINVAL);
    box_is_well(t);
}

/* What a run may leave for whoever fetches: nothing of it is followed, opened for ever, or sent. */
static void only_regular_files_come_out(void **state)
{
    struct trial *t = *state;
    struct box_get_spec spec = all_of(BOX_WORKSPACE);
    struct heard heard;

    trial_open(t);
    trial_says(
        t,
        "ln -s /etc/passwd link; ln -s . loop; ln -s /proc/self/root root; mkfifo pipe;"
        "ln -s /nowhere dangling; mkdir -p d; ln -s /usr d/usr; echo x > closed; chmod 0 closed;"
        "mkdir shut; echo x > shut/in; chmod 0 shut; echo yes > d/real;"
        "if command -v python3 >/dev/null; then"
        " python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")';"
        " else mkfifo sock; fi",
        "");
    get_all(t, &heard);
    assert_int_equal(heard.files, 1);
    assert_string_equal(heard.last, "d/real");
    spec.path = "link";
    assert_int_equal(get(t, &spec, &heard), -ELOOP);
    spec.path = "d/usr/bin/env";
    assert_int_equal(get(t, &spec, &heard), -ELOOP);
    spec.path = "pipe";
    assert_int_equal(get(t, &spec, &heard), -ENXIO);
    spec.path = "nothing";
    assert_int_equal(get(t, &spec, &heard), -ENOENT);
    spec.path = "../etc/passwd";
    assert_int_equal(get(t, &spec, &heard), -EINVAL);
    spec.path = "d/real";
    memset(&heard, 0, sizeof(heard));
    assert_int_equal(get(t, &spec, &heard), 0);
    assert_string_equal(heard.text, "yes\n");
    box_is_well(t);
}

static void putting_follows_no_link(void **state)
{
    struct trial *t = *state;
    struct box_file through = text_file("way/file", 0644, "x");

    trial_open(t);
    trial_says(t, "echo keep > /tmp/target; ln -s /tmp/target file; ln -s /tmp way", "");
    (void)put_text(t, "file", "new\n");
    trial_says(t, "cat /tmp/target file", "keep\nnew\n");
    assert_true(try_put(t, BOX_WORKSPACE, &through) < 0);
    trial_says(t, "ls /tmp", "target\n");
}

/* ---- since when ----------------------------------------------------------------------------- */

static void only_what_changed_since_the_mark_comes_out(void **state)
{
    struct trial *t = *state;
    struct box_get_spec spec = all_of(BOX_WORKSPACE);
    struct box_file files[] = {
        text_file("old", 0644, "old"),
        text_file("changed", 0644, "before"),
        text_file("touched", 0644, "same"),
    };
    struct heard heard = { 0 };

    trial_open(t);
    spec.since = put(t, files, N_ELEMENTS(files));
    spec.has_since = true;
    assert_int_equal(get(t, &spec, &heard), 0);
    assert_int_equal(heard.files, 0);
    /* Times can be set back; the time of change cannot. */
    trial_says(t, "echo after > changed; touch -d 2001-01-01 touched; echo new > made", "");
    assert_int_equal(get(t, &spec, &heard), 0);
    assert_int_equal(heard.files, 3);
    spec.is_listing = true;
    memset(&heard, 0, sizeof(heard));
    assert_int_equal(get(t, &spec, &heard), 0);
    assert_int_equal(heard.files, 3);
    assert_int_equal(heard.sizes, 6 + 4 + 4);
}

/* ---- caps and failures ---------------------------------------------------------------------- */

static void caps_refuse_the_rest(void **state)
{
    struct trial *t = *state;
    struct box_get_spec spec = all_of(BOX_WORKSPACE);
    struct heard heard = { 0 };

    trial_open(t);
    trial_says(t, "for i in 1 2 3 4 5; do head -c 100000 /dev/zero > f$i; done", "");
    spec.max_files = 4;
    assert_int_equal(get(t, &spec, &heard), -EFBIG);
    assert_int_equal(t->err.blame, GB_BLAME_CALLER);
    spec.max_files = 5;
    spec.max_bytes = 499999;
    assert_int_equal(get(t, &spec, &heard), -EFBIG);
    spec.max_bytes = 500000;
    memset(&heard, 0, sizeof(heard));
    assert_int_equal(get(t, &spec, &heard), 0);
    assert_int_equal(heard.files, 5);
    /* A file that says it is large and takes no room. */
    trial_says(t, "truncate -s 200M f1", "");
    spec.max_bytes = 1000000;
    assert_int_equal(get(t, &spec, &heard), -EFBIG);
    trial_says(t, "rm f*", "");
    box_is_well(t);
}

static void a_taker_that_fails_ends_the_transfer_and_nothing_else(void **state)
{
    struct trial *t = *state;
    struct box_get_spec spec = all_of(BOX_WORKSPACE);

    trial_open(t);
    trial_says(t, "for i in 1 2 3; do head -c 1000000 /dev/zero > f$i; done", "");
    for (int i = 0; i < 80; i++) {
        struct heard heard = { .fail_item = i % 2 ? -ENOSPC : 0,
                               .fail_data = i % 2 ? 0 : -EDQUOT,
                               .fail_after = 1 };

        assert_int_equal(get(t, &spec, &heard), i % 2 ? -ENOSPC : -EDQUOT);
    }
    box_is_well(t);
}

/* One file over the limit of a file, many over the disk's. */
static void files_that_do_not_fit_are_refused(void **state)
{
    static const char half[1536 * 1024];
    struct trial *t = *state;
    uint64_t hash;
    cleanup_close int fd = memory_file(8 * MIB, &hash);
    struct box_file file = { .path = "big", .mode = 0644, .fd = fd, .size = 8 * MIB };

    t->spec.limits.disk_bytes = 2 * MIB;
    trial_open(t);
    assert_int_equal(try_put(t, BOX_WORKSPACE, &file), -EFBIG);
    assert_non_null(strstr(t->err.msg, "--disk"));
    file = (struct box_file){ .path = "a", .mode = 0644, .bytes = half, .size = sizeof(half) };
    assert_int_equal(try_put(t, BOX_WORKSPACE, &file), 0);
    file.path = "b";
    assert_int_equal(try_put(t, BOX_WORKSPACE, &file), -ENOSPC);
    assert_non_null(strstr(t->err.msg, "--disk"));
    trial_says(t, "ls -A; rm a", "a\n");
    box_is_well(t);
}

static void a_file_that_shrinks_is_the_callers_fault(void **state)
{
    struct trial *t = *state;
    uint64_t hash;
    cleanup_close int fd = memory_file(1000, &hash);
    struct box_file file = { .path = "short", .mode = 0644, .fd = fd, .size = 1001 };

    trial_open(t);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
        assert_int_equal(try_put(t, BOX_WORKSPACE, &file), -EAGAIN);
        assert_int_equal(t->err.blame, GB_BLAME_CALLER);
    }
    trial_says(t, "ls -A", "");
    box_is_well(t);
}

static void places_that_are_not_the_runs_are_refused(void **state)
{
    static const char *const dirs[] = { "/usr", "/etc", "/", "/proc/self", "/dev", "/no/such" };
    struct trial *t = *state;
    struct box_file file = text_file("x", 0644, "x");

    trial_open(t);
    for (size_t i = 0; i < N_ELEMENTS(dirs); i++)
        assert_true(try_put(t, dirs[i], &file) < 0);
    assert_int_equal(try_put(t, "/tmp", &file), 0);
    assert_int_equal(try_put(t, BOX_HOME, &file), 0);
    trial_says(t, "cat /tmp/x " BOX_HOME "/x", "xx");
}

int main(void)
{
    static const struct trial_test tests[] = {
        TRIAL_TEST(files_come_back_as_they_went),
        TRIAL_TEST(nothing_is_fine_too),
        TRIAL_TEST(a_file_is_replaced_whole),
        TRIAL_TEST(ten_thousand_small_files_make_the_round_trip),
        TRIAL_TEST(a_big_file_makes_the_round_trip),
        TRIAL_TEST(odd_names_are_only_names),
        TRIAL_TEST(names_that_lead_out_are_refused),
        TRIAL_TEST(only_regular_files_come_out),
        TRIAL_TEST(putting_follows_no_link),
        TRIAL_TEST(only_what_changed_since_the_mark_comes_out),
        TRIAL_TEST(caps_refuse_the_rest),
        TRIAL_TEST(a_taker_that_fails_ends_the_transfer_and_nothing_else),
        TRIAL_TEST(files_that_do_not_fit_are_refused),
        TRIAL_TEST(a_file_that_shrinks_is_the_callers_fault),
        TRIAL_TEST(places_that_are_not_the_runs_are_refused),
    };

    return trial_main(tests, N_ELEMENTS(tests));
}
