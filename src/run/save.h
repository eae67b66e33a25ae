/* SPDX-License-Identifier: Apache-2.0 */
/* run/save.h - a file on the host that is replaced whole or not at all.
 *
 * Written under a name of its own beside its place and renamed at the end.  Below a directory that
 * the caller holds open no link is followed, also not in the middle of a path, whatever a box put
 * there before.
 *
 * A path of the caller's own is taken as a shell's `>` takes it: a link stays, and the regular file
 * that it leads to is replaced, if that lies in or below the link's directory; a device, a pipe and
 * our own stdout or stderr are written through, piece by piece.  Never a terminal, which obeys what
 * it is shown.
 */
#pragma once

#include <limits.h>
#include <stddef.h>

struct gb_err;

struct save {
    int dir_fd; /* of the file's own directory; -1 when it is written through */
    int fd;
    char name[NAME_MAX + 1];
    char temp[NAME_MAX + 1];
};

/* Can a file be saved at this path of the caller's own?  Told before there is anything to save. */
int save_check(const char *path, struct gb_err *err);

/* base_fd: a directory that path must stay beneath, its missing directories are made; or -1 for a
 * path of the caller's own.  mode: only whether it is executable. */
int save_begin(struct save *save, int base_fd, const char *path, unsigned mode, struct gb_err *err);
int save_add(struct save *save, const void *bytes, size_t len, struct gb_err *err);
int save_commit(struct save *save, struct gb_err *err);

/* Instead of save_commit(): nothing is left.  Also after a failed save_begin(). */
void save_abort(struct save *save);
