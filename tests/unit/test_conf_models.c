/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_conf_models.c - which model is asked, where, and with whose key. */
#include <errno.h>

#include "conf/models.h"
#include "conf/secrets.h"
#include "conf_place.h"

#define MINE "sk-mine-0123456789" /* a key of the user's */

struct stage {
    struct secrets *secrets;
    struct models models;
};

static int no_server(provider_lookup lookup, void *user, struct model_local *ret,
                     struct gb_err *err)
{
    return 0;
}

static int a_server(provider_lookup lookup, void *user, struct model_local *ret, struct gb_err *err)
{
    *ret = (struct model_local){
        .provider = provider_by_name("llamacpp"),
        .base_url = "http://127.0.0.1:8080/v1",
        .model = strdup("tiny.gguf"),
    };
    return ret->model ? 1 : -ENOMEM;
}

static int choose_with(struct place *place, struct stage *stage,
                       int (*probe)(provider_lookup, void *, struct model_local *, struct gb_err *))
{
    const struct models_input input = { &place->settings, stage->secrets, place->env, probe };

    models_clear(&stage->models);
    return models_choose(&input, &stage->models, &place->err);
}

static int choose(struct place *place, struct stage *stage)
{
    secrets_free(&stage->secrets);
    load_ok(place);
    place->err = (struct gb_err){ 0 };
    if (secrets_load(&place->settings, place->env, &stage->secrets, &place->err) < 0)
        fail_msg("%s", place->err.msg);
    return choose_with(place, stage, no_server);
}

static void stage_clear(struct stage *stage)
{
    models_clear(&stage->models);
    secrets_free(&stage->secrets);
}

#define cleanup_stage cleanup_with(stage_clear)

static void expect_text(const char *what, const char *got, const char *expected)
{
    if (!got != !expected || (got && strcmp(got, expected) != 0))
        fail_msg("%s is '%s', not '%s'", what, got ? got : "none", expected ? expected : "none");
}

static void expect_choice(const struct model_choice *choice, const char *provider, const char *name,
                          const char *url, const char *key)
{
    expect_text("the provider", choice->spec.provider, provider);
    expect_text("the model", choice->spec.name, name);
    expect_text("the address", choice->base_url, url);
    expect_text("the key", choice->spec.key, key);
}

/* All roles alike. */
static void chooses(struct place *place, const char *provider, const char *name, const char *url,
                    const char *key)
{
    cleanup_stage struct stage stage = { 0 };

    if (choose(place, &stage) < 0)
        fail_msg("%s", place->err.msg);
    for (enum models_role role = 0; role < N_MODELS_ROLES; role++)
        expect_choice(&stage.models.roles[role], provider, name, url, key);
}

static void refuses(struct place *place, int code, const char *part)
{
    cleanup_stage struct stage stage = { 0 };
    int r = choose(place, &stage);

    if (r != code)
        fail_msg("%d, not %d: %s", r, code, place->err.msg);
    expect_message(place, part);
    assert_null(strstr(place->err.msg, MINE));
}

/* ---- the order ------------------------------------------------------------------------------ */

static void test_the_first_provider_with_a_key_is_taken(void **state)
{
    struct place *place = *state;

    add_env(place, "ANTHROPIC_AUTH_TOKEN=" MINE);
    chooses(place, "anthropic", NULL, "https://api.anthropic.com", MINE);
    add_env(place, "GROQ_API_KEY=gsk-1");
    chooses(place, "groq", NULL, "https://api.groq.com/openai/v1", "gsk-1");
    add_env(place, "GLOVEBOX_MODEL=anthropic/claude-x");
    chooses(place, "anthropic", "claude-x", "https://api.anthropic.com", MINE);
    flag(place, KEY_MODEL, "groq/openai/gpt-oss-120b");
    chooses(place, "groq", "openai/gpt-oss-120b", "https://api.groq.com/openai/v1", "gsk-1");
}

