/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_conf.c - the layers of configuration: who may say what, and who is believed. */
#include <errno.h>

#include "box/limits.h"
#include "conf/dirs.h"
#include "conf/yaml.h"
#include "conf_place.h"

/* ---- layers -------------------------------------------------------------------------------- */

static void test_defaults_are_those_of_the_box(void **state)
{
    struct place *place = *state;
    struct limits limits = limits_default();
    char run_dir[128];

    load_ok(place);
    assert_memory_equal(&place->settings.limits, &limits, sizeof(limits));
    assert_int_equal(place->settings.backend, BACKEND_NATIVE);
    assert_string_equal(place->settings.image, "host");
    assert_int_equal(place->settings.must_hold, WALLS_ALL);
    assert_int_equal(place->settings.allow_missing, 0);
    assert_null(place->settings.toolchains);
    (void)snprintf(run_dir, sizeof(run_dir), "%s/run/glovebox", place->root);
    assert_string_equal(place->settings.run_dir, run_dir);
    for (enum key_id id = 0; id < N_KEYS; id++)
        expect_origin(place, id, "default");
    assert_int_equal(settings_check(&place->settings, &place->err), 0);
}

/* The text of each default in keys.def reads back as the number that limits_default() has. */
static void test_documented_defaults_are_the_real_ones(void **state)
{
    struct place *place = *state;

    load_ok(place);
    for (enum key_id id = 0; id < N_KEYS; id++) {
        const struct key *key = key_at(id);
        cleanup_buf struct buf text = BUF_INIT(4096);

        if (!*key->value)
            continue;
        assert_int_equal(value_format(key->kind, &place->settings.set[id].value, &text), 0);
        assert_string_equal(text.data, key->value);
    }
}

static void test_a_stronger_layer_wins(void **state)
{
    struct place *place = *state;

    put(place, SYSTEM, "limits:\n  timeout: 100\n");
    load_ok(place);
    assert_int_equal(place->settings.limits.wall_ms, 100000);
    expect_origin(place, KEY_TIMEOUT, "sys/config.yaml:2");

    put(place, USER, "# mine\nlimits:\n  timeout: 90s\n");
    load_ok(place);
    assert_int_equal(place->settings.limits.wall_ms, 90000);
    expect_origin(place, KEY_TIMEOUT, "user/glovebox/config.yaml:3");

    put(place, PROJECT, "limits: {timeout: 80}\n");
    load_ok(place);
    assert_int_equal(place->settings.limits.wall_ms, 80000);
    expect_origin(place, KEY_TIMEOUT, "project/glovebox.yaml:1");

    put(place, DOTENV, "\nGLOVEBOX_TIMEOUT=70\n");
    load_ok(place);
    assert_int_equal(place->settings.limits.wall_ms, 70000);
    expect_origin(place, KEY_TIMEOUT, "project/.env:2");

    add_env(place, "GLOVEBOX_TIMEOUT=2m");
    load_ok(place);
    assert_int_equal(place->settings.limits.wall_ms, 120000);
    expect_origin(place, KEY_TIMEOUT, "GLOVEBOX_TIMEOUT");

    flag(place, KEY_TIMEOUT, "3m");
    flag(place, KEY_TIMEOUT, "4m");
    load_ok(place);
    assert_int_equal(place->settings.limits.wall_ms, 240000);
    expect_origin(place, KEY_TIMEOUT, "--timeout");
}

static void test_cpu_time_follows_wall_time_and_cpus(void **state)
{
    struct place *place = *state;

    put(place, USER, "limits:\n  timeout: 10\n  cpus: 2.5\n");
    load_ok(place);
    assert_int_equal(place->settings.limits.cpu_ms, 25000);
    flag(place, KEY_CPU_TIME, "3");
    load_ok(place);
    assert_int_equal(place->settings.limits.cpu_ms, 3000);
}

static void test_kept_output_follows_a_lower_maximum(void **state)
{
    struct place *place = *state;

    flag(place, KEY_OUTPUT_MAX, "1m");
    load_ok(place);
    assert_int_equal(place->settings.limits.output_max, 1 << 20);
    assert_int_equal(place->settings.limits.output_keep, 1 << 20);
}

