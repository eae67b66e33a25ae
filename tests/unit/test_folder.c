/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_folder.c - a task's folder: readable, whole at any moment, the same when written again.
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <regex.h>

#include "agent/checkpoint.h"
#include "agent/fence.h"
#include "agent/folder.h"
#include "base/err.h"
#include "base/id.h"
#include "killed.h"
#include "place.h"

#include <cmocka.h>

static const struct folder_step first = { 1, "code" };

static struct folder *make_folder(struct place *place)
{
    struct gb_err err = { 0 };
    struct folder *folder = NULL;

    if (folder_make(place_path(place, "runs"), true, "make it so\n", &folder, &err) < 0)
        fail_msg("%s", err.msg);
    return folder;
}

/* The path of a file in the folder, from the place's root. */
static const char *in_folder(const struct place *place, const struct folder *folder,
                             const char *name)
{
    static char path[PATH_MAX];

    (void)snprintf(path, sizeof(path), "%s/%s", folder_path(folder) + strlen(place->root) + 1,
                   name);
    return path;
}

static void file_is(const struct place *place, const struct folder *folder, const char *name,
                    const char *text)
{
    cleanup_buf struct buf got = BUF_INIT(1 << 20);

    place_read(place, in_folder(place, folder, name), &got);
    assert_string_equal(got.data, text);
    assert_int_equal(got.len, strlen(text));
}

static unsigned entries(const char *path)
{
    DIR *dir = opendir(path);
    const struct dirent *entry;
    unsigned n = 0;

    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL)
        n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(dir);
    return n;
}

static void put_file(struct agent_files *files, const char *path, const char *text)
{
    assert_int_equal(agent_files_put(files, path, text, strlen(text)), 0);
}

/* ---- the directory -------------------------------------------------------------------------- */

static void a_folder_is_named_after_its_second(void **state)
{
    struct place *place = *state;
    struct folder *folders[5] = { 0 };
    regex_t form;

    assert_int_equal(regcomp(&form,
                             "/runs/run_2[0-9]{3}-[01][0-9]-[0-3][0-9]_[0-2][0-9]-[0-5][0-9]-"
                             "[0-6][0-9](_[2-9])?$",
                             REG_EXTENDED | REG_NOSUB),
                     0);
    for (size_t i = 0; i < N_ELEMENTS(folders); i++) {
        folders[i] = make_folder(place);
        assert_int_equal(folder_path(folders[i])[0], '/');
        assert_int_equal(regexec(&form, folder_path(folders[i]), 0, NULL, 0), 0);
        file_is(place, folders[i], "objective.txt", "make it so\n");
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(folder_path(folders[k]), folder_path(folders[i]));
    }
    for (size_t i = 0; i < N_ELEMENTS(folders); i++)
        folder_close(&folders[i]);
    assert_int_equal(entries(place_path(place, "runs")), N_ELEMENTS(folders));
    regfree(&form);
}

static void a_folder_is_found_again(void **state)
{
    struct place *place = *state;
    struct folder *made = make_folder(place);
    struct folder *found = NULL;
    struct gb_err err = { 0 };

    assert_int_equal(folder_open(folder_path(made), &found, NULL), 0);
    assert_string_equal(folder_path(found), folder_path(made));
    folder_close(&found);
    assert_int_equal(folder_open(place_path(place, "runs/none"), &found, &err), -ENOENT);
    assert_non_null(strstr(err.msg, "runs/none'"));
    place_write(place, "file", "", 0);
    assert_int_equal(folder_open(place_path(place, "file"), &found, &err), -ENOTDIR);
    assert_int_equal(folder_make(place_path(place, "file"), true, "x", &found, &err), -ENOTDIR);
    assert_int_equal(folder_make("", true, "x", &found, &err), -ENOENT);
    assert_null(found);
    folder_close(&made);
}

/* ---- files ---------------------------------------------------------------------------------- */

