/* SPDX-License-Identifier: Apache-2.0 */
/* engine/container_body.h - the JSON that asks for a container.  Pure. */
#pragma once

struct buf;
struct container_spec;

/* 0 or the buf's error. */
int container_body(const struct container_spec *spec, struct buf *ret);
