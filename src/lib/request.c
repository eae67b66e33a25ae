/* SPDX-License-Identifier: Apache-2.0 */
/* lib/request.c - a request: what is to run and what it gets, copied and checked as it is said. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "json/utf8.h"
#include "lib/inside.h"
#include "run/environment.h"
#include "run/language.h"

/* ---- life ----------------------------------------------------------------------------------- */

int glovebox_request_new(struct glovebox_request **ret, struct glovebox_error *error)
{
    struct glovebox_request *request = calloc(1, sizeof(*request));
    struct gb_err err = { 0 };

    if (!request)
        return lib_told(gb_no_memory(&err), &err, error);
    request->stdin_fd = -1;
    request->cancel_fd = -1;
    package_wishes_init(&request->packages.wishes);
    *ret = request;
    return lib_told(0, &err, error);
}

static void file_clear(struct request_file *file)
{
    free(file->path);
    free(file->bytes);
    free(file->host);
}

void glovebox_request_free(struct glovebox_request *request)
{
    if (!request)
        return;
    for (size_t i = 0; i < request->n_files; i++)
        file_clear(&request->files[i]);
    for (size_t i = 0; i < request->n_outs; i++) {
        free(request->outs[i].path);
        free(request->outs[i].host);
    }
    free(request->files);
    free(request->outs);
    free(request->code);
    free(request->name);
    texts_clear(&request->args);
    texts_clear(&request->env);
    free(request->workdir);
    free(request->workspace);
    net_policy_clear(&request->net);
    package_wishes_clear(&request->packages.wishes);
    free(request->input);
    free(request);
}

/* ---- checks --------------------------------------------------------------------------------- */

int lib_check_path(const char *path, struct gb_err *err)
{
    if ((path_is_below(path) || (path_is_clean_absolute(path) && path[1])) &&
        utf8_is_valid(path, strlen(path)))
        return 0;
    return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                   "'%.200s' is no path in a box: UTF-8, without '.', '..' and a slash at the end",
                   path);
}

int lib_check_workdir(const char *dir, struct gb_err *err)
{
    if (path_is_clean_absolute(dir) && dir[1] && utf8_is_valid(dir, strlen(dir)))
        return 0;
    return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                   "working directory: '%.200s' is no absolute path without '.' and '..'", dir);
}

/* A copy with a NUL behind it, so that an empty one is not NULL. */
static char *copy_bytes(const void *bytes, size_t len)
{
    char *copy = len < SIZE_MAX ? malloc(len + 1) : NULL;

    if (!copy)
        return NULL;
    if (len > 0)
        memcpy(copy, bytes, len);
    copy[len] = '\0';
    return copy;
}

/* Puts a copy of a text, or NULL, in the place of what was there. */
static int replace(char **place, const char *text, struct gb_err *err)
{
    char *copy = text ? strdup(text) : NULL;

    if (text && !copy)
        return gb_no_memory(err);
    free(*place);
    *place = copy;
    return 0;
}

/* ---- code and programs ---------------------------------------------------------------------- */

static int unknown_language(const char *what, const char *name, struct gb_err *err)
{
    cleanup_buf struct buf names = BUF_INIT(1024);

    for (size_t i = 0; language_at(i); i++)
        (void)buf_printf(&names, "%s%s", i ? ", " : "", language_at(i)->name);
    return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "%s%.80s" GB_REMEDY "name one of %s", what, name,
                   names.data ? names.data : "");
}

static int find_language(const char *language, const char *name, const void *code, size_t len,
                         const struct language **ret, struct gb_err *err)
{
    if (language) {
        *ret = language_by_name(language);
        return *ret ? 0 : unknown_language("unknown language ", language, err);
    }
    *ret = name ? language_by_path(name) : NULL;
    if (!*ret)
        *ret = language_by_shebang(code, len);
    return *ret
               ? 0
               : unknown_language("the language of the code is not known: ", name ? name : "", err);
}

