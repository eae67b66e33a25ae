/* SPDX-License-Identifier: Apache-2.0 */
/* engine/endpoint.c - where the engine is. */
#include "engine/endpoint.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/num.h"
#include "json/value.h"

#define FILE_MAX     (1 << 20)
#define CONTEXTS_MAX 256

static bool is_set(const char *text)
{
    return text && text[0];
}

/* ---- addresses ------------------------------------------------------------------------------ */

/* Where TLS may find its files, and whether it is wanted where the scheme leaves it open. */
struct tls {
    const char *dir; /* NULL: none */
    bool is_wanted;
    bool is_unverified;
};

static int join(char *text, size_t size, const char *dir, const char *name)
{
    int n = snprintf(text, size, "%s/%s", dir, name);

    return n > 0 && (size_t)n < size ? 0 : -ENAMETOOLONG;
}

/* The path when there is such a file, else "". */
static int find_file(char text[PATH_MAX], const char *dir, const char *name)
{
    int r = join(text, PATH_MAX, dir, name);

    if (r == 0 && access(text, F_OK) < 0)
        text[0] = '\0';
    return r;
}

static bool has_certificate(const char *dir)
{
    char path[PATH_MAX];

    return dir && ((find_file(path, dir, "ca.pem") == 0 && path[0]) ||
                   (find_file(path, dir, "cert.pem") == 0 && path[0]));
}

static int set_tls(struct endpoint *endpoint, const struct tls *tls, struct gb_err *err)
{
    endpoint->is_unverified = tls->is_unverified;
    if (!tls->dir)
        return 0;
    if (find_file(endpoint->ca_file, tls->dir, "ca.pem") < 0 ||
        find_file(endpoint->cert_file, tls->dir, "cert.pem") < 0 ||
        find_file(endpoint->key_file, tls->dir, "key.pem") < 0)
        return gb_fail(err, -ENAMETOOLONG, GB_BLAME_CALLER, "the engine's certificates: '%s'",
                       tls->dir);
    if (!endpoint->cert_file[0] != !endpoint->key_file[0])
        return gb_fail(err, -ENOKEY, GB_BLAME_HOST,
                       "the engine's certificates: '%s' has only one of cert.pem and key.pem",
                       tls->dir);
    return 0;
}

static int bad_address(const char *host, const char *why, struct gb_err *err)
{
    return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                   "the engine's address '%.100s' %s" GB_REMEDY
                   "write unix:///PATH or tcp://HOST:PORT",
                   host, why);
}

static int parse_unix(const char *host, const char *path, struct endpoint *ret, struct gb_err *err)
{
    if (path[0] != '/')
        return bad_address(host, "has no absolute path", err);
    if (strlen(path) >= sizeof(ret->socket))
        return bad_address(host, "is longer than a socket's path can be", err);
    (void)snprintf(ret->socket, sizeof(ret->socket), "%s", path);
    (void)snprintf(ret->url, sizeof(ret->url), "http://localhost");
    return 0;
}

/* "name", "name:1", "[::1]:1", each perhaps with a path behind it: nothing that a URL could read
 * otherwise. */
static bool is_authority(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)text[i]) && !strchr(".-_:[]", text[i]))
            return false;
    return true;
}

static bool is_base(const char *text)
{
    for (const char *c = text; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("/.-_~", *c))
            return false;
    return !strstr(text, "..");
}

/* The port of an authority, "" when it has none; NULL when it is wrong. */
static const char *port_of(const char *authority)
{
    const char *bracket = strrchr(authority, ']');
    const char *colon = strchr(bracket ? bracket : authority, ':');
    uint64_t port;

    if ((authority[0] == '[') != (bracket != NULL) || (colon && strchr(colon + 1, ':')))
        return NULL;
    if (!colon)
        return "";
    return num_parse_u64(colon + 1, 1, 65535, &port) == 0 ? colon + 1 : NULL;
}

static int parse_net(const char *host, const char *rest, bool is_tls, const char *usual_port,
                     struct endpoint *ret, struct gb_err *err)
{
    size_t len = strcspn(rest, "/");
    const char *base = strcmp(rest + len, "/") == 0 ? "" : rest + len;
    char authority[160];
    const char *port;
    int n;

    if (len >= sizeof(authority) || !is_authority(rest, len) || !is_base(base))
        return bad_address(host, "is none", err);
    (void)snprintf(authority, sizeof(authority), "%.*s", (int)len, rest);
    port = port_of(authority);
    if (!port)
        return bad_address(host, "has a port that is none", err);
    n = snprintf(ret->url, sizeof(ret->url), "%s://%s%s%s%s%s", is_tls ? "https" : "http",
                 authority[0] == ':' || !authority[0] ? "127.0.0.1" : "", authority,
                 port[0] || !usual_port[0] ? "" : ":", port[0] ? "" : usual_port, base);
    return n > 0 && (size_t)n < sizeof(ret->url) ? 0 : bad_address(host, "is too long", err);
}

