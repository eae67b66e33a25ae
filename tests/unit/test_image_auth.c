/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_image_auth.c - log-ins of registries, out of docker's config.json. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "image/auth.h"

#include <cmocka.h>

static char dir[64];

static int make_dir(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof(dir), "/tmp/gbauth-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    char path[100];

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/config.json", dir);
    (void)unlink(path);
    return rmdir(dir);
}

static void write_config(const char *text)
{
    char path[100];
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/config.json", dir);
    file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

static void no_directory_and_no_file_know_nothing(void **state)
{
    struct image_auth auth;

    (void)state;
    assert_int_equal(image_auth_find(NULL, "docker.io", &auth, NULL), 0);
    assert_false(image_auth_is_known(&auth));
    assert_int_equal(image_auth_find("/none/there", "docker.io", &auth, NULL), 0);
    assert_false(image_auth_is_known(&auth));
}

/* The base64 of "me:a:b" has a password with a colon in it. */
static void an_entry_is_found_by_its_server(void **state)
{
    static const struct {
        const char *key;
        const char *registry;
        bool is_found;
    } table[] = {
        { "r.example:5000", "r.example:5000", true },
        { "https://r.example:5000/v2/", "r.example:5000", true },
        { "https://index.docker.io/v1/", "docker.io", true },
        { "docker.io", "docker.io", true },
        { "r.example", "r.example:5000", false },
        { "r.example:5000", "r.example", false },
        { "https://index.docker.io.evil/v1/", "docker.io", false },
        { "evil/r.example", "r.example", false },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(table); i++) {
        cleanup_image_auth struct image_auth auth = { 0 };
        char text[200];

        (void)snprintf(text, sizeof(text), "{\"auths\":{\"%s\":{\"auth\":\"bWU6YTpi\"}}}",
                       table[i].key);
        write_config(text);
        assert_int_equal(image_auth_find(dir, table[i].registry, &auth, NULL), 0);
        assert_int_equal(image_auth_is_known(&auth), table[i].is_found);
        if (!table[i].is_found)
            continue;
        assert_string_equal(auth.username, "me");
        assert_string_equal(auth.password, "a:b");
        assert_string_equal(auth.server, table[i].key);
    }
}

static void a_token_and_a_helper_are_told(void **state)
{
    cleanup_image_auth struct image_auth token = { 0 };
    cleanup_image_auth struct image_auth helper = { 0 };

    (void)state;
    write_config("{\"auths\":{\"a\":{\"identitytoken\":\"T\"},\"b\":{}},\"credsStore\":\"all\","
                 "\"credHelpers\":{\"b\":\"own\"}}");
    assert_int_equal(image_auth_find(dir, "a", &token, NULL), 0);
    assert_string_equal(token.token, "T");
    assert_string_equal(token.helper, "");
    assert_int_equal(image_auth_find(dir, "b", &helper, NULL), 0);
    assert_false(image_auth_is_known(&helper));
    assert_string_equal(helper.helper, "own");
    assert_int_equal(image_auth_find(dir, "c", &helper, NULL), 0);
    assert_string_equal(helper.helper, "all");
}

static void what_docker_does_not_write_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "{",
        "{\"auths\":{\"a\":{\"auth\":\"!\"}}}",
        "{\"auths\":{\"a\":{\"auth\":\"bWU=\"}}}",     /* no colon */
        "{\"auths\":{\"a\":{\"auth\":\"bQBlOmE=\"}}}", /* a NUL */
        "{\"auths\":{\"a\":{\"username\":\"x\\u0000y\"}}}",
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
        struct image_auth auth;
        struct gb_err err = { 0 };

        write_config(texts[i]);
        assert_int_equal(image_auth_find(dir, "a", &auth, &err), -EINVAL);
        assert_int_equal(err.blame, GB_BLAME_CALLER);
        assert_non_null(strstr(err.msg, "config.json"));
        assert_false(image_auth_is_known(&auth));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_directory_and_no_file_know_nothing),
        cmocka_unit_test(an_entry_is_found_by_its_server),
        cmocka_unit_test(a_token_and_a_helper_are_told),
        cmocka_unit_test(what_docker_does_not_write_is_refused),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
