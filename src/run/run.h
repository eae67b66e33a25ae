/* SPDX-License-Identifier: Apache-2.0 */
/* run/run.h - a request, executed: code or a program in a box of its own, or in one that is there.
 *
 *    open the box → files in → each step, until one fails → files out → close the box
 *
 * A program that fails is a result.  A negative return means that glovebox could not tell; the
 * result then has the verdict sandbox_error and the error in it, and whatever was known by then.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "box/carry.h"
#include "run/verdict.h"

struct box;
struct box_events;
struct box_run_end;
struct box_spec;
struct gb_err;
struct language;
struct net_policy;
struct run_result;

/* A file that goes in.  target is below the working directory, or absolute in the box. */
struct run_input {
    const char *target;
    const void *bytes; /* or, when NULL, … */
    int fd;            /* … read from here */
    uint64_t size;
    unsigned mode;
};

/* A file that comes out; host is replaced whole or not at all. */
struct run_output {
    const char *target;
    const char *host;
};

/* A terminal of the caller's that the program's own terminal stands for while it runs. */
struct run_tty {
    void (*begin)(void *user, uint32_t *ret_rows, uint32_t *ret_cols);
    void (*end)(void *user);
    void *user;
};

struct run_request {
    const char *id; /* NULL: one is drawn */
    const struct box_spec *box;
    const struct language *language; /* NULL: args are the program and its arguments */
    const void *code;
    size_t code_len;
    const char *name;          /* of the source file, below the working directory */
    bool is_name_of_workspace; /* it is a file of the workspace: nothing is put there */
    bool is_name_ours;         /* made up for this run: the file goes with it */
    const char *const *args;
    const char *const *env; /* "K=V", over the box's own */
    const struct net_policy
        *net; /* what it may reach; NULL: nothing.  Not in a box that is there */
    struct carry_caps net_caps;
    const char *workdir;
    const char *workspace; /* host directory that is copied in and back, or NULL */
    const struct run_input *inputs;
    size_t n_inputs;
    const struct run_output *outputs;
    size_t n_outputs;
    bool lists_files; /* names of new and changed files in the result */
    int stdin_fd;
    int cancel_fd;
    const struct run_tty *tty;       /* NULL: none; stdin_fd is its input */
    const struct box_events *events; /* of the last step; NULL: none */
    bool leaves_box; /* the caller ends with the run: the box is removed without waiting for it, or
                      * is its keeper's again */
    bool keeps_output; /* the output is wanted in the result, not only as it comes */
    const int *sinks;  /* NULL, or by stream: a pipe for output that is not kept, or -1 */
    /* Other output as it comes; may be NULL.  Negative: cancel. */
    int (*output)(void *user, int stream, const void *bytes, size_t len);
    void (*step)(void *user, const char *name); /* it begins: "compile", "run"; may be NULL */
    void *user;
};

/* What a verdict is made of. */
struct run_facts run_facts_of(const struct box_run_end *end);

/* What a program that ended by itself, after wall_us, had sent over a network that this process
 * serves goes on for as long as it might have run.  A program that was killed is done. */
void run_drain(struct box *box, const struct run_facts *facts, uint64_t wall_us, uint64_t wall_ms,
               int cancel_fd);

/* result: zeroed; the caller owes run_result_clear() in any case. */
int run_execute(const struct run_request *asked, struct run_result *result, struct gb_err *err);

/* The same in a box that stands and goes on standing.  Of asked->box only the limits and the
 * backend count. */
int run_execute_in(struct box *box, const struct run_request *asked, struct run_result *result,
                   struct gb_err *err);