static void test_flags_add_toolchains_in_front(void **state)
{
    struct place *place = *state;
    char first[128];

    put(place, USER, "host:\n  toolchains:\n    - /opt/a\n    - ~/b/\n");
    add_env(place, "GLOVEBOX_COLOR=never");
    flag(place, KEY_TOOLCHAINS, "/opt/c");
    flag(place, KEY_TOOLCHAINS, "/opt/d");
    load_ok(place);
    assert_string_equal(place->settings.toolchains[0], "/opt/c");
    assert_string_equal(place->settings.toolchains[1], "/opt/d");
    assert_string_equal(place->settings.toolchains[2], "/opt/a");
    (void)snprintf(first, sizeof(first), "%s/b", place->root);
    assert_string_equal(place->settings.toolchains[3], first);
    assert_null(place->settings.toolchains[4]);

    put(place, USER, "host:\n  toolchains: []\n");
    place->n_flags = 0;
    load_ok(place);
    assert_null(place->settings.toolchains);
    expect_origin(place, KEY_TOOLCHAINS, "config.yaml:2");
}

static void test_require_takes_back_what_may_be_missing(void **state)
{
    struct place *place = *state;

    put(place, USER, "allow_missing: [landlock, memory]\n");
    put(place, PROJECT, "require: memory\n");
    load_ok(place);
    assert_int_equal(place->settings.allow_missing, 1u << WALL_LANDLOCK);
    assert_int_equal(place->settings.must_hold, WALLS_ALL & ~(1u << WALL_LANDLOCK));
}

/* ---- project files only tighten ------------------------------------------------------------ */

static void test_a_project_cannot_raise_a_limit(void **state)
{
    struct place *place = *state;

    put(place, PROJECT, "limits:\n  timeout: 1h\n  memory: 64m\n  cpu_time: 1h\n");
    put(place, DOTENV, "GLOVEBOX_PIDS=30000\nGLOVEBOX_MEMORY=128m\n");
    load_ok(place);
    assert_int_equal(place->settings.limits.wall_ms, 30000);
    assert_int_equal(place->settings.limits.cpu_ms, 30000);
    assert_int_equal(place->settings.limits.memory_bytes, 64 << 20);
    assert_int_equal(place->settings.limits.pids, 128);
    expect_origin(place, KEY_TIMEOUT, "default");
    assert_true(place->settings.set[KEY_TIMEOUT].is_capped);
    assert_int_equal(place->settings.set[KEY_TIMEOUT].capped.line, 2);
    assert_int_equal(place->settings.set[KEY_PIDS].capped.kind, ORIGIN_DOTENV);
    expect_origin(place, KEY_MEMORY, "glovebox.yaml:3");

    flag(place, KEY_TIMEOUT, "50");
    load_ok(place);
    assert_int_equal(place->settings.limits.wall_ms, 50000);
    assert_false(place->settings.set[KEY_TIMEOUT].is_capped);
}

static void test_a_project_cannot_enable_what_is_disabled(void **state)
{
    struct place *place = *state;

    put(place, USER, "backend: disabled\n");
    put(place, PROJECT, "backend: native\n");
    load_ok(place);
    assert_int_equal(place->settings.backend, BACKEND_DISABLED);
    assert_true(place->settings.set[KEY_BACKEND].is_capped);
    assert_true(settings_check(&place->settings, &place->err) < 0);
    expect_message(place, "user/glovebox/config.yaml:1: running code is disabled");

    put(place, USER, "backend: native\n");
    put(place, PROJECT, "backend: disabled\n");
    load_ok(place);
    assert_int_equal(place->settings.backend, BACKEND_DISABLED);
}

static void test_operator_keys_are_an_error_in_a_project(void **state)
{
    static const char *const rows[][2] = {
        { "allow_missing: all", "GLOVEBOX_ALLOW_MISSING=all" },
        { "host.toolchains: [/root]", "GLOVEBOX_TOOLCHAINS=/root" },
        { "native.uid_base: 100000", "GLOVEBOX_UID_BASE=100000" },
        { "run_dir: /tmp/x", "GLOVEBOX_RUN_DIR=/tmp/x" },
        { "state_dir: /tmp/x", "GLOVEBOX_STATE_DIR=/tmp/x" },
        { "runs_dir: /tmp/x", "GLOVEBOX_RUNS_DIR=/tmp/x" },
        { "search.provider: none", "GLOVEBOX_SEARCH=none" },
        { "search.url: http://x", "GLOVEBOX_SEARCH_URL=http://x" },
        { "docker.host: unix:///x", "GLOVEBOX_DOCKER_HOST=unix:///x" },
        { "docker.runtime: runsc", "GLOVEBOX_DOCKER_RUNTIME=runsc" },
        { "docker.bases: [python]", "GLOVEBOX_DOCKER_BASES=python" },
        { "prices: /tmp/x", "GLOVEBOX_PRICES=/tmp/x" },
        { "cache_dir: /tmp/x", "GLOVEBOX_CACHE_DIR=/tmp/x" },
        { "packages.hosts: x.org", "GLOVEBOX_PACKAGES_HOSTS=x.org" },
        { "net.deny: x.org", "GLOVEBOX_NET_DENY=x.org" },
        { "packages.cache: 1g", "GLOVEBOX_PACKAGES_CACHE=1g" },
    };
    struct place *place = *state;
    size_t n_operator = 0;

    for (enum key_id id = 0; id < N_KEYS; id++)
        n_operator += key_at(id)->rule == KEY_RULE_OPERATOR;
    assert_int_equal(n_operator, sizeof(rows) / sizeof(rows[0]));
    for (size_t i = 0; i < n_operator; i++) {
        put(place, DOTENV, "");
        put(place, PROJECT, rows[i][0]);
        load_fails(place, "project/glovebox.yaml:1: ");
        expect_message(place, "a project file may not set this");
        expect_message(place, "\nremedy: read it, and if you trust it: glovebox config trust .");
        put(place, PROJECT, "");
        put(place, DOTENV, rows[i][1]);
        load_fails(place, "project/.env:1: ");
        put(place, DOTENV, "");
        put(place, USER, rows[i][0]);
        load_ok(place);
        put(place, USER, "");
    }
}

