/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run_deliver.c - what a task hands over, as files. */
#include "cli/run_deliver.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/cases.h"
#include "agent/recipe.h"
#include "agent/task.h"
#include "base/buf.h"
#include "base/dir.h"
#include "base/err.h"
#include "base/file.h"
#include "base/sys.h"
#include "run/save.h"
#include "store/digest.h"

#define INI_MAX    (256 << 10)
#define RECIPE_MAX (1 << 20)

/* The same as guest/python/pytest_compat.py has; a test compares them. */
static const char pytest_ini[] = "[pytest]\n"
                                 "pythonpath = .%s\n"
                                 "markers =\n"
                                 "    normal: the usual cases\n"
                                 "    edge: cases at the limits\n"
                                 "    invalid: input that must be refused\n"
                                 "    stress: large or long cases\n";

/* ---- which files ---------------------------------------------------------------------------- */

static int add(struct deliverable *all, const char *dir, const char *path, const char *text,
               size_t len)
{
    struct deliverable_file *grown = reallocarray(all->items, all->n + 1, sizeof(*grown));
    struct deliverable_file *item;

    if (!grown)
        return -ENOMEM;
    all->items = grown;
    item = &all->items[all->n];
    *item = (struct deliverable_file){ .len = len, .text = malloc(len + 1), .is_test = *dir };
    if (!item->text || asprintf(&item->path, "%s%s", dir, path) < 0) {
        free(item->text);
        return -ENOMEM;
    }
    memcpy(item->text, text, len);
    item->text[len] = '\0';
    all->n++;
    return 0;
}

void deliverable_clear(struct deliverable *deliverable)
{
    for (size_t i = 0; i < deliverable->n; i++) {
        free(deliverable->items[i].path);
        free(deliverable->items[i].text);
    }
    free(deliverable->items);
    *deliverable = (struct deliverable){ 0 };
}

/* Does the code itself have files of that name, or below it? */
static bool code_has(const struct agent_files *code, const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < code->n; i++)
        if (strncmp(code->items[i].path, name, len) == 0 &&
            (code->items[i].path[len] == '/' || !code->items[i].path[len]))
            return true;
    return false;
}

/* "tests/", or another name where the code has one such. */
static void name_tests_dir(const struct agent_files *code, char ret[static 16])
{
    char name[12] = "tests";

    for (int n = 2; code_has(code, name) && n < 100; n++)
        (void)snprintf(name, sizeof(name), "tests_%d", n);
    (void)snprintf(ret, 16, "%s/", name);
}

static const char *below_tests(const char *path)
{
    return strncmp(path, "tests/", 6) == 0 ? path + 6 : path;
}

/* What may stand between apostrophes in an ini file; of anything else only the function's name. */
static void put_deselected(const char *dir, const char *id, struct buf *ret)
{
    size_t len = strlen(id);

    for (size_t i = 0; i < strlen(id); i++)
        if ((unsigned char)id[i] < ' ' || id[i] == '\'' || id[i] == '\\' || id[i] == '\x7f')
            len = strcspn(id, "[");
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)id[i] < ' ' || id[i] == '\'' || id[i] == '\\')
            return;
    (void)buf_printf(ret, "    '--deselect=%s%.*s'\n", dir, (int)len, id);
}

/* " 'src'" for src/adder.py: tests import the module by its name alone.  "" where it lies on top,
 * or where no ini file could hold the name. */
static void path_of_module(const struct contract *contract, char ret[static PATH_MAX])
{
    const char *module = contract->module ? contract->module : "";
    const char *slash = strrchr(module, '/');

    ret[0] = '\0';
    for (const char *c = module; slash && c < slash; c++)
        if ((unsigned char)*c < ' ' || *c == '\'' || *c == '\\' || *c == '\x7f')
            return;
    if (slash)
        (void)snprintf(ret, PATH_MAX, " '%.*s'", (int)(slash - module), module);
}

static int add_ini(const struct agent_outcome *outcome, const char *dir, struct deliverable *ret)
{
    cleanup_buf struct buf text = BUF_INIT(INI_MAX);
    char path[PATH_MAX];
    bool has_withdrawn = false;

    if (code_has(&outcome->code, "pytest.ini"))
        return 0;
    path_of_module(&outcome->contract, path);
    (void)buf_printf(&text, pytest_ini, path);
    for (size_t i = 0; i < outcome->tests.n; i++) {
        if (outcome->tests.cases || !outcome->tests.items[i].is_withdrawn)
            continue;
        if (!has_withdrawn)
            (void)buf_puts(&text, "# Tests that were withdrawn because they contradict the task.\n"
                                  "addopts =\n");
        has_withdrawn = true;
        put_deselected(dir, below_tests(outcome->tests.items[i].id), &text);
    }
    return buf_error(&text) < 0 ? -ENOMEM : add(ret, "", "pytest.ini", text.data, text.len);
}

