/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_glove_look.c - LIST and REMOVE, also where a program has laid traps. */
#include <sys/un.h>

#include "glove_box.h"
#include "wire/listing.h"

static const char *in_dir(const struct box *box, const char *name)
{
    static char path[4][512];
    static unsigned turn;
    char *at = path[turn++ % 4];

    snprintf(at, sizeof(path[0]), "%s/%s", box->dir, name);
    return at;
}

static uint32_t box_sh_done(struct box *box, const char *script)
{
    struct box_run run = box_sh(box, script, "");

    assert_int_equal(box_answer(box, run.seq), 0);
    return box_exit(box, &run);
}

/* ---- listing -------------------------------------------------------------------------------- */

struct seen {
    unsigned n;
    struct listing_entry entries[64];
};

static int see(void *user, const struct listing_entry *entry)
{
    struct seen *seen = user;

    if (seen->n < N_ELEMENTS(seen->entries))
        seen->entries[seen->n] = *entry;
    seen->n++;
    return 0;
}

static int list_with(struct box *box, struct msg_list *msg, struct seen *seen)
{
    struct listing_reader reader = {
        .entry = see,
        .user = seen,
        .max_entries = 1000,
        .is_self = msg->flags & LIST_FLAG_SELF,
    };
    struct box_stream *stream;
    int r;

    memset(seen, 0, sizeof(*seen));
    msg->seq = box->seq++;
    msg->channel = box_stream_open(box);
    box_send(box, MSG_LIST, msg);
    r = box_answer(box, msg->seq);
    stream = box_stream(box, msg->channel);
    assert_true(stream->has_fin); /* the answer comes behind the last of it */
    if (r != 0)
        return r;
    assert_int_equal(
        listing_reader_feed(&reader, (const uint8_t *)stream->bytes, (size_t)stream->total), 0);
    assert_true(reader.is_complete);
    assert_int_equal(box->ok.value, seen->n);
    return 0;
}

static int list(struct box *box, const char *dir, const char *path, uint32_t flags,
                struct seen *seen)
{
    struct msg_list msg = { .flags = flags, .max_entries = 100, .dir = dir, .path = path };

    return list_with(box, &msg, seen);
}

static const struct listing_entry *find(const struct seen *seen, const char *name)
{
    for (unsigned i = 0; i < seen->n; i++)
        if (strcmp(seen->entries[i].name, name) == 0)
            return &seen->entries[i];
    fail_msg("no entry %s", name);
    return NULL;
}

static void test_every_kind_is_told_and_none_is_opened(void **state)
{
    struct box *box = box_up();
    struct seen seen;

    (void)state;
    assert_int_equal(box_sh_done(box, "printf hello >file; chmod 4750 file; mkdir dir; ln -s "
                                      "/etc/passwd link; mkfifo pipe; touch -d @77 old; "
                                      "perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); "
                                      "bind(S, sockaddr_un(\"sock\")) or die'"),
                     0);
    assert_int_equal(list(box, box->dir, "", 0, &seen), 0);
    assert_int_equal(seen.n, 6);
    assert_int_equal(find(&seen, "file")->kind, LISTING_FILE);
    assert_int_equal(find(&seen, "file")->size, 5);
    assert_int_equal(find(&seen, "file")->mode, 04750);
    assert_int_equal(find(&seen, "dir")->kind, LISTING_DIRECTORY);
    assert_int_equal(find(&seen, "link")->kind, LISTING_LINK);
    assert_int_equal(find(&seen, "pipe")->kind, LISTING_PIPE);
    assert_int_equal(find(&seen, "sock")->kind, LISTING_SOCKET);
    assert_int_equal(find(&seen, "old")->changed_ns / 1000000000, 77);
    assert_int_equal(list(box, "/dev", "null", LIST_FLAG_SELF, &seen), 0);
    assert_int_equal(seen.entries[0].kind, LISTING_CHARACTER);
    box_down(box);
}

