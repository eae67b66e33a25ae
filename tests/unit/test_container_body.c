/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_container_body.c - the JSON that asks for a container. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "engine/container.h"
#include "engine/container_body.h"

#include <cmocka.h>

static void check(const struct container_spec *spec, const char *wanted)
{
    cleanup_buf struct buf body = BUF_INIT(1 << 16);

    assert_int_equal(container_body(spec, &body), 0);
    assert_string_equal(body.data, wanted);
}

static void test_what_is_not_set_is_left_to_the_engine(void **state)
{
    const struct container_spec spec = { .image = "x" };

    (void)state;
    check(&spec, "{\"Image\":\"x\",\"Tty\":false,\"OpenStdin\":false,\"StdinOnce\":false,"
                 "\"AttachStdin\":false,\"AttachStdout\":true,\"AttachStderr\":true,"
                 "\"HostConfig\":{\"ReadonlyRootfs\":false,\"AutoRemove\":false}}");
}

static void test_everything_has_its_place(void **state)
{
    static const char *const two[] = { "a", "b\"", NULL };
    static const struct container_mount mounts[] = {
        { "volume", "v", "/g", .is_read_only = true, .is_no_copy = true },
        { "volume", "v", "/p", "part", .is_no_copy = true },
        { "tmpfs", NULL, "/t" },
        { 0 },
    };
    static const struct container_ulimit ulimits[] = { { "nofile", 1, 2 }, { 0 } };
    static const struct container_port ports[] = { { "80/tcp", "127.0.0.1", "8080" }, { 0 } };
    const struct container_spec spec = {
        .name = "not in the body",
        .image = "i",
        .platform = "nor this",
        .entrypoint = two,
        .cmd = two + 1,
        .env = two,
        .labels = two,
        .workdir = "/w",
        .user = "0:0",
        .hostname = "h",
        .has_stdin = true,
        .is_unchecked = true,
        .is_offline = true,
        .network_mode = "none",
        .name_servers = two + 1,
        .name_search = two + 2,
        .runtime = "runsc",
        .ipc_mode = "private",
        .cgroupns_mode = "private",
        .log_driver = "none",
        .memory_bytes = 1,
        .memory_swap_bytes = 2,
        .nano_cpus = 3,
        .pids = 4,
        .shm_bytes = 5,
        .oom_score_adj = 500,
        .is_first = true,
        .is_read_only = true,
        .cap_drop = two + 2,
        .cap_add = two,
        .security_opts = two,
        .masked = two,
        .tmpfs = two,
        .mounts = mounts,
        .ulimits = ulimits,
        .ports = ports,
    };

    (void)state;
    check(
        &spec,
        "{\"Image\":\"i\",\"Entrypoint\":[\"a\",\"b\\\"\"],\"Cmd\":[\"b\\\"\"],"
        "\"Env\":[\"a\",\"b\\\"\"],\"Labels\":{\"a\":\"b\\\"\"},\"WorkingDir\":\"/w\","
        "\"User\":\"0:0\",\"Hostname\":\"h\",\"Tty\":false,\"OpenStdin\":true,"
        "\"StdinOnce\":true,\"AttachStdin\":true,\"AttachStdout\":true,\"AttachStderr\":true,"
        "\"NetworkDisabled\":true,\"Healthcheck\":{\"Test\":[\"NONE\"]},"
        "\"ExposedPorts\":{\"80/tcp\":{}},\"HostConfig\":{\"NetworkMode\":\"none\","
        "\"Dns\":[\"b\\\"\"],\"DnsSearch\":[],"
        "\"Runtime\":\"runsc\",\"IpcMode\":\"private\",\"CgroupnsMode\":\"private\","
        "\"LogConfig\":{\"Type\":\"none\"},\"Memory\":1,"
        "\"MemorySwap\":2,\"NanoCpus\":3,\"PidsLimit\":4,\"ShmSize\":5,\"OomScoreAdj\":500,"
        "\"Init\":false,\"ReadonlyRootfs\":true,\"AutoRemove\":false,\"CapDrop\":[],"
        "\"CapAdd\":[\"a\",\"b\\\"\"],\"SecurityOpt\":[\"a\",\"b\\\"\"],"
        "\"MaskedPaths\":[\"a\",\"b\\\"\"],\"Tmpfs\":{\"a\":\"b\\\"\"},"
        "\"Mounts\":[{\"Type\":\"volume\",\"Source\":\"v\",\"Target\":\"/g\",\"ReadOnly\":true,"
        "\"VolumeOptions\":{\"NoCopy\":true}},{\"Type\":\"volume\",\"Source\":\"v\","
        "\"Target\":\"/p\",\"ReadOnly\":false,\"VolumeOptions\":{\"NoCopy\":true,\"Subpath\":\"part\"}},"
        "{\"Type\":\"tmpfs\",\"Target\":\"/t\","
        "\"ReadOnly\":false}],\"Ulimits\":[{\"Name\":\"nofile\",\"Soft\":1,\"Hard\":2}],"
        "\"PortBindings\":{\"80/tcp\":[{\"HostIp\":\"127.0.0.1\",\"HostPort\":\"8080\"}]}}}");
}

static void test_a_body_has_a_maximum(void **state)
{
    const struct container_spec spec = { .image = "x" };
    cleanup_buf struct buf body = BUF_INIT(64);

    (void)state;
    assert_int_equal(container_body(&spec, &body), -EMSGSIZE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_not_set_is_left_to_the_engine),
        cmocka_unit_test(test_everything_has_its_place),
        cmocka_unit_test(test_a_body_has_a_maximum),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
