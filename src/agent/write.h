/* SPDX-License-Identifier: Apache-2.0 */
/* agent/write.h - the coder's answers: asked for, read, made into files. */
#pragma once

#include <stdbool.h>

#include "agent/fence.h"
#include "agent/state.h"

/* What the coder is asked with. */
struct writing {
    const char *name; /* of the effect */
    const char *prompt;
    const char *diagnosis; /* NULL: a first attempt */
    const char *history;
    const char *anchors;
    double temperature;
    uint64_t seed;
    const struct agent_files *present; /* files that are there, to be changed */
};

/* The files after the answer: those that it names, and the present ones that it leaves alone.  What
 * it says that names tests (test_…, conftest.py, pytest.ini) is left out: the tests are not the
 * coder's.  The answer's prose is the explanation; *ret_iteration is the folder's number. */
int write_code(struct task *task, const struct writing *writing, struct agent_files *ret,
               unsigned *ret_iteration, struct gb_err *err);

/* A line "Search: …" in the answer's prose, without that word, into ret. */
bool write_wants_search(const struct agent_files *files, struct buf *ret);

int files_copy(const struct agent_files *from, struct agent_files *ret);

/* All of them in fences, for a prompt. */
int files_text(const struct agent_files *files, struct buf *ret);

/* {"files": [{"relative_path", "content"}], "reasoning"} into the folder, and the files. */
void files_keep(const struct task *task, unsigned iteration, const struct agent_files *files);