static void test_a_path_is_told_itself_or_gone_into(void **state)
{
    struct box *box = box_up();
    struct seen seen;

    (void)state;
    assert_int_equal(box_sh_done(box, "mkdir -p a/b/c; ln -s b a/l; echo x >a/f"), 0);
    assert_int_equal(list(box, box->dir, "a/b", 0, &seen), 0);
    assert_int_equal(seen.n, 1);
    assert_string_equal(seen.entries[0].name, "c");
    assert_int_equal(list(box, box->dir, "a/b/c", 0, &seen), 0);
    assert_int_equal(seen.n, 0);
    assert_int_equal(list(box, box->dir, "a/l", LIST_FLAG_SELF, &seen), 0);
    assert_int_equal(seen.entries[0].kind, LISTING_LINK);
    assert_int_equal(list(box, box->dir, "", LIST_FLAG_SELF, &seen), 0);
    assert_int_equal(seen.entries[0].kind, LISTING_DIRECTORY);
    assert_int_equal(list(box, box->dir, "a/f", 0, &seen), ENOTDIR);
    assert_int_equal(list(box, box->dir, "none", 0, &seen), ENOENT);
    assert_int_equal(list(box, box->dir, "none", LIST_FLAG_SELF, &seen), ENOENT);
    box_down(box);
}

static void test_no_link_and_no_way_out_is_followed(void **state)
{
    static const char *const ways[] = { "..", "../x", "/etc", "a/../..", ".", "a//b", "a/" };
    struct box *box = box_up();
    struct seen seen;

    (void)state;
    assert_int_equal(box_sh_done(box, "mkdir a; ln -s / root; ln -s a inner"), 0);
    for (size_t i = 0; i < N_ELEMENTS(ways); i++)
        assert_int_equal(list(box, box->dir, ways[i], 0, &seen), EINVAL);
    assert_int_equal(list(box, box->dir, "root", 0, &seen), ELOOP);
    assert_int_equal(list(box, box->dir, "root/etc", LIST_FLAG_SELF, &seen), ELOOP);
    assert_int_equal(list(box, box->dir, "inner", 0, &seen), ELOOP);
    box_down(box);
}

static void test_what_the_run_user_may_not_see_is_not_told(void **state)
{
    struct box *box = box_up();
    struct seen seen;

    (void)state;
    assert_int_equal(mkdir(in_dir(box, "closed"), 0700), 0); /* of a user that the box has not */
    assert_int_equal(list(box, box->dir, "closed", 0, &seen), EACCES);
    assert_int_equal(list(box, "/root", "", 0, &seen), EACCES);
    box_down(box);
}

static void test_a_listing_is_bounded(void **state)
{
    struct box *box = box_up();
    struct msg_list msg = { .max_entries = 10, .dir = box->dir, .path = "" };
    struct seen seen;

    (void)state;
    assert_int_equal(box_sh_done(box, "for i in 0 1 2 3 4 5 6 7 8 9; do : >$i; done"), 0);
    assert_int_equal(list_with(box, &msg, &seen), 0);
    assert_int_equal(seen.n, 10);
    assert_int_equal(box_sh_done(box, ": >more"), 0);
    assert_int_equal(list_with(box, &msg, &seen), EFBIG);
    msg.flags = 1u << 20;
    assert_int_equal(list_with(box, &msg, &seen), EINVAL);
    box_down(box);
}

/* ---- removing ------------------------------------------------------------------------------- */

static int remove_in(struct box *box, const char *dir, const char *path, uint32_t flags)
{
    struct msg_remove msg = { .seq = box->seq++, .flags = flags, .dir = dir, .path = path };

    box_send(box, MSG_REMOVE, &msg);
    return box_answer(box, msg.seq);
}

static bool is_there(const struct box *box, const char *name)
{
    struct stat st;

    return lstat(in_dir(box, name), &st) == 0;
}

static void test_a_file_a_link_and_an_empty_directory_go(void **state)
{
    struct box *box = box_up();

    (void)state;
    assert_int_equal(box_sh_done(box, "echo x >f; ln -s f l; mkdir d full; echo x >full/f"), 0);
    assert_int_equal(remove_in(box, box->dir, "l", 0), 0);
    assert_int_equal(box->ok.value, 1);
    assert_true(is_there(box, "f"));
    assert_int_equal(remove_in(box, box->dir, "f", 0), 0);
    assert_int_equal(remove_in(box, box->dir, "d", 0), 0);
    assert_false(is_there(box, "l") || is_there(box, "f") || is_there(box, "d"));
    assert_int_equal(remove_in(box, box->dir, "full", 0), ENOTEMPTY);
    assert_int_equal(remove_in(box, box->dir, "f", 0), ENOENT);
    assert_int_equal(remove_in(box, box->dir, "f", REMOVE_FLAG_TREE), ENOENT);
    box_down(box);
}

