# SPDX-License-Identifier: Apache-2.0
"""R14: a storm of requests: boxes by the hundred, words by the megabyte, files by the ten thousand.

Whatever is refused is refused in one line that says why, and leaves no part of a box.  In a check sixty
boxes are asked for, in a proof a thousand; that many pulls of one image are in tests/image.
"""
import concurrent.futures
import contextlib
import json
import resource
import tempfile
from pathlib import Path

import pytest

from lib import box, kept, pace, place as places

pytestmark = pytest.mark.serial

BOXES = pace.count(check=60, proof=1000)
AT_ONCE = 24
FILES = 10_000       # that many may go in at once
SLOTS = 2            # of poor_user
LONG = "x" * 127_000  # nearly the longest word that the kernel lets anybody say


def _refused(done, part, code=2):
    """One line with this part, maybe one more that helps."""
    lines = done.err.decode().splitlines()
    assert done.returncode == code, done
    assert 1 <= len(lines) <= 2 and lines[0].startswith("glovebox: ") and part in lines[0], done
    assert all(len(line) < 1000 for line in lines)


@contextlib.contextmanager
def _swept(**more):
    """No box, and nothing of one, is left behind a storm."""
    try:
        yield
    finally:
        gone = kept.call("rm", "--all", outer=600, **more)
    assert gone.returncode == 0, gone
    assert kept.listed(**more) == [] and kept.directories() == []
    assert kept.no_keeper(within_s=120)


def _at_once(one, n):
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(one, range(n)))


# ---- boxes --------------------------------------------------------------------------------------

