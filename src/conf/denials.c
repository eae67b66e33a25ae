/* SPDX-License-Identifier: Apache-2.0 */
/* conf/denials.c - net.deny as the operator's files say it now. */
#include "conf/denials.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "conf/dirs.h"
#include "conf/settings.h"

static uint64_t mix(uint64_t sum, uint64_t more)
{
    return (sum ^ more) * 0x100000001b3;
}

/* Another number for another file, contents or rights; when it was written may be told in steps of
 * milliseconds, its size and its place are others, too, as good as always. */
static uint64_t look_at(uint64_t sum, const char *path)
{
    struct stat st;

    if (!path || stat(path, &st) < 0)
        return mix(sum, 1);
    sum = mix(mix(sum, st.st_ino), (uint64_t)st.st_size);
    sum = mix(mix(sum, (uint64_t)st.st_mtim.tv_sec), (uint64_t)st.st_mtim.tv_nsec);
    return mix(mix(sum, (uint64_t)st.st_ctim.tv_sec), (uint64_t)st.st_ctim.tv_nsec);
}

static int read_again(const struct denials *denials, char **ret_rules)
{
    const struct settings_input input = {
        .is_without_project = true,
        .env = denials->env,
        .uid = denials->uid,
    };
    cleanup_with(settings_clear) struct settings settings = { 0 };
    struct gb_err ignored = { 0 }; /* every command tells what is wrong with them */
    int r = settings_load(&settings, &input, &ignored);

    if (r < 0)
        return r;
    *ret_rules = settings.net_caps.denied ? strdup(settings.net_caps.denied) : NULL;
    return !settings.net_caps.denied || *ret_rules ? 1 : -ENOMEM;
}

int denials_changed(void *user, char **ret_rules)
{
    struct denials *denials = user;
    cleanup_free char *system = dirs_system_config(denials->env);
    cleanup_free char *own = dirs_user_config(denials->env);
    uint64_t now = look_at(look_at(1, system), own);
    int r;

    if (denials->is_without_files || now == denials->seen)
        return 0;
    r = read_again(denials, ret_rules);
    /* Only what has been read is not read again: it may have been for want of a descriptor, of
     * which the programs of a box can take many. */
    if (r > 0)
        denials->seen = now;
    return r;
}
