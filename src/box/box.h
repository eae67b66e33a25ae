/* SPDX-License-Identifier: Apache-2.0 */
/* box/box.h - boxes: made by a backend, used through their glove.
 *
 * A backend only makes boxes and hands over one stream; everything that happens inside a box
 * (programs, signals, files) is the glove's work over the link and is written once, for all
 * backends.  A box belongs to one thread at a time.
 *
 *    box_open() ──► ready ──► box_run(), box_put(), box_get() … ──► box_close()
 *                     │ link lost
 *                     └──► lost: every call fails, box_close() is still owed
 *
 * Fail closed: a wall that cannot be built refuses the box and names the wall and its remedy,
 * unless the operator allowed it to be missing; the receipt tells what really holds.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "box/limits.h"
#include "box/receipt.h"
#include "box/walls.h"
#include "engine/endpoint.h"

struct box;
struct box_file;
struct carry_spec;
struct gb_err;
struct link;
struct msg_welcome;

/* docker: which engine, and how. */
struct box_engine {
    struct endpoint_hints hints;
    const char *api_version; /* NULL: what both can */
    const char *runtime;     /* "runsc"; NULL: the engine's own */
    const char *platform;    /* DOCKER_DEFAULT_PLATFORM: "linux/amd64"; NULL: the engine's */
};

/* A port of the box that is one of the host's too. */
struct box_port {
    const char *port;      /* in the box, "3000/tcp"; NULL ends a list */
    const char *host_ip;   /* "127.0.0.1" */
    const char *host_port; /* "8080" */
};

/* Names of images: this machine's own, and the engine's where nobody has named one. */
#define BOX_IMAGE_HOST   "host"
#define BOX_IMAGE_DOCKER "python:3.11-slim"

/* A tree of the host's that is shown elsewhere in the box, read-only. */
struct box_layer {
    const char *source; /* absolute and clean, of plain files alone; NULL ends a list */
    const char *target; /* absolute and clean, in no place of the box's own but below /etc */
    const char *bin;    /* a directory for PATH, before all others; NULL */
    const char *python; /* a directory that Python has to be told of; NULL */
};

/* Where those files of certificates are that a box would not show otherwise. */
#define BOX_CERTIFICATES "/etc/ssl/operator"

/* A file of certificates that programs of this machine trust, and where a box shows it. */
struct box_certificate {
    char *path; /* NULL ends a list */
    char *target;
};

/* What a caller wants.  Strings and vectors are the caller's and must outlive box_open(). */
struct box_spec {
    const char *backend;             /* name of a row in backends.c */
    const char *name;                /* the id of a box that lives on; NULL: it has none */
    const char *image;               /* NULL and "host": this machine's own */
    const char *image_id;            /* what that name stood for when layers were made for it, as
                                        image_id() of the backend tells it; NULL: it is the name */
    const struct box_engine *engine; /* docker: never NULL */
    struct limits limits;
    wall_set may_miss;              /* walls that the operator can do without */
    const char *const *toolchains;  /* host trees to show; NULL-terminated, may be NULL */
    const struct box_layer *layers; /* iff the backend has them; may be NULL */
    bool shows_groups;              /* /sys/fs/cgroup for runtimes that read their limits */
    bool will_live_on;              /* it will be kept: nothing of it is a child of this process */
    const char *workdir;            /* made if it is not there; below a writable place */
    const char *run_dir;            /* native: where the slots are; docker: whose containers */
    uint32_t uid_base;              /* native, as root: first id of boxes */
    uint64_t ttl_ms;                /* the box ends by itself so long after its start; 0: never */
    const struct box_file *seed;    /* a small file for the working directory, or NULL */
    bool has_network;               /* the engine's own bridge, in place of the wall `net` */
    const struct box_port *ports;   /* with has_network; may be NULL */
    const struct carry_spec *net;   /* what its programs may reach; NULL: nothing */
    const struct box_certificate *certificates; /* native, with net; may be NULL */
    int cancel_fd;   /* readable: making the box is given up (-ECANCELED); not above 0: never */
    int *ret_broken; /* may be NULL; told on failure: the wall it was, or -1 */
};

