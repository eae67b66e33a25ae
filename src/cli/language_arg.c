/* SPDX-License-Identifier: Apache-2.0 */
/* cli/language_arg.c - a language on a command line: -l LANG. */
#include "cli/language_arg.h"

#include <errno.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "conf/nearest.h"
#include "run/language.h"

#define NAMES_MAX 1024

const char *language_arg_names(struct buf *names)
{
    for (size_t i = 0; language_at(i); i++)
        (void)buf_printf(names, "%s%s", i ? ", " : "", language_at(i)->name);
    return names->data ? names->data : "";
}

int language_arg_find(const char *name, const struct language **ret, struct gb_err *err)
{
    cleanup_buf struct buf names = BUF_INIT(NAMES_MAX);
    struct nearest near = { .text = name };

    *ret = language_by_name(name);
    if (*ret)
        return 0;
    for (size_t i = 0; language_at(i); i++) {
        nearest_offer(&near, language_at(i)->name);
        for (const char *const *alias = language_at(i)->aliases; *alias; alias++)
            nearest_offer(&near, *alias);
    }
    return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                   "unknown language '%.100s'%s%s%s" GB_REMEDY "say one of %s", name,
                   nearest_best(&near) ? ", did you mean '" : "",
                   nearest_best(&near) ? nearest_best(&near) : "", nearest_best(&near) ? "'?" : "",
                   language_arg_names(&names));
}
