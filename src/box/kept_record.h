/* SPDX-License-Identifier: Apache-2.0 */
/* box/kept_record.h - what is written down of a kept box: a flat JSON object. */
#pragma once

#include <stddef.h>

struct buf;
struct gb_err;
struct kept;

#define KEPT_RECORD_MAX 65536

int kept_record_write(const struct kept *kept, struct buf *ret);

/* The caller owes a kept_clear() on success. */
int kept_record_read(const char *text, size_t len, struct kept *ret, struct gb_err *err);