static void an_iteration_has_its_files(void **state)
{
    struct place *place = *state;
    cleanup_folder struct folder *folder = make_folder(place);
    cleanup_files struct agent_files files = { 0 };
    const struct folder_step late = { 123, "human_agent-2" };

    put_file(&files, "main.py", "print(1)\n");
    put_file(&files, "src/deep/er.py", "");
    for (int again = 0; again < 2; again++) { /* a resumed task writes the same again */
        assert_int_equal(folder_put(folder, first, FOLDER_INPUT, "{}", 2, NULL), 0);
        assert_int_equal(folder_put(folder, first, FOLDER_OUTPUT, "[]", 2, NULL), 0);
        assert_int_equal(folder_put(folder, late, FOLDER_REPORT, "fine", 4, NULL), 0);
        assert_int_equal(folder_put_code(folder, first, &files, NULL), 0);
    }
    file_is(place, folder, "iteration_01_code/agent_input.json", "{}");
    file_is(place, folder, "iteration_01_code/agent_output.json", "[]");
    file_is(place, folder, "iteration_01_code/code/main.py", "print(1)\n");
    file_is(place, folder, "iteration_01_code/code/src/deep/er.py", "");
    file_is(place, folder, "iteration_123_human_agent-2/execution_report.txt", "fine");
    assert_int_equal(entries(folder_path(folder)), 3);
}

static void names_that_are_none_are_refused(void **state)
{
    static const char *const agents[] = {
        "", "..", "a/b", "Code", "x y", "a\n", "a23456789012345678901234567890123"
    };
    static const char *const paths[] = {
        "../x", "/etc/x", "a//b", "a/../b", ".", "", "a\nb", "-x"
    };
    struct place *place = *state;
    cleanup_folder struct folder *folder = make_folder(place);

    for (size_t i = 0; i < N_ELEMENTS(agents); i++)
        assert_int_equal(
            folder_put(folder, (struct folder_step){ 1, agents[i] }, FOLDER_INPUT, "", 0, NULL),
            -EINVAL);
    for (size_t i = 0; i < N_ELEMENTS(paths); i++) {
        struct agent_file items[] = {
            { .path = (char[]){ "good" }, .text = (char[]){ "x" }, .len = 1 },
            { .path = strdup(paths[i]), .text = (char[]){ "x" }, .len = 1 },
        };
        struct agent_files files = { .items = items, .n = N_ELEMENTS(items) };
        struct gb_err err = { 0 };

        assert_int_equal(folder_put_code(folder, first, &files, &err), -EINVAL);
        assert_int_equal(err.blame, GB_BLAME_PEER);
        free(items[1].path);
    }
    assert_int_equal(entries(folder_path(folder)), 1);
}

/* Whoever made them: a folder may come from anywhere. */
static void links_are_not_followed(void **state)
{
    struct place *place = *state;
    cleanup_folder struct folder *folder = make_folder(place);
    cleanup_files struct agent_files files = { 0 };
    struct checkpoint checkpoint = { 0 };

    put_file(&files, "dir/x.py", "x");
    assert_int_equal(mkdirat(place->fd, "outside", 0700), 0);
    place_write(place, "outside/checkpoint.json", "{}", 2);
    assert_int_equal(
        symlinkat("../../outside", place->fd, in_folder(place, folder, "iteration_01_code")), 0);
    assert_int_equal(folder_put(folder, first, FOLDER_INPUT, "", 0, NULL), -ELOOP);
    assert_int_equal(folder_put_code(folder, first, &files, NULL), -ELOOP);
    assert_int_equal(mkdirat(place->fd, in_folder(place, folder, "iteration_02_code"), 0700), 0);
    assert_int_equal(mkdirat(place->fd, in_folder(place, folder, "iteration_02_code/code"), 0700),
                     0);
    assert_int_equal(symlinkat("../../../../outside", place->fd,
                               in_folder(place, folder, "iteration_02_code/code/dir")),
                     0);
    assert_int_equal(folder_put_code(folder, (struct folder_step){ 2, "code" }, &files, NULL),
                     -ELOOP);
    assert_int_equal(symlinkat("../../outside/checkpoint.json", place->fd,
                               in_folder(place, folder, "checkpoint.json")),
                     0);
    assert_int_equal(folder_get_checkpoint(folder, &checkpoint, NULL), -ELOOP);
    assert_int_equal(symlinkat("../../outside/transcript", place->fd,
                               in_folder(place, folder, "transcript.jsonl")),
                     0);
    assert_int_equal(folder_tell(folder, "{}\n", 3, NULL), -ELOOP);
    assert_int_equal(entries(place_path(place, "outside")), 1);
}

