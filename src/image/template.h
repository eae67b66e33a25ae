/* SPDX-License-Identifier: Apache-2.0 */
/* image/template.h - the Dockerfile of a context that brings none.
 *
 * Chosen from the names of its files: requirements.txt makes it Python, pyproject.toml Python with
 * uv, package.json Node, in that order.  The texts are files in templates/, carried inside the
 * binary.  Pure.
 */
#pragma once

#include <stdbool.h>

struct buf;

enum template {
    TEMPLATE_NONE, /* the context has a Dockerfile, or nothing that tells what it is */
    TEMPLATE_PYTHON,
    TEMPLATE_UV,
    TEMPLATE_NODE,
};

/* What is known of a context; starts as `= { 0 }`. */
struct template_facts {
    bool has_dockerfile; /* "Dockerfile" or "Dockerfile.…", in any directory */
    bool has_dockerignore;
    bool has_requirements;
    bool has_pyproject;
    bool has_uv_lock;
    bool has_package;
    bool has_package_lock;
    bool has_main; /* main.py */
    bool has_app;  /* app.py */
};

/* Takes one more file of the context into account; path is relative to it. */
void template_see(struct template_facts *facts, const char *path);

enum template template_choose(const struct template_facts *facts);

/* Appends the Dockerfile; of TEMPLATE_NONE nothing. */
int template_write(enum template which, const struct template_facts *facts, struct buf *ret);

/* The image for Python with uv that belongs to no project, and the Dockerfile it is built from. */
#define TEMPLATE_UV_IMAGE "python-uv-image"
int template_write_uv_image(struct buf *ret);

/* The .dockerignore of a context that brings none; NUL-terminated. */
const char *template_dockerignore(void);
