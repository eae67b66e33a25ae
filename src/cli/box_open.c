/* SPDX-License-Identifier: Apache-2.0 */
/* cli/box_open.c - what the commands on a box that lives on begin with. */
#include "cli/box_open.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/path.h"
#include "cli/box_user.h"
#include "cli/command.h"
#include "cli/exec_paths.h"

int box_call_parse(const struct call *call, void *args, const char *const *user,
                   struct box_call *ret, struct gb_err *err)
{
    int r = command_parse(call, args, &ret->parsed, err);

    if (r == 0)
        r = command_settings(call, &ret->parsed, &ret->settings, err);
    if (r == 0 && ret->parsed.has_rest)
        r = gb_fail(err, -EINVAL, GB_BLAME_CALLER, "unexpected argument '--'");
    if (r == 0 && *user)
        r = box_check_user(*user, err);
    if (r == 0 && !*user && ret->parsed.n_operands == 0)
        r = gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                    "which box? Name a BOX, or --user NAME" GB_REMEDY
                    "glovebox box list shows them, glovebox box create makes one");
    if (r != 0)
        return r;
    ret->id = *user ? NULL : ret->parsed.operands[0];
    ret->operands = ret->parsed.operands + !*user;
    ret->n_operands = ret->parsed.n_operands - !*user;
    return 0;
}

int box_call_alone(const struct call *call, void *args, const char *const *user,
                   struct box_call *ret, struct gb_err *err)
{
    int r = box_call_parse(call, args, user, ret, err);

    if (r == 0 && ret->n_operands > 0)
        r = gb_fail(err, -EINVAL, GB_BLAME_CALLER, "unexpected argument '%.100s'",
                    ret->operands[0]);
    return r;
}

int box_call_find(struct box_call *call, const char *user, struct gb_err *err)
{
    int r;

    if (call->id || call->makes_box)
        return box_find(&call->settings, call->id, user, &call->kept, err);
    r = kept_find_user(call->settings.state_dir, user, &call->kept, err);
    return r <= 0
               ? r
               : gb_fail(err, -ENOENT, GB_BLAME_CALLER,
                         "'%s' has no box" GB_REMEDY "the first glovebox box run or put makes it",
                         user);
}

int box_call_attach(struct box_call *call, const char *user, struct gb_err *err)
{
    int r = -ENOENT;

    /* A user's box that somebody removes in between is not the user's any more. */
    for (unsigned i = 0; kept_is_gone(r) && i < (user ? KEPT_TRIES : 1); i++) {
        kept_clear(&call->kept);
        r = box_call_find(call, user, err);
        if (r < 0)
            return r;
        r = kept_attach(call->settings.state_dir, &call->kept, &call->box, &call->news, err);
    }
    return r;
}

void box_call_clear(struct box_call *call)
{
    (void)box_close(call->box);
    kept_clear(&call->kept);
    settings_clear(&call->settings);
    parsed_clear(&call->parsed);
}

int box_place_parse(const struct box_call *call, const char *text, struct box_place *ret,
                    struct gb_err *err)
{
    bool is_absolute = text[0] == '/';
    const char *path = text + is_absolute;
    size_t len = strlen(path);

    if (exec_check_text("a path in the box", text, err) < 0)
        return -EILSEQ;
    *ret = (struct box_place){ .dir = is_absolute ? "/" : call->kept.workdir };
    while (len > 0 && path[len - 1] == '/')
        len--;
    ret->has_slash = path[len] == '/';
    if (len < sizeof(ret->path))
        memcpy(ret->path, path, len);
    if (!is_absolute && strcmp(ret->path, ".") == 0)
        ret->path[0] = '\0';
    else if (len >= sizeof(ret->path) || (!path_is_below(ret->path) && !(is_absolute && len == 0)))
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "'%.200s' is no path in the box: neither '..' nor an empty part may be in "
                       "it",
                       text);
    return 0;
}