static void test_the_real_environment_beats_dotenv_untouched(void **state)
{
    struct place *place = *state;

    put(place, DOTENV, "GLOVEBOX_TIMEOUT=5\nGLOVEBOX_ALLOW_MISSING=all\nOTHER=1\n");
    add_env(place, "GLOVEBOX_TIMEOUT=20");
    add_env(place, "GLOVEBOX_ALLOW_MISSING=landlock");
    load_ok(place);
    assert_int_equal(place->settings.limits.wall_ms, 20000);
    assert_int_equal(place->settings.allow_missing, 1u << WALL_LANDLOCK);
}

/* What a stranger's .env sends to a server must not be the user's environment. */
static void test_dotenv_of_a_stranger_sees_no_environment(void **state)
{
    struct place *place = *state;

    put(place, DOTENV, "A=7\nGLOVEBOX_MODEL=x/${OPENAI_API_KEY:-none}-${A}\n");
    add_env(place, "OPENAI_API_KEY=sk-mine");
    load_ok(place);
    assert_string_equal(place->settings.set[KEY_MODEL].value.text, "x/none-7");
    trust(place, false, 1);
    load_ok(place);
    assert_string_equal(place->settings.set[KEY_MODEL].value.text, "x/sk-mine-7");
}

/* ---- settings of tasks --------------------------------------------------------------------- */

static void test_limits_of_tasks_have_defaults(void **state)
{
    struct place *place = *state;

    load_ok(place);
    assert_int_equal(place->settings.task.steps, 25);
    assert_int_equal(place->settings.task.attempts, 5);
    assert_int_equal(place->settings.task.tokens, 2000000);
    assert_int_equal(place->settings.task.cost, 5000000);
    assert_int_equal(place->settings.task.time_ms, 3600000);
    assert_int_equal(place->settings.task.candidates, 1);
    assert_int_equal(place->settings.ask, ASKING_BLOCKED);
    assert_null(effort_name(place->settings.effort));
    assert_string_equal(place->settings.runs_dir, "runs");
    assert_null(place->settings.set[KEY_MODEL].value.text);
}

static void test_a_project_may_lower_what_a_task_takes(void **state)
{
    struct place *place = *state;

    put(place, USER, "agent: {max_steps: 30, candidates: 4, max_cost: 0.25}\neffort: high\n");
    put(place, PROJECT,
        "agent: {max_steps: 40, max_attempts: 2, candidates: 3, max_cost: 1.5, ask: never}\n"
        "model: groq/x\nmodels: {coder: y}\n");
    load_ok(place);
    assert_int_equal(place->settings.task.steps, 30);
    assert_true(place->settings.set[KEY_MAX_STEPS].is_capped);
    assert_int_equal(place->settings.task.attempts, 2);
    assert_int_equal(place->settings.task.candidates, 3);
    assert_int_equal(place->settings.task.cost, 250000);
    assert_int_equal(place->settings.ask, ASKING_NEVER);
    assert_string_equal(effort_name(place->settings.effort), "high");
    assert_string_equal(place->settings.set[KEY_MODEL].value.text, "groq/x");
    assert_true(place->settings.set[KEY_MODEL].origin.is_untrusted);
    expect_origin(place, KEY_MODEL_CODER, "project/glovebox.yaml:3");
    trust(place, false, 1);
    load_ok(place);
    assert_int_equal(place->settings.task.steps, 40);
    assert_false(place->settings.set[KEY_MODEL].origin.is_untrusted);
}

