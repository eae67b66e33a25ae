/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/glove_box.h - a glove to talk to, for the tests of the glove.
 *
 * The glove's own code runs in a child that is PID 1 of a pid namespace, box root of a user
 * namespace and in a mount namespace with its own /proc: all that it can ask for, with this
 * machine's files around it.  The test is the host and speaks frames over a socketpair.  Ids of the
 * box are ids that nobody has outside.  Every wait has a deadline; a test never sleeps.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "glove/glove.h"
#include "wire/frame.h"
#include "wire/msg.h"

#include <cmocka.h>

#define BOX_PATIENCE_MS 20000
#define BOX_UID         1000
#define BOX_HOST_BASE   740000 /* id n of the box is this + n outside */

#define BOX_SEQ_FIRST 100

/* What one channel has brought, as far as it is kept. */
struct box_stream {
    uint32_t number;
    size_t len;
    uint64_t total;
    uint64_t hash; /* of all bytes */
    bool has_fin;
    char bytes[1 << 16];
};

struct box {
    pid_t pid;
    int fd;
    char dir[64]; /* writable for the run user */
    uint32_t seq;
    uint32_t channel;
    bool may_credit; /* give credit back as data comes */
    struct wire_reader reader;
    struct box_stream streams[16];
    struct msg_ok ok;
    struct msg_error error;
    struct msg_exit exit;
    struct msg_hello hello;
    struct msg_dialled dialled;
    struct msg_hung_up hung_up;
    uint64_t credit;      /* what the glove has given, all channels together */
    uint32_t exits[2048]; /* exit code or 1000 + signal by seq - BOX_SEQ_FIRST, ~0 for none */
};

/* ---- the child ------------------------------------------------------------------------------ */

/* As the spawner leaves it: some of /proc is covered, some is read-only. */
static inline bool box_mount_proc(void)
{
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0 &&
           mount("tmpfs", "/proc/bus", "tmpfs", MS_RDONLY, "mode=0555") == 0 &&
           mount("/dev/null", "/proc/kallsyms", NULL, MS_BIND, NULL) == 0 &&
           mount("/proc/sys", "/proc/sys", NULL, MS_BIND, NULL) == 0 &&
           mount(NULL, "/proc/sys", NULL,
                 MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0;
}

/* As a careless starter may leave it; the C library would not touch two of them. */
static inline void box_ignore_signals(void)
{
    const uint64_t ignore[4] = { (uint64_t)(uintptr_t)SIG_IGN };

    for (int signo = 1; signo < NSIG; signo++)
        (void)syscall(SYS_rt_sigaction, signo, ignore, NULL, sizeof(uint64_t));
}

static inline void box_child(int fd, int go_fd)
{
    static struct glove glove;
    struct glove_config config = { .link_in = fd, .link_out = fd };
    char byte;

    if (fd_read_full(go_fd, &byte, 1) != 1 || setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0)
        _exit(98);
    if (!box_mount_proc())
        _exit(97);
    box_ignore_signals();
    _exit(glove_main(&glove, &config));
}

static inline void box_write_map(pid_t pid, const char *file)
{
    char path[64];
    char map[128];

    snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
    snprintf(map, sizeof(map), "0 %d 1\n%d %d 1\n", BOX_HOST_BASE, BOX_UID,
             BOX_HOST_BASE + BOX_UID);
    assert_int_equal(fd_write_text(AT_FDCWD, path, map), 0);
}

/* A box whose glove has not been greeted. */
static inline struct box *box_new(void)
{
    struct box *box = calloc(1, sizeof(*box));
    int link[2];
    int go[2];

    assert_non_null(box);
    if (geteuid() != 0)
        skip();
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, link), 0);
    assert_int_equal(pipe2(go, O_CLOEXEC), 0);
    snprintf(box->dir, sizeof(box->dir), "/tmp/glove-test-XXXXXX");
    assert_non_null(mkdtemp(box->dir));
    assert_int_equal(chown(box->dir, BOX_HOST_BASE + BOX_UID, BOX_HOST_BASE + BOX_UID), 0);
    assert_int_equal(chmod(box->dir, 0755), 0);
    box->pid =
        (pid_t)syscall(SYS_clone, SIGCHLD | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS, 0, 0, 0, 0);
    assert_true(box->pid >= 0);
    if (box->pid == 0)
        box_child(link[1], go[0]);
    close(link[1]);
    close(go[0]);
    box_write_map(box->pid, "uid_map");
    box_write_map(box->pid, "gid_map");
    assert_int_equal(write(go[1], "g", 1), 1);
    close(go[1]);
    box->fd = link[0];
    box->seq = BOX_SEQ_FIRST;
    box->may_credit = true;
    memset(box->exits, 0xff, sizeof(box->exits));
    wire_reader_init(&box->reader);
    return box;
}

