/* SPDX-License-Identifier: Apache-2.0 */
/* agent/fence.h - files in a model's answer: a path line and a fence for each.
 *
 *    src/duration.py            or  **src/duration.py**, `src/duration.py`, ### src/duration.py,
 *    ```python                      File: src/duration.py, 1. `src/duration.py` - what it is,
 *    …                              or the path behind the language: ```python src/duration.py,
 *    ```                            ```python:src/duration.py, ```python title="src/duration.py",
 *                                   or a first line inside that says `# filename: duration.py`
 *
 * A fence is three or more backticks or tildes; it ends with a line of at least as many of the same
 * and nothing else, so that a longer fence may hold shorter ones.  In a Markdown file a fence with
 * a language begins an inner one, which ends first.  An indented fence (in a list) takes its indent
 * off its lines; one whose first line ends with CR LF has all of them turned into LF.
 *
 * The last non-empty line before a fence names the file if it looks like a path; sentences never
 * do.  When no fence has a path, the caller expects one file (fallback), and only one fence can be
 * it, because it is alone or the only one in that file's language, then it is.  Every other fence
 * is prose.
 *
 * The text is hostile: paths are clean and relative or refused (-EINVAL, the error names it),
 * numbers and sizes are bounded (-E2BIG, -EFBIG), a fence that does not end makes the answer
 * incomplete (-EBADMSG), a path given twice, or one below another, is refused (-EINVAL), and so is
 * a NUL byte.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

struct buf;
struct gb_err;
struct json_writer;

struct agent_file {
    char *path;
    char *text; /* followed by a NUL that len does not count */
    size_t len;
};

struct agent_files {
    struct agent_file *items;
    size_t n;
    char *prose; /* what stood outside of the fences, trimmed; the explanation.  Never NULL after a
                    scan; cut at FENCE_PROSE_MAX */
};

#define FENCE_FILES_MAX 64
#define FENCE_FILE_MAX  (1 << 20)
#define FENCE_TOTAL_MAX (4 << 20)
#define FENCE_PROSE_MAX (64 << 10)

/* fallback: path of a lone fence without one; NULL: such a fence is prose.  ret starts as { 0 } and
 * is empty after a failure. */
int fence_scan(const char *text, size_t len, const char *fallback, struct agent_files *ret,
               struct gb_err *err);
void agent_files_clear(struct agent_files *files);

#define cleanup_files cleanup_with(agent_files_clear)

const struct agent_file *agent_files_find(const struct agent_files *files, const char *path);

/* Adds the file, or replaces its text.  -EINVAL for a path that is refused, -E2BIG and -EFBIG for
 * too many and too much. */
int agent_files_put(struct agent_files *files, const char *path, const char *text, size_t len);

/* As JSON: a list of {"path", "text"}; and as the artifacts of a run have them, {"files":
 * [{"relative_path", "content"}], "reasoning"}.  key: NULL in a list, or for the whole. */
void agent_files_list(struct json_writer *w, const char *key, const struct agent_files *files);
void agent_files_artifact(struct json_writer *w, const char *key, const struct agent_files *files);

/* A path that a model may name: path_is_below(), at most AGENT_PATH_MAX bytes of UTF-8, without
 * blanks, control bytes, quotes, a backslash or any of : * ? < > |, no part that begins with '-',
 * and nothing that git obeys (run/touch.h). */
#define AGENT_PATH_MAX 255
int agent_path_check(const char *path, struct gb_err *err);

/* Would pytest look for tests in a file of that path?  And is it one of those, or one that says how
 * they are run?  Such are not the coder's to write, unless the contract names them. */
bool agent_path_is_collected(const char *path);
bool agent_path_is_testing(const char *path);

/* The other way: "File: path" and a fence that is longer than any in the text.  fence_scan() reads
 * the same file back, with a newline at its end. */
int fence_write(const char *path, const char *text, size_t len, struct buf *ret);

/* Where the JSON of an answer lies: in its first fence marked json, else from its first brace or
 * bracket to the last that matches it, else the whole. */
void fence_json(const char *text, size_t len, const char **ret, size_t *ret_len);
