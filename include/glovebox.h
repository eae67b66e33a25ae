/* SPDX-License-Identifier: Apache-2.0 */
/* include/glovebox.h - libglovebox: running code in boxes, from C.
 *
 *    context ──► glovebox_exec(request)                       a box for one run
 *            ──► glovebox_box_open() ──► run, put, get … ──► glovebox_box_close()
 *            ──► glovebox_kept_create() … glovebox_kept_attach()   boxes that live on
 *            ──► glovebox_user_attach()                             one for each user
 *            ──► glovebox_log_open() ──► glovebox_log_next() …      what ran there, and its output
 *
 * A program that fails is a result; an error means that glovebox could not tell.  Functions that
 * can fail return 0 or a negative errno value and fill a struct glovebox_error; `err` may be NULL.
 * Results of functions (`ret`) are written on success only, unless it is said otherwise.
 *
 * Threads.  A context is set up by one thread; then any number of them may use it at a time.  A
 * request may be used by many threads while nobody changes it and it has no descriptors.  A box and
 * a result belong to one thread at a time.  There is no global state, no signal handler is
 * installed, and nothing waits for children but for those that the library started.
 *
 * Growth.  Handles are opaque.  Structs begin with their size, which the *_INIT macros set; fields
 * and values of enums are only ever added.  Texts and vectors that are handed over are copied.
 */
#ifndef GLOVEBOX_H
#define GLOVEBOX_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GLOVEBOX_API __attribute__((visibility("default")))

struct glovebox_box;
struct glovebox_context;
struct glovebox_kept_list;
struct glovebox_log;
struct glovebox_packages;
struct glovebox_request;
struct glovebox_result;
struct glovebox_run_list;

/* "0.1.0", of the library that runs. */
GLOVEBOX_API const char *glovebox_version(void);

/* ---- errors --------------------------------------------------------------------------------- */

/* Who can repair it. */
enum glovebox_blame {
    GLOVEBOX_BLAME_NONE = 0,
    GLOVEBOX_BLAME_CALLER = 1, /* the request is wrong */
    GLOVEBOX_BLAME_HOST = 2,   /* this machine lacks or refuses something */
    GLOVEBOX_BLAME_PEER = 3,   /* a box or an engine misbehaved */
    GLOVEBOX_BLAME_BUG = 4,    /* glovebox is wrong */
};

/* The caller's, on its stack; nothing of it is to be freed.  One whose size is not set stays as it
 * is. */
struct glovebox_error {
    size_t size;
    int code;          /* 0, or what was returned */
    int blame;         /* enum glovebox_blame */
    char message[512]; /* what is wrong, one line */
    char remedy[512];  /* what helps; "" when nothing is known to */
};

#define GLOVEBOX_ERROR_INIT                         \
    {                                               \
        sizeof(struct glovebox_error), 0, 0, "", "" \
    }

/* ---- contexts ------------------------------------------------------------------------------- */

/* How boxes are made.  A new context has the command's defaults; no configuration and no
 * environment is read.  The home directory is the one that the user database has. */
GLOVEBOX_API int glovebox_context_new(struct glovebox_context **ret, struct glovebox_error *err);

/* No box needs it any more once it is open; no call may be under way. */
GLOVEBOX_API void glovebox_context_free(struct glovebox_context *context);

/* Reads what the command reads: the system's and the user's file, then the variables of env
 * ("NAME=value", NULL-terminated: usually environ; NULL for none), and, where project_dir is not
 * NULL, the files of that project, which can only tighten.  What glovebox_context_set() said goes
 * on to win. */
GLOVEBOX_API int glovebox_context_configure(struct glovebox_context *context, char *const *env,
                                            const char *project_dir, struct glovebox_error *err);

/* One setting by its name and with its words of glovebox(5): "limits.memory" "1g", "backend"
 * "docker", "image", "docker.host", "run_dir", "state_dir", "allow_missing" …; settings that have
 * nothing to do with boxes are refused.  On failure the context is as it was. */
GLOVEBOX_API int glovebox_context_set(struct glovebox_context *context, const char *name,
                                      const char *value, struct glovebox_error *err);

/* ---- packages ------------------------------------------------------------------------------- */