/* A seed's contents lie in memory and are not larger than this. */
#define BOX_SEED_MAX (48 << 10)

/* The paths that every box has, who a run is, and where it finds names: its own, and with rules for
 * its network those of the glove. */
#define BOX_WORKSPACE "/workspace"
#define BOX_HOME      "/home/box"
#define BOX_UID       1000u
#define BOX_GID       1000u
#define BOX_HOSTNAME  "box"
#define BOX_HOSTS     "127.0.0.1 localhost " BOX_HOSTNAME "\n::1 localhost\n"
#define BOX_RESOLV    "nameserver 127.0.0.1\n"

/* The directories of a box that can be written to, NULL-terminated; a spec's workdir is one more.
 */
extern const char *const box_writable[];

int box_open(const struct box_spec *spec, struct box **ret, struct gb_err *err);

/* As box_open(), but returns while the box is still being built, so that the caller can prepare
 * the first run meanwhile; what fails then is told by the first call that needs the box.  What
 * was asked must live as long as the box. */
int box_begin(const struct box_spec *asked, struct box **ret, struct gb_err *err);

/* Waits until the box stands; box_run(), box_put() and box_get() do so by themselves. */
int box_settle(struct box *box, struct gb_err *err);

/* Kills and removes all of it.  The number of processes that outlived the kill. */
uint32_t box_close(struct box *box);

/* As box_close(), but does not wait: the backend kills and removes it by itself.  For a caller
 * whose runs are over and closed and who is about to end; nothing else waits for the backend's
 * process. */
void box_leave(struct box *box);

/* ---- boxes that live on ---------------------------------------------------------------------- */

/* Where a keeper is found: a socket that listens already, in the directory `name` of parent_fd. */
struct box_keep_spec {
    int listener_fd;
    int parent_fd;
    const char *name;
};

/* Hands a box that stands over to a keeper, which removes the directory together with the box; this
 * process has no part in it any more, unless the backend is_held.  On failure the box is as it was;
 * box_close() is owed in both cases. */
int box_keep(struct box *box, const struct box_keep_spec *spec, struct gb_err *err);

/* What box_keep() gave to box_hold(); NULL: the backend keeps its boxes itself. */
struct box_held {
    int link_fd;
    int listener_fd;
    uint32_t next_seq;
    uint32_t next_channel;
};
const struct box_held *box_held(const struct box *box);

/* What was known of a kept box when it was made.  The strings must live as long as the box. */
struct box_kept {
    struct receipt receipt;
    const char *path;        /* the PATH of its programs */
    const char *python_path; /* NULL: none */
    const char *variables;   /* "K=V" lines for every run, certificates; NULL: none */
};

/* What a keeper says of its box. */
struct box_news {
    uint32_t clients; /* besides this one */
    uint32_t runs;    /* under way */
    uint64_t ttl_ms;  /* left; 0: for ever */
};

/* A kept box, through a connection to its keeper, which is taken over in any case.  Several
 * processes can use it at a time; box_close() ends this one's runs and lets go of it. */
int box_attach(const struct box_kept *kept, int fd, struct box **ret, struct box_news *ret_news,
               struct gb_err *err);

/* The network of a box that was attached to, for as long as it is: what net allows is carried by
 * this process, while it waits on the link.  The box was made to have one, and nobody else serves
 * it (-EBUSY).  What net points to must live until box_close(). */
int box_serve(struct box *box, const struct carry_spec *net, struct gb_err *err);

/* Where this process serves the network of a box: what programs had sent when they ended was taken
 * from them, and goes on to their servers; as long as these take some of it, until the deadline, or
 * until cancel_fd (-1: none) is readable. */
void box_drain(struct box *box, uint64_t deadline_ns, int cancel_fd);

/* Has a keeper destroy its box and waits for that; takes the connection over.  The number of
 * survivors in *ret. */
