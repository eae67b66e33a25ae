/* SPDX-License-Identifier: Apache-2.0 */
/* agent/user_box.c - the box that a task's user keeps. */
#include "agent/user_box.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/judge_inside.h"
#include "agent/state.h"
#include "agent/write.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "box/box.h"
#include "json/value.h"
#include "json/writer.h"
#include "wire/crate.h"

#define LIST_MAX   (256 << 10)
#define NAMES_MAX  200 /* of files that models are told of */
#define FILES_MAX  100000
#define INPUT_MAX  128
#define OUTPUT_MAX 4096
#define REFUSED    "refused: "

static bool is_users(const struct task *task)
{
    return task->spec->owner.name;
}

/* ---- the box -------------------------------------------------------------------------------- */

/* What the task's own boxes have, this one has too. */
static int open_home(const void *user, struct box **ret, struct gb_err *err)
{
    const struct task *task = user;
    const struct agent_user *owner = &task->spec->owner;
    const struct user_wish wish = {
        .packages = &task->supply.wishes,
        .has_network = task->net.mode != NET_NONE,
    };
    int r = owner->open(owner->user, &wish, ret, err);

    return r < 0 ? gb_wrap(err, r, "the box of %s", owner->name) : 0;
}

static void close_home(const void *user, struct box *box)
{
    const struct task *task = user;

    task->spec->owner.close(task->spec->owner.user, box);
}

struct judge_home user_box_home(const struct task *task)
{
    if (!is_users(task))
        return (struct judge_home){ 0 };
    return (struct judge_home){ open_home, close_home, task };
}

/* ---- what lies in it ------------------------------------------------------------------------ */

struct looking {
    struct json_writer w;
    size_t n;
    size_t n_more;
};

/* What was built there is nothing that a program would read.  Names are a stranger's: long ones are
 * cut, and half of the room is left for what each byte of theirs may become. */
static int on_item(void *user, const struct crate_item *item)
{
    struct looking *looking = user;

    if (strncmp(item->path, BUILD_DIR "/", sizeof(BUILD_DIR)) == 0)
        return 0;
    if (looking->n == NAMES_MAX || looking->w.buf->len > LIST_MAX / 2) {
        looking->n_more++;
        return 0;
    }
    looking->n++;
    json_object_begin(&looking->w, NULL);
    json_put_bytes(&looking->w, "path", item->path, strnlen(item->path, JUDGE_LINE_MAX));
    json_put_u64(&looking->w, "bytes", item->size);
    json_object_end(&looking->w);
    return 0;
}

static int on_data(void *user, const uint8_t *bytes, size_t len)
{
    (void)user;
    (void)bytes;
    (void)len;
    return 0;
}

static int on_done(void *user)
{
    (void)user;
    return 0;
}

static int list_text(void *user, struct buf *ret, struct gb_err *err)
{
    static const struct crate_ops ops = { on_item, on_data, on_done };
    static const struct box_get_spec spec = {
        .dir = BOX_WORKSPACE,
        .path = "",
        .is_listing = true,
        .max_files = FILES_MAX,
        .max_bytes = UINT64_MAX / 2,
    };
    const struct task *task = user;
    const struct agent_user *owner = &task->spec->owner;
    struct looking looking = { 0 };
    struct box *box = NULL;
    int r = owner->open(owner->user, NULL, &box, err);

    json_writer_init(&looking.w, ret, false);
    json_object_begin(&looking.w, NULL);
    json_array_begin(&looking.w, "files");
    if (r == 0) {
        r = box_get(box, &spec, &ops, &looking, err);
        owner->close(owner->user, box);
    }
    if (r < 0)
        return gb_wrap(err, r, "the box of %s", owner->name);
    json_array_end(&looking.w);
    json_put_u64(&looking.w, "more", looking.n_more);
    json_object_end(&looking.w);
    r = json_writer_end(&looking.w);
    if (r == 0)
        r = task_clean(task, ret);
    return r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "no room for the names of files in the box of %s",
                           owner->name)
                 : 0;
}