enum glovebox_package_kind {
    GLOVEBOX_PACKAGE_PYTHON = 0, /* pip's */
    GLOVEBOX_PACKAGE_NODE = 1,   /* npm's */
};

/* How an installation goes on, in the thread that waits for it. */
enum glovebox_install_event {
    GLOVEBOX_INSTALL_WAITING = 0, /* another process installs the same; text: names, with commas */
    GLOVEBOX_INSTALL_BEGIN = 1,   /* it has to be installed; the same text */
    GLOVEBOX_INSTALL_LINE = 2,    /* a line of the installer's, without the index's secrets */
    GLOVEBOX_INSTALL_END = 3,     /* behind the first two, however it ended */
};

typedef void glovebox_install_fn(void *user, enum glovebox_install_event event, const char *text);

/* What programs find installed, as `glovebox exec --package` has it.  It is installed in a box of
 * its own that reaches the index alone, kept below `cache_dir` and shown read-only: the next box
 * that wants the same waits for nothing.  The index is the one that pip and npm are set up with:
 * their files, and of their variables those that glovebox_context_configure() was given. */
GLOVEBOX_API int glovebox_packages_new(struct glovebox_packages **ret, struct glovebox_error *err);
GLOVEBOX_API void glovebox_packages_free(struct glovebox_packages *packages);

/* One more, with versions: "numpy>=1.26", "left-pad@^1.3". */
GLOVEBOX_API int glovebox_packages_add(struct glovebox_packages *packages,
                                       enum glovebox_package_kind kind, const char *name,
                                       struct glovebox_error *err);

/* What a file of the host names, which is read at once: a requirements file, or the dependencies of
 * a package.json. */
GLOVEBOX_API int glovebox_packages_add_file(struct glovebox_packages *packages,
                                            enum glovebox_package_kind kind, const char *host_path,
                                            struct glovebox_error *err);

/* Who is told of installations; NULL: nobody. */
GLOVEBOX_API void glovebox_packages_watch(struct glovebox_packages *packages,
                                          glovebox_install_fn *watch, void *user);

/* ---- requests ------------------------------------------------------------------------------- */

enum glovebox_limit {
    GLOVEBOX_LIMIT_WALL_MS = 0,
    GLOVEBOX_LIMIT_CPU_MS = 1, /* of all processes of the run */
    GLOVEBOX_LIMIT_MEMORY_BYTES = 2,
    GLOVEBOX_LIMIT_CPU_MILLI = 3, /* thousandths of a CPU */
    GLOVEBOX_LIMIT_PIDS = 4,
    GLOVEBOX_LIMIT_DISK_BYTES = 5,
    GLOVEBOX_LIMIT_INODES = 6,
    GLOVEBOX_LIMIT_OUTPUT_KEEP_BYTES = 7, /* more is streamed, counted and dropped */
    GLOVEBOX_LIMIT_OUTPUT_MAX_BYTES = 8,  /* more ends the run */
};

enum glovebox_request_flags {
    GLOVEBOX_LIST_FILES = 1 << 0,     /* the result names files that are new or have changed */
    GLOVEBOX_DISCARD_OUTPUT = 1 << 1, /* the result keeps no output; the callback sees it */
    GLOVEBOX_AUTO_PACKAGES = 1 << 2,  /* what the code imports and boxes lack is installed first */
};

/* Output as it comes, in the caller's thread: stream 1 or 2.  While it does not return the program
 * is slowed down, never killed.  Negative: cancel the run. */
typedef int glovebox_output_fn(void *user, int stream, const void *bytes, size_t len);

/* What is to run and what it gets.  Can be used for any number of runs. */
GLOVEBOX_API int glovebox_request_new(struct glovebox_request **ret, struct glovebox_error *err);
GLOVEBOX_API void glovebox_request_free(struct glovebox_request *request);

/* Code, at most 64 MiB.  language: "python", "c" …; NULL: by the ending of name, else by its #!
 * line.  name: of the file, below the working directory; NULL: one that suits the language. */
GLOVEBOX_API int glovebox_request_code(struct glovebox_request *request, const char *language,
                                       const char *name, const void *code, size_t len,
                                       struct glovebox_error *err);

/* A program of the box and its arguments instead. */
GLOVEBOX_API int glovebox_request_program(struct glovebox_request *request, const char *const *argv,
                                          struct glovebox_error *err);

