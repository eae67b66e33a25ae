/* SPDX-License-Identifier: Apache-2.0 */
/* package/install.c - packages installed in a box of its own, which reaches their index only. */
#include "package/install.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "box/audit.h"
#include "box/box.h"
#include "box/carry.h"
#include "package/diagnosis.h"
#include "package/index.h"
#include "package/install_log.h"
#include "package/installer.h"
#include "package/layer_tree.h"
#include "run/environment.h"
#include "run/verdict.h"
#include "wire/crate.h"

#define NPMRC   "npmrc"
#define CA_NAME "ca.pem"

#define CA_MAX       (8u << 20)
#define REPORT_MAX   (16u << 20)
#define ENV_MAX      24
#define ENV_TEXT_MAX (16u << 10)
#define SAID_MAX     160
#define ARGV_MAX     40

struct installation {
    const struct install_spec *spec;
    struct install_end *end;
    struct box *box;
    struct audit *audit;
    enum package_kind kind;
    const struct installer *how;
    struct install_log log;
    struct buf env_text[ENV_MAX];
    const char *env[ENV_MAX + 1];
    size_t n_env;
};

const char *install_dir(enum package_kind kind)
{
    return installers_of(kind)[0]->dir;
}

/* ---- what the installer says ---------------------------------------------------------------- */

static int on_output(void *user, int stream, const void *bytes, size_t len)
{
    struct installation *in = user;

    install_log_add(&in->log, stream, bytes, len);
    return 0;
}

/* What an installer calls the error: pip's last word, npm's first one behind the code. */
static const char *last_error(const struct buf *log, char ret[static SAID_MAX])
{
    static const struct {
        const char *mark;
        bool is_first;
    } marks[] = { { "ERROR: ", false },  { "npm error ", true }, { "npm ERR! ", true },
                  { " cause: ", false }, { "╰─▶ ", false },      { "error: ", true } };
    const char *said = NULL;

    for (size_t i = 0; log->data && !said && i < N_ELEMENTS(marks); i++) {
        for (const char *at = strstr(log->data, marks[i].mark); at;
             at = strstr(at + 1, marks[i].mark)) {
            const char *words = at + strlen(marks[i].mark);

            if (strncmp(words, "code ", 5) != 0 && !(said && marks[i].is_first))
                said = words;
        }
    }
    if (!said)
        return NULL;
    (void)snprintf(ret, SAID_MAX, "%.*s", (int)strcspn(said, "\n"), said);
    return ret;
}

/* ---- what the installer is told ------------------------------------------------------------- */

static struct buf *next_env(struct installation *in, const char *name)
{
    struct buf *text = &in->env_text[in->n_env];

    text->max = ENV_TEXT_MAX;
    (void)buf_printf(text, "%s=", name);
    return text;
}

static void end_env(struct installation *in)
{
    in->env[in->n_env] = in->env_text[in->n_env].data;
    in->n_env++;
}

static void set_env(struct installation *in, const char *name, const char *value)
{
    (void)buf_puts(next_env(in, name), value);
    end_env(in);
}

static void set_proxy(struct installation *in)
{
    static const char *const names[] = { "HTTPS_PROXY", "HTTP_PROXY" };

    for (size_t i = 0; in->spec->index->proxy.clean && i < N_ELEMENTS(names); i++) {
        (void)index_url_in_box(&in->spec->index->proxy, next_env(in, names[i]));
        end_env(in);
    }
    if (in->spec->index->proxy.clean) {
        (void)index_direct_in_box(in->spec->index, next_env(in, "NO_PROXY"));
        end_env(in);
    }
}

/* Where pip would trust this machine it trusts the name that stands for it. */
static void set_trusted(struct installation *in, const char *name)
{
    const struct package_index *index = in->spec->index;
    struct buf *text = next_env(in, name);

    (void)buf_puts(text, index->trusted_hosts ? index->trusted_hosts : "");
    for (size_t i = 0; i < index->n_urls; i++) {
        cleanup_buf struct buf url = BUF_INIT((size_t)INDEX_URL_MAX * 2);
        const struct index_url *at = &index->urls[i];
        struct index_url inside = { 0 };

        if (!at->is_loopback || strncmp(at->clean, "http://", 7) != 0 ||
            index_url_in_box(at, &url) < 0 || index_url_parse(url.data, &inside, NULL) < 0)
            continue;
        (void)buf_printf(text, " %s:%u", inside.host, inside.port);
        index_url_clear(&inside);
    }
    end_env(in);
}

