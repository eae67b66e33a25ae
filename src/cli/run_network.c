/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run_network.c - what the one box of a task that may have a network is given besides. */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "cli/command.h"
#include "cli/run_args.h"
#include "cli/run_session.h"
#include "conf/box_spec.h"

/* Can a host be granted at all, now or by an answer? */
static bool can_have_network(const struct run_order *order)
{
    return order->net ? strcmp(order->net, "none") != 0 : order->ask != ASK_NEVER;
}

int run_network(struct run_session *session, struct gb_err *err)
{
    struct judge_net *net = &session->spec.network;
    const struct box_spec box = settings_box_spec(&session->settings);
    const struct box_ops *ops = box_backend(box.backend, NULL);
    int r;

    if (session->args->replay || !can_have_network(&session->order))
        return 0;
    net->caps = session->settings.net_caps;
    if (!ops || !ops->shows_host)
        return 0;
    r = certificates_find(session->call->env, NULL, &session->certificates);
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "out of memory");
    net->certificates = session->certificates.list;
    net->env = session->certificates.env;
    return 0;
}
