/* SPDX-License-Identifier: Apache-2.0 */
/* agent/recorder.c - a task's effects in a file: writing it.
 *
 * The file appears with all that was done before, and grows by one write(2) a line.  A line that
 * does not fit on the disk is taken back; one that is cut by a kill has no newline, which is how a
 * reader knows it. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/recording.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/fd.h"
#include "json/utf8.h"
#include "json/writer.h"
#include "run/save.h"
#include "store/store.h"

struct recorder_draft {
    struct save save;
    char *path;
    uint64_t len;
};

/* An output of the largest size, escaped byte by byte, would not fit; no text is like that. */
#define LINE_MAX_BYTES RECORDING_MAX

static int end_line(struct json_writer *w, struct buf *ret)
{
    json_object_end(w);
    (void)json_writer_end(w);
    return buf_putc(ret, '\n');
}

static int head_text(const char *objective, struct buf *ret)
{
    struct json_writer w;

    json_writer_init(&w, ret, false);
    json_object_begin(&w, NULL);
    json_put_u64(&w, "glovebox-recording", 1);
    json_put_str(&w, "objective", objective);
    return end_line(&w, ret);
}

static int effect_text(const struct store_effect *effect, struct buf *ret)
{
    const char *output = effect->output_len > 0 ? effect->output : "";
    bool is_text =
        utf8_is_valid(output, effect->output_len) && !memchr(output, '\0', effect->output_len);
    struct json_writer w;

    json_writer_init(&w, ret, false);
    json_object_begin(&w, NULL);
    json_put_str(&w, "name", effect->name);
    json_put_str(&w, "digest", effect->digest);
    if (is_text)
        json_put_bytes(&w, "output", output, effect->output_len);
    else
        json_put_base64(&w, "output_base64", output, effect->output_len);
    return end_line(&w, ret);
}

static int too_much(const char *path, int code, struct gb_err *err)
{
    if (code == -EMSGSIZE)
        return gb_fail(err, -EFBIG, GB_BLAME_CALLER, "the recording '%s' would exceed %d MiB", path,
                       RECORDING_MAX >> 20);
    return gb_fail(err, code, GB_BLAME_HOST, "the recording '%s': %s", path, strerror(-code));
}

/* ---- the draft ------------------------------------------------------------------------------ */

static int draft_add(struct recorder_draft *draft, const struct buf *line, int r,
                     struct gb_err *err)
{
    if (r == 0 && draft->len + line->len > RECORDING_MAX)
        r = -EMSGSIZE;
    if (r < 0)
        return too_much(draft->path, r, err);
    draft->len += line->len;
    r = save_add(&draft->save, line->data, line->len, err);
    return r < 0 ? gb_wrap(err, r, "the recording") : 0;
}

/* Not a device, a link or the like, which the new file would take the place of. */
static int check_place(const char *path, struct gb_err *err)
{
    struct stat st;

    if (lstat(path, &st) < 0 || S_ISREG(st.st_mode))
        return 0;
    return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "the recording '%s' is there and is not a file",
                   path);
}

static int draft_open(struct recorder_draft *draft, const char *path, struct gb_err *err)
{
    int r = check_place(path, err);

    if (r < 0)
        return r;
    r = save_begin(&draft->save, -1, path, 0600, err);
    /* It has all that models and programs said, and is its owner's alone. */
    if (r == 0 && fchmod(draft->save.fd, 0600) < 0)
        r = gb_fail_sys(err, "'%s'", path);
    return r < 0 ? gb_wrap(err, r, "the recording") : 0;
}

int recorder_begin(const char *path, const char *objective, struct recorder_draft **ret,
                   struct gb_err *err)
{
    cleanup_buf struct buf line = BUF_INIT(LINE_MAX_BYTES);
    cleanup_draft struct recorder_draft *draft = NULL;
    int r;

    draft = calloc(1, sizeof(*draft));
    if (draft)
        draft->save = (struct save){ .dir_fd = -1, .fd = -1 };
    if (!draft || !(draft->path = strdup(path)))
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for a recording");
    r = draft_open(draft, path, err);
    if (r == 0)
        r = draft_add(draft, &line, head_text(objective, &line), err);
    if (r == 0)
        *ret = take_ptr(draft);
    return r;
}

int recorder_draft_add(struct recorder_draft *draft, const struct store_effect *effect,
                       struct gb_err *err)
{
    cleanup_buf struct buf line = BUF_INIT(LINE_MAX_BYTES);
    int r = effect_text(effect, &line);

    return draft_add(draft, &line, r, err);
}

void recorder_abort(struct recorder_draft **draft)
{
    if (!*draft)
        return;
    save_abort(&(*draft)->save);
    free((*draft)->path);
    free(*draft);
    *draft = NULL;
}

/* The descriptor stays with the file through its renaming; only so is it sure to be the same. */
int recorder_commit(struct recorder_draft **draft, struct recorder *ret, struct gb_err *err)
{
    cleanup_close int fd = fcntl((*draft)->save.fd, F_DUPFD_CLOEXEC, 3);
    int r = fd < 0 ? gb_fail_sys(err, "the recording '%s'", (*draft)->path)
                   : save_commit(&(*draft)->save, err);

    if (r == 0)
        *ret = (struct recorder){
            .fd = take_fd(&fd),
            .path = take_ptr((*draft)->path),
            .end = (*draft)->len,
        };
    recorder_abort(draft);
    return r;
}

/* ---- the file ------------------------------------------------------------------------------- */

int recorder_add(struct recorder *recorder, const struct store_effect *effect, struct gb_err *err)
{
    cleanup_buf struct buf line = BUF_INIT(LINE_MAX_BYTES);
    int r = effect_text(effect, &line);

    if (r == 0 && recorder->end + line.len > RECORDING_MAX)
        r = -EMSGSIZE;
    if (r == 0)
        r = fd_write_full(recorder->fd, line.data, line.len);
    if (r == 0) {
        recorder->end += line.len;
        return 0;
    }
    /* One whose last line cannot be taken back takes no more. */
    if (ftruncate(recorder->fd, (off_t)recorder->end) < 0 ||
        lseek(recorder->fd, (off_t)recorder->end, SEEK_SET) < 0)
        drop_fd(&recorder->fd);
    return too_much(recorder->path, r, err);
}

void recorder_close(struct recorder *recorder)
{
    drop_fd(&recorder->fd);
    free(recorder->path);
    *recorder = (struct recorder){ .fd = -1 };
}
