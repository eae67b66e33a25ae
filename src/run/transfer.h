/* SPDX-License-Identifier: Apache-2.0 */
/* run/transfer.h - files of a request on their way into its box and out of it.
 *
 * The host's side of files: what is read is what the caller named; what is written is checked
 * beneath the directory the caller named, never through a link, never outside it, and each file is
 * replaced whole or not at all.  What comes out of a box is data: nothing of it is executed.
 */
#pragma once

#include <stdint.h>

struct box;
struct gb_err;
struct run_request;
struct run_result;

/* Do source and inputs fit into a box?  Asked before there is one; of a workspace transfer_in()
 * tells. */
int transfer_check(const struct run_request *request, struct gb_err *err);

/* The source, the inputs and the workspace.  *ret_mark, set by the caller, is raised when something
 * goes in, and is for transfer_out(). */
int transfer_in(struct box *box, const struct run_request *request, uint64_t *ret_mark,
                struct gb_err *err);

/* One regular file out of the box: `path` below `dir`, saved at the caller's own path `host`. */
struct transfer_file {
    const char *dir;
    const char *path;
    const char *host;
    uint64_t max_bytes;
};

int transfer_get(struct box *box, const struct transfer_file *file, struct gb_err *err);

/* The outputs, the changed files of the workspace, and the list of files for the result.  All is
 * tried as long as there is a box: the first failure is the error, others are notes. */
int transfer_out(struct box *box, const struct run_request *request, uint64_t mark,
                 struct run_result *result, struct gb_err *err);
