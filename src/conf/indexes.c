/* SPDX-License-Identifier: Apache-2.0 */
/* conf/indexes.c - where packages come from, as pip and npm are set up on this machine. */
#include "conf/indexes.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "conf/environment.h"
#include "package/config_text.h"

#define LINES_MAX (32u << 10)

/* What both of them know, under their own names. */
enum word {
    WORD_INDEX,
    WORD_EXTRA,
    WORD_CERT,
    WORD_PROXY,
    WORD_TRUSTED,
    WORD_DIRECT, /* npm */
    N_WORDS,
};

struct reading {
    char *const *env;
    struct package_index *index;
    char *words[N_WORDS];
    bool is_of_command[N_WORDS]; /* pip: from [install], which beats [global] of any file */
    struct buf lines;            /* of an .npmrc */
    struct gb_err *err;
};

static int set_word(struct reading *r, enum word word, const char *value)
{
    char *copy = strdup(value);

    if (!copy)
        return gb_no_memory(r->err);
    free(r->words[word]);
    r->words[word] = copy;
    return 0;
}

/* A file that is not there, or not for us, says nothing: pip and npm would not read it either. */
static int read_file(struct reading *r, const char *path,
                     int (*parse)(const char *, size_t, config_row *, void *), config_row *row)
{
    cleanup_buf struct buf text = BUF_INIT(CONFIG_TEXT_MAX);
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0 || file_read(fd, &text) < 0 || !text.data)
        return 0;
    return parse(text.data, text.len, row, r);
}