int box_unkeep(int fd, uint32_t *ret, struct gb_err *err);

/* What a box uses, all of its runs together, from the host's own counters; 0: not counted. */
struct box_usage {
    uint64_t memory_bytes; /* now */
    uint64_t memory_peak;
    uint64_t memory_files; /* how much of it lies in files */
    uint64_t cpu_ns;
    uint64_t processes;
};

int box_usage(struct box *box, struct box_usage *ret, struct gb_err *err);

/* Its memory_bytes alone, where they cost but one small read; else UINT64_MAX. */
uint64_t box_memory_bytes(struct box *box);

const struct receipt *box_receipt(const struct box *box);

/* When the glove began to run. */
uint64_t box_ready_ns(const struct box *box);

/* Are its programs those of this machine, so that one can be looked for here? */
bool box_shows_host(const struct box *box);

/* The PATH that programs in the box have. */
const char *box_path(const struct box *box);

/* Where Python looks besides, because layers have to be told of; "": nowhere. */
const char *box_python_path(const struct box *box);

/* Of a box that was attached to: variables that its runs find, a line each; "" for none. */
const char *box_variables(const struct box *box);

/* Is there a program of that name on such a PATH (image `host`: asked on the host)? */
bool box_path_has(const char *path, const char *name, char ret_found[static PATH_MAX]);

/* ---- programs ------------------------------------------------------------------------------- */

enum box_kill {
    BOX_KILL_NONE,
    BOX_KILL_CANCEL,
    BOX_KILL_WALL,
    BOX_KILL_CPU,
    BOX_KILL_OUTPUT,
};

/* What happens to a program while it runs: a signal that it is sent, a new size of its terminal. */
enum box_event_kind {
    BOX_EVENT_SIGNAL,
    BOX_EVENT_RESIZE,
};

struct box_event {
    enum box_event_kind kind;
    uint32_t signo;
    uint32_t rows;
    uint32_t cols;
};

/* Where events come from.  next() takes one when fd is readable; false: it was none. */
struct box_events {
    int fd;
    bool (*next)(void *user, struct box_event *ret);
    void *user;
};

/* A program to run.  output() is called in the caller's thread with every piece of output, stream
 * 1 or 2; while it does not return, the program is slowed down, never killed.  When it returns a
 * negative value the run is cancelled. */
struct box_run_spec {
    const char *const *argv;
    const char *const *env;
    const char *cwd;
    struct limits limits;
    int stdin_fd;  /* copied to the program until its end; -1: empty */
    int cancel_fd; /* readable: kill it; -1: never */
    bool has_tty;  /* a terminal for it, of this size: its input is stdin_fd, its output stream 1 */
    uint32_t rows;
    uint32_t cols;
    bool
        is_fresh; /* refused with -ESTALE, unless it is the box's first of this kind, or none that
                     was before it has left anything behind: a box to use again as if it were new */
    bool is_last; /* the caller leaves the box right after */
    const struct box_events *events; /* NULL: none */
    int (*output)(void *user, int stream, const void *bytes, size_t len);
    void *user;
    const int *sinks; /* NULL, or by stream: a pipe that it goes straight into instead, or -1 */
    int *ret_broken;  /* may be NULL; told on failure: the wall that it was */
};

/* How it ended, from the host's own counters where there are any. */
struct box_run_end {
    int exec_error;  /* 0, or the errno with which the program could not be started */
    int count_error; /* 0, or the errno with which a counter could not be read that there was: what
                      * ended the program, if the host did not, is not known then */
    bool has_exited;
    uint32_t code;
    uint32_t signo;
    enum box_kill kill;       /* what the host killed it for */
    bool is_lost;             /* the link broke before the end was known */
    uint64_t output_bytes[3]; /* by stream */
    uint64_t wall_ns;
    uint64_t cpu_ns;
    uint64_t memory_peak;
    uint64_t memory_files; /* of what was in use at the end, how much lay in files */
    uint64_t oom_kills;
    uint64_t pids_hits;
    uint64_t disk_free;
    uint64_t inodes_free;
    uint32_t survivors; /* counted after the kill */
};

