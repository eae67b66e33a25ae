/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_package_index.c - where packages come from: configuration, addresses, secrets. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "conf/indexes.h"
#include "egress/resolve.h"
#include "package/config_text.h"
#include "package/diagnosis.h"
#include "package/index.h"

#include <cmocka.h>

static int add_row(void *user, const char *section, const char *key, const char *value)
{
    (void)buf_printf(user, "[%s]%s=%s|", section, key, value);
    return 0;
}

static void test_texts_of_pip_and_npm(void **state)
{
    static const char pip[] = "; c\n[global]\nindex_url = https://a/simple\nExtra-Index-Url =\n"
                              "   https://b\n   https://c\n# c\n[install]\ncert: /x\n";
    static const char npm[] =
        "registry = \"https://r/\"\n;c\n//r/:_authToken=${T}\nflag\n@s:registry=x";
    cleanup_buf struct buf out = BUF_INIT(4096);

    (void)state;
    assert_int_equal(config_text_pip(pip, sizeof(pip) - 1, add_row, &out), 0);
    assert_string_equal(out.data, "[global]index-url=https://a/simple|"
                                  "[global]extra-index-url=https://b\nhttps://c|[install]cert=/x|");
    buf_reset(&out);
    assert_int_equal(config_text_npm(npm, sizeof(npm) - 1, add_row, &out), 0);
    assert_string_equal(out.data, "[]registry=https://r/|[]//r/:_authToken=${T}|[]flag=|"
                                  "[]@s:registry=x|");
}

static void test_an_address_is_taken_apart(void **state)
{
    struct index_url url;

    (void)state;
    assert_int_equal(index_url_parse("https://u:p%40ss@Host.example:8443/simple/", &url, NULL), 0);
    assert_string_equal(url.clean, "https://Host.example:8443/simple/");
    assert_string_equal(url.host, "host.example");
    assert_int_equal(url.port, 8443);
    assert_true(url.has_credentials && !url.is_loopback);
    index_url_clear(&url);
    assert_int_equal(index_url_parse("http://127.0.0.1:80/x", &url, NULL), 0);
    assert_true(url.is_loopback && !url.has_credentials);
    index_url_clear(&url);
}

static void test_bad_addresses_are_refused_without_their_secrets(void **state)
{
    static const char *const rows[] = {
        "ftp://user:hunter2222@h/",    "//user:hunter2222@h/",
        "https://user:hunter2222@/",   "https://user:hunter2222@h:99999",
        "https://u:hunter2222@[::1]/", "https://user:hunter2222@h h/",
        "file:///hunter2222",          "https://u:hunter2222@a..b/",
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        struct index_url url;
        struct gb_err err = { 0 };

        assert_true(index_url_parse(rows[i], &url, &err) < 0);
        assert_null(strstr(err.msg, "hunter2222"));
    }
}

static void test_secrets_are_masked_as_written_and_as_meant(void **state)
{
    struct package_index index = { .kind = PACKAGE_PYTHON };
    cleanup_buf struct buf out = BUF_INIT(4096);
    static const char text[] = "GET https://u:p%40ssword@h/ p@ssword";

    (void)state;
    assert_int_equal(index_add_url(&index, "https://u:p%40ssword@h/simple", NULL), 0);
    assert_true(index_is_guarded(&index));
    assert_int_equal(index_mask(&index, text, sizeof(text) - 1, &out), 0);
    assert_string_equal(out.data, "GET https://u:***@h/ ***");
    assert_true(index_leaks(&index, "xx p@ssword", 11));
    assert_false(index_leaks(&index, "xx password", 11));
    index_clear(&index);
}

static void test_a_short_password_is_guarded_too(void **state)
{
    struct package_index index = { .kind = PACKAGE_PYTHON };

    (void)state;
    assert_int_equal(index_add_url(&index, "https://h/simple", NULL), 0);
    assert_false(index_is_guarded(&index));
    assert_int_equal(index_add_url(&index, "https://u:p@h/simple", NULL), 0);
    assert_true(index_is_guarded(&index));
    index_clear(&index);
}