/* The arguments of code. */
GLOVEBOX_API int glovebox_request_args(struct glovebox_request *request, const char *const *args,
                                       struct glovebox_error *err);

/* One more variable; nothing of the host's environment is in a box. */
GLOVEBOX_API int glovebox_request_env(struct glovebox_request *request, const char *name,
                                      const char *value, struct glovebox_error *err);

/* Instead of the context's.  In a box that is open, a limit that is higher than the box's
 * does nothing, and CPU_MILLI, DISK_BYTES and INODES, which are the box's as a whole, never do. */
GLOVEBOX_API int glovebox_request_limit(struct glovebox_request *request, enum glovebox_limit limit,
                                        uint64_t value, struct glovebox_error *err);

/* Where it begins, absolute; "/workspace" or the box's own when it is not said. */
GLOVEBOX_API int glovebox_request_workdir(struct glovebox_request *request, const char *dir,
                                          struct glovebox_error *err);

/* A directory of the host that is copied to the working directory and whose changed files come
 * back. */
GLOVEBOX_API int glovebox_request_workspace(struct glovebox_request *request, const char *host_dir,
                                            struct glovebox_error *err);

/* A file for the box.  path: below the working directory, or absolute.  mode: only whether it is
 * executable counts.  A host file is opened when the run begins. */
GLOVEBOX_API int glovebox_request_put(struct glovebox_request *request, const char *path,
                                      const void *bytes, size_t len, unsigned mode,
                                      struct glovebox_error *err);
GLOVEBOX_API int glovebox_request_put_file(struct glovebox_request *request, const char *path,
                                           const char *host_path, struct glovebox_error *err);

/* A file that is copied out after the run; the host's is replaced whole or not at all. */
GLOVEBOX_API int glovebox_request_get_file(struct glovebox_request *request, const char *path,
                                           const char *host_path, struct glovebox_error *err);

/* What the program may reach, as `glovebox exec --net` takes it: "example.org:443,10.0.0.0/8",
 * "full"; NULL: nothing, as when it is not said.  Only for a box of its own: glovebox_box_run()
 * refuses it (-ENOTSUP). */
GLOVEBOX_API int glovebox_request_net(struct glovebox_request *request, const char *rules,
                                      struct glovebox_error *err);

/* The packages that it finds, copied; NULL: none.  Only for a box of its own, as the network, and
 * GLOVEBOX_AUTO_PACKAGES.  An installation that fails is an error, and the result tells of it. */
GLOVEBOX_API int glovebox_request_packages(struct glovebox_request *request,
                                           const struct glovebox_packages *packages,
                                           struct glovebox_error *err);

/* What the program reads: bytes, or a descriptor that stays the caller's (-1: nothing).  The one
 * that was said last counts. */
GLOVEBOX_API int glovebox_request_stdin(struct glovebox_request *request, const void *bytes,
                                        size_t len, struct glovebox_error *err);
GLOVEBOX_API void glovebox_request_stdin_fd(struct glovebox_request *request, int fd);

/* Kills the run when it becomes readable (an eventfd, a pipe); the caller's.  -1: never. */
GLOVEBOX_API void glovebox_request_cancel_fd(struct glovebox_request *request, int fd);

GLOVEBOX_API void glovebox_request_output(struct glovebox_request *request,
                                          glovebox_output_fn *output, void *user);

/* A set of enum glovebox_request_flags. */
GLOVEBOX_API int glovebox_request_flags(struct glovebox_request *request, unsigned flags,
                                        struct glovebox_error *err);

/* ---- runs ----------------------------------------------------------------------------------- */

/* Runs it in a box of its own.  *ret is set in any case: NULL, or what is known of the run, also
 * when an error came on top of it. */
GLOVEBOX_API int glovebox_exec(const struct glovebox_context *context,
                               const struct glovebox_request *request, struct glovebox_result **ret,
                               struct glovebox_error *err);

