/* SPDX-License-Identifier: Apache-2.0 */
/* agent/judge_built.c - what was compiled last, for the next box that runs the same code. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "agent/judge_inside.h"
#include "base/err.h"
#include "store/digest.h"

#define KEPT_MAX  ((size_t)64 << 20) /* bytes; what is larger is compiled again */
#define INPUT_MAX (64 << 20)

/* The lock guards all of it. */
struct judge_built {
    pthread_mutex_t lock;
    char digest[DIGEST_SIZE]; /* of what it was built of; "": nothing is kept */
    struct load files;
};

struct judge_built *judge_built_new(void)
{
    struct judge_built *built = calloc(1, sizeof(*built));

    if (built)
        (void)pthread_mutex_init(&built->lock, NULL);
    return built;
}

void judge_built_free(struct judge_built **built)
{
    if (!*built)
        return;
    load_clear(&(*built)->files);
    (void)pthread_mutex_destroy(&(*built)->lock);
    free(*built);
    *built = NULL;
}

/* Command, environment and code; inputs and box are the same for a whole task. */
static int digest_build(const struct program *program, const struct agent_files *code,
                        char ret[static DIGEST_SIZE])
{
    cleanup_buf struct buf text = BUF_INIT(INPUT_MAX);

    for (size_t i = 0; program->build[i]; i++)
        (void)buf_printf(&text, "%s%c", program->build[i], '\0');
    for (size_t i = 0; program->env && program->env[i]; i++)
        (void)buf_printf(&text, "%s%c", program->env[i], '\0');
    for (size_t i = 0; i < code->n; i++) {
        (void)buf_printf(&text, "%s%c%zu%c", code->items[i].path, '\0', code->items[i].len, '\0');
        (void)buf_add(&text, code->items[i].text, code->items[i].len);
    }
    return buf_error(&text) < 0 ? -ENOMEM : digest_of(text.data, text.len, ret, NULL);
}

static int copy_files(struct load *ret, const struct load *from)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < from->n; i++) {
        size_t size = (size_t)from->files[i].size;
        void *bytes = malloc(size + 1);

        if (!bytes)
            return -ENOMEM;
        memcpy(bytes, from->files[i].bytes, size);
        r = load_take(ret, from->files[i].path, from->files[i].mode, bytes, size);
    }
    return r;
}

int built_get(struct judge_built *built, const struct agent_files *code, struct program *program)
{
    char digest[DIGEST_SIZE];
    int r = 0;

    if (!built || digest_build(program, code, digest) < 0)
        return 0;
    (void)pthread_mutex_lock(&built->lock);
    if (strcmp(built->digest, digest) == 0)
        r = copy_files(&program->load, &built->files) < 0 ? -ENOMEM : 1;
    (void)pthread_mutex_unlock(&built->lock);
    return r;
}

void built_put(struct judge_built *built, const struct agent_files *code,
               const struct program *program, const struct load *files)
{
    char digest[DIGEST_SIZE];
    size_t size = 0;

    for (size_t i = 0; i < files->n; i++)
        size += (size_t)files->files[i].size;
    if (!built || size > KEPT_MAX || digest_build(program, code, digest) < 0)
        return;
    (void)pthread_mutex_lock(&built->lock);
    load_clear(&built->files);
    built->digest[0] = '\0';
    if (copy_files(&built->files, files) == 0)
        memcpy(built->digest, digest, sizeof(digest));
    else
        load_clear(&built->files);
    (void)pthread_mutex_unlock(&built->lock);
}
