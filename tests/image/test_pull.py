# SPDX-License-Identifier: Apache-2.0
"""`glovebox image pull` from real registries."""
import concurrent.futures
import io
import os
import pty
import random
import subprocess
import tarfile
import time

import pytest
from conftest import IMAGE

from lib import pace, registry

KILLS = pace.count(check=4, proof=100)
PULLS = pace.count(check=12, proof=100)


def test_an_image_comes_with_its_digest(image, shop):
    name = shop.push(IMAGE, "lib/box:1")
    found = image.json("pull", name)
    assert (found.name, found.is_new) == (name, True)
    assert found.id == image.engine.get(f"/images/{name}/json")["Id"]
    assert found.digest.startswith("sha256:") and found.bytes > 100000
    assert image.json("pull", name).is_new is False
    assert image.json("pull", f"{shop.address}/lib/box@{found.digest}").digest == found.digest


def test_without_a_terminal_there_are_plain_lines(image, shop):
    name = shop.push(IMAGE, "lib/box:2")
    image.engine.ask("DELETE", f"/images/{IMAGE}?force=1")
    try:
        done = image("pull", name)
    finally:
        image.engine.import_busybox(IMAGE)
    assert done.code == 0 and done.out.startswith(f"{name}  ")
    assert "Pull complete\n" in done.err and "Downloading" not in done.err
    assert all(char == "\n" or char >= " " for char in done.err)
    assert image("pull", "-q", name).err == ""


def _large_image(engine, name):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        entry = tarfile.TarInfo("large")
        entry.size = 48 << 20
        tar.addfile(entry, io.BytesIO(os.urandom(entry.size)))
    status, data = engine.ask("POST", f"/images/create?fromSrc=-&repo={name}", out.getvalue(),
                              {"Content-Type": "application/x-tar"})
    assert status == 200 and b"errorDetail" not in data