enum glovebox_verdict {
    GLOVEBOX_VERDICT_OK = 0,
    GLOVEBOX_VERDICT_NONZERO = 1,
    GLOVEBOX_VERDICT_SIGNAL = 2,
    GLOVEBOX_VERDICT_TIMEOUT = 3,
    GLOVEBOX_VERDICT_CPU = 4,
    GLOVEBOX_VERDICT_MEMORY = 5,
    GLOVEBOX_VERDICT_PIDS = 6,
    GLOVEBOX_VERDICT_DISK = 7,
    GLOVEBOX_VERDICT_OUTPUT = 8,
    GLOVEBOX_VERDICT_CANCELLED = 9,
    GLOVEBOX_VERDICT_SANDBOX_ERROR = 10, /* glovebox cannot tell */
};

enum glovebox_counter {
    GLOVEBOX_COUNTER_WALL_US = 0,
    GLOVEBOX_COUNTER_CPU_US = 1,
    GLOVEBOX_COUNTER_MEMORY_PEAK_BYTES = 2, /* 0: not measured */
    GLOVEBOX_COUNTER_STDOUT_BYTES = 3,      /* written, kept or not */
    GLOVEBOX_COUNTER_STDERR_BYTES = 4,
    GLOVEBOX_COUNTER_OOM_KILLS = 5,
    GLOVEBOX_COUNTER_PIDS_HITS = 6, /* forks that were refused */
    GLOVEBOX_COUNTER_SURVIVORS = 7, /* processes that outlived the kill: 0 */
    GLOVEBOX_COUNTER_TRUNCATED = 8, /* 1: more was written than is kept */
};

GLOVEBOX_API void glovebox_result_free(struct glovebox_result *result);

/* Of the step that decides: the last one that was begun. */
GLOVEBOX_API enum glovebox_verdict glovebox_result_verdict(const struct glovebox_result *result);

/* "ok", "nonzero" …; NULL for a number that is none. */
GLOVEBOX_API const char *glovebox_verdict_name(enum glovebox_verdict verdict);

/* As the command exits: the program's own code, 128 + n for a signal, 124 timeout … */
GLOVEBOX_API int glovebox_result_exit_code(const struct glovebox_result *result);

/* The signal that ended the program; 0. */
GLOVEBOX_API int glovebox_result_signal(const struct glovebox_result *result);

/* 0 also for a counter that this library does not know. */
GLOVEBOX_API uint64_t glovebox_result_counter(const struct glovebox_result *result,
                                              enum glovebox_counter counter);

/* What is kept of stream 1 or 2, any bytes, a NUL behind them; the result's.  NULL: no such stream,
 * or memory is short. */
GLOVEBOX_API const char *glovebox_result_output(struct glovebox_result *result, int stream,
                                                size_t *ret_len);

/* The n-th file that is new or has changed, NULL behind the last; with GLOVEBOX_LIST_FILES. */
GLOVEBOX_API const char *glovebox_result_file(const struct glovebox_result *result, size_t n,
                                              uint64_t *ret_bytes);

/* The n-th package that was installed for it, or found in the cache; NULL behind the last.
 * *ret_version is the result's; ret_version may be NULL. */
GLOVEBOX_API const char *glovebox_result_package(const struct glovebox_result *result, size_t n,
                                                 const char **ret_version);

/* The id of the run, under which a box that lives on has its output. */
GLOVEBOX_API const char *glovebox_result_id(const struct glovebox_result *result);

/* The n-th sentence about what was not done, NULL behind the last. */
GLOVEBOX_API const char *glovebox_result_note(const struct glovebox_result *result, size_t n);

/* The whole as the command's --json tells it, and the receipt alone ("null" when no box stood).
 * The texts are the result's.  NULL: memory is short. */
GLOVEBOX_API const char *glovebox_result_json(struct glovebox_result *result);
GLOVEBOX_API const char *glovebox_result_receipt(struct glovebox_result *result);

/* ---- boxes ---------------------------------------------------------------------------------- */

struct glovebox_box_options {
    size_t size;
    const char *workdir; /* absolute; NULL: "/workspace" */
    uint64_t ttl_ms;     /* the box ends by itself so long after its start; 0: never */
    const char *net;     /* what its programs may reach, as with a request; NULL: nothing */
    const struct glovebox_packages *packages; /* what they find; NULL: none */
    int cancel_fd; /* readable: an installation is given up; the caller's.  0: never */
    const char
        *ports; /* of boxes that live on: "8080:3000,0:9000", ports of this machine's loopback
                 * and those of the box that they lead to, 0 for any that is free; NULL: none */
};