def test_R14_each_box_of_a_storm_is_whole_and_nobody_elses(place):
    with _swept():
        done = _at_once(lambda _: kept.call("create", "--memory", "32m", outer=600), BOXES)
        assert {d.returncode for d in done} == {0}, [d for d in done if d.returncode][:3]
        names = {d.out.decode().strip() for d in done}
        assert len(names) == BOXES
        assert {b["id"] for b in kept.listed()} == names
        some = sorted(names)[:: max(1, BOXES // 20)]
        told = _at_once(lambda i: kept.sh(some[i], f"echo {i} >f; cat f"), len(some))
        assert [t.stdout for t in told] == [f"{i}\n" for i in range(len(some))]


def test_R14_what_is_over_the_quota_is_refused_and_leaves_no_part(place, poor_user):
    """An ordinary user has as many boxes as ids were given to him."""
    place.give_to(poor_user)
    with _swept(as_user=poor_user):
        done = _at_once(lambda _: kept.call("create", "--json", as_user=poor_user), AT_ONCE)
        good = [d for d in done if d.returncode == 0]
        assert len(good) == SLOTS, done[:3]
        for bad in (d for d in done if d.returncode != 0):
            _refused(bad, f"all {SLOTS} slots for boxes are in use", code=125)
            assert bad.document["error"]["message"] in bad.err.decode()
        names = {d.document["id"] for d in good}
        assert {b["id"] for b in kept.listed(as_user=poor_user)} == names == set(kept.directories())
        for name in names:
            assert kept.sh(name, "echo lives", as_user=poor_user).stdout == "lives\n"
        assert kept.call("rm", min(names), as_user=poor_user).returncode == 0
        assert kept.call("create", as_user=poor_user).returncode == 0, "a place that is free is given again"


def test_R14_a_storm_of_the_tools_is_answered_one_by_one(place, poor_user):
    """As callers of the JSON tools meet it: an object with an error, and no workspace that is nobody's."""
    place.give_to(poor_user)
    env = kept.environment({"TMPDIR": str(place.tmp)})

    def create(_):
        words = [str(places.binary()), "tool", "create_runtime_env", "{}"]
        return box.run_words(words, as_user=poor_user, host_env=env)

    with _swept(as_user=poor_user):
        done = _at_once(create, AT_ONCE)
        good = [d.document for d in done if d.returncode == 0]
        assert len(good) == SLOTS, done[:3]
        for bad in (d for d in done if d.returncode != 0):
            assert bad.returncode == 1 and "slots for boxes are in use" in bad.document["error"], bad
        workspaces = {str(path) for path in place.tmp.iterdir()}
        assert workspaces == {made["workspace"] for made in good}
        for made in good:
            request = json.dumps({"container_id": made["container_id"], "delete_workspace": True})
            words = [str(places.binary()), "tool", "cleanup_env", request]
            assert box.run_words(words, as_user=poor_user, host_env=env).returncode == 0


# ---- words --------------------------------------------------------------------------------------

def _many_words(*words):
    """As somebody calls whom the kernel allows more than two megabytes of them."""
    def allow():
        resource.setrlimit(resource.RLIMIT_STACK, (64 << 20, resource.RLIM_INFINITY))

    return box.run_words([str(word) for word in words], host_env=kept.environment(), preexec_fn=allow)


@pytest.mark.parametrize("more", [
    lambda name: ["run", name, "--", "true", *[LONG] * 32],
    lambda name: ["run", name, *[f"--env=A{i}={LONG}" for i in range(32)], "--", "true"],
    lambda name: ["put", name, *[LONG] * 32],
    lambda name: ["stat", name, *[LONG] * 32],
    lambda name: ["create", *[f"--port={LONG}"] * 32],
], ids=["arguments", "variables", "files", "paths", "ports"])
def test_R14_four_megabytes_of_words_are_one_line_and_the_box_lives(place, more):
    with kept.made() as name:
        done = _many_words(*kept.words(*more(name)))
        _refused(done, "", code=2)
        assert [b["id"] for b in kept.listed()] == [name]
        assert kept.sh(name, "echo lives").stdout == "lives\n"


def test_R14_two_megabytes_of_variables_over_the_tools(place):
    request = json.dumps({"env_vars": {f"A{i}": LONG for i in range(17)}}).encode()
    done = box.run_words([str(places.binary()), "tool", "create_runtime_env"], input=request,
                         host_env=kept.environment())
    assert done.returncode == 1 and "too long" in done.document["error"], done
    assert kept.listed() == [] and list(place.tmp.iterdir()) == []


# ---- files --------------------------------------------------------------------------------------

@pytest.fixture
def folder():
    """folder(N): a directory of that many files, in memory."""
    with tempfile.TemporaryDirectory(prefix="gbtest-", dir="/dev/shm") as base:
        def fill(n):
            path = Path(base) / "many"
            for i in range(100):
                (path / f"d{i}").mkdir(parents=True)
            for i in range(n):
                (path / f"d{i % 100}" / f"{i}").write_text(f"{i}")
            return path
        yield fill


def test_R14_ten_thousand_files_go_in_and_one_more_is_refused(place, folder):
    folder = folder(FILES)
    count = "find d* -type f | wc -l; cat $(find d* -type f) | wc -c"
    wanted = f"{FILES}\n{sum(len(str(i)) for i in range(FILES))}\n"
    with kept.made() as name:
        assert kept.call("put", name, folder).returncode == 0
        assert kept.sh(name, f"cd many; {count}").stdout == wanted
    done = box.run(count, language="sh", workspace=folder)
    assert done.stdout == wanted, done
    (folder / "one-more").write_text("")
    with kept.made() as name:
        _refused(kept.call("put", name, folder), f"more than {FILES} files")
        assert kept.sh(name, "echo lives").stdout == "lives\n"
    done = box.run("true", language="sh", workspace=folder)
    assert done.returncode == 2 and f"more than {FILES} files" in done.error["message"], done


def test_R14_files_of_many_at_once_arrive_or_are_refused_and_the_box_lives(place, folder):
    """Together they are more than the disk of the box holds."""
    folder = folder(2000)
    with kept.made("--disk", "40m", "--memory", "128m") as name:
        done = _at_once(lambda i: kept.call("put", name, f"{folder}:copy{i}"), 12)
        fitting = [i for i, d in enumerate(done) if d.returncode == 0]
        for d in done:
            if d.returncode != 0:
                _refused(d, "do not fit into the box")
        assert len(fitting) < len(done), done
        for i in fitting:
            found = kept.call("run", name, "--", "sh", "-c", f"find copy{i} -type f | wc -l")
            assert found.out == b"2000\n", found
        assert kept.call("run", name, "--", "sh", "-c", "rm -rf copy*").returncode == 0
        assert kept.call("put", name, folder).returncode == 0
