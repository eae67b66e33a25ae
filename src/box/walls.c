/* SPDX-License-Identifier: Apache-2.0 */
/* box/walls.c - names, texts and sets of walls, all from walls.def. */
#include "box/walls.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "wire/msg.h"

static const struct {
    const char *name;
    const char *keeps;
    const char *remedy;
} rows[N_WALLS] = {
#define WALL(NAME, name, keeps, remedy) [WALL_##NAME] = { #name, keeps, remedy },
#include "box/walls.def"
#undef WALL
};

/* All names with commas, and the NUL. */
static_assert(sizeof(
#define WALL(NAME, name, keeps, remedy) #name ","
#include "box/walls.def"
#undef WALL
                  ) <= WALLS_TEXT_MAX,
              "walls_text() cuts nothing off");
static_assert(N_WALLS <= 8 * sizeof(wall_set), "a wall_set has a bit for every wall");

const char *wall_name(enum wall wall)
{
    return rows[wall].name;
}

const char *wall_keeps(enum wall wall)
{
    return rows[wall].keeps;
}

const char *wall_remedy(enum wall wall)
{
    return rows[wall].remedy;
}

const char *wall_remedy_for(enum wall wall, const char *user, char text[static WALL_REMEDY_MAX])
{
    static const char mark[] = "USER";
    const char *remedy = rows[wall].remedy;
    const char *at = strstr(remedy, mark);

    if (at)
        (void)snprintf(text, WALL_REMEDY_MAX, "%.*s%.100s%s", (int)(at - remedy), remedy, user,
                       at + strlen(mark));
    else
        (void)snprintf(text, WALL_REMEDY_MAX, "%s", remedy);
    return text;
}

int wall_of_step(uint32_t glove_step)
{
    switch (glove_step) {
    case GLOVE_STEP_LANDLOCK:
        return WALL_LANDLOCK;
    case GLOVE_STEP_SECCOMP:
        return WALL_SECCOMP;
    case GLOVE_STEP_CAPS:
    case GLOVE_STEP_IDS:
        return WALL_CAPS;
    default:
        return -1;
    }
}

int wall_fail(enum wall wall, int code, int *ret_broken, struct gb_err *err)
{
    if (ret_broken)
        *ret_broken = (int)wall;
    return gb_fail(err, code, GB_BLAME_HOST, "the wall '%s' cannot be built: %s" GB_REMEDY "%s",
                   wall_name(wall), strerror(-code), wall_remedy(wall));
}

static wall_set wall_by_name(const char *name, size_t len)
{
    for (unsigned i = 0; i < N_WALLS; i++)
        if (strlen(rows[i].name) == len && memcmp(rows[i].name, name, len) == 0)
            return 1u << i;
    return 0;
}

int walls_parse(const char *text, wall_set *ret, struct gb_err *err)
{
    char known[WALLS_TEXT_MAX];
    wall_set walls = 0;

    if (strcmp(text, "all") == 0 || strcmp(text, "none") == 0) {
        *ret = text[0] == 'a' ? WALLS_ALL : 0;
        return 0;
    }
    for (;;) {
        size_t len = strcspn(text, ",");
        wall_set wall = wall_by_name(text, len);

        if (!wall)
            return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                           "no wall is named '%.*s'; there are all, none, or a list of %s",
                           (int)(len < 64 ? len : 64), text, walls_text(WALLS_ALL, known));
        walls |= wall;
        if (!text[len])
            break;
        text += len + 1;
    }
    *ret = walls;
    return 0;
}

const char *walls_text(wall_set walls, char text[static WALLS_TEXT_MAX])
{
    char *at = text;

    for (unsigned i = 0; i < N_WALLS; i++) {
        if (!(walls >> i & 1))
            continue;
        if (at != text)
            *at++ = ',';
        at = stpcpy(at, rows[i].name);
    }
    if (at == text)
        at = stpcpy(at, "none");
    *at = '\0';
    return text;
}