static void a_report_shows_what_a_terminal_would_obey(void **state)
{
    static const char output[] = "one\ttwo\n\x1b[31mred \xc2\x9b 3\r\0\xff\x7f ä";
    struct place *place = *state;
    cleanup_folder struct folder *folder = make_folder(place);
    struct folder_report report = {
        .exit_code = 0,
        .output = output,
        .output_len = sizeof(output) - 1,
        .errors = "",
    };

    assert_int_equal(folder_put_report(folder, first, &report, NULL), 0);
    file_is(place, folder, "iteration_01_code/execution_report.txt",
            "Timed out: no\nExit code: 0\n\nSTDOUT:\none\ttwo\n\\x1b[31mred \\xc2\\x9b 3\\x0d\\x00"
            "\\xff\\x7f ä\n\nSTDERR:\n");
    report = (struct folder_report){
        .is_timed_out = true, .exit_code = -1, .errors = "late\n", .errors_len = 5
    };
    assert_int_equal(folder_put_report(folder, first, &report, NULL), 0);
    file_is(place, folder, "iteration_01_code/execution_report.txt",
            "Timed out: yes\nExit code: -1\n\nSTDOUT:\n\nSTDERR:\nlate\n");
}

/* ---- the checkpoint ------------------------------------------------------------------------- */

static void a_checkpoint_comes_back(void **state)
{
    char *history[] = { (char[]){ "{\"agent\":\"code\",\"n\":[1,2]}" }, (char[]){ "\"text\"" },
                        NULL };
    struct place *place = *state;
    cleanup_folder struct folder *folder = make_folder(place);
    cleanup_checkpoint struct checkpoint got = { 0 };
    struct checkpoint put = {
        .objective = (char[]){ "say \"hi\"\nä" },
        .history = history,
        .execution_feedback = (char[]){ "STDOUT:\nx\n\nSTDERR:\n" },
        .orchestrator_step = 7,
    };

    assert_int_equal(agent_files_put(&put.latest_code, "a.py", "x\0y\xff", 4), 0);
    put_file(&put.latest_code, "b/c.py", "");
    put.latest_code.prose = strdup("because");
    assert_int_equal(folder_put_checkpoint(folder, &put, NULL), 0);
    assert_int_equal(folder_get_checkpoint(folder, &got, NULL), 1);
    assert_string_equal(got.objective, put.objective);
    assert_string_equal(got.history[0], history[0]);
    assert_string_equal(got.history[1], history[1]);
    assert_null(got.history[2]);
    assert_string_equal(got.execution_feedback, put.execution_feedback);
    assert_int_equal(got.orchestrator_step, 7);
    assert_int_equal(got.latest_code.n, 2);
    assert_string_equal(got.latest_code.items[0].path, "a.py");
    assert_int_equal(got.latest_code.items[0].len, 6);
    assert_memory_equal(got.latest_code.items[0].text, "x\0y\xef\xbf\xbd", 7);
    assert_string_equal(got.latest_code.items[1].path, "b/c.py");
    assert_string_equal(got.latest_code.items[1].text, "");
    assert_string_equal(got.latest_code.prose, "because");
    agent_files_clear(&put.latest_code);
}