/* Runs it to its end, enforcing the limits, and kills whatever is left of it.  0 also when the
 * program failed, could not be started, or the box was lost on the way: *ret tells.  Negative when
 * nothing could be started at all. */
int box_run(struct box *box, const struct box_run_spec *spec, struct box_run_end *ret,
            struct gb_err *err);

/* Why a box was lost in which a run was: what its backend knows.  Always negative. */
int box_ended(struct box *box, struct gb_err *err);

/* ---- files ----------------------------------------------------------------------------------- */

struct box_file {
    const char *path; /* below the directory it is put into */
    unsigned mode;
    const void *bytes; /* or, when NULL, … */
    int fd;            /* … read from here, exactly size bytes */
    uint64_t size;
};

/* Puts files below dir as the run user.  *ret_mark is for box_get()'s `since`. */
int box_put(struct box *box, const char *dir, const struct box_file *files, size_t n_files,
            uint64_t *ret_mark, struct gb_err *err);

/* The same for a whole crate of all kinds (wire/crate.h), size bytes of fd. */
int box_put_crate(struct box *box, const char *dir, int fd, uint64_t size, struct gb_err *err);

struct crate_ops;

struct box_get_spec {
    const char *dir;
    const char *path; /* one file below dir; "" for all of it */
    bool is_tree;     /* path is a directory, and what lies below it is wanted */
    bool is_listing;
    bool has_since; /* only what changed after `since` */
    uint64_t since;
    uint64_t max_files;
    uint64_t max_bytes;
    bool has_all_kinds;        /* links and directories too; in no listing */
    uint64_t *ret_passed_over; /* with it; names that are none of these, or may not be read */
};

/* Regular files below a directory, told to ops (wire/crate.h) as they come. */
int box_get(struct box *box, const struct box_get_spec *spec, const struct crate_ops *ops,
            void *user, struct gb_err *err);

struct listing_entry;

struct box_list_spec {
    const char *dir;
    const char *path; /* below dir; "" is dir itself */
    bool is_self;     /* the thing itself, under the name ".", and not what is in it */
    uint64_t max_entries;
};

/* What lies in a directory (wire/listing.h), told to entry() as it comes; negative: enough. */
int box_list(struct box *box, const struct box_list_spec *spec,
             int (*entry)(void *user, const struct listing_entry *entry), void *user,
             struct gb_err *err);

/* Removes a path below dir as the run user; is_tree: a directory with all that is in it.  *ret_n is
 * how many names are gone. */
int box_remove(struct box *box, const char *dir, const char *path, bool is_tree, uint64_t *ret_n,
               struct gb_err *err);

/* ---- for backends --------------------------------------------------------------------------- */

#define BOX_IMAGE_ID_SIZE 160

struct box_ops {
    const char *name;
    size_t state_size; /* zeroed bytes reachable through box_state() */

    /* Could this host make such boxes?  No lasting effect; err says what is missing. */
    int (*probe)(const struct box_spec *spec, struct gb_err *err);
    wall_set can_miss; /* walls that a box can be built without, if the operator can do without */
    bool plants;       /* puts the spec's seed into the box as it builds it */
    bool shows_host;   /* programs are those of this machine */
    bool has_layers;   /* a spec may have layers */
    bool shares_ids;   /* other boxes have the same user ids: no limit can be set on them */
    bool is_held;      /* a keeper of its boxes is a process of ours: box_hold() */
    bool carries;      /* a spec may have rules for what its programs reach */
    bool has_bridge;   /* a spec may ask for a network, and for ports of the host */
    bool beats;        /* the link's end may go unnoticed: the glove is told that we live, and how
                        * long it may */
    /* File systems that have the disk limit each, NULL-terminated; a spec's workdir may be one
     * more.  NULL: all is one. */
    const char *const *disks;

    /* What tells the image of a spec from all others, whatever it is called; NULL: it is this
     * machine's own. */
    int (*image_id)(const struct box_spec *spec, char ret[static BOX_IMAGE_ID_SIZE],
                    struct gb_err *err);

