/* SPDX-License-Identifier: Apache-2.0 */
/* agent/contract.h - what is to be built, agreed before anything is written.
 *
 * Small JSON from the orchestrator, checked against a schema that also goes to the model.  Tests
 * are written from task and contract and never see the code; code is written from task and contract
 * and never sees the tests.  Only the orchestrator may change it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

struct buf;
struct gb_err;

enum contract_kind {
    CONTRACT_ANSWER,  /* a program whose output is the answer */
    CONTRACT_PROGRAM, /* judged from outside: arguments, input, output */
    CONTRACT_LIBRARY, /* public names, judged by tests that call them (python) */
};

struct contract_name {
    char *name;      /* "parse_duration", "Stack.push" */
    char *signature; /* "(text: str) -> int"; "" for what is not called */
    char **raises;   /* NULL-terminated; names of exceptions */
};

struct contract_example {
    char *input; /* as the task gives it: a call, or arguments and stdin */
    char *output;
};

/* The lists of strings end with NULL and are never NULL themselves. */
struct contract {
    enum contract_kind kind;
    char *language; /* a name of run/language.h */
    char *module;   /* library: the file that holds the names, "duration.py"; else NULL */
    char **files;   /* clean relative paths, at least one, no two the same */
    char **command; /* program: argv in the box; empty: files[0], as its language is run */
    struct contract_name *names;
    size_t n_names;
    struct contract_example *examples;
    size_t n_examples;
    char **packages;    /* wanted beside the standard library */
    char **hosts;       /* network wanted (egress/policy.h); never granted by a contract */
    char **run;         /* program with hosts: arguments of the one run that has a network */
    char **assumptions; /* for people */
    char *summary;      /* one line; never NULL */
};

#define CONTRACT_TEXT_MAX     (256 << 10)
#define CONTRACT_STRING_MAX   4096
#define CONTRACT_FILES_MAX    32
#define CONTRACT_NAMES_MAX    64
#define CONTRACT_RAISES_MAX   16
#define CONTRACT_EXAMPLES_MAX 64
#define CONTRACT_LIST_MAX     32 /* arguments, packages, hosts, assumptions */

/* The JSON schema that contract_parse() checks, for the model. */
extern const char contract_schema[];

/* The JSON may stand in a fence or amid prose (fence_json()).  What is left out becomes what is
 * usual: the language's own file name, python for an answer.  -EINVAL: the error says what a model
 * has to mend.  ret starts as { 0 } and is so after a failure. */
int contract_parse(const char *json, size_t len, struct contract *ret, struct gb_err *err);
int contract_text(const struct contract *contract, struct buf *ret); /* pretty JSON */
void contract_clear(struct contract *contract);

#define cleanup_contract cleanup_with(contract_clear)