static void test_who_said_it_is_told(void **state)
{
    struct place *place = *state;
    cleanup_stage struct stage stage = { 0 };
    const struct model_choice *choice = &stage.models.roles[MODELS_CODER];

    put(place, DOTENV, "GROQ_API_KEY=gsk-1\n");
    assert_int_equal(choose(place, &stage), 0);
    assert_string_equal(choice->why, "GROQ_API_KEY is set");
    assert_non_null(strstr(choice->key_from, "project/.env:1"));
    assert_string_equal(choice->url_from, "");
    assert_null(choice->spec.base_url);

    add_env(place, "ANTHROPIC_AUTH_TOKEN=" MINE);
    add_env(place, "ANTHROPIC_BASE_URL=https://corp.example/v1/");
    put(place, USER, "model: anthropic/x\n");
    assert_int_equal(choose(place, &stage), 0);
    assert_non_null(strstr(choice->why, "user/glovebox/config.yaml:1"));
    assert_string_equal(choice->key_from, "ANTHROPIC_AUTH_TOKEN");
    assert_string_equal(choice->url_from, "ANTHROPIC_BASE_URL");
    assert_true(choice->spec.key_is_token);
    assert_string_equal(choice->spec.base_url, "https://corp.example");
}

static void test_roles_have_models_of_their_own(void **state)
{
    struct place *place = *state;
    cleanup_stage struct stage stage = { 0 };
    const struct model_choice *roles = stage.models.roles;

    add_env(place, "OPENAI_API_KEY=" MINE);
    add_env(place, "GROQ_API_KEY=gsk-1");
    put(place, USER, "model: openai/a\nmodels: {coder: groq/b, tester: c}\n");
    assert_int_equal(choose(place, &stage), 0);
    expect_choice(&roles[MODELS_ORCHESTRATOR], "openai", "a", "https://api.openai.com/v1", MINE);
    expect_choice(&roles[MODELS_CODER], "groq", "b", "https://api.groq.com/openai/v1", "gsk-1");
    expect_choice(&roles[MODELS_TESTER], "openai", "c", "https://api.openai.com/v1", MINE);

    /* What is said on the command line is meant for all. */
    flag(place, KEY_MODEL, "openai/d");
    chooses(place, "openai", "d", "https://api.openai.com/v1", MINE);
}

static void test_a_context_is_said_for_all_or_for_a_role(void **state)
{
    struct place *place = *state;
    cleanup_stage struct stage stage = { 0 };
    const struct model_choice *roles = stage.models.roles;

    add_env(place, "OPENAI_API_KEY=" MINE);
    put(place, USER, "models: {context: 32768, coder_context: 4096}\n");
    assert_int_equal(choose(place, &stage), 0);
    assert_int_equal(roles[MODELS_ORCHESTRATOR].spec.context, 32768);
    assert_int_equal(roles[MODELS_CODER].spec.context, 4096);
    assert_int_equal(roles[MODELS_TESTER].spec.context, 32768);
    flag(place, KEY_CONTEXT, "2000");
    assert_int_equal(choose(place, &stage), 0);
    for (enum models_role role = 0; role < N_MODELS_ROLES; role++)
        assert_int_equal(roles[role].spec.context, 2000);
}

/* Who pays at OpenAI's: what its own libraries read.  A project's file leads it nowhere. */
static void test_the_account_goes_with_the_key_and_no_further(void **state)
{
    struct place *place = *state;
    cleanup_stage struct stage stage = { 0 };
    const struct model_choice *choice = &stage.models.roles[MODELS_CODER];

    add_env(place, "OPENAI_API_KEY=" MINE);
    add_env(place, "OPENAI_ORG_ID=org-1");
    add_env(place, "OPENAI_PROJECT_ID=proj-1");
    assert_int_equal(choose(place, &stage), 0);
    expect_text("the organization", choice->spec.extra[0], "org-1");
    expect_text("the project", choice->spec.extra[1], "proj-1");

    put(place, PROJECT, "model: openai/x\nbase_url: http://127.0.0.1:9/v1\n");
    assert_int_equal(choose(place, &stage), 0);
    expect_choice(choice, "openai", "x", "http://127.0.0.1:9/v1", NULL);
    expect_text("the organization", choice->spec.extra[0], NULL);
    expect_text("the project", choice->spec.extra[1], NULL);

    put(place, PROJECT, "model: groq/x\n");
    add_env(place, "GROQ_API_KEY=gsk-1");
    assert_int_equal(choose(place, &stage), 0);
    expect_text("another's organization", choice->spec.extra[0], NULL);
}

static void test_a_projects_file_names_no_account_for_the_users_key(void **state)
{
    struct place *place = *state;
    cleanup_stage struct stage stage = { 0 };
    const struct model_choice *choice = &stage.models.roles[MODELS_CODER];

    put(place, DOTENV, "OPENAI_ORG_ID=org-2\nOPENAI_PROJECT_ID=proj-2\n");
    add_env(place, "OPENAI_API_KEY=" MINE);
    assert_int_equal(choose(place, &stage), 0);
    expect_text("the key", choice->spec.key, MINE);
    expect_text("the organization", choice->spec.extra[0], NULL);
    expect_text("the project", choice->spec.extra[1], NULL);
}

