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
#include "package/layer_tree.h"
#include "run/environment.h"
#include "run/verdict.h"
#include "wire/crate.h"

/* Names in the box. */
#define PLACE_DIR    "/tmp"
#define PLACE_NAME   "glovebox-packages"
#define PLACE        PLACE_DIR "/" PLACE_NAME
#define REQUIREMENTS "requirements.txt"
#define NPMRC        "npmrc"
#define CA_NAME      "ca.pem"
#define REPORT       "report.json"
#define PIP_LOG      "pip.log"

#define CA_MAX       (8u << 20)
#define REPORT_MAX   (16u << 20)
#define ENV_MAX      24
#define ENV_TEXT_MAX (16u << 10)
#define SAID_MAX     160

#define STRS(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* Programs of the packages find each other without links, which a layer has none of: each gets a
 * small script of the name that npm would have linked. */
static const char node_programs[] =
    "const fs = require('fs'), path = require('path'), [dir] = process.argv.slice(1);\n"
    "const root = dir + '/node_modules', out = dir + '/bin';\n"
    "const wanted = JSON.parse(fs.readFileSync(dir + '/package.json')).dependencies;\n"
    "for (const name of Object.keys(wanted)) {\n"
    "  const home = path.join(root, name);\n"
    "  const { bin } = JSON.parse(fs.readFileSync(path.join(home, 'package.json')));\n"
    "  const list = typeof bin === 'string' ? { [name.split('/').pop()]: bin } : bin || {};\n"
    "  for (const [program, file] of Object.entries(list)) {\n"
    "    const target = path.join(home, file);\n"
    "    if (!/^[\\w.-]+$/.test(program) || !/^[\\w@.\\/-]+$/.test(target)) continue;\n"
    "    fs.mkdirSync(out, { recursive: true });\n"
    "    fs.writeFileSync(path.join(out, program), `#!/bin/sh\\nexec node '${target}' \"$@\"\\n`,\n"
    "      { mode: 0o755 });\n"
    "  }\n"
    "}\n";

/* The two steps of a kind: the installer, which knows the index, and what comes behind it, which
 * does not. */
static const struct {
    const char *name; /* of the installer, for people */
    const char *dir;
    const char *report_dir;
    const char *report;
    const char *const *install;
    const char *const *guard; /* options that keep code of packages from being run; behind it */
    const char *const *finish;
} kinds[] = {
    [PACKAGE_PYTHON] = {
        .name = "pip",
        .dir = INSTALL_PYTHON_DIR,
        .report_dir = PLACE,
        .report = REPORT,
        /* Isolated: what is being installed is not imported by pip.  Compiled afterwards, so that
         * what is compiled holds without the times of files, which do not travel. */
        .install = STRS("python3", "-I", "-m", "pip", "install", "--no-input", "--no-cache-dir",
                        "--no-compile", "--no-warn-script-location", "--progress-bar", "off",
                        "--target", INSTALL_PYTHON_DIR, "--report", PLACE "/" REPORT, "--log", PLACE "/" PIP_LOG, "-r",
                        PLACE "/" REQUIREMENTS),
        .guard = STRS("--only-binary", ":all:"),
        .finish = STRS("python3", "-I", "-m", "compileall", "-q", "-j", "2", "--invalidation-mode",
                       "unchecked-hash", INSTALL_PYTHON_DIR),
    },
    [PACKAGE_NODE] = {
        .name = "npm",
        .dir = INSTALL_NODE_DIR,
        .report_dir = INSTALL_NODE_DIR,
        .report = "package-lock.json",
        .install = STRS("npm", "install", "--prefix", INSTALL_NODE_DIR, "--no-audit", "--no-fund",
                        "--no-update-notifier", "--no-bin-links", "--omit=dev", "--no-progress",
                        "--loglevel=http"),
        .guard = STRS("--ignore-scripts"),
        .finish = STRS("node", "-e", node_programs, "--", INSTALL_NODE_DIR),
    },
};

