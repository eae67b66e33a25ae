/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_net_policy.c - rules of a network: read strictly, decided on name and address. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "egress/asked.h"
#include "egress/policy.h"

#include <cmocka.h>

static struct net_policy rules(const char *text)
{
    struct net_policy policy;
    struct gb_err err = { 0 };

    if (net_policy_parse(text, &policy, &err) < 0)
        fail_msg("%s: %s", text, err.msg);
    return policy;
}

static struct net_address address(const char *text)
{
    struct net_address ret;

    assert_true(net_address_parse(text, &ret));
    return ret;
}

static enum net_answer reach(const char *text, const char *name, uint16_t port)
{
    struct net_policy policy = rules(text);
    enum net_answer answer = net_may_reach(&policy, name, port);

    net_policy_clear(&policy);
    return answer;
}

static enum net_answer dial(const char *text, const char *name, const char *to, uint16_t port)
{
    struct net_policy policy = rules(text);
    struct net_address at = address(to);
    enum net_answer answer = net_may_dial(&policy, name, &at, port);

    net_policy_clear(&policy);
    return answer;
}

static void test_a_name_means_itself_and_nothing_near_it(void **state)
{
    (void)state;
    assert_int_equal(reach("example.org", "example.org", 443), NET_YES);
    assert_int_equal(reach("Example.ORG.", "example.org", 443), NET_YES);
    assert_int_equal(reach("example.org", "www.example.org", 443), NET_NOT_LISTED);
    assert_int_equal(reach("example.org", "badexample.org", 443), NET_NOT_LISTED);
    assert_int_equal(reach("example.org", "example.org.evil.net", 443), NET_NOT_LISTED);
    assert_int_equal(reach("example.org", "example.or", 443), NET_NOT_LISTED);
}

static void test_a_star_means_all_below_and_not_the_name_itself(void **state)
{
    (void)state;
    assert_int_equal(reach("*.example.org", "a.example.org", 1), NET_YES);
    assert_int_equal(reach("*.example.org", "a.b.example.org", 1), NET_YES);
    assert_int_equal(reach("*.example.org", "example.org", 1), NET_NOT_LISTED);
    assert_int_equal(reach("*.example.org", "aexample.org", 1), NET_NOT_LISTED);
    assert_int_equal(reach("*.example.org", ".example.org", 1), NET_NOT_LISTED);
}

static void test_a_port_narrows(void **state)
{
    (void)state;
    assert_int_equal(reach("example.org:443", "example.org", 443), NET_YES);
    assert_int_equal(reach("example.org:443", "example.org", 80), NET_NOT_LISTED);
    assert_int_equal(reach("example.org:443,example.org:80", "example.org", 80), NET_YES);
    assert_int_equal(reach("example.org", "example.org", 0), NET_NOT_LISTED);
    assert_int_equal(reach("none", "example.org", 80), NET_NO_NETWORK);
    assert_int_equal(reach("full", "example.org", 80), NET_YES);
    assert_int_equal(reach("db:5432", "db", 5432), NET_YES);
}

static void test_a_name_that_could_be_an_address_is_none(void **state)
{
    static const char *const names[] = { "127.1",   "2130706433",   "0x7f.1",    "0x7f000001",
                                         "1.2.3.4", "017700000001", "example.1", "a.0xff" };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(names); i++) {
        struct net_policy policy = rules("full");

        assert_int_equal(net_may_ask(&policy, names[i]), NET_NO_NAME);
        net_policy_clear(&policy);
    }
}