/* For prompts, a line each. */
static char *lines_of(const struct json_value *value)
{
    const struct json_value *list = json_get(value, "files");
    cleanup_buf struct buf text = BUF_INIT(STATE_TEXT_MAX);
    uint64_t more = 0;

    (void)buf_puts(&text, "");
    for (size_t i = 0; i < json_count(list); i++) {
        const struct json_value *item = json_at(list, i);
        const char *path = json_str(json_get(item, "path"), NULL);
        uint64_t bytes = 0;

        (void)json_u64(json_get(item, "bytes"), &bytes);
        words_line(&text, path ? path : "", path ? strlen(path) : 0, JUDGE_LINE_MAX);
        (void)buf_printf(&text, " (%llu bytes)\n", (unsigned long long)bytes);
    }
    if (json_u64(json_get(value, "more"), &more) && more > 0)
        (void)buf_printf(&text, "and %llu more\n", (unsigned long long)more);
    return text.len > 0 ? buf_take(&text) : strdup("");
}

int user_box_look(struct task *task, struct gb_err *err)
{
    cleanup_buf struct buf input = BUF_INIT(INPUT_MAX);
    cleanup_buf struct buf output = BUF_INIT(LIST_MAX);
    cleanup_json struct json_value *value = NULL;
    int r;

    if (!is_users(task))
        return 0;
    (void)buf_puts(&input, task->spec->owner.name);
    r = task_do(task, "user", &input, list_text, task, &output, err);
    if (r >= 0)
        r = json_value_parse(output.data, output.len, LIST_MAX, &value, err);
    if (r < 0)
        return r;
    task->workspace = lines_of(value);
    return task->workspace ? 0 : gb_no_memory(err);
}

/* ---- what is kept in it --------------------------------------------------------------------- */

/* What lies there already may be in the way: that is nothing to fail for. */
static int keep_refused(const struct gb_err *why, struct buf *ret)
{
    (void)buf_puts(ret, REFUSED);
    return buf_add(ret, why->msg, gb_err_len(why));
}

static int keep_text(void *user, struct buf *ret, struct gb_err *err)
{
    struct task *task = user;
    cleanup_load struct load load = { 0 };
    struct gb_err why = { 0 };
    struct box *box = NULL;
    uint64_t mark;
    int r = load_files(&load, "", &task->out->code);

    if (r < 0)
        return gb_no_memory(err);
    r = open_home(task, &box, err);
    if (r < 0)
        return r;
    r = box_put(box, BOX_WORKSPACE, load.files, load.n, &mark, &why);
    close_home(task, box);
    if (r == 0)
        return buf_printf(ret, "%zu", load.n);
    if (why.blame == GB_BLAME_CALLER)
        return keep_refused(&why, ret);
    *err = why;
    return gb_wrap(err, r, "the box of %s", task->spec->owner.name);
}

int user_box_keep(struct task *task, bool has_run, struct gb_err *err)
{
    cleanup_buf struct buf input = BUF_INIT(STATE_FILES_MAX);
    cleanup_buf struct buf output = BUF_INIT(OUTPUT_MAX);
    int r = 0;

    if (!is_users(task))
        return 0;
    if (!has_run) {
        if (files_text(&task->out->code, &input) < 0)
            return gb_no_memory(err);
        r = task_do(task, "kept", &input, keep_text, task, &output, err);
    }
    if (r < 0)
        return r;
    if (output.len > 0 && strncmp(output.data, REFUSED, strlen(REFUSED)) == 0) {
        task_note(task, "it does not lie in the box of %s: %.*s", task->spec->owner.name,
                  (int)(output.len - strlen(REFUSED)), output.data + strlen(REFUSED));
        return 0;
    }
    task_note(task, "%s the box of %s: glovebox box ls --user %s",
              has_run ? "it ran, and lies, in" : "it lies in", task->spec->owner.name,
              task->spec->owner.name);
    return 0;
}
