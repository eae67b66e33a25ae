/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_certificates.c - files of certificates that the operator's variables name. */
#include "box/box.h"
#include "conf/certificates.h"
#include "place.h"

#define PEM "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
#define KEY "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n"

/* "VARIABLE=path" of a file with these contents; the caller's to free. */
static char *name_file(struct place *place, const char *variable, const char *name,
                       const char *text, mode_t mode)
{
    char *pair = NULL;

    assert_int_equal(chmod(place->root, 0755), 0);
    place_write(place, name, text, strlen(text));
    assert_int_equal(fchmodat(place->fd, name, mode, 0), 0);
    assert_true(asprintf(&pair, "%s=%s", variable, place_path(place, name)) > 0);
    return pair;
}

static void test_files_of_certificates_are_found(void **state)
{
    static const char *const caller[] = { "A=b", NULL };
    struct place *place = *state;
    cleanup_free char *pip = name_file(place, "PIP_CERT", "pip.pem", PEM, 0644);
    char usual[] = "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt";
    char *env[] = { pip, usual, NULL };
    struct certificates found;
    size_t i = access("/etc/ssl/certs/ca-certificates.crt", R_OK) == 0 ? 1 : 0;

    assert_int_equal(certificates_find(env, caller, &found), 0);
    assert_int_equal(found.n, i + 1);
    if (i > 0) {
        assert_string_equal(found.env[0], usual);
        assert_string_equal(found.list[0].target, found.list[0].path);
    }
    assert_string_equal(found.env[i], "PIP_CERT=" BOX_CERTIFICATES "/PIP_CERT.pem");
    assert_string_equal(found.list[i].path, place_path(place, "pip.pem"));
    assert_string_equal(found.env[i + 1], "A=b");
    assert_null(found.env[i + 2]);
    assert_null(found.list[i + 1].path);
    certificates_clear(&found);
}

static void finds_nothing(char *pair)
{
    char *env[] = { pair, NULL };
    struct certificates found;

    assert_int_equal(certificates_find(env, NULL, &found), 0);
    assert_int_equal(found.n, 0);
    assert_null(found.env[0]);
    assert_null(found.list[0].path);
    certificates_clear(&found);
    free(pair);
}

static void test_other_files_are_not_shown(void **state)
{
    struct place *place = *state;

    finds_nothing(name_file(place, "PIP_CERT", "key.pem", PEM KEY, 0644));
    finds_nothing(name_file(place, "PIP_CERT", "no.pem", "root:x:0:0\n", 0644));
    finds_nothing(name_file(place, "PIP_CERT", "empty.pem", "", 0644));
    finds_nothing(name_file(place, "PIP_CERT", "mine.pem", PEM, 0640));
    finds_nothing(name_file(place, "SSL_KEY_FILE", "other.pem", PEM, 0644));
    finds_nothing(strdup("PIP_CERT=/no/such"));
    finds_nothing(strdup("PIP_CERT=/etc"));
    finds_nothing(strdup("PIP_CERT=pip.pem"));
    finds_nothing(strdup("PIP_CERT="));
}

static void test_what_others_cannot_walk_to_is_not_shown(void **state)
{
    struct place *place = *state;
    char *pair = name_file(place, "PIP_CERT", "pip.pem", PEM, 0644);

    assert_int_equal(chmod(place->root, 0700), 0);
    finds_nothing(pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_PLACE(test_files_of_certificates_are_found),
        IN_PLACE(test_other_files_are_not_shown),
        IN_PLACE(test_what_others_cannot_walk_to_is_not_shown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