static void test_a_box_writes_a_name_for_this_machine(void **state)
{
    struct package_index index = { .kind = PACKAGE_PYTHON };
    struct net_policy policy;
    struct net_address here;
    cleanup_buf struct buf out = BUF_INIT(4096);
    const char *name = "127-0-0-1" RESOLVE_ADDRESS_NAMES;

    (void)state;
    assert_int_equal(index_add_url(&index, "http://u:secret@localhost:8080/simple", NULL), 0);
    assert_int_equal(index_url_in_box(&index.urls[0], &out), 0);
    assert_string_equal(out.data, "http://u:secret@127-0-0-1.address.internal:8080/simple");
    assert_int_equal(index_policy(&index, "more.example:443", &policy, NULL), 0);
    assert_true(net_address_parse("127.0.0.1", &here));
    assert_int_equal(net_may_reach(&policy, name, 8080), NET_YES);
    assert_int_equal(net_may_dial(&policy, name, &here, 8080), NET_YES);
    assert_int_equal(net_may_dial(&policy, name, &here, 22), NET_NOT_PUBLIC);
    assert_int_equal(net_may_reach(&policy, name, 22), NET_NOT_LISTED);
    assert_int_equal(net_may_reach(&policy, "more.example", 443), NET_YES);
    assert_int_equal(net_may_reach(&policy, "evil.example", 443), NET_NOT_LISTED);
    net_policy_clear(&policy);
    index_clear(&index);
}

static void test_names_that_stand_for_addresses(void **state)
{
    struct net_address address;
    char text[NET_ADDRESS_TEXT_MAX];

    (void)state;
    assert_true(resolve_address_of("10-1-2-3.address.internal", &address));
    assert_string_equal(net_address_text(&address, text), "10.1.2.3");
    assert_false(resolve_address_of("10.1.2.3.address.internal", &address));
    assert_false(resolve_address_of("10-1-2.address.internal", &address));
    assert_false(resolve_address_of("10-1-2-256.address.internal", &address));
    assert_false(resolve_address_of("x10-1-2-3.address.internal", &address));
    assert_false(resolve_address_of(".address.internal", &address));
    assert_false(resolve_address_of("10-1-2-3.address.internal.evil.org", &address));
}

/* ---- as pip and npm are set up -------------------------------------------------------------- */

static void write_file(const char *dir, const char *name, const char *text)
{
    char path[256];
    cleanup_close int fd = -1;

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(fd_write_full(fd, text, strlen(text)), 0);
}

static void test_variables_beat_the_files_of_pip(void **state)
{
    char dir[] = "/tmp/gb-index-XXXXXX";
    char home[64];
    char config[96];
    char *env[] = { home, config, strdup("PIP_EXTRA_INDEX_URL=https://d https://e"), NULL };
    struct package_index index = { 0 };
    struct gb_err err = { 0 };

    (void)state;
    assert_non_null(mkdtemp(dir));
    (void)snprintf(home, sizeof(home), "HOME=%s", dir);
    (void)snprintf(config, sizeof(config), "PIP_CONFIG_FILE=%s/own.conf", dir);
    write_file(dir, "own.conf",
               "[install]\nindex-url=https://t:oken@b/simple\n[global]\nindex-url=https://a\n"
               "extra-index-url=https://x\ncert=/ca.pem\ntrusted-host=b\n");
    assert_int_equal(indexes_load(PACKAGE_PYTHON, env, &index, &err), 0);
    assert_int_equal(index.n_urls, 3);
    assert_string_equal(index.urls[0].clean, "https://b/simple");
    assert_string_equal(index.urls[1].clean, "https://d");
    assert_string_equal(index.urls[2].clean, "https://e");
    assert_string_equal(index.ca_file, "/ca.pem");
    assert_string_equal(index.trusted_hosts, "b");
    assert_int_equal(index.n_secrets, 1);
    index_clear(&index);
    (void)unlink(strchr(config, '=') + 1);
    (void)rmdir(dir);
    free(env[2]);
}