static int no_ssh(const char *host, struct gb_err *err)
{
    return gb_fail(err, -EPROTONOSUPPORT, GB_BLAME_CALLER,
                   "the engine's address '%.100s' needs ssh, which is not spoken here" GB_REMEDY
                   "ssh -nNT -L /tmp/engine.sock:/var/run/docker.sock USER@HOST & "
                   "and then DOCKER_HOST=unix:///tmp/engine.sock",
                   host);
}

static int parse(const char *host, const struct tls *tls, struct endpoint *ret, struct gb_err *err)
{
    static const struct {
        const char *prefix;
        const char *port;        /* when the address has none: plain, */
        const char *secure_port; /* and with TLS */
        bool is_plain;
        bool is_secure;
    } schemes[] = {
        { "tcp://", "2375", "2376", false, false },
        { "http://", "80", "", true, false },
        { "https://", "", "443", false, true },
    };

    if (strncmp(host, "unix://", 7) == 0)
        return parse_unix(host, host + 7, ret, err);
    if (strncmp(host, "ssh://", 6) == 0)
        return no_ssh(host, err);
    for (size_t i = 0; i < N_ELEMENTS(schemes); i++) {
        size_t len = strlen(schemes[i].prefix);
        bool is_tls = schemes[i].is_secure || (tls->is_wanted && !schemes[i].is_plain);
        int r;

        if (strncmp(host, schemes[i].prefix, len) != 0)
            continue;
        r = parse_net(host, host + len, is_tls, is_tls ? schemes[i].secure_port : schemes[i].port,
                      ret, err);
        return r == 0 && is_tls ? set_tls(ret, tls, err) : r;
    }
    return bad_address(host, "is of no known kind", err);
}

/* ---- contexts ------------------------------------------------------------------------------- */

/* NULL without an error: there is no such file. */
static int read_json(int dir, const char *path, struct json_value **ret, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(FILE_MAX);
    cleanup_close int fd = file_open(dir, path);
    int r;

    *ret = NULL;
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    if (fd < 0)
        return gb_fail_sys(err, "docker's own '%s'", path);
    r = file_read(fd, &text);
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "docker's own '%s' cannot be read: %s", path,
                       strerror(-r));
    r = json_value_parse(text.data, text.len, FILE_MAX, ret, err);
    return r < 0 ? gb_wrap(err, r, "docker's own '%s'", path) : 0;
}

/* Is the folder's context the one of that name?  What cannot be read is somebody else's. */
static bool is_context(int metas, const char *folder, const char *name, struct json_value **ret)
{
    char path[NAME_MAX + 16];
    const char *its_name;

    if (folder[0] == '.' || join(path, sizeof(path), folder, "meta.json") < 0 ||
        read_json(metas, path, ret, NULL) < 0)
        return false;
    its_name = json_str(json_get(*ret, "Name"), NULL);
    if (its_name && strcmp(its_name, name) == 0)
        return true;
    json_value_free(ret);
    return false;
}

static void close_dir(DIR **dir)
{
    if (*dir)
        (void)closedir(*dir);
}

/* Looked for by the name inside: no digest of it has to be made.  folder is where it was. */
static struct json_value *find_context(const char *config_dir, const char *name,
                                       char folder[NAME_MAX + 1])
{
    struct json_value *meta = NULL;
    char path[PATH_MAX];
    cleanup_with(close_dir) DIR *metas = NULL;
    struct dirent *entry;

    if (join(path, sizeof(path), config_dir, "contexts/meta") < 0)
        return NULL;
    metas = opendir(path);
    for (int n = 0; metas && n < CONTEXTS_MAX && (entry = readdir(metas)); n++) {
        if (is_context(dirfd(metas), entry->d_name, name, &meta)) {
            (void)snprintf(folder, NAME_MAX + 1, "%s", entry->d_name);
            return meta;
        }
    }
    return NULL;
}

static int no_context(const char *name, const char *what, struct gb_err *err)
{
    return gb_fail(err, -ENOENT, GB_BLAME_CALLER,
                   "the docker context '%.100s' %s" GB_REMEDY
                   "docker context ls tells which there are",
                   name, what);
}

static int use_context(const char *config_dir, const char *name, struct endpoint *ret,
                       struct gb_err *err)
{
    char folder[NAME_MAX + 1];
    char tls_dir[PATH_MAX];
    struct tls tls = { 0 };
    cleanup_json struct json_value *meta = find_context(config_dir, name, folder);
    const struct json_value *docker = json_path(meta, "Endpoints/docker");
    const char *host = json_str(json_get(docker, "Host"), NULL);
    int n;

