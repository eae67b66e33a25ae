/* SPDX-License-Identifier: Apache-2.0 */
/* box/walls.h - the protections of a box, as an enum and as sets. */
#pragma once

#include <stdint.h>

struct gb_err;

enum wall {
#define WALL(NAME, name, keeps, remedy) WALL_##NAME,
#include "box/walls.def"
#undef WALL
    N_WALLS,
};

/* A set of walls: bit 1 << wall. */
typedef uint32_t wall_set;

#define WALLS_ALL ((wall_set)((1u << N_WALLS) - 1))

const char *wall_name(enum wall wall);
const char *wall_keeps(enum wall wall);
const char *wall_remedy(enum wall wall); /* names the user it is for as USER */

/* The remedy with a user's name in it. */
#define WALL_REMEDY_MAX 512
const char *wall_remedy_for(enum wall wall, const char *user, char text[static WALL_REMEDY_MAX]);

/* The wall that a step of the glove (wire/msg.h) builds, or -1. */
int wall_of_step(uint32_t glove_step);

/* The error of a wall that the kernel refused with `code`; *ret_broken, which may be NULL, is told
 * which. */
int wall_fail(enum wall wall, int code, int *ret_broken, struct gb_err *err);

/* "all", "none" or names with commas; an unknown name is an error that lists the known ones. */
int walls_parse(const char *text, wall_set *ret, struct gb_err *err);

/* "memory,cpu", "none" for the empty set; what walls_parse() reads. */
#define WALLS_TEXT_MAX 256
const char *walls_text(wall_set walls, char text[static WALLS_TEXT_MAX]);
