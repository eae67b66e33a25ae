/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run_packages.c - packages of a task: from the command line to its order, from there to the
 * agent. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/command.h"
#include "cli/run_args.h"
#include "cli/run_session.h"
#include "conf/package_host.h"

static int write_set(const struct package_set *set, char **ret, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(PACKAGES_FILE_MAX);

    if (set->n == 0)
        return 0;
    if (package_set_write(set, &text) < 0)
        return gb_fail(err, -E2BIG, GB_BLAME_CALLER, "these are too many packages");
    *ret = buf_take(&text);
    return *ret ? 0 : gb_no_memory(err);
}

int run_packages_take(const struct run_args *args, struct run_order *order, struct gb_err *err)
{
    struct package_wishes wishes;
    int r;

    package_wishes_init(&wishes);
    r = package_args_take(&args->packages, &wishes, err);
    for (enum package_kind kind = 0; r == 0 && kind < N_PACKAGE_KINDS; kind++)
        r = write_set(&wishes.sets[kind], &order->packages[kind], err);
    package_wishes_clear(&wishes);
    return r;
}

int run_packages_give(struct run_session *session, struct gb_err *err)
{
    char *const *texts = session->order.packages;
    int r = 0;

    package_wishes_init(&session->packages);
    for (enum package_kind kind = 0; r == 0 && kind < N_PACKAGE_KINDS; kind++)
        if (texts[kind])
            r = package_set_read(&session->packages.sets[kind], "packages", texts[kind],
                                 strlen(texts[kind]), err);
    if (r < 0)
        return r;
    session->spec.packages = &session->packages;
    if (session->args->replay)
        return 0;
    package_host_load(&session->settings, session->call->env, &session->package_host);
    session->spec.package_host = &session->package_host;
    return 0;
}
