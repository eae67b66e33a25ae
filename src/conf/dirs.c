/* SPDX-License-Identifier: Apache-2.0 */
/* conf/dirs.c - where glovebox's files lie. */
#include "conf/dirs.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "conf/environment.h"

static const char *get_absolute(char *const *env, const char *name)
{
    const char *value = environment_get(env, name);

    return value && *value == '/' ? value : NULL;
}

static char *join(const char *dir, size_t len, const char *rest)
{
    cleanup_buf struct buf path = BUF_INIT(PATH_MAX);

    while (len > 1 && dir[len - 1] == '/')
        len--;
    buf_add(&path, dir, len);
    buf_puts(&path, rest);
    return buf_take(&path);
}

/* systemd's variables may list several with colons: the first is ours. */
static char *from_systemd(char *const *env, const char *name, const char *rest)
{
    const char *dir = get_absolute(env, name);

    return dir ? join(dir, strcspn(dir, ":"), rest) : NULL;
}

static char *from_xdg(char *const *env, const char *name, const char *below_home, const char *rest)
{
    const char *dir = get_absolute(env, name);
    const char *home = get_absolute(env, "HOME");
    cleanup_free char *base = NULL;

    if (dir)
        return join(dir, strlen(dir), rest);
    if (!home || !below_home)
        return NULL;
    base = join(home, strlen(home), below_home);
    return base ? join(base, strlen(base), rest) : NULL;
}

char *dirs_system_config(char *const *env)
{
    char *path = from_systemd(env, "CONFIGURATION_DIRECTORY", "/config.yaml");

    return path ? path : strdup("/etc/glovebox/config.yaml");
}

char *dirs_user_config(char *const *env)
{
    return from_xdg(env, "XDG_CONFIG_HOME", "/.config", "/glovebox/config.yaml");
}

char *dirs_state(char *const *env, uid_t uid)
{
    char *path = from_systemd(env, "STATE_DIRECTORY", "");

    if (path)
        return path;
    if (uid == 0)
        return strdup("/var/lib/glovebox");
    return from_xdg(env, "XDG_STATE_HOME", "/.local/state", "/glovebox");
}

char *dirs_cache(char *const *env, uid_t uid)
{
    char *path = from_systemd(env, "CACHE_DIRECTORY", "");

    if (path)
        return path;
    if (uid == 0)
        return strdup("/var/cache/glovebox");
    return from_xdg(env, "XDG_CACHE_HOME", "/.cache", "/glovebox");
}

char *dirs_run(char *const *env, uid_t uid)
{
    char *path = from_systemd(env, "RUNTIME_DIRECTORY", "");
    cleanup_free char *state = NULL;

    if (path)
        return path;
    if (uid == 0)
        return strdup("/run/glovebox");
    path = from_xdg(env, "XDG_RUNTIME_DIR", NULL, "/glovebox");
    if (path)
        return path;
    /* Not below /tmp, where somebody else could have made it first. */
    state = dirs_state(env, uid);
    return state ? join(state, strlen(state), "/run") : NULL;
}
