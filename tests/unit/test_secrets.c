/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_secrets.c - keys from the environment, from files and from .env; addresses. */
#include <errno.h>

#include "conf/endpoint.h"
#include "conf/secrets.h"
#include "conf_place.h"
#include "net/url.h"

/* Reads settings and keys of the place. */
static int load_secrets(struct place *place, struct secrets **ret)
{
    load_ok(place);
    place->err = (struct gb_err){ 0 };
    return secrets_load(&place->settings, place->env, ret, &place->err);
}

static void secrets_fail(struct place *place, const char *part)
{
    struct secrets *secrets = NULL;

    assert_true(load_secrets(place, &secrets) < 0);
    assert_null(secrets);
    expect_message(place, part);
}

static void expect_variable(const struct secrets *secrets, const char *name, const char *value,
                            const char *source)
{
    const struct variable *variable = secrets_get(secrets, name);
    cleanup_buf struct buf text = BUF_INIT(4096);

    assert_non_null(variable);
    assert_string_equal(variable->value, value);
    assert_int_equal(variable_source(variable, &text), 0);
    if (text.len < strlen(source) || strcmp(text.data + text.len - strlen(source), source) != 0)
        fail_msg("%s comes from '%s', not '%s'", name, text.data, source);
}

static bool has_value(const struct secrets *secrets, const char *value)
{
    for (const char *const *at = secrets_values(secrets); *at; at++)
        if (strcmp(*at, value) == 0)
            return true;
    return false;
}

static void test_the_environment_comes_before_files_and_dotenv(void **state)
{
    struct place *place = *state;
    cleanup_secrets struct secrets *secrets = NULL;

    put(place, "openai.key", "sk-of-file-1\n");
    put(place, "groq.key", "gsk-of-file\r\n\n");
    put(place, DOTENV,
        "# keys\nOPENAI_API_KEY=sk-dotenv-1\nGROQ_API_KEY=gsk-dotenv\nANTHROPIC_API_KEY='sk-ant-1'\n"
        "ANTHROPIC_API_KEY=\nOLLAMA_HOST=:1234\n");
    add_env(place, "OPENAI_API_KEY=sk-of-env-1");
    add_env(place, "OPENAI_API_KEY_FILE=%s/openai.key", place->root);
    add_env(place, "GROQ_API_KEY=");
    add_env(place, "GROQ_API_KEY_FILE=%s/groq.key", place->root);
    assert_int_equal(load_secrets(place, &secrets), 0);
    expect_variable(secrets, "OPENAI_API_KEY", "sk-of-env-1", "OPENAI_API_KEY");
    expect_variable(secrets, "GROQ_API_KEY", "gsk-of-file", "GROQ_API_KEY_FILE");
    expect_variable(secrets, "ANTHROPIC_API_KEY", "sk-ant-1", "project/.env:4");
    expect_variable(secrets, "OLLAMA_HOST", ":1234", "project/.env:6");
    assert_string_equal(secrets_get_dotenv(secrets, "OPENAI_API_KEY")->value, "sk-dotenv-1");
    assert_true(secrets_get_dotenv(secrets, "OPENAI_API_KEY")->origin.is_untrusted);
    assert_false(secrets_get(secrets, "OPENAI_API_KEY")->origin.is_untrusted);
    assert_null(secrets_get(secrets, "GEMINI_API_KEY"));
    assert_null(secrets_get(secrets, "PATH"));
}

static void test_values_hold_every_key_and_nothing_else(void **state)
{
    struct place *place = *state;
    cleanup_secrets struct secrets *secrets = NULL;
    size_t n = 0;

    put(place, DOTENV,
        "OPENAI_API_KEY=sk-dotenv-1\nTAVILY_API_KEY=tvly-12345\nGROQ_API_KEY=short\n"
        "OPENAI_BASE_URL=https://example.org/v1\nOTHER_TOKEN=not-looked-at\n");
    add_env(place, "OPENAI_API_KEY=sk-of-env-1");
    assert_int_equal(load_secrets(place, &secrets), 0);
    while (secrets_values(secrets)[n])
        n++;
    assert_int_equal(n, 3);
    assert_true(has_value(secrets, "sk-dotenv-1"));
    assert_true(has_value(secrets, "sk-of-env-1"));
    assert_true(has_value(secrets, "tvly-12345"));
}

