/* SPDX-License-Identifier: Apache-2.0 */
/* secrets.c - a search for the canaries of the host in everything that a box can read (I01). */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probe.h"

extern char **environ;

static char needle[64];
static unsigned n_files;

/* /usr is the machine's own and holds no canary; memory holds the word that is looked for. */
static bool is_left_out(const char *path)
{
    return !strcmp(path, "/usr") || strstr(path, "/map_files") || !strcmp(path, "/sys/fs/cgroup");
}

static void search(const char *path)
{
    static char text[1 << 20];
    const char *name = strrchr(path, '/');

    if (!strcmp(name, "/mem") || !strcmp(name, "/kmsg") || !strcmp(name, "/pagemap") ||
        !strcmp(name, "/clear_refs"))
        return;
    long n = slurp(path, text, sizeof(text));
    n_files += n > 0;
    if (n > 0 && memmem(text, (size_t)n, needle, strlen(needle)))
        leak(named("found:%s", path), "a canary");
}

/* args: the canaries' prefix, backwards */
void row_i01(char **args)
{
    const char *word = args[0] ? args[0] : "";
    size_t size = strnlen(word, sizeof(needle) - 1);

    for (size_t i = 0; i < size; i++)
        needle[i] = word[size - 1 - i];
    n_files = 0;
    if (size)
        walk("/", S_IFREG, is_left_out, search);
    verdict("searched", n_files < 50, named("%u files", n_files));
    for (char **entry = environ; *entry; entry++)
        info("env", named("%.*s", (int)strcspn(*entry, "="), *entry));
    /* Other names for the same places. */
    static const char *const doors[] = {
        "/proc/1/root/etc/shadow",
        "/proc/1/cwd",
        "/proc/self/root/root",
        "/proc/1/environ",
        "/proc/1/cmdline",
        "/etc/shadow",
        "/etc/gshadow",
        "/root",
        "/home/root",
        "/proc/1/root/proc/1/environ",
        "/var/lib",
        "/opt",
        "/boot",
        "/mnt",
        "/media",
        "/srv",
    };
    for (size_t i = 0; i < ARRAY_SIZE(doors); i++)
        verdict(named("door:%s", doors[i]), is_open(doors[i]), "");
}
