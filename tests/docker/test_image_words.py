# SPDX-License-Identifier: Apache-2.0
"""T07: what an image says of itself gives its box nothing: neither a process, nor a place, nor a right."""
import io
import json
import tarfile
from urllib.parse import quote

import pytest

from lib import box, engines, host

KEPT = b"the image's\n"


@pytest.fixture
def said(docker):
    """Images of busybox that say something more, and that go behind the test."""
    names = []

    def make(*changes):
        name = f"localhost/said:{len(names)}" if docker.is_podman else f"said:{len(names)}"
        query = "".join(f"&changes={quote(change)}" for change in changes)
        status, data = docker.engine.ask("POST", f"/images/create?fromSrc=-&repo={name}{query}", with_data(),
                                         {"Content-Type": "application/x-tar"})
        assert status == 200 and b"rror" not in data, data
        names.append(name)
        return name
    yield make
    for name in names:
        docker.engine.ask("DELETE", f"/images/{quote(name, safe='')}?force=1")


def with_data():
    """Busybox and a directory that everybody may write to, with a file in it."""
    out = io.BytesIO(engines.busybox_tar())
    with tarfile.open(fileobj=out, mode="a") as tar:
        folder = tarfile.TarInfo("data")
        folder.type, folder.mode = tarfile.DIRTYPE, 0o777
        tar.addfile(folder)
        entry = tarfile.TarInfo("data/kept")
        entry.size, entry.mode = len(KEPT), 0o666
        tar.addfile(entry, io.BytesIO(KEPT))
    return out.getvalue()


def config_of(docker, image):
    return docker.engine.get(f"/images/{quote(image, safe='')}/json")["Config"]


@pytest.mark.docker_only
def test_T07_what_an_image_wants_to_be_run_for_its_health_is_not(docker, said):
    """An engine would run it as root, past the glove: with the glove's capabilities, without the run filter."""
    image = said("HEALTHCHECK --interval=50ms CMD touch /dev/shm/beside")
    assert config_of(docker, image)["Healthcheck"]["Test"][0] == "CMD-SHELL"
    done = docker.run("for i in 1 2 3 4 5 6 7 8; do usleep 100000; test -e /dev/shm/beside && ls -ln /dev/shm && exit 1; done; :",
                      image=image)
    assert done.verdict == "ok", done


def test_T07_a_volume_of_an_image_is_no_place_to_write(docker, said):
    """Engines make them of their own disk, writable and without a limit."""
    image = said('VOLUME ["/data", "/srv/", "/tmp", "/workspace", "/run", "/home/box"]')
    assert len(config_of(docker, image)["Volumes"]) == 6
    before = docker.volumes()
    done = docker.run("cat /data/kept; for d in data srv tmp workspace run home/box; do echo x 2>/dev/null >/$d/own && echo $d; done;"
                      " grep -E ' /(tmp|workspace|run|home/box) ' /proc/mounts", image=image)
    lines = done.stdout.splitlines()
    assert lines[:5] == ["the image's", "tmp", "workspace", "run", "home/box"], done
    assert len(lines) == 9 and all(line.split()[2] == "tmpfs" for line in lines[5:]), done
    assert host.until(lambda: docker.is_clean() and docker.volumes() == before or not before, within=30), docker.volumes()


@pytest.mark.parametrize("path", ["/tmp/x", "/workspace/data", "/dev/shm", "/var/tmp/a/b"])
def test_T07_a_volume_where_programs_write_is_refused(docker, said, path):
    done = docker.run("true", image=said(f"VOLUME {json.dumps([path])}"))
    assert done.verdict == "sandbox_error", done
    assert f"wants a volume at '{path}'" in done.document["error"]["message"], done
    assert host.until(docker.is_clean, within=30)


def test_T07_a_volume_that_landlock_alone_protects_is_refused_without_it(docker, said):
    image = said('VOLUME ["/data"]')
    lacks = ",".join(filter(None, ["landlock", docker.lacks]))
    done = box.run_words(docker.words("true", image=image), host_env={**docker.environment, "GLOVEBOX_ALLOW_MISSING": lacks})
    assert done.verdict == "sandbox_error" and "'landlock', which may be missing" in done.document["error"]["message"], done


def test_T07_the_rest_of_what_an_image_says_is_not_heard(docker, said):
    image = said("ENTRYPOINT /bin/false", "CMD /bin/false", "USER 65534:65534", "WORKDIR /proc/self/fd/7",
                 "ENV LD_PRELOAD=/data/kept HOME=/data TMPDIR=/data", "LABEL io.glovebox.expires=1 io.glovebox.owner=1-1")
    done = docker.run("id -u; pwd; echo $HOME $TMPDIR $LD_PRELOAD", image=image)
    assert done.stdout == "1000\n/workspace\n/home/box /tmp\n", done