static void set_indexes(struct installation *in, const char *first, const char *others)
{
    const struct package_index *index = in->spec->index;
    struct buf *text = next_env(in, first);

    (void)index_url_in_box(&index->urls[0], text);
    end_env(in);
    if (index->n_urls < 2)
        return;
    text = next_env(in, others);
    for (size_t i = 1; i < index->n_urls; i++) {
        (void)buf_puts(text, i > 1 ? " " : "");
        (void)index_url_in_box(&index->urls[i], text);
    }
    end_env(in);
}

static void set_pip(struct installation *in)
{
    set_indexes(in, "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL");
    set_trusted(in, "PIP_TRUSTED_HOST");
    if (in->spec->index->ca_file)
        set_env(in, "PIP_CERT", INSTALL_PLACE "/" CA_NAME);
    set_env(in, "PIP_RETRIES", "2");
    set_env(in, "PIP_DEFAULT_TIMEOUT", "20");
    set_env(in, "PIP_DISABLE_PIP_VERSION_CHECK", "1");
}

/* It has certificates of its own, unless it is told that the machine's count; both of its names for
 * that are in use. */
static void set_uv(struct installation *in)
{
    set_indexes(in, "UV_DEFAULT_INDEX", "UV_INDEX");
    set_trusted(in, "UV_INSECURE_HOST");
    if (in->spec->index->ca_file) {
        set_env(in, "SSL_CERT_FILE", INSTALL_PLACE "/" CA_NAME);
    } else if (box_shows_host(in->box)) {
        set_env(in, "UV_NATIVE_TLS", "1");
        set_env(in, "UV_SYSTEM_CERTS", "1");
    }
    /* The best of all indexes, as pip does; with one alone it would not tell of credentials. */
    if (in->spec->index->n_urls > 1)
        set_env(in, "UV_INDEX_STRATEGY", "unsafe-best-match");
    set_env(in, "UV_HTTP_RETRIES", "2");
    set_env(in, "UV_HTTP_TIMEOUT", "20");
    set_env(in, "UV_NO_CONFIG", "1");
    set_env(in, "UV_CACHE_DIR", "/tmp/uv");
    set_env(in, "UV_PYTHON_DOWNLOADS", "never");
}

static void set_npm(struct installation *in)
{
    set_env(in, "npm_config_userconfig", INSTALL_PLACE "/" NPMRC);
    set_env(in, "npm_config_cache", "/tmp/npm");
    set_env(in, "npm_config_fetch_retries", "1");
    set_env(in, "npm_config_fetch_timeout", "30000");
    if (in->spec->index->ca_file)
        set_env(in, "NODE_EXTRA_CA_CERTS", INSTALL_PLACE "/" CA_NAME);
}

static int write_npmrc(const struct package_index *index, struct buf *ret)
{
    (void)buf_puts(ret, "registry=");
    (void)index_url_in_box(&index->urls[0], ret);
    (void)buf_puts(ret, "\n");
    if (index->ca_file)
        (void)buf_puts(ret, "cafile=" INSTALL_PLACE "/" CA_NAME "\n");
    if (index->npm_lines)
        (void)buf_puts(ret, index->npm_lines);
    return buf_error(ret);
}

static int read_ca(const char *path, struct buf *ret, struct gb_err *err)
{
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    int r = fd < 0 ? -errno : file_read(fd, ret);

    return r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "certificates of the index, '%.200s': %s", path,
                           strerror(-r))
                 : 0;
}