static void a_checkpoint_has_the_keys_that_people_know(void **state)
{
    struct place *place = *state;
    cleanup_folder struct folder *folder = make_folder(place);
    cleanup_checkpoint struct checkpoint got = { 0 };
    struct checkpoint put = { .objective = (char[]){ "o" } };

    assert_int_equal(folder_put_checkpoint(folder, &put, NULL), 0);
    file_is(place, folder, "checkpoint.json",
            "{\n  \"objective\": \"o\",\n  \"history\": [],\n  \"latest_code\": null,\n"
            "  \"execution_feedback\": null,\n  \"orchestrator_step\": 0\n}\n");
    assert_int_equal(folder_get_checkpoint(folder, &got, NULL), 1);
    assert_null(got.execution_feedback);
    assert_int_equal(got.latest_code.n, 0);
    checkpoint_clear(&got);
    put_file(&put.latest_code, "a.py", "1\n");
    assert_int_equal(folder_put_checkpoint(folder, &put, NULL), 0);
    file_is(place, folder, "checkpoint.json",
            "{\n  \"objective\": \"o\",\n  \"history\": [],\n  \"latest_code\": {\n"
            "    \"files\": [\n      {\n        \"relative_path\": \"a.py\",\n"
            "        \"content\": \"1\\n\"\n      }\n    ],\n    \"reasoning\": \"\"\n  },\n"
            "  \"execution_feedback\": null,\n  \"orchestrator_step\": 0\n}\n");
    agent_files_clear(&put.latest_code);
}

static void without_a_checkpoint_the_objective_is_known(void **state)
{
    struct place *place = *state;
    cleanup_folder struct folder *folder = make_folder(place);
    cleanup_checkpoint struct checkpoint got = { 0 };
    struct gb_err err = { 0 };

    assert_int_equal(folder_get_checkpoint(folder, &got, NULL), 0);
    assert_string_equal(got.objective, "make it so\n");
    checkpoint_clear(&got);
    place_write(place, in_folder(place, folder, "objective.txt"), "a\0b", 3);
    assert_int_equal(folder_get_checkpoint(folder, &got, &err), -EINVAL);
    assert_int_equal(unlinkat(place->fd, in_folder(place, folder, "objective.txt"), 0), 0);
    assert_int_equal(folder_get_checkpoint(folder, &got, &err), -ENOENT);
    assert_non_null(strstr(err.msg, "neither checkpoint.json nor objective.txt"));
    assert_int_equal(mkdirat(place->fd, in_folder(place, folder, "checkpoint.json"), 0700), 0);
    assert_int_equal(folder_get_checkpoint(folder, &got, &err), -EINVAL);
}

static void what_is_no_checkpoint_is_refused(void **state)
{
    static const char *const rows[] = {
        "",
        "{",
        "[]",
        "{}",
        "{\"objective\":1,\"orchestrator_step\":1}",
        "{\"objective\":\"o\"}",
        "{\"objective\":\"o\",\"orchestrator_step\":-1}",
        "{\"objective\":\"o\",\"orchestrator_step\":\"1\"}",
        "{\"objective\":\"o\",\"orchestrator_step\":1,\"history\":{}}",
        "{\"objective\":\"o\",\"orchestrator_step\":1,\"execution_feedback\":[]}",
        "{\"objective\":\"o\",\"orchestrator_step\":1,\"latest_code\":\"print()\"}",
        "{\"objective\":\"o\",\"orchestrator_step\":1,\"latest_code\":{\"files\":[1]}}",
        "{\"objective\":\"o\",\"orchestrator_step\":1,\"latest_code\":{\"files\":"
        "[{\"relative_path\":\"../x\",\"content\":\"\"}]}}",
        "{\"objective\":\"o\",\"orchestrator_step\":1,\"latest_code\":{\"files\":"
        "[{\"relative_path\":\"x\"}]}}",
        "{\"objective\":\"o\",\"orchestrator_step\":1,\"latest_code\":{\"files\":"
        "[{\"relative_path\":\"x\\u0000/../y\",\"content\":\"\"}]}}",
        "{\"objective\":\"o\\u0000\",\"orchestrator_step\":1}",
    };
    struct place *place = *state;
    cleanup_folder struct folder *folder = make_folder(place);

    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        struct checkpoint got = { 0 };
        struct gb_err err = { 0 };

        place_write(place, in_folder(place, folder, "checkpoint.json"), rows[i], strlen(rows[i]));
        assert_int_equal(folder_get_checkpoint(folder, &got, &err), -EINVAL);
        assert_non_null(strstr(err.msg, "/checkpoint.json'"));
        assert_null(got.objective);
        assert_int_equal(got.latest_code.n, 0);
    }
}

