/* SPDX-License-Identifier: Apache-2.0 */
/* conf/certificates.c - the certificate authorities that the operator's programs trust. */
#include "conf/certificates.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "box/box.h"
#include "conf/environment.h"

#define FILE_MAX (4UL << 20)
#define TEXT_MAX (64 << 10)

static const char *const variables[] = {
    "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE",
    "PIP_CERT",      "CURL_CA_BUNDLE",      "GIT_SSL_CAINFO",
};

/* May a stranger walk to it and read it?  A box's user is one. */
static bool is_for_everybody(const char *path)
{
    char prefix[PATH_MAX];
    struct stat st;

    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        (void)snprintf(prefix, sizeof(prefix), "%.*s", (int)(slash - path), path);
        if (stat(prefix, &st) < 0 || !(st.st_mode & S_IXOTH))
            return false;
    }
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_mode & S_IROTH;
}

static bool holds_certificates(const char *path)
{
    struct buf text = BUF_INIT(FILE_MAX);
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool is_good = fd >= 0 && file_read(fd, &text) == 0 && text.data &&
                   memmem(text.data, text.len, "-----BEGIN CERTIFICATE-----", 27) &&
                   !memmem(text.data, text.len, "PRIVATE KEY", 11);

    buf_clear(&text);
    return is_good;
}

/* What image `host` shows in any case. */
static bool is_shown(const char *path)
{
    static const char *const trees[] = { "/usr/", "/etc/ssl/certs/" };

    for (size_t i = 0; i < N_ELEMENTS(trees); i++)
        if (strncmp(path, trees[i], strlen(trees[i])) == 0)
            return true;
    return false;
}

/* Nothing to add is fine. */
static int add(struct certificates *all, const char *variable, const char *said)
{
    cleanup_free char *path = said && *said == '/' ? realpath(said, NULL) : NULL;
    cleanup_free char *target = NULL;
    char *pair = NULL;

    if (!path || !is_for_everybody(path) || !holds_certificates(path))
        return 0;
    if (is_shown(path))
        target = strdup(path);
    else if (asprintf(&target, BOX_CERTIFICATES "/%s.pem", variable) < 0)
        target = NULL;
    if (!target || asprintf(&pair, "%s=%s", variable, target) < 0)
        return -ENOMEM;
    all->env[all->n] = pair;
    all->list[all->n++] =
        (struct box_certificate){ .path = take_ptr(path), .target = take_ptr(target) };
    return 0;
}

int certificates_find(char *const *env, const char *const *caller, struct certificates *ret)
{
    size_t n_caller = 0;
    int r = 0;

    while (caller && caller[n_caller])
        n_caller++;
    *ret = (struct certificates){
        .list = calloc(N_ELEMENTS(variables) + 1, sizeof(*ret->list)),
        .env = calloc(N_ELEMENTS(variables) + n_caller + 1, sizeof(*ret->env)),
    };
    if (!ret->list || !ret->env) {
        free(ret->list);
        free(ret->env);
        *ret = (struct certificates){ 0 };
        return -ENOMEM;
    }
    for (size_t i = 0; r == 0 && i < N_ELEMENTS(variables); i++)
        r = add(ret, variables[i], environment_get(env, variables[i]));
    if (r < 0) {
        certificates_clear(ret);
        return r;
    }
    for (size_t i = 0; i < n_caller; i++)
        ret->env[ret->n + i] = caller[i];
    return 0;
}

int certificates_for(const struct box_spec *box, char *const *env, const char *const *caller,
                     struct certificates *ret, struct gb_err *err)
{
    const struct box_ops *ops = box_backend(box->backend, err);

    *ret = (struct certificates){ 0 };
    if (!ops)
        return -EINVAL;
    if (ops->shows_host && certificates_find(env, caller, ret) < 0)
        return gb_no_memory(err);
    return 0;
}

static void pair_free(const char *pair)
{
    free((char *)(uintptr_t)pair);
}

void certificates_clear(struct certificates *certificates)
{
    for (size_t i = 0; i < certificates->n; i++) {
        free(certificates->list[i].path);
        free(certificates->list[i].target);
        pair_free(certificates->env[i]);
    }
    free(certificates->list);
    free(certificates->env);
    *certificates = (struct certificates){ 0 };
}

int certificates_text(const struct certificates *certificates, char **ret)
{
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);

    for (size_t i = 0; i < certificates->n; i++)
        if (!strchr(certificates->env[i], '\n'))
            (void)buf_printf(&text, "%s%s", text.len ? "\n" : "", certificates->env[i]);
    *ret = buf_error(&text) < 0 ? NULL : buf_take(&text);
    return *ret ? 0 : -ENOMEM;
}
