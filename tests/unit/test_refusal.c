/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_refusal.c - what the engine says, as errors. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "engine/refusal.h"

#include <cmocka.h>

static void said(const char *body, const char *wanted)
{
    char words[REFUSAL_MAX];

    refusal_words(body, strlen(body), words);
    assert_string_equal(words, wanted);
}

static void test_its_words_are_one_plain_line(void **state)
{
    (void)state;
    said("{\"message\":\"No such image: x\"}\n", "No such image: x");
    said("{\"message\":\"a\\nb\\u001b[31m\\u0000c\\n\"}", "a b?[31m?c");
    said("page not found\n", "page not found");
    said("<html><body>500</body></html>", "");
    said("{\"message\":", "");
    said("{\"message\":17}", "");
    said("[]", "");
    said("", "");
}

static void test_long_words_are_cut(void **state)
{
    char body[2000];
    char words[REFUSAL_MAX];

    (void)state;
    memset(body, 'x', sizeof(body));
    refusal_words(body, sizeof(body), words);
    assert_int_equal(strlen(words), REFUSAL_MAX - 1);
}

static void test_each_status_is_one_error(void **state)
{
    static const struct {
        int status;
        const char *words;
        int code;
        enum gb_blame blame;
        const char *remedy; /* a part of it; NULL: none */
    } table[] = {
        { 400, "bad parameter", -EINVAL, GB_BLAME_CALLER, NULL },
        { 400, "client version 1.51 is too new. Maximum supported API version is 1.41",
          -EPROTONOSUPPORT, GB_BLAME_HOST, "update" },
        { 400, "client version 1.41 is too old. Minimum supported API version is 1.44",
          -EPROTONOSUPPORT, GB_BLAME_HOST, "update" },
        { 400, "Client sent an HTTP request to an HTTPS server.", -EPROTO, GB_BLAME_HOST,
          "DOCKER_TLS_VERIFY=1" },
        { 401, "no", -EACCES, GB_BLAME_CALLER, "login" },
        { 403, "no", -EACCES, GB_BLAME_CALLER, NULL },
        { 404, "No such image: x", -ENOENT, GB_BLAME_CALLER, "pull it" },
        { 409, "in use", -EBUSY, GB_BLAME_CALLER, NULL },
        { 418, "teapot", -EREMOTEIO, GB_BLAME_PEER, "log" },
        { 500, "oops", -EREMOTEIO, GB_BLAME_PEER, "log" },
        { 500, "manifest unknown", -ENOENT, GB_BLAME_CALLER, "pull it" },
        { 500, "unauthorized: go away", -EACCES, GB_BLAME_CALLER, "login" },
        { 500, "the container name \"a\" is already in use by b", -EBUSY, GB_BLAME_CALLER, NULL },
        { 500, "write /x: no space left on device", -EREMOTEIO, GB_BLAME_PEER, "make room" },
        { 503, "starting", -EREMOTEIO, GB_BLAME_PEER, "log" },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(table); i++) {
        struct gb_err err = { 0 };
        int r = refusal_of_status(table[i].status, table[i].words, "pull it", &err);

        assert_int_equal(r, table[i].code);
        assert_int_equal(err.code, r);
        assert_int_equal(err.blame, table[i].blame);
        assert_non_null(strstr(err.msg, table[i].words));
        if (table[i].remedy)
            assert_non_null(strstr(gb_err_remedy(&err), table[i].remedy));
        else
            assert_null(gb_err_remedy(&err));
        assert_int_equal(refusal_of_status(table[i].status, table[i].words, NULL, NULL),
                         table[i].code);
    }
}

/* The words of a failed step are the program's: they decide nothing. */
static void test_sentences_tell_failures_apart(void **state)
{
    static const struct {
        const char *words;
        int code;
        enum gb_blame blame;
    } table[] = {
        { "The command '/bin/sh -c echo unauthorized' returned a non-zero code: 1", -EREMOTEIO,
          GB_BLAME_CALLER },
        { "error building at STEP \"RUN echo no such image\": exit status 1", -EREMOTEIO,
          GB_BLAME_CALLER },
        { "filesystem layer verification failed for digest sha256:00", -EILSEQ, GB_BLAME_PEER },
        { "Get \"http://127.0.0.1:1/v2/\": dial tcp 127.0.0.1:1: connect: connection refused",
          -EHOSTUNREACH, GB_BLAME_HOST },
        { "unauthorized: authentication required", -EACCES, GB_BLAME_CALLER },
        { "unknown: failed to resolve reference: unexpected status: 401 Unauthorized", -EACCES,
          GB_BLAME_CALLER },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(table); i++) {
        struct gb_err err = { 0 };

        assert_int_equal(refusal_of_words(table[i].words, NULL, &err), table[i].code);
        assert_int_equal(err.blame, table[i].blame);
    }
}

static void test_versions_are_read(void **state)
{
    (void)state;
    assert_int_equal(refusal_api_of("1.41"), 41);
    assert_int_equal(refusal_api_of("1.41."), 41);
    assert_int_equal(refusal_api_of("2.0"), 0);
    assert_int_equal(refusal_api_of("1."), 0);
    assert_int_equal(refusal_api_of("1.x"), 0);
    assert_true(refusal_api_of("1.99999999999999999999") < 100000);
    assert_int_equal(refusal_max_api("client version 1.51 is too new. Maximum supported API "
                                     "version is 1.41"),
                     41);
    assert_int_equal(refusal_max_api("Maximum supported API version is 1.41"), 0);
    assert_int_equal(refusal_max_api("too new"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_its_words_are_one_plain_line),
        cmocka_unit_test(test_long_words_are_cut),
        cmocka_unit_test(test_each_status_is_one_error),
        cmocka_unit_test(test_sentences_tell_failures_apart),
        cmocka_unit_test(test_versions_are_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
