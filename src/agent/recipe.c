/* SPDX-License-Identifier: Apache-2.0 */
/* agent/recipe.c - how a delivered program is tested without glovebox. */
#include "agent/recipe.h"

#include <errno.h>
#include <string.h>

#include "agent/judge_inside.h"
#include "agent/task.h"
#include "embed/embed.h"
#include "json/writer.h"

#define WORD_MAX (1 << 20)

extern const struct embed embed_test_cases_py;

const char *recipe_tests(size_t *ret_len)
{
    *ret_len = embed_test_cases_py.size;
    return (const char *)embed_test_cases_py.data;
}

/* A path of the box becomes one below {work}. */
static void put_word(struct json_writer *w, const char *key, const char *word)
{
    static const char box[] = BOX_WORKSPACE;
    cleanup_buf struct buf text = BUF_INIT(WORD_MAX);
    const char *found;

    while ((found = strstr(word, box)) != NULL) {
        char next = found[sizeof(box) - 1];
        bool is_path = next == '/' || next == ':' || !next;

        (void)buf_add(&text, word, (size_t)(found - word));
        (void)buf_puts(&text, is_path ? "{work}" : box);
        word = found + sizeof(box) - 1;
    }
    (void)buf_puts(&text, word);
    json_put_str(w, key, buf_error(&text) < 0 ? word : text.data);
}

static void put_words(struct json_writer *w, const char *key, const char *const *words)
{
    if (!words) {
        json_put_null(w, key);
        return;
    }
    json_array_begin(w, key);
    for (; *words; words++)
        put_word(w, NULL, *words);
    json_array_end(w);
}

/* "K=V", …, NULL as an object. */
static void put_env(struct json_writer *w, char *const *env)
{
    json_object_begin(w, "env");
    for (; env && *env; env++) {
        char key[64];
        size_t len = strcspn(*env, "=");

        if (len >= sizeof(key) || !(*env)[len])
            continue;
        memcpy(key, *env, len);
        key[len] = '\0';
        put_word(w, key, *env + len + 1);
    }
    json_object_end(w);
}

static void put_recipe(struct json_writer *w, const struct agent_outcome *outcome,
                       const struct program *program)
{
    json_object_begin(w, NULL);
    json_put_str(w, "language", outcome->contract.language);
    json_array_begin(w, "files");
    for (size_t i = 0; i < outcome->code.n; i++)
        json_put_str(w, NULL, outcome->code.items[i].path);
    json_array_end(w);
    json_array_begin(w, "inputs");
    for (size_t i = 0; i < outcome->n_inputs; i++)
        json_put_str(w, NULL, outcome->inputs[i].path);
    json_array_end(w);
    put_env(w, program->env);
    put_words(w, "build", program->build);
    json_put_str(w, "name", program->name);
    put_words(w, "run", program->argv);
    json_object_end(w);
}

int recipe_text(const struct agent_outcome *outcome, struct buf *ret, struct gb_err *err)
{
    const struct box_spec box = { .limits = limits_default() };
    const struct judge_spec spec = { .box = &box,
                                     .contract = &outcome->contract,
                                     .code = &outcome->code };
    const char *path = outcome->contract.files ? outcome->contract.files[0] : NULL;
    const struct agent_file *first = path ? agent_files_find(&outcome->code, path) : NULL;
    struct program program = { 0 };
    struct json_writer w;
    int r = 0;

    /* A program that failed may lack the file, or have one that its language cannot start. */
    if (first)
        r = program_commands(&spec, first, &program, err);
    if (r == -EINVAL)
        r = 0;
    if (r == 0) {
        json_writer_init(&w, ret, true);
        put_recipe(&w, outcome, &program);
        r = json_writer_end(&w);
        if (r == 0)
            r = buf_putc(ret, '\n');
        if (r < 0)
            r = gb_fail(err, r, GB_BLAME_HOST, "the recipe of a program: %s", strerror(-r));
    }
    program_clear(&program);
    return r;
}