static int put_wishes(struct installation *in, struct gb_err *err)
{
    const struct package_index *index = in->spec->index;
    cleanup_buf struct buf wishes = BUF_INIT((size_t)PACKAGES_FILE_MAX * 2);
    cleanup_buf struct buf npmrc = BUF_INIT(64u << 10);
    cleanup_buf struct buf ca = BUF_INIT(CA_MAX);
    struct box_file files[3];
    uint64_t mark;
    size_t n = 0;
    int r = index->ca_file ? read_ca(index->ca_file, &ca, err) : 0;

    if (r < 0)
        return r;
    if (package_set_write(in->spec->set, &wishes) < 0)
        return gb_no_memory(err);
    if (in->kind == PACKAGE_NODE && write_npmrc(index, &npmrc) < 0)
        return gb_no_memory(err);
    if (in->kind == PACKAGE_PYTHON)
        files[n++] = (struct box_file){ INSTALL_PLACE_NAME "/" INSTALL_REQUIREMENTS, 0644,
                                        wishes.data, -1, wishes.len };
    if (npmrc.len)
        files[n++] =
            (struct box_file){ INSTALL_PLACE_NAME "/" NPMRC, 0600, npmrc.data, -1, npmrc.len };
    if (ca.len)
        files[n++] = (struct box_file){ INSTALL_PLACE_NAME "/" CA_NAME, 0644, ca.data, -1, ca.len };
    r = n ? box_put(in->box, INSTALL_PLACE_DIR, files, n, &mark, err) : 0;
    if (r == 0 && in->kind == PACKAGE_NODE) {
        struct box_file json = { "package.json", 0644, wishes.data, -1, wishes.len };

        r = box_put(in->box, in->how->dir, &json, 1, &mark, err);
    }
    return r;
}

/* ---- running -------------------------------------------------------------------------------- */

static int run(struct installation *in, const char *const *argv, const char *const *env,
               struct box_run_end *ret, struct gb_err *err)
{
    struct box_run_spec spec = {
        .argv = argv,
        .cwd = install_dir(in->kind),
        .limits = in->spec->limits,
        .stdin_fd = -1,
        .cancel_fd = in->spec->cancel_fd,
        .output = on_output,
        .user = in,
    };
    const struct run_env_places places = { box_path(in->box), "", "/tmp" };
    struct run_env all;
    int r = run_env_make(&all, &places, NULL, env);

    if (r < 0)
        return gb_no_memory(err);
    spec.env = all.list;
    r = box_run(in->box, &spec, ret, err);
    run_env_clear(&all);
    install_log_end(&in->log);
    return r;
}

static int whole_item(void *user, const struct crate_item *item)
{
    (void)user;
    return item->size > REPORT_MAX ? -EFBIG : 0;
}

static int whole_data(void *user, const uint8_t *bytes, size_t len)
{
    return buf_add(user, bytes, len);
}

static int whole_done(void *user)
{
    (void)user;
    return 0;
}

/* One file of the box, into a buf. */
static const struct crate_ops whole_ops = { whole_item, whole_data, whole_done };

/* pip tells people less than it knows: why a page could not be had stands in its log alone. */
static void take_log(struct installation *in, struct buf *ret)
{
    struct box_get_spec spec = {
        .dir = INSTALL_PLACE,
        .path = INSTALL_PIP_LOG,
        .max_files = 1,
        .max_bytes = REPORT_MAX,
    };

    (void)buf_add(ret, in->log.text.data, in->log.text.len);
    if (in->how == &installer_pip)
        (void)box_get(in->box, &spec, &whole_ops, ret, NULL);
}

/* A limit that decided says more than the installer's last words. */
static const struct package_diagnosis *why_ended(struct installation *in,
                                                 const struct box_run_end *end)
{
    cleanup_buf struct buf all = BUF_INIT((size_t)2 * REPORT_MAX);

    if (end->exec_error)
        return diagnosis_named("no_installer");
    if (end->kill == BOX_KILL_WALL || end->kill == BOX_KILL_CPU)
        return diagnosis_named("timeout");
    if (end->oom_kills)
        return diagnosis_named("memory");
    if (end->disk_free < VERDICT_DISK_FREE_MIN)
        return diagnosis_named("disk_full");
    take_log(in, &all);
    return diagnosis_of(in->kind, all.data, all.len);
}

/* The first host that was asked for and not allowed. */
static const struct audit_entry *refused(const struct audit *audit)
{
    for (size_t i = 0; i < audit->n; i++)
        if (audit->entries[i].answer != NET_YES)
            return &audit->entries[i];
    return NULL;
}

static int tell_failure(struct installation *in, const struct package_diagnosis *why,
                        struct gb_err *err)
{
    const struct audit_entry *other = refused(in->audit);
    bool is_unreachable = strcmp(why->name, "unreachable") == 0;
    char target[AUDIT_TARGET_MAX] = "";
    char said[SAID_MAX];
    const char *words = last_error(&in->log.text, said);

