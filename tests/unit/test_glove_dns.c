/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_glove_dns.c - questions for names, their answers, and the addresses that stand
 * for names. */
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "glove/dns.h"
#include "glove/names.h"

#include <cmocka.h>

#define HEAD "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"
#define IN_A "\x00\x01\x00\x01"

static int read_text(const char *text, size_t len, struct dns_question *ret)
{
    return dns_read((const uint8_t *)text, len, ret);
}
#define READ(text, ret) read_text(text, sizeof(text) - 1, ret)

static void test_a_question_is_read(void **state)
{
    struct dns_question q;

    (void)state;
    assert_int_equal(READ(HEAD "\x03WWW\x07"
                               "Example\x03org\0" IN_A,
                          &q),
                     0);
    assert_string_equal(q.name, "www.example.org");
    assert_true(q.wants_address);
    assert_int_equal(q.len, 12 + 17 + 4);
    /* More behind it, as EDNS has, is passed over. */
    assert_int_equal(READ(HEAD "\x01"
                               "a\0" IN_A "\0\0\x29\x10\0\0\0\0\0\0\0",
                          &q),
                     0);
    assert_int_equal(q.len, 12 + 3 + 4);
    assert_int_equal(READ(HEAD "\x01"
                               "a\0\x00\x1c\x00\x01",
                          &q),
                     0);
    assert_false(q.wants_address);
}

static void test_what_is_no_question(void **state)
{
    struct dns_question q;
    char longest[300] = HEAD;

    (void)state;
    assert_int_equal(READ("", &q), -EBADMSG);
    assert_int_equal(read_text(HEAD, 11, &q), -EBADMSG);
    assert_int_equal(READ("\x12\x34\x81\x00\x00\x01\0\0\0\0\0\0\x01"
                          "a\0" IN_A,
                          &q),
                     -EBADMSG); /* an answer */
    assert_int_equal(READ("\x12\x34\x28\x00\x00\x01\0\0\0\0\0\0\x01"
                          "a\0" IN_A,
                          &q),
                     DNS_NOT_DONE);
    assert_int_equal(READ("\x12\x34\x01\x00\x00\x02\0\0\0\0\0\0\x01"
                          "a\0" IN_A,
                          &q),
                     DNS_FORMAT);
    assert_int_equal(READ(HEAD, &q), DNS_FORMAT);
    assert_int_equal(READ(HEAD "\0" IN_A, &q), DNS_FORMAT);
    assert_int_equal(READ(HEAD "\x05"
                               "abc",
                          &q),
                     DNS_FORMAT);
    assert_int_equal(READ(HEAD "\x01"
                               "a\0\x00\x01",
                          &q),
                     DNS_FORMAT);
    assert_int_equal(READ(HEAD "\xc0\x0c" IN_A, &q), DNS_FORMAT);
    assert_int_equal(READ(HEAD "\x40"
                               "a\0" IN_A,
                          &q),
                     DNS_FORMAT);
    for (size_t i = 12; i + 4 < sizeof(longest); i += 4)
        memcpy(longest + i,
               "\x03"
               "abc",
               4);
    assert_int_equal(read_text(longest, sizeof(longest), &q), DNS_FORMAT);
}

static void test_names_that_no_host_can_have(void **state)
{
    struct dns_question q;

    (void)state;
    assert_int_equal(READ(HEAD "\x03"
                               "a\0b\0" IN_A,
                          &q),
                     DNS_NO_NAME);
    assert_int_equal(READ(HEAD "\x03"
                               "a.b\0" IN_A,
                          &q),
                     DNS_NO_NAME);
    assert_int_equal(READ(HEAD "\x02\xc3\xa4\0" IN_A, &q), DNS_NO_NAME);
    assert_int_equal(q.len, 12 + 4 + 4); /* it can be answered all the same */
}

static void test_answers(void **state)
{
    static const char question[] = HEAD "\x01"
                                        "a\0" IN_A "behind";
    uint8_t answer[DNS_ANSWER_MAX];
    uint32_t address = htonl(0xc6120001);
    struct dns_question q;

    (void)state;
    assert_int_equal(READ(question, &q), 0);
    assert_int_equal(dns_write((const uint8_t *)question, &q, DNS_OK, &address, answer),
                     12 + 7 + 16);
    assert_memory_equal(answer,
                        "\x12\x34\x81\x80\0\x01\0\x01\0\0\0\0\x01"
                        "a\0" IN_A "\xc0\x0c\0\x01\0\x01\0\0\0\x1e\0\x04\xc6\x12\0\x01",
                        12 + 7 + 16);
    assert_int_equal(dns_write((const uint8_t *)question, &q, DNS_NO_NAME, NULL, answer), 12 + 7);
    assert_int_equal(answer[3], 0x83);
    assert_int_equal(answer[7], 0);
}

static void test_a_name_keeps_its_address(void **state)
{
    static struct names names;
    char name[16];
    uint32_t first = names_give(&names, "a.org");

    (void)state;
    assert_int_equal(ntohl(first), 0xc6120001);
    assert_int_equal(names_give(&names, "a.org"), first);
    assert_int_not_equal(names_give(&names, "b.org"), first);
    assert_string_equal(names_find(&names, first), "a.org");
    assert_null(names_find(&names, htonl(0xc6120003)));
    assert_null(names_find(&names, htonl(0xc6120000)));
    assert_null(names_find(&names, htonl(0x08080808)));
    for (int i = 0; i < NAMES_MAX - 2; i++) {
        (void)snprintf(name, sizeof(name), "n%d", i);
        assert_int_not_equal(names_give(&names, name), 0);
    }
    assert_int_equal(names_give(&names, "one.too.many"), 0);
    assert_int_equal(names_give(&names, "a.org"), first);
    assert_string_equal(names_find(&names, first), "a.org");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_question_is_read),
        cmocka_unit_test(test_what_is_no_question),
        cmocka_unit_test(test_names_that_no_host_can_have),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_a_name_keeps_its_address),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
