/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_endpoint.c - where the engine is. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/dir.h"
#include "base/err.h"
#include "engine/endpoint.h"
#include "place.h"

#include <cmocka.h>

static void test_addresses_are_read(void **state)
{
    static const struct {
        const char *host;
        const char *tls_verify;
        int code;
        const char *socket;
        const char *url;
    } table[] = {
        { "unix:///run/x.sock", NULL, 0, "/run/x.sock", "http://localhost" },
        { "tcp://127.0.0.1:1234", NULL, 0, "", "http://127.0.0.1:1234" },
        { "tcp://box.example", NULL, 0, "", "http://box.example:2375" },
        { "tcp://box.example", "1", 0, "", "https://box.example:2376" },
        { "tcp://box.example:99/", "1", 0, "", "https://box.example:99" },
        { "tcp://:2375", NULL, 0, "", "http://127.0.0.1:2375" },
        { "tcp://[::1]:2375", NULL, 0, "", "http://[::1]:2375" },
        { "tcp://[::1]", NULL, 0, "", "http://[::1]:2375" },
        { "http://a/base/path", "1", 0, "", "http://a:80/base/path" },
        { "https://a", NULL, 0, "", "https://a:443" },
        { "unix://run/x.sock", NULL, -EINVAL, NULL, NULL },
        { "unix://", NULL, -EINVAL, NULL, NULL },
        { "tcp://a:0", NULL, -EINVAL, NULL, NULL },
        { "tcp://a:65536", NULL, -EINVAL, NULL, NULL },
        { "tcp://a:b", NULL, -EINVAL, NULL, NULL },
        { "tcp://::1", NULL, -EINVAL, NULL, NULL },
        { "tcp://user@a", NULL, -EINVAL, NULL, NULL },
        { "tcp://a/..", NULL, -EINVAL, NULL, NULL },
        { "tcp://a?x", NULL, -EINVAL, NULL, NULL },
        { "/var/run/docker.sock", NULL, -EINVAL, NULL, NULL },
        { "npipe:////./pipe/x", NULL, -EINVAL, NULL, NULL },
        { "ssh://a@b", NULL, -EPROTONOSUPPORT, NULL, NULL },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(table); i++) {
        const struct endpoint_hints hints = { .docker_host = table[i].host,
                                              .tls_verify = table[i].tls_verify };
        struct endpoint endpoint;
        struct gb_err err = { 0 };

        assert_int_equal(endpoint_find(&hints, &endpoint, &err), table[i].code);
        if (table[i].code < 0) {
            assert_non_null(gb_err_remedy(&err));
            continue;
        }
        assert_string_equal(endpoint.socket, table[i].socket);
        assert_string_equal(endpoint.url, table[i].url);
        assert_non_null(strstr(endpoint.shown, "DOCKER_HOST"));
    }
}

static void test_a_socket_has_a_longest_path(void **state)
{
    char host[200] = "unix:///";
    const struct endpoint_hints hints = { .host = host };
    struct endpoint endpoint;

    (void)state;
    memset(host + 8, 'x', 106);
    assert_int_equal(endpoint_find(&hints, &endpoint, NULL), 0);
    assert_int_equal(strlen(endpoint.socket), 107);
    host[8 + 106] = 'x';
    assert_int_equal(endpoint_find(&hints, &endpoint, NULL), -EINVAL);
}

/* ---- files ---- */

static void put(struct place *place, const char *name, const char *text)
{
    assert_int_equal(dir_make_parents(place_path(place, name), 0700), 0);
    place_write(place, name, text, strlen(text));
}

static void meta(struct place *place, const char *folder, const char *text)
{
    char path[PATH_MAX];

    (void)snprintf(path, sizeof(path), "docker/contexts/meta/%s/meta.json", folder);
    put(place, path, text);
}

static void find(const struct endpoint_hints *hints, struct endpoint *endpoint)
{
    struct gb_err err = { 0 };

    if (endpoint_find(hints, endpoint, &err) < 0)
        fail_msg("%s", err.msg);
}

static void test_the_first_that_is_named_counts(void **state)
{
    struct place *place = *state;
    char config[PATH_MAX];
    struct endpoint endpoint;
    struct endpoint_hints hints = {
        .host = "unix:///told", .docker_host = "unix:///env", .context = "two", .config_dir = config
    };

    (void)snprintf(config, sizeof(config), "%s/docker", place->root);
    meta(place, "0", "{\"Name\":\"broken\"");
    meta(place, "1", "{\"Name\":\"one\",\"Endpoints\":{\"docker\":{\"Host\":\"unix:///one\"}}}");
    meta(place, "2", "{\"Name\":\"two\",\"Endpoints\":{\"docker\":{\"Host\":\"unix:///two\"}}}");
    put(place, "docker/config.json", "{\"auths\":{},\"currentContext\":\"one\"}");
    find(&hints, &endpoint);
    assert_string_equal(endpoint.socket, "/told");
    hints.host = "";
    find(&hints, &endpoint);
    assert_string_equal(endpoint.socket, "/env");
    hints.docker_host = NULL;
    find(&hints, &endpoint);
    assert_string_equal(endpoint.socket, "/two");
    hints.context = NULL;
    find(&hints, &endpoint);
    assert_string_equal(endpoint.socket, "/one");
    assert_non_null(strstr(endpoint.shown, "current context"));
    hints.context = "default";
    hints.run_dir = place->root;
    find(&hints, &endpoint);
    assert_non_null(strstr(endpoint.socket, "/docker.sock"));
}