#define GLOVEBOX_BOX_OPTIONS_INIT                                         \
    {                                                                     \
        sizeof(struct glovebox_box_options), NULL, 0, NULL, NULL, 0, NULL \
    }

/* A box for any number of runs, with the context's limits.  options may be NULL.  Connections that
 * `net` allows are carried by this process, while a call on the box is under way. */
GLOVEBOX_API int glovebox_box_open(const struct glovebox_context *context,
                                   const struct glovebox_box_options *options,
                                   struct glovebox_box **ret, struct glovebox_error *err);

/* Kills and removes all of it, and returns the number of processes that outlived that.  Of a kept
 * box it only lets go.  box may be NULL. */
GLOVEBOX_API uint32_t glovebox_box_close(struct glovebox_box *box);

/* As glovebox_exec(). */
GLOVEBOX_API int glovebox_box_run(struct glovebox_box *box, const struct glovebox_request *request,
                                  struct glovebox_result **ret, struct glovebox_error *err);

/* Files, as with requests. */
GLOVEBOX_API int glovebox_box_put(struct glovebox_box *box, const char *path, const void *bytes,
                                  size_t len, unsigned mode, struct glovebox_error *err);
GLOVEBOX_API int glovebox_box_put_file(struct glovebox_box *box, const char *path,
                                       const char *host_path, struct glovebox_error *err);
GLOVEBOX_API int glovebox_box_get_file(struct glovebox_box *box, const char *path,
                                       const char *host_path, struct glovebox_error *err);

/* A file of at most max bytes into memory that glovebox_free() frees; a NUL stands behind it.
 * -EFBIG: it is larger. */
GLOVEBOX_API int glovebox_box_get(struct glovebox_box *box, const char *path, size_t max,
                                  void **ret, size_t *ret_len, struct glovebox_error *err);
GLOVEBOX_API void glovebox_free(void *memory);

/* ---- boxes that live on --------------------------------------------------------------------- */

#define GLOVEBOX_ID_SIZE 32

/* A box that outlives this process; `glovebox box` works on it too.  Its keeper is nobody's child.
 * That of a box of the docker backend, and what serves network and ports of any, is forked off this
 * process: there must be no other threads then, and what it has in memory is there too. */
GLOVEBOX_API int glovebox_kept_create(const struct glovebox_context *context,
                                      const struct glovebox_box_options *options,
                                      char ret_id[GLOVEBOX_ID_SIZE], struct glovebox_error *err);

/* By its id, or the beginning of one that no other has.  Several processes can use it at a time.
 * What its runs do is written down (see below). */
GLOVEBOX_API int glovebox_kept_attach(const struct glovebox_context *context, const char *id,
                                      struct glovebox_box **ret, struct glovebox_error *err);

/* The id of a kept box; NULL: it is none. */
GLOVEBOX_API const char *glovebox_box_id(const struct glovebox_box *box);

/* The box of a user, as `glovebox box run --user` has it: the one that there is, as it is, or one
 * that is made as glovebox_kept_create() would, also when somebody removes it meanwhile.  Each name
 * has one box, and nobody else gets it.
 * user: letters, digits, "._-@", at most 63. */
GLOVEBOX_API int glovebox_user_attach(const struct glovebox_context *context, const char *user,
                                      const struct glovebox_box_options *options,
                                      struct glovebox_box **ret, struct glovebox_error *err);

/* The id of the user's box, and nothing is made; -ENOENT: there is none. */
GLOVEBOX_API int glovebox_user_find(const struct glovebox_context *context, const char *user,
                                    char ret_id[GLOVEBOX_ID_SIZE], struct glovebox_error *err);

/* Destroys the user's box; -ENOENT: there is none. */
GLOVEBOX_API int glovebox_user_remove(const struct glovebox_context *context, const char *user,
                                      uint32_t *ret_survivors, struct glovebox_error *err);

/* Destroys it.  *ret_survivors may be NULL. */
GLOVEBOX_API int glovebox_kept_remove(const struct glovebox_context *context, const char *id,
                                      uint32_t *ret_survivors, struct glovebox_error *err);

