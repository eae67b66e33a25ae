/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_net_log.c - what the network of a box decided, written down and read again. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "box/carry.h"
#include "box/net_log.h"

#include <cmocka.h>

struct place {
    char path[64];
    int fd;
    struct net_log *log;
    struct net_reader reader;
};

static void place_up(struct place *place)
{
    struct gb_err err = { 0 };

    snprintf(place->path, sizeof(place->path), "/tmp/net-log-test-XXXXXX");
    assert_non_null(mkdtemp(place->path));
    place->fd = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(place->fd >= 0);
    assert_int_equal(net_log_new(place->fd, &place->log, &err), 0);
    net_reader_init(&place->reader, place->fd);
}

static void place_down(struct place *place)
{
    net_reader_clear(&place->reader);
    net_log_free(place->log);
    (void)unlinkat(place->fd, "network.log", 0);
    (void)unlinkat(place->fd, "network.old", 0);
    close(place->fd);
    assert_int_equal(rmdir(place->path), 0);
}

static void say(struct place *place, struct carry_note note)
{
    if (!note.name)
        note.name = "";
    net_log_note(place->log, &note);
}

static void expect_end(struct place *place)
{
    struct net_line line;

    assert_int_equal(net_reader_next(&place->reader, &line), 0);
}

static void what_is_said_is_read(void **state)
{
    struct net_address address;
    struct place place;
    struct net_line line;

    (void)state;
    net_address_of_v4(0x7f000001, &address);
    place_up(&place);
    say(&place, (struct carry_note){ .name = "one.test", .answer = NET_NOT_LISTED });
    say(&place, (struct carry_note){ .name = "two.test", .address = &address, .port = 80 });
    say(&place, (struct carry_note){ .address = &address, .port = 81, .error = ECONNREFUSED });
    say(&place, (struct carry_note){ .name = "two.test",
                                     .address = &address,
                                     .port = 80,
                                     .bytes_sent = 10,
                                     .bytes_received = 20,
                                     .is_end = true });
    assert_int_equal(net_reader_next(&place.reader, &line), 1);
    assert_string_equal(line.what, "look-up");
    assert_string_equal(line.name, "one.test");
    assert_string_equal(line.reason, "not listed");
    assert_null(line.address);
    assert_false(line.is_allowed);
    assert_true(line.at_ms > 0);
    net_line_clear(&line);
    assert_int_equal(net_reader_next(&place.reader, &line), 1);
    assert_string_equal(line.what, "connection");
    assert_string_equal(line.address, "127.0.0.1");
    assert_int_equal(line.port, 80);
    assert_true(line.is_allowed && !line.reason);
    net_line_clear(&line);
    assert_int_equal(net_reader_next(&place.reader, &line), 1);
    assert_true(line.is_allowed && !line.name);
    assert_string_equal(line.reason, "Connection refused");
    net_line_clear(&line);
    assert_int_equal(net_reader_next(&place.reader, &line), 1);
    assert_string_equal(line.what, "end");
    assert_int_equal(line.bytes_sent, 10);
    assert_int_equal(line.bytes_received, 20);
    assert_int_equal(line.totals.connections, 1);
    assert_int_equal(line.totals.refused, 1);
    assert_int_equal(line.totals.bytes_sent, 10);
    assert_int_equal(line.totals.bytes_received, 20);
    net_line_clear(&line);
    expect_end(&place);
    /* And one who reads on sees what comes later. */
    say(&place, (struct carry_note){ .name = "later.test" });
    assert_int_equal(net_reader_next(&place.reader, &line), 1);
    assert_string_equal(line.name, "later.test");
    net_line_clear(&line);
    place_down(&place);
}

/* A flood is counted, and the files have an end. */
static void a_flood_is_bounded(void **state)
{
    enum {
        MANY = 20000
    };
    struct place place;
    struct net_line line;
    struct net_totals totals = { 0 };
    struct stat st;
    uint64_t seen = 0;

    (void)state;
    place_up(&place);
    for (int i = 0; i < MANY; i++)
        say(&place, (struct carry_note){ .name = "one.test", .answer = NET_NOT_LISTED });
    assert_true(net_log_due_ns(place.log) <= clock_after_ms(1000));
    net_log_free(take_ptr(place.log));
    while (net_reader_next(&place.reader, &line) > 0) {
        seen += strcmp(line.what, "more") == 0 ? line.count : 1;
        totals = line.totals;
        net_line_clear(&line);
    }
    assert_int_equal(seen, MANY);
    assert_int_equal(totals.refused, MANY);
    assert_int_equal(fstatat(place.fd, "network.log", &st, 0), 0);
    assert_true(st.st_size < NET_LOG_MAX / 2);
    place_down(&place);
}

/* What a flood left out is told a moment later, though nothing else happens. */
static void what_was_counted_is_told_in_time(void **state)
{
    struct place place;
    struct net_line line;
    uint64_t refused = 0;

    (void)state;
    place_up(&place);
    assert_int_equal(net_log_due_ns(place.log), CLOCK_NEVER_NS);
    for (int i = 0; i < 500; i++)
        say(&place, (struct carry_note){ .name = "one.test", .answer = NET_NOT_LISTED });
    for (uint64_t due; (due = net_log_due_ns(place.log)) != CLOCK_NEVER_NS;) {
        (void)poll(NULL, 0, clock_poll_ms(due));
        net_log_tell(place.log);
    }
    while (net_reader_next(&place.reader, &line) > 0) {
        refused = line.totals.refused;
        net_line_clear(&line);
    }
    assert_int_equal(refused, 500);
    place_down(&place);
}

static void put_file(const struct place *place, const char *name, const char *text)
{
    int fd = openat(place->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(fd_write_full(fd, text, strlen(text)), 0);
    close(fd);
}

#define LINE(n)                                                                        \
    "{\"at_ms\":" #n ",\"what\":\"more\",\"count\":1,\"connections\":0,\"refused\":0," \
    "\"all_sent\":0,\"all_received\":0}\n"

/* The old file first; what is no line of ours is stepped over, what is not whole waits. */
static void files_are_read_in_their_order(void **state)
{
    struct place place;
    struct net_line line;

    (void)state;
    place_up(&place);
    put_file(&place, "network.old", LINE(1) "junk\n{}\n" LINE(2));
    put_file(&place, "network.log", LINE(3) "{\"at_ms\":4");
    for (uint64_t i = 1; i <= 3; i++) {
        assert_int_equal(net_reader_next(&place.reader, &line), 1);
        assert_int_equal(line.at_ms, i);
        net_line_clear(&line);
    }
    expect_end(&place);
    /* It grew too large, and a new one was begun. */
    assert_int_equal(renameat(place.fd, "network.log", place.fd, "network.old"), 0);
    put_file(&place, "network.log", LINE(5));
    assert_int_equal(net_reader_next(&place.reader, &line), 1);
    assert_int_equal(line.at_ms, 5);
    net_line_clear(&line);
    expect_end(&place);
    place_down(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_said_is_read),
        cmocka_unit_test(a_flood_is_bounded),
        cmocka_unit_test(what_was_counted_is_told_in_time),
        cmocka_unit_test(files_are_read_in_their_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