static void test_tokens_and_scopes_of_npm(void **state)
{
    char dir[] = "/tmp/gb-index-XXXXXX";
    char home[64];
    char path[96];
    char *env[] = { home, strdup("TOKEN=tok-12345"), NULL };
    struct package_index index = { 0 };
    struct gb_err err = { 0 };

    (void)state;
    assert_non_null(mkdtemp(dir));
    (void)snprintf(home, sizeof(home), "HOME=%s", dir);
    write_file(dir, ".npmrc",
               "registry=http://127.0.0.1:4873/\n//127.0.0.1:4873/:_authToken=${TOKEN}\n"
               "@corp:registry=https://npm.corp.example/\ncafile=/ca.pem\nfund=false\n");
    assert_int_equal(indexes_load(PACKAGE_NODE, env, &index, &err), 0);
    assert_int_equal(index.n_urls, 2);
    assert_string_equal(index.urls[0].clean, "http://127.0.0.1:4873/");
    assert_string_equal(index.urls[1].clean, "https://npm.corp.example/");
    assert_non_null(
        strstr(index.npm_lines, "//127-0-0-1.address.internal:4873/:_authToken=tok-12345\n"));
    assert_non_null(strstr(index.npm_lines, "@corp:registry=https://npm.corp.example:443/\n"));
    assert_null(strstr(index.npm_lines, "fund"));
    assert_true(index_leaks(&index, "tok-12345", 9));
    index_clear(&index);
    (void)snprintf(path, sizeof(path), "%s/.npmrc", dir);
    (void)unlink(path);
    (void)rmdir(dir);
    free(env[1]);
}

static void test_each_index_has_the_proxy_or_not(void **state)
{
    char *env[] = { (char[]){ "PIP_CONFIG_FILE=/dev/null" },
                    (char[]){ "PIP_INDEX_URL=https://far.test/simple" },
                    (char[]){ "PIP_EXTRA_INDEX_URL=https://a.near.test/x http://127.0.0.1:8080/y" },
                    (char[]){ "HTTPS_PROXY=http://proxy.test:3128" },
                    (char[]){ "NO_PROXY=.near.test" },
                    NULL };
    char *npm[] = { (char[]){ "npm_config_registry=https://far.test/" },
                    (char[]){ "npm_config_proxy=http://proxy.test:3128" },
                    (char[]){ "npm_config_noproxy=far.test" },
                    (char[]){ "npm_config_userconfig=/dev/null" }, NULL };
    struct package_index index = { 0 };
    cleanup_buf struct buf direct = BUF_INIT(1000);

    (void)state;
    assert_int_equal(indexes_load(PACKAGE_PYTHON, env, &index, NULL), 0);
    assert_string_equal(index.proxy.host, "proxy.test");
    assert_int_equal(index_direct_in_box(&index, &direct), 0);
    assert_string_equal(direct.data, "a.near.test,127-0-0-1.address.internal");
    index_clear(&index);
    assert_int_equal(indexes_load(PACKAGE_NODE, npm, &index, NULL), 0);
    assert_null(index.proxy.clean);
    index_clear(&index);
    npm[2] = (char[]){ "npm_config_noproxy=other.test" };
    assert_int_equal(indexes_load(PACKAGE_NODE, npm, &index, NULL), 0);
    assert_string_equal(index.proxy.host, "proxy.test");
    index_clear(&index);
}

static void test_no_file_of_pips_is_read_where_the_null_device_is_named(void **state)
{
    char home[] = "/tmp/gb-pip-XXXXXX";
    char path[64];
    char home_text[80];
    char *env[] = { home_text, NULL, NULL };
    struct package_index index = { 0 };
    FILE *file;

    (void)state;
    assert_non_null(mkdtemp(home));
    (void)snprintf(home_text, sizeof(home_text), "HOME=%s", home);
    (void)snprintf(path, sizeof(path), "%s/.pip", home);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof(path), "%s/.pip/pip.conf", home);
    file = fopen(path, "we");
    assert_non_null(file);
    (void)fputs("[global]\nproxy = http://from.file:1\n", file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(indexes_load(PACKAGE_PYTHON, env, &index, NULL), 0);
    assert_string_equal(index.proxy.host, "from.file");
    index_clear(&index);
    env[1] = (char[]){ "PIP_CONFIG_FILE=/dev/null" };
    assert_int_equal(indexes_load(PACKAGE_PYTHON, env, &index, NULL), 0);
    assert_null(index.proxy.clean);
    index_clear(&index);
    assert_int_equal(unlink(path), 0);
    *strrchr(path, '/') = '\0';
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(home), 0);
}