static int set_code(struct glovebox_request *request, const char *language, const char *name,
                    const void *code, size_t len, struct gb_err *err)
{
    const struct language *found = NULL;
    cleanup_free char *copy = NULL;
    int r;

    if (len > REQUEST_CODE_MAX)
        return gb_fail(err, -EFBIG, GB_BLAME_CALLER, "code may have at most 64 MiB");
    if (name && (!path_is_below(name) || !utf8_is_valid(name, strlen(name))))
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "'%.200s' is no name of a file below the working directory", name);
    r = find_language(language, name, code, len, &found, err);
    if (r < 0)
        return r;
    copy = copy_bytes(code, len);
    if (!copy)
        return gb_no_memory(err);
    r = replace(&request->name, name, err);
    if (r < 0)
        return r;
    if (!request->language)
        texts_clear(&request->args); /* they were a program */
    free(request->code);
    request->code = take_ptr(copy);
    request->code_len = len;
    request->language = found;
    return 0;
}

int glovebox_request_code(struct glovebox_request *request, const char *language, const char *name,
                          const void *code, size_t len, struct glovebox_error *error)
{
    struct gb_err err = { 0 };

    return lib_told(set_code(request, language, name, code, len, &err), &err, error);
}

static int too_long(struct gb_err *err)
{
    return gb_fail(
        err, -E2BIG, GB_BLAME_CALLER,
        "arguments and variables are too long: 56 KiB and %d of them are allowed" GB_REMEDY
        "hand over more as a file or on stdin",
        REQUEST_TEXTS_MAX);
}

/* What arguments and variables take of their frame, NULL-terminated lists. */
static int measure(const char *const *texts, size_t *bytes, struct gb_err *err)
{
    for (size_t n = 0; texts && texts[n]; n++) {
        *bytes += strlen(texts[n]) + 8;
        if (n >= REQUEST_TEXTS_MAX || *bytes > REQUEST_BYTES_MAX)
            return too_long(err);
    }
    return 0;
}

static int set_args(struct glovebox_request *request, const char *const *args, struct gb_err *err)
{
    size_t bytes = request->env_bytes;
    int r = measure(args, &bytes, err);

    return r < 0 ? r : texts_copy(&request->args, args, err);
}

static int set_program(struct glovebox_request *request, const char *const *argv,
                       struct gb_err *err)
{
    int r;

    if (!argv || !argv[0] || !*argv[0])
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "the program has no name");
    r = set_args(request, argv, err);
    if (r < 0)
        return r;
    request->language = NULL;
    free(request->code);
    request->code = NULL;
    request->code_len = 0;
    return 0;
}

int glovebox_request_program(struct glovebox_request *request, const char *const *argv,
                             struct glovebox_error *error)
{
    struct gb_err err = { 0 };

    return lib_told(set_program(request, argv, &err), &err, error);
}

int glovebox_request_args(struct glovebox_request *request, const char *const *args,
                          struct glovebox_error *error)
{
    struct gb_err err = { 0 };
    int r = request->language
                ? set_args(request, args, &err)
                : gb_fail(&err, -EINVAL, GB_BLAME_CALLER,
                          "arguments without code" GB_REMEDY
                          "say the code first; those of a program come with its name");

    return lib_told(r, &err, error);
}

int glovebox_request_net(struct glovebox_request *request, const char *rules,
                         struct glovebox_error *error)
{
    struct net_policy said = { 0 };
    struct gb_err err = { 0 };
    int r = rules ? net_policy_parse(rules, &said, &err) : 0;

    if (r < 0) {
        net_policy_clear(&said);
        return lib_told(r, &err, error);
    }
    net_policy_clear(&request->net);
    request->net = said;
    return 0;
}

int glovebox_request_packages(struct glovebox_request *request,
                              const struct glovebox_packages *packages,
                              struct glovebox_error *error)
{
    struct gb_err err = { 0 };

    return lib_told(lib_packages_copy(&request->packages, packages, &err), &err, error);
}

static int add_env(struct glovebox_request *request, const char *name, const char *value,
                   struct gb_err *err)
{
    size_t bytes = request->env_bytes + strlen(name) + 1 + strlen(value) + 8;
    size_t whole = bytes;
    char *line = NULL;
    int r;