/* ---- frames --------------------------------------------------------------------------------- */

static inline void box_send_bytes(struct box *box, const void *bytes, size_t len)
{
    assert_int_equal(fd_write_full(box->fd, bytes, len), 0);
}

static inline void box_send_on(struct box *box, uint8_t type, uint32_t channel, uint8_t flags,
                               const void *msg)
{
    static uint8_t frame[WIRE_FRAME_MAX];
    int n = msg_encode(type, channel, flags, msg, frame, sizeof(frame));

    assert_true(n > 0);
    box_send_bytes(box, frame, (size_t)n);
}

static inline void box_send(struct box *box, uint8_t type, const void *msg)
{
    box_send_on(box, type, 0, 0, msg);
}

static inline void box_send_data(struct box *box, uint32_t channel, const void *bytes, size_t len,
                                 bool is_last)
{
    struct msg_data data = { .bytes = { .size = (uint32_t)len, .bytes = bytes } };

    box_send_on(box, MSG_DATA, channel, is_last ? WIRE_FLAG_FIN : 0, &data);
}

static inline struct box_stream *box_stream(struct box *box, uint32_t number)
{
    struct box_stream *stream = &box->streams[number / 2 % N_ELEMENTS(box->streams)];

    assert_int_equal(stream->number, number);
    return stream;
}

/* The newest channels are kept. */
static inline uint32_t box_stream_open(struct box *box)
{
    struct box_stream *stream;

    box->channel += 2;
    stream = &box->streams[box->channel / 2 % N_ELEMENTS(box->streams)];
    memset(stream, 0, sizeof(*stream));
    stream->number = box->channel;
    return box->channel;
}

static inline void box_credit(struct box *box, uint32_t channel, uint32_t bytes)
{
    struct msg_credit credit = { .bytes = bytes };

    box_send_on(box, MSG_CREDIT, channel, 0, &credit);
}

