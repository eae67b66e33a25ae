/* SPDX-License-Identifier: Apache-2.0 */
/* agent/attempt.c - attempts at code: what those of an answer and of a build have in common.
 *
 * Code that was there before is not run again, whichever attempt it was of: it is sampled anew, or
 * another approach is asked for.
 */
#include "agent/attempt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/write.h"
#include "base/err.h"
#include "store/digest.h"

#define ANEW      0.6 /* the temperature of an attempt that came back */
#define ANEW_SEED 1000
#define STALE_MAX 2 /* attempts in a row without new code, in a step */

/* ---- what is remembered --------------------------------------------------------------------- */

/* 1 when the code was run before; its digest in any case. */
static int is_known(const struct task *task, const struct agent_files *code,
                    char digest[static DIGEST_SIZE], struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(STATE_FILES_MAX);
    int r = files_text(code, &text);

    r = r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "no memory for the code")
              : digest_of(text.data, text.len, digest, err);
    for (size_t i = 0; i < task->n_earlier && r == 0; i++)
        r = strcmp(task->earlier[i], digest) == 0;
    return r;
}

int attempt_remember(struct task *task, const struct agent_files *code, struct gb_err *err)
{
    char digest[DIGEST_SIZE];
    char(*more)[DIGEST_SIZE];
    int r = is_known(task, code, digest, err);

    if (r != 0)
        return r < 0 ? r : 0;
    more = reallocarray(task->earlier, task->n_earlier + 1, sizeof(*more));
    if (!more)
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for an attempt");
    task->earlier = more;
    memcpy(more[task->n_earlier++], digest, DIGEST_SIZE);
    return 0;
}

/* ---- writing -------------------------------------------------------------------------------- */

void attempt_ask_anew(const struct task *task, struct writing *writing)
{
    writing->seed += ANEW_SEED;
    if (task->models[ROLE_CODER].samples)
        writing->temperature = ANEW;
    else
        writing->prompt = "another_approach";
}

int attempt_new(struct task *task, attempt_write write, void *user, struct agent_files *ret,
                unsigned *ret_iteration, struct gb_err *err)
{
    char digest[DIGEST_SIZE];
    int r = write(user, false, ret, ret_iteration, err);

    if (r == 0)
        r = is_known(task, ret, digest, err);
    if (r != 1)
        return r < 0 ? r : 1;
    task_note(task, "the same code as before: asked anew");
    agent_files_clear(ret);
    r = write(user, true, ret, ret_iteration, err);
    if (r == 0)
        r = is_known(task, ret, digest, err);
    return r < 0 ? r : !r;
}

/* ---- the row of them ------------------------------------------------------------------------ */

/* 1: there may be another.  0: their number is used up, which is no failure. */
static int may_try(struct task *task, struct gb_err *err)
{
    struct gb_err why = { 0 };
    int r = task_may(task, BUDGET_ATTEMPTS, &why);

    if (r == -EDQUOT)
        return 0;
    if (r < 0 && err)
        *err = why;
    return r < 0 ? r : 1;
}

/* As how->make() has it, but that an answer that cannot be used is only lost. */
static int try_once(struct task *task, const struct attempting *how, struct gb_err *err)
{
    struct gb_err why = { 0 };
    int r;

    budget_spend_attempt(&task->budget);
    r = how->make(how->user, &why);
    if (r == -EBADMSG && !task->is_over) {
        task_note(task, "%s", why.msg);
        how->lose(how->user, why.msg);
        return 0;
    }
    if (r == 0)
        how->lose(how->user, "the same code as before");
    if (r < 0 && err)
        *err = why;
    return r;
}

int attempts_make(struct task *task, const struct attempting *how, struct gb_err *err)
{
    unsigned stale = 0;

    while (!how->is_done(how->user) && stale < STALE_MAX) {
        int r = may_try(task, err);

        if (r <= 0)
            return r;
        r = try_once(task, how, err);
        if (r < 0)
            return r;
        stale = r == 1 ? 0 : stale + 1;
    }
    return 0;
}