    if (is_unreachable && index_is_offline(in->spec->index))
        why = diagnosis_named("offline");
    if (other && (is_unreachable || strcmp(why->name, "no_such_package") == 0 ||
                  strcmp(why->name, "failed") == 0)) {
        why = diagnosis_named(other->answer == NET_DENIED ? "denied" : "not_allowed");
        words = audit_target(other, target);
    }
    in->end->why = why;
    return gb_fail(err, why->code, GB_BLAME_PEER, "installing packages: %s%s%s%s%s%s", why->text,
                   words ? " (" : "", words ? words : "", words ? ")" : "",
                   why->remedy ? GB_REMEDY : "", why->remedy ? why->remedy : "");
}

/* 0, or why the step cannot be said to have ended. */
static int step_trouble(const struct box_run_end *end, struct gb_err *err)
{
    if (end->kill == BOX_KILL_CANCEL)
        return gb_fail(err, -ECANCELED, GB_BLAME_CALLER, "cancelled while packages were installed");
    if (end->is_lost)
        return gb_fail(err, -EPIPE, GB_BLAME_HOST, "the box that installs packages was lost");
    return 0;
}

static bool has_failed(const struct box_run_end *end)
{
    return !end->has_exited || end->code || end->signo || end->exec_error;
}

/* The first of its kind that the box has; the last one is taken without a look. */
static int choose(struct installation *in, struct gb_err *err)
{
    for (const struct installer *const *at = installers_of(in->kind);; at++) {
        struct box_run_end end = { 0 };
        int r;

        in->how = *at;
        if (!(*at)->probe)
            return 0;
        r = run(in, (*at)->probe, NULL, &end, err);
        if (r == 0)
            r = step_trouble(&end, err);
        if (r < 0 || !has_failed(&end))
            return r;
    }
}

static bool has_hash(const struct package_set *set)
{
    for (size_t i = 0; i < set->n; i++)
        if (strstr(set->items[i].text, "--hash="))
            return true;
    return false;
}

static size_t add_words(const char **argv, size_t n, const char *const *words, bool are_wanted)
{
    for (; are_wanted && words && *words; words++)
        argv[n++] = *words;
    return n;
}

static int set_all(struct installation *in, struct gb_err *err)
{
    set_proxy(in);
    if (in->kind == PACKAGE_NODE)
        set_npm(in);
    else if (in->how == &installer_uv)
        set_uv(in);
    else
        set_pip(in);
    for (size_t i = 0; i < in->n_env; i++)
        if (buf_error(&in->env_text[i]) < 0)
            return gb_no_memory(err);
    return 0;
}

/* What decided, if the host did not, is not known where nobody could count. */
static int tell_uncounted(const struct box_run_end *end, struct gb_err *err)
{
    return gb_fail(err, -end->count_error, GB_BLAME_HOST,
                   "why installing packages failed is not known: a counter of its group could not "
                   "be read: %s",
                   strerror(end->count_error));
}

/* A step without which nothing is installed: what went wrong in it. */
static int step_end(struct installation *in, const struct box_run_end *end, struct gb_err *err)
{
    int r = step_trouble(end, err);

    if (r < 0 || !has_failed(end))
        return r;
    if (end->count_error && end->kill == BOX_KILL_NONE && !end->exec_error)
        return tell_uncounted(end, err);
    return tell_failure(in, why_ended(in, end), err);
}

static int run_installer(struct installation *in, struct gb_err *err)
{
    const char *argv[ARGV_MAX];
    struct box_run_end end = { 0 };
    size_t n = add_words(argv, 0, in->how->install, true);
    int r;

    n = add_words(argv, n, in->how->guard, index_is_guarded(in->spec->index));
    n = add_words(argv, n, in->how->hashes, has_hash(in->spec->set));
    argv[n] = NULL;
    r = set_all(in, err);
    if (r == 0)
        r = run(in, argv, in->env, &end, err);
    return r < 0 ? r : step_end(in, &end, err);
}