static void test_mistakes_in_settings_of_tasks(void **state)
{
    static const char *const rows[][2] = {
        { "agent: {max_steps: 0}", "allowed is a whole number" },
        { "agent: {max_steps: 1001}", "agent.max_steps: at most 1000 makes sense" },
        { "agent: {candidates: 65}", "at most 64 makes sense" },
        { "agent: {max_cost: 0}", "is out of range" },
        { "agent: {max_cost: 99999999}", "at most 1000000 makes sense" },
        { "agent: {max_time: 31000h}", "at most 720h makes sense" },
        { "agent: {ask: sometimes}", "allowed is never, blocked or always" },
        { "effort: huge", "allowed is low, medium, high or auto" },
        { "model: \"a\\nb\"", "cannot be used: allowed is PROVIDER/MODEL" },
        { "model: openai/", "cannot be used" },
        { "model: /x", "cannot be used" },
        { "model: ' x'", "cannot be used" },
        { "models: {planner: x}", "unknown key 'models.planner'" },
        { "base_url: localhost", "allowed is http:// or https://" },
        { "base_url: ftp://x/v1", "allowed is http:// or https://" },
        { "base_url: https://", "allowed is http:// or https://" },
        { "base_url: https:///v1", "allowed is http:// or https://" },
        { "base_url: https://me@x/v1", "allowed is http:// or https://" },
        { "base_url: https://x/v1?k=1", "allowed is http:// or https://" },
        { "base_url: \"https://x/\\r\\nHost: y\"", "allowed is http:// or https://" },
        { "base_url: 'https://x/\\y'", "allowed is http:// or https://" },
        { "runs_dir: ../x", "allowed is a path without" },
        { "runs_dir: a//b", "allowed is a path without" },
        { "runs_dir: .", "allowed is a path without" },
        { "search: {provider: bing}", "allowed is tavily, searxng, none or auto" },
    };
    struct place *place = *state;

    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        put(place, USER, rows[i][0]);
        load_fails(place, rows[i][1]);
    }
}

static void test_folders_are_relative_absolute_or_at_home(void **state)
{
    static const char *const rows[][2] = {
        { "runs_dir: out/of/this/", "out/of/this" },
        { "runs_dir: /var/runs/", "/var/runs" },
        { "runs_dir: ~/runs", "/runs" },
    };
    struct place *place = *state;

    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        const char *path;

        put(place, USER, rows[i][0]);
        load_ok(place);
        path = place->settings.runs_dir;
        assert_string_equal(i == 2 ? path + strlen(place->root) : path, rows[i][1]);
    }
}

/* ---- trust --------------------------------------------------------------------------------- */

static void test_a_trusted_project_may_do_all(void **state)
{
    struct place *place = *state;

    put(place, PROJECT, "limits:\n  timeout: 1h\nallow_missing: landlock\n");
    put(place, DOTENV, "GLOVEBOX_PIDS=500\n");
    load_fails(place, "may not set this");
    trust(place, false, 2);
    load_ok(place);
    assert_int_equal(place->settings.limits.wall_ms, 3600000);
    assert_int_equal(place->settings.limits.pids, 500);
    assert_int_equal(place->settings.allow_missing, 1u << WALL_LANDLOCK);

    /* One changed byte, and it is an ordinary project file again. */
    put(place, DOTENV, "GLOVEBOX_PIDS=501\n");
    load_ok(place);
    assert_int_equal(place->settings.limits.pids, 128);
    put(place, PROJECT, "limits:\n  timeout: 2h\nallow_missing: landlock\n");
    load_fails(place, "may not set this");

    trust(place, false, 2);
    load_ok(place);
    trust(place, true, 0);
    load_fails(place, "may not set this");
}

static void test_trust_is_for_one_directory(void **state)
{
    struct place *place = *state;
    char other[128];

    put(place, PROJECT, "allow_missing: landlock\n");
    trust(place, false, 1);
    make_dir(place, "other");
    put(place, "other/glovebox.yaml", "allow_missing: landlock\n");
    (void)snprintf(other, sizeof(other), "%s/other", place->root);
    memcpy(place->project, other, strlen(other) + 1);
    load_fails(place, "may not set this");
    trust(place, false, 1);
    load_ok(place);
    (void)snprintf(place->project, sizeof(place->project), "%s/project", place->root);
    load_ok(place);
}

