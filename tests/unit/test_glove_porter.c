/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_glove_porter.c - files into a box and out of it, also where a program has laid
 * traps. */
#include <dirent.h>
#include <ftw.h>
#include <sys/un.h>

#include "glove_box.h"
#include "wire/crate.h"

#define MANY_FILES 1000
#define MANY_BYTES (64ull << 20)

/* ---- putting -------------------------------------------------------------------------------- */

struct crate {
    size_t len;
    uint8_t bytes[200000];
};

static struct crate crate;

static void crate_bytes(const void *bytes, size_t len)
{
    assert_true(len <= sizeof(crate.bytes) - crate.len);
    memcpy(crate.bytes + crate.len, bytes, len);
    crate.len += len;
}

static void crate_file(const char *path, unsigned mode, const char *text)
{
    uint8_t head[CRATE_HEAD_SIZE + CRATE_PATH_MAX];
    int n = crate_head_put(path, mode, strlen(text), head);

    assert_true(n > 0);
    crate_bytes(head, (size_t)n);
    crate_bytes(text, strlen(text));
}

/* A path that crate_head_put() would refuse. */
static void crate_evil(const char *path)
{
    uint8_t head[CRATE_HEAD_SIZE + CRATE_PATH_MAX];
    size_t len = strlen(path);
    int n = crate_head_put("x", 0644, 1, head);

    assert_int_equal(n, CRATE_HEAD_SIZE + 1);
    head[0] = (uint8_t)len;
    crate_bytes(head, CRATE_HEAD_SIZE);
    crate_bytes(path, len);
    crate_bytes("x", 1);
}

static struct msg_put put_begin(struct box *box, const char *dir)
{
    struct msg_put put = { .seq = box->seq++, .channel = box_stream_open(box), .dir = dir };

    box_send(box, MSG_PUT, &put);
    return put;
}

/* Sends the crate as it is and empties it; the errno of the answer. */
static int put_raw(struct box *box, const char *dir)
{
    struct msg_put put = put_begin(box, dir);
    size_t at = 0;

    do {
        size_t n = crate.len - at < 30011 ? crate.len - at : 30011;

        box_send_data(box, put.channel, crate.bytes + at, n, at + n == crate.len);
        at += n;
    } while (at < crate.len);
    crate.len = 0;
    return box_answer(box, put.seq);
}

static int put_crate(struct box *box, const char *dir)
{
    uint8_t head[CRATE_HEAD_SIZE + CRATE_PATH_MAX];
    int n = crate_head_put("", 0, 0, head);

    crate_bytes(head, (size_t)n);
    return put_raw(box, dir);
}

/* ---- looking -------------------------------------------------------------------------------- */

static const char *in_dir(const struct box *box, const char *name)
{
    static char path[4][256];
    static unsigned turn;
    char *at = path[turn++ % 4];

    snprintf(at, sizeof(path[0]), "%s/%s", box->dir, name);
    return at;
}

static void has_file(const struct box *box, const char *name, unsigned mode, const char *text)
{
    char content[4096];
    struct stat st;

    assert_int_equal(lstat(in_dir(box, name), &st), 0);
    assert_int_equal(st.st_mode, S_IFREG | mode);
    assert_int_equal(st.st_uid, BOX_HOST_BASE + BOX_UID);
    assert_int_equal(st.st_gid, BOX_HOST_BASE + BOX_UID);
    assert_true(fd_read_text(AT_FDCWD, in_dir(box, name), content, sizeof(content)) >= 0);
    assert_string_equal(content, text);
}

static size_t n_entries(const char *path)
{
    struct dirent *entry;
    size_t n = 0;
    DIR *dir = opendir(path);

    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL)
        n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(dir);
    return n;
}

