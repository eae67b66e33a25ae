# SPDX-License-Identifier: Apache-2.0
"""With --json stdout has one document, whatever fails; stderr says the same for people."""
import json

import pytest

FAILURES = [
    (2, ["pull"]), (2, ["pull", "UPPER"]), (2, ["pull", "a", "b"]), (2, ["pull", "../x"]),
    (2, ["list", "a", "b"]), (2, ["rm"]), (2, ["prune", "x"]), (2, ["prune", "--older-than", "x"]),
    (2, ["build"]), (2, ["build", "a", "b"]), (2, ["build", ".", "--build-arg", "=x"]),
    (2, ["build", "/nowhere"]), (2, ["build", ".", "-t", "a b"]), (2, ["build", "-", "-f", "x"]),
]
ASKING = [["pull", "busybox"], ["list"], ["rm", "x"], ["prune"], ["build", "."]]


def failure(done, code):
    answer = json.loads(done.out)
    assert (done.code, answer["schema"]) == (code, 1) and answer["error"], done
    assert f"glovebox: {answer['error'].splitlines()[0]}" in done.err, done
    assert done.out.endswith("}\n") and not done.out.endswith("\n\n")
    return answer


@pytest.mark.parametrize("code, words", FAILURES)
def test_what_is_no_request_is_a_document(image, code, words):
    failure(image(*words, "--json"), code)


@pytest.mark.parametrize("words", ASKING)
def test_an_engine_that_does_not_answer_is_a_document(image, words):
    image.context(Dockerfile="FROM scratch\nCMD [\"x\"]\n")
    words = [image.context() if word == "." else word for word in words]
    done = image(*words, "--json", DOCKER_HOST=f"unix://{image.place.base}/none.sock")
    assert failure(done, 125)["remedy"]


def test_images_that_stay_are_told_beside_those_that_go(image):
    name = image.json("build", image.context(Dockerfile="FROM scratch\nLABEL a=b\n"), "-t", "x").tag
    done = image("rm", "agent-env:none", name, "--json")
    one, other = json.loads(done.out)["images"]
    assert done.code != 0 and (one["image"], one["removed"]) == ("agent-env:none", [])
    assert "agent-env:none" in one["error"]
    assert other["image"] == name and other["removed"] and "error" not in other
    assert name not in image.tags()