/* A user can switch a project's key off. */
static void test_an_empty_variable_hides_dotenv(void **state)
{
    struct place *place = *state;
    cleanup_secrets struct secrets *secrets = NULL;

    put(place, DOTENV, "OPENAI_API_KEY=sk-dotenv-1\n");
    add_env(place, "OPENAI_API_KEY=");
    assert_int_equal(load_secrets(place, &secrets), 0);
    assert_null(secrets_get(secrets, "OPENAI_API_KEY"));
}

static void test_a_file_that_cannot_be_read_is_an_error(void **state)
{
    struct place *place = *state;

    add_env(place, "GROQ_API_KEY_FILE=%s/key", place->root);
    secrets_fail(place, "GROQ_API_KEY_FILE: ");
    expect_message(place, "there is no such file");
    put(place, "key", "\n");
    secrets_fail(place, "GROQ_API_KEY_FILE: the file is empty");
    put(place, "key", "gsk-one\ngsk-two\n");
    secrets_fail(place, "GROQ_API_KEY_FILE: holds a blank, a line break");
    make_dir(place, "dir");
    place->n_env--;
    free(place->env[place->n_env]);
    add_env(place, "GROQ_API_KEY_FILE=%s/dir", place->root);
    secrets_fail(place, "not a regular file");
}

static void test_a_file_of_any_size_is_bounded(void **state)
{
    cleanup_buf struct buf text = BUF_INIT(4 << 20);
    struct place *place = *state;

    add_env(place, "GROQ_API_KEY_FILE=%s/key", place->root);
    for (size_t i = 0; i < SECRET_MAX + 1; i++)
        buf_putc(&text, 'k');
    put(place, "key", text.data);
    secrets_fail(place, "GROQ_API_KEY_FILE: is too long to be a key");
    while (text.len <= 2 << 20)
        buf_putc(&text, 'k');
    put(place, "key", text.data);
    secrets_fail(place, "larger than 1 MiB");
}

static void test_a_key_has_no_byte_that_could_end_a_header(void **state)
{
    static const char *const rows[] = {
        "OPENAI_API_KEY=\"sk-1\\nX-Evil: 1\"",
        "OPENAI_API_KEY=\"sk-1\\r\"",
        "OPENAI_API_KEY='a b'",
        "OPENAI_API_KEY=\"sk\\t1\"",
        "OPENAI_API_KEY=sk\x7f",
        "OPENAI_API_KEY=sk\xc3\xa9",
    };
    struct place *place = *state;

    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        put(place, DOTENV, rows[i]);
        secrets_fail(place, "project/.env:1: OPENAI_API_KEY: holds a blank, a line break");
        assert_null(strstr(place->err.msg, "sk"));
    }
}

/* It could name any file of the user's, and the key goes to whom the same file names. */
static void test_dotenv_cannot_name_a_file(void **state)
{
    struct place *place = *state;
    cleanup_secrets struct secrets *secrets = NULL;

    put(place, "id_rsa", "the user's own\n");
    put(place, DOTENV,
        "OPENAI_COMPATIBLE_BASE_URL=https://evil.example/v1\n"
        "OPENAI_COMPATIBLE_API_KEY_FILE=../id_rsa\n");
    assert_int_equal(load_secrets(place, &secrets), 0);
    assert_null(secrets_get(secrets, "OPENAI_COMPATIBLE_API_KEY"));
}

static void test_dotenv_of_a_stranger_cannot_copy_a_key(void **state)
{
    struct place *place = *state;
    cleanup_secrets struct secrets *secrets = NULL;

    put(place, DOTENV,
        "A=${OPENAI_API_KEY}\nOPENAI_COMPATIBLE_API_KEY=${OPENAI_API_KEY}\n"
        "GROQ_API_KEY=\"x${A}${AWS_SECRET:-y}\"\n"
        "OPENAI_COMPATIBLE_BASE_URL=https://evil.example/${OPENAI_API_KEY}\n");
    add_env(place, "OPENAI_API_KEY=sk-mine-123");
    add_env(place, "AWS_SECRET=aws-mine-123");
    assert_int_equal(load_secrets(place, &secrets), 0);
    assert_null(secrets_get(secrets, "OPENAI_COMPATIBLE_API_KEY"));
    expect_variable(secrets, "GROQ_API_KEY", "xy", ".env:3");
    expect_variable(secrets, "OPENAI_COMPATIBLE_BASE_URL", "https://evil.example/", ".env:4");
}