static void test_a_tree_goes_and_nothing_that_it_points_to(void **state)
{
    struct box *box = box_up();

    (void)state;
    assert_int_equal(box_sh_done(box, "mkdir -p t/a/b/c safe; echo x >safe/f; ln -s ../safe t/l; "
                                      "ln -s ../../safe t/a/l; mkfifo t/p; cd t; i=0; while [ $i "
                                      "-lt 500 ]; do : >a/b/$i; i=$((i+1)); done"),
                     0);
    assert_int_equal(remove_in(box, box->dir, "t", REMOVE_FLAG_TREE), 0);
    assert_int_equal(box->ok.value, 500 + 7);
    assert_false(is_there(box, "t"));
    assert_true(is_there(box, "safe/f"));
    box_down(box);
}

static void test_removing_follows_no_link_and_no_way_out(void **state)
{
    static const char *const ways[] = { "", "..", "../x", "/etc", "a/../../x", ".", "a/" };
    struct box *box = box_up();

    (void)state;
    assert_int_equal(box_sh_done(box, "mkdir a; echo x >a/f; ln -s a l; ln -s /tmp t"), 0);
    for (size_t i = 0; i < N_ELEMENTS(ways); i++)
        assert_int_equal(remove_in(box, box->dir, ways[i], REMOVE_FLAG_TREE), EINVAL);
    assert_int_equal(remove_in(box, box->dir, "l/f", 0), ELOOP);
    assert_int_equal(remove_in(box, box->dir, "t/f", REMOVE_FLAG_TREE), ELOOP);
    assert_int_equal(remove_in(box, box->dir, "a", 1u << 9), EINVAL);
    assert_true(is_there(box, "a/f"));
    box_down(box);
}

static void test_what_the_run_user_may_not_remove_stays(void **state)
{
    struct box *box = box_up();
    int fd;

    (void)state;
    assert_int_equal(mkdir(in_dir(box, "closed"), 0755), 0);
    fd = open(in_dir(box, "closed/f"), O_CREAT | O_WRONLY | O_CLOEXEC, 0666);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(remove_in(box, box->dir, "closed/f", 0), EACCES);
    assert_int_equal(remove_in(box, box->dir, "closed", REMOVE_FLAG_TREE), EACCES);
    assert_true(is_there(box, "closed/f"));
    assert_int_not_equal(remove_in(box, "/usr/bin", "env", 0), 0);
    box_down(box);
}

/* Nobody builds such trees but to break what walks them. */
static void test_a_tree_too_deep_is_refused(void **state)
{
    struct box *box = box_up();

    (void)state;
    assert_int_equal(box_sh_done(box, "i=0; while [ $i -lt 70 ]; do mkdir d && cd d; "
                                      "i=$((i+1)); done"),
                     0);
    assert_int_equal(remove_in(box, box->dir, "d", REMOVE_FLAG_TREE), ENAMETOOLONG);
    box_ping(box);
    box_down(box);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind_is_told_and_none_is_opened),
        cmocka_unit_test(test_a_path_is_told_itself_or_gone_into),
        cmocka_unit_test(test_no_link_and_no_way_out_is_followed),
        cmocka_unit_test(test_what_the_run_user_may_not_see_is_not_told),
        cmocka_unit_test(test_a_listing_is_bounded),
        cmocka_unit_test(test_a_file_a_link_and_an_empty_directory_go),
        cmocka_unit_test(test_a_tree_goes_and_nothing_that_it_points_to),
        cmocka_unit_test(test_removing_follows_no_link_and_no_way_out),
        cmocka_unit_test(test_what_the_run_user_may_not_remove_stays),
        cmocka_unit_test(test_a_tree_too_deep_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