    if (!run_env_is_name(name))
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "'%.100s' is no name of a variable: letters, digits and _ make one", name);
    r = measure((const char *const *)request->args.items, &whole, err);
    if (r < 0 || whole > REQUEST_BYTES_MAX || request->env.n >= REQUEST_TEXTS_MAX)
        return r < 0 ? r : too_long(err);
    if (asprintf(&line, "%s=%s", name, value) < 0)
        return gb_no_memory(err);
    r = texts_add(&request->env, line, err);
    if (r == 0)
        request->env_bytes = bytes;
    return r;
}

int glovebox_request_env(struct glovebox_request *request, const char *name, const char *value,
                         struct glovebox_error *error)
{
    struct gb_err err = { 0 };

    return lib_told(add_env(request, name, value, &err), &err, error);
}

/* ---- limits and places ---------------------------------------------------------------------- */

static const size_t limit_fields[] = {
    [GLOVEBOX_LIMIT_WALL_MS] = offsetof(struct limits, wall_ms),
    [GLOVEBOX_LIMIT_CPU_MS] = offsetof(struct limits, cpu_ms),
    [GLOVEBOX_LIMIT_MEMORY_BYTES] = offsetof(struct limits, memory_bytes),
    [GLOVEBOX_LIMIT_CPU_MILLI] = offsetof(struct limits, cpu_milli),
    [GLOVEBOX_LIMIT_PIDS] = offsetof(struct limits, pids),
    [GLOVEBOX_LIMIT_DISK_BYTES] = offsetof(struct limits, disk_bytes),
    [GLOVEBOX_LIMIT_INODES] = offsetof(struct limits, inodes),
    [GLOVEBOX_LIMIT_OUTPUT_KEEP_BYTES] = offsetof(struct limits, output_keep),
    [GLOVEBOX_LIMIT_OUTPUT_MAX_BYTES] = offsetof(struct limits, output_max),
};

static int set_limit(struct glovebox_request *request, enum glovebox_limit limit, uint64_t value,
                     struct gb_err *err)
{
    struct limits said = request->said;
    struct limits one = { 0 };
    struct limits whole;
    int r;

    if ((size_t)limit >= N_ELEMENTS(limit_fields))
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "there is no limit of the number %d",
                       (int)limit);
    if (value == 0)
        return gb_fail(err, -ERANGE, GB_BLAME_CALLER, "a limit of 0 is none");
    memcpy((char *)&one + limit_fields[limit], &value, sizeof(value));
    whole = limits_or(one, limits_default());
    /* Not more is kept than is written; which of the two is said first does not matter. */
    if (limit == GLOVEBOX_LIMIT_OUTPUT_KEEP_BYTES && whole.output_max < value)
        whole.output_max = value;
    r = limits_check(&whole, err);
    if (r < 0)
        return r;
    memcpy((char *)&said + limit_fields[limit], &value, sizeof(value));
    request->said = said;
    return 0;
}

int glovebox_request_limit(struct glovebox_request *request, enum glovebox_limit limit,
                           uint64_t value, struct glovebox_error *error)
{
    struct gb_err err = { 0 };

    return lib_told(set_limit(request, limit, value, &err), &err, error);
}

int glovebox_request_workdir(struct glovebox_request *request, const char *dir,
                             struct glovebox_error *error)
{
    struct gb_err err = { 0 };
    int r = dir ? lib_check_workdir(dir, &err) : 0;

    if (r == 0)
        r = replace(&request->workdir, dir, &err);
    return lib_told(r, &err, error);
}

int glovebox_request_workspace(struct glovebox_request *request, const char *host_dir,
                               struct glovebox_error *error)
{
    struct gb_err err = { 0 };

    return lib_told(replace(&request->workspace, host_dir, &err), &err, error);
}

/* ---- files ---------------------------------------------------------------------------------- */

