/* SPDX-License-Identifier: Apache-2.0 */
/* glove/landlock.c - the second wall around the file system of a run.
 *
 * Constants are spelt out: the kernel headers of Debian 12 end at ABI 2.
 */
#include "glove/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/sys.h"
#include "wire/msg.h"

#define NR_ADD_RULE      445
#define NR_RESTRICT_SELF 446

#define RULE_PATH_BENEATH 1

#define FS_EXECUTE     (1ull << 0)
#define FS_WRITE_FILE  (1ull << 1)
#define FS_READ_FILE   (1ull << 2)
#define FS_READ_DIR    (1ull << 3)
#define FS_MAKE_CHAR   (1ull << 6)
#define FS_MAKE_BLOCK  (1ull << 11)
#define FS_REFER       (1ull << 13)
#define FS_TRUNCATE    (1ull << 14)
#define FS_IOCTL_DEV   (1ull << 15)
#define FS_ALL(last)   (((last) << 1) - 1)
#define SCOPE_ABSTRACT (1ull << 0)
#define SCOPE_SIGNAL   (1ull << 1)

#define RIGHTS_READ   (FS_EXECUTE | FS_READ_FILE | FS_READ_DIR)
#define RIGHTS_DEVICE (FS_READ_FILE | FS_WRITE_FILE | FS_TRUNCATE)
#define RIGHTS_TTY    (RIGHTS_DEVICE | FS_IOCTL_DEV)
#define RIGHTS_FILE   (FS_EXECUTE | FS_READ_FILE | RIGHTS_TTY)

struct ruleset_attr {
    uint64_t fs;
    uint64_t net;
    uint64_t scoped;
};

struct path_beneath {
    uint64_t rights;
    int32_t parent_fd;
} __attribute__((packed));

/* Only terminals are asked for anything but their bytes. */
static const struct {
    const char *path;
    uint64_t rights;
} devices[] = {
    { "/dev/null", RIGHTS_DEVICE },    { "/dev/zero", RIGHTS_DEVICE },
    { "/dev/full", RIGHTS_DEVICE },    { "/dev/random", RIGHTS_DEVICE },
    { "/dev/urandom", RIGHTS_DEVICE }, { "/dev/tty", RIGHTS_TTY },
    { "/dev/ptmx", RIGHTS_TTY },       { "/dev/pts", RIGHTS_TTY },
};

int landlock_abi(void)
{
    int abi = sys_landlock_abi();

    return abi < 0 ? -errno : abi;
}

/* All rights on files that an ABI knows. */
static uint64_t rights_of(int abi)
{
    if (abi >= 5)
        return FS_ALL(FS_IOCTL_DEV);
    if (abi >= 3)
        return FS_ALL(FS_TRUNCATE);
    return abi == 2 ? FS_ALL(FS_REFER) : FS_ALL(FS_REFER >> 1);
}

static int ruleset_create(int abi)
{
    struct ruleset_attr attr = {
        .fs = rights_of(abi),
        .scoped = abi >= 6 ? SCOPE_ABSTRACT | SCOPE_SIGNAL : 0,
    };
    /* An older kernel takes a shorter structure. */
    size_t size = abi >= 6 ? sizeof(attr) : sizeof(attr.fs);
    long fd = syscall(SYS_NR_LANDLOCK_CREATE, &attr, size, 0);

    return fd < 0 ? -errno : (int)fd;
}

/* Rights that only directories have make a rule about a file invalid. */
static int rule_add(int rules, const char *path, uint64_t rights)
{
    cleanup_close int fd = open(path, O_PATH | O_CLOEXEC);
    struct path_beneath rule;
    struct stat st;

    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISDIR(st.st_mode))
        rights &= RIGHTS_FILE;
    rule = (struct path_beneath){ .rights = rights, .parent_fd = fd };
    return syscall(NR_ADD_RULE, rules, RULE_PATH_BENEATH, &rule, 0) < 0 ? -errno : 0;
}

int landlock_rules(int abi, const struct wire_strs *writable)
{
    uint64_t all = rights_of(abi);
    cleanup_close int rules = ruleset_create(abi);
    const char *at = NULL;
    const char *path;
    int r;

    if (rules < 0)
        return rules;
    r = rule_add(rules, "/", RIGHTS_READ);
    while (r == 0 && (path = wire_strs_next(writable, &at)) != NULL)
        r = rule_add(rules, path, all & ~(FS_MAKE_CHAR | FS_MAKE_BLOCK | FS_IOCTL_DEV));
    for (size_t i = 0; r == 0 && i < N_ELEMENTS(devices); i++)
        r = rule_add(rules, devices[i].path, all & devices[i].rights);
    return r < 0 ? r : take_fd(&rules);
}

int landlock_restrict(int rules_fd)
{
    return syscall(NR_RESTRICT_SELF, rules_fd, 0) < 0 ? -errno : 0;
}
