/* SPDX-License-Identifier: Apache-2.0 */
/* package/index.c - where packages come from. */
#include "package/index.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/num.h"
#include "base/text.h"
#include "egress/resolve.h"

#define LOOK_UP_MS     10000
#define ANY_PORT       9
#define SECRET_LEN_MIN 4
#define RULES_TEXT_MAX (64u << 10)
#define MASK           "***"

static const struct {
    enum package_kind kind;
    const char *url;
    const char *host;
    const char *files;
} known[] = {
#define INDEX(kind, url, host, files) { kind, url, host, files },
#include "package/index.def"
#undef INDEX
};

void index_url_clear(struct index_url *url)
{
    free(url->clean);
    free(url->whole);
    *url = (struct index_url){ 0 };
}

void index_clear(struct package_index *index)
{
    enum package_kind kind = index->kind;

    for (size_t i = 0; i < index->n_urls; i++)
        index_url_clear(&index->urls[i]);
    index_url_clear(&index->proxy);
    for (size_t i = 0; i < index->n_secrets; i++) {
        explicit_bzero(index->secrets[i], strlen(index->secrets[i]));
        free(index->secrets[i]);
    }
    free(index->ca_file);
    free(index->trusted_hosts);
    free(index->npm_lines);
    *index = (struct package_index){ .kind = kind };
}

/* ---- addresses ------------------------------------------------------------------------------ */

struct parts {
    const char *scheme; /* "https://", its end … */
    const char *user;   /* … where credentials or the host begin */
    const char *host;
    const char *path; /* "" or "/…" */
};

static int refuse(const char *why, struct gb_err *err)
{
    return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                   "the index of the packages: %s" GB_REMEDY
                   "an address is http:// or https:// with a host; see pip config, npm config",
                   why);
}

static int split(const char *text, struct parts *ret, struct gb_err *err)
{
    const char *at;

    if (strlen(text) > INDEX_URL_MAX)
        return refuse("its address is too long", err);
    for (at = text; *at; at++)
        if ((unsigned char)*at <= ' ' || *at == 127 || *at == '"' || *at == '\\')
            return refuse("its address has bytes that no address has", err);
    if (strncmp(text, "https://", 8) != 0 && strncmp(text, "http://", 7) != 0)
        return refuse("its address begins with neither https:// nor http://", err);
    ret->scheme = text;
    ret->user = strstr(text, "://") + 3;
    ret->path = ret->user + strcspn(ret->user, "/?#");
    ret->host = ret->user;
    for (at = ret->user; at < ret->path; at++)
        if (*at == '@')
            ret->host = at + 1;
    return 0;
}

static int take_host(const struct parts *parts, struct index_url *url, struct gb_err *err)
{
    size_t len = (size_t)(parts->path - parts->host);
    const char *colon = memchr(parts->host, ':', len);
    size_t host_len = colon ? (size_t)(colon - parts->host) : len;
    bool is_https = parts->scheme[4] == 's';
    char port[8] = "";
    uint64_t number = is_https ? 443 : 80;
    struct net_address address;

    if (len && parts->host[0] == '[')
        return refuse("boxes have no IPv6", err);
    if (!host_name_clean(parts->host, host_len, url->host))
        return refuse("its host has no name", err);
    if (colon && len - host_len - 1 < sizeof(port)) {
        memcpy(port, colon + 1, len - host_len - 1);
        if (num_parse_u64(port, 1, 65535, &number) < 0)
            return refuse("its port is no number from 1 to 65535", err);
    } else if (colon) {
        return refuse("its port is no number from 1 to 65535", err);
    }
    url->port = (uint16_t)number;
    url->is_loopback = strcmp(url->host, "localhost") == 0 ||
                       (net_address_parse(url->host, &address) && address.bytes[12] == 127);
    return 0;
}

int index_url_parse(const char *text, struct index_url *ret, struct gb_err *err)
{
    cleanup_buf struct buf clean = BUF_INIT(INDEX_URL_MAX + 1);
    struct index_url url = { 0 };
    struct parts parts;
    int r = split(text, &parts, err);

    if (r == 0)
        r = take_host(&parts, &url, err);
    if (r < 0)
        return r;
    (void)buf_add(&clean, text, (size_t)(parts.user - text));
    (void)buf_puts(&clean, parts.host);
    url.has_credentials = parts.host != parts.user;
    url.clean = buf_take(&clean);
    url.whole = strdup(text);
    if (!url.clean || !url.whole) {
        index_url_clear(&url);
        return gb_no_memory(err);
    }
    *ret = url;
    return 0;
}

static int digit_of(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *found = c ? strchr(digits, tolower((unsigned char)c)) : NULL;

    return found ? (int)(found - digits) : -1;
}

