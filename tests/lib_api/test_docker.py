# SPDX-License-Identifier: Apache-2.0
"""libglovebox with boxes that are containers: a program of C's on a real private engine."""
import os
import subprocess

import pytest

from lib import engines, host
from lib import place as places

BUILD = os.environ.get("GLOVEBOX_BUILD", str(places.ROOT / "build"))
IMAGE = "busybox:test"
PROGRAM = r"""
#include <glovebox.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct glovebox_error err = GLOVEBOX_ERROR_INIT;

static void must(int r)
{
    if (r == 0)
        return;
    fprintf(stderr, "%d: %s\n%s\n", r, err.message, err.remedy);
    exit(1);
}

static void tell(struct glovebox_result *result)
{
    printf("%s %s", glovebox_verdict_name(glovebox_result_verdict(result)), glovebox_result_output(result, 1, NULL));
    glovebox_result_free(result);
}

static void code(struct glovebox_request *request, const char *text)
{
    must(glovebox_request_code(request, "sh", NULL, text, strlen(text), &err));
}

int main(int argc, char **argv)
{
    struct glovebox_context *context = NULL;
    struct glovebox_request *request = NULL;
    struct glovebox_result *result = NULL;
    struct glovebox_box *box = NULL;
    struct glovebox_log *log = NULL;
    struct glovebox_log_piece piece = GLOVEBOX_LOG_PIECE_INIT;
    char id[GLOVEBOX_ID_SIZE];
    uint32_t survivors = 9;
    void *bytes = NULL;
    size_t len = 0;

    must(glovebox_context_new(&context, &err));
    for (int i = 1; i + 1 < argc; i += 2)
        must(glovebox_context_set(context, argv[i], argv[i + 1], &err));
    must(glovebox_request_new(&request, &err));
    code(request, "test -e /.glovebox && echo in a container");
    must(glovebox_exec(context, request, &result, &err));
    puts(strstr(glovebox_result_receipt(result), "\"backend\":\"docker\"") ? "receipt" : "no receipt");
    tell(result);
    must(glovebox_box_open(context, NULL, &box, &err));
    must(glovebox_box_put(box, "in", "word\n", 5, 0644, &err));
    code(request, "cat in | tee out");
    must(glovebox_box_run(box, request, &result, &err));
    tell(result);
    must(glovebox_box_get(box, "out", 100, &bytes, &len, &err));
    printf("%zu %s", len, (char *)bytes);
    glovebox_free(bytes);
    printf("survivors %u\n", glovebox_box_close(box));
    must(glovebox_kept_create(context, NULL, id, &err));
    must(glovebox_kept_attach(context, id, &box, &err));
    code(request, "echo kept");
    must(glovebox_box_run(box, request, &result, &err));
    tell(result);
    (void)glovebox_box_close(box);
    must(glovebox_kept_remove(context, id, &survivors, &err));
    printf("survivors %u\n", survivors);
    must(glovebox_user_attach(context, "ann", NULL, &box, &err));
    code(request, "echo hers | tee -a diary");
    must(glovebox_box_run(box, request, &result, &err));
    tell(result);
    (void)glovebox_box_close(box);
    must(glovebox_user_find(context, "ann", id, &err));
    must(glovebox_log_open(context, id, NULL, 0, &log, &err));
    printf("%d ", glovebox_log_next(log, 0, &piece, &err));
    fwrite(piece.bytes, 1, piece.len, stdout);
    printf("%d\n", glovebox_log_next(log, 0, &piece, &err));
    glovebox_log_close(log);
    must(glovebox_user_remove(context, "ann", &survivors, &err));
    must(glovebox_context_set(context, "image", "localhost/none:1", &err));
    printf("%d ", glovebox_exec(context, request, &result, &err) < 0);
    puts(err.remedy);
    glovebox_request_free(request);
    glovebox_context_free(context);
    return 0;
}
"""


@pytest.fixture
def program(tmp_path):
    (tmp_path / "p.c").write_text(PROGRAM)
    words = ["cc", "-Wall", "-Werror", "-I", places.ROOT / "include", "-o", tmp_path / "p", tmp_path / "p.c",
             "-L", f"{BUILD}/src/lib", "-lglovebox", f"-Wl,-rpath,{BUILD}/src/lib"]
    subprocess.run(list(map(str, words)), check=True)
    return str(tmp_path / "p")


def test_boxes_of_the_library_can_be_containers(program, place):
    with engines.docker() as engine:
        engine.import_busybox(IMAGE)
        settings = {"backend": "docker", "image": IMAGE, "docker.host": engine.host,
                    "run_dir": os.environ["GLOVEBOX_RUN_DIR"], "state_dir": str(place.base / "state")}
        done = subprocess.run([program, *(word for pair in settings.items() for word in pair)],
                              capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done
        assert done.stdout.splitlines() == [
            "receipt", "ok in a container", "ok word", "5 word", "survivors 0", "ok kept", "survivors 0",
            "ok hers", "1 hers", "2", "1 glovebox image pull localhost/none:1"], done
        assert host.until(lambda: engine.containers() == [], within=30)
