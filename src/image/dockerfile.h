/* SPDX-License-Identifier: Apache-2.0 */
/* image/dockerfile.h - a Dockerfile as the instructions that it is made of.
 *
 * The engine has a parser of its own, of one of several ages.  So that a check and a build cannot
 * read two different things, what is built is never the text that was given: it is read here,
 * checked, and written again by dockerfile_write() in a form that every parser reads alike: one
 * line for each instruction, no comment, no continuation, no directive but `escape`.  What
 * builders are known to read in different ways (a doubled escape at the end of a line, text behind
 * a JSON list, quotes in flags, blanks that are not ASCII, …) is refused.
 *
 * Invariants
 *  1. What dockerfile_write() writes is read back as the same instructions.
 *  2. All texts are UTF-8 without control characters but tabs; bodies of heredocs and words of
 *     JSON lists may have any but NUL.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

struct buf;
struct gb_err;

#define DOCKERFILE_MAX       (1 << 20)
#define DOCKERFILE_LINE_MAX  65000 /* bytes of an instruction: engines read lines of 64 KiB */
#define DOCKERFILE_ITEMS_MAX 1000
#define DOCKERFILE_FLAGS_MAX 32
#define DOCKERFILE_WORDS_MAX 4096
#define DOCKERFILE_DOCS_MAX  16 /* heredocs of an instruction */

enum dockerfile_op {
    DOCKERFILE_ADD,
    DOCKERFILE_ARG,
    DOCKERFILE_CMD,
    DOCKERFILE_COPY,
    DOCKERFILE_ENTRYPOINT,
    DOCKERFILE_ENV,
    DOCKERFILE_EXPOSE,
    DOCKERFILE_FROM,
    DOCKERFILE_HEALTHCHECK,
    DOCKERFILE_LABEL,
    DOCKERFILE_MAINTAINER,
    DOCKERFILE_ONBUILD,
    DOCKERFILE_RUN,
    DOCKERFILE_SHELL,
    DOCKERFILE_STOPSIGNAL,
    DOCKERFILE_USER,
    DOCKERFILE_VOLUME,
    DOCKERFILE_WORKDIR,
    N_DOCKERFILE_OPS,
};

struct dockerfile_doc {
    char *name;  /* of the line that ends it */
    bool chomps; /* "<<-": that line may begin with tabs */
    char *text;  /* with the newline of its last line */
};

struct dockerfile_item {
    enum dockerfile_op op; /* of an ONBUILD: the instruction behind it */
    bool is_trigger;       /* ONBUILD stands before it */
    bool is_json;          /* the words are those of a JSON list */
    unsigned line;         /* its first, from 1 */
    char **flags;          /* "--from=x"; NULL at the end, as words */
    char **words;          /* of the JSON list, or between the blanks of text */
    char *text;            /* everything behind the flags */
    struct dockerfile_doc *docs;
    size_t n_docs;
};

struct dockerfile {
    struct dockerfile_item *items;
    size_t n;
    char escape;          /* '\\' or '`' */
    char *syntax;         /* of a "# syntax=" directive, or NULL */
    unsigned syntax_line; /* where it stands */
};

/* -EINVAL, with the line and mostly a remedy: it is no Dockerfile, or one that builders read in
 * different ways.  *ret is written on success only. */
int dockerfile_parse(const char *text, size_t len, struct dockerfile *ret, struct gb_err *err);
void dockerfile_clear(struct dockerfile *dockerfile);
#define cleanup_dockerfile cleanup_with(dockerfile_clear)

/* Appends the text that is built; the buf's error is the only failure. */
int dockerfile_write(const struct dockerfile *dockerfile, struct buf *ret);

/* One instruction in a line, without its heredocs: what engines print as a step. */
int dockerfile_write_item(const struct dockerfile_item *item, struct buf *ret);

const char *dockerfile_op_name(enum dockerfile_op op);

/* Does it need more than the builder that engines had before BuildKit? */
bool dockerfile_item_is_new(const struct dockerfile_item *item);
