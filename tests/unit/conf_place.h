/* SPDX-License-Identifier: Apache-2.0 */
/* unit/conf_place.h - a machine of a test's own as far as settings see it.
 *
 * A directory with a system's file (sys/), a user's (user/glovebox/), a project (project/) and a
 * state directory (state/glovebox), an environment that names them, and flags; it is removed
 * afterwards.
 */
#pragma once

#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "conf/settings.h"
#include "conf/trust.h"

#include <cmocka.h>

#define SYSTEM  "sys/config.yaml"
#define USER    "user/glovebox/config.yaml"
#define PROJECT "project/glovebox.yaml"
#define FOREIGN "project/config/config.yaml"
#define DOTENV  "project/.env"
#define LIST    "state/glovebox/trusted"

#define ENV_MAX   16
#define FLAGS_MAX 8

struct place {
    char root[64];
    char project[96];
    char *env[ENV_MAX + 1];
    size_t n_env;
    struct flag_text flags[FLAGS_MAX];
    size_t n_flags;
    struct settings settings;
    struct gb_err err;
};

static inline void add_env(struct place *place, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static inline void add_env(struct place *place, const char *fmt, ...)
{
    va_list ap;

    assert_true(place->n_env < ENV_MAX);
    va_start(ap, fmt);
    assert_true(vasprintf(&place->env[place->n_env++], fmt, ap) >= 0);
    va_end(ap);
}

static inline void make_dir(const struct place *place, const char *name)
{
    char path[256];

    (void)snprintf(path, sizeof(path), "%s/%s", place->root, name);
    assert_int_equal(mkdir(path, 0755), 0);
}

static inline int setup(void **state)
{
    struct place *place = calloc(1, sizeof(*place));

    assert_non_null(place);
    (void)snprintf(place->root, sizeof(place->root), "/tmp/glovebox-conf-XXXXXX");
    assert_non_null(mkdtemp(place->root));
    (void)snprintf(place->project, sizeof(place->project), "%s/project", place->root);
    make_dir(place, "sys");
    make_dir(place, "user");
    make_dir(place, "user/glovebox");
    make_dir(place, "project");
    make_dir(place, "project/config");
    add_env(place, "HOME=%s", place->root);
    add_env(place, "CONFIGURATION_DIRECTORY=%s/sys", place->root);
    add_env(place, "XDG_CONFIG_HOME=%s/user", place->root);
    add_env(place, "XDG_STATE_HOME=%s/state", place->root);
    add_env(place, "XDG_RUNTIME_DIR=%s/run", place->root);
    *state = place;
    return 0;
}

static inline int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    return remove(path);
}

static inline int teardown(void **state)
{
    struct place *place = *state;

    settings_clear(&place->settings);
    for (size_t i = 0; i < place->n_env; i++)
        free(place->env[i]);
    (void)nftw(place->root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(place);
    return 0;
}

static inline void put(const struct place *place, const char *name, const char *text)
{
    cleanup_close int fd = -1;
    char path[256];

    (void)snprintf(path, sizeof(path), "%s/%s", place->root, name);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(fd_write_full(fd, text, strlen(text)), 0);
}

static inline void flag(struct place *place, enum key_id key, const char *text)
{
    assert_true(place->n_flags < FLAGS_MAX);
    place->flags[place->n_flags++] = (struct flag_text){ key, text };
}

static inline int load(struct place *place)
{
    const struct settings_input input = {
        .dir = place->project,
        .env = place->env,
        .uid = 1000,
        .flags = place->flags,
        .n_flags = place->n_flags,
    };

    settings_clear(&place->settings);
    place->err = (struct gb_err){ 0 };
    return settings_load(&place->settings, &input, &place->err);
}

static inline void load_ok(struct place *place)
{
    if (load(place) < 0)
        fail_msg("%s", place->err.msg);
}

static inline void expect_message(const struct place *place, const char *part)
{
    if (!strstr(place->err.msg, part))
        fail_msg("'%s' is not in '%s'", part, place->err.msg);
}

static inline void load_fails(struct place *place, const char *part)
{
    assert_true(load(place) < 0);
    assert_int_equal(place->err.blame, GB_BLAME_CALLER);
    expect_message(place, part);
}

static inline void expect_origin(const struct place *place, enum key_id key, const char *ending)
{
    cleanup_buf struct buf text = BUF_INIT(4096);

    assert_int_equal(origin_text(&place->settings.set[key].origin, key_at(key), &text), 0);
    if (text.len < strlen(ending) || strcmp(text.data + text.len - strlen(ending), ending) != 0)
        fail_msg("origin of %s is '%s', not '%s'", key_at(key)->name, text.data, ending);
}

static inline void trust(struct place *place, bool is_revoked, size_t expected)
{
    char state_dir[128];
    size_t n = 99;

    (void)snprintf(state_dir, sizeof(state_dir), "%s/state/glovebox", place->root);
    if (trust_set(state_dir, place->project, is_revoked, &n, &place->err) < 0)
        fail_msg("%s", place->err.msg);
    assert_int_equal(n, expected);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