static int add_test_files(const struct agent_outcome *outcome, const char *dir,
                          struct deliverable *ret)
{
    const struct agent_files *files = &outcome->tests.files;
    int r = files->n > 0 ? add_ini(outcome, dir, ret) : 0;

    for (size_t i = 0; r == 0 && i < files->n; i++)
        r = add(ret, dir, below_tests(files->items[i].path), files->items[i].text,
                files->items[i].len);
    return r;
}

static bool is_withdrawn(const struct judge_tests *tests, const char *name)
{
    for (size_t i = 0; i < tests->n; i++)
        if (strcmp(tests->items[i].id, name) == 0)
            return tests->items[i].is_withdrawn;
    return false;
}

/* In place: what is dropped goes behind the end, where it is cleared with the rest. */
static size_t drop_withdrawn(struct program_cases *cases, const struct judge_tests *tests)
{
    size_t kept = 0;

    for (size_t i = 0; i < cases->n; i++) {
        struct program_case one = cases->items[i];

        if (is_withdrawn(tests, one.name))
            continue;
        cases->items[i] = cases->items[kept];
        cases->items[kept++] = one;
    }
    return kept;
}

static int add_cases(const struct agent_outcome *outcome, const char *dir, struct deliverable *ret,
                     struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(CASES_TEXT_MAX);
    cleanup_cases struct program_cases cases = { 0 };
    const char *json = outcome->tests.cases;
    size_t n;
    int r = cases_parse(json, strlen(json), &cases, err);

    if (r < 0)
        return r;
    n = cases.n;
    cases.n = drop_withdrawn(&cases, &outcome->tests);
    r = cases_text(&cases, &text);
    cases.n = n;
    if (r == 0)
        r = buf_putc(&text, '\n');
    return r < 0 ? r : add(ret, dir, "cases.json", text.data, text.len);
}

/* What runs the cases under plain pytest. */
static int add_runner(const struct agent_outcome *outcome, const char *dir, struct deliverable *ret,
                      struct gb_err *err)
{
    cleanup_buf struct buf recipe = BUF_INIT(RECIPE_MAX);
    size_t len;
    const char *runner = recipe_tests(&len);
    int r = recipe_text(outcome, &recipe, err);

    if (r == 0)
        r = add_ini(outcome, dir, ret);
    if (r == 0)
        r = add(ret, dir, "program.json", recipe.data, recipe.len);
    return r < 0 ? r : add(ret, dir, RECIPE_TESTS_FILE, runner, len);
}

int deliverable_make(const struct agent_outcome *outcome, struct deliverable *ret,
                     struct gb_err *err)
{
    char dir[16];
    int r = 0;

    for (size_t i = 0; r == 0 && i < outcome->code.n; i++)
        r = add(ret, "", outcome->code.items[i].path, outcome->code.items[i].text,
                outcome->code.items[i].len);
    name_tests_dir(&outcome->code, dir);
    if (r == 0 && outcome->code.n > 0)
        r = add_test_files(outcome, dir, ret);
    if (r == 0 && outcome->code.n > 0 && outcome->tests.cases)
        r = add_cases(outcome, dir, ret, err);
    if (r == 0 && outcome->code.n > 0 && outcome->tests.cases)
        r = add_runner(outcome, dir, ret, err);
    return r == -ENOMEM ? gb_no_memory(err) : r;
}

/* ---- writing them --------------------------------------------------------------------------- */

