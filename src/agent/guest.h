/* SPDX-License-Identifier: Apache-2.0 */
/* agent/guest.h - the judge's part inside boxes, carried inside the binary.
 *
 * A role is one file that an interpreter runs: `python3 -I -B PATH OPTIONS`, where PATH is
 * guest_path() (docs/internals/judge-guest.md has the options and what they say).
 * A box is given the roles it needs and no other: that of the tested code has no word of the
 * runner.
 */
#pragma once

struct box_file;

enum guest_role {
#define GUEST(role, name) GUEST_##role,
#include "agent/guest.def"
#undef GUEST
    N_GUESTS,
};

/* Where the role's file lies in a box, from the root; static. */
const char *guest_path(enum guest_role role);

/* The file to put below the workspace.  Its path and bytes are static. */
void guest_file(enum guest_role role, struct box_file *ret);