static void test_a_context_that_is_not_there_is_named(void **state)
{
    struct place *place = *state;
    const struct endpoint_hints hints = { .context = "gone", .config_dir = place->root };
    struct endpoint endpoint;
    struct gb_err err = { 0 };

    assert_int_equal(endpoint_find(&hints, &endpoint, &err), -ENOENT);
    assert_non_null(strstr(err.msg, "'gone'"));
    assert_non_null(gb_err_remedy(&err));
}

static void test_settings_that_are_no_json_are_an_error(void **state)
{
    struct place *place = *state;
    const struct endpoint_hints hints = { .config_dir = place->root };
    struct endpoint endpoint;
    struct gb_err err = { 0 };

    put(place, "config.json", "{");
    assert_true(endpoint_find(&hints, &endpoint, &err) < 0);
    assert_non_null(strstr(err.msg, "config.json"));
}

static void test_certificates_come_from_where_they_are_said_to_be(void **state)
{
    struct place *place = *state;
    struct endpoint endpoint;
    char wanted[PATH_MAX];
    struct gb_err err = { 0 };
    struct endpoint_hints hints = { .docker_host = "tcp://a",
                                    .tls_verify = "1",
                                    .cert_path = place->root };

    assert_int_equal(endpoint_find(&hints, &endpoint, &err), -ENOKEY);
    assert_non_null(strstr(err.msg, place->root));
    assert_non_null(gb_err_remedy(&err));
    put(place, "ca.pem", "ca");
    find(&hints, &endpoint);
    assert_string_equal(endpoint.cert_file, "");
    put(place, "cert.pem", "cert");
    assert_int_equal(endpoint_find(&hints, &endpoint, NULL), -ENOKEY);
    put(place, "key.pem", "key");
    find(&hints, &endpoint);
    (void)snprintf(wanted, sizeof(wanted), "%s/key.pem", place->root);
    assert_string_equal(endpoint.key_file, wanted);
    assert_string_equal(endpoint.url, "https://a:2376");
    assert_false(endpoint.is_unverified);
    hints.tls_verify = ""; /* a path alone asks for no TLS */
    find(&hints, &endpoint);
    assert_string_equal(endpoint.url, "http://a:2375");
    assert_string_equal(endpoint.ca_file, "");
}

static void test_a_context_has_certificates_of_its_own(void **state)
{
    struct place *place = *state;
    char config[PATH_MAX];
    struct endpoint endpoint;
    struct endpoint_hints hints = { .context = "c", .config_dir = config };

    (void)snprintf(config, sizeof(config), "%s/docker", place->root);
    meta(place, "abc", "{\"Name\":\"c\",\"Endpoints\":{\"docker\":{\"Host\":\"tcp://h:1\"}}}");
    find(&hints, &endpoint);
    assert_string_equal(endpoint.url, "http://h:1");
    put(place, "docker/contexts/tls/abc/docker/ca.pem", "ca");
    find(&hints, &endpoint);
    assert_string_equal(endpoint.url, "https://h:1");
    assert_non_null(strstr(endpoint.ca_file, "/contexts/tls/abc/docker/ca.pem"));
    meta(place, "abd",
         "{\"Name\":\"d\",\"Endpoints\":{\"docker\":{\"Host\":\"tcp://h:1\","
         "\"SkipTLSVerify\":true}}}");
    hints.context = "d";
    find(&hints, &endpoint);
    assert_string_equal(endpoint.url, "https://h:1");
    assert_true(endpoint.is_unverified);
}

/* A socket at that path, with somebody behind it or nobody. */
static int listening(const char *path, bool is_alive)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    if (is_alive)
        assert_int_equal(listen(fd, 4), 0);
    return fd;
}

static void test_of_the_usual_sockets_the_first_living_one_counts(void **state)
{
    struct place *place = *state;
    char runtime[80];
    char path[108];
    struct endpoint_hints hints = { .run_dir = place->root, .runtime_dir = runtime };
    struct endpoint endpoint;
    cleanup_close int dead = -1;
    cleanup_close int living = -1;

    (void)snprintf(runtime, sizeof(runtime), "%s/user", place->root);
    find(&hints, &endpoint);
    (void)snprintf(path, sizeof(path), "%s/docker.sock", place->root);
    assert_string_equal(endpoint.socket, path); /* none exists: docker's */
    put(place, "user/podman/x", "");
    (void)snprintf(path, sizeof(path), "%s/user/docker.sock", place->root);
    dead = listening(path, false);
    find(&hints, &endpoint);
    assert_string_equal(endpoint.socket, path); /* one exists */
    (void)snprintf(path, sizeof(path), "%s/user/podman/podman.sock", place->root);
    living = listening(path, true);
    find(&hints, &endpoint);
    assert_string_equal(endpoint.socket, path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses_are_read),
        cmocka_unit_test(test_a_socket_has_a_longest_path),
        IN_PLACE(test_the_first_that_is_named_counts),
        IN_PLACE(test_a_context_that_is_not_there_is_named),
        IN_PLACE(test_settings_that_are_no_json_are_an_error),
        IN_PLACE(test_certificates_come_from_where_they_are_said_to_be),
        IN_PLACE(test_a_context_has_certificates_of_its_own),
        IN_PLACE(test_of_the_usual_sockets_the_first_living_one_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
