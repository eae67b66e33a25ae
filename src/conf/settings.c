/* SPDX-License-Identifier: Apache-2.0 */
/* conf/settings.c - merging a value into the settings, and the settings' meaning. */
#include "conf/settings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "image/name.h"

/* Where the number of a key lies in struct limits; keys.def begins with the limits. */
static const size_t limit_fields[] = {
    [KEY_TIMEOUT] = offsetof(struct limits, wall_ms),
    [KEY_CPU_TIME] = offsetof(struct limits, cpu_ms),
    [KEY_MEMORY] = offsetof(struct limits, memory_bytes),
    [KEY_CPUS] = offsetof(struct limits, cpu_milli),
    [KEY_PIDS] = offsetof(struct limits, pids),
    [KEY_DISK] = offsetof(struct limits, disk_bytes),
    [KEY_INODES] = offsetof(struct limits, inodes),
    [KEY_OUTPUT_MAX] = offsetof(struct limits, output_max),
    [KEY_OUTPUT_KEEP] = offsetof(struct limits, output_keep),
};

static void limit_put(struct limits *limits, enum key_id id, uint64_t number)
{
    memcpy((char *)limits + limit_fields[id], &number, sizeof(number));
}

static uint64_t limit_get(const struct limits *limits, enum key_id id)
{
    uint64_t number;

    memcpy(&number, (const char *)limits + limit_fields[id], sizeof(number));
    return number;
}

/* One limit among defaults, so that the layer which set it is the one that is blamed. */
static int check_limit(enum key_id id, uint64_t number, struct gb_err *err)
{
    struct limits said = { 0 };

    if (id >= N_ELEMENTS(limit_fields))
        return 0;
    limit_put(&said, id, number);
    said = limits_or(said, limits_default());
    return limits_check(&said, err);
}

/* Where the number of a key lies in struct task_limits, and the most that makes sense. */
static const struct {
    enum key_id key;
    size_t offset;
    uint64_t max;
} task_fields[] = {
    { KEY_MAX_STEPS, offsetof(struct task_limits, steps), 1000 },
    { KEY_MAX_ATTEMPTS, offsetof(struct task_limits, attempts), 100 },
    { KEY_MAX_TOKENS, offsetof(struct task_limits, tokens), 1000000000000 },
    { KEY_MAX_COST, offsetof(struct task_limits, cost), 1000000000000 },
    { KEY_MAX_TIME, offsetof(struct task_limits, time_ms), 30ULL * 24 * 3600 * 1000 },
    { KEY_CANDIDATES, offsetof(struct task_limits, candidates), 64 },
};

static int check_task_limit(const struct key *key, const struct value *value, struct gb_err *err)
{
    cleanup_buf struct buf most = BUF_INIT(64);

    for (size_t i = 0; i < N_ELEMENTS(task_fields); i++) {
        struct value max = { .number = task_fields[i].max };

        if (task_fields[i].key != key->id || value->number <= max.number)
            continue;
        (void)value_format(key->kind, &max, &most);
        return gb_fail(err, -ERANGE, GB_BLAME_CALLER, "at most %s makes sense",
                       most.data ? most.data : "less");
    }
    return 0;
}

/* What a project file's word comes to; false when it asks for more than there is. */
static bool tighten(const struct key *key, const struct value *now, struct value *value)
{
    switch (key->rule) {
    case KEY_RULE_MIN:
        /* 0: nothing was said so far (CPU time, which follows from other limits). */
        return now->number == 0 || value->number <= now->number;
    case KEY_RULE_CLOSED:
        return backend_closedness((enum backend_choice)value->number) >=
               backend_closedness((enum backend_choice)now->number);
    case KEY_RULE_UNION:
        value->number |= now->number;
        return true;
    case KEY_RULE_FREE:
    case KEY_RULE_ENDPOINT:
        return true;
    case KEY_RULE_OPERATOR:
        break;
    }
    return false;
}

static int refuse_operators(const struct origin *origin, struct gb_err *err)
{
    return gb_fail(err, -EPERM, GB_BLAME_CALLER,
                   "%s may not set this: it comes with the project\n"
                   "remedy: read it, and if you trust it: glovebox config trust .",
                   origin->kind == ORIGIN_DOTENV ? "a .env file" : "a project file");
}

int settings_apply(struct settings *settings, const struct key *key, struct value *value,
                   const struct origin *origin, struct gb_err *err)
{
    struct setting *set = &settings->set[key->id];
    int r = check_limit(key->id, value->number, err);

    if (r == 0)
        r = check_task_limit(key, value, err);
    if (r < 0)
        return r;
    if (origin->is_untrusted && key->rule == KEY_RULE_OPERATOR)
        return refuse_operators(origin, err);
    if (origin->is_untrusted && !tighten(key, &set->value, value)) {
        set->is_capped = true;
        set->capped = *origin;
        return 0;
    }
    /* Trees named on the command line come in addition, and first on PATH. */
    if (value_is_list(key->kind) && origin->kind == ORIGIN_FLAG) {
        r = value_prepend(&set->value, value, err);
        if (r < 0)
            return r;
    } else {
        value_clear(&set->value);
        set->value = *value;
        *value = (struct value){ 0 };
    }
    set->origin = *origin;
    set->is_capped = false;
    return 0;
}