struct installation {
    const struct install_spec *spec;
    struct install_end *end;
    struct box *box;
    struct audit *audit;
    enum package_kind kind;
    struct install_log log;
    struct buf env_text[ENV_MAX];
    const char *env[ENV_MAX + 1];
    size_t n_env;
};

const char *install_dir(enum package_kind kind)
{
    return kinds[kind].dir;
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
    } marks[] = { { "ERROR: ", false }, { "npm error ", true }, { "npm ERR! ", true } };
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
static void set_trusted(struct installation *in)
{
    const struct package_index *index = in->spec->index;
    struct buf *text = next_env(in, "PIP_TRUSTED_HOST");

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

static void set_pip(struct installation *in)
{
    const struct package_index *index = in->spec->index;
    struct buf *text = next_env(in, "PIP_INDEX_URL");

    (void)index_url_in_box(&index->urls[0], text);
    end_env(in);
    text = next_env(in, "PIP_EXTRA_INDEX_URL");
    for (size_t i = 1; i < index->n_urls; i++) {
        (void)buf_puts(text, i > 1 ? " " : "");
        (void)index_url_in_box(&index->urls[i], text);
    }
    end_env(in);
    set_trusted(in);
    if (index->ca_file)
        set_env(in, "PIP_CERT", PLACE "/" CA_NAME);
    set_env(in, "PIP_RETRIES", "2");
    set_env(in, "PIP_DEFAULT_TIMEOUT", "20");
    set_env(in, "PIP_DISABLE_PIP_VERSION_CHECK", "1");
}

static void set_npm(struct installation *in)
{
    set_env(in, "npm_config_userconfig", PLACE "/" NPMRC);
    set_env(in, "npm_config_cache", "/tmp/npm");
    set_env(in, "npm_config_fetch_retries", "1");
    set_env(in, "npm_config_fetch_timeout", "30000");
    if (in->spec->index->ca_file)
        set_env(in, "NODE_EXTRA_CA_CERTS", PLACE "/" CA_NAME);
}

static int write_npmrc(const struct package_index *index, struct buf *ret)
{
    (void)buf_puts(ret, "registry=");
    (void)index_url_in_box(&index->urls[0], ret);
    (void)buf_puts(ret, "\n");
    if (index->ca_file)
        (void)buf_puts(ret, "cafile=" PLACE "/" CA_NAME "\n");
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
        files[n++] =
            (struct box_file){ PLACE_NAME "/" REQUIREMENTS, 0644, wishes.data, -1, wishes.len };
    if (npmrc.len)
        files[n++] = (struct box_file){ PLACE_NAME "/" NPMRC, 0600, npmrc.data, -1, npmrc.len };
    if (ca.len)
        files[n++] = (struct box_file){ PLACE_NAME "/" CA_NAME, 0644, ca.data, -1, ca.len };
    r = n ? box_put(in->box, PLACE_DIR, files, n, &mark, err) : 0;
    if (r == 0 && in->kind == PACKAGE_NODE) {
        struct box_file json = { "package.json", 0644, wishes.data, -1, wishes.len };

        r = box_put(in->box, kinds[in->kind].dir, &json, 1, &mark, err);
    }
    return r;
}

/* ---- running -------------------------------------------------------------------------------- */

static int run(struct installation *in, const char *const *argv, const char *const *env,
               struct box_run_end *ret, struct gb_err *err)
{
    struct box_run_spec spec = {
        .argv = argv,
        .cwd = kinds[in->kind].dir,
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
        .dir = PLACE,
        .path = PIP_LOG,
        .max_files = 1,
        .max_bytes = REPORT_MAX,
    };

    (void)buf_add(ret, in->log.text.data, in->log.text.len);
    if (in->kind == PACKAGE_PYTHON)
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
    char target[AUDIT_TARGET_MAX] = "";
    char said[SAID_MAX];
    const char *words = last_error(&in->log.text, said);

    if (other && (strcmp(why->name, "unreachable") == 0 ||
                  strcmp(why->name, "no_such_package") == 0 || strcmp(why->name, "failed") == 0)) {
        why = diagnosis_named("not_allowed");
        words = audit_target(other, target);
    }
    in->end->why = why;
    return gb_fail(err, why->code, GB_BLAME_PEER, "installing packages: %s%s%s%s%s%s", why->text,
                   words ? " (" : "", words ? words : "", words ? ")" : "",
                   why->remedy ? GB_REMEDY : "", why->remedy ? why->remedy : "");
}

static int run_installer(struct installation *in, struct gb_err *err)
{
    const char *argv[40];
    struct box_run_end end = { 0 };
    size_t n = 0;
    int r;

    for (const char *const *at = kinds[in->kind].install; *at; at++)
        argv[n++] = *at;
    for (const char *const *at = kinds[in->kind].guard; index_is_guarded(in->spec->index) && *at;
         at++)
        argv[n++] = *at;
    argv[n] = NULL;
    set_proxy(in);
    if (in->kind == PACKAGE_PYTHON)
        set_pip(in);
    else
        set_npm(in);
    for (size_t i = 0; i < in->n_env; i++)
        if (buf_error(&in->env_text[i]) < 0)
            return gb_no_memory(err);
    r = run(in, argv, in->env, &end, err);
    if (r < 0)
        return r;
    if (end.kill == BOX_KILL_CANCEL)
        return gb_fail(err, -ECANCELED, GB_BLAME_CALLER, "cancelled while packages were installed");
    if (end.is_lost)
        return gb_fail(err, -EPIPE, GB_BLAME_HOST, "the box that installs packages was lost");
    if (!end.has_exited || end.code || end.signo || end.exec_error)
        return tell_failure(in, why_ended(in, &end), err);
    return 0;
}

/* Compiled code saves time and is not needed: how this step ends decides nothing, unless it filled
 * the disk. */
static int run_finish(struct installation *in, struct gb_err *err)
{
    struct box_run_end end = { 0 };
    int r = run(in, kinds[in->kind].finish, NULL, &end, err);

    if (r < 0)
        return r;
    if (end.kill == BOX_KILL_CANCEL)
        return gb_fail(err, -ECANCELED, GB_BLAME_CALLER, "cancelled while packages were installed");
    if (end.is_lost)
        return gb_fail(err, -EPIPE, GB_BLAME_HOST, "the box that installs packages was lost");
    if (end.disk_free < VERDICT_DISK_FREE_MIN)
        return tell_failure(in, diagnosis_named("disk_full"), err);
    return 0;
}

/* ---- what it made --------------------------------------------------------------------------- */

static int take_report(struct installation *in, struct manifest *manifest, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(REPORT_MAX);
    struct box_get_spec spec = {
        .dir = kinds[in->kind].report_dir,
        .path = kinds[in->kind].report,
        .max_files = 1,
        .max_bytes = REPORT_MAX,
    };
    int r = box_get(in->box, &spec, &whole_ops, &text, err);

    if (r == 0)
        r = manifest_take_report(in->kind, text.data ? text.data : "", text.len, manifest, err);
    return r < 0 ? gb_wrap(err, r, "what %s installed", kinds[in->kind].name) : 0;
}

static int install_in_box(struct installation *in, struct manifest *manifest, struct gb_err *err)
{
    struct layer_tree_take take = {
        .box = in->box,
        .dir = kinds[in->kind].dir,
        .tree_fd = in->spec->tree_fd,
        .max_bytes = in->spec->limits.disk_bytes,
        .index = in->spec->index,
    };
    int r = put_wishes(in, err);

    if (r == 0)
        r = run_installer(in, err);
    if (r == 0)
        r = run_finish(in, err);
    if (r == 0)
        r = take_report(in, manifest, err);
    return r < 0 ? r : layer_tree_take(&take, err);
}

static int install_with(struct installation *in, struct manifest *manifest, struct gb_err *err)
{
    struct net_policy policy = { 0 };
    struct carry_spec net = { .policy = &policy, .note = audit_note, .user = in->audit };
    struct box_spec box = *in->spec->box;
    int r = index_policy(in->spec->index, in->spec->hosts, &policy, err);

    box.limits = in->spec->limits;
    box.workdir = kinds[in->kind].dir;
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