static void test_a_list_that_others_can_write_is_not_believed(void **state)
{
    struct place *place = *state;
    char path[160];

    put(place, PROJECT, "limits:\n  timeout: 5\n");
    trust(place, false, 1);
    (void)snprintf(path, sizeof(path), "%s/" LIST, place->root);
    assert_int_equal(chmod(path, 0666), 0);
    load_fails(place, "others may write to it");
}

static void test_nothing_to_trust_is_an_error(void **state)
{
    struct place *place = *state;
    char state_dir[128];
    size_t n;

    (void)snprintf(state_dir, sizeof(state_dir), "%s/state/glovebox", place->root);
    assert_int_equal(trust_set(state_dir, place->project, false, &n, &place->err), -ENOENT);
    expect_message(place, "there is no glovebox.yaml");
    assert_true(trust_set(state_dir, "/nowhere", false, &n, &place->err) < 0);
}

static void test_an_operators_file_that_others_can_write_is_refused(void **state)
{
    struct place *place = *state;
    char path[160];

    put(place, USER, "limits: {timeout: 5}\n");
    (void)snprintf(path, sizeof(path), "%s/" USER, place->root);
    assert_int_equal(chmod(path, 0664), 0);
    load_fails(place, "others may write to it");
}

/* What a list looks like must not matter to what it holds. */
static void test_trust_is_in_every_byte(void **state)
{
    static const char *const rows[] = {
        "allow_missing: landlock",     "allow_missing: landlock\n",
        "allow_missing: landlock\n\n", "allow_missing: landlock\n# 24 /project/glovebox.yaml\n",
        "allow_missing: [landlock]\n",
    };
    struct place *place = *state;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        put(place, PROJECT, rows[i]);
        trust(place, false, 1);
        for (size_t j = 0; j < sizeof(rows) / sizeof(rows[0]); j++) {
            put(place, PROJECT, rows[j]);
            if (i == j)
                load_ok(place);
            else
                load_fails(place, "may not set this");
        }
    }
}

static void test_a_damaged_list_is_not_believed(void **state)
{
    static const char *const rows[] = {
        "x",
        "\n",
        "5",
        "5 /a",
        "5 /a\n",
        "5 /a\n1234\n",
        "2 /a\n12",
        "2 /a\n12x",
        "2 /a\n12\n3",
        "-1 /a\n\n",
        " /a\n\n",
        "0 /a\n\n\n",
        "2x /a\n12",
        "/a\n12\n",
        "1048577 /a\n",
        "99999999 /a\n\n",
        "00000001 /a\n1\n",
    };
    struct place *place = *state;
    char state_dir[128];
    size_t n;

    (void)snprintf(state_dir, sizeof(state_dir), "%s/state/glovebox", place->root);
    put(place, PROJECT, "limits: {timeout: 5}\n");
    trust(place, false, 1);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        put(place, LIST, rows[i]);
        load_fails(place, "trusted: damaged\nremedy: remove it");
        assert_int_equal(trust_set(state_dir, place->project, false, &n, &place->err), -EBADMSG);
    }
    put(place, LIST, "2 /a\n12\n0 /b\n\n");
    load_ok(place);
    trust(place, false, 1);
}

static void test_trusted_files_have_a_greatest_size_together(void **state)
{
    cleanup_buf struct buf text = BUF_INIT(1 << 20);
    struct place *place = *state;
    char state_dir[128];
    size_t n;

    (void)snprintf(state_dir, sizeof(state_dir), "%s/state/glovebox", place->root);
    buf_puts(&text, "color: never #");
    for (unsigned i = 0; i < 600000; i++)
        buf_putc(&text, '#');
    put(place, PROJECT, text.data);
    trust(place, false, 1);
    put(place, FOREIGN, text.data);
    assert_int_equal(trust_set(state_dir, place->project, false, &n, &place->err), -EFBIG);
    expect_message(place, "more than 1 MiB together\nremedy: glovebox config trust --revoke DIR");
    load_ok(place);
    trust(place, true, 0);
}

static void test_a_directory_that_is_gone_can_be_forgotten(void **state)
{
    struct place *place = *state;
    char gone[128];
    char path[160];
    struct stat st;

    put(place, PROJECT, "allow_missing: landlock\n");
    trust(place, false, 1);
    (void)snprintf(gone, sizeof(gone), "%s/gone", place->root);
    assert_int_equal(rename(place->project, gone), 0);
    trust(place, true, 0);
    assert_int_equal(rename(gone, place->project), 0);
    load_fails(place, "may not set this");
    (void)snprintf(path, sizeof(path), "%s/" LIST, place->root);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, 0);
}

