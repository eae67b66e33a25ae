/* SPDX-License-Identifier: Apache-2.0 */
/* lib_api/lib_packages.c - packages through the library, told line by line for test_packages.py,
 * which has an index.
 *
 *    lib_packages SCENE FILE        settings and the index come from the environment
 */
#include <errno.h>
#include <glovebox.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct glovebox_error err = GLOVEBOX_ERROR_INIT;
static struct glovebox_context *context;
static struct glovebox_request *request;
static struct glovebox_packages *packages;

static void must(int r)
{
    if (r == 0)
        return;
    fprintf(stderr, "%d: %s\n%s\n", r, err.message, err.remedy);
    exit(1);
}

static void on_install(void *user, enum glovebox_install_event event, const char *text)
{
    static const char *const words[] = { "waiting", "installing", NULL, "installed" };

    (void)user;
    if (words[event])
        printf("%s%s%s\n", words[event], *text ? " " : "", text);
}

static void want(enum glovebox_package_kind kind, const char *name)
{
    must(glovebox_packages_add(packages, kind, name, &err));
    must(glovebox_request_packages(request, packages, &err));
}

static void python(const char *text)
{
    must(glovebox_request_code(request, "python", NULL, text, strlen(text), &err));
}

static void tell(struct glovebox_result *result)
{
    const char *version = NULL;
    const char *name;

    printf("%s: %s", glovebox_verdict_name(glovebox_result_verdict(result)),
           glovebox_result_output(result, 1, NULL));
    for (size_t i = 0; (name = glovebox_result_package(result, i, &version)); i++)
        printf("%s %s\n", name, version);
    glovebox_result_free(result);
}

static void exec_and_tell(void)
{
    struct glovebox_result *result = NULL;

    must(glovebox_exec(context, request, &result, &err));
    tell(result);
}

/* ---- scenes --------------------------------------------------------------------------------- */

static void names(const char *file)
{
    (void)file;
    want(GLOVEBOX_PACKAGE_PYTHON, "tiny-one>=1");
    python("import tiny_one; print(tiny_one.VERSION)");
    exec_and_tell();
    exec_and_tell(); /* found in the cache: nobody is told of an installation */
}

static void files(const char *file)
{
    must(glovebox_packages_add_file(packages, GLOVEBOX_PACKAGE_PYTHON, file, &err));
    must(glovebox_request_packages(request, packages, &err));
    python("import tiny_one, tiny_two; print(tiny_two.NAME)");
    exec_and_tell();
}

static void imports(const char *file)
{
    (void)file;
    must(glovebox_request_packages(request, packages, &err));
    must(glovebox_request_flags(request, GLOVEBOX_AUTO_PACKAGES, &err));
    python("import tiny_two\nprint(tiny_two.NAME)");
    exec_and_tell();
}

static void node(const char *file)
{
    static const char text[] = "console.log(require('tiny-node'))";

    (void)file;
    want(GLOVEBOX_PACKAGE_NODE, "tiny-node@^1");
    must(glovebox_request_code(request, "javascript", NULL, text, strlen(text), &err));
    exec_and_tell();
}

static void run_in(struct glovebox_box *box)
{
    struct glovebox_result *result = NULL;

    must(glovebox_box_run(box, request, &result, &err));
    tell(result);
}

static void boxes(const char *file)
{
    struct glovebox_box_options options = GLOVEBOX_BOX_OPTIONS_INIT;
    struct glovebox_box *box = NULL;
    uint32_t survivors = 1;

    (void)file;
    must(glovebox_packages_add(packages, GLOVEBOX_PACKAGE_PYTHON, "tiny-one", &err));
    options.packages = packages;
    python("import tiny_one; print(tiny_one.NAME)");
    must(glovebox_box_open(context, &options, &box, &err));
    run_in(box);
    run_in(box);
    (void)glovebox_box_close(box);
    must(glovebox_user_attach(context, "ann", &options, &box, &err));
    run_in(box);
    (void)glovebox_box_close(box);
    must(glovebox_user_attach(context, "ann", NULL, &box, &err));
    run_in(box);
    (void)glovebox_box_close(box);
    must(glovebox_user_remove(context, "ann", &survivors, &err));
    printf("survivors %u\n", survivors);
}

static void missing(const char *file)
{
    struct glovebox_result *result = NULL;

    (void)file;
    want(GLOVEBOX_PACKAGE_PYTHON, "not-there");
    python("print(1)");
    printf("%d\n", glovebox_exec(context, request, &result, &err) < 0);
    printf("%s\n%s\n", err.message, err.remedy);
    puts(strstr(glovebox_result_json(result), "\"no_such_package\"") ? "told" : "not told");
    printf("%s\n", glovebox_verdict_name(glovebox_result_verdict(result)));
    glovebox_result_free(result);
}

/* The descriptor is readable from the beginning. */
static void cancelled(const char *file)
{
    struct glovebox_box_options options = GLOVEBOX_BOX_OPTIONS_INIT;
    struct glovebox_result *result = NULL;
    struct glovebox_box *box = NULL;
    int fds[2];

    (void)file;
    must(pipe(fds) < 0 || write(fds[1], "x", 1) != 1);
    want(GLOVEBOX_PACKAGE_PYTHON, "tiny-one");
    python("print(1)");
    glovebox_request_cancel_fd(request, fds[0]);
    printf("%d\n", glovebox_exec(context, request, &result, &err) == -ECANCELED);
    glovebox_result_free(result);
    options.packages = packages;
    options.cancel_fd = fds[0];
    printf("%d\n", glovebox_box_open(context, &options, &box, &err) == -ECANCELED);
}

static const struct {
    const char *name;
    void (*play)(const char *file);
} scenes[] = {
    { "names", names }, { "files", files },     { "imports", imports },     { "node", node },
    { "boxes", boxes }, { "missing", missing }, { "cancelled", cancelled },
};

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    must(glovebox_context_new(&context, &err));
    must(glovebox_context_configure(context, environ, NULL, &err));
    must(glovebox_request_new(&request, &err));
    must(glovebox_packages_new(&packages, &err));
    glovebox_packages_watch(packages, on_install, NULL);
    for (size_t i = 0; i < sizeof(scenes) / sizeof(*scenes); i++)
        if (strcmp(scenes[i].name, argv[1]) == 0)
            scenes[i].play(argv[2]);
    glovebox_packages_free(packages);
    glovebox_request_free(request);
    glovebox_context_free(context);
    return 0;
}
