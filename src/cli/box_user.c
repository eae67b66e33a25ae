/* SPDX-License-Identifier: Apache-2.0 */
/* cli/box_user.c - the box that a command means, made where there is none. */
#include "cli/box_user.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "box/kept.h"
#include "box/kept_open.h"
#include "cli/packages.h"
#include "conf/box_spec.h"
#include "conf/certificates.h"
#include "conf/package_host.h"
#include "conf/settings.h"
#include "run/packages.h"

static bool is_user(const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr("._-@", name[i]))
            return false;
    return len > 0 && len < KEPT_USER_MAX && name[0] != '-' && name[0] != '.';
}

int box_check_user(const char *name, struct gb_err *err)
{
    if (is_user(name))
        return 0;
    return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                   "--user: '%.80s' is no name: letters, digits and . _ - @, at most %d", name,
                   KEPT_USER_MAX - 1);
}

void box_packages_init(struct box_packages *packages)
{
    *packages = (struct box_packages){ 0 };
    packages_init(&packages->all);
}

void box_packages_clear(struct box_packages *packages)
{
    packages_close(&packages->all);
    package_host_clear(&packages->host);
}

int box_packages_open(const struct settings *settings, const struct package_wishes *wishes,
                      bool has_network, struct box_packages *ret, struct gb_err *err)
{
    struct box_spec box = settings_box_spec(settings);
    struct run_packages *told = NULL;
    struct packages_show show;
    const struct packages_order order = {
        .wishes = wishes,
        .host = &ret->host,
        .box = &box,
        .cancel_fd = -1,
        .watch = &show.watch,
    };
    int r = settings_check(settings, err);

    if (r < 0)
        return r;
    box.has_network = has_network;
    package_host_load(settings, environ, &ret->host);
    packages_show_init(&show);
    r = packages_open(&order, &ret->all, &told, err);
    if (r < 0)
        packages_print_log(told);
    run_packages_free(told);
    return r;
}

/* What programs of this machine trust, for a box that shows them. */
static int find_certificates(const struct box_spec *box, struct certificates *ret,
                             char **ret_variables, struct gb_err *err)
{
    const struct box_ops *ops = box_backend(box->backend, err);
    int r;

    if (!ops)
        return -EINVAL;
    if (!ops->shows_host)
        return 0;
    r = certificates_find(environ, NULL, ret);
    if (r == 0)
        r = certificates_text(ret, ret_variables);
    return r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "out of memory") : 0;
}

int box_make(const struct settings *settings, const struct box_wish *wish, struct kept *ret,
             struct gb_err *err)
{
    struct box_spec box = settings_box_spec(settings);
    struct kept_spec spec = {
        .state_dir = settings->state_dir,
        .user = wish->user,
        .image = settings->image,
        .workdir = wish->workdir ? wish->workdir : BOX_WORKSPACE,
        .ttl_ms = wish->ttl_ms,
        .net_rules = wish->net,
        .net_caps = settings->net_caps,
    };
    cleanup_with(certificates_clear) struct certificates certificates = { 0 };
    cleanup_free char *variables = NULL;
    char id[ID_SIZE];
    int r = settings_check(settings, err);

    if (r == 0 && wish->net)
        r = find_certificates(&box, &certificates, &variables, err);
    box.certificates = certificates.list;
    spec.variables = variables && *variables ? variables : NULL;
    box.layers = wish->packages ? wish->packages->all.binds : NULL;
    box.workdir = wish->workdir;
    box.ttl_ms = wish->ttl_ms;
    box.shows_groups = true;
    if (r == 0)
        r = kept_open_ports(&box, &spec, wish->ports, wish->n_ports, id, err);
    if (r == 0)
        r = kept_find(settings->state_dir, id, ret, err);
    if (r < 0)
        return r;
    if (wish->packages)
        r = packages_give(&wish->packages->all, &wish->packages->host, id, settings->state_dir,
                          err);
    if (r < 0) {
        uint32_t survivors;

        (void)kept_remove(settings->state_dir, ret, &survivors, NULL);
    }
    return r;
}

/* Two at once would make two: whoever comes second finds the first one's. */
static int find_or_make(const struct settings *settings, const char *user, struct kept *ret,
                        struct gb_err *err)
{
    cleanup_close int lock = kept_lock(settings->state_dir, err);
    int r = lock < 0 ? lock : kept_find_user(settings->state_dir, user, ret, err);

    if (r <= 0)
        return r;
    return box_make(settings, &(struct box_wish){ .user = user }, ret, err);
}

int box_find(const struct settings *settings, const char *id, const char *user, struct kept *ret,
             struct gb_err *err)
{
    int r;

    if (id)
        return kept_find(settings->state_dir, id, ret, err);
    r = kept_find_user(settings->state_dir, user, ret, err);
    return r <= 0 ? r : find_or_make(settings, user, ret, err);
}