    /* Removes what was left on this host or engine by makers of such boxes that are dead, and
     * counts it; NULL: their boxes remove themselves. */
    int (*sweep)(const struct box_spec *spec, size_t *ret_n, struct gb_err *err);

    /* Begins to make the box; *ret_link_fd is the caller's.  Fills the receipt's backend part.  On
     * failure destroy() is still called. */
    int (*start)(struct box *box, const struct box_spec *spec, int *ret_link_fd,
                 struct gb_err *err);
    /* The watched descriptor or the end of the link says that there is no box: tells why.  Always
     * negative. */
    int (*lost)(struct box *box, const struct box_spec *spec, struct gb_err *err);
    /* The same of a box that stood: what is known of its end.  NULL: that one of its own processes
     * was killed. */
    int (*ended)(struct box *box, struct gb_err *err);
    /* Makes the groups of a run and gives the descriptors that the glove joins it with: first the
     * v2 directory if *ret_has_v2, then v1 `tasks` files; they stay the backend's. */
    int (*run_open)(struct box *box, const struct limits *limits, int *fds, size_t *n_fds,
                    bool *ret_has_v2, struct gb_err *err);
    /* CPU time so far of the run that is open; 0 where nobody counts it, negative when the counter
     * cannot be read. */
    int (*run_cpu_ns)(struct box *box, uint64_t *ret);
    /* Kills all of the run now; idempotent. */
    int (*run_kill)(struct box *box, struct gb_err *err);
    /* Kills, waits until it is empty, reads the counters into *ret, removes the groups; is_left:
     * the box is left right after, and whoever has it then may do that. */
    int (*run_close)(struct box *box, bool is_left, struct box_run_end *ret, struct gb_err *err);
    /* What the box uses; NULL where nobody counts. */
    int (*usage)(struct box *box, struct box_usage *ret, struct gb_err *err);
    /* Its memory_bytes alone; NULL where that costs as much as all of it. */
    int (*memory_bytes)(struct box *box, uint64_t *ret);
    /* Readable when the backend has lost its hold on the box. */
    int (*watch_fd)(struct box *box);
    /* Gives the box with its link to a keeper; NULL where there are none. */
    int (*keep)(struct box *box, const struct box_keep_spec *spec, struct gb_err *err);
    /* Makes the state of a box that a keeper holds: groups are the box's directories, taken over.
     */
    int (*attach)(struct box *box, const struct box_kept *kept, const struct msg_welcome *welcome,
                  int *groups, size_t n_groups, struct gb_err *err);
    /* Lets the box be removed without waiting; negative when only destroy() can.  May be NULL. */
    int (*leave)(struct box *box);
    /* Releases all, from any state; the number of survivors. */
    uint32_t (*destroy)(struct box *box);
};

extern const struct box_ops box_native;
extern const struct box_ops box_docker;
extern const struct box_ops box_disabled;

/* All of them, NULL-terminated. */
const struct box_ops *const *box_backends(void);

/* By name; an unknown one is an error that lists the known ones. */
const struct box_ops *box_backend(const char *name, struct gb_err *err);

void *box_state(struct box *box);
struct receipt *box_receipt_edit(struct box *box);
struct link *box_link(struct box *box);
uint32_t box_run_seq(const struct box *box); /* what the link calls the run that was opened last */
void box_set_run_seq(struct box *box, uint32_t seq);
wall_set box_without(const struct box *box); /* walls to leave out, because they failed before */
const struct box_ops *box_ops_of(const struct box *box);

/* Came it from box_attach()? */
bool box_is_attached(const struct box *box);
void box_set_path(struct box *box, char *path); /* takes it over */
void box_set_python_path(struct box *box, char *path);
/* Both, for a new box: what its layers say, and behind that the usual PATH (NULL: no memory). */
int box_set_paths(struct box *box, const struct box_spec *spec, const char *usual,
                  struct gb_err *err);
