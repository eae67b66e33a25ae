/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_spawner_plan.c - a plan as the spawner collects it, and the ids in it. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "spawner/idmap.h"
#include "spawner/plan.h"

#include <cmocka.h>

static struct plan plan;
static const int came[] = { 30, 31, 32 };

static int add(uint8_t type, const void *msg, const int *fds, size_t n_fds)
{
    static uint8_t frame[WIRE_FRAME_MAX];
    int n = msg_encode(type, 0, 0, msg, frame, sizeof(frame));

    assert_true(n >= WIRE_HEAD_SIZE);
    return plan_add(&plan, type, frame + WIRE_HEAD_SIZE, (size_t)n - WIRE_HEAD_SIZE, fds, n_fds);
}

static struct msg_plan head(void)
{
    return (struct msg_plan){
        .n_slots = 4,
        .uid_base = 1000000,
        .gid_base = 2000000,
        .stride = 100,
        .uid_tool = "",
        .gid_tool = "",
        .box = "b_x",
        .hostname = "box",
    };
}

static int reset(void **state)
{
    (void)state;
    memset(&plan, 0, sizeof(plan));
    return 0;
}

static void a_plan_begins_with_its_head_and_two_descriptors(void **state)
{
    struct msg_plan first = head();

    (void)state;
    assert_int_equal(add(MSG_PLAN, &first, came, 2), 0);
    assert_int_equal(plan.link_fd, 30);
    assert_int_equal(plan.slots_fd, 31);
    assert_int_equal(plan.head.stride, 100);
    assert_string_equal(plan.head.hostname, "box");
    assert_int_equal(plan.steps[0].tree, -1);
}

static void other_numbers_of_descriptors_are_refused(void **state)
{
    struct msg_plan first = head();

    for (size_t n = 0; n < 4; n++) {
        (void)reset(state);
        assert_int_equal(add(MSG_PLAN, &first, came, n), n == 2 ? 0 : -EPROTO);
    }
}

static void a_plan_without_slots_is_refused(void **state)
{
    struct msg_plan first = head();

    (void)state;
    first.n_slots = 0;
    assert_int_equal(add(MSG_PLAN, &first, came, 2), -EPROTO);
}

static void the_head_comes_first_and_once(void **state)
{
    struct msg_plan first = head();
    struct msg_id id = { .inside = 0 };

    assert_int_equal(add(MSG_ID, &id, came, 2), -EPROTO);
    (void)reset(state);
    assert_int_equal(add(MSG_PLAN, &first, came, 2), 0);
    assert_int_equal(add(MSG_PLAN, &first, came, 2), -EPROTO);
}

static void damaged_steps_do_not_decode(void **state)
{
    static const uint8_t bytes[3];
    struct msg_plan first = head();
    char msg[MSG_STRUCT_MAX];

    (void)state;
    assert_int_equal(add(MSG_PLAN, &first, came, 2), 0);
    assert_int_equal(plan_add(&plan, MSG_ID, bytes, sizeof(bytes), NULL, 0), 0);
    assert_true(plan_decode(&plan, 1, msg) < 0);
}

static void steps_and_bytes_have_an_end(void **state)
{
    static const uint8_t bytes[WIRE_PAYLOAD_MAX];
    struct msg_plan first = head();
    struct msg_id id = { .inside = 0 };
    size_t n = 1;

    assert_int_equal(add(MSG_PLAN, &first, came, 2), 0);
    while (add(MSG_ID, &id, NULL, 0) == 0)
        n++;
    assert_int_equal(n, PLAN_STEPS_MAX);
    assert_int_equal(add(MSG_ID, &id, NULL, 0), -EMSGSIZE);
    (void)reset(state);
    assert_int_equal(add(MSG_PLAN, &first, came, 2), 0);
    while (plan_add(&plan, MSG_FILE, bytes, sizeof(bytes), NULL, 0) == 0)
        continue;
    assert_true(plan.used <= PLAN_BYTES_MAX);
    assert_true(plan.used > PLAN_BYTES_MAX - sizeof(bytes));
}

/* ---- ids
 * ------------------------------------------------------------------------------------------------
 */

static void add_ids(size_t n)
{
    struct msg_plan first = head();

    assert_int_equal(add(MSG_PLAN, &first, came, 2), 0);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(add(MSG_ID, &(struct msg_id){ .inside = i * 500, .offset = i }, NULL, 0),
                         0);
}

