/* SPDX-License-Identifier: Apache-2.0 */
/* tool/dependencies.c - packages of an environment: installed before it is made, or there is none.
 */
#include "tool/dependencies.h"

#include <errno.h>

#include "base/err.h"
#include "run/packages.h"
#include "tool/tool.h"

/* Where no layer can be shown, an image is the place for packages. */
#define IN_AN_IMAGE                                                         \
    "have them in an image: prepare_build_context with a requirements.txt " \
    "or package.json, then build_image_from_context"

void dependencies_init(struct dependencies *dependencies)
{
    *dependencies = (struct dependencies){ 0 };
    package_wishes_init(&dependencies->wishes);
    packages_init(&dependencies->packages);
}

void dependencies_clear(struct dependencies *dependencies)
{
    package_wishes_clear(&dependencies->wishes);
    packages_close(&dependencies->packages);
    run_packages_free(dependencies->told);
    dependencies->told = NULL;
}

int dependencies_read(char *const *names, const struct box_ops *ops, struct dependencies *ret,
                      struct gb_err *err)
{
    int r = 0;

    for (; r == 0 && names && *names; names++)
        r = package_wishes_add(&ret->wishes, *names, err);
    if (r < 0)
        return gb_wrap(err, r, "dependencies");
    if (!package_wishes_are_empty(&ret->wishes) && !ops->has_layers)
        return gb_fail(
            err, -ENOTSUP, GB_BLAME_CALLER,
            "dependencies: environments of backend '%s' do not install any" GB_REMEDY IN_AN_IMAGE,
            ops->name);
    return 0;
}

int dependencies_open(const struct tool_call *call, struct dependencies *dependencies,
                      struct box_spec *box, struct gb_err *err)
{
    const struct packages_order order = {
        .wishes = &dependencies->wishes,
        .host = call->host->packages,
        .box = box,
        .cancel_fd = call->host->cancel_fd,
    };
    int r;

    if (package_wishes_are_empty(&dependencies->wishes))
        return 0;
    r = packages_open(&order, &dependencies->packages, &dependencies->told, err);
    if (r < 0)
        return gb_wrap(err, r, "dependencies");
    box->layers = dependencies->packages.binds;
    box->image_id = dependencies->packages.image_id;
    return 0;
}

int dependencies_give(const struct tool_call *call, const struct dependencies *dependencies,
                      const char *id, struct gb_err *err)
{
    return packages_give(&dependencies->packages, call->host->packages, id, call->host->state_dir,
                         err);
}
