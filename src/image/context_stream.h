/* SPDX-License-Identifier: Apache-2.0 */
/* image/context_stream.h - a build context as bytes that are read when somebody wants them.
 *
 * context_write() pushes and an engine's request pulls: a thread does the one, a socket with the
 * kernel's buffer lies between.  Nothing is stored on the way, however large the context.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "image/context.h"

struct context_stream;

/* What spec points to must live until the stream is closed.  A spec whose dir_fd is -1 has nothing
 * but its Dockerfile. */
int context_stream_open(const struct context_spec *spec, struct context_stream **ret,
                        struct gb_err *err);

/* The source of an engine's request: user is the context_stream.  0 at the end; negative when the
 * context could not be read to its end. */
ssize_t context_stream_read(void *user, void *bytes, size_t size);

/* Ends it, wherever it is, and frees it.  The context's own failure, if there was one; a reader who
 * stopped early is none.  *stream may be NULL. */
int context_stream_close(struct context_stream **stream, struct context_report *ret,
                         struct gb_err *err);
