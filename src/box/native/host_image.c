/* SPDX-License-Identifier: Apache-2.0 */
/* box/native/host_image.c - what of this machine image `host` shows.
 *
 * An allow-list: /usr, the links /bin /lib … into it, and what programs there need of /etc.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "box/native/plan.h"

/* Looked up one by one: reading the whole of /etc in every start costs more.  Those in / lead into
 * /usr, as links or as directories of their own.  Of /etc, directories and plain files alike are
 * bound read-only.  Each entry is a mount in every box: what programs do without (ld.so.conf,
 * ca-certificates, groff, terminfo, python3's sitecustomize, locale.alias) is left out. */
static const char *const names[] = {
    "/bin",           "/lib",          "/lib32",         "/lib64",
    "/libx32",        "/sbin",         "/etc/R",         "/etc/alternatives",
    "/etc/fonts",     "/etc/java",     "/etc/localtime", "/etc/ld.so.cache",
    "/etc/maven",     "/etc/perl",     "/etc/php",       "/etc/mime.types",
    "/etc/protocols", "/etc/services", "/etc/ssl/certs", "/etc/ssl/openssl.cnf",
};

/* Debian's java-17-openjdk-amd64 has its settings in /etc/java-17-openjdk. */
#define JVMS "/usr/lib/jvm"

static bool is_of_usr(const char *target)
{
    static const char *const ways[] = { "usr/", "/usr/", "../usr/" };

    for (size_t i = 0; i < N_ELEMENTS(ways); i++)
        if (strncmp(target, ways[i], strlen(ways[i])) == 0)
            return true;
    return false;
}

static bool has_entry(const struct plan_facts *facts, const char *path)
{
    for (size_t i = 0; i < facts->n_entries; i++)
        if (strcmp(facts->entries[i].path, path) == 0)
            return true;
    return false;
}

/* What is a link into /usr here is one there too; everything else is bound, links followed.  A name
 * that does not exist, or that we cannot see, is passed over. */
static int add_entry(struct plan_facts *facts, const char *name)
{
    cleanup_free char *path = NULL;
    cleanup_free char *target = NULL;
    struct plan_entry *grown;
    char link[PATH_MAX];
    ssize_t n = readlink(name, link, sizeof(link) - 1);

    if ((n < 0 && errno != EINVAL) || has_entry(facts, name))
        return 0;
    link[n < 0 ? 0 : n] = '\0';
    path = strdup(name);
    target = is_of_usr(link) ? strdup(link) : NULL;
    grown = realloc(facts->entries, (facts->n_entries + 1) * sizeof(*facts->entries));
    if (grown)
        facts->entries = grown;
    if (!grown || !path || (is_of_usr(link) && !target))
        return -ENOMEM;
    grown[facts->n_entries++] =
        (struct plan_entry){ .path = take_ptr(path), .link = take_ptr(target) };
    return 0;
}

static int add_jvms(struct plan_facts *facts)
{
    DIR *dir = opendir(JVMS);
    struct dirent *entry;
    char path[NAME_MAX + 8];
    int r = 0;

    if (!dir)
        return 0;
    while (r == 0 && (entry = readdir(dir)) != NULL) {
        const char *arch = strrchr(entry->d_name, '-');

        if (strncmp(entry->d_name, "java-", 5) != 0 || !arch)
            continue;
        (void)snprintf(path, sizeof(path), "/etc/%.*s", (int)(arch - entry->d_name), entry->d_name);
        r = add_entry(facts, path);
    }
    closedir(dir);
    return r;
}

int plan_facts_gather(struct plan_facts *facts, struct gb_err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < N_ELEMENTS(names); i++)
        r = add_entry(facts, names[i]);
    if (r == 0)
        r = add_jvms(facts);
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "looking at this machine's files: %s", strerror(-r));
    return 0;
}

void plan_facts_clear(struct plan_facts *facts)
{
    for (size_t i = 0; i < facts->n_entries; i++) {
        free(facts->entries[i].path);
        free(facts->entries[i].link);
    }
    free(facts->entries);
    facts->entries = NULL;
    facts->n_entries = 0;
}