    if (!meta)
        return no_context(name, "does not exist", err);
    if (!is_set(host))
        return no_context(name, "names no engine", err);
    n = snprintf(tls_dir, sizeof(tls_dir), "%s/contexts/tls/%s/docker", config_dir, folder);
    if (n > 0 && (size_t)n < sizeof(tls_dir) && has_certificate(tls_dir))
        tls.dir = tls_dir;
    (void)json_bool(json_get(docker, "SkipTLSVerify"), &tls.is_unverified);
    tls.is_wanted = tls.dir || tls.is_unverified;
    return parse(host, &tls, ret, err);
}

/* ---- the usual sockets ---------------------------------------------------------------------- */

enum answer {
    ANSWER_NONE,
    ANSWER_EXISTS,
    ANSWER_CONNECTS
};

static enum answer knock(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
        return ANSWER_CONNECTS;
    return fd >= 0 && (errno == ENOENT || errno == ENOTDIR) ? ANSWER_NONE : ANSWER_EXISTS;
}

static void use_usual(const struct endpoint_hints *hints, struct endpoint *ret)
{
    const char *run_dir = is_set(hints->run_dir) ? hints->run_dir : "/var/run";
    const struct {
        const char *dir;
        const char *name;
    } usual[] = {
        { run_dir, "docker.sock" },
        { hints->runtime_dir, "docker.sock" },
        { hints->home, ".docker/run/docker.sock" },
        { hints->runtime_dir, "podman/podman.sock" },
        { run_dir, "podman/podman.sock" },
    };
    enum answer best = ANSWER_NONE;

    (void)snprintf(ret->url, sizeof(ret->url), "http://localhost");
    (void)join(ret->socket, sizeof(ret->socket), run_dir, "docker.sock");
    for (size_t i = 0; i < N_ELEMENTS(usual); i++) {
        char path[ENDPOINT_SOCKET_MAX];
        enum answer answer;

        if (!is_set(usual[i].dir) || join(path, sizeof(path), usual[i].dir, usual[i].name) < 0)
            continue;
        answer = knock(path);
        if (answer > best) {
            best = answer;
            memcpy(ret->socket, path, sizeof(path));
        }
    }
}

/* ---- the order ------------------------------------------------------------------------------ */

static int use_host(const struct endpoint_hints *hints, const char *host, struct endpoint *ret,
                    struct gb_err *err)
{
    const char *dir = is_set(hints->cert_path) ? hints->cert_path : hints->config_dir;
    struct tls tls = {
        .dir = is_set(hints->tls_verify) || is_set(hints->cert_path) ? dir : NULL,
        .is_wanted = is_set(hints->tls_verify),
    };

    if (!is_set(tls.dir))
        tls.dir = NULL;
    if (tls.is_wanted && is_set(hints->cert_path) && !has_certificate(tls.dir))
        return gb_fail(err, -ENOKEY, GB_BLAME_CALLER,
                       "DOCKER_CERT_PATH '%.200s' has neither ca.pem nor cert.pem" GB_REMEDY
                       "set it to their folder, or unset DOCKER_TLS_VERIFY",
                       tls.dir);
    return parse(host, &tls, ret, err);
}

static int current_context(const char *config_dir, char name[NAME_MAX + 1], struct gb_err *err)
{
    cleanup_json struct json_value *config = NULL;
    char path[PATH_MAX];
    const char *current;
    int r;

    name[0] = '\0';
    if (!is_set(config_dir) || join(path, sizeof(path), config_dir, "config.json") < 0)
        return 0;
    r = read_json(AT_FDCWD, path, &config, err);
    current = json_str(json_get(config, "currentContext"), NULL);
    if (r == 0 && current)
        (void)snprintf(name, NAME_MAX + 1, "%s", current);
    return r;
}

static void show(struct endpoint *endpoint, const char *by)
{
    (void)snprintf(endpoint->shown, sizeof(endpoint->shown), "%.110s (%s)",
                   endpoint->socket[0] ? endpoint->socket : endpoint->url, by);
}

int endpoint_find(const struct endpoint_hints *hints, struct endpoint *ret, struct gb_err *err)
{
    char current[NAME_MAX + 1];
    const char *by = "the usual place";
    const char *host = is_set(hints->host) ? hints->host : hints->docker_host;
    const char *context = hints->context;
    int r = 0;

    *ret = (struct endpoint){ 0 };
    if (is_set(host)) {
        by = is_set(hints->host) ? "as told" : "by DOCKER_HOST";
        r = use_host(hints, host, ret, err);
        show(ret, by);
        return r;
    }
    by = "by DOCKER_CONTEXT";
    if (!is_set(context)) {
        r = current_context(hints->config_dir, current, err);
        context = current;
        by = "by docker's current context";
    }
    if (r < 0)
        return r;
    if (is_set(context) && strcmp(context, "default") != 0) {
        r = use_context(is_set(hints->config_dir) ? hints->config_dir : ".", context, ret, err);
    } else {
        use_usual(hints, ret);
        by = "the usual place";
    }
    show(ret, by);
    return r;
}