def _on_a_terminal(caller, *words):
    """(exit code, all that was drawn) of a call whose stderr is a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(caller.words(*words), stdout=subprocess.DEVNULL, stderr=theirs,
                          env=caller.environment(TERM="xterm"), cwd=caller.place.cwd) as process:
        os.close(theirs)
        drawn = b""
        try:
            while data := os.read(ours, 65536):
                drawn += data
        except OSError:  # the other end is closed
            pass
        finally:
            os.close(ours)
        return process.wait(), drawn.decode()


def test_on_a_terminal_every_layer_has_a_bar_and_nothing_stays(image, shop):
    _large_image(image.engine, "localhost/large:1")
    name = shop.push("localhost/large:1", "lib/large:1")
    image.engine.ask("DELETE", "/images/localhost/large:1?force=1")
    code, drawn = _on_a_terminal(image, "pull", name)
    assert code == 0
    assert "] " in drawn and "MB" in drawn and "of 1 layers" in drawn
    assert drawn.endswith("\x1b[J")


def test_L05_a_pull_whose_caller_is_killed_leaves_a_whole_image_or_none(image, shop, running_call):
    _large_image(image.engine, "localhost/large:1")
    name = shop.push("localhost/large:1", "lib/large:1")
    image.engine.ask("DELETE", "/images/localhost/large:1?force=1")
    for i in range(KILLS):
        process = running_call(image, "pull", name, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(random.Random(i).random() * 0.3)
        process.kill()
        process.wait()
        if name in image.tags():
            assert image.engine.get(f"/images/{name}/json")["Size"] >= 48 << 20
            image.engine.ask("DELETE", f"/images/{name}?force=1")
    assert image.json("pull", name).digest.startswith("sha256:")


def test_R14_one_image_pulled_by_many_at_once_is_fetched_once(image, shop):
    _large_image(image.engine, "localhost/large:1")
    before = shop.blobs()
    name = shop.push("localhost/large:1", "lib/storm:1")
    layer = max(shop.blobs() - before, key=lambda path: path.stat().st_size).parent.name
    image.engine.ask("DELETE", "/images/localhost/large:1?force=1")
    with concurrent.futures.ThreadPoolExecutor(PULLS) as pool:
        done = list(pool.map(lambda _: image.json("pull", name), range(PULLS)))
    assert len({(d.id, d.digest) for d in done}) == 1
    assert shop.sent(layer) == 1, "the layer went over the wire once"
    assert image.tags().count(name) == 1


def test_an_absent_image_is_the_callers_fault(image, shop):
    shop.push(IMAGE, "lib/box:1")
    for name in (f"{shop.address}/lib/box:none", f"{shop.address}/nobody/has:this"):
        done = image("pull", name)
        assert done.code == 2, done
        assert name in done.err and "remedy: look whether name and tag are right" in done.err


def test_a_registry_that_wants_a_log_in(image, club):
    name = club.push(IMAGE, "lib/box:1")
    done = image("pull", name)
    assert done.code == 2 and f"remedy: docker login {club.address}" in done.err, done

    image.configure(auths={club.address: registry.credentials("wrong")})
    done = image("pull", name)
    assert done.code == 2 and f"the credentials of '{registry.USER}' do not do" in done.err, done

    image.configure(auths={f"http://{club.address}/v1/": registry.credentials()})
    assert image.json("pull", name).is_new


@pytest.mark.parametrize("keys", ["credsStore", "credHelpers"])
def test_a_helper_that_keeps_credentials_is_named(image, club, keys):
    name = club.push(IMAGE, "lib/box:1")
    image.configure(**{keys: "vault" if keys == "credsStore" else {club.address: "vault"}})
    done = image("pull", name)
    assert done.code == 2 and "docker-credential-vault" in done.err
    assert f"docker pull {name}" in done.err


@pytest.mark.parametrize("text", ["{", '{"auths": {"127.0.0.1:5000": {"auth": "!!"}}}',
                                  '{"auths": {"127.0.0.1:5000": {"auth": "bm9jb2xvbg=="}}}'])
def test_a_broken_config_is_named(image, shop, text):
    (image.docker_config / "config.json").write_text(text)
    done = image("pull", f"{shop.address}/lib/box:1")
    assert done.code == 2 and "config.json" in done.err, done


def test_a_layer_that_is_not_what_its_digest_says(image, shop):
    _large_image(image.engine, "localhost/large:2")
    before = shop.blobs()
    name = shop.push("localhost/large:2", "lib/broken:1")
    image.engine.ask("DELETE", "/images/localhost/large:2?force=1")
    blob = max(shop.blobs() - before, key=lambda path: path.stat().st_size)
    data = bytearray(blob.read_bytes())
    data[len(data) // 2] ^= 0xff
    blob.write_bytes(data)
    done = image("pull", name)
    assert done.code == 125 and "not what its digest says" in done.err and "remedy: " in done.err, done
    assert name not in image.tags()


def test_a_registry_that_is_not_there(image):
    done = image("pull", "127.0.0.1:1/lib/box:1")
    assert done.code == 125 and "cannot reach the registry" in done.err and "remedy: " in done.err


def test_an_engine_that_is_not_there(image):
    done = image("pull", "python:3", DOCKER_HOST=f"unix://{image.place.tmp}/none.sock")
    assert done.code == 125 and "remedy: " in done.err


@pytest.mark.parametrize("name", ["", "UPPER", "a b", "x:" + "y" * 200, "../etc", "x@sha256:12", "-x", "a\x1b[2Jb"])
def test_what_is_no_name_is_refused_before_the_engine_is_asked(image, name):
    done = image("pull", name, DOCKER_HOST=f"unix://{image.place.tmp}/none.sock")
    assert done.code == 2 and "none.sock" not in done.err
    assert all(char == "\n" or char >= " " for char in done.err)


def test_one_name_is_wanted(image):
    assert image("pull").code == 2
    assert image("pull", "a", "b").code == 2