static bool is_projects(const struct origin *origin)
{
    return origin->kind == ORIGIN_PROJECT || origin->kind == ORIGIN_DOTENV;
}

static int finish_limits(struct settings *settings, struct gb_err *err)
{
    struct setting *cpu_time = &settings->set[KEY_CPU_TIME];
    struct limits said = { 0 };

    for (enum key_id id = 0; id < N_ELEMENTS(limit_fields); id++)
        if (settings->set[id].origin.kind != ORIGIN_DEFAULT)
            limit_put(&said, id, settings->set[id].value.number);
    settings->limits = limits_or(said, limits_default());
    if (is_projects(&cpu_time->origin)) {
        struct limits full = said;

        full.cpu_ms = 0;
        settings->limits = limits_min(settings->limits, limits_or(full, limits_default()));
    }
    for (enum key_id id = 0; id < N_ELEMENTS(limit_fields); id++)
        settings->set[id].value.number = limit_get(&settings->limits, id);
    return limits_check(&settings->limits, err);
}

/* Containers do not show this machine: unless somebody names an image, they have the engine's. */
static int finish_image(struct settings *settings, struct gb_err *err)
{
    struct setting *image = &settings->set[KEY_IMAGE];

    if (settings->backend == BACKEND_DOCKER && image->origin.kind == ORIGIN_DEFAULT) {
        char *text = strdup(BOX_IMAGE_DOCKER);

        if (!text)
            return gb_no_memory(err);
        value_clear(&image->value);
        image->value.text = text;
    }
    settings->image = image->value.text;
    return 0;
}

/* Installers unpack and compile: two of them at a time, and more files than a program makes. */
static struct limits installing_limits(const struct setting *set)
{
    struct limits said = {
        .wall_ms = set[KEY_PACKAGES_TIMEOUT].value.number,
        .memory_bytes = set[KEY_PACKAGES_MEMORY].value.number,
        .disk_bytes = set[KEY_PACKAGES_DISK].value.number,
        .cpu_milli = 2000,
        .pids = 512,
        .inodes = 262144,
        .output_max = 64u << 20,
    };

    return limits_or(said, limits_default());
}

/* NULL: none. */
static const char *rules_of(const struct setting *set, enum key_id key)
{
    const char *rules = set[key].value.text;

    return rules && strcmp(rules, "none") != 0 ? rules : NULL;
}

int settings_finish(struct settings *settings, struct gb_err *err)
{
    const struct setting *set = settings->set;
    wall_set require = (wall_set)set[KEY_REQUIRE].value.number;
    int r;

    settings->backend = (enum backend_choice)set[KEY_BACKEND].value.number;
    settings->net_caps.connections = set[KEY_NET_CONNECTIONS].value.number;
    settings->net_caps.bytes = set[KEY_NET_BYTES].value.number;
    settings->net_caps.names = set[KEY_NET_NAMES].value.number;
    settings->net_caps.denied = rules_of(set, KEY_NET_DENY);
    settings->allow_missing = (wall_set)set[KEY_ALLOW_MISSING].value.number & ~require;
    settings->must_hold = WALLS_ALL & ~settings->allow_missing;
    settings->toolchains = (const char *const *)set[KEY_TOOLCHAINS].value.items;
    settings->image_bases = (const char *const *)set[KEY_DOCKER_BASES].value.items;
    settings->uid_base = set[KEY_UID_BASE].value.number;
    settings->image_ms = set[KEY_DOCKER_TIMEOUT].value.number;
    settings->run_dir = set[KEY_RUN_DIR].value.text;
    settings->state_dir = set[KEY_STATE_DIR].value.text;
    settings->cache_dir = set[KEY_CACHE_DIR].value.text;
    settings->cache_max = set[KEY_PACKAGES_CACHE].value.number;
    settings->package_hosts = rules_of(set, KEY_PACKAGES_HOSTS);
    settings->color = (enum color_mode)set[KEY_COLOR].value.number;
    for (size_t i = 0; i < N_ELEMENTS(task_fields); i++)
        memcpy((char *)&settings->task + task_fields[i].offset,
               &set[task_fields[i].key].value.number, sizeof(uint64_t));
    settings->effort = (enum effort)set[KEY_EFFORT].value.number;
    settings->ask = (enum asking)set[KEY_ASK].value.number;
    settings->installs = set[KEY_INSTALL].value.number != 0;
    settings->runs_dir = set[KEY_RUNS_DIR].value.text;
    settings->installing = installing_limits(set);
    r = finish_image(settings, err);
    return r < 0 ? r : finish_limits(settings, err);
}

void settings_clear(struct settings *settings)
{
    for (size_t i = 0; i < N_KEYS; i++)
        value_clear(&settings->set[i].value);
    for (size_t i = 0; i < SETTINGS_FILES_MAX; i++)
        free(settings->files[i]);
    free(settings->docker_config);
    dotenv_clear(&settings->dotenv);
    *settings = (struct settings){ 0 };
}

