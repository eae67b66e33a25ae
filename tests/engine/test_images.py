# SPDX-License-Identifier: Apache-2.0
"""Images of a real engine, through the client."""
import io
import json
import tarfile

from conftest import IMAGE


def _context(**files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            tar.addfile(entry, io.BytesIO(text.encode()))
    return out.getvalue()


def _text(found):
    return "".join(event["text"] for event in found.events)


def test_images_are_listed_and_looked_at(client):
    found = client("images", IMAGE).images
    assert [item["tags"] for item in found] == [[IMAGE]]
    config = client("image", IMAGE)
    assert (config.os, config.id) == ("linux", found[0]["id"])
    assert client("images", "localhost/none:*").images == []


def test_a_missing_image_says_how_to_pull_it(client):
    found = client("image", "localhost/none:1")
    assert (found.error, found.remedy) == ("ENOENT", "glovebox image pull localhost/none:1")


def test_an_image_is_removed_by_its_name(client, engine):
    engine.import_busybox("localhost/imported:7")
    assert client("images", "localhost/imported:7").images[0]["tags"] == ["localhost/imported:7"]
    removed = client("image-rm", "localhost/imported:7")
    assert removed.ok and removed.untagged >= 1
    assert client("image-rm", "localhost/imported:7").error == "ENOENT"


def test_an_image_in_use_is_a_conflict(client):
    client.create("/bin/true")
    assert client("image-rm", IMAGE).error == "EBUSY"


def test_a_build_makes_an_image(client):
    dockerfile = f'FROM {IMAGE}\nARG WHO\nENV SAID="$WHO"\nCOPY file /file\nRUN ["/bin/cat", "/file"]\n'
    found = client("build", "localhost/built:1", data=_context(Dockerfile=dockerfile, file="hello"))
    assert found.ok, found
    assert "hello" in _text(found)
    config = client("image", "localhost/built:1")
    assert 'SAID=a "b" &c' in config.env
    assert client("image-rm", "localhost/built:1", "force").ok


def test_a_step_that_fails_is_the_builds_error(client):
    dockerfile = f'FROM {IMAGE}\nRUN ["/bin/sh", "-c", "echo before; exit 5"]\n'
    found = client("build", "localhost/built:2", "Other", data=_context(Other=dockerfile))
    assert found.error == "EREMOTEIO" and "5" in found.msg
    assert "before" in _text(found)
    assert client("images", "localhost/built:2").images == []


def test_a_pull_that_cannot_be_is_an_error(client):
    """No registry is there: the engine says so, before or after its 200."""
    found = client("pull", "127.0.0.1:1/none", "1")
    assert found.error in ("EREMOTEIO", "ENOENT", "EACCES", "EHOSTUNREACH") and found.msg
    found = client("pull", "127.0.0.1:1/none", "1", env={
        "DRIVER_USER": "me", "DRIVER_PASSWORD": "hunter2", "DRIVER_SERVER": "127.0.0.1:1"})
    assert not found.ok and "hunter2" not in json.dumps(found.__dict__, default=str)


def test_the_cache_of_builds_is_pruned(client, engine):
    found = client("prune")
    assert found.ok if engine.kind == "docker" else found.error in ("ENOENT", None)
