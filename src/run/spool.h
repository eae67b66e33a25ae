/* SPDX-License-Identifier: Apache-2.0 */
/* run/spool.h - the files of a box, held by the host on their way into another box.
 *
 *    old box ── spool_take() ──► a file of the host's that has no name ── spool_give() ──► new box
 *
 * Files and directories with their modes, and links as they are, which nobody follows.  Sockets,
 * pipes and what the box's user may not read stay behind, and are counted.  What comes out of a box
 * is never a path on the host: it is checked and written down as one crate (wire/crate.h).
 */
#pragma once

#include <stdint.h>

#include "base/cleanup.h"

struct box;
struct gb_err;
struct spool;

#define SPOOL_FILES_MAX 200000

/* All below dir of the box; more than max_bytes or SPOOL_FILES_MAX is -EFBIG.  The spool lies in
 * place, a directory of the host, for as long as this process has it; nothing of it in memory. */
int spool_take(struct box *box, const char *dir, uint64_t max_bytes, const char *place,
               struct spool **ret, struct gb_err *err);

/* How many names stayed behind. */
uint64_t spool_left_behind(const struct spool *spool);

/* Into dir of another box; once. */
int spool_give(struct spool *spool, struct box *box, const char *dir, struct gb_err *err);

void spool_free(struct spool *spool);

DEFINE_CLEANUP(struct spool *, spool_free)
#define cleanup_spool cleanup_with(spool_freep)