static void test_what_is_no_public_address_is_never_dialled_by_its_name(void **state)
{
    static const char *const addresses[] = {
        "127.0.0.1",
        "127.255.255.254",
        "0.0.0.0",
        "10.0.0.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "100.100.100.200",
        "100.127.255.255",
        "192.0.0.192",
        "192.0.2.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.7",
        "203.0.113.9",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::7f00:1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "2001::1",
        "fd00:ec2::254",
        "fe80::1",
        "ff02::1",
        "2001:db8::1",
        "fc00::1",
        "64:ff9b:1::1",
        "64:ff9b:1:ffff:ffff:ffff:ffff:ffff",
        "64:ff9b::169.254.169.254",
        "100::1",
        "100:0:0:1::1",
        /* SIIT, by which translators of the host carry IPv4. */
        "::ffff:0:127.0.0.1",
        "::ffff:0:169.254.169.254",
        "::ffff:0:a00:1",
        /* Given out to nobody. */
        "1fff:ffff::1",
        "4000::1",
        "8000::1",
        "::2:0:0:0",
        "2001:0:4136:e378:8000:63bf:3fff:fdd2",
        "2001:1ff:ffff::1",
        "2001:20::1",
        "2002:a9fe:a9fe::1",
        "3fff::1",
        "3fff:fff::1",
        "5f00::1",
        "fec0::1",
        "febf::1",
        "ff0e::1",
        "168.63.129.16",
        "192.88.99.1",
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(addresses); i++) {
        assert_int_equal(dial("full", "example.org", addresses[i], 80), NET_NOT_PUBLIC);
        assert_int_equal(dial("full", NULL, addresses[i], 80), NET_NOT_PUBLIC);
        assert_int_equal(dial("example.org", "example.org", addresses[i], 80), NET_NOT_PUBLIC);
    }
}

static void test_public_addresses_are(void **state)
{
    static const char *const addresses[] = {
        "1.1.1.1",     "9.255.255.255", "11.0.0.0",       "100.63.255.255", "100.128.0.0",
        "126.1.1.1",   "128.0.0.1",     "169.253.1.1",    "172.15.255.255", "172.32.0.0",
        "192.167.1.1", "198.17.1.1",    "198.20.0.0",     "223.255.255.1",  "2606:4700::1111",
        "2a00::1",     "2003::1",       "168.63.129.15",  "168.63.129.17",  "2001:200::1",
        "2001:db7::1", "3ffe::1",       "2620:4f:8000::1"
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(addresses); i++) {
        assert_int_equal(dial("full", NULL, addresses[i], 80), NET_YES);
        assert_int_equal(dial("example.org", "example.org", addresses[i], 80), NET_YES);
        assert_int_equal(dial("example.org", NULL, addresses[i], 80), NET_NOT_LISTED);
    }
}

static void test_an_address_that_is_listed_may_be_private(void **state)
{
    (void)state;
    assert_int_equal(dial("10.1.0.0/16", NULL, "10.1.255.255", 80), NET_YES);
    assert_int_equal(dial("10.1.0.0/16", NULL, "10.2.0.0", 80), NET_NOT_PUBLIC);
    assert_int_equal(dial("10.2.0.0/15", NULL, "10.1.255.255", 80), NET_NOT_PUBLIC);
    assert_int_equal(dial("127.0.0.1:8080", NULL, "127.0.0.1", 8080), NET_YES);
    assert_int_equal(dial("127.0.0.1:8080", NULL, "127.0.0.1", 8081), NET_NOT_PUBLIC);
    assert_int_equal(dial("127.0.0.1:8080", NULL, "::ffff:127.0.0.1", 8080), NET_YES);
    assert_int_equal(dial("[fd00::1]:80", NULL, "fd00::1", 80), NET_YES);
    assert_int_equal(dial("fd00::/64", "intern", "fd00::2", 80), NET_YES);
    assert_int_equal(dial("full,192.168.0.0/24", "example.org", "192.168.0.9", 80), NET_YES);
}