/* ---- the layout of other programs ---------------------------------------------------------- */

static void test_s1_layout_is_read(void **state) /* S1-03 */
{
    struct place *place = *state;

    put(place, FOREIGN,
        "models: &m\n  - name: x\n    deep: [[1], {a: *m}]\n"
        "tools:\n  search: {key: 1}\n  code_execution:\n    enabled: true\n"
        "    sandbox: restricted\n    timeout: 20\n    memory_limit: \"256m\"\n"
        "    # end\nlogging: !custom {}\n");
    load_ok(place);
    assert_int_equal(place->settings.limits.wall_ms, 20000);
    assert_int_equal(place->settings.limits.memory_bytes, 256 << 20);
    assert_int_equal(place->settings.backend, BACKEND_NATIVE);
    expect_origin(place, KEY_MEMORY, "project/config/config.yaml:10");

    put(place, FOREIGN, "tools: {code_execution: {enabled: false, sandbox: native}}\n");
    load_ok(place);
    assert_int_equal(place->settings.backend, BACKEND_DISABLED);

    put(place, FOREIGN, "tools: {code_execution: {sandbox: docker}}\n");
    load_ok(place);
    assert_int_equal(place->settings.backend, BACKEND_DOCKER);
    assert_string_equal(place->settings.image, BOX_IMAGE_DOCKER);
    assert_int_equal(settings_check(&place->settings, &place->err), 0);
    put(place, USER, "image: busybox\n");
    load_ok(place);
    assert_string_equal(place->settings.image, "busybox");
    put(place, USER, "image: host\n");
    load_ok(place);
    assert_true(settings_check(&place->settings, &place->err) < 0);
    expect_message(place,
                   "config.yaml:1: image 'host': the docker backend has images of its engine");
    put(place, USER, "");

    put(place, FOREIGN, "tools:\n  code_execution:\n    sandbox: none\n");
    load_fails(place, "config/config.yaml:3: tools.code_execution.sandbox: 'none' cannot be used: "
                      "allowed is native, restricted, docker, disabled");
    put(place, FOREIGN, "tools:\n  code_execution:\n    timout: 3\n");
    load_fails(place, "did you mean 'tools.code_execution.timeout'?");

    /* Ours takes its place. */
    put(place, PROJECT, "limits: {timeout: 7}\n");
    load_ok(place);
    assert_int_equal(place->settings.limits.wall_ms, 7000);
}

static void test_disabling_holds_in_a_trusted_file_in_any_order(void **state)
{
    struct place *place = *state;

    put(place, USER, "tools: {code_execution: {sandbox: native, enabled: no}}\n");
    load_ok(place);
    assert_int_equal(place->settings.backend, BACKEND_DISABLED);
    put(place, USER, "tools: {code_execution: {enabled: no, sandbox: native}}\n");
    load_ok(place);
    assert_int_equal(place->settings.backend, BACKEND_DISABLED);
}

/* ---- bad input ----------------------------------------------------------------------------- */

static void test_mistakes_in_yaml_name_file_line_and_remedy(void **state)
{
    static const char *const rows[][2] = {
        { "limits:\n  timeuot: 3", "glovebox.yaml:2: limits.timeuot: unknown key" },
        { "limits:\n  timeuot: 3", "did you mean 'limits.timeout'?" },
        { "timeout: 3", "did you mean 'limits.timeout'?" },
        { "zzz: 3", "glovebox.yaml:1: zzz: unknown key 'zzz'" },
        { "limits:\n  timeout: 0", "glovebox.yaml:2: limits.timeout: '0' is out of range" },
        { "limits: {timeout: -1}", "'-1' cannot be used" },
        { "limits: {timeout: .nan}", "'.nan' cannot be used" },
        { "limits: {timeout: 99999999999999999999}", "is out of range" },
        { "limits: {timeout: 1e9}", "cannot be used" },
        { "limits: {memory: 12q}", "allowed is 1 MiB to 64 TiB, such as 512m" },
        { "limits: {memory: 1}", "1 MiB to" },
        { "limits: {pids: 1.5}", "allowed is a whole number" },
        { "limits: {cpus: 0}", "is out of range" },
        { "limits: {timeout: }", "limits.timeout: has no value" },
        { "limits: {timeout: [1]}", "takes no list" },
        { "limits: {timeout: {a: 1}}", "limits.timeout.a: unknown key" },
        { "limits: 3", "limits: is a section" },
        { "limits: [a]", "limits: is a section" },
        { "backend: foo", "allowed is native, docker or disabled" },
        { "color: blue", "allowed is auto, always or never" },
        { "require: wal", "no wall is named 'wal'" },
        { "image: ''", "image: '' cannot be used" },
        { "color: auto\ncolor: never", "glovebox.yaml:2: color: was set in line 1 already" },
        { "a: &x 1\nb: *x", "anchors and tags are not read here" },
        { "color: *x", "aliases are not read here" },
        { "color: !!str auto", "anchors and tags" },
        { "[a, b]", "glovebox.yaml:1: expected 'key: value', not a list" },
        { "just text", "glovebox.yaml:1: expected 'key: value'" },
        { "a: 1\n---\nb: 2", "more than one document" },
        { "{[a]: 1}", "a key must be a plain word" },
        { "require: [[memory]]", "a list may hold only plain values" },
        { "color: \"a\\0b\"", "NUL" },
        { "color: auto\n\tx: 1", "glovebox.yaml:2: " },
        { "a: b: c", "glovebox.yaml:1: " },
        { "color: \xff", "glovebox.yaml:1: " },
    };
    struct place *place = *state;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        put(place, PROJECT, rows[i][0]);
        load_fails(place, rows[i][1]);
    }
}

