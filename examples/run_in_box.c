/* SPDX-License-Identifier: Apache-2.0 */
/* examples/run_in_box.c - runs code in boxes with libglovebox.
 *
 *    cc run_in_box.c $(pkg-config --cflags --libs glovebox) -o run_in_box
 *
 * First a program in a box of its own, its output shown as it comes; then a box with two runs, of
 * which the second finds what the first has written.
 */
#include <glovebox.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

static int show(void *user, int stream, const void *bytes, size_t len)
{
    (void)user;
    return fwrite(bytes, 1, len, stream == 1 ? stdout : stderr) == len ? 0 : -1;
}

static int complain(const struct glovebox_error *err)
{
    fprintf(stderr, "run_in_box: %s\n", err->message);
    if (*err->remedy)
        fprintf(stderr, "remedy: %s\n", err->remedy);
    return -1;
}

static void tell(const char *what, const struct glovebox_result *result)
{
    printf("%s: %s, exit code %d, %.0f ms\n", what,
           glovebox_verdict_name(glovebox_result_verdict(result)),
           glovebox_result_exit_code(result),
           (double)glovebox_result_counter(result, GLOVEBOX_COUNTER_WALL_US) / 1000);
}

/* A box that is made for one run and gone behind it. */
static int run_once(const struct glovebox_context *context, struct glovebox_request *request)
{
    static const char code[] = "import sys\n"
                               "print('hello from a box,', sys.stdin.read())\n"
                               "sys.exit(3)\n";
    struct glovebox_error err = GLOVEBOX_ERROR_INIT;
    struct glovebox_result *result = NULL;
    int r = glovebox_request_code(request, "python", NULL, code, strlen(code), &err);

    if (r == 0)
        r = glovebox_request_stdin(request, "world", 5, &err);
    if (r == 0)
        r = glovebox_request_limit(request, GLOVEBOX_LIMIT_WALL_MS, 10000, &err);
    glovebox_request_output(request, show, NULL);
    if (r == 0)
        r = glovebox_exec(context, request, &result, &err);
    if (r == 0)
        tell("one run", result);
    glovebox_result_free(result);
    return r < 0 ? complain(&err) : 0;
}

static int run_in(struct glovebox_box *box, struct glovebox_request *request, const char *script,
                  struct glovebox_error *err)
{
    struct glovebox_result *result = NULL;
    int r = glovebox_request_code(request, "sh", NULL, script, strlen(script), err);

    if (r == 0)
        r = glovebox_box_run(box, request, &result, err);
    if (r == 0)
        tell(script, result);
    glovebox_result_free(result);
    return r;
}

/* A box with files that stay from run to run. */
static int run_twice(const struct glovebox_context *context, struct glovebox_request *request)
{
    struct glovebox_error err = GLOVEBOX_ERROR_INIT;
    struct glovebox_box *box = NULL;
    void *bytes = NULL;
    size_t len = 0;
    int r = glovebox_box_open(context, NULL, &box, &err);

    if (r == 0)
        r = glovebox_box_put(box, "words", "b\na\n", 4, 0644, &err);
    if (r == 0)
        r = run_in(box, request, "sort words > sorted", &err);
    if (r == 0)
        r = run_in(box, request, "tr a-z A-Z < sorted > upper", &err);
    if (r == 0)
        r = glovebox_box_get(box, "upper", 1 << 20, &bytes, &len, &err);
    if (r == 0)
        printf("upper:\n%.*s", (int)len, (const char *)bytes);
    glovebox_free(bytes);
    (void)glovebox_box_close(box);
    return r < 0 ? complain(&err) : 0;
}

int main(void)
{
    struct glovebox_error err = GLOVEBOX_ERROR_INIT;
    struct glovebox_context *context = NULL;
    struct glovebox_request *request = NULL;
    int r = glovebox_context_new(&context, &err);

    if (r == 0) /* what the command would do here; without it no file and no variable counts */
        r = glovebox_context_configure(context, environ, NULL, &err);
    if (r == 0)
        r = glovebox_request_new(&request, &err);
    if (r < 0)
        (void)complain(&err);
    if (r == 0)
        r = run_once(context, request);
    if (r == 0)
        r = run_twice(context, request);
    glovebox_request_free(request);
    glovebox_context_free(context);
    return r < 0;
}
