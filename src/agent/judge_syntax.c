/* SPDX-License-Identifier: Apache-2.0 */
/* agent/judge_syntax.c - is a program that is not compiled valid?  Its interpreter reads it first.
 *
 * Nothing of the program runs; the box serves the first case too (agent/trial_pool.h).  Python has
 * more than that (judge_check.c), and what is compiled is told by its compiler.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/contract.h"
#include "agent/judge_inside.h"
#include "base/err.h"
#include "base/path.h"

#define FILES_MAX   8 /* of a program; what is beyond them is found when it runs */
#define OUT_KEEP    (64 << 10)
#define OUT_SEEN    3000
#define SUMMARY_MAX (32 << 10)

/* The contract's command may start another interpreter, for which other text is valid. */
static bool is_started_by(const struct program *program, const struct language_step *check)
{
    return check->argv[0] && strcmp(path_base(program->argv[0]), path_base(check->argv[0])) == 0;
}

static int not_valid(const struct program *program, const char *path, const struct trial_end *end,
                     enum diagnosis *ret_diagnosis, char **ret_summary, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(SUMMARY_MAX);

    if (words_end(end, &program->box.limits, &text, ret_diagnosis)) {
        (void)buf_printf(&text, " while its syntax was checked (%s).\n", path);
    } else {
        *ret_diagnosis = DIAGNOSIS_SYNTAX;
        (void)buf_printf(&text, "%s is no valid %s.\n", path, program->language->name);
    }
    words_output(&text, "the interpreter says", end->err.data, end->err.len, OUT_SEEN);
    words_output(&text, "and", end->out.data, end->out.len, OUT_SEEN);
    *ret_summary = buf_take(&text);
    return *ret_summary ? 0 : gb_no_memory(err);
}

static int run_check(const struct judge_spec *spec, const struct program *program, const char *path,
                     const struct language_step *check, enum diagnosis *ret_diagnosis,
                     char **ret_summary, struct gb_err *err)
{
    const struct trial_spec trial = {
        .box = &program->box,
        .files = program->load.files,
        .n_files = program->load.n,
        .argv = (const char *const *)check->argv,
        .env = check->env,
        .keep = OUT_KEEP,
        .cancel_fd = spec->cancel_fd,
        .deadline_ns = spec->deadline_ns,
        .pool = program->pool,
        .is_reading = true,
    };
    struct trial_end end;
    int r = judge_trial(&trial, &end, err);

    /* Without the interpreter, or without time, the tests will say so. */
    if (r == 0 && end.verdict != VERDICT_OK && !end.is_late && !end.end.exec_error)
        r = not_valid(program, path, &end, ret_diagnosis, ret_summary, err);
    trial_end_clear(&end);
    return r;
}

static int check_file(const struct judge_spec *spec, const struct program *program,
                      const struct agent_file *file, enum diagnosis *ret_diagnosis,
                      char **ret_summary, struct gb_err *err)
{
    char path[AGENT_PATH_MAX + sizeof(BOX_WORKSPACE "/")];
    const struct language_source source = { .path = path, .out = BOX_WORKSPACE "/" BUILD_FILE };
    struct language_step check;
    int r;

    (void)snprintf(path, sizeof(path), BOX_WORKSPACE "/%s", file->path);
    r = language_check(program->language, &source, &spec->box->limits, &check, err);
    if (r == 0 && is_started_by(program, &check))
        r = run_check(spec, program, file->path, &check, ret_diagnosis, ret_summary, err);
    language_step_clear(&check);
    return r;
}

int syntax_check(const struct judge_spec *spec, const struct program *program,
                 enum diagnosis *ret_diagnosis, char **ret_summary, struct gb_err *err)
{
    const struct agent_files *code = spec->code;
    size_t n = 0;
    int r = 0;

    for (size_t i = 0; i < code->n && n < FILES_MAX && r == 0 && !*ret_summary; i++) {
        const struct agent_file *file = &code->items[i];

        if (strcmp(file->path, spec->contract->files[0]) != 0 &&
            language_by_path(file->path) != program->language)
            continue;
        r = check_file(spec, program, file, ret_diagnosis, ret_summary, err);
        n++;
    }
    return r;
}
