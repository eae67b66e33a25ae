/* SPDX-License-Identifier: Apache-2.0 */
/* agent/write.c - the coder's answers: asked for, read, made into files. */
#include "agent/write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent/ask.h"
#include "agent/edit.h"
#include "agent/folder.h"
#include "base/err.h"
#include "json/writer.h"

#define KEEP_MAX (64 << 20)

/* ---- reading an answer ---------------------------------------------------------------------- */

struct reading {
    const struct task *task;
    const struct agent_files *present;
    struct agent_files *ret;
};

static bool is_named(const struct contract *contract, const char *path)
{
    for (char **file = contract->files; *file; file++)
        if (strcmp(*file, path) == 0)
            return true;
    return false;
}

/* One file of the answer: whole, or blocks that change the present one. */
static int take_file(const struct reading *reading, const struct agent_file *file,
                     struct gb_err *err)
{
    const struct agent_file *old;
    cleanup_free char *text = NULL;
    size_t len;
    int r;

    if (!edit_is_blocks(file->text, file->len)) {
        r = agent_files_put(reading->ret, file->path, file->text, file->len);
        return r < 0 ? gb_fail(err, r, GB_BLAME_PEER, "the file '%s' is too much", file->path) : 0;
    }
    old = agent_files_find(reading->present, file->path);
    if (!old)
        return gb_fail(err, -EINVAL, GB_BLAME_PEER,
                       "there is no file '%s' that blocks could change; write it whole",
                       file->path);
    r = edit_apply(old->text, old->len, file->text, file->len, &text, &len, err);
    if (r < 0)
        return gb_wrap(err, r, "'%s'", file->path);
    r = agent_files_put(reading->ret, file->path, text, len);
    return r < 0 ? gb_fail(err, r, GB_BLAME_PEER, "the file '%s' is too much", file->path) : 0;
}

static int take_files(const struct reading *reading, struct agent_files *said, struct gb_err *err)
{
    size_t taken = 0;
    int r = reading->present ? files_copy(reading->present, reading->ret) : 0;

    for (size_t i = 0; i < said->n && r == 0; i++) {
        const char *path = said->items[i].path;

        if (agent_path_is_testing(path) && !is_named(&reading->task->out->contract, path))
            continue;
        r = take_file(reading, &said->items[i], err);
        taken++;
    }
    if (r == 0 && taken == 0)
        r = gb_fail(err, -EINVAL, GB_BLAME_PEER, "%s",
                    said->n > 0 ? "tests are not yours to write: give the files of the contract"
                                : "no file was found: each needs a line `File: path` and a fence");
    free(reading->ret->prose);
    reading->ret->prose = take_ptr(said->prose);
    return r;
}

static int take_answer(void *user, const char *text, size_t len, struct gb_err *err)
{
    struct reading *reading = user;
    const struct contract *contract = &reading->task->out->contract;
    cleanup_files struct agent_files said = { 0 };
    int r = fence_scan(text, len, contract->files[1] ? NULL : contract->files[0], &said, err);

    agent_files_clear(reading->ret);
    if (r == 0)
        r = take_files(reading, &said, err);
    return ask_taken(r);
}

static int files_json(const struct agent_files *files, struct buf *ret)
{
    struct json_writer w;

    json_writer_init(&w, ret, true);
    agent_files_artifact(&w, NULL, files);
    return json_writer_end(&w);
}

static void put_command(const struct contract *contract, struct buf *ret)
{
    for (size_t i = 0; contract->command[i]; i++)
        (void)buf_printf(ret, "%s%s", i ? " " : "", contract->command[i]);
    if (ret->len == 0)
        (void)buf_puts(ret, contract->files[0]);
}

/* ---- asking --------------------------------------------------------------------------------- */

int write_code(struct task *task, const struct writing *writing, struct agent_files *ret,
               unsigned *ret_iteration, struct gb_err *err)
{
    cleanup_buf struct buf files = BUF_INIT(STATE_FILES_MAX);
    cleanup_buf struct buf command = BUF_INIT(STATE_TEXT_MAX);
    cleanup_buf struct buf previous = BUF_INIT(KEEP_MAX);
    struct reading reading = { task, writing->present, ret };
    struct prompt_var vars[TASK_VARS + 4];
    struct question question = {
        .name = writing->name,
        .role = ROLE_CODER,
        .doing = writing->diagnosis ? "mending code" : "writing code",
        .agent = "code",
        .prompt = writing->prompt,
        .vars = vars,
        .n_vars = N_ELEMENTS(vars),
        .temperature = writing->temperature,
        .seed = writing->seed,
        .feedback = writing->diagnosis,
    };

    if (writing->present &&
        (files_text(writing->present, &files) < 0 || files_json(writing->present, &previous) < 0))
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for the files");
    put_command(&task->out->contract, &command);
    question.command = command.data;
    question.previous = previous.data;
    task_vars(task, vars);
    vars[TASK_VARS] = (struct prompt_var){ "files", files.data, 0 };
    vars[TASK_VARS + 1] = (struct prompt_var){ "diagnosis", writing->diagnosis, 0 };
    vars[TASK_VARS + 2] = (struct prompt_var){ "history", writing->history, 0 };
    vars[TASK_VARS + 3] = (struct prompt_var){ "anchors", writing->anchors, 0 };
    return ask(task, &question, take_answer, &reading, ret_iteration, err);
}

bool write_wants_search(const struct agent_files *files, struct buf *ret)
{
    static const char word[] = "Search: ";
    const char *line = files->prose;

    while (line && strncasecmp(line, word, sizeof(word) - 1) != 0) {
        line = strchr(line, '\n');
        line += line != NULL;
    }
    if (!line)
        return false;
    line += sizeof(word) - 1;
    return buf_add(ret, line, strcspn(line, "\n")) == 0 && ret->len > 0;
}

/* ---- files ---------------------------------------------------------------------------------- */

int files_copy(const struct agent_files *from, struct agent_files *ret)
{
    int r = 0;

    for (size_t i = 0; i < from->n && r == 0; i++)
        r = agent_files_put(ret, from->items[i].path, from->items[i].text, from->items[i].len);
    return r;
}

int files_text(const struct agent_files *files, struct buf *ret)
{
    int r = 0;

    for (size_t i = 0; i < files->n && r == 0; i++)
        r = fence_write(files->items[i].path, files->items[i].text, files->items[i].len, ret);
    return r;
}

void files_keep(const struct task *task, unsigned iteration, const struct agent_files *files)
{
    struct folder_step step = { iteration, "code" };
    cleanup_buf struct buf text = BUF_INIT(KEEP_MAX);

    if (!task->spec->folder)
        return;
    if (files_json(files, &text) == 0)
        (void)folder_put(task->spec->folder, step, FOLDER_OUTPUT, text.data, text.len, NULL);
    (void)folder_put_code(task->spec->folder, step, files, NULL);
}
