/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_model_providers.c - who is chosen, where it is asked, what it costs, what it lacks. */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "model/fault.h"
#include "model/model.h"
#include "model/params.h"
#include "model/prices.h"
#include "model/providers.h"

#include <cmocka.h>

/* ---- choosing ------------------------------------------------------------------------------- */

/* Pairs of name and value. */
static const char *lookup(void *user, const char *name)
{
    for (const char *const *pair = user; *pair; pair += 2)
        if (strcmp(pair[0], name) == 0)
            return pair[1];
    return NULL;
}

static const char *chosen(const char **env, struct provider_choice *choice)
{
    return provider_choose(lookup, env, choice) ? choice->provider->name : NULL;
}

static void the_first_provider_with_a_key_is_chosen(void **state)
{
    const char *both[] = { "ANTHROPIC_API_KEY", "a", "GROQ_API_KEY", "g", NULL };
    const char *all[] = { "GROQ_API_KEY", "g", "OPENAI_API_KEY", "o", NULL };
    struct provider_choice choice;

    (void)state;
    assert_string_equal(chosen(both, &choice), "groq");
    assert_string_equal(choice.key, "g");
    assert_string_equal(choice.key_env, "GROQ_API_KEY");
    assert_string_equal(chosen(all, &choice), "openai");
}

static void an_empty_variable_is_not_set(void **state)
{
    const char *env[] = { "OPENAI_API_KEY", "", "GEMINI_API_KEY", "k", NULL };
    struct provider_choice choice;

    (void)state;
    assert_string_equal(chosen(env, &choice), "gemini");
    assert_string_equal(choice.key_env, "GEMINI_API_KEY");
}

static void google_s_name_goes_before_gemini_s(void **state)
{
    const char *env[] = { "GEMINI_API_KEY", "second", "GOOGLE_API_KEY", "first", NULL };
    struct provider_choice choice;

    (void)state;
    assert_string_equal(chosen(env, &choice), "gemini");
    assert_string_equal(choice.key, "first");
}

static void a_token_of_anthropic_is_a_bearer_s(void **state)
{
    const char *token[] = { "ANTHROPIC_AUTH_TOKEN", "t", NULL };
    const char *key[] = { "ANTHROPIC_AUTH_TOKEN", "t", "ANTHROPIC_API_KEY", "k", NULL };
    struct provider_choice choice;

    (void)state;
    assert_string_equal(chosen(token, &choice), "anthropic");
    assert_true(choice.key_is_token);
    assert_string_equal(chosen(key, &choice), "anthropic");
    assert_string_equal(choice.key, "k");
    assert_false(choice.key_is_token);
}

static void a_base_url_alone_names_a_server_without_a_key(void **state)
{
    const char *env[] = { "VLLM_BASE_URL", "http://gpu:8000/v1", NULL };
    const char *openai[] = { "OPENAI_BASE_URL", "http://127.0.0.1:1234/v1", NULL };
    struct provider_choice choice;

    (void)state;
    assert_string_equal(chosen(env, &choice), "vllm");
    assert_null(choice.key);
    assert_string_equal(choice.base_url, "http://gpu:8000/v1");
    assert_string_equal(chosen(openai, &choice), "openai");
}

static void nothing_set_chooses_nobody(void **state)
{
    const char *none[] = { NULL };
    const char *key_of_a_local_one[] = { "LLAMA_API_KEY", "k", "OLLAMA_API_KEY", "k", NULL };
    struct provider_choice choice;

    (void)state;
    assert_null(chosen(none, &choice));
    assert_null(choice.provider);
    assert_null(chosen(key_of_a_local_one, &choice));
}

static void a_model_may_carry_its_provider(void **state)
{
    const char *model = NULL;
    bool is_scripted = true;

    (void)state;
    assert_string_equal(provider_split("groq/openai/gpt-oss-120b", &model, NULL)->name, "groq");
    assert_string_equal(model, "openai/gpt-oss-120b");
    assert_null(provider_split("meta-llama/llama-4", &model, &is_scripted));
    assert_string_equal(model, "meta-llama/llama-4");
    assert_false(is_scripted);
    assert_null(provider_split("openai", &model, NULL));
    assert_string_equal(model, "openai");
    assert_null(provider_split("openaix/y", &model, NULL));
    assert_null(provider_split("scripted//tmp/demo.script", &model, &is_scripted));
    assert_string_equal(model, "/tmp/demo.script");
    assert_true(is_scripted);
}