/* ---- the transcript ------------------------------------------------------------------------- */

static void tell(struct folder *folder, const char *line)
{
    assert_int_equal(folder_tell(folder, line, strlen(line), NULL), 0);
}

static struct folder *again(const char *path)
{
    struct folder *folder = NULL;

    assert_int_equal(folder_open(path, &folder, NULL), 0);
    return folder;
}

static void what_is_told_again_stands_once(void **state)
{
    struct place *place = *state;
    struct folder *folder = make_folder(place);
    cleanup_free char *path = strdup(folder_path(folder));

    tell(folder, "{\"a\":1}\n");
    tell(folder, "{\"b\":2}\n");
    tell(folder, "{\"c\":3}\n");
    folder_close(&folder);
    folder = again(path);
    tell(folder, "{\"a\":1}\n");
    tell(folder, "{\"b\":2}\n");
    file_is(place, folder, "transcript.jsonl", "{\"a\":1}\n{\"b\":2}\n{\"c\":3}\n");
    tell(folder, "{\"c\":3}\n");
    tell(folder, "{\"d\":4}\n");
    file_is(place, folder, "transcript.jsonl", "{\"a\":1}\n{\"b\":2}\n{\"c\":3}\n{\"d\":4}\n");
    folder_close(&folder);
    /* From the first that differs on it is another story. */
    folder = again(path);
    tell(folder, "{\"a\":1}\n");
    tell(folder, "{\"b\":22}\n");
    file_is(place, folder, "transcript.jsonl", "{\"a\":1}\n{\"b\":22}\n");
    tell(folder, "{\"c\":3}\n");
    file_is(place, folder, "transcript.jsonl", "{\"a\":1}\n{\"b\":22}\n{\"c\":3}\n");
    folder_close(&folder);
}

static void a_line_that_was_cut_is_written_whole(void **state)
{
    struct place *place = *state;
    struct folder *folder = make_folder(place);
    cleanup_free char *path = strdup(folder_path(folder));
    static const char whole[] = "{\"a\":1}\n{\"b\":2}\n";

    folder_close(&folder);
    for (size_t len = 0; len < sizeof(whole); len++) {
        folder = again(path);
        place_write(place, in_folder(place, folder, "transcript.jsonl"), whole, len);
        tell(folder, "{\"a\":1}\n");
        tell(folder, "{\"b\":2}\n");
        file_is(place, folder, "transcript.jsonl", whole);
        folder_close(&folder);
    }
}

static void only_a_line_can_be_told(void **state)
{
    cleanup_folder struct folder *folder = make_folder(*state);

    assert_int_equal(folder_tell(folder, "", 0, NULL), -EINVAL);
    assert_int_equal(folder_tell(folder, "{}", 2, NULL), -EINVAL);
    assert_int_equal(folder_tell(folder, "{\n}\n", 4, NULL), -EINVAL);
    assert_int_equal(folder_tell(folder, "\n", 1, NULL), 0);
}