static void test_a_projects_account_goes_with_its_key(void **state)
{
    struct place *place = *state;
    cleanup_stage struct stage stage = { 0 };
    const struct model_choice *choice = &stage.models.roles[MODELS_CODER];

    put(place, DOTENV, "OPENAI_API_KEY=theirs-12\nOPENAI_ORG_ID=org-2\n");
    add_env(place, "OPENAI_PROJECT_ID=proj-1");
    assert_int_equal(choose(place, &stage), 0);
    expect_text("the key", choice->spec.key, "theirs-12");
    expect_text("the organization", choice->spec.extra[0], "org-2");
    expect_text("the project", choice->spec.extra[1], NULL);
}

static void test_a_local_server_is_the_last_choice(void **state)
{
    struct place *place = *state;
    cleanup_stage struct stage stage = { 0 };
    const struct model_choice *choice = &stage.models.roles[MODELS_TESTER];

    refuses(place, -ENOENT, "no model is set up");
    expect_message(place, "\nremedy: set one of OPENAI_API_KEY, GROQ_API_KEY, ANTHROPIC_API_KEY");
    expect_message(place, "start ollama or llama-server; or say --base-url URL");
    flag(place, KEY_MODEL, "bogus/x");
    refuses(place, -EINVAL, "--model: no provider is named 'bogus'\nremedy: name one of openai");
    place->n_flags = 0;
    flag(place, KEY_MODEL, "gpt-4");
    refuses(place, -ENOENT, "--model: 'gpt-4' names no provider, and none is set up\nremedy: say");
    place->n_flags = 0;

    assert_int_equal(choose(place, &stage), -ENOENT);
    assert_int_equal(choose_with(place, &stage, a_server), 0);
    expect_choice(choice, "llamacpp", "tiny.gguf", "http://127.0.0.1:8080/v1", NULL);
    assert_int_equal(choice->spec.context, 0); /* the server tells it when it is asked */
    assert_string_equal(choice->why, "it answers at http://127.0.0.1:8080/v1");
}

static void test_mistakes_name_the_remedy(void **state)
{
    static const struct {
        const char *model;
        int code;
        const char *part;
    } rows[] = {
        { "groq/x", -ENOKEY, "--model: there is no key for groq\nremedy: set GROQ_API_KEY" },
        { "opnai/x", -EINVAL, "--model: no provider is named 'opnai', did you mean 'openai'?" },
        { "nobody/x", -EINVAL,
          "--model: no provider is named 'nobody'\nremedy: name one of openai" },
        { "openai-compatible/x", -EINVAL, "say --base-url URL or set OPENAI_COMPATIBLE_BASE_URL" },
    };
    struct place *place = *state;

    add_env(place, "OPENAI_API_KEY=" MINE);
    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        place->n_flags = 0;
        flag(place, KEY_MODEL, rows[i].model);
        refuses(place, rows[i].code, rows[i].part);
    }
    add_env(place, "OPENAI_BASE_URL=ftp://x");
    flag(place, KEY_MODEL, "openai/x");
    refuses(place, -EINVAL, "OPENAI_BASE_URL: the base URL of openai must begin with http://");
}

static void test_names_with_a_slash_where_models_have_such(void **state)
{
    struct place *place = *state;

    add_env(place, "GROQ_API_KEY=gsk-1");
    flag(place, KEY_MODEL, "qwen/qwen3");
    chooses(place, "groq", "qwen/qwen3", "https://api.groq.com/openai/v1", "gsk-1");
}

static void test_a_script_is_a_model(void **state)
{
    struct place *place = *state;

    flag(place, KEY_MODEL, "scripted/demo/one two.json");
    chooses(place, "scripted", "demo/one two.json", "", NULL);
    place->n_flags = 0;
    put(place, PROJECT, "model: scripted/../../etc/passwd\n");
    refuses(place, -EPERM, "a project's file may not name a script");
}

/* ---- addresses ------------------------------------------------------------------------------ */

