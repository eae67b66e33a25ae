/* SPDX-License-Identifier: Apache-2.0 */
/* cli/doctor_kernel.c - what `doctor` tells of the kernel's settings.
 *
 * Boxes rely on none of them but the first four: each note says what else on this machine does. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "cli/doctor_host.h"

static const struct {
    const char *path; /* below /proc/sys */
    const char *bad;  /* the value that is worth a note */
    bool is_prefix;   /* … or how it begins */
    const char *note;
} notes[] = {
    { "kernel/unprivileged_userns_clone", "0", false,
      "user namespaces are for root only: sysctl -w kernel.unprivileged_userns_clone=1" },
    { "kernel/apparmor_restrict_unprivileged_userns", "1", false,
      "AppArmor restricts user namespaces: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or give glovebox a profile that allows userns" },
    { "user/max_user_namespaces", "0", false,
      "user namespaces are switched off: sysctl -w user.max_user_namespaces=15000" },
    { "user/max_net_namespaces", "0", false,
      "network namespaces are switched off: sysctl -w user.max_net_namespaces=15000" },
    { "kernel/kptr_restrict", "0", false,
      "kernel addresses are not hidden from processes: sysctl -w kernel.kptr_restrict=1" },
    { "dev/tty/legacy_tiocsti", "1", false,
      "terminals accept typed-in input (TIOCSTI); boxes cannot use it, others can: sysctl -w dev.tty.legacy_tiocsti=0" },
    { "kernel/yama/ptrace_scope", "0", false,
      "processes of a user may trace each other; none of a box reaches out of it: sysctl -w kernel.yama.ptrace_scope=1" },
    { "fs/protected_symlinks", "0", false,
      "links in /tmp are followed for everybody; no box sees the machine's /tmp: sysctl -w fs.protected_symlinks=1" },
    { "kernel/io_uring_disabled", "0", false,
      "io_uring is open to every process; boxes cannot use it: sysctl -w kernel.io_uring_disabled=1" },
    { "kernel/core_pattern", "|", true,
      "core dumps go to a program of this machine, whatever the limit on their size is; no program of a box has any" },
};

static bool is_bad(size_t row, char *text)
{
    text[strcspn(text, "\n")] = '\0';
    return notes[row].is_prefix ? strncmp(text, notes[row].bad, strlen(notes[row].bad)) == 0
                                : strcmp(text, notes[row].bad) == 0;
}

void doctor_kernel_look(struct doctor_host *host, const char *settings)
{
    cleanup_close int dir = open(settings, O_PATH | O_DIRECTORY | O_CLOEXEC);
    char text[256];

    for (size_t i = 0; i < N_ELEMENTS(notes) && host->n_notes < DOCTOR_NOTES_MAX; i++)
        if (fd_read_text(dir, notes[i].path, text, sizeof(text)) > 0 && is_bad(i, text))
            (void)snprintf(host->notes[host->n_notes++], sizeof(host->notes[0]), "%s",
                           notes[i].note);
}
