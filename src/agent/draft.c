/* SPDX-License-Identifier: Apache-2.0 */
/* agent/draft.c - the way on without a plan: code first, and a contract from it.
 *
 * A model that cannot write a contract can often write a short piece of code when it is asked for
 * nothing else.
 */
#include "agent/draft.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/ask.h"
#include "agent/fallback.h"
#include "agent/fence.h"
#include "agent/state.h"
#include "agent/write.h"
#include "base/err.h"

#define NAME_SIZE  64
#define FENCES_MAX 16 /* lines that may end the first fence of an answer */

struct drafting {
    struct task *task;
    const char *path; /* of code without one */
    struct agent_files code;
    struct contract contract;
};

/* ---- reading -------------------------------------------------------------------------------- */

/* The text up to the end of its first fence that is a file: weak models go on behind it, with other
 * fences or without end. */
static int scan_first(const char *text, size_t len, const char *path, struct agent_files *ret)
{
    size_t at = 0;

    for (unsigned n = 0; at < len && n < FENCES_MAX;) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t next = end ? (size_t)(end - text) + 1 : len;
        bool is_fence = len - at >= 3 && memcmp(text + at, "```", 3) == 0;

        n += is_fence;
        if (is_fence && fence_scan(text, next, path, ret, NULL) == 0 && ret->n > 0)
            return 0;
        agent_files_clear(ret);
        at = next;
    }
    return -ENOENT;
}

/* Without tests: they are not the coder's. */
static int keep_code(const struct agent_files *said, struct agent_files *ret, struct gb_err *err)
{
    int r = 0;

    agent_files_clear(ret);
    for (size_t i = 0; i < said->n && r == 0; i++)
        if (!agent_path_is_testing(said->items[i].path))
            r = agent_files_put(ret, said->items[i].path, said->items[i].text, said->items[i].len);
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_PEER, "the code is too much");
    if (ret->n == 0)
        return gb_fail(err, -EINVAL, GB_BLAME_PEER,
                       "no code was found: it must stand in a code block that ends");
    return 0;
}

static int take_draft(void *user, const char *text, size_t len, struct gb_err *err)
{
    struct drafting *drafting = user;
    const struct agent_spec *spec = drafting->task->spec;
    cleanup_files struct agent_files said = { 0 };
    int r = fence_scan(text, len, drafting->path, &said, NULL);

    if (r < 0 || said.n == 0)
        (void)scan_first(text, len, drafting->path, &said);
    r = keep_code(&said, &drafting->code, err);
    contract_clear(&drafting->contract);
    if (r == 0)
        r = fallback_contract(spec->objective, spec->language, &drafting->code, &drafting->contract,
                              err);
    return ask_taken(r);
}

/* ---- asking --------------------------------------------------------------------------------- */

static int ask_draft(struct drafting *drafting, struct gb_err *err)
{
    struct task *task = drafting->task;
    struct prompt_var vars[TASK_VARS + 1];
    char name[NAME_SIZE];
    unsigned iteration;
    struct question question = {
        .name = name,
        .role = ROLE_CODER,
        .doing = "writing code without a plan",
        .agent = "code",
        .prompt = "draft",
        .vars = vars,
        .n_vars = N_ELEMENTS(vars),
        .seed = 1,
    };
    int r;

    task_vars(task, vars);
    vars[TASK_VARS] =
        (struct prompt_var){ "language",
                             fallback_language(task->spec->objective, task->spec->language), 0 };
    (void)snprintf(name, sizeof(name), "step-%u/draft", task->step);
    r = ask(task, &question, take_draft, drafting, &iteration, err);
    if (r == 0)
        files_keep(task, iteration, &drafting->code);
    return r;
}

int draft_contract(struct task *task, struct contract *ret, struct gb_err *err)
{
    const char *objective = task->spec->objective;
    const char *language = task->spec->language;
    struct drafting drafting = { .task = task, .path = fallback_path(objective, language) };
    int r;

    task->is_unplanned = true;
    if (fallback_kind(objective, language) == CONTRACT_ANSWER)
        return fallback_contract(objective, language, NULL, ret, err);
    r = ask_draft(&drafting, err);
    if (r < 0) {
        agent_files_clear(&drafting.code);
        contract_clear(&drafting.contract);
        return r;
    }
    agent_files_clear(&task->draft);
    task->draft = drafting.code;
    *ret = drafting.contract;
    return 0;
}