static void make_file(const struct box *box, const char *name, const char *text)
{
    int fd = open(in_dir(box, name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(fd_write_full(fd, text, strlen(text)), 0);
    assert_int_equal(fchown(fd, BOX_HOST_BASE + BOX_UID, BOX_HOST_BASE + BOX_UID), 0);
    close(fd);
}

static void make_dir(const struct box *box, const char *name)
{
    assert_int_equal(mkdir(in_dir(box, name), 0755), 0);
    assert_int_equal(chown(in_dir(box, name), BOX_HOST_BASE + BOX_UID, BOX_HOST_BASE + BOX_UID), 0);
}

/* ---- getting -------------------------------------------------------------------------------- */

struct got {
    size_t n;
    bool is_complete;
    uint64_t passed_over;
    struct {
        char path[CRATE_PATH_MAX + 1];
        enum crate_kind kind;
        uint16_t mode;
        uint64_t size;
        uint64_t hash;
    } files[16];
};

static int got_item(void *user, const struct crate_item *item)
{
    struct got *got = user;

    assert_true(got->n < N_ELEMENTS(got->files));
    snprintf(got->files[got->n].path, sizeof(got->files[0].path), "%s", item->path);
    got->files[got->n].kind = item->kind;
    got->files[got->n].mode = item->mode;
    got->files[got->n].size = item->size;
    got->files[got->n].hash = 0;
    return 0;
}

static int got_data(void *user, const uint8_t *bytes, size_t len)
{
    struct got *got = user;

    got->files[got->n].hash = box_hash(got->files[got->n].hash, bytes, len);
    return 0;
}

static int got_done(void *user)
{
    struct got *got = user;

    got->n++;
    return 0;
}

static const struct crate_ops got_ops = { .item = got_item, .data = got_data, .done = got_done };

static struct msg_get get_begin(struct box *box, const char *path, uint32_t flags)
{
    return (struct msg_get){
        .seq = box->seq++,
        .channel = box_stream_open(box),
        .flags = flags,
        .max_files = MANY_FILES,
        .max_bytes = MANY_BYTES,
        .dir = box->dir,
        .path = path,
    };
}

/* The errno of the answer; what came is read as far as it was kept. */
static int get_end(struct box *box, const struct msg_get *get, struct got *got)
{
    static struct crate_reader reader;
    struct box_stream *stream = box_stream(box, get->channel);
    struct crate_caps caps = {
        .files = UINT64_MAX,
        .bytes = UINT64_MAX,
        .has_all_kinds = get->flags & GET_FLAG_KINDS,
    };
    int r;

    memset(got, 0, sizeof(*got));
    box_send(box, MSG_GET, get);
    r = box_answer(box, get->seq);
    assert_true(stream->has_fin); /* the answer comes last */
    crate_reader_init(&reader, &got_ops, got, caps, get->flags & GET_FLAG_LIST);
    assert_int_equal(crate_reader_feed(&reader, (uint8_t *)stream->bytes, stream->len), 0);
    got->is_complete = crate_reader_is_complete(&reader);
    got->passed_over = reader.passed_over;
    if (r == 0)
        assert_true(got->is_complete);
    return r;
}

static int get(struct box *box, const char *path, uint32_t flags, struct got *got)
{
    struct msg_get msg = get_begin(box, path, flags);

    return get_end(box, &msg, got);
}

static int find(const struct got *got, const char *path)
{
    for (size_t i = 0; i < got->n; i++)
        if (strcmp(got->files[i].path, path) == 0)
            return (int)i;
    return -1;
}

/* ---- in: the plain way ---------------------------------------------------------------------- */

static void files_arrive_with_their_modes_and_directories(void **state)
{
    struct box *box = box_up();

    (void)state;
    crate_file("main.py", 0644, "print(1)\n");
    crate_file("run.sh", 0755, "#!/bin/sh\n");
    crate_file("a/b/c/deep", 0600, "deep");
    crate_file("a/b/other", 0444, "");
    crate_file("main.py", 0640, "again");
    assert_int_equal(put_crate(box, box->dir), 0);
    has_file(box, "main.py", 0640, "again");
    has_file(box, "run.sh", 0755, "#!/bin/sh\n");
    has_file(box, "a/b/c/deep", 0600, "deep");
    has_file(box, "a/b/other", 0444, "");
    assert_int_equal(n_entries(box->dir), 3);
    box_down(box);
}

static void crate_kind(enum crate_kind kind, const char *path, unsigned mode, const char *text)
{
    uint8_t head[CRATE_HEAD_SIZE + CRATE_PATH_MAX];
    int n = crate_kind_put(kind, path, mode, strlen(text), head);

    assert_true(n > 0);
    crate_bytes(head, (size_t)n);
    crate_bytes(text, strlen(text));
}

static void links_and_directories_arrive_as_they_are(void **state)
{
    struct box *box = box_up();
    char target[64] = "";
    struct stat st;

    (void)state;
    make_file(box, "in-the-way", "x");
    crate_kind(CRATE_LINK, "a/soft", 0777, "../../../etc/passwd");
    crate_kind(CRATE_LINK, "in-the-way", 0777, "a");
    crate_file("a/plain", 0600, "y");
    crate_kind(CRATE_DIR, "a/empty", 0711, "");
    crate_kind(CRATE_DIR, "a", 0550, "");
    assert_int_equal(put_crate(box, box->dir), 0);
    assert_int_equal(readlink(in_dir(box, "a/soft"), target, sizeof(target)), 19);
    assert_string_equal(target, "../../../etc/passwd");
    assert_int_equal(lstat(in_dir(box, "in-the-way"), &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    has_file(box, "a/plain", 0600, "y");
    assert_int_equal(lstat(in_dir(box, "a/empty"), &st), 0);
    assert_int_equal(st.st_mode, S_IFDIR | 0711);
    assert_int_equal(lstat(in_dir(box, "a"), &st), 0);
    assert_int_equal(st.st_mode, S_IFDIR | 0550);
    assert_int_equal(n_entries(in_dir(box, "a")), 3);
    box_down(box);
}

static void nothing_goes_through_a_link_of_the_same_crate(void **state)
{
    struct box *box = box_up();

    (void)state;
    make_dir(box, "target");
    crate_kind(CRATE_LINK, "soft", 0777, "target");
    crate_file("soft/x", 0644, "x");
    assert_int_equal(put_crate(box, box->dir), ELOOP);
    crate_kind(CRATE_LINK, "soft", 0777, "target");
    crate_kind(CRATE_DIR, "soft", 0700, "");
    assert_int_equal(put_crate(box, box->dir), ELOOP);
    assert_int_equal(n_entries(in_dir(box, "target")), 0);
    assert_int_equal(n_entries(box->dir), 2);
    box_down(box);
}

static void an_empty_crate_is_fine(void **state)
{
    struct box *box = box_up();

    (void)state;
    assert_int_equal(put_crate(box, box->dir), 0);
    assert_true(box->ok.value > 0);
    assert_int_equal(n_entries(box->dir), 0);
    box_down(box);
}

static void a_program_that_is_running_is_replaced(void **state)
{
    struct box *box = box_up();
    struct box_run run = box_sh(box, "cp /bin/cat tool; exec ./tool", "io");
    struct box_stream *out = box_stream(box, run.out);

    (void)state;
    box_send_data(box, run.in, "up", 2, false);
    box_wait(box, out->len == 2);
    crate_file("tool", 0755, "#!/bin/sh\necho new\n");
    assert_int_equal(put_crate(box, box->dir), 0);
    has_file(box, "tool", 0755, "#!/bin/sh\necho new\n");
    box_send_data(box, run.in, "", 0, true);
    assert_int_equal(box_exit(box, &run), 0);
    box_down(box);
}

/* ---- in: traps ------------------------------------------------------------------------------ */

static void a_planted_link_or_fifo_is_replaced_not_followed(void **state)
{
    struct box *box = box_up();

    (void)state;
    make_file(box, "victim", "untouched");
    assert_int_equal(symlink("victim", in_dir(box, "soft")), 0);
    assert_int_equal(link(in_dir(box, "victim"), in_dir(box, "hard")), 0);
    assert_int_equal(symlink("nowhere", in_dir(box, "dangling")), 0);
    assert_int_equal(mkfifo(in_dir(box, "fifo"), 0666), 0);
    crate_file("soft", 0644, "new");
    crate_file("hard", 0644, "new");
    crate_file("dangling", 0644, "new");
    crate_file("fifo", 0644, "new");
    assert_int_equal(put_crate(box, box->dir), 0);
    has_file(box, "victim", 0644, "untouched");
    has_file(box, "soft", 0644, "new");
    has_file(box, "hard", 0644, "new");
    has_file(box, "dangling", 0644, "new");
    has_file(box, "fifo", 0644, "new");
    assert_int_equal(access(in_dir(box, "nowhere"), F_OK), -1);
    box_down(box);
}

static void a_planted_link_on_the_way_is_refused(void **state)
{
    static const char *const targets[] = { "real", "/", "..", "/proc/self/cwd", "/proc/1/root" };
    struct box *box = box_up();

    (void)state;
    make_dir(box, "real");
    for (size_t i = 0; i < N_ELEMENTS(targets); i++) {
        assert_int_equal(symlink(targets[i], in_dir(box, "way")), 0);
        crate_file("way/file", 0644, "x");
        assert_int_equal(put_crate(box, box->dir), ELOOP);
        assert_int_equal(box->error.step, GLOVE_STEP_FILE);
        crate_file("way/further/file", 0644, "x");
        assert_int_equal(put_crate(box, box->dir), ELOOP);
        assert_int_equal(unlink(in_dir(box, "way")), 0);
    }
    assert_int_equal(n_entries(in_dir(box, "real")), 0);
    assert_int_equal(n_entries(box->dir), 1);
    box_down(box);
}

static void a_directory_in_the_way_is_an_error(void **state)
{
    struct box *box = box_up();

    (void)state;
    make_dir(box, "d");
    make_file(box, "f", "");
    crate_file("d", 0644, "x");
    assert_int_equal(put_crate(box, box->dir), EISDIR);
    crate_file("f/x", 0644, "x");
    assert_int_equal(put_crate(box, box->dir), ENOTDIR);
    assert_int_equal(n_entries(box->dir), 2);
    box_down(box);
}

static void hostile_crates_are_refused(void **state)
{
    static const char *const paths[] = { "../x", "/x", "a/../x", "./x", "a//b", "a/", ".." };
    struct box *box = box_up();

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(paths); i++) {
        crate_evil(paths[i]);
        assert_int_equal(put_crate(box, box->dir), EPROTO);
        assert_int_equal(box->error.step, GLOVE_STEP_CRATE);
    }
    crate_file("x", 0644, "cut");
    crate.len--;
    assert_int_equal(put_raw(box, box->dir), EPROTO);
    crate_file("x", 0644, "no end mark");
    assert_int_equal(put_raw(box, box->dir), EPROTO);
    crate_bytes("\0\0\0\0\0\0\0\0\0\0\0\0more", 16);
    assert_int_equal(put_raw(box, box->dir), EPROTO);
    assert_int_equal(put_raw(box, box->dir), EPROTO); /* nothing at all */
    has_file(box, "x", 0644, "no end mark");          /* it was complete */
    assert_int_equal(n_entries(box->dir), 1);
    box_down(box);
}

static void files_go_where_the_run_user_may_write(void **state)
{
    struct box *box = box_up();

    (void)state;
    crate_file("x", 0644, "x");
    assert_int_equal(put_crate(box, "/etc"), EACCES);
    crate_file("x", 0644, "x");
    assert_int_equal(put_crate(box, "/tmp"), EACCES); /* Landlock */
    crate_file("x", 0644, "x");
    assert_int_equal(put_crate(box, "/root"), EACCES);
    crate_file("x", 0644, "x");
    assert_int_equal(put_crate(box, "/no/such"), ENOENT);
    box_down(box);
}

static void a_file_over_the_size_limit_is_an_error(void **state)
{
    struct box *box = box_up();
    struct msg_limits limits = {
        .seq = box->seq++, .fsize = 3, .nofile_soft = 64, .nofile_hard = 64
    };

    (void)state;
    box_send(box, MSG_LIMITS, &limits);
    assert_int_equal(box_answer(box, limits.seq), 0);
    crate_file("x", 0644, "four");
    assert_int_equal(put_crate(box, box->dir), EFBIG);
    assert_int_equal(n_entries(box->dir), 0);
    box_down(box);
}

static void killing_everything_cancels_a_put(void **state)
{
    struct box *box = box_up();
    struct msg_put put = put_begin(box, box->dir);
    struct msg_kill kill = { .seq = box->seq++ };

    (void)state;
    box_send_data(box, put.channel, "\1\0", 2, false);
    box_send(box, MSG_KILL, &kill);
    assert_int_equal(box_answer(box, put.seq), ECANCELED);
    assert_int_equal(box_answer(box, kill.seq), 0);
    box_send_data(box, put.channel, "\1\0", 2, true);
    box_ping(box);
    box_down(box);
}

/* ---- out ------------------------------------------------------------------------------------ */

static void a_tree_comes_out_as_it_went_in(void **state)
{
    struct box *box = box_up();
    struct got got;
    int i;

    (void)state;
    crate_file("main.py", 0644, "print(1)\n");
    crate_file("a/b/c/deep", 0600, "deep");
    crate_file("a/empty", 0444, "");
    assert_int_equal(put_crate(box, box->dir), 0);
    assert_int_equal(get(box, "", 0, &got), 0);
    assert_int_equal(box->ok.value, 3);
    assert_int_equal(got.n, 3);
    i = find(&got, "a/b/c/deep");
    assert_true(i >= 0);
    assert_int_equal(got.files[i].mode, 0600);
    assert_int_equal(got.files[i].size, 4);
    assert_true(got.files[i].hash == box_hash(0, "deep", 4));
    i = find(&got, "a/empty");
    assert_true(i >= 0);
    assert_int_equal(got.files[i].mode, 0444);
    assert_true(find(&got, "main.py") >= 0);
    box_down(box);
}

static void only_regular_readable_files_come_out(void **state)
{
    struct sockaddr_un name = { .sun_family = AF_UNIX };
    struct box *box = box_up();
    int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct got got;

    (void)state;
    make_file(box, "plain", "x");
    make_file(box, "line\nbreak \xff\x1b[2J", "x");
    make_file(box, "secret", "x");
    assert_int_equal(chmod(in_dir(box, "secret"), 0), 0);
    make_dir(box, "closed");
    assert_int_equal(chmod(in_dir(box, "closed"), 0), 0);
    assert_int_equal(symlink("/etc/passwd", in_dir(box, "soft")), 0);
    assert_int_equal(symlink("/etc", in_dir(box, "softdir")), 0);
    assert_int_equal(symlink(".", in_dir(box, "loop")), 0);
    assert_int_equal(mkfifo(in_dir(box, "fifo"), 0666), 0);
    assert_int_equal(mknod(in_dir(box, "null"), S_IFCHR | 0666, 0x103), 0);
    memcpy(name.sun_path, in_dir(box, "sock"), strlen(in_dir(box, "sock")) + 1);
    assert_int_equal(bind(sock, (struct sockaddr *)&name, sizeof(name)), 0);
    close(sock);
    assert_int_equal(get(box, "", 0, &got), 0);
    assert_int_equal(got.n, 2);
    assert_true(find(&got, "plain") >= 0);
    assert_true(find(&got, "line\nbreak \xff\x1b[2J") >= 0);
    /* A listing needs no reading. */
    assert_int_equal(get(box, "", GET_FLAG_LIST, &got), 0);
    assert_int_equal(got.n, 3);
    box_down(box);
}

static void got_is(const struct got *got, const char *path, enum crate_kind kind, unsigned mode,
                   const char *contents)
{
    int i = find(got, path);

    assert_true(i >= 0);
    assert_int_equal(got->files[i].kind, kind);
    assert_int_equal(got->files[i].mode, mode);
    assert_int_equal(got->files[i].size, strlen(contents));
    assert_true(got->files[i].hash == (contents[0] ? box_hash(0, contents, strlen(contents)) : 0));
}

static void links_and_directories_come_out_where_they_are_asked_for(void **state)
{
    struct box *box = box_up();
    struct got got;

    (void)state;
    make_dir(box, "d");
    make_dir(box, "d/empty");
    make_file(box, "d/plain", "x");
    assert_int_equal(chmod(in_dir(box, "d"), 0550), 0);
    assert_int_equal(symlink("/etc/passwd", in_dir(box, "soft")), 0);
    assert_int_equal(symlink("nowhere/at/all", in_dir(box, "broken")), 0);
    assert_int_equal(symlink("d", in_dir(box, "softdir")), 0);
    assert_int_equal(mkfifo(in_dir(box, "fifo"), 0666), 0);
    make_dir(box, "closed");
    assert_int_equal(chmod(in_dir(box, "closed"), 0), 0);
    assert_int_equal(get(box, "", GET_FLAG_KINDS, &got), 0);
    assert_int_equal(got.n, 6);
    assert_int_equal(got.passed_over, 2);
    got_is(&got, "soft", CRATE_LINK, 0777, "/etc/passwd");
    got_is(&got, "broken", CRATE_LINK, 0777, "nowhere/at/all");
    got_is(&got, "softdir", CRATE_LINK, 0777, "d");
    got_is(&got, "d/plain", CRATE_FILE, 0644, "x");
    got_is(&got, "d/empty", CRATE_DIR, 0755, "");
    got_is(&got, "d", CRATE_DIR, 0550, "");
    assert_true(find(&got, "d") > find(&got, "d/plain") && find(&got, "d") > find(&got, "d/empty"));
    assert_int_equal(get(box, "", GET_FLAG_KINDS | GET_FLAG_LIST, &got), EINVAL);
    assert_int_equal(get(box, "", GET_FLAG_KINDS | GET_FLAG_CHANGED, &got), EINVAL);
    box_down(box);
}

static void one_file_comes_out_by_its_path(void **state)
{
    struct box *box = box_up();
    struct got got;

    (void)state;
    make_dir(box, "d");
    make_file(box, "d/f", "text");
    assert_int_equal(symlink("d", in_dir(box, "way")), 0);
    assert_int_equal(symlink("/etc/passwd", in_dir(box, "soft")), 0);
    assert_int_equal(mkfifo(in_dir(box, "fifo"), 0666), 0);
    assert_int_equal(get(box, "d/f", 0, &got), 0);
    assert_int_equal(got.n, 1);
    assert_string_equal(got.files[0].path, "d/f");
    assert_true(got.files[0].hash == box_hash(0, "text", 4));
    assert_int_equal(get(box, "no", 0, &got), ENOENT);
    assert_int_equal(get(box, "no/f", 0, &got), ENOENT);
    assert_int_equal(get(box, "way/f", 0, &got), ELOOP);
    assert_int_equal(get(box, "soft", 0, &got), ELOOP);
    assert_int_equal(get(box, "fifo", 0, &got), ENXIO);
    assert_int_equal(get(box, "d", 0, &got), EISDIR);
    assert_int_equal(get(box, "../x", 0, &got), EINVAL);
    assert_int_equal(get(box, "/etc/passwd", 0, &got), EINVAL);
    box_down(box);
}

static void caps_are_kept(void **state)
{
    struct box *box = box_up();
    struct msg_get msg;
    struct got got;

    (void)state;
    make_file(box, "a", "12345");
    make_file(box, "b", "12345");
    msg = get_begin(box, "", 0);
    msg.max_files = 1;
    assert_int_equal(get_end(box, &msg, &got), EFBIG);
    assert_false(got.is_complete);
    msg = get_begin(box, "", 0);
    msg.max_bytes = 9;
    assert_int_equal(get_end(box, &msg, &got), EFBIG);
    msg = get_begin(box, "", 0);
    msg.max_bytes = 10;
    msg.max_files = 2;
    assert_int_equal(get_end(box, &msg, &got), 0);
    /* A sparse file is as large as it says. */
    assert_int_equal(truncate(in_dir(box, "a"), 1ll << 40), 0);
    assert_int_equal(get(box, "", 0, &got), EFBIG);
    assert_int_equal(get(box, "", GET_FLAG_LIST, &got), 0);
    assert_int_equal(got.files[find(&got, "a")].size, 1ull << 40);
    box_down(box);
}

static void only_what_changed_since_the_put_comes_out(void **state)
{
    struct box *box = box_up();
    struct box_run run;
    struct msg_get msg;
    struct got got;
    uint64_t mark;

    (void)state;
    crate_file("same", 0644, "same");
    crate_file("edited", 0644, "before");
    assert_int_equal(put_crate(box, box->dir), 0);
    mark = box->ok.value;
    run = box_sh(box, "echo after >>edited; echo new >new; touch -d 2001-01-01 old", "");
    assert_int_equal(box_exit(box, &run), 0);
    msg = get_begin(box, "", GET_FLAG_CHANGED);
    msg.since = mark;
    assert_int_equal(get_end(box, &msg, &got), 0);
    assert_true(find(&got, "edited") >= 0);
    assert_true(find(&got, "new") >= 0);
    assert_true(find(&got, "old") >= 0); /* a program sets mtime, not ctime */
    msg = get_begin(box, "", GET_FLAG_CHANGED | GET_FLAG_LIST);
    msg.since = UINT64_MAX;
    assert_int_equal(get_end(box, &msg, &got), 0);
    assert_int_equal(got.n, 0);
    box_down(box);
}

static void a_tree_too_deep_is_an_error(void **state)
{
    struct box *box = box_up();
    struct box_run run;
    struct got got;

    (void)state;
    run = box_sh(box,
                 "i=0; while [ $i -lt 63 ]; do mkdir d && cd d || exit 1; i=$((i+1)); done;"
                 " echo x >f",
                 "");
    assert_int_equal(box_exit(box, &run), 0);
    assert_int_equal(get(box, "", GET_FLAG_LIST, &got), 0);
    assert_int_equal(got.n, 1);
    run = box_sh(box, "while cd d 2>/dev/null; do :; done; mkdir d", "");
    assert_int_equal(box_exit(box, &run), 0);
    assert_int_equal(get(box, "", GET_FLAG_LIST, &got), ENAMETOOLONG);
    box_down(box);
}

/* The pipe and the credit hold less than the file: the porter waits in the middle of it. */
static void a_file_that_shrinks_on_the_way_is_an_error(void **state)
{
    struct box *box = box_up();
    struct msg_get msg = get_begin(box, "big", 0);
    struct box_stream *stream = box_stream(box, msg.channel);

    (void)state;
    make_file(box, "big", "");
    assert_int_equal(truncate(in_dir(box, "big"), 8 << 20), 0);
    box->may_credit = false;
    box_send(box, MSG_GET, &msg);
    box_wait(box, stream->total == WIRE_CREDIT_START);
    assert_int_equal(truncate(in_dir(box, "big"), 0), 0);
    box->may_credit = true;
    box_credit(box, msg.channel, WIRE_CREDIT_START);
    assert_int_equal(box_answer(box, msg.seq), EAGAIN);
    assert_true(stream->has_fin);
    assert_true(stream->total < 8 << 20);
    box_down(box);
}

static void a_large_file_comes_out_whole(void **state)
{
    struct box *box = box_up();
    struct box_run run = box_sh(box, "head -c 5000000 /dev/zero >big", "");
    struct msg_get msg;
    struct box_stream *stream;

    (void)state;
    assert_int_equal(box_exit(box, &run), 0);
    msg = get_begin(box, "", 0);
    stream = box_stream(box, msg.channel);
    box_send(box, MSG_GET, &msg);
    assert_int_equal(box_answer(box, msg.seq), 0);
    assert_int_equal(stream->total, CRATE_HEAD_SIZE + 3 + 5000000 + CRATE_HEAD_SIZE);
    box_down(box);
}

static void wrong_requests_are_answered(void **state)
{
    struct box *box = box_up();
    struct msg_get msg = get_begin(box, "", 1u << 31);
    struct got got;

    (void)state;
    assert_int_equal(get_end(box, &msg, &got), EINVAL);
    assert_int_equal(box->error.step, GLOVE_STEP_REQUEST);
    msg = get_begin(box, "", 0);
    msg.dir = "/no/such";
    assert_int_equal(get_end(box, &msg, &got), ENOENT);
    msg = get_begin(box, "shadow", 0);
    msg.dir = "/etc";
    assert_int_equal(get_end(box, &msg, &got), EACCES);
    msg = get_begin(box, "environ", 0);
    msg.dir = "/proc/1";
    assert_int_not_equal(get_end(box, &msg, &got), 0);
    box_down(box);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_arrive_with_their_modes_and_directories),
        cmocka_unit_test(links_and_directories_arrive_as_they_are),
        cmocka_unit_test(nothing_goes_through_a_link_of_the_same_crate),
        cmocka_unit_test(an_empty_crate_is_fine),
        cmocka_unit_test(a_program_that_is_running_is_replaced),
        cmocka_unit_test(a_planted_link_or_fifo_is_replaced_not_followed),
        cmocka_unit_test(a_planted_link_on_the_way_is_refused),
        cmocka_unit_test(a_directory_in_the_way_is_an_error),
        cmocka_unit_test(hostile_crates_are_refused),
        cmocka_unit_test(files_go_where_the_run_user_may_write),
        cmocka_unit_test(a_file_over_the_size_limit_is_an_error),
        cmocka_unit_test(killing_everything_cancels_a_put),
        cmocka_unit_test(a_tree_comes_out_as_it_went_in),
        cmocka_unit_test(only_regular_readable_files_come_out),
        cmocka_unit_test(links_and_directories_come_out_where_they_are_asked_for),
        cmocka_unit_test(one_file_comes_out_by_its_path),
        cmocka_unit_test(caps_are_kept),
        cmocka_unit_test(only_what_changed_since_the_put_comes_out),
        cmocka_unit_test(a_tree_too_deep_is_an_error),
        cmocka_unit_test(a_file_that_shrinks_on_the_way_is_an_error),
        cmocka_unit_test(a_large_file_comes_out_whole),
        cmocka_unit_test(wrong_requests_are_answered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
