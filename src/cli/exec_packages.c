/* SPDX-License-Identifier: Apache-2.0 */
/* cli/exec_packages.c - packages of a program that `exec` runs. */
#include "cli/exec_packages.h"

#include <errno.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "cli/exec_args.h"
#include "cli/exec_lines.h"
#include "cli/packages.h"
#include "conf/box_spec.h"
#include "conf/package_host.h"
#include "conf/settings.h"
#include "package/imports.h"
#include "run/language.h"
#include "run/result.h"

void exec_packages_init(struct exec_packages *packages)
{
    package_wishes_init(&packages->wishes);
    package_wishes_init(&packages->refused);
    packages->plain = (struct buf)BUF_INIT((size_t)2 * EXEC_CODE_MAX);
}

void exec_packages_clear(struct exec_packages *packages)
{
    package_wishes_clear(&packages->wishes);
    package_wishes_clear(&packages->refused);
    buf_clear(&packages->plain);
}

static bool is_image(const struct settings *settings)
{
    const struct box_spec box = settings_box_spec(settings);
    const struct box_ops *ops = box_backend(box.backend, NULL);

    return ops && !ops->shows_host;
}

/* What the program wants besides, and no file of the caller's brings: all of it with
 * --auto-packages, else what it would have pip install. */
static int add_code(const struct exec_args *args, const struct settings *settings, bool is_auto,
                    struct package_wishes *ret, struct gb_err *err)
{
    const char *files[EXEC_FILES_MAX + 1] = { 0 };
    const struct package_code code = {
        .language = args->language,
        .text = args->code,
        .len = args->code_len,
        .name = args->is_name_ours ? NULL : args->name,
        .files = files,
        .dir = args->workspace,
        .is_commands_only = !is_auto,
        .is_image = is_image(settings),
        .toolchains = settings->toolchains,
    };

    for (size_t i = 0; i < args->n_files; i++)
        files[i] = args->files[i].box;
    return package_wishes_add_code(ret, &code, err);
}

/* Lines of a notebook become Python on their way into the box; a file of the workspace stays. */
static int plain_code(struct buf *plain, struct exec_args *args, struct gb_err *err)
{
    enum package_kind kind;
    int r = 0;

    if (!args->is_name_of_workspace && package_kind_of(args->language, &kind) == 0 &&
        kind == PACKAGE_PYTHON)
        r = imports_plain_python(args->code, args->code_len, plain);
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "out of memory");
    if (r > 0) {
        args->code = plain->data;
        args->code_len = plain->len;
    }
    return 0;
}

/* Packages are permitted where any were asked for; elsewhere nothing is installed unasked. */
int exec_packages_settle(struct exec_packages *packages, const struct settings *settings,
                         bool is_auto, struct exec_args *args, struct gb_err *err)
{
    bool is_permitted = is_auto || !package_wishes_are_empty(&packages->wishes);
    int r = 0;

    if (args->source != EXEC_PROGRAM && !args->box && !args->user)
        r = add_code(args, settings, is_auto, is_permitted ? &packages->wishes : &packages->refused,
                     is_permitted ? err : NULL);
    if (!is_permitted)
        r = 0; /* only a note depends on them */
    if (!package_wishes_are_empty(&packages->wishes))
        args->wishes = &packages->wishes;
    if (!package_wishes_are_empty(&packages->refused))
        args->refused = &packages->refused;
    return r < 0 || args->source == EXEC_PROGRAM ? r : plain_code(&packages->plain, args, err);
}

int exec_packages_open(const struct exec_args *args, const struct settings *settings, int cancel_fd,
                       struct exec_lines *lines, struct packages *packages, struct box_spec *spec,
                       struct run_result *result, struct gb_err *err)
{
    const struct packages_watch watch = packages_watch_lines(lines);
    cleanup_with(package_host_clear) struct package_host host = { 0 };
    struct packages_show show;
    struct box_spec box = *spec;
    const struct packages_order order = {
        .wishes = args->wishes,
        .host = &host,
        .box = &box,
        .cancel_fd = cancel_fd,
        .watch = lines           ? &watch
                 : args->is_json ? NULL
                                 : &show.watch,
    };
    int r;

    box.has_network = args->net.mode != NET_NONE; /* pip may have something to wait for */
    package_host_load(settings, environ, &host);
    packages_show_init(&show);
    r = packages_open(&order, packages, &result->packages, err);
    if (r == 0) {
        spec->layers = packages->binds;
        spec->image_id = packages->image_id;
    }
    return r;
}

void exec_packages_note(const struct exec_args *args, struct run_result *result)
{
    const struct package_set *set = args->refused ? &args->refused->sets[PACKAGE_PYTHON] : NULL;

    if (!set || set->n == 0 || args->net.mode != NET_NONE || result->n_steps == 0 ||
        run_result_step(result)->verdict == VERDICT_OK)
        return;
    run_result_add_note(result,
                        "pip in a box installs nothing (%s%s): --auto-packages has installed first "
                        "what the program asks for",
                        set->items[0].name, set->n > 1 ? ", …" : "");
}