/* Takes the file over in any case. */
static int add_file(struct glovebox_request *request, struct request_file *file, struct gb_err *err)
{
    struct request_file *grown = NULL;
    int r = file->path && (file->bytes || file->host) ? 0 : gb_no_memory(err);

    if (r == 0 && request->n_files == REQUEST_FILES_MAX)
        r = gb_fail(err, -E2BIG, GB_BLAME_CALLER, "more than %d files", REQUEST_FILES_MAX);
    if (r == 0) {
        grown = reallocarray(request->files, request->n_files + 1, sizeof(*grown));
        r = grown ? 0 : gb_no_memory(err);
    }
    if (!grown) {
        file_clear(file);
        return r;
    }
    request->files = grown;
    grown[request->n_files++] = *file;
    return 0;
}

int glovebox_request_put(struct glovebox_request *request, const char *path, const void *bytes,
                         size_t len, unsigned mode, struct glovebox_error *error)
{
    struct gb_err err = { 0 };
    int r = lib_check_path(path, &err);

    if (r == 0)
        r = add_file(request,
                     &(struct request_file){ .path = strdup(path),
                                             .bytes = copy_bytes(bytes, len),
                                             .len = len,
                                             .mode = mode & 0111 ? 0755 : 0644 },
                     &err);
    return lib_told(r, &err, error);
}

int glovebox_request_put_file(struct glovebox_request *request, const char *path,
                              const char *host_path, struct glovebox_error *error)
{
    struct gb_err err = { 0 };
    int r = lib_check_path(path, &err);

    if (r == 0)
        r = add_file(request,
                     &(struct request_file){ .path = strdup(path), .host = strdup(host_path) },
                     &err);
    return lib_told(r, &err, error);
}

static int add_out(struct glovebox_request *request, const char *path, const char *host,
                   struct gb_err *err)
{
    struct request_out out = { 0 };
    struct request_out *grown;
    int r = lib_check_path(path, err);

    if (r < 0)
        return r;
    if (request->n_outs == REQUEST_FILES_MAX)
        return gb_fail(err, -E2BIG, GB_BLAME_CALLER, "more than %d files", REQUEST_FILES_MAX);
    grown = reallocarray(request->outs, request->n_outs + 1, sizeof(*grown));
    if (!grown)
        return gb_no_memory(err);
    request->outs = grown;
    out.path = strdup(path);
    out.host = strdup(host);
    if (!out.path || !out.host) {
        free(out.path);
        free(out.host);
        return gb_no_memory(err);
    }
    grown[request->n_outs++] = out;
    return 0;
}

int glovebox_request_get_file(struct glovebox_request *request, const char *path,
                              const char *host_path, struct glovebox_error *error)
{
    struct gb_err err = { 0 };

    return lib_told(add_out(request, path, host_path, &err), &err, error);
}

/* ---- streams -------------------------------------------------------------------------------- */

int glovebox_request_stdin(struct glovebox_request *request, const void *bytes, size_t len,
                           struct glovebox_error *error)
{
    struct gb_err err = { 0 };
    char *copy = copy_bytes(bytes, len);

    if (!copy)
        return lib_told(gb_no_memory(&err), &err, error);
    free(request->input);
    request->input = copy;
    request->input_len = len;
    request->stdin_fd = -1;
    return lib_told(0, &err, error);
}

void glovebox_request_stdin_fd(struct glovebox_request *request, int fd)
{
    free(request->input);
    request->input = NULL;
    request->stdin_fd = fd;
}

void glovebox_request_cancel_fd(struct glovebox_request *request, int fd)
{
    request->cancel_fd = fd;
}

void glovebox_request_output(struct glovebox_request *request, glovebox_output_fn *output,
                             void *user)
{
    request->output = output;
    request->user = user;
}

int glovebox_request_flags(struct glovebox_request *request, unsigned flags,
                           struct glovebox_error *error)
{
    struct gb_err err = { 0 };
    int r = 0;

    if (flags & ~(unsigned)(GLOVEBOX_LIST_FILES | GLOVEBOX_DISCARD_OUTPUT | GLOVEBOX_AUTO_PACKAGES))
        r = gb_fail(&err, -EINVAL, GB_BLAME_CALLER, "flags %#x: some of them are not known", flags);
    else
        request->flags = flags;
    return lib_told(r, &err, error);
}
