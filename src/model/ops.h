/* SPDX-License-Identifier: Apache-2.0 */
/* model/ops.h - what kinds of models have in common: a vtable, and the part that asks again.
 *
 * A kind makes one attempt at one answer; chat.c repeats attempts and puts cut answers together.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/model.h"

struct assembly;
struct fault;
struct fault_place;
struct price_table;
struct provider;

struct model_ask {
    const struct model_request *request;
    const char *partial; /* the answer so far, which was cut; NULL: none */
    unsigned *requests;  /* counted up for each request that goes out */
};

struct model_ops {
    const char *name;

    /* Makes model->state; on failure close() is still called. */
    int (*open)(struct model *model, const struct model_spec *spec, struct gb_err *err);
    /* One attempt: the pieces go into the assembly, which is fresh.  0 when it is finished, whole
     * or cut; a negative errno and *ret_fault. */
    int (*ask)(struct model *model, const struct model_ask *ask, struct assembly *assembly,
               struct fault *ret_fault);
    /* Whom was asked, for an error; may ask the server what it offers.  Strings live until the
     * next call. */
    void (*place)(struct model *model, const struct fault *fault, struct fault_place *ret);
    bool (*samples)(const struct model *model);
    bool (*holds_schema)(const struct model *model); /* NULL: yes */
    /* model_learn_context(); NULL: there is nobody to ask. */
    int (*learn)(struct model *model, int cancel_fd, struct gb_err *err);
    void (*close)(struct model *model);
};

extern const struct model_ops model_server;
extern const struct model_ops model_scripted;

struct model {
    const struct model_ops *ops;
    const struct provider *provider; /* NULL: scripted */
    char *name;
    char *label;
    char *endpoint;
    uint64_t context;
    uint64_t said_context;            /* the user's word; 0: none */
    const struct price_table *prices; /* NULL: none */
    bool may_think;                   /* reasoning may stand in the text (assemble.h) */
    void *state;
};