int origin_text(const struct origin *origin, const struct key *key, struct buf *ret)
{
    switch (origin->kind) {
    case ORIGIN_DEFAULT:
        return buf_puts(ret, "default");
    case ORIGIN_FLAG:
        return buf_printf(ret, "--%s", key->flag);
    case ORIGIN_ENVIRONMENT:
        return buf_puts(ret, key->env);
    default:
        return buf_printf(ret, "%s:%u", origin->path, origin->line);
    }
}

static int refuse(const struct settings *settings, enum key_id id, struct gb_err *err)
{
    cleanup_buf struct buf where = BUF_INIT(4096);

    (void)origin_text(&settings->set[id].origin, key_at(id), &where);
    return gb_wrap(err, err->code, "%s", where.data ? where.data : key_at(id)->name);
}

static int check_backend(const struct settings *settings, struct gb_err *err)
{
    if (settings->backend == BACKEND_DISABLED)
        (void)gb_fail(err, -EPERM, GB_BLAME_HOST,
                      "running code is disabled\n"
                      "remedy: set backend to native there, or say --backend native");
    else
        return 0;
    return refuse(settings, KEY_BACKEND, err);
}

static int check_dir(const struct settings *settings, enum key_id id, struct gb_err *err)
{
    if (settings->set[id].value.text)
        return 0;
    return gb_fail(err, -ENOENT, GB_BLAME_HOST,
                   "no place for %s: HOME is not set\nremedy: set HOME or %s", key_at(id)->name,
                   key_at(id)->env);
}

/* A name, or the id of an image; engines answer anything else as if they had failed. */
static int check_image_name(const struct settings *settings, struct gb_err *err)
{
    struct image_name name;
    size_t n_digits = strspn(settings->image, "0123456789abcdef");

    if ((n_digits && !settings->image[n_digits]) ||
        image_name_parse(settings->image, &name, err) == 0)
        return 0;
    return refuse(settings, KEY_IMAGE, err);
}

static int check_image(const struct settings *settings, struct gb_err *err)
{
    if (settings->backend == BACKEND_DOCKER && strcmp(settings->image, BOX_IMAGE_HOST) == 0) {
        (void)gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                      "image '" BOX_IMAGE_HOST "': the docker backend has images of its engine "
                      "only" GB_REMEDY "name one that it has: --image " BOX_IMAGE_DOCKER);
        return refuse(settings, KEY_IMAGE, err);
    }
    if (settings->backend != BACKEND_DOCKER && strcmp(settings->image, BOX_IMAGE_HOST) != 0) {
        (void)gb_fail(err, -ENOSYS, GB_BLAME_CALLER,
                      "image '%.100s': native boxes have only the image '" BOX_IMAGE_HOST
                      "'" GB_REMEDY "say --backend docker for others",
                      settings->image);
        return refuse(settings, KEY_IMAGE, err);
    }
    return settings->backend == BACKEND_DOCKER ? check_image_name(settings, err) : 0;
}

/* A settings file may name the engine's runtime for the boxes that are an engine's. */
static int check_runtime(const struct settings *settings, struct gb_err *err)
{
    const struct setting *said = &settings->set[KEY_DOCKER_RUNTIME];

    if (settings->backend == BACKEND_DOCKER || said->origin.kind != ORIGIN_FLAG)
        return 0;
    (void)gb_fail(err, -ENOSYS, GB_BLAME_CALLER,
                  "runtime '%.100s': only the docker backend has runtimes" GB_REMEDY
                  "say --backend docker, or leave --runtime out",
                  said->value.text ? said->value.text : "");
    return refuse(settings, KEY_DOCKER_RUNTIME, err);
}

int settings_check_without_image(const struct settings *settings, struct gb_err *err)
{
    struct gb_err unused = { 0 };
    int r;

    if (!err)
        err = &unused;
    r = check_backend(settings, err);
    if (r == 0)
        r = check_runtime(settings, err);
    if (r == 0)
        r = check_dir(settings, KEY_RUN_DIR, err);
    return r < 0 ? r : check_dir(settings, KEY_STATE_DIR, err);
}

int settings_check(const struct settings *settings, struct gb_err *err)
{
    struct gb_err unused = { 0 };
    int r;

    if (!err)
        err = &unused;
    r = check_backend(settings, err);
    if (r == 0)
        r = check_image(settings, err);
    return r < 0 ? r : settings_check_without_image(settings, err);
}

int settings_check_net_flags(const struct settings *settings, bool has_net, struct gb_err *err)
{
    static const enum key_id caps[] = { KEY_NET_CONNECTIONS, KEY_NET_BYTES, KEY_NET_NAMES };

    for (size_t i = 0; !has_net && i < N_ELEMENTS(caps); i++)
        if (settings->set[caps[i]].origin.kind == ORIGIN_FLAG)
            return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                           "--%s bounds a network, and there is none: say what it may reach with "
                           "--net, too",
                           key_at(caps[i])->flag);
    return 0;
}
