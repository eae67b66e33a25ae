/* SPDX-License-Identifier: Apache-2.0 */
/* tool/tool.h - the JSON tools: one JSON object in, one JSON object out (docs/tools.md).
 *
 * A tool is a row of the table in tool.c: what it is called, the keys that it takes, which of them
 * it cannot do without, and the function that does it.  The same rows make the parser, the list of
 * schemas and the help.
 *
 * The object that comes in is a model's: hostile.  It is bound by its table, checked, and only then
 * is anything touched.  A program that fails in a box is a result; a failed call says so in
 * `error`.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "box/carry.h"
#include "json/bind.h"

struct box_spec;
struct buf;
struct gb_err;
struct json_writer;
struct package_host;

#define TOOL_TEXT_MAX   (16 << 20)  /* bytes of a request */
#define TOOL_ANSWER_MAX (256 << 20) /* and of an answer */
#define TOOL_CALL_MS    600000      /* no call takes longer */

/* What calls work with; all of it is the caller's. */
struct tool_host {
    const struct box_spec *box; /* as the operator wants boxes; its limits are the most there is */
    uint64_t wall_max_ms;       /* of a run */
    uint64_t image_max_ms;      /* of a pull or build */
    const char *const *image_bases; /* that a build may begin with; NULL: any */
    struct carry_caps net_caps;     /* of a network through the link */
    struct denied_source denied_later;
    const struct package_host *packages;
    const char *variables; /* "K=V" lines for native boxes with a network (box's certificates) */
    const char *state_dir; /* NULL: no place that remembers environments */
    const char *temp_dir;  /* of workspaces and build contexts; absolute */
    int cancel_fd;         /* readable: give up; -1: never */
};

struct tool_call {
    const struct tool_host *host;
    struct json_writer *answer; /* in the object that answers */
    bool is_refused;            /* set by a tool whose failure is none of its own (TOOL_REFUSED) */
};

/* A key without which a tool does nothing. */
struct tool_need {
    const char *key;   /* NULL ends the list */
    const char *text;  /* what the error says: "image name is required" */
    bool may_be_empty; /* it only has to be there */
};

/* How an answer tells success or failure, besides `error`. */
enum tool_shape {
    TOOL_PLAIN,  /* not at all */
    TOOL_OK,     /* "ok": true or false */
    TOOL_STATUS, /* "status": "success" or "error" */
};

struct tool {
    const char *name;
    const char *help;
    enum tool_shape shape;
    bool makes_boxes; /* the settings must allow it */
    size_t size;      /* of the struct that bind fills */
    const struct bind *bind;
    const struct tool_need *needs;
    const char *undo; /* the tool that takes back what the `container_id` of its answer names, of
                       * one that makes what lives on: an answer may reach nobody.  NULL: none */

    /* Writes the members of the answer.  0; 1: failed, and has told so itself, but for the shape;
     * negative: failed with err, and what it has written does not count. */
    int (*run)(struct tool_call *call, void *args, struct gb_err *err);
};

/* The n-th one, NULL behind the last; by name, NULL. */
const struct tool *tool_at(size_t n);
const struct tool *tool_find(const char *name);

enum tool_end {
    TOOL_DONE,
    TOOL_FAILED,  /* the answer says why */
    TOOL_REFUSED, /* so does err: it was no request at all */
};

/* One call.  Appends the answer, without an end of line; whatever happens there is one. */
enum tool_end tool_do(const struct tool *tool, const struct tool_host *host, const char *text,
                      size_t len, struct buf *ret, struct gb_err *err);

/* The answer of a call that failed with that error. */
void tool_tell_failure(const struct tool *tool, const struct gb_err *failure, struct buf *ret);

/* The answer to what is no request, whichever tool it was for. */
void tool_tell_refusal(const struct gb_err *failure, struct buf *ret);

/* {"tools": [{"name", "description", "input_schema"}]} */
int tool_list(struct buf *ret);

/* ---- for the tools ---- */

#define TOOL_BIND(table)                                                            \
    {                                                                               \
        .fields = (table), .text_max = TOOL_TEXT_MAX, .flags = BIND_IGNORE_UNKNOWN, \
    }

/* "error", and "remedy" where the error has one. */
void tool_put_error(struct json_writer *w, const struct gb_err *failure);

extern const struct tool tool_build_image_from_context;
extern const struct tool tool_build_image_from_path;
extern const struct tool tool_cleanup_env;
extern const struct tool tool_create_runtime_env;
extern const struct tool tool_delete_image;
extern const struct tool tool_execute_code_block;
extern const struct tool tool_get_container_logs;
extern const struct tool tool_list_agent_images;
extern const struct tool tool_prepare_build_context;
extern const struct tool tool_prune_build_cache;
extern const struct tool tool_pull_image;