static void a_long_line_is_compared_to_its_end(void **state)
{
    struct place *place = *state;
    struct folder *folder = make_folder(place);
    cleanup_free char *path = strdup(folder_path(folder));
    static char line[10002];

    memset(line, 'x', sizeof(line) - 2);
    line[sizeof(line) - 2] = '\n';
    tell(folder, line);
    tell(folder, "end\n");
    folder_close(&folder);
    folder = again(path);
    line[9999] = 'y';
    tell(folder, line);
    file_is(place, folder, "transcript.jsonl", line);
    folder_close(&folder);
}

#define N_THREADS 4
#define N_LINES   100

struct teller {
    struct folder *folder;
    unsigned number;
    int failure;
};

static void *tell_much(void *user)
{
    struct teller *teller = user;
    struct folder_step step = { teller->number, "code" };
    char line[64];

    for (unsigned i = 0; i < N_LINES; i++) {
        int len =
            snprintf(line, sizeof(line), "{\"teller\":%u,\"line\":%03u}\n", teller->number, i);

        if (folder_tell(teller->folder, line, (size_t)len, NULL) < 0 ||
            folder_put(teller->folder, step, FOLDER_OUTPUT, line, (size_t)len, NULL) < 0)
            teller->failure = 1;
    }
    return NULL;
}

static void threads_write_side_by_side(void **state)
{
    struct place *place = *state;
    cleanup_folder struct folder *folder = make_folder(place);
    cleanup_buf struct buf text = BUF_INIT(1 << 20);
    pthread_t threads[N_THREADS];
    struct teller tellers[N_THREADS];
    unsigned next[N_THREADS] = { 0 };

    for (unsigned i = 0; i < N_THREADS; i++) {
        tellers[i] = (struct teller){ folder, i, 0 };
        assert_int_equal(pthread_create(&threads[i], NULL, tell_much, &tellers[i]), 0);
    }
    for (unsigned i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(tellers[i].failure, 0);
    }
    place_read(place, in_folder(place, folder, "transcript.jsonl"), &text);
    for (const char *at = text.data; *at; at = strchr(at, '\n') + 1) {
        unsigned number;
        unsigned line;

        assert_int_equal(sscanf(at, "{\"teller\":%1u,\"line\":%3u}", &number, &line), 2);
        assert_true(number < N_THREADS);
        assert_int_equal(line, next[number]);
        next[number]++;
    }
    for (unsigned i = 0; i < N_THREADS; i++)
        assert_int_equal(next[i], N_LINES);
}

/* ---- death and disks ------------------------------------------------------------------------ */

/* All that a task writes; the folder is there already, as it is for a task that is resumed. */
static void write_all(void *user)
{
    struct place *place = user;
    struct folder *folder = NULL;
    struct agent_file items[] = {
        { .path = (char[]){ "a.py" }, .text = (char[]){ "aaaa" }, .len = 4 },
        { .path = (char[]){ "d/b.py" }, .text = (char[]){ "bbbb" }, .len = 4 },
    };
    struct agent_files files = { .items = items, .n = N_ELEMENTS(items) };
    struct checkpoint checkpoint = { .objective = (char[]){ "o" }, .latest_code = files };

    CHILD_MUST(folder_open(place_path(place, "run"), &folder, NULL) == 0);
    CHILD_MUST(folder_put(folder, first, FOLDER_INPUT, "{\"in\":1}", 8, NULL) == 0);
    CHILD_MUST(folder_tell(folder, "{\"one\":1}\n", 10, NULL) == 0);
    CHILD_MUST(folder_put_code(folder, first, &files, NULL) == 0);
    CHILD_MUST(folder_tell(folder, "{\"two\":2}\n", 10, NULL) == 0);
    CHILD_MUST(folder_put_checkpoint(folder, &checkpoint, NULL) == 0);
    folder_close(&folder);
}

/* Absent or whole. */
static void is_whole(const struct place *place, const char *name, const char *text)
{
    cleanup_buf struct buf got = BUF_INIT(1 << 20);

    if (!place_has(place, name))
        return;
    place_read(place, name, &got);
    assert_string_equal(got.data, text);
}