static bool is_empty(DIR *dir)
{
    const struct dirent *entry;

    while ((entry = readdir(dir)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            return false;
    return true;
}

/* Absolute, also when there is nothing yet. */
static char *absolute(const char *path)
{
    cleanup_free char *here = NULL;
    char *whole = NULL;

    if (path[0] == '/')
        return strdup(path);
    here = getcwd(NULL, 0);
    if (!here || asprintf(&whole, "%s/%s", here, path) < 0)
        return NULL;
    return whole;
}

static int no_place(const char *dir, int error, struct gb_err *err)
{
    return gb_fail(err, -error, GB_BLAME_CALLER,
                   "--out: '%.200s': %s" GB_REMEDY "name another directory", dir,
                   error == EEXIST ? "is there and is no directory" : strerror(error));
}

/* Makes the first directory that is missing on the way there, and takes it away again. */
static int try_to_make(const char *dir)
{
    cleanup_free char *path = absolute(dir);
    bool is_cut = false;

    if (!path)
        return -ENOMEM;
    while (mkdir(path, 0755) < 0) {
        char *slash = strrchr(path, '/');

        if (errno != ENOENT || slash == path)
            return errno == EEXIST && is_cut ? -ENOENT : -errno;
        *slash = '\0';
        is_cut = true;
    }
    (void)rmdir(path);
    return 0;
}

int deliver_check(const char *dir, bool is_forced, char **ret, struct gb_err *err)
{
    DIR *opened = *dir ? opendir(dir) : NULL;
    int error = *dir ? errno : ENOENT;
    bool is_free = !opened || is_forced || is_empty(opened);

    if (!opened && error == ENOENT && *dir)
        error = -try_to_make(dir);
    else if (opened)
        error = access(dir, W_OK | X_OK) < 0 ? errno : 0;
    if (opened)
        (void)closedir(opened);
    if (error)
        return no_place(dir, error, err);
    if (!is_free)
        return gb_fail(err, -ENOTEMPTY, GB_BLAME_CALLER,
                       "--out: '%.200s' is not empty" GB_REMEDY
                       "name a new directory, or say --force to write among its files",
                       dir);
    *ret = opened ? realpath(dir, NULL) : absolute(dir);
    return *ret ? 0 : gb_fail_sys(err, "--out: '%.200s'", dir);
}

/* 1: its contents; 0: there is no such file. */
static int read_beneath(int fd, const char *path, struct buf *ret)
{
    struct sys_open_how how = {
        .flags = FILE_READING,
        .resolve = SYS_RESOLVE_BENEATH | SYS_RESOLVE_NO_SYMLINKS | SYS_RESOLVE_NO_MAGICLINKS,
    };
    cleanup_close int file = sys_openat2(fd, path, &how);
    int r;

    if (file < 0)
        return errno == ENOENT ? 0 : -errno;
    r = file_read(file, ret);
    if (r == -EINVAL || r == -EFBIG)
        r = -EEXIST;
    return r < 0 ? r : 1;
}

static bool is_known(const char *path, const char *digest, char *const *known)
{
    for (; known && known[0] && known[1]; known += 2)
        if (strcmp(known[0], path) == 0 && strcmp(known[1], digest) == 0)
            return true;
    return false;
}

int deliver_changed(const char *dir, char *const *known, const char **ret)
{
    cleanup_close int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    for (; fd >= 0 && known && known[0] && known[1]; known += 2) {
        cleanup_buf struct buf text = BUF_INIT(FENCE_TOTAL_MAX);
        char digest[DIGEST_SIZE];
        int r = read_beneath(fd, known[0], &text);

        if (r == 1)
            r = digest_of(text.data, text.len, digest, NULL);
        else if (r == 0)
            continue;
        if (r < 0 || strcmp(digest, known[1]) != 0) {
            *ret = known[0];
            return 1;
        }
    }
    return 0;
}

/* Whatever else lies there is somebody's work. */
static int check_file(int fd, const struct deliverable_file *file, const char *dir,
                      char *const *known, struct gb_err *err)
{
    cleanup_buf struct buf old = BUF_INIT(FENCE_TOTAL_MAX);
    char digest[DIGEST_SIZE];
    int r = read_beneath(fd, file->path, &old);

    if (r == 0 || (r == 1 && old.len == file->len && memcmp(old.data, file->text, old.len) == 0))
        return 0;
    if (r == 1) {
        r = digest_of(old.data, old.len, digest, err);
        if (r < 0 || is_known(file->path, digest, known))
            return r;
        r = -EEXIST;
    }
    return gb_fail(err, r, GB_BLAME_CALLER, "--out: '%.200s/%.100s' is there already", dir,
                   file->path);
}

static int write_file(int fd, const struct deliverable_file *file, struct gb_err *err)
{
    struct save save;
    int r = save_begin(&save, fd, file->path, 0644, err);

    if (r == 0)
        r = save_add(&save, file->text, file->len, err);
    if (r == 0)
        r = save_commit(&save, err);
    if (r < 0)
        save_abort(&save);
    return r;
}

static int open_dir(const char *dir, struct gb_err *err)
{
    int r = dir_make_parents(dir, 0755);
    int fd;

    if (r == 0 && mkdir(dir, 0755) < 0 && errno != EEXIST)
        r = -errno;
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "making '%.200s': %s", dir, strerror(-r));
    fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? gb_fail_sys(err, "'%.200s'", dir) : fd;
}

int deliver_write(const struct deliverable *deliverable, const char *dir, bool is_forced,
                  char *const *known, struct gb_err *err)
{
    cleanup_close int fd = open_dir(dir, err);
    int r = fd < 0 ? fd : 0;

    for (size_t i = 0; r == 0 && !is_forced && i < deliverable->n; i++)
        r = check_file(fd, &deliverable->items[i], dir, known, err);
    for (size_t i = 0; r == 0 && i < deliverable->n; i++)
        r = write_file(fd, &deliverable->items[i], err);
    return r;
}