static void every_row_is_whole(void **state)
{
    char url[PROVIDER_URL_MAX];

    (void)state;
    for (size_t i = 0; provider_at(i); i++) {
        const struct provider *provider = provider_at(i);

        assert_ptr_equal(provider_by_name(provider->name), provider);
        assert_non_null(provider->key_env[0]);
        assert_non_null(provider->base_env);
        assert_true(provider->context >= 4096);
        assert_true(provider->model || provider->flags & PROVIDER_LOCAL);
        if (provider->base_url)
            assert_int_equal(provider_base_url(provider, NULL, url, NULL), 0);
        if (provider->base_url)
            assert_string_equal(url, provider->base_url);
    }
    assert_null(provider_by_name("nobody"));
}

/* ---- base URLs ------------------------------------------------------------------------------ */

static void base_urls_are_read_as_people_write_them(void **state)
{
    static const struct {
        const char *provider;
        const char *given;
        const char *url;
    } cases[] = {
        { "ollama", "localhost", "http://localhost:11434" },
        { "ollama", "0.0.0.0", "http://127.0.0.1:11434" },
        { "ollama", "0.0.0.0:4000", "http://127.0.0.1:4000" },
        { "ollama", ":4000", "http://127.0.0.1:4000" },
        { "ollama", "[::1]:4000", "http://[::1]:4000" },
        { "ollama", "http://gpu:11434/", "http://gpu:11434" },
        { "ollama", "https://gpu/api/v1/", "https://gpu/api" },
        { "llamacpp", "box:8081", "http://box:8081/v1" },
        { "openai", "https://gate.example/openai/v1//", "https://gate.example/openai/v1" },
        { "openai", "https://gate.example", "https://gate.example" },
        { "anthropic", "https://gate.example/v1", "https://gate.example" },
        { "anthropic", "https://gate.example/claude/", "https://gate.example/claude" },
        { "openai-compatible", "http://h:1", "http://h:1/v1" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char url[PROVIDER_URL_MAX];
        struct gb_err err = { 0 };

        assert_int_equal(
            provider_base_url(provider_by_name(cases[i].provider), cases[i].given, url, &err), 0);
        assert_string_equal(url, cases[i].url);
    }
}

static void what_is_no_base_url_is_refused(void **state)
{
    static const struct {
        const char *provider;
        const char *given;
        const char *says;
    } cases[] = {
        { "openai", "ftp://x/v1", "must begin with http" },
        { "openai", "api.openai.com/v1", "must begin with https" },
        { "openai", "file:///etc/passwd", "must begin with http" },
        { "openai", "https://user:secret@x/v1", "user name" },
        { "openai", "https://x/v1?key=secret", "query" },
        { "openai", "https://x/v1\r\nHost: y", "no URL has" },
        { "openai", "https:///v1", "no host" },
        { "ollama", "gpu box", "no URL has" },
        { "openai-compatible", NULL, "missing" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char url[PROVIDER_URL_MAX];
        struct gb_err err = { 0 };

        assert_int_equal(
            provider_base_url(provider_by_name(cases[i].provider), cases[i].given, url, &err),
            -EINVAL);
        assert_non_null(strstr(err.msg, cases[i].says));
        assert_null(strstr(err.msg, "secret"));
    }
}

static void a_base_url_of_any_length_fits_or_is_refused(void **state)
{
    char given[2 * PROVIDER_URL_MAX] = "http://";
    char url[PROVIDER_URL_MAX];

    (void)state;
    for (size_t len = strlen(given); len < sizeof(given) - 1; len++) {
        int r;

        given[len] = 'a';
        r = provider_base_url(provider_by_name("llamacpp"), given, url, NULL);
        if (r == 0)
            assert_string_equal(url + strlen(url) - 3, "/v1");
        else
            assert_int_equal(r, -EINVAL);
    }
    assert_int_equal(provider_base_url(provider_by_name("llamacpp"), given, url, NULL), -EINVAL);
}

/* ---- prices --------------------------------------------------------------------------------- */

/* url NULL: the provider's own. */
static bool price_at(const char *provider, const char *model, const char *url, const char *table,
                     const struct model_usage *usage, uint64_t *ret)
{
    struct price_place place = {
        .provider = provider ? provider_by_name(provider) : NULL,
        .model = model,
    };
    struct price_table *own = NULL;
    char base[PROVIDER_URL_MAX];
    bool is_known;

    if (provider) {
        assert_int_equal(provider_base_url(place.provider, url, base, NULL), 0);
        place.base_url = base;
    }
    if (table)
        assert_int_equal(price_table_parse(table, strlen(table), &own, NULL), 0);
    place.table = own;
    is_known = price_of(&place, usage, ret);
    price_table_free(&own);
    return is_known;
}

static bool price(const char *provider, const char *model, uint64_t input, uint64_t cached,
                  uint64_t output, uint64_t *ret)
{
    struct model_usage usage = {
        .is_known = true, .input = input, .cached = cached, .output = output
    };

    return price_at(provider, model, NULL, NULL, &usage, ret);
}

static void a_million_tokens_cost_the_list_price(void **state)
{
    uint64_t cost = 0;

    (void)state;
    assert_true(price("openai", "gpt-6.1-sol", 200000, 100000, 1000000, &cost));
    assert_int_equal(cost, 200000 + 10000 + 10000000);
    assert_true(price("anthropic", "claude-haiku-5-5", 100000, 0, 0, &cost));
    assert_int_equal(cost, 10000);
    assert_true(price("anthropic", "claude-haiku-5-5", 100001, 0, 0, &cost));
    assert_int_equal(cost, 50001); /* rounded up */
}

static void a_snapshot_has_the_price_of_its_model_and_a_sister_has_not(void **state)
{
    uint64_t cost = 0;

    (void)state;
    assert_true(price("anthropic", "claude-sonnet-5-5-20260928", 1000000, 0, 0, &cost));
    assert_int_equal(cost, 2000000);
    assert_true(price("openai", "gpt-5.4-2026-03-05", 1000000, 0, 0, &cost));
    assert_int_equal(cost, 2500000);
    assert_false(price("openai", "gpt-5.4-nano", 1, 0, 1, &cost));
    assert_false(price("openai", "gpt-5.45", 1, 0, 1, &cost));
    assert_false(price("groq", "gpt-6.1-sol", 1, 0, 1, &cost));
    assert_false(price("anthropic", "claude-opus-5-6", 1, 0, 1, &cost));
}

static void local_and_scripted_models_cost_nothing(void **state)
{
    uint64_t cost = 1;

    (void)state;
    assert_true(price("ollama", "anything", 1000000, 0, 1000000, &cost));
    assert_int_equal(cost, 0);
    cost = 1;
    assert_true(price(NULL, "demo.script", 1000000, 0, 1000000, &cost));
    assert_int_equal(cost, 0);
}

static void what_the_server_says_goes_first(void **state)
{
    struct model_usage usage = { .is_known = true, .input = 1, .has_cost = true, .cost = 1234 };
    uint64_t cost = 0;

    (void)state;
    assert_true(price_at("openrouter", "x/y", NULL, NULL, &usage, &cost));
    assert_int_equal(cost, 1234);
    assert_true(price_at("openai-compatible", "x", "https://paid.example/v1",
                         "openai-compatible/x 9 9 9", &usage, &cost));
    assert_int_equal(cost, 1234);
}

#define MILLION                                                                 \
    {                                                                           \
        .is_known = true, .input = 1000000, .cached = 500000, .output = 1000000 \
    }

/* Known and nothing, or not known: never "nothing" for what somebody takes money for. */
static void only_servers_of_this_machine_cost_nothing(void **state)
{
    static const struct {
        const char *provider;
        const char *url;
        bool is_free;
    } rows[] = {
        { "openai-compatible", "http://127.0.0.1:9/v1", true },
        { "openai-compatible", "http://localhost/v1", true },
        { "openai-compatible", "http://[::1]:8080/v1", true },
        { "ollama", NULL, true },
        { "vllm", "127.0.0.5", true },
        { "openai-compatible", "https://paid.example/v1", false },
        { "openai-compatible", "http://127.0.0.1.paid.example/v1", false },
        { "ollama", "https://ollama.example", false },
        { "vllm", "http://10.0.0.7:8000", false },
        { "openai", "http://127.0.0.1:4000/v1", false },
    };
    const struct model_usage usage = MILLION;

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        uint64_t cost = 1;
        bool is_known = price_at(rows[i].provider, "gpt-6-luna", rows[i].url, NULL, &usage, &cost);

        if (is_known != rows[i].is_free || (is_known && cost != 0))
            fail_msg("row %zu: known %d, %" PRIu64, i, is_known, cost);
    }
}

static void list_prices_hold_at_the_providers_own_address(void **state)
{
    const struct model_usage usage = MILLION;
    uint64_t cost = 0;

    (void)state;
    assert_true(
        price_at("openai", "gpt-6-luna", "https://api.openai.com/v1/", NULL, &usage, &cost));
    assert_false(price_at("openai", "gpt-6-luna", "https://eu.example/v1", NULL, &usage, &cost));
    assert_false(price_at("openai", "gpt-6-luna", "http://api.openai.com/v1", NULL, &usage, &cost));
}

static void a_table_of_the_users_goes_before_the_list(void **state)
{
    static const char table[] = "# mine\n"
                                "openai-compatible/* 1 0.5 2   # any\n"
                                "openai-compatible/org/dear 10 5 20\r\n"
                                "\n"
                                "openai-compatible/org/dear 20 5 20 900000\n"
                                "ollama/paid 3 3 3\n"
                                "openai/gpt-6-luna 7 0 0";
    static const char url[] = "https://paid.example/v1";
    const struct model_usage usage = MILLION;
    const struct model_usage small = { .is_known = true, .input = 10 };
    uint64_t cost = 0;

    (void)state;
    assert_true(price_at("openai-compatible", "x", url, table, &usage, &cost));
    assert_int_equal(cost, 500000 + 250000 + 2000000);
    assert_true(price_at("openai-compatible", "org/dear", url, table, &usage, &cost));
    assert_int_equal(cost, 10000000 + 2500000 + 20000000);
    assert_true(price_at("openai-compatible", "org/dear", url, table, &small, &cost));
    assert_int_equal(cost, 100);
    assert_true(price_at("ollama", "paid", NULL, table, &small, &cost));
    assert_int_equal(cost, 30);
    assert_true(price_at("ollama", "other", NULL, table, &small, &cost));
    assert_int_equal(cost, 0);
    assert_true(price_at("openai", "gpt-6-luna", NULL, table, &small, &cost));
    assert_int_equal(cost, 70);
    assert_true(price_at("openai", "gpt-5.5", NULL, table, &small, &cost));
    assert_int_equal(cost, 50);
}

static void a_table_that_cannot_be_read_names_the_line(void **state)
{
    static const char *const wrong[] = {
        "gpt-6-luna 1 1 1",   "openai/ 1 1 1",      "nobody/x 1 1 1",        "openai/x 1 1",
        "openai/x 1 1 -1",    "openai/x 1 1 1e9",   "openai/x 1 1 1 many",   "openai/x 1 1 1 0",
        "openai/x 1 1 1 5 6", "openai/x 1 1 1.2.3", "openai/x 1 1 10000001", "openai/x nan 1 1",
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(wrong); i++) {
        struct price_table *table = NULL;
        struct gb_err err = { 0 };
        char text[128];

        (void)snprintf(text, sizeof(text), "# a comment\n%s\n", wrong[i]);
        assert_int_equal(price_table_parse(text, strlen(text), &table, &err), -EINVAL);
        assert_null(table);
        assert_non_null(strstr(err.msg, "line 2: "));
    }
}

static void the_largest_usage_has_a_cost(void **state)
{
    uint64_t cost = 0;

    (void)state;
    assert_true(price("openai", "gpt-6-astra", MODEL_TOKENS_MAX, MODEL_TOKENS_MAX + 5,
                      MODEL_TOKENS_MAX, &cost));
    assert_int_equal(cost, MODEL_TOKENS_MAX * 51);
}

/* ---- parameters ----------------------------------------------------------------------------- */

static unsigned refusal(const char *param, const char *message, unsigned sent)
{
    struct fault fault = { .kind = FAULT_REQUEST, .status = 400 };

    strncat(fault.param, param, sizeof(fault.param) - 1);
    strncat(fault.message, message, sizeof(fault.message) - 1);
    return params_refused(&fault, sent);
}

static void a_refusal_names_its_parameter(void **state)
{
    unsigned all = ~0U;

    (void)state;
    assert_int_equal(refusal("temperature", "Unsupported value", all), PARAM_TEMPERATURE);
    assert_int_equal(refusal("",
                             "Unsupported parameter: 'max_tokens' is not supported with this "
                             "model. Use 'max_completion_tokens' instead.",
                             all),
                     PARAM_OLD_MAX);
    assert_int_equal(refusal("", "Unknown name \"seed\": Cannot find field.", all), PARAM_SEED);
    assert_int_equal(refusal("", "This model does not support response format `json_schema`.", all),
                     PARAM_SCHEMA);
    assert_int_equal(refusal("response_format", "not supported", PARAM_JSON_MODE), PARAM_JSON_MODE);
    assert_int_equal(refusal("", "output_config.effort: not for this model", all), PARAM_EFFORT);
    assert_int_equal(refusal("",
                             "This model does not support assistant message prefill. The "
                             "conversation must end with a user message.",
                             all),
                     PARAM_PREFILL);
}

static void a_refusal_of_something_else_is_final(void **state)
{
    (void)state;
    assert_int_equal(refusal("", "messages: must not be empty", ~0U), 0);
    assert_int_equal(refusal("", "the seeds of max_tokens_per_minute", ~0U), 0);
    /* not sent: it cannot be left out */
    assert_int_equal(refusal("temperature", "", PARAM_SEED), 0);
    assert_int_equal(params_refused(&(struct fault){ .kind = FAULT_KEY, .param = "seed" }, ~0U), 0);
}

static void each_provider_is_sent_what_it_knows(void **state)
{
    const struct model_request request = {
        .temperature = 0.5, .seed = 7, .max_tokens = 100, .schema = "{}", .effort = "low"
    };
    const struct provider *openai = provider_by_name("openai");
    const struct provider *anthropic = provider_by_name("anthropic");
    const struct provider *vllm = provider_by_name("vllm");

    (void)state;
    assert_int_equal(params_sent(openai, &request, false, params_unknown(openai)),
                     PARAM_TEMPERATURE | PARAM_SEED | PARAM_NEW_MAX | PARAM_EFFORT |
                         PARAM_USAGE_OPTION | PARAM_SCHEMA);
    assert_int_equal(params_sent(anthropic, &request, false, params_unknown(anthropic)),
                     PARAM_OLD_MAX | PARAM_EFFORT | PARAM_SCHEMA);
    assert_int_equal(params_sent(vllm, &request, false, params_unknown(vllm)) &
                         (PARAM_OLD_MAX | PARAM_NEW_MAX),
                     PARAM_OLD_MAX);
    assert_int_equal(params_sent(vllm, &request, true, params_unknown(vllm)) &
                         (PARAM_SCHEMA | PARAM_JSON_MODE | PARAM_PREFILL),
                     0);
}

/* However often a server refuses, there is less to refuse each time. */
static void leaving_out_ends(void **state)
{
    const struct model_request request = {
        .temperature = 0, .seed = 7, .max_tokens = 100, .schema = "{}", .effort = "low"
    };

    (void)state;
    for (size_t i = 0; provider_at(i); i++) {
        unsigned left_out = params_unknown(provider_at(i));
        unsigned sent;
        int rounds = 0;

        while ((sent = params_sent(provider_at(i), &request, false, left_out))) {
            left_out |= sent & -sent;
            assert_true(++rounds < 32);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_provider_with_a_key_is_chosen),
        cmocka_unit_test(an_empty_variable_is_not_set),
        cmocka_unit_test(google_s_name_goes_before_gemini_s),
        cmocka_unit_test(a_token_of_anthropic_is_a_bearer_s),
        cmocka_unit_test(a_base_url_alone_names_a_server_without_a_key),
        cmocka_unit_test(nothing_set_chooses_nobody),
        cmocka_unit_test(a_model_may_carry_its_provider),
        cmocka_unit_test(every_row_is_whole),
        cmocka_unit_test(base_urls_are_read_as_people_write_them),
        cmocka_unit_test(what_is_no_base_url_is_refused),
        cmocka_unit_test(a_base_url_of_any_length_fits_or_is_refused),
        cmocka_unit_test(a_million_tokens_cost_the_list_price),
        cmocka_unit_test(a_snapshot_has_the_price_of_its_model_and_a_sister_has_not),
        cmocka_unit_test(local_and_scripted_models_cost_nothing),
        cmocka_unit_test(what_the_server_says_goes_first),
        cmocka_unit_test(only_servers_of_this_machine_cost_nothing),
        cmocka_unit_test(list_prices_hold_at_the_providers_own_address),
        cmocka_unit_test(a_table_of_the_users_goes_before_the_list),
        cmocka_unit_test(a_table_that_cannot_be_read_names_the_line),
        cmocka_unit_test(the_largest_usage_has_a_cost),
        cmocka_unit_test(a_refusal_names_its_parameter),
        cmocka_unit_test(a_refusal_of_something_else_is_final),
        cmocka_unit_test(each_provider_is_sent_what_it_knows),
        cmocka_unit_test(leaving_out_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