static int no_draft(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    return strncmp(path + ftw->base, ".glovebox-", 10) == 0;
}

static void killed_at_any_moment_every_file_is_whole(void **state)
{
    cleanup_buf struct buf whole = BUF_INIT(1 << 20);
    cleanup_buf struct buf got = BUF_INIT(1 << 20);
    struct place *place = *state;
    unsigned deaths = 0;
    unsigned drafts = 0;
    int r = 1;

    assert_int_equal(mkdirat(place->fd, "run", 0755), 0);
    write_all(place);
    place_read(place, "run/checkpoint.json", &whole);
    for (unsigned n = 1; r == 1; n++) {
        place_empty(place);
        assert_int_equal(mkdirat(place->fd, "run", 0755), 0);
        r = killed_at(n, write_all, place);
        assert_true(r >= 0);
        deaths += r == 1;
        is_whole(place, "run/iteration_01_code/agent_input.json", "{\"in\":1}");
        is_whole(place, "run/iteration_01_code/code/a.py", "aaaa");
        is_whole(place, "run/iteration_01_code/code/d/b.py", "bbbb");
        is_whole(place, "run/checkpoint.json", whole.data);
        drafts += nftw(place->root, no_draft, 8, FTW_PHYS) != 0;
        /* And the next life writes the same, and sweeps. */
        write_all(place);
        assert_int_equal(nftw(place->root, no_draft, 8, FTW_PHYS), 0);
        place_read(place, "run/checkpoint.json", &got);
        assert_string_equal(got.data, whole.data);
        place_read(place, "run/transcript.jsonl", &got);
        assert_string_equal(got.data, "{\"one\":1}\n{\"two\":2}\n");
    }
    assert_true(deaths > 20 && drafts > 0);
}

static void fill_the_disk(void *user)
{
    struct place *place = user;
    struct folder *folder = NULL;
    char line[1000];
    struct stat st;
    unsigned n = 0;
    int r;

    work_on_small_disk(place->root, "size=64k");
    memset(line, 'x', sizeof(line) - 1);
    line[sizeof(line) - 1] = '\n';
    CHILD_MUST(folder_make(place_path(place, "runs"), true, "o", &folder, NULL) == 0);
    CHILD_MUST(folder_put(folder, first, FOLDER_INPUT, "old", 3, NULL) == 0);
    while ((r = folder_tell(folder, line, sizeof(line), NULL)) == 0)
        n++;
    CHILD_MUST(r == -ENOSPC && n > 10);
    CHILD_MUST(folder_put(folder, first, FOLDER_INPUT, line, sizeof(line), NULL) == -ENOSPC);
    /* Whole lines, the old file, nothing half. */
    CHILD_MUST(chdir(folder_path(folder)) == 0);
    CHILD_MUST(stat("transcript.jsonl", &st) == 0 && st.st_size == (off_t)(n * sizeof(line)));
    CHILD_MUST(stat("iteration_01_code/agent_input.json", &st) == 0 && st.st_size == 3);
    CHILD_MUST(nftw(".", no_draft, 8, FTW_PHYS) == 0);
    CHILD_MUST(mount("none", place->root, "tmpfs", MS_REMOUNT, "size=1m") == 0);
    CHILD_MUST(folder_tell(folder, line, sizeof(line), NULL) == 0);
    CHILD_MUST(stat("transcript.jsonl", &st) == 0 && st.st_size == (off_t)((n + 1) * sizeof(line)));
    folder_close(&folder);
}

static void a_full_disk_leaves_whole_files(void **state)
{
    int status = work_status(work_begin(fill_the_disk, *state));

    if (status == WORK_CANNOT)
        skip();
    assert_int_equal(status, 0);
}

