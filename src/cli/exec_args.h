/* SPDX-License-Identifier: Apache-2.0 */
/* cli/exec_args.h - what `glovebox exec` or `glovebox box run` was asked, checked.
 *
 * Limits, walls, backend, image and toolchains are not here: they are keys, and the settings hold
 * them with the flags merged in (and settings->set[KEY_…].origin tells whether anybody said so).
 *
 * Texts are argv's own or the struct's; all live until exec_run() returns.  Everything has been
 * checked that can be checked without a box: exec_run() fails only for reasons of the host.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/id.h"
#include "egress/policy.h"

struct gb_err;
struct language;
struct package_wishes;
struct settings;

/* What a program gets from its command line travels in one frame. */
#define EXEC_ARGS_MAX       4000
#define EXEC_ENV_MAX        1000
#define EXEC_ARGS_BYTES_MAX 57344 /* arguments and environment together */
#define EXEC_FILES_MAX      256
#define EXEC_CODE_MAX       (64u << 20)

enum exec_source {
    EXEC_FILE,    /* FILE */
    EXEC_STDIN,   /* "-" */
    EXEC_INLINE,  /* -c CODE */
    EXEC_PROGRAM, /* no code: args are the program and its arguments */
};

/* --file HOST[:BOX] */
struct exec_file {
    const char *host;
    const char *box; /* below the working directory of the box, or absolute; no "." or ".." in it */
    int fd;          /* open for reading, a regular file */
    uint64_t size;
    unsigned mode; /* 0644, or 0755 when its owner may execute it */
};

/* --out BOX[:HOST] */
struct exec_out {
    const char *box;  /* as above */
    const char *host; /* the file to write; its directory exists */
};

struct exec_args {
    const char *box;  /* a box that lives on, NULL: one of its own; or … */
    const char *user; /* … whose box that is; NULL */
    enum exec_source source;
    const struct language *language; /* NULL for EXEC_PROGRAM */
    const char *code;                /* code_len bytes; NULL for EXEC_PROGRAM */
    size_t code_len;
    char name[PATH_MAX];       /* of the source file, below the working directory: "hello.py" */
    bool is_name_ours;         /* nobody chose that name */
    bool is_name_of_workspace; /* that file lies in the workspace: it runs where it is */
    char *const *args;         /* NULL-terminated */
    size_t n_args;
    const char *const *env; /* "K=V", NULL-terminated */
    size_t n_env;
    const struct exec_file *files;
    size_t n_files;
    const struct exec_out *outs;
    size_t n_outs;
    const char *workdir;   /* in the box, clean and absolute; NULL: the workspace */
    const char *workspace; /* a directory of the host that is copied in and back; NULL */
    bool has_stdin;        /* --stdin: the program reads ours */
    bool is_json;          /* the result is told as a document … */
    bool is_jsonl;         /* … behind lines of what happened before it */
    bool has_base64;       /* … with the output as bytes, too */
    bool has_tty;          /* -t: it has our terminal */
    bool is_detached;      /* a process of its own does the run; this one tells its id */
    int begun_fd;          /* of a detached run: where it tells its id, once; -1: it is none */
    int go_fd;             /* and where it hears that somebody has it */
    struct net_policy net; /* what it may reach */
    const struct package_wishes *wishes;  /* packages that it wants; NULL: none */
    const struct package_wishes *refused; /* and those that nobody permitted; NULL: none */
};

/* Prints the document of a request that was refused before anything ran, as a line of --jsonl or
 * alone; where that fails, the error is told on stderr all the same. */
void exec_refused(const struct gb_err *why, bool is_jsonl);

/* Runs it; the exit code, or a negative errno when nothing could be run and nothing was told. */
int exec_run(const struct exec_args *args, const struct settings *settings, struct gb_err *err);

/* What a detached run tells its command, once: its id, or the exit code of a run that was not
 * begun.
 */
struct exec_birth {
    char id[ID_SIZE];
    int exit_code;
};

/* Tells the id of a run that is written down and not begun, and waits until the command has passed
 * it on; nobody hears this process any more.  -ECANCELED: it could not, and a run that nobody knows
 * of is not begun. */
int exec_tell_begun(const struct exec_args *args, const char *id, struct gb_err *err);

/* The same in a process of its own: prints the run's id once it is written down.  A positive exit
 * code: it was not begun, and why has been told. */
int exec_detach(const struct exec_args *args, const struct settings *settings, struct gb_err *err);