static void test_bad_rules_are_one_clear_line(void **state)
{
    static const char *const bad[] = {
        "",
        ",",
        "a.org,",
        " a.org",
        "a.org b.org",
        "a..org",
        ".a.org",
        "*",
        "*.",
        "*.*.org",
        "a.*.org",
        "a.org:0",
        "a.org:65536",
        "a.org:",
        "a.org:http",
        "a.org:1:2",
        "10.0.0.0/33",
        "10.0.0.1/8",
        "1.2.3",
        "0x7f.1",
        "[::1",
        "[::1]80",
        "[1.2.3.4]:80",
        "::1/129",
        "fd00::1/64",
        "http://a",
        "a.org/path",
        "user@a.org",
        "a.org:-1",
        "full,none x",
        "\xc3\xa4.org",
        "a\x01.org",
        "a.org:+80",
        "[a.org]:80",
        "-",
        "none,",
        "host",
        "all",
        "ful",
        "db",
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
        struct net_policy policy;
        struct gb_err err = { 0 };
        int r = net_policy_parse(bad[i], &policy, &err);

        if (r == 0)
            fail_msg("'%s' was taken", bad[i]);
        assert_int_equal(r, -EINVAL);
        assert_int_equal(err.blame, GB_BLAME_CALLER);
        assert_null(policy.rules);
    }
}

static void test_names_are_clean_or_none(void **state)
{
    char name[NET_NAME_MAX + 1];
    char longest[NET_NAME_MAX + 2];

    (void)state;
    assert_true(host_name_clean("WWW.Example.org.", 16, name));
    assert_string_equal(name, "www.example.org");
    assert_true(host_name_clean("_srv._tcp.a-b.org", 17, name));
    assert_false(host_name_clean("a\0b.org", 7, name));
    assert_false(host_name_clean("a.org..", 7, name));
    assert_false(host_name_clean(".", 1, name));
    assert_false(host_name_clean("", 0, name));
    memset(longest, 'a', sizeof(longest));
    assert_false(host_name_clean(longest, 64, name));
    assert_true(host_name_clean(longest, 63, name));
    for (size_t i = 50; i < sizeof(longest); i += 50)
        longest[i] = '.';
    assert_true(host_name_clean(longest, NET_NAME_MAX, name));
    assert_false(host_name_clean(longest, NET_NAME_MAX + 1, name));
}

static bool covered(const char *text, const char *wanted)
{
    struct net_policy policy = rules(text);
    struct net_rule rule;
    bool is_covered;

    assert_int_equal(net_rule_parse(wanted, &rule, NULL), 0);
    is_covered = net_policy_covers(&policy, &rule);
    net_policy_clear(&policy);
    return is_covered;
}

static void test_a_rule_is_covered_by_one_that_allows_all_of_it(void **state)
{
    (void)state;
    assert_true(covered("example.org", "example.org:443"));
    assert_true(covered("example.org:443", "EXAMPLE.org:443"));
    assert_false(covered("example.org:443", "example.org"));
    assert_false(covered("example.org:443", "example.org:80"));
    assert_true(covered("*.example.org", "a.b.example.org"));
    assert_false(covered("*.example.org", "example.org"));
    assert_true(covered("*.example.org", "*.a.example.org:80"));
    assert_true(covered("*.example.org", "*.example.org"));
    assert_false(covered("a.example.org", "*.example.org"));
    assert_true(covered("10.0.0.0/8", "10.1.0.0/16"));
    assert_true(covered("10.0.0.0/8:80", "10.1.2.3:80"));
    assert_false(covered("10.1.0.0/16", "10.0.0.0/8"));
    assert_false(covered("10.1.0.0/16", "10.2.0.1"));
    assert_false(covered("none", "example.org"));
}

