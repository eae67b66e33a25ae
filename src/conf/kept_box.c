/* SPDX-License-Identifier: Apache-2.0 */
/* conf/kept_box.c - boxes that live on, as the settings ask for them. */
#include "conf/kept_box.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/file.h"
#include "box/kept.h"
#include "box/kept_open.h"
#include "conf/box_spec.h"
#include "conf/certificates.h"
#include "conf/package_host.h"
#include "conf/settings.h"
#include "json/value.h"
#include "json/writer.h"
#include "package/wish.h"

#define WISHES_FILE "packages.json"
#define WISHES_MAX  ((size_t)8 << 20)

static bool is_user(const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr("._-@", name[i]))
            return false;
    return len > 0 && len < KEPT_USER_MAX && name[0] != '-' && name[0] != '.';
}

int user_check(const char *name, struct gb_err *err)
{
    if (is_user(name))
        return 0;
    return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                   "'%.80s' is no name: letters, digits and . _ - @, at most %d", name,
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

int box_packages_open(const struct settings *settings, char *const *env,
                      const struct box_packages_order *asked, struct box_packages *ret,
                      struct run_packages **ret_told, struct gb_err *err)
{
    struct box_spec box = settings_box_spec(settings);
    const struct packages_order order = {
        .wishes = asked->wishes,
        .host = &ret->host,
        .box = &box,
        .cancel_fd = asked->cancel_fd,
        .watch = asked->watch,
    };
    int r = settings_check(settings, err);

    if (r < 0)
        return r;
    box.has_network = asked->has_network;
    package_host_load(settings, env, &ret->host);
    return packages_open(&order, &ret->all, ret_told, err);
}

/* What programs of this machine trust, and the variables that lead to it. */
static int find_certificates(const struct box_spec *box, char *const *env, struct certificates *ret,
                             char **ret_variables, struct gb_err *err)
{
    int r = certificates_for(box, env, NULL, ret, err);

    if (r == 0 && ret->env && certificates_text(ret, ret_variables) < 0)
        r = gb_no_memory(err);
    return r;
}

/* ---- what a box was made with ---------------------------------------------------------------- */

static int record_wishes(const struct settings *settings, const struct kept *kept,
                         const struct package_wishes *wishes, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(WISHES_MAX);
    cleanup_close int dir = kept_dir(settings->state_dir, kept, err);
    cleanup_close int fd = -1;
    struct json_writer w;
    int r;

    if (dir < 0)
        return dir;
    json_writer_init(&w, &text, false);
    json_object_begin(&w, NULL);
    r = package_wishes_put(wishes, &w);
    json_object_end(&w);
    if (r == 0)
        r = json_writer_end(&w);
    if (r == 0) {
        fd = openat(dir, WISHES_FILE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        r = fd < 0 ? -errno : fd_write_full(fd, text.data, text.len);
    }
    return r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "writing down a box: %s", strerror(-r)) : 0;
}

int box_wishes(const struct settings *settings, const struct kept *kept, struct package_wishes *ret,
               struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(WISHES_MAX);
    cleanup_json struct json_value *value = NULL;
    cleanup_close int dir = kept_dir(settings->state_dir, kept, err);
    cleanup_close int fd =
        dir < 0 ? -1 : openat(dir, WISHES_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    int r;

    if (dir < 0)
        return dir;
    if (fd < 0 && errno == ENOENT)
        return 0;
    r = fd < 0 ? -errno : file_read(fd, &text);
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "reading what box %s is: %s", kept->id, strerror(-r));
    r = json_value_parse(text.data ? text.data : "", text.len, WISHES_MAX, &value, err);
    return r < 0 ? r : package_wishes_get(value, ret, err);
}

/* Layers stay where they are as long as the box does; which they are is written down beside it. */
static int give_packages(const struct settings *settings, const struct box_wish *wish,
                         const struct kept *kept, struct gb_err *err)
{
    int r = packages_give(&wish->packages->all, &wish->packages->host, kept->id,
                          settings->state_dir, err);

    return r == 0 && wish->wishes ? record_wishes(settings, kept, wish->wishes, err) : r;
}

/* ---- making ---------------------------------------------------------------------------------- */

/* A box that stands, as it is handed over; what cannot be is removed. */
static int take_up(const struct settings *settings, const struct box_wish *wish, const char *id,
                   struct kept *ret, struct gb_err *err)
{
    uint32_t survivors;
    int r = kept_find(settings->state_dir, id, ret, err);

    if (r == 0 && wish->packages)
        r = give_packages(settings, wish, ret, err);
    if (r < 0) {
        memcpy(ret->id, id, ID_SIZE); /* also where its record could not be read */
        (void)kept_remove(settings->state_dir, ret, &survivors, NULL);
    }
    return r;
}

int box_make(const struct settings *settings, const struct box_wish *wish, struct kept *ret,
             struct gb_err *err)
{
    struct box_spec box = settings_box_spec(settings);
    struct denials denials = settings->denials;
    struct kept_spec spec = {
        .state_dir = settings->state_dir,
        .user = wish->user,
        .image = settings->image,
        .workdir = wish->workdir ? wish->workdir : BOX_WORKSPACE,
        .ttl_ms = wish->ttl_ms,
        .net_rules = wish->net,
        .is_unserved = wish->is_unserved,
        .is_filled_later = wish->is_filled_later,
        .net_caps = settings->net_caps,
        .denied_later = { denials_changed, &denials },
    };
    cleanup_with(certificates_clear) struct certificates certificates = { 0 };
    cleanup_free char *variables = NULL;
    char id[ID_SIZE];
    int r = settings_check(settings, err);

    if (r == 0 && (wish->net || wish->is_unserved))
        r = find_certificates(&box, wish->env, &certificates, &variables, err);
    box.certificates = certificates.list;
    spec.variables = variables && *variables ? variables : NULL;
    box.layers = wish->packages ? wish->packages->all.binds : NULL;
    box.image_id = wish->packages ? wish->packages->all.image_id : NULL;
    box.limits = wish->limits ? *wish->limits : box.limits;
    box.workdir = wish->workdir;
    box.ttl_ms = wish->ttl_ms;
    box.shows_groups = true;
    if (r == 0)
        r = kept_open(&box, &spec, wish->ports, wish->n_ports, id, err);
    return r < 0 ? r : take_up(settings, wish, id, ret, err);
}

int box_find_or_make(const struct settings *settings, const struct box_wish *wish, struct kept *ret,
                     struct gb_err *err)
{
    cleanup_close int lock = -1;
    int r = kept_find_user(settings->state_dir, wish->user, ret, err);

    if (r <= 0)
        return r;
    /* Whoever comes second finds the first one's. */
    lock = kept_lock(settings->state_dir, err);
    r = lock < 0 ? lock : kept_find_user(settings->state_dir, wish->user, ret, err);
    return r <= 0 ? r : box_make(settings, wish, ret, err);
}