/* The texts live as long as the list. */
struct glovebox_kept_info {
    size_t size;
    const char *id;
    const char *user; /* whose it is; NULL */
    const char *backend;
    const char *image;
    const char *workdir;
    uint64_t created_ms; /* by the wall clock */
    uint64_t ttl_ms;     /* 0: for ever */
    const char *ports;   /* "127.0.0.1:8080:3000,…", as they are listened on; NULL: none */
};

#define GLOVEBOX_KEPT_INFO_INIT                                                     \
    {                                                                               \
        sizeof(struct glovebox_kept_info), NULL, NULL, NULL, NULL, NULL, 0, 0, NULL \
    }

/* All that are alive, oldest first. */
GLOVEBOX_API int glovebox_kept_list(const struct glovebox_context *context,
                                    struct glovebox_kept_list **ret, struct glovebox_error *err);
GLOVEBOX_API void glovebox_kept_list_free(struct glovebox_kept_list *list);

/* The n-th; -ENOENT behind the last, -EINVAL when the size is not set. */
GLOVEBOX_API int glovebox_kept_list_at(const struct glovebox_kept_list *list, size_t n,
                                       struct glovebox_kept_info *ret);

/* ---- what ran there ------------------------------------------------------------------------- */

/* The texts live as long as the list. */
struct glovebox_run_info {
    size_t size;
    const char *id;
    const char *command; /* a few words of what was asked */
    const char
        *verdict;  /* as glovebox_verdict_name(); NULL: under way, or its process was killed */
    int exit_code; /* -1: there is no verdict */
    int is_running;
    uint64_t started_ms; /* by the wall clock */
    uint64_t ended_ms;   /* 0: not yet */
    uint64_t output_bytes;
};

#define GLOVEBOX_RUN_INFO_INIT                                             \
    {                                                                      \
        sizeof(struct glovebox_run_info), NULL, NULL, NULL, -1, 0, 0, 0, 0 \
    }

/* The newest runs of a kept box, oldest first, whoever made them; about the last 64 are kept. */
GLOVEBOX_API int glovebox_run_list(const struct glovebox_context *context, const char *box,
                                   struct glovebox_run_list **ret, struct glovebox_error *err);
GLOVEBOX_API void glovebox_run_list_free(struct glovebox_run_list *list);

/* As glovebox_kept_list_at(). */
GLOVEBOX_API int glovebox_run_list_at(const struct glovebox_run_list *list, size_t n,
                                      struct glovebox_run_info *ret);

/* The output of a run, over or under way, from a position on: a cursor counts the bytes of both
 * streams together.  run: its id, or the beginning of one; NULL: the newest.  A log belongs to one
 * thread at a time and needs the context no more. */
GLOVEBOX_API int glovebox_log_open(const struct glovebox_context *context, const char *box,
                                   const char *run, uint64_t cursor, struct glovebox_log **ret,
                                   struct glovebox_error *err);
GLOVEBOX_API void glovebox_log_close(struct glovebox_log *log);

/* What glovebox_log_next() returns, if not a negative errno value. */
enum glovebox_log_state {
    GLOVEBOX_LOG_LATER = 0, /* that is all so far; the run goes on */
    GLOVEBOX_LOG_PIECE = 1,
    GLOVEBOX_LOG_END = 2, /* that was all */
};

struct glovebox_log_piece {
    size_t size;
    int stream;        /* 1 or 2 */
    const void *bytes; /* until the next call */
    size_t len;
};

#define GLOVEBOX_LOG_PIECE_INIT                       \
    {                                                 \
        sizeof(struct glovebox_log_piece), 0, NULL, 0 \
    }

/* The next piece; where there is none, it waits so long for one or for the end. */
GLOVEBOX_API int glovebox_log_next(struct glovebox_log *log, uint64_t wait_ms,
                                   struct glovebox_log_piece *ret, struct glovebox_error *err);

/* Which run it is; where to go on another time; how many bytes on the way were not kept. */
GLOVEBOX_API const char *glovebox_log_run(const struct glovebox_log *log);
GLOVEBOX_API uint64_t glovebox_log_cursor(const struct glovebox_log *log);
GLOVEBOX_API uint64_t glovebox_log_dropped(const struct glovebox_log *log);

#ifdef __cplusplus
}
#endif

#endif
