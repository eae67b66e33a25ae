/* SPDX-License-Identifier: Apache-2.0 */
/* conf/settings.h - what all layers of configuration together say, and who said it.
 *
 *    flags  >  GLOVEBOX_*  >  .env  >  project file  >  user's file  >  system's file  >  defaults
 *
 * Project files (glovebox.yaml, else config/config.yaml, and .env in the working directory) may
 * come with a cloned repository.  Unless the user has trusted them (conf/trust.h) they can only
 * tighten, each key by the rule of its row in keys.def.
 *
 * Invariants
 *  1. Nothing below conf/ reads a configuration: it is given these values.
 *  2. limits are complete and pass limits_check().
 *  3. Pointers belong to the struct and live until settings_clear().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "box/box.h"
#include "box/carry.h"
#include "box/limits.h"
#include "box/walls.h"
#include "conf/denials.h"
#include "conf/dotenv.h"
#include "conf/keys.h"
#include "conf/value.h"

struct buf;
struct gb_err;

enum origin_kind {
    ORIGIN_DEFAULT,
    ORIGIN_SYSTEM,
    ORIGIN_USER,
    ORIGIN_PROJECT,
    ORIGIN_DOTENV,
    ORIGIN_ENVIRONMENT,
    ORIGIN_FLAG,
};

struct origin {
    enum origin_kind kind;
    const char *path;  /* of files; NULL */
    unsigned line;     /* of files */
    bool is_untrusted; /* of a project, and nobody has trusted it: it may only tighten */
};

struct setting {
    struct value value;
    struct origin origin;
    bool is_capped;       /* a project file asked for more than it may: */
    struct origin capped; /* that file */
};

#define SETTINGS_FILES_MAX 5

/* What a task may take. */
struct task_limits {
    uint64_t steps;
    uint64_t attempts; /* in a step */
    uint64_t tokens;
    uint64_t cost; /* millionths of a dollar */
    uint64_t time_ms;
    uint64_t candidates;
};

struct settings {
    struct limits limits;
    struct carry_caps net_caps; /* of what --net allows */
    struct denials denials;     /* where what is denied later comes from */
    enum backend_choice backend;
    const char *image;
    struct box_engine engine; /* texts are the environment's, and of the home directory: */
    char *docker_config;
    uint64_t image_ms;              /* the most that a pull or a build takes */
    const char *const *image_bases; /* that a build may begin with; NULL: any */
    wall_set allow_missing;
    wall_set must_hold; /* every wall but allow_missing, and what `require` names in any case */
    const char *const *toolchains; /* NULL-terminated; NULL for none */
    uint64_t uid_base;
    const char *run_dir;      /* NULL when the environment names no place; settings_check() tells */
    const char *state_dir;    /* the same */
    const char *cache_dir;    /* NULL: the same, and told where it is needed */
    uint64_t cache_max;       /* bytes of packages that are kept */
    struct limits installing; /* of boxes that install packages */
    const char *package_hosts; /* what those may reach besides the index; NULL */
    enum color_mode color;

    /* Of tasks.  Models and where they are asked: conf/models.h. */
    struct task_limits task;
    enum effort effort;
    enum asking ask;
    bool installs;        /* what contract and code of a task want */
    const char *runs_dir; /* relative to the working directory unless absolute */

    /* The project's .env, the keys in it too (conf/secrets.h); the origin of its lines. */
    struct dotenv dotenv;
    struct origin dotenv_origin;

    struct setting set[N_KEYS];
    char *files[SETTINGS_FILES_MAX]; /* the paths that origins point to */
};

/* A command line option that is a key, as it was written. */
struct flag_text {
    enum key_id key;
    const char *text;
};

struct settings_input {
    const char *dir;         /* of the project; NULL: the working directory */
    bool is_without_project; /* its files are not read */
    bool is_without_files;   /* nor those of the system and the user */
    char *const *env;        /* NULL-terminated */
    uid_t uid;
    const struct flag_text *flags; /* in the order of the command line */
    size_t n_flags;
};

/* Reads all layers.  Errors blame the caller and name the place: "glovebox.yaml:3: …",
 * "GLOVEBOX_MEMORY: …", "--memory: …".  The caller owes a settings_clear(), also after a
 * failure. */
int settings_load(struct settings *settings, const struct settings_input *input,
                  struct gb_err *err);
void settings_clear(struct settings *settings);

/* Can this build make a box with them at all?  Refuses a backend or an image that it does not
 * have, a backend that is disabled, and directories that no variable names. */
int settings_check(const struct settings *settings, struct gb_err *err);

/* The same where the image is named by somebody else. */
int settings_check_without_image(const struct settings *settings, struct gb_err *err);

/* Caps of a network that nobody asked for would bound nothing: refused when they stand on the
 * command line.  In files and the environment they wait for a network. */
int settings_check_net_flags(const struct settings *settings, bool has_net, struct gb_err *err);

/* "default", "--timeout", "GLOVEBOX_TIMEOUT", "glovebox.yaml:3". */
int origin_text(const struct origin *origin, const struct key *key, struct buf *ret);

/* ---- for layers.c ------------------------------------------------------------------------- */

/* One layer's word on one key; `value` is emptied when it is taken. */
int settings_apply(struct settings *settings, const struct key *key, struct value *value,
                   const struct origin *origin, struct gb_err *err);

/* All layers have been applied: fills the typed values. */
int settings_finish(struct settings *settings, struct gb_err *err);