static void test_empty_files_and_sections_say_nothing(void **state)
{
    static const char *const rows[] = { "", "\n", "# only\n", "---\n", "~", "limits:\n", "{}" };
    struct place *place = *state;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        put(place, PROJECT, rows[i]);
        put(place, FOREIGN, rows[i]);
        load_ok(place);
    }
}

static void test_yaml_is_bounded(void **state)
{
    cleanup_buf struct buf text = BUF_INIT(4 << 20);
    struct place *place = *state;

    for (unsigned i = 0; i < 1000000; i++)
        buf_putc(&text, '[');
    put(place, PROJECT, text.data);
    load_fails(place, "glovebox.yaml:1: ");

    buf_reset(&text);
    for (unsigned i = 0; i < 1 << 20; i++)
        buf_putc(&text, '#');
    put(place, PROJECT, text.data);
    load_fails(place, "larger than 1 MiB");

    buf_reset(&text);
    for (unsigned i = 0; i < 17; i++)
        buf_puts(&text, "{a: ");
    put(place, PROJECT, text.data);
    load_fails(place, "nested deeper than 16 levels");

    buf_reset(&text);
    for (unsigned i = 0; i < 1100; i++)
        buf_printf(&text, "k%u: 1\n", i);
    put(place, PROJECT, text.data);
    load_fails(place, "more than 1024 keys");
}

static void test_a_foreign_file_cannot_nest_without_end(void **state)
{
    cleanup_buf struct buf text = BUF_INIT(4 << 20);
    struct place *place = *state;

    buf_puts(&text, "x: ");
    for (unsigned i = 0; i < 900000; i++)
        buf_putc(&text, '[');
    put(place, FOREIGN, text.data);
    load_fails(place, "nested deeper than 64 levels");
}

static void test_a_fifo_is_no_configuration(void **state)
{
    struct place *place = *state;
    char path[160];

    (void)snprintf(path, sizeof(path), "%s/" PROJECT, place->root);
    assert_int_equal(mkfifo(path, 0600), 0);
    load_fails(place, "not a regular file");
}

static void test_bad_flags_and_variables_are_named(void **state)
{
    struct place *place = *state;

    flag(place, KEY_MEMORY, "lots");
    load_fails(place, "--memory: 'lots' cannot be used");
    place->n_flags = 0;
    add_env(place, "GLOVEBOX_MEMORY=lots");
    load_fails(place, "GLOVEBOX_MEMORY: 'lots' cannot be used");
    free(place->env[--place->n_env]);
    place->env[place->n_env] = NULL;
    add_env(place, "GLOVEBOX_TIMEOT=3");
    load_fails(place, "GLOVEBOX_TIMEOT: unknown variable, did you mean GLOVEBOX_TIMEOUT?");
    free(place->env[--place->n_env]);
    place->env[place->n_env] = NULL;
    add_env(place, "GLOVEBOX_BIN=/x"); /* somebody else's */
    add_env(place, "GLOVEBOX_PIDS=");  /* as good as not set */
    load_ok(place);
    put(place, DOTENV, "A=1\nGLOVEBOX_MEMRY=3\n");
    load_fails(place, "project/.env:2: GLOVEBOX_MEMRY: unknown variable");
}

static void test_image_other_than_host_is_refused(void **state)
{
    struct place *place = *state;

    put(place, PROJECT, "image: python:3.12-slim\n");
    load_ok(place);
    assert_true(settings_check(&place->settings, &place->err) < 0);
    expect_message(place, "glovebox.yaml:1: image 'python:3.12-slim': native boxes have only");
}