static inline uint64_t box_hash(uint64_t hash, const void *bytes, size_t len)
{
    const uint8_t *at = bytes;

    for (size_t i = 0; i < len; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u;
    return hash;
}

static inline void box_take_data(struct box *box, const struct wire_head *head,
                                 const uint8_t *payload)
{
    struct box_stream *stream = box_stream(box, head->channel);
    size_t room = sizeof(stream->bytes) - 1 - stream->len;
    size_t n = head->size < room ? head->size : room;

    assert_false(stream->has_fin);
    memcpy(stream->bytes + stream->len, payload, n);
    stream->len += n;
    stream->bytes[stream->len] = '\0';
    stream->total += head->size;
    stream->hash = box_hash(stream->hash, payload, head->size);
    stream->has_fin = head->flags & WIRE_FLAG_FIN;
    if (box->may_credit && !stream->has_fin && head->size > 0) {
        box_credit(box, head->channel, head->size);
    }
}

static inline void box_take(struct box *box, const struct wire_head *head, const uint8_t *payload)
{
    struct msg_credit credit;

    assert_true(msg_direction(head->type) & GLOVE_OUT);
    switch (head->type) {
    case MSG_HELLO:
        assert_int_equal(msg_decode(head->type, payload, head->size, &box->hello), 0);
        break;
    case MSG_DATA:
        box_take_data(box, head, payload);
        break;
    case MSG_CREDIT:
        assert_int_equal(msg_decode(head->type, payload, head->size, &credit), 0);
        box->credit += credit.bytes;
        break;
    case MSG_OK:
        assert_int_equal(msg_decode(head->type, payload, head->size, &box->ok), 0);
        break;
    case MSG_ERROR:
        assert_int_equal(msg_decode(head->type, payload, head->size, &box->error), 0);
        break;
    case MSG_EXIT:
        assert_int_equal(msg_decode(head->type, payload, head->size, &box->exit), 0);
        box->exits[(box->exit.run - BOX_SEQ_FIRST) % N_ELEMENTS(box->exits)] =
            box->exit.signo ? 1000 + box->exit.signo : box->exit.code;
        break;
    case MSG_DIALLED:
        assert_int_equal(msg_decode(head->type, payload, head->size, &box->dialled), 0);
        break;
    case MSG_HUNG_UP:
        assert_int_equal(msg_decode(head->type, payload, head->size, &box->hung_up), 0);
        break;
    default:
        fail_msg("unexpected frame %u", head->type);
    }
}

/* Takes one more frame; 0 at the end of the link. */
static inline int box_next(struct box *box)
{
    uint64_t deadline = clock_after_ms(BOX_PATIENCE_MS);
    struct wire_head head;
    const uint8_t *payload;

    for (;;) {
        struct pollfd p = { .fd = box->fd, .events = POLLIN };
        size_t room;
        uint8_t *at;
        ssize_t n;
        int r = wire_reader_next(&box->reader, &head, &payload);

        assert_true(r >= 0);
        if (r > 0) {
            box_take(box, &head, payload);
            return head.type;
        }
        if (poll(&p, 1, clock_poll_ms(deadline)) <= 0)
            fail_msg("the glove says nothing");
        at = wire_reader_room(&box->reader, &room);
        n = read(box->fd, at, room);
        if (n <= 0)
            return 0;
        wire_reader_fed(&box->reader, (size_t)n);
    }
}

/* Waits until the condition holds; frames may come meanwhile. */
#define box_wait(box, condition) \
    while (!(condition))         \
    assert_int_not_equal(box_next(box), 0)

/* 0 for OK, else the errno. */
static inline int box_answer(struct box *box, uint32_t seq)
{
    box_wait(box, box->ok.seq == seq || box->error.seq == seq);
    return box->ok.seq == seq ? 0 : (int)box->error.error;
}

/* The glove is alive and has seen all that was sent before. */
static inline void box_ping(struct box *box)
{
    struct msg_ping ping = { .seq = box->seq++ };

    box_send(box, MSG_PING, &ping);
    assert_int_equal(box_answer(box, ping.seq), 0);
}

/* ---- life ----------------------------------------------------------------------------------- */

static inline void box_greet(struct box *box)
{
    struct msg_hello hello = { .magic = WIRE_MAGIC, .version = WIRE_VERSION, .nonce = 42 };

    box_send(box, MSG_HELLO, &hello);
    box_wait(box, box->hello.nonce == 42);
}

static inline int box_setup(struct box *box, uint32_t flags, uint32_t beat_ms)
{
    char packed[256];
    char packed_disks[256];
    const char *writable[] = { box->dir, NULL };
    struct msg_setup setup = {
        .seq = box->seq++,
        .uid = BOX_UID,
        .gid = BOX_UID,
        .flags = flags,
        .beat_ms = beat_ms,
    };

    assert_int_equal(wire_strs_pack(writable, packed, sizeof(packed), &setup.writable), 0);
    assert_int_equal(wire_strs_pack(writable, packed_disks, sizeof(packed_disks), &setup.disks), 0);
    box_send(box, MSG_SETUP, &setup);
    return box_answer(box, setup.seq);
}

static inline int box_limits(struct box *box)
{
    struct msg_limits limits = {
        .seq = box->seq++,
        .nproc = 500,
        .fsize = 1 << 30,
        .nofile_soft = 1024,
        .nofile_hard = 4096,
        .memlock = 8 << 20,
        .stack = 8 << 20,
        .sigpending = 4096,
        .msgqueue = 819200,
    };

    box_send(box, MSG_LIMITS, &limits);
    return box_answer(box, limits.seq);
}

/* A box that can run programs. */
static inline struct box *box_up(void)
{
    struct box *box = box_new();

    box_greet(box);
    assert_int_equal(box_setup(box, SETUP_FLAG_LANDLOCK | SETUP_FLAG_SECCOMP, 0), 0);
    assert_int_equal(box_limits(box), 0);
    return box;
}

static inline void box_remove_dir(const struct box *box)
{
    char *argv[] = { (char[]){ "rm" }, (char[]){ "-rf" }, (char *)(uintptr_t)box->dir, NULL };
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        execvp("rm", argv);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* The glove ends by itself; everything that it started has gone with it. */
static inline void box_expect_end(struct box *box)
{
    int status;

    while (box_next(box) != 0)
        continue;
    assert_int_equal(waitpid(box->pid, &status, 0), box->pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
    close(box->fd);
    box_remove_dir(box);
    free(box);
}

static inline void box_down(struct box *box)
{
    assert_int_equal(shutdown(box->fd, SHUT_WR), 0);
    box_expect_end(box);
}

/* ---- runs ----------------------------------------------------------------------------------- */

struct box_run {
    uint32_t seq;
    uint32_t in;
    uint32_t out;
    uint32_t err;
};

static const char *const box_env[] = { "PATH=/usr/bin:/bin", "LC_ALL=C", NULL };

/* Sends a RUN; in, out and err say which channels are opened. */
static inline struct box_run box_start(struct box *box, const char *const *argv, const char *cwd,
                                       const char *streams)
{
    static char argv_bytes[32768];
    static char env_bytes[1024];
    struct box_run run = { .seq = box->seq++ };
    struct msg_run msg = { .seq = run.seq, .cwd = cwd };

    if (strchr(streams, 'i'))
        msg.in = run.in = box_stream_open(box);
    if (strchr(streams, 'o'))
        msg.out = run.out = box_stream_open(box);
    if (strchr(streams, 'e'))
        msg.err = run.err = box_stream_open(box);
    assert_int_equal(wire_strs_pack(argv, argv_bytes, sizeof(argv_bytes), &msg.argv), 0);
    assert_int_equal(wire_strs_pack(box_env, env_bytes, sizeof(env_bytes), &msg.env), 0);
    box_send(box, MSG_RUN, &msg);
    return run;
}

static inline struct box_run box_sh(struct box *box, const char *script, const char *streams)
{
    const char *argv[] = { "sh", "-c", script, NULL };

    return box_start(box, argv, box->dir, streams);
}

/* Perl: makes the parent the tracer, and does some more. */
static inline const char *box_traceme(char script[static 256], const char *more)
{
    snprintf(script, 256, "sub traceme { syscall(%d, 0, 0, 0, 0) == 0 or exit 90 } traceme; %s",
             SYS_ptrace, more);
    return script;
}

/* Waits for EXIT: the exit code, or 1000 + signal. */
static inline uint32_t box_exit(struct box *box, const struct box_run *run)
{
    uint32_t *end = &box->exits[(run->seq - BOX_SEQ_FIRST) % N_ELEMENTS(box->exits)];

    box_wait(box, *end != UINT32_MAX);
    return *end;
}

/* Everything that came on a channel, once it has ended. */
static inline const char *box_text(struct box *box, uint32_t channel)
{
    struct box_stream *stream = box_stream(box, channel);

    box_wait(box, stream->has_fin);
    return stream->bytes;
}
