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

/* Names in / that lead into /usr, as links or as directories of their own. */
static const char *const root_names[] = { "bin", "lib", "lib32", "lib64", "libx32", "sbin", NULL };

/* Names in /etc, as patterns.  Whole directories and plain files alike are bound read-only.  What
 * only the system's own administration reads (ld.so.conf, ca-certificates) is left out: each entry
 * is a mount in every box. */
static const char *const etc_names[] = {
    "alternatives", "java*",       "maven",     "perl",       "php",       "R",        "lua*",
    "fonts",        "ld.so.cache", "localtime", "mime.types", "protocols", "services", NULL,
};

static const char *const ssl_names[] = { "certs", "openssl.cnf", NULL };

/* Patterns are names, or beginnings of names that end with a star. */
static bool matches(const char *const *names, const char *name)
{
    for (; *names; names++) {
        size_t len = strcspn(*names, "*");

        if (strncmp(*names, name, len) == 0 && ((*names)[len] == '*' || !name[len]))
            return true;
    }
    return false;
}

static bool is_of_usr(const char *target)
{
    return strncmp(target, "usr/", 4) == 0 || strncmp(target, "/usr/", 5) == 0;
}

/* What is a link into /usr here is one there too; everything else is bound, links followed.  A name
 * that does not exist is passed over. */
static int add_entry(struct plan_facts *facts, const char *dir, const char *name)
{
    struct plan_entry *grown =
        realloc(facts->entries, (facts->n_entries + 1) * sizeof(*facts->entries));
    cleanup_free char *path = NULL;
    char link[PATH_MAX];
    ssize_t n;

    if (!grown || asprintf(&path, "%s/%s", dir, name) < 0)
        return -ENOMEM;
    facts->entries = grown;
    n = readlink(path, link, sizeof(link) - 1);
    if (n < 0 && errno == ENOENT)
        return 0;
    link[n < 0 ? 0 : n] = '\0';
    grown[facts->n_entries] = (struct plan_entry){ 0 };
    if (is_of_usr(link) && !(grown[facts->n_entries].link = strdup(link)))
        return -ENOMEM;
    grown[facts->n_entries++].path = take_ptr(path);
    return 0;
}

static int gather_dir(struct plan_facts *facts, const char *path, const char *const *names)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    int r = 0;

    if (!dir)
        return errno == ENOENT ? 0 : -errno;
    while (r == 0 && (entry = readdir(dir)) != NULL)
        if (matches(names, entry->d_name))
            r = add_entry(facts, path, entry->d_name);
    closedir(dir);
    return r;
}

int plan_facts_gather(struct plan_facts *facts, struct gb_err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && root_names[i]; i++)
        r = add_entry(facts, "", root_names[i]);
    if (r == 0)
        r = gather_dir(facts, "/etc", etc_names);
    if (r == 0)
        r = gather_dir(facts, "/etc/ssl", ssl_names);
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