/* ---- directories --------------------------------------------------------------------------- */

static void expect_path(char *path, const char *expected)
{
    if (expected)
        assert_string_equal(path, expected);
    else
        assert_null(path);
    free(path);
}

static void test_directories_follow_the_conventions(void **state)
{
    static char home[] = "HOME=/home/me/", relative[] = "XDG_STATE_HOME=here";
    static char run[] = "XDG_RUNTIME_DIR=/run/user/7";
    static char systemd[] = "STATE_DIRECTORY=/var/lib/x:/var/lib/y";
    char *const none[] = { NULL };
    char *const homes[] = { home, relative, NULL };
    char *const full[] = { home, run, systemd, NULL };

    expect_path(dirs_state(none, 7), NULL);
    expect_path(dirs_run(none, 7), NULL);
    expect_path(dirs_user_config(none), NULL);
    expect_path(dirs_state(none, 0), "/var/lib/glovebox");
    expect_path(dirs_run(none, 0), "/run/glovebox");
    expect_path(dirs_system_config(none), "/etc/glovebox/config.yaml");
    expect_path(dirs_state(homes, 7), "/home/me/.local/state/glovebox");
    expect_path(dirs_run(homes, 7), "/home/me/.local/state/glovebox/run");
    expect_path(dirs_user_config(homes), "/home/me/.config/glovebox/config.yaml");
    expect_path(dirs_state(full, 7), "/var/lib/x");
    expect_path(dirs_run(full, 7), "/run/user/7/glovebox");
}

static void test_without_a_home_the_check_tells(void **state)
{
    struct settings settings = { 0 };
    struct gb_err err = { 0 };
    char *const none[] = { NULL };
    const struct settings_input input = { .env = none, .uid = 7, .is_without_project = true };

    assert_int_equal(settings_load(&settings, &input, &err), 0);
    assert_null(settings.run_dir);
    assert_true(settings_check(&settings, &err) < 0);
    assert_int_equal(err.blame, GB_BLAME_HOST);
    assert_non_null(strstr(err.msg, "set HOME or GLOVEBOX_RUN_DIR"));
    settings_clear(&settings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_defaults_are_those_of_the_box),
        TEST(test_documented_defaults_are_the_real_ones),
        TEST(test_a_stronger_layer_wins),
        TEST(test_cpu_time_follows_wall_time_and_cpus),
        TEST(test_kept_output_follows_a_lower_maximum),
        TEST(test_flags_add_toolchains_in_front),
        TEST(test_require_takes_back_what_may_be_missing),
        TEST(test_a_project_cannot_raise_a_limit),
        TEST(test_a_project_cannot_enable_what_is_disabled),
        TEST(test_operator_keys_are_an_error_in_a_project),
        TEST(test_the_real_environment_beats_dotenv_untouched),
        TEST(test_dotenv_of_a_stranger_sees_no_environment),
        TEST(test_limits_of_tasks_have_defaults),
        TEST(test_a_project_may_lower_what_a_task_takes),
        TEST(test_mistakes_in_settings_of_tasks),
        TEST(test_folders_are_relative_absolute_or_at_home),
        TEST(test_a_trusted_project_may_do_all),
        TEST(test_trust_is_for_one_directory),
        TEST(test_a_list_that_others_can_write_is_not_believed),
        TEST(test_nothing_to_trust_is_an_error),
        TEST(test_an_operators_file_that_others_can_write_is_refused),
        TEST(test_trust_is_in_every_byte),
        TEST(test_a_damaged_list_is_not_believed),
        TEST(test_trusted_files_have_a_greatest_size_together),
        TEST(test_a_directory_that_is_gone_can_be_forgotten),
        TEST(test_s1_layout_is_read),
        TEST(test_disabling_holds_in_a_trusted_file_in_any_order),
        TEST(test_mistakes_in_yaml_name_file_line_and_remedy),
        TEST(test_empty_files_and_sections_say_nothing),
        TEST(test_yaml_is_bounded),
        TEST(test_a_foreign_file_cannot_nest_without_end),
        TEST(test_a_fifo_is_no_configuration),
        TEST(test_bad_flags_and_variables_are_named),
        TEST(test_image_other_than_host_is_refused),
        cmocka_unit_test(test_directories_follow_the_conventions),
        cmocka_unit_test(test_without_a_home_the_check_tells),
    };

    return cmocka_run_group_tests_name("conf", tests, NULL, NULL);
}