static void test_a_proxy_is_not_for_what_is_near(void **state)
{
    char *far[] = { (char[]){ "HTTPS_PROXY=http://u:passw@proxy.example:3128" },
                    (char[]){ "HOME=/nonexistent" }, (char[]){ "PIP_CONFIG_FILE=/dev/null" },
                    (char[]){ "PIP_INDEX_URL=https://index.example/simple" }, NULL };
    char *near[] = {
        far[0], far[1], far[2], far[3], (char[]){ "NO_PROXY=localhost,.example" }, NULL
    };
    struct package_index index = { 0 };

    (void)state;
    assert_int_equal(indexes_load(PACKAGE_PYTHON, far, &index, NULL), 0);
    assert_string_equal(index.proxy.host, "proxy.example");
    assert_true(index_is_guarded(&index));
    index_clear(&index);
    assert_int_equal(indexes_load(PACKAGE_PYTHON, near, &index, NULL), 0);
    assert_null(index.proxy.clean);
    assert_false(index_is_guarded(&index));
    index_clear(&index);
}

/* ---- why ------------------------------------------------------------------------------------ */

static void test_reasons_are_told_apart(void **state)
{
    static const struct {
        enum package_kind kind;
        const char *output;
        const char *name;
    } rows[] = {
        { PACKAGE_PYTHON,
          "ERROR: Could not find a version that satisfies the requirement nosuch (from versions: "
          "none)\nERROR: No matching distribution found for nosuch\n",
          "no_such_package" },
        { PACKAGE_PYTHON,
          "ERROR: Could not find a version that satisfies the requirement x>9 (from versions: "
          "1.0, 2.0)\nERROR: No matching distribution found for x>9\n",
          "no_version" },
        { PACKAGE_PYTHON,
          "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError(...'\n"
          "ERROR: Could not find a version (from versions: none)\nERROR: No matching distribution",
          "unreachable" },
        { PACKAGE_PYTHON,
          "Skipping link: No sources permitted for x: http://h/x.tar.gz\n"
          "ERROR: No matching distribution found for x\n",
          "needs_build" },
        { PACKAGE_PYTHON,
          "Could not fetch URL http://h/simple/x/: 401 Client Error: Unauthorized for url - "
          "skipping\nERROR: No matching distribution found for x (from versions: none)\n",
          "credentials" },
        { PACKAGE_PYTHON, "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM", "hash_mismatch" },
        { PACKAGE_PYTHON, "OSError: [Errno 28] No space left on device", "disk_full" },
        { PACKAGE_PYTHON, "SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED]",
          "certificate" },
        { PACKAGE_PYTHON, "/usr/bin/python3: No module named pip", "no_installer" },
        { PACKAGE_PYTHON, "error: metadata-generation-failed", "build_failed" },
        { PACKAGE_PYTHON, "what is this", "failed" },
        { PACKAGE_NODE, "npm error code E404", "no_such_package" },
        { PACKAGE_NODE, "npm error code ETARGET", "no_version" },
        { PACKAGE_NODE, "npm error code EINTEGRITY", "hash_mismatch" },
        { PACKAGE_NODE, "npm error code ECONNREFUSED", "unreachable" },
        { PACKAGE_NODE, "npm error code ERESOLVE", "conflict" },
        { PACKAGE_NODE, "", "failed" },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        const struct package_diagnosis *why =
            diagnosis_of(rows[i].kind, rows[i].output, strlen(rows[i].output));

        assert_string_equal(why->name, rows[i].name);
        assert_true(why->code < 0);
    }
    assert_null(diagnosis_named("nothing"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts_of_pip_and_npm),
        cmocka_unit_test(test_an_address_is_taken_apart),
        cmocka_unit_test(test_bad_addresses_are_refused_without_their_secrets),
        cmocka_unit_test(test_secrets_are_masked_as_written_and_as_meant),
        cmocka_unit_test(test_a_short_password_is_guarded_too),
        cmocka_unit_test(test_a_box_writes_a_name_for_this_machine),
        cmocka_unit_test(test_names_that_stand_for_addresses),
        cmocka_unit_test(test_variables_beat_the_files_of_pip),
        cmocka_unit_test(test_tokens_and_scopes_of_npm),
        cmocka_unit_test(test_each_index_has_the_proxy_or_not),
        cmocka_unit_test(test_no_file_of_pips_is_read_where_the_null_device_is_named),
        cmocka_unit_test(test_a_proxy_is_not_for_what_is_near),
        cmocka_unit_test(test_reasons_are_told_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