/* What an installer cannot tell by itself. */
static int run_tell(struct installation *in, struct gb_err *err)
{
    const char *argv[ARGV_MAX];
    struct box_run_end end = { 0 };
    size_t n;
    int r;

    if (!in->how->tell)
        return 0;
    n = add_words(argv, 0, in->how->tell, true);
    n = add_words(argv, n, in->how->guard, index_is_guarded(in->spec->index));
    argv[n] = NULL;
    r = run(in, argv, in->env, &end, err);
    return r < 0 ? r : step_end(in, &end, err);
}

/* Compiled code saves time and is not needed: how this step ends decides nothing, unless it filled
 * the disk. */
static int run_finish(struct installation *in, struct gb_err *err)
{
    struct box_run_end end = { 0 };
    int r = run(in, in->how->finish, NULL, &end, err);

    if (r == 0)
        r = step_trouble(&end, err);
    if (r < 0)
        return r;
    if (!end.count_error && end.disk_free < VERDICT_DISK_FREE_MIN)
        return tell_failure(in, diagnosis_named("disk_full"), err);
    return 0;
}

/* ---- what it made --------------------------------------------------------------------------- */

static int take_report(struct installation *in, struct manifest *manifest, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(REPORT_MAX);
    struct box_get_spec spec = {
        .dir = in->how->report_dir,
        .path = in->how->report,
        .max_files = 1,
        .max_bytes = REPORT_MAX,
    };
    int r = box_get(in->box, &spec, &whole_ops, &text, err);

    if (r == 0)
        r = manifest_take_report(in->kind, text.data ? text.data : "", text.len, manifest, err);
    return r < 0 ? gb_wrap(err, r, "what %s installed", in->how->name) : 0;
}

static int install_in_box(struct installation *in, struct manifest *manifest, struct gb_err *err)
{
    struct layer_tree_take take = {
        .box = in->box,
        .dir = install_dir(in->kind),
        .tree_fd = in->spec->tree_fd,
        .max_bytes = in->spec->limits.disk_bytes,
        .index = in->spec->index,
    };
    int r = choose(in, err);

    if (r == 0)
        r = put_wishes(in, err);
    if (r == 0)
        r = run_installer(in, err);
    if (r == 0)
        r = run_tell(in, err);
    if (r == 0)
        r = run_finish(in, err);
    if (r == 0)
        r = take_report(in, manifest, err);
    return r < 0 ? r : layer_tree_take(&take, err);
}

static int install_with(struct installation *in, struct manifest *manifest, struct gb_err *err)
{
    struct net_policy policy = { 0 };
    struct carry_spec net = {
        .policy = &policy,
        .caps.denied = in->spec->denied,
        .note = audit_note,
        .user = in->audit,
    };
    struct box_spec box = *in->spec->box;
    int r = index_policy(in->spec->index, in->spec->hosts, &policy, err);

    box.limits = in->spec->limits;
    box.workdir = install_dir(in->kind);
    box.layers = NULL;
    box.seed = NULL;
    box.cancel_fd = in->spec->cancel_fd;
    box.has_network = false;
    box.ports = NULL;
    box.net = &net;
    /* The second line behind a caller who is stuck. */
    box.ttl_ms = 4 * box.limits.wall_ms;
    if (r == 0)
        r = box_open(&box, &in->box, err);
    if (r == 0) {
        r = install_in_box(in, manifest, err);
        (void)box_close(in->box);
    }
    net_policy_clear(&policy);
    return r;
}

static void clear(struct installation *in)
{
    install_log_clear(&in->log);
    for (size_t i = 0; i < in->n_env; i++) {
        if (in->env_text[i].data)
            explicit_bzero(in->env_text[i].data, in->env_text[i].len);
        buf_clear(&in->env_text[i]);
    }
}

int install_run(const struct install_spec *spec, struct manifest *manifest, struct install_end *ret,
                struct gb_err *err)
{
    cleanup_free struct installation *in = calloc(1, sizeof(*in));
    cleanup_free struct audit *audit = calloc(1, sizeof(*audit));
    int r;

    if (!in || !audit)
        return gb_no_memory(err);
    *in =
        (struct installation){ .spec = spec, .end = ret, .audit = audit, .kind = spec->set->kind };
    install_log_init(&in->log, spec->index);
    in->log.line = spec->line;
    in->log.user = spec->user;
    r = install_with(in, manifest, err);
    if (r < 0)
        ret->log = buf_take(&in->log.text);
    clear(in);
    return r;
}
