/* SPDX-License-Identifier: Apache-2.0 */
/* spawner/slot.h - the lock file that owns a native box on this host.
 *
 * One file per possible box, "0", "1", … in the directory of slots.  Whoever holds its flock owns
 * what its record names: groups.  The record is written before anything is
 * made; so a slot whose lock can be taken but whose record is not empty had an owner who died, and
 * its taker sweeps first.  Nothing is synced to disk: all that a record names dies with the kernel.
 *
 * A record is lines of text that end with an empty one; what an earlier, longer record left behind
 * that line means nothing.  So taking and releasing a slot writes in place and truncates nothing.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SLOT_RECORD_MAX 8192

struct slot {
    int fd; /* -1: none; the lock goes with it */
    uint32_t number;
};

/* Takes the first free slot from `first` on (wrapping); what a dead owner left is in record (its
 * length in *ret_len) and must be swept.  -EUSERS when all are taken. */
int slot_take(int dir_fd, uint32_t first, uint32_t n_slots, struct slot *ret,
              char record[static SLOT_RECORD_MAX], size_t *ret_len);

int slot_write(const struct slot *slot, const char *record, size_t len);

/* Empties the record and lets go. */
void slot_release(struct slot *slot);

/* Lets go and leaves the record to the next taker. */
void slot_drop(struct slot *slot);
