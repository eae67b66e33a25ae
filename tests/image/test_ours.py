# SPDX-License-Identifier: Apache-2.0
"""`glovebox image list|rm|prune` on real engines."""
import pytest
from conftest import IMAGE


def _build(caller, tag, *lines):
    text = "\n".join([f"FROM {IMAGE}", *lines, ""])
    return caller.json("build", "-", "-t", tag, data=text.encode())


def _tags(found):
    return sorted(tag for item in found.images for tag in item["tags"])


def test_the_list_has_what_was_built_here(each):
    assert each.json("list").images == []
    assert "No images" in each("list").err
    made = _build(each, "one", "ENV A=1")
    _build(each, "two", "ENV A=2")
    found = each.json("list")
    assert _tags(found) == ["agent-env:one", "agent-env:two"]
    one = next(item for item in found.images if item["tags"] == ["agent-env:one"])
    assert one["id"].removeprefix("sha256:") == made.id.removeprefix("sha256:") and one["bytes"] > 100000
    assert one["created_s"] > 1600000000
    assert IMAGE in _tags(each.json("list", "--all"))
    assert IMAGE not in each("list").out and "agent-env:one" in each("list").out


@pytest.mark.parametrize("words, tags", [
    ("agent-env", ["one", "other", "two"]), ("agent-env:one", ["one"]), ("one", ["one"]),
    ("o*", ["one", "other"]), ("none", []), ("agent-env:*", ["one", "other", "two"]),
])
def test_the_list_is_filtered_by_a_tag(image, words, tags):
    for tag in ("one", "other", "two"):
        _build(image, tag, f"ENV A={tag}")
    assert _tags(image.json("list", words)) == [f"agent-env:{tag}" for tag in tags]


def test_an_image_of_ours_is_removed(each):
    made = _build(each, "one", "ENV A=1")
    _build(each, "two", "ENV A=2")
    found = each.json("rm", "agent-env:one")
    assert any("agent-env:one" in line for line in found.images[0]["removed"])
    assert any(line.startswith("Deleted: ") and made.id[-12:] in line for line in found.images[0]["removed"])
    two = each.json("list").images[0]["id"].removeprefix("sha256:")
    assert each("rm", two[:12]).code == 0
    assert each.json("list").images == []


def test_other_peoples_images_stay(image):
    done = image("rm", IMAGE)
    assert done.code == 2 and "was not built by glovebox" in done.err and "--any" in done.err
    assert image.tags() == [IMAGE]
    image.engine.ask("POST", f"/images/{IMAGE}/tag?repo=localhost/second&tag=1")
    assert image("rm", "--any", "localhost/second:1").code == 0
    assert image.tags() == [IMAGE]


def test_what_cannot_be_removed_is_told_and_the_rest_goes(image):
    _build(image, "one")
    _build(image, "two", "ENV A=2")
    status, _ = image.engine.ask("POST", "/containers/create", {"Image": "agent-env:two", "Cmd": ["/bin/true"]})
    assert status == 201
    done = image("rm", "agent-env:none", "agent-env:two", "agent-env:one")
    assert done.code == 2 and "conflict" in done.err, done
    assert "agent-env:two" in image.tags() and "agent-env:one" not in image.tags()
    assert image("rm", "agent-env:none").code == 2
    for name in ("../x", "a b", ""):
        assert image("rm", name).code == 2


def test_prune_takes_what_builds_have_left_and_no_more(image):
    _build(image, "one", "RUN echo 1 >/a")
    _build(image, "one", "RUN echo 2 >/a")
    image("build", "-", data=f"FROM {IMAGE}\nRUN echo 3 >/b\nRUN false\n".encode())
    nameless = [i for i in image.engine.get("/images/json") if not [t for t in i["RepoTags"] or [] if "none" not in t]]
    assert len(nameless) == 2
    assert image.json("prune", "--older-than", "1h").removed == []
    found = image.json("prune")
    assert sum(line.startswith("Deleted: ") for line in found.removed) >= 2 and found.reclaimed_bytes >= 0
    assert image.tags() == ["agent-env:one", IMAGE]
    assert len(image.engine.get("/images/json")) == 2
    assert "Reclaimed" in image("prune", "--all").out
    assert image.tags() == [IMAGE]


def test_prune_works_on_both_engines(each):
    _build(each, "one", "RUN echo 1 >/a")
    _build(each, "one", "RUN echo 2 >/a")
    assert each.json("prune").removed
    assert _tags(each.json("list")) == ["agent-env:one"]


@pytest.mark.parametrize("words", [["--older-than", "soon"], ["--older-than", "0s"], ["x"]])
def test_prune_refuses_bad_words(image, words):
    assert image("prune", *words).code == 2