static void ids_are_read_up_to_their_number(void **state)
{
    struct idmap map;

    add_ids(0);
    assert_int_equal(idmap_read(&plan, &map), -EPROTO);
    (void)reset(state);
    add_ids(IDMAP_MAX);
    assert_int_equal(idmap_read(&plan, &map), 0);
    assert_int_equal(map.n, IDMAP_MAX);
    assert_int_equal(map.ids[2].inside, 1000);
    assert_int_equal(map.ids[2].offset, 2);
    (void)reset(state);
    add_ids(IDMAP_MAX + 1);
    assert_int_equal(idmap_read(&plan, &map), -EPROTO);
}

static void slots_have_ranges_of_their_own(void **state)
{
    (void)state;
    add_ids(1);
    assert_int_equal(idmap_first_uid(&plan, 0), 1000000);
    assert_int_equal(idmap_first_uid(&plan, 3), 1000300);
    assert_int_equal(idmap_first_gid(&plan, 3), 2000300);
}

/* A child in a user namespace that waits for its end. */
static pid_t child_in_userns(void)
{
    int ready[2];
    char byte;
    pid_t pid;

    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        /* A test that fails does not come to the kill. */
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        byte = unshare(CLONE_NEWUSER) == 0 ? 'y' : 'n';
        if (write(ready[1], &byte, 1) != 1)
            _exit(1);
        for (;;)
            (void)pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(byte, 'y');
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static void map_is(pid_t pid, const char *file, const char *want)
{
    char path[64];
    char text[512];
    char plain[512];
    size_t n = 0;

    (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
    assert_true(fd_read_text(AT_FDCWD, path, text, sizeof(text)) > 0);
    /* Columns are padded: one space each. */
    for (const char *at = text; *at; at++)
        if (*at != ' ' || (n > 0 && plain[n - 1] != ' ' && plain[n - 1] != '\n'))
            plain[n++] = *at;
    plain[n] = '\0';
    assert_string_equal(plain, want);
}

static void the_map_is_what_the_plan_says(void **state)
{
    struct idmap map;
    pid_t pid;

    (void)state;
    if (geteuid() != 0)
        skip();
    add_ids(3);
    assert_int_equal(idmap_read(&plan, &map), 0);
    pid = child_in_userns();
    assert_int_equal(idmap_apply(&plan, &map, 2, pid), 0);
    map_is(pid, "uid_map", "0 1000200 1\n500 1000201 1\n1000 1000202 1\n");
    map_is(pid, "gid_map", "0 2000200 1\n500 2000201 1\n1000 2000202 1\n");
    /* Once and for all. */
    assert_int_equal(idmap_apply(&plan, &map, 2, pid), -EPERM);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void a_tool_that_fails_fails_the_map(void **state)
{
    struct idmap map;

    (void)state;
    add_ids(1);
    assert_int_equal(idmap_read(&plan, &map), 0);
    plan.head.uid_tool = "/bin/false";
    plan.head.gid_tool = "/bin/true";
    assert_int_equal(idmap_apply(&plan, &map, 0, getpid()), -EPERM);
    plan.head.uid_tool = "/no/such/tool";
    assert_int_equal(idmap_apply(&plan, &map, 0, getpid()), -EPERM);
    plan.head.uid_tool = "/bin/true";
    plan.head.gid_tool = "/bin/false";
    assert_int_equal(idmap_apply(&plan, &map, 0, getpid()), -EPERM);
    plan.head.gid_tool = "/bin/true";
    assert_int_equal(idmap_apply(&plan, &map, 0, getpid()), 0);
}

#define FRESH(test) cmocka_unit_test_setup(test, reset)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FRESH(a_plan_begins_with_its_head_and_two_descriptors),
        FRESH(other_numbers_of_descriptors_are_refused),
        FRESH(a_plan_without_slots_is_refused),
        FRESH(the_head_comes_first_and_once),
        FRESH(damaged_steps_do_not_decode),
        FRESH(steps_and_bytes_have_an_end),
        FRESH(ids_are_read_up_to_their_number),
        FRESH(slots_have_ranges_of_their_own),
        FRESH(the_map_is_what_the_plan_says),
        FRESH(a_tool_that_fails_fails_the_map),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
