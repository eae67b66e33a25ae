/* SPDX-License-Identifier: Apache-2.0 */
/* image/template.c - the Dockerfile of a context that brings none.
 *
 * A word between '@' in a template is a place that the facts fill.
 */
#include "image/template.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/buf.h"
#include "base/path.h"
#include "embed/embed.h"

extern const struct embed embed_python_Dockerfile;
extern const struct embed embed_uv_Dockerfile;
extern const struct embed embed_uv_project_Dockerfile;
extern const struct embed embed_node_Dockerfile;
extern const struct embed embed_default_dockerignore;

/* ---- what a context is ---------------------------------------------------------------------- */

static const struct {
    const char *path;
    size_t offset; /* of the fact */
} telling[] = {
    { ".dockerignore", offsetof(struct template_facts, has_dockerignore) },
    { "requirements.txt", offsetof(struct template_facts, has_requirements) },
    { "pyproject.toml", offsetof(struct template_facts, has_pyproject) },
    { "uv.lock", offsetof(struct template_facts, has_uv_lock) },
    { "package.json", offsetof(struct template_facts, has_package) },
    { "package-lock.json", offsetof(struct template_facts, has_package_lock) },
    { "main.py", offsetof(struct template_facts, has_main) },
    { "app.py", offsetof(struct template_facts, has_app) },
};

void template_see(struct template_facts *facts, const char *path)
{
    static const char dockerfile[] = "Dockerfile";
    const char *base = path_base(path);

    if (strncmp(base, dockerfile, sizeof(dockerfile) - 1) == 0 &&
        (base[sizeof(dockerfile) - 1] == '\0' || base[sizeof(dockerfile) - 1] == '.'))
        facts->has_dockerfile = true;
    for (size_t i = 0; i < N_ELEMENTS(telling); i++)
        if (strcmp(path, telling[i].path) == 0)
            *(bool *)((char *)facts + telling[i].offset) = true;
}

enum template template_choose(const struct template_facts *facts)
{
    if (facts->has_dockerfile)
        return TEMPLATE_NONE;
    if (facts->has_requirements)
        return TEMPLATE_PYTHON;
    if (facts->has_pyproject)
        return TEMPLATE_UV;
    return facts->has_package ? TEMPLATE_NODE : TEMPLATE_NONE;
}

/* ---- places --------------------------------------------------------------------------------- */

static const char *python_command(const struct template_facts *facts)
{
    if (facts->has_main)
        return "[\"python\", \"main.py\"]";
    return facts->has_app ? "[\"python\", \"app.py\"]" : "[\"python\"]";
}

static const char *uv_lock(const struct template_facts *facts)
{
    return facts->has_uv_lock ? "uv.lock " : "";
}

static const char *uv_frozen(const struct template_facts *facts)
{
    return facts->has_uv_lock ? " --frozen" : "";
}

static const char *npm_lock(const struct template_facts *facts)
{
    return facts->has_package_lock ? "package-lock.json " : "";
}

static const char *npm_install(const struct template_facts *facts)
{
    return facts->has_package_lock ? "ci" : "install";
}

static const struct {
    const char *name;
    const char *(*value)(const struct template_facts *facts);
} places[] = {
    { "PYTHON@", python_command }, { "UV_LOCK@", uv_lock },         { "UV_FROZEN@", uv_frozen },
    { "NPM_LOCK@", npm_lock },     { "NPM_INSTALL@", npm_install },
};

/* The place behind an '@'; the bytes that its name takes. */
static size_t fill_place(const char *at, const struct template_facts *facts, struct buf *ret)
{
    for (size_t i = 0; i < N_ELEMENTS(places); i++) {
        size_t len = strlen(places[i].name);

        if (strncmp(at, places[i].name, len) == 0) {
            buf_puts(ret, places[i].value(facts));
            return len;
        }
    }
    assert(!"a place that no row fills");
    return 0;
}

static void fill(const struct embed *file, const struct template_facts *facts, struct buf *ret)
{
    const char *at = (const char *)file->data;

    while (*at) {
        size_t len = strcspn(at, "@");

        buf_add(ret, at, len);
        at += len;
        if (*at)
            at += 1 + fill_place(at + 1, facts, ret);
    }
}

int template_write(enum template which, const struct template_facts *facts, struct buf *ret)
{
    static const struct embed *const files[][2] = {
        [TEMPLATE_NONE] = { NULL, NULL },
        [TEMPLATE_PYTHON] = { &embed_python_Dockerfile, NULL },
        [TEMPLATE_UV] = { &embed_uv_Dockerfile, &embed_uv_project_Dockerfile },
        [TEMPLATE_NODE] = { &embed_node_Dockerfile, NULL },
    };

    for (size_t i = 0; i < N_ELEMENTS(files[which]); i++)
        if (files[which][i])
            fill(files[which][i], facts, ret);
    return buf_error(ret);
}

int template_write_uv_image(struct buf *ret)
{
    return buf_puts(ret, (const char *)embed_uv_Dockerfile.data);
}

const char *template_dockerignore(void)
{
    return (const char *)embed_default_dockerignore.data;
}
