/* SPDX-License-Identifier: Apache-2.0 */
/* cli/box_user.c - the box that a command means, made where there is none. */
#include "cli/box_user.h"

#include <unistd.h>

#include "base/err.h"
#include "box/kept.h"
#include "cli/packages.h"
#include "conf/settings.h"
#include "run/packages.h"

int box_check_user(const char *name, struct gb_err *err)
{
    int r = user_check(name, err);

    return r < 0 ? gb_wrap(err, r, "--user") : 0;
}

int box_packages_show(const struct settings *settings, const struct package_wishes *wishes,
                      bool has_network, struct exec_lines *lines, struct box_packages *ret,
                      struct gb_err *err)
{
    const struct packages_watch watch = packages_watch_lines(lines);
    struct run_packages *told = NULL;
    struct packages_show show;
    const struct box_packages_order order = {
        .wishes = wishes,
        .has_network = has_network,
        .cancel_fd = -1,
        .watch = lines ? &watch : &show.watch,
    };
    int r;

    packages_show_init(&show);
    r = box_packages_open(settings, environ, &order, ret, &told, err);
    if (r < 0)
        packages_print_log(told);
    run_packages_free(told);
    return r;
}

int box_find(const struct settings *settings, const char *id, const char *user, struct kept *ret,
             struct gb_err *err)
{
    const struct box_wish wish = { .env = environ, .user = user };

    return id ? kept_find(settings->state_dir, id, ret, err)
              : box_find_or_make(settings, &wish, ret, err);
}
