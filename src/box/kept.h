/* SPDX-License-Identifier: Apache-2.0 */
/* box/kept.h - the boxes that live on, as a directory.
 *
 *    STATE/boxes/b_…/box.json   what it is
 *                    socket     where its keeper is reached
 *                    runs/      what its runs wrote (run/kept_log.h)
 *                    filling    while it gets what another had: it is nobody's yet
 *                    network.*  of one with rules or ports (box/switchboard.h, box/net_log.h)
 *
 * All is of this user alone (0700).  A box is there while its keeper answers; the directory of one
 * that does not is removed by whoever comes across it.  A directory is made under a name that
 * nobody looks at, and gets its own when the socket listens.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/id.h"
#include "box/box.h"
#include "box/carry.h"

struct gb_err;

#define KEPT_USER_MAX 64

/* A kept box as its record tells it. */
struct kept {
    char id[ID_SIZE];
    char *user;          /* whose box it is, NULL: nobody's in particular */
    char *image;         /* "host" */
    char *workdir;       /* where its runs begin */
    uint64_t created_ms; /* by the wall clock */
    uint64_t ttl_ms;     /* 0: for ever */
    char *net_rules;     /* what it may reach (egress/policy.h); NULL: nothing */
    char *net_denied;    /* and what not, since it was made; NULL: nothing */
    struct carry_caps net_caps;
    char *ports; /* of the host that lead to it (box/port.h), with commas; NULL: none */
    struct box_kept box;
    char *path; /* what box points to, as python_path and variables */
    char *python_path;
    char *variables;
    bool is_filling; /* no part of the record */
};

void kept_clear(struct kept *kept);
#define cleanup_kept cleanup_with(kept_clear)

/* What is written down of a new one. */
struct kept_spec {
    const char *state_dir;
    const char *user;
    const char *image;
    const char *workdir;
    uint64_t ttl_ms;
    const char *net_rules; /* NULL: nothing */
    bool is_filled_later;  /* kept_fill_done() is owed */
    bool is_unserved;      /* without rules: made to have a network, which box_serve() gives it */
    struct carry_caps net_caps;
    struct denied_source denied_later;
    const char *ports;     /* as in the record: those that are listened on.  NULL: none */
    const char *variables; /* "K=V" lines for every run; NULL: none */
};

/* Gives the box to a keeper, under an id that nobody has.  box_close() is owed in both cases. */
int kept_make(const struct kept_spec *spec, struct box *box, char id[static ID_SIZE],
              struct gb_err *err);

/* By its id, or the beginning of one that no other has.  -ENOENT.  One found by its whole id may
 * be dead: whoever attaches to it is told so, as here. */
int kept_find(const char *state_dir, const char *id, struct kept *ret, struct gb_err *err);

/* The box of a user; 1 when there is none.  One that is being filled does not count. */
int kept_find_user(const char *state_dir, const char *user, struct kept *ret, struct gb_err *err);

/* All of them, oldest first.  The caller frees the list and clears its items. */
int kept_list(const char *state_dir, struct kept **ret, size_t *ret_n, struct gb_err *err);

/* A box that was made to be filled has all, and is its user's from now on. */
int kept_fill_done(const char *state_dir, const struct kept *kept, struct gb_err *err);

/* A connection to its keeper, for box_attach(), the caller's to close. */
int kept_connect(const char *state_dir, const struct kept *kept, struct gb_err *err);

/* The box itself, through its keeper. */
int kept_attach(const char *state_dir, const struct kept *kept, struct box **ret,
                struct box_news *ret_news, struct gb_err *err);

/* Does what kept_attach() returned mean that the box has ended since it was found?  Who means a
 * user's box looks for it again, so often. */
#define KEPT_TRIES 4
bool kept_is_gone(int r);

/* Destroys it.  The number of survivors in *ret. */
int kept_remove(const char *state_dir, const struct kept *kept, uint32_t *ret, struct gb_err *err);

/* Removes the directory of a box that has ended: what the keeper of a backend of its own does by
 * itself. */
void kept_forget(const char *state_dir, const char *id);

/* Its directory; the descriptor is the caller's. */
int kept_dir(const char *state_dir, const struct kept *kept, struct gb_err *err);

/* Between looking for a user's box and making it; unlocked by closing the descriptor. */
int kept_lock(const char *state_dir, struct gb_err *err);

/* A user's own: for what lasts longer and concerns nobody else.  -ECANCELED when cancel_fd became
 * readable while another had it. */
int kept_lock_user(const char *state_dir, const char *user, int cancel_fd, struct gb_err *err);