/* ---- addresses ------------------------------------------------------------------------------ */

static void test_this_machine_is_known_by_its_address_alone(void **state)
{
    static const struct {
        const char *url;
        bool is_here;
    } rows[] = {
        { "http://127.0.0.1:8080/v1", true },
        { "http://127.9.8.7", true },
        { "https://LocalHost/v1", true },
        { "http://[::1]:11434/v1", true },
        { "http://localhost.evil.example/v1", false },
        { "http://127.0.0.1.evil.example/v1", false },
        { "http://127.0.0.1@evil.example/v1", false },
        { "http://localhost:80@evil.example/v1", false },
        { "http://evil.example/127.0.0.1", false },
        { "http://evil.example#@127.0.0.1/", false },
        { "http://evil.example\\@127.0.0.1/", false },
        { "http://0.0.0.0:8080", false },
        { "http://127.1/", false },
        { "http://2130706433/", false },
        { "http://0x7f.0.0.1/", false },
        { "http://[::ffff:127.0.0.1]/", false },
        { "http://[::1].evil.example/", false },
        { "http://[::1]", true },
        { "http://[::1", false },
        { "http://", false },
        { "127.0.0.1:80", false },
        { "http://10.0.0.1/", false },
    };

    for (size_t i = 0; i < N_ELEMENTS(rows); i++)
        if (url_is_here(rows[i].url) != rows[i].is_here)
            fail_msg("%s", rows[i].url);
}

static void expect_proxy(char *const *env, const char *url, const char *expected)
{
    const char *proxy = endpoint_proxy(env, url);

    if (!expected != !proxy || (proxy && strcmp(proxy, expected) != 0))
        fail_msg("%s goes through %s", url, proxy ? proxy : "nothing");
}

static void test_proxies_are_those_of_the_environment(void **state)
{
    static char secure[] = "HTTPS_PROXY=http://p:1", plain[] = "http_proxy=http://p:2";
    static char loud[] = "HTTP_PROXY=http://p:3", none[] = "NO_PROXY=corp.example, .lan ,10.0.0.1";
    static char all[] = "no_proxy=*";
    char *const env[] = { secure, plain, loud, none, NULL };
    char *const only_loud[] = { loud, NULL };
    char *const except_all[] = { secure, all, NULL };

    expect_proxy(env, "https://api.example/v1", "http://p:1");
    expect_proxy(env, "http://api.example/v1", "http://p:2");
    expect_proxy(only_loud, "http://api.example/v1", NULL);
    expect_proxy(env, "https://corp.example/v1", NULL);
    expect_proxy(env, "https://llm.corp.example:8443/v1", NULL);
    expect_proxy(env, "https://notcorp.example/v1", "http://p:1");
    expect_proxy(env, "http://llm.lan/v1", NULL);
    expect_proxy(env, "http://10.0.0.1/v1", NULL);
    expect_proxy(env, "http://110.0.0.1/v1", "http://p:2");
    expect_proxy(env, "https://127.0.0.1/v1", NULL);
    expect_proxy(except_all, "https://api.example/v1", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_environment_comes_before_files_and_dotenv),
        TEST(test_values_hold_every_key_and_nothing_else),
        TEST(test_an_empty_variable_hides_dotenv),
        TEST(test_a_file_that_cannot_be_read_is_an_error),
        TEST(test_a_file_of_any_size_is_bounded),
        TEST(test_a_key_has_no_byte_that_could_end_a_header),
        TEST(test_dotenv_cannot_name_a_file),
        TEST(test_dotenv_of_a_stranger_cannot_copy_a_key),
        cmocka_unit_test(test_this_machine_is_known_by_its_address_alone),
        cmocka_unit_test(test_proxies_are_those_of_the_environment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
