/* SPDX-License-Identifier: Apache-2.0 */
/* agent/judge_load.c - files that go into a box. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/judge_inside.h"

#define MODE_FILE    0644u
#define MODE_PROGRAM 0755u
#define MODE_INPUT   0444u

static struct load_own *find(const struct load *load, const char *path)
{
    for (size_t i = 0; i < load->n; i++)
        if (strcmp(load->own[i].path, path) == 0)
            return &load->own[i];
    return NULL;
}

static int grow(struct load *load)
{
    struct box_file *files = reallocarray(load->files, load->n + 1, sizeof(*files));
    struct load_own *own;

    if (!files)
        return -ENOMEM;
    load->files = files;
    own = reallocarray(load->own, load->n + 1, sizeof(*own));
    if (!own)
        return -ENOMEM;
    load->own = own;
    return 0;
}

/* Takes path and bytes over. */
static int put(struct load *load, char *path, unsigned mode, const void *bytes, void *own,
               size_t len)
{
    struct load_own *there = path ? find(load, path) : NULL;
    size_t i = there ? (size_t)(there - load->own) : load->n;

    if (!path || (!there && grow(load) < 0)) {
        free(path);
        free(own);
        return -ENOMEM;
    }
    if (there) {
        free(there->path);
        free(there->bytes);
    } else {
        load->n++;
    }
    load->own[i] = (struct load_own){ .path = path, .bytes = own };
    load->files[i] =
        (struct box_file){ .path = path, .mode = mode, .bytes = bytes, .fd = -1, .size = len };
    return 0;
}

int load_add(struct load *load, const char *dir, const char *path, unsigned mode, const void *bytes,
             size_t len)
{
    char *full = NULL;

    if (asprintf(&full, "%s%s%s", dir, *dir ? "/" : "", path) < 0)
        return -ENOMEM;
    return put(load, full, mode, bytes, NULL, len);
}

int load_take(struct load *load, const char *path, unsigned mode, void *bytes, size_t len)
{
    return put(load, strdup(path), mode, bytes, bytes, len);
}

/* What begins as a script may be meant to be started by its name. */
static unsigned mode_of(const struct agent_file *file)
{
    return file->len > 2 && memcmp(file->text, "#!", 2) == 0 ? MODE_PROGRAM : MODE_FILE;
}

int load_files(struct load *load, const char *dir, const struct agent_files *files)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < files->n; i++) {
        const struct agent_file *file = &files->items[i];

        r = load_add(load, dir, file->path, mode_of(file), file->text, file->len);
    }
    return r;
}

int load_inputs(struct load *load, const struct judge_spec *spec)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < spec->n_inputs; i++) {
        const struct judge_input *input = &spec->inputs[i];

        r = load_add(load, "", input->path, MODE_INPUT, input->bytes ? input->bytes : "",
                     input->len);
    }
    return r;
}

int load_guest(struct load *load, enum guest_role role)
{
    struct box_file file;

    guest_file(role, &file);
    return load_add(load, "", file.path, file.mode, file.bytes, (size_t)file.size);
}

int load_copy(struct load *load, const struct load *from)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < from->n; i++)
        r = load_add(load, "", from->files[i].path, from->files[i].mode, from->files[i].bytes,
                     (size_t)from->files[i].size);
    return r;
}

void load_clear(struct load *load)
{
    for (size_t i = 0; i < load->n; i++) {
        free(load->own[i].path);
        free(load->own[i].bytes);
    }
    free(load->own);
    free(load->files);
    *load = (struct load){ 0 };
}