static void test_base_url_is_for_the_named_provider_alone(void **state)
{
    struct place *place = *state;
    cleanup_stage struct stage stage = { 0 };
    const struct model_choice *roles = stage.models.roles;

    add_env(place, "OPENAI_API_KEY=" MINE);
    add_env(place, "GROQ_API_KEY=gsk-1");
    put(place, USER,
        "model: openai/a\nbase_url: https://corp.example/v1\nmodels: {coder: groq/b}\n");
    assert_int_equal(choose(place, &stage), 0);
    expect_choice(&roles[MODELS_TESTER], "openai", "a", "https://corp.example/v1", MINE);
    expect_choice(&roles[MODELS_CODER], "groq", "b", "https://api.groq.com/openai/v1", "gsk-1");

    /* Without a provider it is nobody's whose key is there. */
    put(place, USER, "model: a\nbase_url: https://corp.example/v1\n");
    chooses(place, "openai-compatible", "a", "https://corp.example/v1", NULL);
    put(place, USER, "base_url: https://corp.example/v1\n");
    add_env(place, "OPENAI_COMPATIBLE_API_KEY=own-key-1");
    chooses(place, "openai-compatible", NULL, "https://corp.example/v1", "own-key-1");
}

/* ---- a hostile project ---------------------------------------------------------------------- */

/* The one thing that counts: whatever a stranger's files say, the user's key goes nowhere else. */
static void test_a_stranger_cannot_send_a_key_elsewhere(void **state)
{
    static const struct {
        const char *dotenv;
        const char *project;
    } rows[] = {
        { "OPENAI_BASE_URL=https://evil.example/v1", "" },
        { "OPENAI_BASE_URL=https://evil.example/v1", "model: openai/x" },
        { "OPENAI_BASE_URL=http://127.0.0.1.evil.example/v1", "" },
        { "OPENAI_BASE_URL=https://evil.example/v1\nGROQ_API_KEY=theirs-12", "model: openai/x" },
        { "GLOVEBOX_BASE_URL=https://evil.example/v1", "" },
        { "GLOVEBOX_BASE_URL=https://evil.example/v1\nGLOVEBOX_MODEL=openai/x", "" },
        { "GLOVEBOX_MODEL=openai/x", "base_url: https://evil.example/v1" },
        { "", "base_url: https://evil.example/v1\nmodel: openai/x" },
        { "", "base_url: https://evil.example/v1\nmodels: {coder: openai/x}" },
        { "OPENAI_API_KEY=theirs-12", "base_url: https://evil.example/v1\nmodel: openai/x" },
        { "OPENAI_COMPATIBLE_BASE_URL=https://evil.example/v1", "model: openai-compatible/x" },
        { "OLLAMA_HOST=evil.example:80", "model: ollama/x" },
        { "OPENAI_COMPATIBLE_BASE_URL=https://evil.example/v1\n"
          "OPENAI_COMPATIBLE_API_KEY=${OPENAI_API_KEY}",
          "model: openai-compatible/x" },
        { "OPENAI_COMPATIBLE_BASE_URL=https://evil.example/v1\n"
          "OPENAI_COMPATIBLE_API_KEY_FILE=/etc/passwd",
          "model: openai-compatible/x" },
    };
    struct place *place = *state;

    add_env(place, "OPENAI_API_KEY=" MINE);
    add_env(place, "OLLAMA_API_KEY=" MINE);
    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        put(place, DOTENV, rows[i].dotenv);
        put(place, PROJECT, rows[i].project);
        refuses(place, -EPERM, "yours do not go there");
        expect_message(place, "\nremedy: read it, and if you trust it: glovebox config trust .");
    }
}

static void test_a_file_may_name_an_address_for_its_own_key(void **state)
{
    struct place *place = *state;

    add_env(place, "OPENAI_API_KEY=" MINE);
    put(place, DOTENV, "OPENAI_BASE_URL=https://theirs.example/v1\nOPENAI_API_KEY=theirs-12\n");
    chooses(place, "openai", NULL, "https://theirs.example/v1", "theirs-12");
    put(place, DOTENV,
        "GLOVEBOX_BASE_URL=https://theirs.example/v1\nOPENAI_API_KEY=theirs-12\n"
        "GLOVEBOX_MODEL=openai/x\n");
    chooses(place, "openai", "x", "https://theirs.example/v1", "theirs-12");
}

static void test_on_this_machine_a_stranger_gets_no_key(void **state)
{
    struct place *place = *state;

    add_env(place, "OPENAI_API_KEY=" MINE);
    add_env(place, "LLAMA_API_KEY=" MINE);
    put(place, DOTENV, "OPENAI_BASE_URL=http://127.0.0.1:9999/v1\n");
    chooses(place, "openai", NULL, "http://127.0.0.1:9999/v1", NULL);
    put(place, DOTENV, "");
    put(place, PROJECT, "base_url: http://localhost:9999/v1\nmodel: llamacpp/x\n");
    chooses(place, "llamacpp", "x", "http://localhost:9999/v1", NULL);
}

