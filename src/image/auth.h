/* SPDX-License-Identifier: Apache-2.0 */
/* image/auth.h - what docker's own config.json has to log in to a registry with.
 *
 * Only what stands in the file itself ("auths") is used.  A helper that keeps credentials elsewhere
 * ("credsStore", "credHelpers") is a program of somebody's: it is named, not started.
 */
#pragma once

#include <stdbool.h>

#include "base/cleanup.h"

struct gb_err;

#define IMAGE_AUTH_SERVER_MAX 256
#define IMAGE_AUTH_HELPER_MAX 64

/* Texts are on the heap, NULL when they are not known; wiped when they are cleared. */
struct image_auth {
    char *username;
    char *password;
    char *token;
    char server[IMAGE_AUTH_SERVER_MAX];
    char helper[IMAGE_AUTH_HELPER_MAX]; /* "desktop": it would have to be asked; "": none */
};

/* config_dir may be NULL.  No file, and no entry, is fine: nothing is known then.  -EINVAL: the
 * file is not what docker writes. */
int image_auth_find(const char *config_dir, const char *registry, struct image_auth *ret,
                    struct gb_err *err);
bool image_auth_is_known(const struct image_auth *auth);
void image_auth_clear(struct image_auth *auth);

#define cleanup_image_auth cleanup_with(image_auth_clear)
