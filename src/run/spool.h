/* SPDX-License-Identifier: Apache-2.0 */
/* run/spool.h - the files of a box, held by the host on their way into another box.
 *
 *    old box ── spool_take() ──► a file of the host's that has no name ── spool_give() ──► new box
 *
 * Regular files only, with their modes; links and empty directories are left behind.  What comes
 * out of a box is never a path on the host.
 */
#pragma once

#include <stdint.h>

#include "base/cleanup.h"

struct box;
struct gb_err;
struct spool;

#define SPOOL_FILES_MAX 10000

/* All below dir of the box; more than max_bytes or SPOOL_FILES_MAX is an error.  The spool lies in
 * place, a directory of the host, for as long as this process has it. */
int spool_take(struct box *box, const char *dir, uint64_t max_bytes, const char *place,
               struct spool **ret, struct gb_err *err);

/* Into dir of another box; once. */
int spool_give(struct spool *spool, struct box *box, const char *dir, struct gb_err *err);

void spool_free(struct spool *spool);

DEFINE_CLEANUP(struct spool *, spool_free)
#define cleanup_spool cleanup_with(spool_freep)
