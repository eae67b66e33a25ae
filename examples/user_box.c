/* SPDX-License-Identifier: Apache-2.0 */
/* examples/user_box.c - the box of a user with libglovebox, and what ran in it.
 *
 *    cc user_box.c $(pkg-config --cflags --libs glovebox) -o user_box
 *    ./user_box ann 'echo hello >> diary; cat diary'     as often as you like
 *    ./user_box ann                                      what ran last, and all that it wrote
 *    ./user_box --remove ann
 */
#include <glovebox.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

/* Her box, made if there is none; files stay in it from run to run. */
static int run(struct glovebox_context *context, const char *user, const char *script,
               struct glovebox_error *err)
{
    struct glovebox_box_options options = GLOVEBOX_BOX_OPTIONS_INIT;
    struct glovebox_request *request = NULL;
    struct glovebox_result *result = NULL;
    struct glovebox_box *box = NULL;
    int r = glovebox_request_new(&request, err);

    options.ttl_ms = 3600000; /* an hour after it was made it goes by itself */
    if (r == 0)
        r = glovebox_request_code(request, "sh", NULL, script, strlen(script), err);
    if (r == 0)
        r = glovebox_user_attach(context, user, &options, &box, err);
    if (r == 0)
        r = glovebox_box_run(box, request, &result, err);
    if (r == 0)
        printf("%s", glovebox_result_output(result, 1, NULL));
    glovebox_result_free(result);
    glovebox_request_free(request);
    (void)glovebox_box_close(box); /* lets go of it; it lives on */
    return r;
}

static int show(const struct glovebox_context *context, const char *user,
                struct glovebox_error *err)
{
    struct glovebox_log_piece piece = GLOVEBOX_LOG_PIECE_INIT;
    struct glovebox_log *log = NULL;
    char box[GLOVEBOX_ID_SIZE];
    int r = glovebox_user_find(context, user, box, err);

    if (r == 0)
        r = glovebox_log_open(context, box, NULL, 0, &log, err);
    if (r < 0)
        return r;
    /* While the run goes on this waits for more, a second at a time. */
    while ((r = glovebox_log_next(log, 1000, &piece, err)) != GLOVEBOX_LOG_END && r >= 0)
        if (r == GLOVEBOX_LOG_PIECE)
            fwrite(piece.bytes, 1, piece.len, piece.stream == 1 ? stdout : stderr);
    printf("run %s, %llu bytes\n", glovebox_log_run(log),
           (unsigned long long)glovebox_log_cursor(log));
    glovebox_log_close(log);
    return r < 0 ? r : 0;
}

int main(int argc, char **argv)
{
    struct glovebox_error err = GLOVEBOX_ERROR_INIT;
    struct glovebox_context *context = NULL;
    int r = glovebox_context_new(&context, &err);

    if (argc != 2 && argc != 3) {
        fprintf(stderr, "usage: user_box USER [SCRIPT] | --remove USER\n");
        glovebox_context_free(context);
        return 2;
    }
    if (r == 0)
        r = glovebox_context_configure(context, environ, NULL, &err);
    if (r == 0 && argc == 2)
        r = show(context, argv[1], &err);
    else if (r == 0 && strcmp(argv[1], "--remove") == 0)
        r = glovebox_user_remove(context, argv[2], NULL, &err);
    else if (r == 0)
        r = run(context, argv[1], argv[2], &err);
    if (r < 0)
        fprintf(stderr, "user_box: %s\n%s\n", err.message, err.remedy);
    glovebox_context_free(context);
    return r < 0;
}
