/* SPDX-License-Identifier: Apache-2.0 */
/* lib/inside.h - what the handles of include/glovebox.h are.
 *
 * Nothing here is seen from outside.  Public functions take a struct glovebox_error; what lies
 * below has a struct gb_err, and lib_told() makes the one of the other on the way out.
 */
#pragma once

#include <glovebox.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "box/carry.h"
#include "box/kept.h"
#include "conf/certificates.h"
#include "conf/kept_box.h"
#include "conf/settings.h"
#include "egress/policy.h"
#include "package/wish.h"
#include "run/result.h"

struct box;
struct gb_err;
struct language;
struct run_packages;

/* What a request may have; arguments and variables travel in one frame. */
#define REQUEST_CODE_MAX  (64u << 20)
#define REQUEST_FILES_MAX 256
#define REQUEST_TEXTS_MAX 4000
#define REQUEST_BYTES_MAX 57344

/* ---- errors --------------------------------------------------------------------------------- */

/* r, with what the error says written down for the caller. */
int lib_told(int r, const struct gb_err *err, struct glovebox_error *ret);

/* ---- lists of texts ------------------------------------------------------------------------- */

/* NULL-terminated, owned; items is NULL when there are none. */
struct texts {
    char **items;
    size_t n;
};

int texts_add(struct texts *texts, char *text, struct gb_err *err); /* takes it over, also NULL */
int texts_copy(struct texts *texts, const char *const *from, struct gb_err *err);
void texts_clear(struct texts *texts);

/* ---- handles -------------------------------------------------------------------------------- */

/* What was said, in the order in which it was said, and what it comes to. */
struct glovebox_context {
    struct texts env;
    char *project_dir; /* NULL: the project's files are not read */
    bool reads_files;
    struct flag_text *words; /* texts owned */
    size_t n_words;
    struct settings settings; /* points into env */
};

/* The environment that counts for the context, NULL-terminated. */
char *const *lib_env(const struct glovebox_context *context);

struct glovebox_packages {
    struct package_wishes wishes;
    glovebox_install_fn *watch;
    void *user;
};

/* A file on its way in: bytes, or the host's file where they are NULL. */
struct request_file {
    char *path;
    char *bytes;
    size_t len;
    char *host;
    unsigned mode;
};

struct request_out {
    char *path;
    char *host;
};

struct glovebox_request {
    const struct language *language; /* NULL: args are a program */
    char *code;
    size_t code_len;
    char *name; /* NULL: invented */
    struct texts args;
    struct texts env;
    size_t env_bytes;
    struct limits said;
    char *workdir;
    char *workspace;
    struct net_policy net;
    struct glovebox_packages packages;
    struct request_file *files;
    size_t n_files;
    struct request_out *outs;
    size_t n_outs;
    char *input; /* NULL: stdin_fd counts */
    size_t input_len;
    int stdin_fd;
    int cancel_fd;
    unsigned flags;
    glovebox_output_fn *output;
    void *user;
};

struct glovebox_result {
    struct run_result run;
    struct buf streams[2];
    bool has_stream[2];
    struct buf json;
    struct buf receipt;
};

/* A box stands on what it was made with: all of it lives as long as box does. */
struct glovebox_box {
    struct box *box;
    struct limits limits;
    const char *workdir; /* own_workdir's, or that of kept */
    char *own_workdir;
    struct net_policy policy;
    struct carry_spec net;
    struct certificates certificates;
    struct box_packages *packages; /* NULL: none */
    struct kept kept;              /* of a kept box */
    char *state_dir;               /* the same; NULL: it is none */
};

/* ---- between the files ---------------------------------------------------------------------- */

/* A path in a box: below its working directory, or absolute. */
int lib_check_path(const char *path, struct gb_err *err);
int lib_check_workdir(const char *dir, struct gb_err *err);

/* A regular file of the host, for putting it into a box; the descriptor is the caller's. */
int lib_open_file(const char *host, uint64_t *ret_size, unsigned *ret_mode, struct gb_err *err);

/* The options as this library knows them, whatever their size. */
int lib_read_options(const struct glovebox_box_options *options, struct glovebox_box_options *ret,
                     struct gb_err *err);

int lib_packages_copy(struct glovebox_packages *to, const struct glovebox_packages *from,
                      struct gb_err *err);

/* Has what is wanted for a box; ret is initialised.  *ret_told as box_packages_open() has it. */
int lib_packages_open(const struct glovebox_context *context,
                      const struct glovebox_packages *packages, bool has_network, int cancel_fd,
                      struct box_packages *ret, struct run_packages **ret_told, struct gb_err *err);

/* The same of the options of a box, which have some. */
int lib_options_packages(const struct glovebox_context *context,
                         const struct glovebox_box_options *options, struct box_packages *ret,
                         struct gb_err *err);

/* A request in the given box.  spec's limits are those of the run.  *ret as glovebox_exec() has
 * it. */
int lib_run_in(struct glovebox_box *box, const struct glovebox_request *request,
               const struct box_spec *spec, struct glovebox_result **ret, struct gb_err *err);
