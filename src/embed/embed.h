/* SPDX-License-Identifier: Apache-2.0 */
/* embed/embed.h - files that travel inside the glovebox binary.
 *
 * tools/embed writes one constant per file at build time; its name is embed_ and the file's
 * name, with everything but letters and digits turned into '_'.  The bytes lie in read-only
 * memory, begin on a 16-byte boundary and are followed by a NUL that size does not count.
 */
#pragma once
#include <stddef.h>

struct embed {
    const char *name; /* the file's name without its directory */
    const unsigned char *data;
    size_t size;
    const char *sha256; /* in hex */
};

extern const struct embed embed_glove; /* static ELF program: PID 1 of a container */
extern const struct embed
    embed_spawner; /* static ELF program that builds a native box and becomes its PID 1 */
