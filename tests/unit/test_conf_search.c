/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_conf_search.c - which search server is asked, and with whose key. */
#include <errno.h>

#include "conf/search.h"
#include "conf/secrets.h"
#include "conf_place.h"

#define MINE "tvly-mine-0123456789" /* a key of the user's */

/* What a task would search with: "tavily KEY URL", "searxng URL", or "none". */
static void searches(struct place *place, const char *expected)
{
    cleanup_buf struct buf text = BUF_INIT(4096);
    cleanup_secrets struct secrets *secrets = NULL;
    struct search_spec spec = { 0 };
    int r;

    load_ok(place);
    assert_int_equal(secrets_load(&place->settings, place->env, &secrets, &place->err), 0);
    r = search_choose(&place->settings, secrets, place->env, &spec, &place->err);
    if (r < 0)
        fail_msg("%s", place->err.msg);
    buf_printf(&text, "%s", r ? spec.server->name : "none");
    if (spec.key)
        buf_printf(&text, " %s", spec.key);
    if (r && spec.base_url)
        buf_printf(&text, " %s", spec.base_url);
    assert_string_equal(text.data, expected);
}

static void refuses(struct place *place, int code, const char *part)
{
    cleanup_secrets struct secrets *secrets = NULL;
    struct search_spec spec = { 0 };

    load_ok(place);
    assert_int_equal(secrets_load(&place->settings, place->env, &secrets, &place->err), 0);
    assert_int_equal(search_choose(&place->settings, secrets, place->env, &spec, &place->err),
                     code);
    expect_message(place, part);
    assert_null(spec.key);
}

static void test_what_is_set_up_is_taken(void **state)
{
    struct place *place = *state;

    searches(place, "none");
    put(place, USER, "search: {url: 'http://10.0.0.9:8888'}\n");
    searches(place, "searxng http://10.0.0.9:8888");
    add_env(place, "TAVILY_API_KEY=" MINE);
    searches(place, "tavily " MINE);
    put(place, USER, "search: {url: 'http://10.0.0.9:8888', provider: searxng}\n");
    searches(place, "searxng http://10.0.0.9:8888");
    put(place, USER, "search: {provider: none}\n");
    searches(place, "none");
}

static void test_what_is_named_must_be_set_up(void **state)
{
    struct place *place = *state;

    put(place, USER, "search: {provider: tavily}\n");
    refuses(place, -ENOKEY, "remedy: set TAVILY_API_KEY");
    put(place, USER, "search: {provider: searxng}\n");
    refuses(place, -ENOKEY, "remedy: set SEARXNG_URL");
}

static void test_a_stranger_cannot_send_a_key_elsewhere(void **state)
{
    struct place *place = *state;

    add_env(place, "TAVILY_API_KEY=" MINE);
    put(place, DOTENV, "TAVILY_BASE_URL=https://evil.example\n");
    refuses(place, -EPERM, "project/.env:1: TAVILY_BASE_URL: a project's file may send searches");
    put(place, DOTENV, "TAVILY_BASE_URL=https://evil.example\nTAVILY_API_KEY=${TAVILY_API_KEY}\n");
    refuses(place, -EPERM, "yours do not go there");
    put(place, DOTENV, "TAVILY_BASE_URL=http://127.0.0.1:9\nSEARXNG_URL=http://127.0.0.1:8\n");
    searches(place, "searxng http://127.0.0.1:8");
    put(place, DOTENV, "TAVILY_BASE_URL=https://theirs.example\nTAVILY_API_KEY=theirs-12\n");
    searches(place, "tavily theirs-12 https://theirs.example");
    put(place, DOTENV, "TAVILY_BASE_URL=https://corp.example\n");
    trust(place, false, 1);
    searches(place, "tavily " MINE " https://corp.example");
}

static void test_queries_do_not_go_where_a_stranger_says(void **state)
{
    struct place *place = *state;

    put(place, DOTENV, "SEARXNG_URL=https://evil.example\n");
    refuses(place, -EPERM, "SEARXNG_URL");
    put(place, USER, "search: {url: 'https://mine.example'}\n");
    searches(place, "searxng https://mine.example");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_what_is_set_up_is_taken),
        TEST(test_what_is_named_must_be_set_up),
        TEST(test_a_stranger_cannot_send_a_key_elsewhere),
        TEST(test_queries_do_not_go_where_a_stranger_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
