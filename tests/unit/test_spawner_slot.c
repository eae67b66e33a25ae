/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_spawner_slot.c - the lock files that own boxes, with one and with many takers. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "spawner/slot.h"

#include <cmocka.h>

#define SLOTS  8
#define TAKERS 6

static char dir_path[] = "/tmp/glovebox-slots-XXXXXX";
static int dir_fd = -1;

static int make_dir(void **state)
{
    (void)state;
    (void)snprintf(dir_path, sizeof(dir_path), "/tmp/glovebox-slots-XXXXXX");
    if (!mkdtemp(dir_path))
        return -1;
    dir_fd = open(dir_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return dir_fd < 0 ? -1 : 0;
}

static int remove_dir(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 64; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "%u", i);
        if (unlinkat(dir_fd, name, 0) < 0)
            (void)unlinkat(dir_fd, name, AT_REMOVEDIR);
    }
    close(dir_fd);
    return rmdir(dir_path);
}

static int take(uint32_t first, struct slot *slot, char *record, size_t *len)
{
    return slot_take(dir_fd, first, SLOTS, slot, record, len);
}

static void slots_are_taken_in_order_and_come_to_an_end(void **state)
{
    struct slot slots[SLOTS];
    struct slot extra;
    char record[SLOT_RECORD_MAX];
    size_t len = 1;

    (void)state;
    for (uint32_t i = 0; i < SLOTS; i++) {
        assert_int_equal(take(0, &slots[i], record, &len), 0);
        assert_int_equal(slots[i].number, i);
        assert_int_equal(len, 0);
    }
    assert_int_equal(take(3, &extra, record, &len), -EUSERS);
    slot_release(&slots[5]);
    assert_int_equal(slots[5].fd, -1);
    slot_release(&slots[5]);                            /* twice is fine */
    assert_int_equal(take(6, &extra, record, &len), 0); /* 6, 7, 0 … 5: around the end */
    assert_int_equal(extra.number, 5);
    slot_release(&extra);
    for (uint32_t i = 0; i < SLOTS; i++)
        slot_release(&slots[i]);
}

static void a_record_stays_when_its_owner_is_gone(void **state)
{
    struct slot slot;
    char record[SLOT_RECORD_MAX];
    size_t len;

    (void)state;
    assert_int_equal(take(0, &slot, record, &len), 0);
    assert_int_equal(slot_write(&slot, "a longer first record\n\n", 23), 0);
    assert_int_equal(slot_write(&slot, "second\n\n", 8), 0);
    close(slot.fd); /* died: nobody emptied it */
    assert_int_equal(slot_take(dir_fd, 0, 1, &slot, record, &len), 0);
    assert_true(len >= 8);
    assert_memory_equal(record, "second\n\n", 8); /* it ends at the empty line */
    slot_release(&slot);
    assert_int_equal(slot_take(dir_fd, 0, 1, &slot, record, &len), 0);
    assert_int_equal(record[0], '\n');
    slot_release(&slot);
}

/* What somebody put there instead of a file is an error, never followed and never waited for. */
static void a_slot_that_is_no_file_is_refused(void **state)
{
    struct slot slot;
    char record[SLOT_RECORD_MAX];
    size_t len;

    (void)state;
    assert_int_equal(symlinkat("/etc/passwd", dir_fd, "0"), 0);
    assert_int_equal(take(0, &slot, record, &len), -ELOOP);
    assert_int_equal(unlinkat(dir_fd, "0", 0), 0);
    assert_int_equal(mkdirat(dir_fd, "0", 0700), 0);
    assert_int_equal(take(0, &slot, record, &len), -EISDIR);
    assert_int_equal(unlinkat(dir_fd, "0", AT_REMOVEDIR), 0);
    assert_int_equal(mkfifoat(dir_fd, "0", 0600), 0);
    assert_true(take(0, &slot, record, &len) < 0);
}