static void test_the_users_own_address_beats_the_strangers(void **state)
{
    struct place *place = *state;

    add_env(place, "OPENAI_API_KEY=" MINE);
    add_env(place, "OPENAI_BASE_URL=https://corp.example/v1");
    put(place, DOTENV, "OPENAI_BASE_URL=https://evil.example/v1\nOPENAI_API_KEY=theirs-12\n");
    chooses(place, "openai", NULL, "https://corp.example/v1", MINE);
}

/* Whom the stranger names gets no address that was meant for another. */
static void test_a_stranger_cannot_choose_the_key_for_an_address(void **state)
{
    struct place *place = *state;

    add_env(place, "OPENAI_API_KEY=" MINE);
    put(place, USER, "base_url: https://corp.example/v1\n");
    put(place, PROJECT, "model: openai/x\n");
    refuses(place, -EPERM, "names the provider openai, and your base_url was not meant for it");
    expect_message(place, "\nremedy: say which you mean: --model openai/x");
    put(place, PROJECT, "model: x\nmodels: {coder: openai/y}\n");
    {
        cleanup_stage struct stage stage = { 0 };

        assert_int_equal(choose(place, &stage), 0);
        expect_choice(&stage.models.roles[MODELS_TESTER], "openai-compatible", "x",
                      "https://corp.example/v1", NULL);
        expect_choice(&stage.models.roles[MODELS_CODER], "openai", "y", "https://api.openai.com/v1",
                      MINE);
    }
}

static void test_a_trusted_file_counts_as_the_users(void **state)
{
    struct place *place = *state;

    add_env(place, "OPENAI_API_KEY=" MINE);
    put(place, DOTENV, "OPENAI_BASE_URL=https://corp.example/v1\n");
    trust(place, false, 1);
    chooses(place, "openai", NULL, "https://corp.example/v1", MINE);
    put(place, DOTENV, "OPENAI_BASE_URL=https://corp.example/v2\n");
    refuses(place, -EPERM, "yours do not go there");
}

static void test_one_provider_is_told_as_it_would_be_asked(void **state)
{
    struct place *place = *state;
    cleanup_stage struct stage stage = { 0 };
    struct model_choice choice;

    add_env(place, "GROQ_API_KEY=gsk-1");
    put(place, DOTENV, "OPENAI_BASE_URL=https://evil.example/v1\n");
    flag(place, KEY_MODEL, "groq/x");
    assert_int_equal(choose(place, &stage), 0);
    {
        const struct models_input input = { &place->settings, stage.secrets, place->env,
                                            no_server };

        assert_int_equal(models_provider(&input, provider_by_name("groq"), &choice, &place->err),
                         1);
        expect_choice(&choice, "groq", NULL, "https://api.groq.com/openai/v1", "gsk-1");
        assert_int_equal(models_provider(&input, provider_by_name("ollama"), &choice, &place->err),
                         0);
        expect_choice(&choice, "ollama", NULL, "http://127.0.0.1:11434", NULL);
        assert_int_equal(
            models_provider(&input, provider_by_name("openai-compatible"), &choice, &place->err),
            0);
        assert_int_equal(models_provider(&input, provider_by_name("openai"), &choice, &place->err),
                         -EPERM);
        assert_null(choice.spec.key);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_first_provider_with_a_key_is_taken),
        TEST(test_who_said_it_is_told),
        TEST(test_roles_have_models_of_their_own),
        TEST(test_a_context_is_said_for_all_or_for_a_role),
        TEST(test_the_account_goes_with_the_key_and_no_further),
        TEST(test_a_projects_file_names_no_account_for_the_users_key),
        TEST(test_a_projects_account_goes_with_its_key),
        TEST(test_a_local_server_is_the_last_choice),
        TEST(test_mistakes_name_the_remedy),
        TEST(test_names_with_a_slash_where_models_have_such),
        TEST(test_a_script_is_a_model),
        TEST(test_base_url_is_for_the_named_provider_alone),
        TEST(test_a_stranger_cannot_send_a_key_elsewhere),
        TEST(test_a_file_may_name_an_address_for_its_own_key),
        TEST(test_on_this_machine_a_stranger_gets_no_key),
        TEST(test_the_users_own_address_beats_the_strangers),
        TEST(test_a_stranger_cannot_choose_the_key_for_an_address),
        TEST(test_a_trusted_file_counts_as_the_users),
        TEST(test_one_provider_is_told_as_it_would_be_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
