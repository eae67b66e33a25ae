/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run_people.c - the person at the terminal, and the web. */
#include "cli/run_people.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "agent/task.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "cli/term_filter.h"
#include "cli/view.h"

#define QUESTION_SHOWN_MAX (256 << 10)

/* stdin where it is one, else the terminal that the command was started from; the caller closes
 * what is not stdin. */
static int open_terminal(void)
{
    int fd = isatty(STDIN_FILENO) ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : -1;

    return fd >= 0 ? fd : open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);
}

/* The view has told the question already when there is one. */
static void show(const struct run_people *people, const char *question)
{
    cleanup_buf struct buf text = BUF_INIT(QUESTION_SHOWN_MAX);

    if (people->view) {
        view_pause(people->view);
    } else {
        struct term_filter filter = { 0 };

        (void)term_filter_add(&filter, question, strlen(question), &text);
        (void)term_filter_end(&filter, &text);
        (void)buf_putc(&text, '\n');
    }
    (void)buf_puts(&text, "> ");
    (void)fd_write_full(STDERR_FILENO, text.data, text.len);
}

static size_t trimmed_len(const char *text, size_t len)
{
    while (len > 0 && strchr("\r\n \t", text[len - 1]))
        len--;
    return len;
}

/* One line as the terminal hands it over; an empty one is an answer too, the end (^D) is none. */
static int read_line(int fd, int cancel_fd, struct buf *ret, struct gb_err *err)
{
    struct pollfd waits[] = { { fd, POLLIN, 0 }, { cancel_fd, POLLIN, 0 } };
    char piece[4096];
    ssize_t n;

    do {
        while (poll(waits, 2, -1) < 0)
            if (errno != EINTR)
                return gb_fail_sys(err, "waiting for an answer");
        if (waits[1].revents)
            return gb_fail(err, -ECANCELED, GB_BLAME_CALLER, "cancelled");
        n = read(fd, piece, sizeof(piece));
        if (n < 0 && errno != EINTR)
            return gb_fail_sys(err, "reading the answer");
        if (n > 0 && buf_add(ret, piece, (size_t)n) < 0)
            return gb_fail(err, -EMSGSIZE, GB_BLAME_CALLER, "an answer may have %d KiB",
                           AGENT_ANSWER_MAX >> 10);
    } while (n != 0 && (ret->len == 0 || ret->data[ret->len - 1] != '\n'));
    return ret->len > 0 ? 0 : -EAGAIN;
}

static int no_answer(struct gb_err *err)
{
    return gb_fail(err, -EAGAIN, GB_BLAME_CALLER, "nobody is there to answer");
}

int run_people_ask(void *user, const char *question, struct buf *ret, struct gb_err *err)
{
    struct run_people *people = user;
    cleanup_buf struct buf line = BUF_INIT(AGENT_ANSWER_MAX);
    cleanup_close int fd = -1;
    int r;

    if (people->answer) {
        r = buf_add(ret, people->answer, trimmed_len(people->answer, strlen(people->answer)));
        people->answer = NULL;
        return r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "out of memory") : 0;
    }
    if (people->has_terminal)
        fd = open_terminal();
    if (fd < 0)
        return no_answer(err);
    show(people, question);
    r = read_line(fd, people->cancel_fd, &line, err);
    if (r == -EAGAIN)
        return no_answer(err);
    if (r == 0 && buf_add(ret, line.data, trimmed_len(line.data, line.len)) < 0)
        r = gb_no_memory(err);
    return r;
}

int run_people_search(void *user, const char *query, uint64_t deadline_ns, struct buf *ret,
                      struct gb_err *err)
{
    const struct run_people *people = user;

    if (!people->has_search)
        return gb_fail(err, -ENOKEY, GB_BLAME_CALLER,
                       "no search server is set up" GB_REMEDY "set TAVILY_API_KEY, or SEARXNG_URL");
    return search_web(&people->search, query, deadline_ns, people->cancel_fd, ret, err);
}
