/* SPDX-License-Identifier: Apache-2.0 */
/* glove/porter.h - files into the box and out of it.
 *
 * Each PUT, GET, LIST and REMOVE is a child that becomes the run user first, so that a path in a
 * request reaches what that user reaches and nothing else.  It is joined to the request's channel
 * by a pipe and tells the end by its report; the bytes on the channel are a crate (wire/crate.h) or
 * a listing (wire/listing.h).  Landlock and the file size limit are those of a run.
 */
#pragma once

struct glove;

/* Handlers of PUT, GET, LIST and REMOVE; msg is the decoded message. */
int porter_put(struct glove *glove, const void *msg);
int porter_get(struct glove *glove, const void *msg);
int porter_list(struct glove *glove, const void *msg);
int porter_remove(struct glove *glove, const void *msg);