static int read_below(struct reading *r, const char *dir, const char *name,
                      int (*parse)(const char *, size_t, config_row *, void *), config_row *row)
{
    char path[PATH_MAX];

    if (!dir || snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
        return 0;
    return read_file(r, path, parse, row);
}

/* ---- pip ------------------------------------------------------------------------------------ */

static const struct {
    const char *key;
    const char *env;
} pip_words[] = {
    [WORD_INDEX] = { "index-url", "PIP_INDEX_URL" },
    [WORD_EXTRA] = { "extra-index-url", "PIP_EXTRA_INDEX_URL" },
    [WORD_CERT] = { "cert", "PIP_CERT" },
    [WORD_PROXY] = { "proxy", "PIP_PROXY" },
    [WORD_TRUSTED] = { "trusted-host", "PIP_TRUSTED_HOST" },
};

static int pip_row(void *user, const char *section, const char *key, const char *value)
{
    struct reading *r = user;
    bool is_of_command = strcmp(section, "install") == 0;

    if (!is_of_command && strcmp(section, "global") != 0)
        return 0;
    for (enum word word = 0; word < N_ELEMENTS(pip_words); word++) {
        if (strcmp(key, pip_words[word].key) != 0 || (r->is_of_command[word] && !is_of_command))
            continue;
        r->is_of_command[word] |= is_of_command;
        return set_word(r, word, value);
    }
    return 0;
}

static int read_pip_files(struct reading *r)
{
    const char *home = environment_get(r->env, "HOME");
    const char *config = environment_get(r->env, "XDG_CONFIG_HOME");
    const char *own = environment_get(r->env, "PIP_CONFIG_FILE");
    int result;

    /* Then pip reads none at all. */
    if (own && strcmp(own, "/dev/null") == 0)
        return 0;
    result = read_file(r, "/etc/pip.conf", config_text_pip, pip_row);
    if (result == 0)
        result = read_below(r, home, ".pip/pip.conf", config_text_pip, pip_row);
    if (result == 0 && config && *config == '/')
        result = read_below(r, config, "pip/pip.conf", config_text_pip, pip_row);
    else if (result == 0)
        result = read_below(r, home, ".config/pip/pip.conf", config_text_pip, pip_row);
    return result == 0 && own ? read_file(r, own, config_text_pip, pip_row) : result;
}

static int read_pip(struct reading *r)
{
    int result = read_pip_files(r);

    for (enum word word = 0; result == 0 && word < N_ELEMENTS(pip_words); word++) {
        const char *value = environment_get(r->env, pip_words[word].env);

        if (value && *value)
            result = set_word(r, word, value);
    }
    return result;
}

/* ---- npm ------------------------------------------------------------------------------------ */

static const struct {
    const char *key;
    enum word word;
} npm_words[] = {
    { "registry", WORD_INDEX }, { "cafile", WORD_CERT },    { "https-proxy", WORD_PROXY },
    { "proxy", WORD_PROXY },    { "noproxy", WORD_DIRECT }, { "no-proxy", WORD_DIRECT },
};

/* "${NAME}" is the environment's, as npm has it. */
static int expand(const struct reading *r, const char *value, struct buf *ret)
{
    while (*value) {
        const char *end = value[0] == '$' && value[1] == '{' ? strchr(value, '}') : NULL;
        char name[128];
        const char *found;

        if (!end || end - value - 2 >= (ptrdiff_t)sizeof(name)) {
            (void)buf_putc(ret, *value++);
            continue;
        }
        (void)snprintf(name, sizeof(name), "%.*s", (int)(end - value - 2), value + 2);
        found = environment_get(r->env, name);
        (void)buf_puts(ret, found ? found : "");
        value = end + 1;
    }
    return buf_error(ret);
}

static bool ends_with(const char *text, const char *tail)
{
    size_t len = strlen(text);

    return len > strlen(tail) && strcmp(text + len - strlen(tail), tail) == 0;
}

/* "@scope:registry": one more address, and a line that leads there. */
static int add_scope(struct reading *r, const char *key, const char *value)
{
    int result = r->index->n_urls ? 0 : -ENOENT;

    if (!ends_with(key, ":registry") || strpbrk(key, " \t"))
        return 0;
    if (result == 0)
        result = index_add_url(r->index, value, r->err);
    if (result < 0)
        return result;
    (void)buf_printf(&r->lines, "%s=", key);
    (void)index_url_in_box(&r->index->urls[r->index->n_urls - 1], &r->lines);
    (void)buf_putc(&r->lines, '\n');
    return 0;
}

/* "//host/:_authToken": for a registry of this machine under the name that it has in a box. */
static int add_credentials(struct reading *r, const char *key, const char *value)
{
    static const char *const kinds[] = { ":_authToken", ":_auth", ":_password", ":username" };
    cleanup_buf struct buf address = BUF_INIT(INDEX_URL_MAX);
    cleanup_buf struct buf inside = BUF_INIT((size_t)INDEX_URL_MAX * 2);
    struct index_url url = { 0 };
    const char *kind = NULL;

    for (size_t i = 0; i < N_ELEMENTS(kinds); i++)
        if (ends_with(key, kinds[i]))
            kind = kinds[i];
    if (!kind)
        return 0;
    if (strcmp(kind, ":username") != 0 && index_add_secret(r->index, value) < 0)
        return gb_no_memory(r->err);
    (void)buf_printf(&address, "http:%.*s", (int)(strlen(key) - strlen(kind)), key);
    if (buf_error(&address) < 0 || index_url_parse(address.data, &url, NULL) < 0)
        return 0;
    if (url.is_loopback && index_url_in_box(&url, &inside) == 0)
        (void)buf_printf(&r->lines, "%s%s=%s\n", inside.data + strlen("http:"), kind, value);
    else
        (void)buf_printf(&r->lines, "%s=%s\n", key, value);
    index_url_clear(&url);
    return 0;
}

static int npm_row(void *user, const char *section, const char *key, const char *value)
{
    struct reading *r = user;
    cleanup_buf struct buf text = BUF_INIT(CONFIG_VALUE_MAX);

    (void)section;
    if (expand(r, value, &text) < 0)
        return gb_no_memory(r->err);
    for (size_t i = 0; text.len && i < N_ELEMENTS(npm_words); i++)
        if (strcmp(key, npm_words[i].key) == 0)
            return set_word(r, npm_words[i].word, text.data);
    return 0;
}

/* Once the registry itself is known: scopes stand behind it. */
static int npm_more_row(void *user, const char *section, const char *key, const char *value)
{
    struct reading *r = user;
    cleanup_buf struct buf text = BUF_INIT(CONFIG_VALUE_MAX);

    (void)section;
    if (expand(r, value, &text) < 0)
        return gb_no_memory(r->err);
    if (!text.len || strpbrk(text.data, "\r\n"))
        return 0;
    if (key[0] == '@')
        return add_scope(r, key, text.data);
    return strncmp(key, "//", 2) == 0 ? add_credentials(r, key, text.data) : 0;
}

static int read_npmrcs(struct reading *r, config_row *row)
{
    static const char *const names[] = { "npm_config_userconfig", "NPM_CONFIG_USERCONFIG" };
    const char *own = NULL;
    int result = read_file(r, "/etc/npmrc", config_text_npm, row);

    for (size_t i = 0; !own && i < N_ELEMENTS(names); i++)
        own = environment_get(r->env, names[i]);
    if (result == 0)
        result = read_file(r, "/usr/etc/npmrc", config_text_npm, row);
    if (result == 0)
        result = read_file(r, "/usr/local/etc/npmrc", config_text_npm, row);
    if (result == 0 && own)
        return read_file(r, own, config_text_npm, row);
    return result < 0
               ? result
               : read_below(r, environment_get(r->env, "HOME"), ".npmrc", config_text_npm, row);
}

static int read_npm(struct reading *r)
{
    static const struct {
        const char *name;
        enum word word;
    } variables[] = {
        { "npm_config_registry", WORD_INDEX },    { "NPM_CONFIG_REGISTRY", WORD_INDEX },
        { "npm_config_cafile", WORD_CERT },       { "NPM_CONFIG_CAFILE", WORD_CERT },
        { "npm_config_proxy", WORD_PROXY },       { "NPM_CONFIG_PROXY", WORD_PROXY },
        { "npm_config_https_proxy", WORD_PROXY }, { "NPM_CONFIG_HTTPS_PROXY", WORD_PROXY },
        { "npm_config_noproxy", WORD_DIRECT },    { "NPM_CONFIG_NOPROXY", WORD_DIRECT },
    };
    const char *more = environment_get(r->env, "NODE_EXTRA_CA_CERTS");
    int result = read_npmrcs(r, npm_row);

    for (size_t i = 0; result == 0 && i < N_ELEMENTS(variables); i++) {
        const char *value = environment_get(r->env, variables[i].name);

        if (value && *value)
            result = set_word(r, variables[i].word, value);
    }
    if (result == 0 && !r->words[WORD_CERT] && more && *more)
        result = set_word(r, WORD_CERT, more);
    return result;
}

/* ---- what it comes to ----------------------------------------------------------------------- */

/* Is the host one of those that are reached without the proxy? */
static bool is_direct(const struct reading *r, const char *host)
{
    const char *list = r->words[WORD_DIRECT];
    size_t host_len = strlen(host);

    if (!list)
        list = environment_get(r->env, "NO_PROXY");
    if (!list)
        list = environment_get(r->env, "no_proxy");
    while (list && *list) {
        size_t len = strcspn(list, ", ");
        const char *name = *list == '.' ? list + 1 : list;
        size_t n = *list == '.' ? len - 1 : len;

        if ((n == 1 && *name == '*') ||
            (n && n <= host_len && strncasecmp(host + host_len - n, name, n) == 0 &&
             (n == host_len || host[host_len - n - 1] == '.')))
            return true;
        list += len + (list[len] != '\0');
    }
    return false;
}

static int set_proxy(struct reading *r)
{
    static const char *const names[] = { "HTTPS_PROXY", "https_proxy", "HTTP_PROXY",
                                         "http_proxy",  "ALL_PROXY",   "all_proxy" };
    const char *proxy = r->words[WORD_PROXY];
    bool is_needed = false;

    for (size_t i = 0; !proxy && i < N_ELEMENTS(names); i++)
        proxy = environment_get(r->env, names[i]);
    for (size_t i = 0; i < r->index->n_urls; i++) {
        struct index_url *url = &r->index->urls[i];

        url->is_direct = url->is_loopback || is_direct(r, url->host);
        is_needed |= !url->is_direct;
    }
    return proxy && *proxy && is_needed ? index_set_proxy(r->index, proxy, r->err) : 0;
}

/* Addresses with blanks or newlines between them. */
static int add_extra(struct reading *r)
{
    const char *at = r->words[WORD_EXTRA];
    int result = 0;

    while (result == 0 && at && *at) {
        size_t len = strcspn(at, " \t\n");
        cleanup_free char *text = strndup(at, len);

        if (!text)
            return gb_no_memory(r->err);
        if (len)
            result = index_add_url(r->index, text, r->err);
        at += len + (at[len] != '\0');
    }
    return result;
}

static int set_certificates(struct reading *r)
{
    static const char *const names[] = { "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE" };
    const char *file = r->words[WORD_CERT];

    for (size_t i = 0; !file && r->index->kind == PACKAGE_PYTHON && i < N_ELEMENTS(names); i++)
        file = environment_get(r->env, names[i]);
    if (!file || *file != '/')
        return 0;
    r->index->ca_file = strdup(file);
    return r->index->ca_file ? 0 : gb_no_memory(r->err);
}

static int settle(struct reading *r)
{
    struct package_index *index = r->index;
    int result = r->words[WORD_INDEX] ? index_add_url(index, r->words[WORD_INDEX], r->err)
                                      : index_use_default(index, r->err);

    if (result == 0)
        result = add_extra(r);
    if (result == 0 && index->kind == PACKAGE_NODE)
        result = read_npmrcs(r, npm_more_row);
    if (result == 0)
        result = set_certificates(r);
    if (result == 0)
        result = set_proxy(r);
    if (result < 0)
        return result;
    if (r->words[WORD_TRUSTED]) {
        index->trusted_hosts = take_ptr(r->words[WORD_TRUSTED]);
        for (char *at = index->trusted_hosts; *at; at++)
            if (*at == '\n')
                *at = ' ';
    }
    if (r->lines.len)
        index->npm_lines = buf_take(&r->lines);
    return buf_error(&r->lines) < 0 ? gb_no_memory(r->err) : 0;
}

int indexes_load(enum package_kind kind, char *const *env, struct package_index *ret,
                 struct gb_err *err)
{
    struct reading r = { .env = env, .index = ret, .lines = BUF_INIT(LINES_MAX), .err = err };
    int result;

    ret->kind = kind;
    result = kind == PACKAGE_NODE ? read_npm(&r) : read_pip(&r);
    if (result == 0)
        result = settle(&r);
    for (enum word word = 0; word < N_WORDS; word++)
        free(r.words[word]);
    buf_clear(&r.lines);
    return result;
}
