/* SPDX-License-Identifier: Apache-2.0 */
/* tool/build_check.h - the Dockerfile of a build: read, checked, and written as it is built. */
#pragma once

struct buf;
struct dockerfile;
struct dockerfile_findings;
struct engine;
struct gb_err;

/* Reads and checks the Dockerfile of a directory; build_args are pairs, or NULL.  *ret is the
 * caller's to clear in any case.  -EACCES: it asks for what no Dockerfile may; findings tell. */
int build_check_file(int dir_fd, char *const *build_args, struct dockerfile *ret,
                     struct dockerfile_findings *findings, struct gb_err *err);

/* The same for what its base images bring along (ONBUILD); one that the engine does not have is
 * fetched, so that it can be looked at before it is used. */
int build_check_bases(struct engine *engine, const struct dockerfile *dockerfile,
                      struct dockerfile_findings *findings, struct gb_err *err);
