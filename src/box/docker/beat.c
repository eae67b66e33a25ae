/* SPDX-License-Identifier: Apache-2.0 */
/* box/docker/beat.c - a sign of life for the glove, sent while nothing else is.
 *
 * It comes from the thread that carries the link's bytes, so a caller who does not look at its box
 * for a while, because it thinks or cannot get rid of output, is not taken for dead.  A beat goes
 * between two frames, never into one: the frames are counted as they pass.
 */
#include <string.h>

#include "base/err.h"
#include "box/docker/docker.h"
#include "engine/attach.h"
#include "wire/msg.h"

/* A tenth of the silence that a glove bears. */
#define BEAT_MS 1000

static void take_head(struct docker_beat *beat, const uint8_t **at, size_t *len)
{
    size_t n = sizeof(beat->head) - beat->n_head;
    struct wire_head head;

    n = *len < n ? *len : n;
    memcpy(beat->head + beat->n_head, *at, n);
    beat->n_head += n;
    *at += n;
    *len -= n;
    if (beat->n_head == sizeof(beat->head) && wire_head_get(beat->head, &head) == 0)
        beat->left = head.size;
}

/* The glove takes beats once it was greeted: not before the first frame. */
static bool is_between_frames(void *user, const void *bytes, size_t len)
{
    struct docker_beat *beat = user;
    const uint8_t *at = bytes;

    while (len > 0) {
        size_t n;

        if (beat->n_head < sizeof(beat->head))
            take_head(beat, &at, &len);
        if (beat->n_head < sizeof(beat->head))
            break;
        n = len < beat->left ? len : beat->left;
        at += n;
        len -= n;
        beat->left -= (uint32_t)n;
        if (beat->left == 0)
            beat->n_head = 0;
    }
    return beat->n_head == 0;
}

void docker_beat_init(struct docker_beat *beat, struct attach_beat *ret)
{
    char nothing[1] = { 0 };
    int n = msg_encode(MSG_BEAT, 0, 0, nothing, beat->frame, sizeof(beat->frame));

    *ret = (struct attach_beat){
        .bytes = beat->frame,
        .len = n < 0 ? 0 : (size_t)n,
        .every_ms = BEAT_MS,
        .is_between = is_between_frames,
        .user = beat,
    };
}
