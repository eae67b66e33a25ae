/* SPDX-License-Identifier: Apache-2.0 */
/* tool/environment.c - an environment: a box that lives on, and its workspace. */
#include "tool/environment.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/file.h"
#include "box/kept_open.h"
#include "json/bind.h"
#include "json/writer.h"
#include "tool/tool.h"
#include "tool/tree.h"

#define RECORD_FILE "environment.json"
#define RECORD_MAX  (32 << 20)

#define AT(field) offsetof(struct environment, field)
static const struct bind_field record_fields[] = {
    { "workspace", BIND_STR, AT(workspace), BIND_REQUIRED },
    { "variables", BIND_PAIRS, AT(variables), BIND_REQUIRED },
    { 0 },
};
static const struct bind record_bind = { .fields = record_fields, .text_max = RECORD_MAX };

void environment_clear(struct environment *environment)
{
    bind_clear(&record_bind, environment);
    kept_clear(&environment->kept);
}

/* ---- the record ----------------------------------------------------------------------------- */

static int record_text(const char *workspace, char *const *variables, struct buf *ret)
{
    struct json_writer w;

    json_writer_init(&w, ret, false);
    json_object_begin(&w, NULL);
    json_put_str(&w, "workspace", workspace);
    json_object_begin(&w, "variables");
    for (char *const *at = variables; at && at[0]; at += 2)
        json_put_str(&w, at[0], at[1]);
    json_object_end(&w);
    json_object_end(&w);
    return json_writer_end(&w);
}

static int record_write(int dir, const char *workspace, char *const *variables, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(RECORD_MAX);
    cleanup_close int fd = -1;
    int r = record_text(workspace, variables, &text);

    if (r == 0) {
        fd = openat(dir, RECORD_FILE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        r = fd < 0 ? -errno : fd_write_full(fd, text.data, text.len);
    }
    return r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "writing down an environment: %s", strerror(-r))
                 : 0;
}

static int record_read(int dir, struct environment *ret, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(RECORD_MAX);
    cleanup_close int fd = openat(dir, RECORD_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    int r = fd < 0 ? -errno : file_read(fd, &text);

    if (r == -ENOENT)
        return gb_fail(err, r, GB_BLAME_CALLER,
                       "box %s was not made by create_runtime_env: it is no environment" GB_REMEDY
                       "create_runtime_env makes one",
                       ret->kept.id);
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "reading what environment %s is: %s", ret->kept.id,
                       strerror(-r));
    r = bind_text(&record_bind, text.data, text.len, ret, err);
    return r < 0 ? gb_wrap(err, r, "reading what environment %s is", ret->kept.id) : 0;
}

/* ---- life ----------------------------------------------------------------------------------- */

/* Those of this machine's certificates, where the box shows them. */
static const char *variables_of(const struct tool_host *host, const struct environment_spec *spec)
{
    const struct box_ops *ops = spec->net_rules ? box_backend(spec->box->backend, NULL) : NULL;

    return ops && ops->shows_host && host->variables && *host->variables ? host->variables : NULL;
}

static int make_box(const struct tool_host *host, const struct environment_spec *spec,
                    const char *workspace, struct environment *ret, struct gb_err *err)
{
    const struct kept_spec kept = {
        .state_dir = host->state_dir,
        .image = spec->box->image,
        .workdir = BOX_WORKSPACE,
        .ttl_ms = spec->ttl_ms,
        .net_rules = spec->net_rules,
        .net_caps = host->net_caps,
        .denied_later = host->denied_later,
        .variables = variables_of(host, spec),
    };
    cleanup_close int dir = -1;
    uint32_t survivors;
    char id[ID_SIZE];
    int r = kept_open(spec->box, &kept, spec->ports, spec->n_ports, id, err);

    if (r == 0)
        r = kept_find(host->state_dir, id, &ret->kept, err);
    if (r < 0)
        return r;
    dir = kept_dir(host->state_dir, &ret->kept, err);
    r = dir < 0 ? dir : record_write(dir, workspace, spec->variables, err);
    if (r == 0)
        r = record_read(dir, ret, err);
    if (r < 0)
        (void)kept_remove(host->state_dir, &ret->kept, &survivors, NULL);
    return r;
}

int environment_make(const struct tool_host *host, const struct environment_spec *spec,
                     struct environment *ret, struct gb_err *err)
{
    char workspace[PATH_MAX];
    int r = tree_make(host->temp_dir, ENVIRONMENT_PREFIX, workspace, err);

    if (r < 0)
        return r;
    r = make_box(host, spec, workspace, ret, err);
    if (r < 0)
        (void)rmdir(workspace);
    return r;
}

static int no_environment(const char *id, struct gb_err *err)
{
    return gb_fail(err, -ENOENT, GB_BLAME_CALLER,
                   "there is no environment '%.80s'" GB_REMEDY
                   "create_runtime_env makes one; it ends with cleanup_env or its time to live",
                   id);
}

/* Only whole ids: a model that cuts one short would get another's. */
int environment_find(const struct tool_host *host, const char *id, struct environment *ret,
                     struct gb_err *err)
{
    cleanup_close int dir = -1;
    int r;

    if (!id_is_valid('b', id))
        return no_environment(id, err);
    r = kept_find(host->state_dir, id, &ret->kept, err);
    if (r == -ENOENT)
        return no_environment(id, err);
    if (r < 0)
        return r;
    dir = kept_dir(host->state_dir, &ret->kept, err);
    return dir < 0 ? dir : record_read(dir, ret, err);
}

int environment_remove(const struct tool_host *host, const struct environment *environment,
                       bool is_all, struct gb_err *err)
{
    uint32_t survivors = 0;
    int r = kept_remove(host->state_dir, &environment->kept, &survivors, err);

    if (r < 0)
        return r;
    if (is_all)
        tree_remove(environment->workspace);
    else
        (void)rmdir(environment->workspace); /* stays when there is something in it */
    if (survivors)
        return gb_fail(err, -EBUSY, GB_BLAME_HOST,
                       "environment %s: %" PRIu32 " processes outlived it", environment->kept.id,
                       survivors);
    return 0;
}