/* "%40" as "@", for what servers echo. */
static void decode(char *text)
{
    char *out = text;

    for (const char *at = text; *at; at++) {
        int high = *at == '%' ? digit_of(at[1]) : -1;
        int low = high >= 0 ? digit_of(at[2]) : -1;

        if (low >= 0)
            at += 2;
        *out++ = (char)(low >= 0 ? high << 4 | low : *at);
    }
    *out = '\0';
}

int index_add_secret(struct package_index *index, const char *secret)
{
    char *copy;

    index->has_credentials = true;
    if (strlen(secret) < SECRET_LEN_MIN)
        return 0;
    if (index->n_secrets == INDEX_SECRETS_MAX)
        return -E2BIG;
    copy = strdup(secret);
    if (!copy)
        return -ENOMEM;
    index->secrets[index->n_secrets++] = copy;
    return 0;
}

/* Of "user:password" the password, of "token" the whole: as written, and as it is meant. */
static int remember(struct package_index *index, const struct index_url *url)
{
    const char *user;
    const char *end;
    cleanup_free char *text = NULL;
    char *secret;
    int r;

    if (!url->has_credentials)
        return 0;
    user = strstr(url->whole, "://") + 3;
    end = user + strcspn(user, "/?#");
    while (*end != '@')
        end--;
    text = text_copy(user, (size_t)(end - user));
    if (!text)
        return -ENOMEM;
    secret = strchr(text, ':');
    secret = secret && secret[1] ? secret + 1 : text;
    r = index_add_secret(index, secret);
    if (r == 0 && strchr(secret, '%')) {
        decode(secret);
        r = index_add_secret(index, secret);
    }
    return r;
}

int index_add_url(struct package_index *index, const char *text, struct gb_err *err)
{
    struct index_url url = { 0 };
    int r;

    if (index->n_urls == INDEX_URLS_MAX)
        return gb_fail(err, -E2BIG, GB_BLAME_CALLER, "more than %d indexes of packages",
                       INDEX_URLS_MAX);
    r = index_url_parse(text, &url, err);
    if (r < 0)
        return r;
    index->urls[index->n_urls++] = url;
    return remember(index, &url) < 0 ? gb_no_memory(err) : 0;
}

int index_set_proxy(struct package_index *index, const char *text, struct gb_err *err)
{
    struct index_url url = { 0 };
    int r = index_url_parse(text, &url, err);

    if (r < 0)
        return gb_wrap(err, r, "the proxy");
    index_url_clear(&index->proxy);
    index->proxy = url;
    return remember(index, &url) < 0 ? gb_no_memory(err) : 0;
}

bool index_is_guarded(const struct package_index *index)
{
    return index->has_credentials || index->proxy.clean;
}

/* What stands for its name on this machine; nothing when that cannot be told. */
static size_t look_up(const char *name, struct net_address ret[static RESOLVE_ADDRESSES_MAX])
{
    struct resolve *resolve = NULL;
    struct pollfd wait = { .events = POLLIN };
    size_t n = 0;

    if (resolve_begin(name, &resolve) < 0)
        return 0;
    wait.fd = resolve_fd(resolve);
    if (poll(&wait, 1, LOOK_UP_MS) == 1 && resolve_take(resolve, ret, &n) < 0)
        n = 0;
    resolve_free(resolve);
    return n;
}