static void one_that_is_not_needed_leaves_nothing(void **state)
{
    struct place *place = *state;
    struct folder *folder = make_folder(place);
    char path[PATH_MAX];

    (void)snprintf(path, sizeof(path), "%s", folder_path(folder));
    assert_int_equal(place_mode(place, in_folder(place, folder, "")), 0700);
    folder_discard(&folder);
    assert_null(folder);
    assert_int_equal(entries(place_path(place, "runs")), 0);
    assert_int_equal(folder_open(path, &folder, NULL), -ENOENT);
    assert_int_equal(folder_make_again(path, "make it so\n", &folder, NULL), 0);
    file_is(place, folder, "objective.txt", "make it so\n");
    folder_close(&folder);
    assert_int_equal(folder_make_again(path, "other\n", &folder, NULL), -EEXIST);
    assert_null(folder);
}

/* ---- what a killed maker left ---------------------------------------------------------------- */

/* A folder in runs/ that was last touched so many seconds ago, with a file in it or none. */
static void leave_folder(struct place *place, const char *name, const char *file, int age_s)
{
    struct timespec times[2];
    char path[256];

    (void)snprintf(path, sizeof(path), "runs/%s", name);
    assert_int_equal(mkdirat(place->fd, path, 0700), 0);
    if (file) {
        (void)snprintf(path, sizeof(path), "runs/%s/%s", name, file);
        place_write(place, path, "x", 1);
        (void)snprintf(path, sizeof(path), "runs/%s", name);
    }
    times[0].tv_sec = times[1].tv_sec = time(NULL) - age_s;
    times[0].tv_nsec = times[1].tv_nsec = 0;
    assert_int_equal(utimensat(AT_FDCWD, place_path(place, path), times, 0), 0);
}

static void a_folder_whose_maker_was_killed_goes_with_the_next(void **state)
{
    struct place *place = *state;
    char draft[64];
    char id[ID_SIZE];
    struct folder *folder;

    assert_int_equal(id_make('f', id), 0);
    (void)snprintf(draft, sizeof(draft), ".glovebox-%s", id);
    assert_int_equal(mkdirat(place->fd, "runs", 0700), 0);
    leave_folder(place, "run_empty", NULL, 100);
    leave_folder(place, "run_draft", draft, 100);
    leave_folder(place, "run_known", "objective.txt", 100);
    leave_folder(place, "run_fresh", draft, 1);
    leave_folder(place, "others", draft, 100);
    folder = make_folder(place);
    assert_false(place_has(place, "runs/run_empty"));
    assert_false(place_has(place, "runs/run_draft"));
    assert_true(place_has(place, "runs/run_known"));
    assert_true(place_has(place, "runs/run_fresh"));
    assert_true(place_has(place, "runs/others"));
    folder_close(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_PLACE(a_folder_is_named_after_its_second),
        IN_PLACE(a_folder_is_found_again),
        IN_PLACE(an_iteration_has_its_files),
        IN_PLACE(names_that_are_none_are_refused),
        IN_PLACE(links_are_not_followed),
        IN_PLACE(a_report_shows_what_a_terminal_would_obey),
        IN_PLACE(a_checkpoint_comes_back),
        IN_PLACE(a_checkpoint_has_the_keys_that_people_know),
        IN_PLACE(without_a_checkpoint_the_objective_is_known),
        IN_PLACE(what_is_no_checkpoint_is_refused),
        IN_PLACE(what_is_told_again_stands_once),
        IN_PLACE(a_line_that_was_cut_is_written_whole),
        IN_PLACE(only_a_line_can_be_told),
        IN_PLACE(a_long_line_is_compared_to_its_end),
        IN_PLACE(threads_write_side_by_side),
        IN_PLACE(one_that_is_not_needed_leaves_nothing),
        IN_PLACE(a_folder_whose_maker_was_killed_goes_with_the_next),
        IN_QUICK_PLACE(killed_at_any_moment_every_file_is_whole),
        IN_QUICK_PLACE(a_full_disk_leaves_whole_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