static void test_what_is_denied_is_named_by_the_same_rules(void **state)
{
    struct net_policy denied = rules("bad.org,*.bad.org,half.org:443,10.1.0.0/16,full.org");
    struct net_policy all = rules("full");
    struct net_rule rule;

    (void)state;
    assert_true(net_denies(&denied, "bad.org", 0) && net_denies(&denied, "a.b.bad.org", 80));
    assert_true(net_denies(&denied, "half.org", 443));
    assert_false(net_denies(&denied, "half.org", 80));
    assert_false(net_denies(&denied, "half.org", 0)); /* it may be looked up for another port */
    assert_false(net_denies(&denied, "notbad.org", 80) || net_denies(&denied, "org", 80));
    assert_true(net_denies(&all, "any.org", 0));
    assert_int_equal(net_rule_parse("10.1.2.0/24", &rule, NULL), 0);
    assert_true(net_denies_rule(&denied, &rule) && net_denies_rule(&all, &rule));
    assert_int_equal(net_rule_parse("10.0.0.0/8", &rule, NULL), 0);
    assert_false(net_denies_rule(&denied, &rule));
    assert_int_equal(net_rule_parse("half.org", &rule, NULL), 0);
    assert_false(net_denies_rule(&denied, &rule));
    net_policy_clear(&denied);
    net_policy_clear(&all);
}

static void test_full_covers_names_and_public_addresses_alone(void **state)
{
    (void)state;
    assert_true(covered("full", "example.org"));
    assert_true(covered("full", "*.example.org:443"));
    assert_true(covered("full", "9.9.9.9:53"));
    assert_false(covered("full", "127.0.0.1:80"));
    assert_false(covered("full", "169.254.169.254"));
    assert_false(covered("full", "0.0.0.0/0"));
    assert_true(covered("full,127.0.0.1:80", "127.0.0.1:80"));
}

static void test_one_rule_is_no_word(void **state)
{
    static const char *const wrong[] = { "*", "full", "none", "", "a.org,b.org", "http://a.org" };
    struct net_rule rule;

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(wrong); i++)
        assert_int_equal(net_rule_parse(wrong[i], &rule, NULL), -EINVAL);
}

static void test_so_many_names_are_asked_for_and_no_more(void **state)
{
    struct asked asked = { 0 };

    (void)state;
    assert_true(asked_take(&asked, "a.org", 2));
    assert_true(asked_take(&asked, "b.org", 2));
    assert_false(asked_take(&asked, "c.org", 2));
    assert_true(asked_take(&asked, "a.org", 2));
    assert_int_equal(asked.n, 2);
    asked_clear(&asked);
    assert_false(asked_take(&asked, "a.org", 0));
    asked_clear(&asked);
}

static void test_a_name_is_listed_by_itself_or_it_is_not(void **state)
{
    struct net_policy policy = rules("full,a.org,*.b.org,c.org:80");

    (void)state;
    assert_true(net_lists_name(&policy, "a.org"));
    assert_true(net_lists_name(&policy, "c.org"));
    assert_false(net_lists_name(&policy, "x.b.org"));
    assert_false(net_lists_name(&policy, "b.org"));
    assert_false(net_lists_name(&policy, "x.a.org"));
    net_policy_clear(&policy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_name_means_itself_and_nothing_near_it),
        cmocka_unit_test(test_a_star_means_all_below_and_not_the_name_itself),
        cmocka_unit_test(test_a_port_narrows),
        cmocka_unit_test(test_a_name_that_could_be_an_address_is_none),
        cmocka_unit_test(test_what_is_no_public_address_is_never_dialled_by_its_name),
        cmocka_unit_test(test_public_addresses_are),
        cmocka_unit_test(test_an_address_that_is_listed_may_be_private),
        cmocka_unit_test(test_bad_rules_are_one_clear_line),
        cmocka_unit_test(test_names_are_clean_or_none),
        cmocka_unit_test(test_so_many_names_are_asked_for_and_no_more),
        cmocka_unit_test(test_a_name_is_listed_by_itself_or_it_is_not),
        cmocka_unit_test(test_a_rule_is_covered_by_one_that_allows_all_of_it),
        cmocka_unit_test(test_what_is_denied_is_named_by_the_same_rules),
        cmocka_unit_test(test_full_covers_names_and_public_addresses_alone),
        cmocka_unit_test(test_one_rule_is_no_word),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
