# SPDX-License-Identifier: Apache-2.0
"""Packages in boxes that live on, and from the Python client."""
import json
import os
import subprocess
import sys
import threading

from lib import box, host, kept, place as places
from test_python import USE, layers


def cache_command(*words):
    return box.run_words([str(places.binary()), "cache", *words], host_env=kept.environment())


def test_a_box_that_lives_on_keeps_its_packages(index, cache):
    index.add("alpha")
    with kept.made("--package", "alpha", host_env=index.env()) as name:
        index.close()
        for _ in range(2):
            done = kept.call("run", name, "--json", "-l", "python", "-c", USE)
            assert done.stdout == "alpha 1.0\n", done
        key = layers(cache)[0]
        refused = cache_command("rm", key)
        assert refused.returncode == 2 and b"in use by a box" in refused.err, refused
    done = cache_command("rm", key)
    assert done.returncode == 0 and layers(cache) == [], done
    assert os.listdir(cache / "uses") == []


def test_a_python_of_a_toolchain_finds_them_in_every_box(index, other_python):
    index.add("alpha")
    options = ["--package", "alpha", "--toolchain", str(other_python)]
    code = "import sys, alpha; print(sys.executable, alpha.NAME)"
    wanted = f"{other_python}/bin/python3 alpha\n"
    done = box.run(code, language="python", options=options, host_env=index.env())
    assert done.stdout == wanted, done
    with kept.made(*options, host_env=index.env()) as name:
        for workdir in ((), ("--workdir", "/tmp")):
            done = kept.call("run", name, *workdir, "--json", "-l", "python", "-c", code)
            assert done.stdout == wanted, done


def test_a_box_whose_packages_cannot_be_had_is_not_made(index):
    done = kept.call("create", "--package", "nosuch", host_env=index.env())
    assert done.returncode == 125 and b"no such package" in done.err, done
    assert kept.listed() == []


def _lines(done):
    return [json.loads(line) for line in done.out.splitlines()]


def test_an_installation_is_told_in_lines_and_the_box_last(index):
    index.add("alpha")
    done = kept.call("create", "--jsonl", "--package", "alpha", host_env=index.env())
    try:
        first, *more, last = _lines(done)
        assert first == {"event": "installing", "text": "alpha"} and done.err == b"", done
        assert more and all(line["event"] == "installer" and line["text"] for line in more), done
        assert any("alpha" in line["text"] for line in more)
        (listed,) = kept.listed()
        assert last["event"] == "result" and last["document"]["id"] == listed["id"], done
        # What is in the cache is nothing to tell of.
        again = kept.call("create", "--jsonl", "--package", "alpha", host_env=index.env())
        assert [line["event"] for line in _lines(again)] == ["result"], again
    finally:
        kept.call("rm", "--all")


def test_a_box_that_was_not_made_is_an_event_or_a_document(index):
    done = kept.call("create", "--jsonl", "--package", "nosuch", host_env=index.env())
    *more, last = _lines(done)
    assert done.returncode == 125 and [line["event"] for line in more][0] == "installing", done
    assert last["event"] == "error" and "no such package" in last["error"]["message"], done
    assert last["error"]["remedy"]
    done = kept.call("create", "--json", "--package", "nosuch", host_env=index.env())
    assert done.document["schema"] == 1 and "no such package" in done.document["error"]["message"], done
    done = kept.call("create", "--json", "--jsonl")
    assert done.returncode == 2 and b"exclude each other" in done.err, done
    assert kept.listed() == []


def test_whoever_installs_for_a_user_keeps_nobody_else_waiting(index):
    index.add("alpha")
    index.gate = threading.Event()
    slow = subprocess.Popen(kept.words("create", "--user", "slow", "--package", "alpha"), stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, env=box.environment(kept.environment(index.env())))
    try:
        assert host.until(lambda: index.fetched("alpha") == 1, 30)
        with kept.made("--user", "quick"):
            assert slow.poll() is None
        index.gate.set()
        name = slow.communicate(timeout=60)[0].decode().strip()
        assert kept.call("run", name, "--json", "-l", "python", "-c", USE).stdout == "alpha 1.0\n"
        assert kept.call("rm", name).returncode == 0
    finally:
        if slow.poll() is None:
            slow.kill()
            slow.communicate()


def test_the_python_client_asks_for_packages(index):
    index.add("alpha")
    script = ("import glovebox, sys\n"
              f"done = glovebox.exec({USE!r}, packages=['alpha'], binary={str(places.binary())!r})\n"
              "sys.stdout.write(done.stdout + done.packages[0].name)\n")
    env = {**box.environment(index.env()), "PYTHONPATH": str(places.ROOT / "clients/python/src")}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=False)
    assert done.stdout == "alpha 1.0\nalpha", done
