/* SPDX-License-Identifier: Apache-2.0 */
/* image/auth.c - what docker's own config.json has to log in to a registry with. */
#include "image/auth.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "json/value.h"

#define CONFIG_MAX (1 << 20)
#define SECRET_MAX (16 << 10)

#define DOCKER_HUB "docker.io"

/* ---- texts ---------------------------------------------------------------------------------- */

static void wipe(char **text)
{
    if (*text)
        explicit_bzero(*text, strlen(*text));
    free(*text);
    *text = NULL;
}

static int digit_of(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;

    return at ? (int)(at - digits) : -1;
}

/* Base64 into a heap string; NULL when it is none, has a NUL, or is too long. */
static char *decode(const char *text, size_t len)
{
    cleanup_free char *out = NULL;
    unsigned bits = 0;
    unsigned held = 0;
    size_t n = 0;

    while (len > 0 && text[len - 1] == '=')
        len--;
    if (len > SECRET_MAX)
        return NULL;
    out = calloc(1, len + 1);
    for (size_t i = 0; out && i < len; i++) {
        int digit = digit_of(text[i]);

        if (digit < 0)
            return NULL;
        bits = (bits << 6 | (unsigned)digit) & 0xffff;
        held += 6;
        if (held < 8)
            continue;
        held -= 8;
        out[n] = (char)(bits >> held & 0xff);
        if (!out[n++])
            return NULL;
    }
    return take_ptr(out);
}

/* ---- the file ------------------------------------------------------------------------------- */

/* *ret is NULL when there is no file. */
static int read_config(const char *path, struct json_value **ret, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(CONFIG_MAX);
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct gb_err why = { 0 };
    int r;

    *ret = NULL;
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : gb_fail_sys(err, "reading '%s'", path);
    r = file_read(fd, &text);
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "reading '%s': %s", path, strerror(-r));
    r = json_value_parse(text.data, text.len, CONFIG_MAX, ret, &why);
    if (text.data)
        explicit_bzero(text.data, text.len);
    return r < 0 ? gb_fail(err, -EINVAL, GB_BLAME_CALLER, "'%s' is not docker's: %s", path, why.msg)
                 : 0;
}

/* "https://index.docker.io/v1/" is the registry docker.io. */
static bool is_server(const char *key, const char *registry)
{
    const char *host = strstr(key, "://");
    size_t len;

    host = host ? host + 3 : key;
    len = strcspn(host, "/");
    if (strcmp(registry, DOCKER_HUB) == 0 && len == strlen("index." DOCKER_HUB) &&
        strncmp(host, "index." DOCKER_HUB, len) == 0)
        return true;
    return len == strlen(registry) && strncmp(host, registry, len) == 0;
}

static const struct json_value *find(const struct json_value *object, const char *registry,
                                     const char **ret_key)
{
    for (size_t i = 0; i < json_count(object); i++) {
        const struct json_value *value = json_member(object, i, ret_key);

        if (value && is_server(*ret_key, registry))
            return value;
    }
    return NULL;
}

static int take_text(const struct json_value *value, char **ret, struct gb_err *err)
{
    size_t len = 0;
    const char *text = json_str(value, &len);

    if (!text || len == 0)
        return 0;
    if (strlen(text) != len || len > SECRET_MAX)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "a text is too long or has a NUL");
    *ret = strdup(text);
    return *ret ? 0 : gb_no_memory(err);
}

/* "auth" is the base64 of "user:password". */
static int take_pair(const struct json_value *value, struct image_auth *ret, struct gb_err *err)
{
    size_t len = 0;
    const char *text = json_str(value, &len);
    char *pair;
    char *colon;

    if (!text || len == 0)
        return 0;
    pair = decode(text, len);
    colon = pair ? strchr(pair, ':') : NULL;
    if (!colon) {
        wipe(&pair);
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "'auth' is not the base64 of user:password");
    }
    wipe(&ret->username);
    wipe(&ret->password);
    ret->username = strndup(pair, (size_t)(colon - pair));
    ret->password = strdup(colon + 1);
    wipe(&pair);
    return ret->username && ret->password ? 0 : gb_no_memory(err);
}

static int take_entry(const struct json_value *entry, struct image_auth *ret, struct gb_err *err)
{
    int r = take_text(json_get(entry, "username"), &ret->username, err);

    if (r == 0)
        r = take_text(json_get(entry, "password"), &ret->password, err);
    if (r == 0)
        r = take_text(json_get(entry, "identitytoken"), &ret->token, err);
    return r == 0 ? take_pair(json_get(entry, "auth"), ret, err) : r;
}

static void take_helper(const struct json_value *config, const char *registry,
                        struct image_auth *ret)
{
    const char *key = NULL;
    const char *helper = json_str(find(json_get(config, "credHelpers"), registry, &key), NULL);

    if (!helper)
        helper = json_str(json_get(config, "credsStore"), NULL);
    (void)snprintf(ret->helper, sizeof(ret->helper), "%s", helper ? helper : "");
}

int image_auth_find(const char *config_dir, const char *registry, struct image_auth *ret,
                    struct gb_err *err)
{
    cleanup_json struct json_value *config = NULL;
    const struct json_value *entry;
    const char *key = NULL;
    char path[PATH_MAX];
    int r;

    *ret = (struct image_auth){ 0 };
    if (!config_dir || !*config_dir)
        return 0;
    if (snprintf(path, sizeof(path), "%s/config.json", config_dir) >= (int)sizeof(path))
        return gb_fail(err, -ENAMETOOLONG, GB_BLAME_CALLER, "'%.100s…' is too long", config_dir);
    r = read_config(path, &config, err);
    if (r < 0 || !config)
        return r;
    entry = find(json_get(config, "auths"), registry, &key);
    (void)snprintf(ret->server, sizeof(ret->server), "%s", entry ? key : registry);
    r = take_entry(entry, ret, err);
    if (r < 0) {
        image_auth_clear(ret);
        return gb_wrap(err, r, "'%s', the entry of %s", path, registry);
    }
    if (!image_auth_is_known(ret))
        take_helper(config, registry, ret);
    return 0;
}

bool image_auth_is_known(const struct image_auth *auth)
{
    return auth->username || auth->token;
}

void image_auth_clear(struct image_auth *auth)
{
    wipe(&auth->username);
    wipe(&auth->password);
    wipe(&auth->token);
    *auth = (struct image_auth){ 0 };
}