/* The kernel looks for a way when a socket is connected; nothing is sent. */
static bool has_way_to(const struct net_address *address)
{
    struct sockaddr_storage to;
    unsigned len = net_address_socket(address, ANY_PORT, &to);
    cleanup_close int fd = socket(to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return errno != EAFNOSUPPORT;
    return connect(fd, (const struct sockaddr *)&to, len) == 0 ||
           (errno != ENETUNREACH && errno != EADDRNOTAVAIL);
}

/* Of nets that nobody has: whoever has a way there has one to everywhere. */
static bool has_way_out(void)
{
    static const char *const anywhere[] = { "198.51.100.1", "2001:db8::1" };
    struct net_address address;

    for (size_t i = 0; i < N_ELEMENTS(anywhere); i++)
        if (net_address_parse(anywhere[i], &address) && has_way_to(&address))
            return true;
    return false;
}

/* An index may be near, on a net that leads nowhere else. */
static bool is_near(const struct index_url *url)
{
    struct net_address found[RESOLVE_ADDRESSES_MAX];
    size_t n = url->is_loopback ? 0 : look_up(url->host, found);

    for (size_t i = 0; i < n; i++)
        if (has_way_to(&found[i]))
            return true;
    return url->is_loopback;
}

bool index_is_offline(const struct package_index *index)
{
    if (has_way_out() || (index->proxy.clean && is_near(&index->proxy)))
        return false;
    for (size_t i = 0; i < index->n_urls; i++)
        if (is_near(&index->urls[i]))
            return false;
    return true;
}

int index_use_default(struct package_index *index, struct gb_err *err)
{
    for (size_t i = 0; i < N_ELEMENTS(known); i++)
        if (known[i].kind == index->kind)
            return index_add_url(index, known[i].url, err);
    return gb_fail(err, -ENOENT, GB_BLAME_BUG, "there is no usual index");
}

/* ---- for a box ------------------------------------------------------------------------------ */

/* Loopback is the box's own there. */
static void host_in_box(const struct index_url *url, char ret[static NET_NAME_MAX + 1])
{
    struct net_address address;

    if (!url->is_loopback)
        (void)snprintf(ret, NET_NAME_MAX + 1, "%s", url->host);
    else if (net_address_parse(url->host, &address))
        resolve_name_of(&address, ret);
    else
        (void)snprintf(ret, NET_NAME_MAX + 1, "127-0-0-1" RESOLVE_ADDRESS_NAMES);
}

int index_url_in_box(const struct index_url *url, struct buf *ret)
{
    char host[NET_NAME_MAX + 1];
    struct parts parts = { 0 };
    int r = split(url->whole, &parts, NULL);

    if (r < 0)
        return r;
    host_in_box(url, host);
    (void)buf_add(ret, url->whole, (size_t)(parts.host - url->whole));
    (void)buf_printf(ret, "%s:%u%s", host, url->port, parts.path);
    return buf_error(ret);
}

int index_direct_in_box(const struct package_index *index, struct buf *ret)
{
    size_t n = 0;

    for (size_t i = 0; i < index->n_urls; i++) {
        char host[NET_NAME_MAX + 1];

        if (!index->urls[i].is_direct)
            continue;
        host_in_box(&index->urls[i], host);
        (void)buf_printf(ret, "%s%s", n++ ? "," : "", host);
    }
    return buf_error(ret);
}

static void add_rule(const struct index_url *url, struct buf *rules)
{
    char host[NET_NAME_MAX + 1];
    struct net_address address;

    host_in_box(url, host);
    (void)buf_printf(rules, "%s%s:%u", rules->len ? "," : "", host, url->port);
    if (url->is_loopback && !net_address_parse(url->host, &address))
        (void)buf_printf(rules, ",127.0.0.1:%u", url->port);
    else if (url->is_loopback)
        (void)buf_printf(rules, ",%s:%u", url->host, url->port);
    for (size_t i = 0; i < N_ELEMENTS(known); i++)
        if (known[i].files && strcmp(known[i].host, url->host) == 0)
            (void)buf_printf(rules, ",%s:%u", known[i].files, url->port);
}

/* The operator's own configuration names the host: what is private about it is no accident. */
static void add_addresses(const struct index_url *url, struct buf *rules)
{
    const struct net_policy public = { .mode = NET_FULL };
    struct net_address found[RESOLVE_ADDRESSES_MAX];
    size_t n = url->is_loopback ? 0 : look_up(url->host, found);

    for (size_t i = 0; i < n; i++) {
        char text[NET_ADDRESS_TEXT_MAX];

        if (net_may_dial(&public, url->host, &found[i], url->port) == NET_NOT_PUBLIC &&
            net_address_is_v4(&found[i]))
            (void)buf_printf(rules, ",%s:%u", net_address_text(&found[i], text), url->port);
    }
}

int index_policy(const struct package_index *index, const char *more, struct net_policy *ret,
                 struct gb_err *err)
{
    cleanup_buf struct buf rules = BUF_INIT(RULES_TEXT_MAX);

    for (size_t i = 0; i < index->n_urls; i++) {
        add_rule(&index->urls[i], &rules);
        add_addresses(&index->urls[i], &rules);
    }
    if (index->proxy.clean) {
        add_rule(&index->proxy, &rules);
        add_addresses(&index->proxy, &rules);
    }
    if (more && *more)
        (void)buf_printf(&rules, ",%s", more);
    if (buf_error(&rules) < 0)
        return gb_no_memory(err);
    return net_policy_parse(rules.data, ret, err);
}

/* ---- secrets -------------------------------------------------------------------------------- */

static size_t secret_at(const struct package_index *index, const char *text, size_t len)
{
    size_t longest = 0;

    for (size_t i = 0; i < index->n_secrets; i++) {
        size_t n = strlen(index->secrets[i]);

        if (n <= len && n > longest && memcmp(text, index->secrets[i], n) == 0)
            longest = n;
    }
    return longest;
}

int index_mask(const struct package_index *index, const char *text, size_t len, struct buf *ret)
{
    for (size_t i = 0; i < len;) {
        size_t n = secret_at(index, text + i, len - i);

        if (n)
            (void)buf_puts(ret, MASK);
        else
            (void)buf_putc(ret, text[i]);
        i += n ? n : 1;
    }
    return buf_error(ret);
}

bool index_leaks(const struct package_index *index, const void *bytes, size_t len)
{
    for (size_t i = 0; i < index->n_secrets; i++)
        if (memmem(bytes, len, index->secrets[i], strlen(index->secrets[i])))
            return true;
    return false;
}
