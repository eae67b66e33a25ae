/* SPDX-License-Identifier: Apache-2.0 */
/* agent/redact.h - secrets never reach a prompt, a transcript, a folder or a box.
 *
 * What leaves goes through redact(), which puts "[redacted]" for each secret that it finds: as it
 * is, URL-encoded in whole or in part, with JSON's escapes, in hex (also with separators or \x),
 * and inside of base64 at each of its three alignments, both alphabets, with line breaks.  Other
 * disguises (reversed, split, compressed) are not found: a secret must not get where somebody could
 * make one.  Text that was redacted in pieces may hide a secret at their border: redact the whole.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

struct buf;
struct redactor;

/* Shorter ones would be found in any text; they are left alone. */
#define REDACT_MIN 8

/* Copies of the secrets, NULL-terminated.  Safe to share between threads.  -ENOMEM. */
int redactor_new(const char *const *secrets, struct redactor **ret);
void redactor_free(struct redactor **redactor);

#define cleanup_redactor cleanup_with(redactor_free)

/* Appends the bytes without secrets; 0 or the buf's error.  redactor may be NULL: there are none.
 */
int redact(const struct redactor *redactor, const void *bytes, size_t len, struct buf *ret);

bool redact_finds(const struct redactor *redactor, const void *bytes, size_t len);