/* A record longer than any that is written is cut, not overrun. */
static void a_giant_record_is_cut(void **state)
{
    static char giant[3 * SLOT_RECORD_MAX];
    char record[SLOT_RECORD_MAX];
    struct slot slot;
    size_t len;
    int fd = openat(dir_fd, "0", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(fd_write_full(fd, giant, sizeof(giant)), 0);
    close(fd);
    assert_int_equal(take(0, &slot, record, &len), 0);
    assert_int_equal(len, SLOT_RECORD_MAX);
    slot_release(&slot);
}

/* ---- many takers ---------------------------------------------------------------------------- */

/* Takes a slot, tells which, holds it until told to go on, gives it back; until the socket ends. */
static void taker_main(int fd) __attribute__((noreturn));

static void taker_main(int fd)
{
    char record[SLOT_RECORD_MAX];
    char byte;

    while (read(fd, &byte, 1) == 1) {
        struct slot slot;
        size_t len;
        int r = slot_take(dir_fd, 0, SLOTS, &slot, record, &len);
        char number = 'x';

        if (r == 0)
            number = "01234567"[slot.number % SLOTS];
        if (write(fd, &number, 1) != 1 || read(fd, &byte, 1) != 1)
            break;
        if (r == 0)
            slot_release(&slot);
        if (write(fd, "r", 1) != 1)
            break;
    }
    _exit(0);
}

static pid_t taker_start(int *ret_fd)
{
    int pair[2];
    pid_t pid;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(pair[0]);
        taker_main(pair[1]);
    }
    close(pair[1]);
    *ret_fd = pair[0];
    return pid;
}

static void tell_all(const int *fds)
{
    for (size_t i = 0; i < TAKERS; i++)
        assert_int_equal(write(fds[i], "g", 1), 1);
}

/* All at once, again and again: no two hold the same slot. */
static void processes_never_share_a_slot(void **state)
{
    int fds[TAKERS];
    pid_t pids[TAKERS];

    (void)state;
    for (size_t i = 0; i < TAKERS; i++)
        pids[i] = taker_start(&fds[i]);
    for (int round = 0; round < 200; round++) {
        unsigned seen = 0;
        char byte;

        tell_all(fds);
        for (size_t i = 0; i < TAKERS; i++) {
            assert_int_equal(read(fds[i], &byte, 1), 1);
            assert_true(byte >= '0' && byte < '0' + SLOTS);
            assert_false(seen & 1u << (byte - '0'));
            seen |= 1u << (byte - '0');
        }
        tell_all(fds);
        for (size_t i = 0; i < TAKERS; i++)
            assert_int_equal(read(fds[i], &byte, 1), 1);
    }
    for (size_t i = 0; i < TAKERS; i++) {
        /* Later ones hold its socket too: its end would not show. */
        assert_int_equal(kill(pids[i], SIGKILL), 0);
        assert_int_equal(waitpid(pids[i], NULL, 0), pids[i]);
        close(fds[i]);
    }
}

static void a_killed_owner_lets_go(void **state)
{
    struct slot slot;
    char record[SLOT_RECORD_MAX];
    size_t len;
    char byte;
    int fd;
    pid_t pid = taker_start(&fd);

    (void)state;
    assert_int_equal(write(fd, "g", 1), 1);
    assert_int_equal(read(fd, &byte, 1), 1);
    assert_int_equal(byte, '0');
    assert_int_equal(slot_take(dir_fd, 0, 1, &slot, record, &len), -EUSERS);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(slot_take(dir_fd, 0, 1, &slot, record, &len), 0);
    slot_release(&slot);
    close(fd);
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(slots_are_taken_in_order_and_come_to_an_end),
        IN_DIR(a_record_stays_when_its_owner_is_gone),
        IN_DIR(a_slot_that_is_no_file_is_refused),
        IN_DIR(a_giant_record_is_cut),
        IN_DIR(processes_never_share_a_slot),
        IN_DIR(a_killed_owner_lets_go),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
